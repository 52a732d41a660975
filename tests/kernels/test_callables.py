"""Functions as kernels: of two objects or of two sample matrices."""

import threading
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from separatrix.errors import DataError, ParameterError
from separatrix.kernels import (
    FromCallable,
    Gaussian,
    Linear,
    Normalized,
    Spectrum,
    is_positive_semidefinite,
)
from separatrix.kernels.callables import (
    are_objects,
    callables_in,
    is_plain_object,
    kernel_for_samples,
    psd_policy,
)
from separatrix.kernels.gram import make_gram
from separatrix.kernels.pair_values import SYMMETRY_CHECKS, PairCache
from separatrix.runtime.progress import listen

RNG = np.random.default_rng(0)
SETS = [set(RNG.choice(12, size=5).tolist()) for _ in range(30)]
OTHERS = [set(RNG.choice(12, size=4).tolist()) for _ in range(11)]


def jaccard(a, b):
    return len(a & b) / len(a | b)


def definition(A, B, function=jaccard):
    return np.array([[function(a, b) for b in B] for a in A])


class Counting:
    """A function that counts its calls, by pair."""

    def __init__(self, function=jaccard):
        self.function, self.calls = function, []

    def __call__(self, a, b):
        self.calls.append((a, b))
        return self.function(a, b)


def on_objects(function, **params):
    return FromCallable(function, objects=True, **params)


def test_values_match_the_definition():
    kernel = on_objects(jaccard)
    np.testing.assert_array_equal(kernel.block(SETS, OTHERS), definition(SETS, OTHERS))
    np.testing.assert_array_equal(kernel.block(SETS, SETS), definition(SETS, SETS))
    np.testing.assert_array_equal(kernel.diagonal(OTHERS), np.ones(len(OTHERS)))


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_threads_and_processes_give_the_same_values(workers):
    kernel = on_objects(lambda a, b: len(a & b) / len(a | b), n_jobs=2, workers=workers)
    np.testing.assert_array_equal(kernel.block(SETS, SETS), definition(SETS, SETS))
    np.testing.assert_array_equal(kernel.block(OTHERS, SETS), definition(OTHERS, SETS))


def test_threads_are_used():
    together = threading.Barrier(2, timeout=30)  # broken unless two calls run at a time
    kernel = on_objects(lambda a, b: float(together.wait() >= 0), n_jobs=2, check_psd="ignore")
    assert (kernel.block([1, 2], [3]) == 1.0).all()


def test_each_unordered_pair_is_evaluated_once():
    distinct = [frozenset([i, i + 1]) for i in range(20)]
    function = Counting()
    kernel = on_objects(function)

    kernel.block(distinct, distinct)

    assert len(function.calls) == 20 * 21 // 2 + 2 * SYMMETRY_CHECKS
    assert len({frozenset(map(id, pair)) for pair in function.calls}) == 20 * 21 // 2


def test_values_are_kept_for_the_next_call_whatever_the_order():
    function = Counting()
    kernel = on_objects(function)
    K = kernel.block(SETS, OTHERS)
    before = len(function.calls)

    np.testing.assert_array_equal(kernel.block(OTHERS[::-1], SETS), K.T[::-1])
    np.testing.assert_array_equal(kernel.block(SETS[3:5], OTHERS[:2]), K[3:5, :2])

    assert len(function.calls) == before


def test_an_object_that_was_modified_has_new_values():
    a, b = {1, 2}, {2, 3}
    kernel = on_objects(jaccard)
    assert kernel.block([a], [b])[0, 0] == 1 / 3
    a.add(3)
    assert kernel.block([a], [b])[0, 0] == 2 / 3


def test_equal_copies_share_their_values():
    function = Counting(lambda a, b: float(len(a) * len(b)))
    kernel = on_objects(function, check_psd="ignore")
    kernel.block(["ab", "ab", "c"], ["ab", "c"])
    assert len(function.calls) == 3  # ab-ab, ab-c, c-c


def test_objects_that_cannot_be_pickled_are_taken():
    locks = [threading.Lock() for _ in range(4)]
    function = Counting(lambda a, b: float(a is b))
    kernel = on_objects(function, check_psd="ignore")
    np.testing.assert_array_equal(kernel.block(locks, locks), np.eye(4))
    assert len(function.calls) == 10


@pytest.mark.parametrize("size", [0, 1e-4, 1e-3, 1.0])
def test_values_do_not_depend_on_the_size_of_the_cache(size):
    kernel = on_objects(jaccard, cache_size=size)
    for _ in range(2):
        np.testing.assert_array_equal(kernel.block(SETS, SETS), definition(SETS, SETS))
        np.testing.assert_array_equal(kernel.block(SETS, OTHERS), definition(SETS, OTHERS))
    assert kernel._cache._nbytes <= size * 2**20


