import numpy as np
import pytest
from sklearn.datasets import load_iris

from separatrix import SVC, load, save
from separatrix.kernels.names import parse_kernel, resolve_kernel
from separatrix.kernels.registry import ALIASES, KERNELS

X, Y = load_iris(return_X_y=True)
ON_VECTORS = [kernel for alias, kernel in ALIASES.items() if alias != "precomputed"]


def test_the_names_of_estimators_are_those_of_scikit_learn_and_laplacian():
    assert {"linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"} <= set(ALIASES)
    assert set(ALIASES.values()) <= set(KERNELS.values())


@pytest.mark.parametrize("kernel", ON_VECTORS, ids=lambda kernel: kernel.__name__)
def test_every_kernel_on_vectors_is_known_by_alias_by_text_and_in_a_model_file(kernel, tmp_path):
    assert type(resolve_kernel("SVC", kernel.alias, X)) is kernel
    assert parse_kernel(f"{kernel.__name__}()") == kernel()
    fitted = SVC(kernel=kernel().with_params(gamma=0.01) if "gamma" in vars(kernel) else kernel())
    fitted.fit(X, Y)
    again = load(save(fitted, tmp_path / "a.model"))
    assert again.kernel == fitted.kernel
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
