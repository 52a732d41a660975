import numpy as np
import pytest
from scipy.sparse import csr_array

import separatrix.kernels.names as names
from separatrix import SVC, load, save
from separatrix.errors import DataError, ParameterError
from separatrix.kernels import (
    FromCallable,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from separatrix.kernels.names import parse_kernel, resolve_kernel
from separatrix.kernels.registry import ALIASES, KERNELS

X = np.random.default_rng(0).normal(size=(10, 4)) * 3


@pytest.mark.parametrize(
    "kernel",
    [
        *(Linear(), Gaussian(0.5), Polynomial(4, 0.5, 2.0), Sigmoid(0.5, 2.0), Laplacian(0.5)),
        Precomputed(),
    ],
    ids=repr,
)
def test_every_alias_is_a_kernel_known_by_text_and_in_a_model_file(kernel, tmp_path):
    assert resolve_kernel("SVC", kernel.alias, X, gamma=0.5, degree=4, coef0=2.0) == kernel
    assert KERNELS[type(kernel).__name__] is ALIASES[kernel.alias] is type(kernel)
    if kernel == Precomputed():
        return
    assert parse_kernel(repr(kernel)) == kernel
    y = np.arange(len(X)) % 3
    fitted = SVC(kernel=kernel, max_iter=1000).fit(X, y)
    again = load(save(fitted, tmp_path / "a.model"))
    assert again.kernel == kernel
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_every_alias_is_tested():
    assert set(ALIASES) == {"linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed"}


@pytest.mark.parametrize("dtype", [float, np.float32, np.uint8])
def test_the_scale_of_many_values_is_summed_in_blocks(dtype, monkeypatch):
    large = np.random.default_rng(0).uniform(0, 200, size=(500, 3)).astype(dtype)
    monkeypatch.setattr(names, "WORTH_THREADS", 0)
    monkeypatch.setattr(names, "ROWS_AT_ONCE", 64)
    found = resolve_kernel("SVC", "rbf", large, gamma="scale").gamma
    assert found == pytest.approx(1 / (3 * large.var(dtype=float)), rel=1e-12)


def test_scale_and_auto_are_those_of_scikit_learn():
    assert resolve_kernel("SVC", "rbf", X, gamma="scale").gamma == pytest.approx(1 / (4 * X.var()))
    assert resolve_kernel("SVC", "rbf", csr_array(X)).gamma == pytest.approx(1 / (4 * X.var()))
    assert resolve_kernel("SVC", "rbf", X, gamma="auto").gamma == 0.25
    assert resolve_kernel("SVC", "rbf", np.ones((3, 2))).gamma == 1.0


def test_a_callable_is_a_kernel():
    function = np.inner
    assert resolve_kernel("SVC", function, X) == FromCallable(function)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"kernel": "gauss"},
            "`kernel` of SVC must be a kernel object, a callable or one of linear",
        ),
        ({"kernel": None}, "`kernel` of SVC must be"),
        ({"kernel": "rbf", "gamma": 0}, "`gamma` of SVC must be above 0; got 0"),
        ({"kernel": "rbf", "gamma": "wide"}, "`gamma` of SVC must be 'scale', 'auto' or a number"),
        (
            {"kernel": "poly", "degree": 0},
            "`degree` of Polynomial must be an integer of at least 1",
        ),
        ({"kernel": Linear(), "gamma": 0.5}, "`gamma` of SVC must be left at its default 'scale'"),
        ({"kernel": Polynomial(2), "degree": 4}, "`degree` of SVC must be left at its default 3"),
    ],
)
def test_what_means_no_kernel_is_refused(arguments, sentence):
    with pytest.raises(ParameterError, match=sentence):
        resolve_kernel("SVC", X=X, **arguments)


def test_an_expression_in_a_kernel_text_is_refused():
    with pytest.raises(ParameterError, match=r"such as Spectrum\(4\)"):
        parse_kernel("Spectrum(2, alphabet='A' * 3)")


def test_only_named_constructors_are_called_by_a_kernel_text():
    assert names.parse_kernel("Gaussian.from_sigma(2.0)") == Gaussian.from_sigma(2.0)
    assert names.parse_kernel("Gaussian.from_variance(2.0)") == Gaussian.from_variance(2.0)
    for text in ("Gaussian.get_params()", "Gaussian.__subclasses__()", "Linear.from_sigma(1.0)"):
        with pytest.raises(ParameterError, match="kernel"):
            names.parse_kernel(text)


def test_kernels_in_a_text_are_added_and_multiplied():
    both = Gaussian(0.5), Linear()
    assert parse_kernel("Gaussian(0.5) * Linear()") == both[0] * both[1]
    assert parse_kernel("Gaussian(0.5) + Linear()") == both[0] + both[1]


def test_a_kernel_text_has_arguments_of_its_own():
    for text in ("Gaussian(**{'gamma': 1.0})", "1 + 1", "2 * 3", "Linear() - Linear()", "5", ""):
        with pytest.raises(ParameterError, match=r"such as Spectrum\(4\)"):
            parse_kernel(text)
    for text in ("Gaussian(-1.0)", "Linear() + -1 * Linear()"):
        with pytest.raises(ParameterError, match="must be above 0"):
            parse_kernel(text)
    assert parse_kernel("  2 * Gaussian(gamma=0.5)  ") == 2 * Gaussian(0.5)


def test_a_variance_that_overflows_has_no_scale():
    with pytest.raises(
        DataError, match="the variance of X overflows, so gamma='scale' has no value"
    ):
        resolve_kernel("SVC", "rbf", np.array([[1e200], [-1e200]]))


@pytest.mark.parametrize("kernel", [Linear(), FromCallable(np.inner)], ids=repr)
@pytest.mark.parametrize(
    "given", [{"gamma": "auto"}, {"degree": 2}, {"coef0": 0.5}, {"coef0": None}]
)
def test_parameters_beside_a_kernel_object_are_left_alone(kernel, given):
    with pytest.raises(ParameterError, match="must be left at its default"):
        resolve_kernel("SVC", kernel, X, **given)
    assert resolve_kernel("SVC", kernel, X, degree=3.0, coef0=0) == kernel