def test_a_cache_is_no_part_of_a_copy():
    import copy
    import pickle

    kernel = on_objects(jaccard)
    kernel.block(SETS, SETS)
    for again in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        assert again == kernel
        assert not again._cache._rows
    assert PairCache(5).__reduce__() == (PairCache, (5,))


def test_a_function_of_two_matrices_is_meant_for_numbers():
    def products(X, Z):
        assert X.ndim == Z.ndim == 2
        return X @ Z.T

    X = RNG.normal(size=(5, 3))
    assert kernel_for_samples(products, X) == FromCallable(products)
    np.testing.assert_array_equal(FromCallable(products).block(X, X[:2]), X @ X[:2].T)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        ([{1}, {2}], True),
        (["a", "b"], True),
        ([b"a"], True),
        ([{"a": 1}], True),
        ([("S", ("NP", "x")), ("S", "y")], True),
        ([[1, 2], [3]], True),
        ([np.zeros(2), np.zeros(3)], True),
        (np.array(["a", "b"]), True),
        (np.array([{1}, None], dtype=object), True),
        ([[1, 2], [3, 4]], False),
        ([np.zeros(2), np.ones(2)], False),
        ([1.0, 2.0], False),
        (np.zeros(3), False),
        (np.zeros((3, 2)), False),
        ([], False),
        ("text", False),
        (3, False),
    ],
)
def test_what_a_list_of_objects_is(X, expected):
    assert are_objects(X) is expected


def test_rows_of_numbers_are_objects_if_it_is_said():
    rows = [np.array([1.0, 2.0]), np.array([0.0, 1.0])]
    kernel = on_objects(lambda a, b: float(a @ b))
    np.testing.assert_array_equal(kernel.block(rows, rows), np.array(rows) @ np.array(rows).T)


@pytest.mark.parametrize("objects", [True, False])
def test_a_decision_is_kept(objects):
    kernel = FromCallable(jaccard, objects=objects)
    assert kernel_for_samples(kernel, SETS) is kernel
    assert kernel_for_samples(kernel, np.eye(2)) is kernel


def test_composed_kernels_of_functions():
    X, k = SETS, FromCallable(jaccard)
    size = FromCallable(lambda a, b: float(len(a) * len(b)))
    lengths = definition(X, X, lambda a, b: len(a) * len(b))
    J = definition(X, X)
    for kernel, expected in (
        (k + size, J + lengths),
        (k * size, J * lengths),
        (2.0 * k, 2.0 * J),
        (Normalized(size), np.ones_like(J)),
    ):
        meant = kernel_for_samples(kernel, X)
        assert meant.takes == "objects"
        np.testing.assert_allclose(meant.block(X, X), expected, rtol=1e-15)
        np.testing.assert_allclose(meant.diagonal(X), np.diagonal(expected), rtol=1e-15)
        np.testing.assert_allclose(make_gram(meant, meant_array(X)).matrix, expected, rtol=1e-15)


def meant_array(X):
    return FromCallable(jaccard, objects=True).checked(X)


def test_a_function_goes_with_a_kernel_on_sequences():
    texts = ["acgt", "ccgt", "ttta"]
    same_start = FromCallable(lambda a, b: float(a[0] == b[0]))
    for kernel in (Spectrum(2) + same_start, same_start + Spectrum(2)):
        assert kernel.takes == "sequences"
        expected = Spectrum(2).block(texts, texts) + np.eye(3)
        np.testing.assert_array_equal(kernel.block(texts, texts), expected)
    with pytest.raises(ParameterError, match="must be a kernel on vectors, as the left one is"):
        Linear() + Spectrum(2)
    with pytest.raises(ParameterError, match="must be a kernel on objects, as the left one is"):
        FromCallable(jaccard, objects=True) + Gaussian(1.0)


def test_progress_is_reported_by_row():
    steps = []
    with listen(lambda label, done, total, depth: steps.append((label, done, total))):
        on_objects(jaccard).block(SETS, SETS)
    assert steps[0] == ("kernel values: row", 0, 30)
    assert steps[-1] == ("kernel values: row", 30, 30)
    assert len(steps) == 31


def not_semidefinite(a, b):
    return float(len(a ^ b))


def test_the_smallest_eigenvalue_is_named():
    X = meant_array(SETS)
    lowest = np.linalg.eigvalsh(definition(SETS, SETS, not_semidefinite))[0]
    with pytest.warns(UserWarning, match=f"smallest eigenvalue of its matrix is {lowest:.4g}"):
        make_gram(on_objects(not_semidefinite), X)
    with pytest.raises(DataError, match=f"smallest eigenvalue of its matrix is {lowest:.4g}"):
        make_gram(on_objects(not_semidefinite, check_psd="error"), X)


def test_a_shift_makes_the_matrix_semidefinite_and_changes_the_diagonal_alone():
    K = definition(SETS, SETS, not_semidefinite)
    gram = make_gram(on_objects(not_semidefinite, check_psd="shift"), meant_array(SETS))
    assert is_positive_semidefinite(gram.matrix)
    np.testing.assert_array_equal(gram.matrix - np.diag(np.diag(gram.matrix)), K)
    np.testing.assert_allclose(np.diag(gram.matrix), -np.linalg.eigvalsh(K)[0])
    np.testing.assert_allclose(gram.diagonal(), np.diag(gram.matrix))


