"""Newton's method on a GPU, for which torch's CPU stands in; tests/gpu compares it with the CPU's."""

import numpy as np
import pytest

from separatrix.runtime.monitor import FitMonitor

torch = pytest.importorskip("torch", reason="torch is not installed")
cuda = pytest.importorskip("separatrix.solvers.linear_svm.cuda")


@pytest.mark.parametrize("steps", [0, 1])
def test_a_step_is_stopped_between_two_boundaries(steps):
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=300)
    Y = torch.as_tensor(np.where(y == np.arange(4)[:, None], 1.0, -1.0))
    X = torch.as_tensor(rng.normal(size=(300, 30)))
    monitor, asked = FitMonitor(), iter(range(100))
    monitor.should_stop = lambda: next(asked) >= 4 * steps + 2  # at the third boundary of a step

    how = {"bias_step": 1.0, "tol": 1e-12, "max_iter": 50}
    found = cuda.solve_newton_on(X, Y, torch.ones_like(Y), monitor=monitor, **how)

    assert {(fit.stop, fit.n_iter) for fit in found} == {("stopped", steps)}
    assert next(asked) == 4 * steps + 3
    expected = cuda.solve_newton_on(X, Y, torch.ones_like(Y), **how | {"max_iter": steps})
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.w, other.w)