def test_what_is_ignored_or_semidefinite_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_gram(on_objects(not_semidefinite, check_psd="ignore"), meant_array(SETS))
        make_gram(on_objects(jaccard), meant_array(SETS))
        make_gram(FromCallable(lambda X, Z: -X @ Z.T), np.eye(3))  # matrices: only if asked
    with pytest.raises(DataError, match="eigenvalue of its matrix is -1, the largest -1"):
        make_gram(FromCallable(lambda X, Z: -X @ Z.T, check_psd="error"), np.eye(3))
    assert psd_policy(on_objects(jaccard) + on_objects(jaccard, check_psd="error")) == "error"


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda a, b: None, "must return a finite number; <lambda> returned None"),
        (lambda a, b: float("nan"), "must return a finite number; <lambda> returned nan"),
        (lambda a, b: np.eye(2), "must return a finite number"),
        (
            lambda a, b: float(len(a - b)),
            r"must be symmetric, k\(x, z\) = k\(z, x\); <lambda> gave",
        ),
    ],
)
def test_a_function_that_is_no_kernel_is_refused(function, sentence):
    with pytest.raises(DataError, match=sentence) as raised:
        on_objects(function).block(SETS, SETS)
    assert "\n" not in str(raised.value)


def test_an_error_of_the_function_is_the_users():
    def broken(a, b):
        raise KeyError("no such word")

    with pytest.raises(KeyError, match="no such word"):
        on_objects(broken, n_jobs=2).block(SETS, SETS)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: FromCallable(Linear()), "`function` of FromCallable must be callable"),
        (lambda: FromCallable(len, objects="yes"), "`objects` of FromCallable must be one of None"),
        (lambda: FromCallable(len, check_psd=True), "`check_psd` of FromCallable must be one of"),
        (lambda: FromCallable(len, workers="fibres"), "`workers` of FromCallable must be one of"),
        (lambda: FromCallable(len, n_jobs=0), "`n_jobs` of FromCallable must be an integer other"),
        (
            lambda: FromCallable(len, cache_size=-1),
            "`cache_size` of FromCallable must be at least 0",
        ),
    ],
)
def test_bad_parameters_are_refused(make, sentence):
    with pytest.raises(ParameterError, match=sentence):
        make()


def test_it_prints_as_it_was_made():
    assert repr(FromCallable(jaccard)) == "FromCallable(jaccard)"
    assert repr(on_objects(jaccard, n_jobs=2)) == "FromCallable(jaccard, objects=True, n_jobs=2)"


def test_samples_that_are_no_list_are_refused():
    for samples, found in (
        (np.eye(2), r"ndarray of shape \(2, 2\)"),
        ({1, 2}, "set"),
        ("text", "a single str: put it into a list"),
    ):
        with pytest.raises(DataError, match=f"a list of objects, .*; got {found}"):
            on_objects(jaccard).block(samples, SETS)


@pytest.mark.parametrize("kind", [np.uint8, np.int32, bool, np.float32, np.float64])
def test_whole_numbers_are_float64_for_a_function_of_matrices(kind):
    seen = []
    kernel = FromCallable(lambda A, B: seen.extend([A.dtype, B.dtype]) or (A @ B.T).astype(float))
    X = np.array([[200, 1], [100, 3]]).astype(kind)
    wide = X.astype(np.float64)
    np.testing.assert_array_equal(kernel.block(X, X[:1]), wide @ wide[:1].T)
    assert set(seen) == {X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)}
    np.testing.assert_array_equal(kernel.diagonal(np.tile(X, (9, 1))), np.tile((wide**2).sum(1), 9))


def test_objects_that_only_a_function_takes():
    @dataclass
    class Point:
        x: int

    for item in ({1}, frozenset(), {"a": 1}, Point(1)):
        assert is_plain_object(item)
    for item in ([1], (1,), "a", 1, None, np.ones(2), Point):
        assert not is_plain_object(item)
    assert FromCallable(jaccard).notes(SETS) == []


def test_the_first_function_that_says_so_decides_what_is_done():
    plain, warns = on_objects(jaccard), on_objects(jaccard, check_psd="warn")
    shifts = on_objects(jaccard, check_psd="shift")
    assert [psd_policy(kernel) for kernel in (Linear(), plain, shifts)] == [
        "ignore",
        "warn",
        "shift",
    ]
    assert psd_policy(plain + shifts * warns) == "shift"
    assert psd_policy(plain + warns * shifts) == "warn"
    assert psd_policy(FromCallable(np.inner)) == "ignore"
    assert callables_in(plain + shifts * (2.0 * warns)) == [plain, shifts, warns]
    assert callables_in(Linear()) == callables_in("rbf") == []
