"""Each Triton program beside what stands for it on the CPU, on random input.

`TRITON_INTERPRET=1 python -m tests.gpu --pretend programs` compares them without a GPU.
"""

from contextlib import contextmanager, nullcontext

import numpy as np
from tests.gpu.at_hand import case, clouds, size, tensor

from separatrix.kernels import Gaussian, Polynomial
from separatrix.runtime import device as backends


@contextmanager
def without_triton(module):
    """What the module does where Triton does not run."""
    before = module.runs_triton
    module.runs_triton = lambda device: False
    try:
        yield
    finally:
        module.runs_triton = before


def both(module, name, *arrays):
    """A function of tensors by Triton and without it; results and arguments of each, as NumPy."""
    import torch

    there = [tensor(array.copy()) for array in arrays]
    here = [torch.as_tensor(array.copy()) for array in arrays]
    by_triton = getattr(module, name)(*there)
    with without_triton(module):
        plain = getattr(module, name)(*here)
    return (
        [backends.as_numpy(part) for part in (by_triton, *there)],
        [backends.as_numpy(part) for part in (plain, *here)],
    )


def stored_rows(rng, n, capacity, dtype=np.float32):
    """Some rows of a symmetric matrix: the storage, the slot of each row, and the rows stored."""
    A = rng.normal(size=(n, 6))
    K = np.exp(-0.1 * ((A[:, None] - A) ** 2).sum(axis=2)).astype(dtype)
    there = rng.permutation(n)[:capacity]
    where = np.full(n, -1, dtype=np.int32)
    where[there] = np.arange(capacity)
    return K[there], where, there


def test_kernel_values_become_what_their_formula_says():
    from separatrix.kernels.gram import device_epilogues

    rng = np.random.default_rng(0)
    for dtype, rtol in ((np.float32, 2e-5), (np.float64, 1e-13)):
        X, Z = rng.normal(size=(37, 5)), rng.normal(size=(1100, 5))
        sx, sz = ((part**2).sum(axis=1) for part in (X, Z))
        P = X @ Z.T
        wide = np.zeros((37, 1300))
        wide[:, 100:1200] = P
        for gamma, coef0, degree in ((0.3, 1.1, 1), (0.7, 0.0, 5), (1.3, 0.1, 9)):
            with case(dtype.__name__, gamma, coef0, degree):
                T = tensor(wide.astype(dtype))
                device_epilogues.power(T[:, 100:1200], gamma, coef0, degree)
                found = backends.as_numpy(T)
                base = gamma * P.astype(dtype).astype(float) + coef0
                size = (np.abs(gamma * P) + coef0) ** degree  # of the terms that may cancel
                assert (np.abs(found[:, 100:1200] - base**degree) <= 10 * rtol * size + 1e-30).all()
                assert not found[:, :100].any()
                assert not found[:, 1200:].any()
        for gamma in (0.3, 1e-3):
            with case(dtype.__name__, "distances", gamma):
                T = tensor(wide.astype(dtype))
                squares = [tensor(part.astype(dtype)) for part in (sx, sz)]
                device_epilogues.exp_of_distances(T[:, 100:1200], *squares, gamma)
                found = backends.as_numpy(T)
                wanted = np.exp(-gamma * np.maximum(sx[:, None] + sz - 2 * P, 0.0))
                np.testing.assert_allclose(found[:, 100:1200], wanted, rtol=10 * rtol, atol=1e-30)
                assert not found[:, :100].any()


def test_tiles_are_gathered_value_by_value():
    from separatrix.solvers.svm import triton as programs

    rng = np.random.default_rng(1)
    n, capacity, p, w = size((4000, 3000, 20, 1024), (90, 60, 2, 16))
    for dtype in (np.float32, np.float64):
        storage, where, there = stored_rows(rng, n, capacity, dtype)
        rows = np.stack([rng.permutation(there)[:w] for _ in range(p)]).astype(np.int32)
        with case(dtype.__name__):
            (tiles, *_), (plain, *_) = both(programs, "gather_tiles", storage, where, rows)
            np.testing.assert_array_equal(tiles, plain)
            np.testing.assert_array_equal(tiles[0], storage[where[rows[0]]][:, rows[0]])


def test_rows_are_added_to_the_errors_of_their_own_problems():
    from separatrix.solvers.svm import triton as programs

    rng = np.random.default_rng(2)
    n, capacity, w, layouts, r = size((4000, 3000, 256, 5, 2500), (90, 60, 16, 2, 40))
    storage, where, there = stored_rows(rng, n, capacity)
    p = 2 * layouts
    F = rng.normal(size=(p, r + 1))
    columns = np.zeros((layouts, r + 1), dtype=np.int32)
    columns[:, :r] = [rng.permutation(n)[:r] for _ in range(layouts)]
    layout = np.arange(p) % layouts
    problems = rng.permutation(p)[: p - 1]
    rows = np.stack([rng.permutation(there)[:w] for _ in problems]).astype(np.int32)
    steps = rng.normal(size=rows.shape) * (rng.random(rows.shape) < 0.6)
    steps[0] = 0.0
    (_, found, *_), (_, plain, *_) = both(
        programs, "add_rows", F, storage, where, columns, layout, problems, rows, steps
    )
    np.testing.assert_allclose(found, plain, rtol=1e-12, atol=1e-12)
    untouched = np.setdiff1d(np.arange(p), problems[1:])
    np.testing.assert_array_equal(found[untouched], F[untouched])
    np.testing.assert_array_equal(found[:, -1], F[:, -1])  # padding


def solve_tiles(rng, y, box, tol, max_steps):
    """Kernel values and bounds of random tiles, and their solutions by Triton and without it."""
    from separatrix.solvers.svm import triton as programs

    A = rng.normal(size=(*y.shape, 4))
    K = np.exp(-0.5 * ((A[:, :, None] - A[:, None]) ** 2).sum(axis=3))
    low, high = np.where(y < 0, -box, 0.0), np.where(y > 0, box, 0.0)
    tiles = K, np.ones(y.shape), np.zeros(y.shape), low, high, -y
    limits = np.full(len(y), tol), np.asarray(max_steps)
    return K, low, high, both(programs, "solve_tiles", *tiles, *limits)


def test_steps_inside_a_tile_end_at_its_optimum_and_in_its_box():
    rng = np.random.default_rng(3)
    p, w = size((12, 1024), (2, 16))
    y = np.where(rng.random((p, w)) < 0.5, -1.0, 1.0)
    box = rng.uniform(0.2, 3.0, (p, w))
    box[:, ::9] = 0.0
    for tol in (0.3, 1e-3):
        K, low, high, results = solve_tiles(rng, y, box, tol, [200_000] * p)
        duals = []
        for steps, _, _, b, *_ in results:
            with case(f"tol={tol}"):
                assert (low <= b).all()
                assert (b <= high).all()
                assert (steps > 0).all()
                np.testing.assert_allclose(b.sum(axis=1), 0.0, atol=1e-9)
                wish = y - np.einsum("pij,pj->pi", K, b)
                top = np.where(b < high, wish, -np.inf).max(axis=1)
                bottom = np.where(b > low, wish, np.inf).min(axis=1)
                assert (top - bottom <= 1.001 * tol).all(), top - bottom
                square = np.einsum("pi,pij,pj->p", b, K, b)
                duals.append(np.abs(b).sum(axis=1) - 0.5 * square)
        np.testing.assert_allclose(*duals, rtol=2 * tol)


def test_a_tile_takes_as_many_steps_as_it_may_and_no_more():
    y = np.where(np.arange(32) % 2, 1.0, -1.0) * np.ones((2, 1))
    rng = np.random.default_rng(4)
    *_, ((steps, _, _, b, *_), _) = solve_tiles(rng, y, np.ones(y.shape), 1e-6, [0, 3])
    assert steps.tolist() == [0, 3]
    assert not b[0].any()
    assert 2 <= np.count_nonzero(b[1]) <= 6


def test_perceptron_programs_find_the_mistakes_of_the_compiled_scan():
    from separatrix.kernels.gram import make_gram
    from separatrix.solvers.decomposition import coding, problems_of
    from separatrix.solvers.perceptron import solve_kernel_perceptron

    n = size(3000, 200)
    X, y = clouds(n, 4, classes=3, spread=3.0)
    X = np.rint(4 * X)  # whole numbers: scores are exact, and so is every decision
    order = np.random.default_rng(5).permutation(n)
    kernel = Polynomial(2, coef0=1.0)
    whole = make_gram(kernel, X, device=backends.default_gpu())
    some = make_gram(
        kernel, X, memory=int(0.9 * n * n * whole.dtype.itemsize), device=backends.default_gpu()
    )
    assert whole.complete
    assert not some.complete
    for rule, scheme in (("signs", "ovr"), ("signs", "ovo"), ("argmax", "ovr")):
        problems = problems_of(y, order, coding(3, scheme))
        terms = {"rule": rule, "rates": np.ones((2, n)), "max_iter": 3, "shuffle": True}
        wanted = solve_kernel_perceptron(
            make_gram(kernel, X), problems, rng=np.random.default_rng(6), **terms
        )
        for gram in (whole, some):
            with case(rule, scheme, gram):
                found = solve_kernel_perceptron(
                    gram, problems, rng=np.random.default_rng(6), **terms
                )
                np.testing.assert_array_equal(found.mistakes_by_epoch, wanted.mistakes_by_epoch)
                np.testing.assert_array_equal(found.scores, wanted.scores)
                for mine, theirs in zip(found.mistakes, wanted.mistakes, strict=True):
                    np.testing.assert_array_equal(mine, theirs)


def test_the_matrix_on_a_gpu_is_that_of_the_cpu():
    from separatrix.kernels.gram import make_gram

    X, _ = clouds(size(5000, 60), 12)
    for kernel in (Gaussian(0.7), Polynomial(3, gamma=0.2, coef0=1.0)):
        for tolerance, atol in ((1e-3, 1e-5), (1e-13, 1e-13)):
            with case(kernel, tolerance):
                gram = make_gram(kernel, X, tolerance=tolerance, device=backends.default_gpu())
                rows = np.arange(0, len(X), 3)
                found = backends.as_numpy(gram.tile(rows, np.arange(len(X))))
                np.testing.assert_allclose(found, kernel.block(X[rows], X), atol=atol, rtol=atol)
                diagonal = backends.as_numpy(gram.diagonal())
                np.testing.assert_allclose(diagonal, kernel.diagonal(X), rtol=max(atol, 1e-12))


def test_a_pass_of_logistic_regression_reads_each_row_once_and_adds_the_same():
    from separatrix.solvers.logistic import device_passes
    from separatrix.types import Block

    rng = np.random.default_rng(0)
    for n, d, intercept in ((777, 13, True), (300, 64, False), (5, 1, True), (50, 300, True)):
        with case(n, d, intercept):
            X, y = rng.normal(size=(n, d)), rng.integers(0, 2, n)
            block = Block(*map(tensor, (X, y, rng.uniform(0, 2, n))))
            theta = rng.normal(size=(1, d + intercept))
            options = {"intercept": intercept, "hessian": False, "margin": False}
            by_triton = device_passes.sums_on(block, theta, **options)
            with without_triton(device_passes):
                plain = device_passes.sums_on(block, theta, **options)
            np.testing.assert_allclose(by_triton[0], plain[0], rtol=1e-12)
            np.testing.assert_allclose(by_triton[1], plain[1], rtol=0, atol=1e-10 * n)


def test_lowest_scores_of_groups_are_those_of_torch():
    from separatrix.solvers.nearest import cuda

    S = np.random.default_rng(0).normal(size=(37, 64 * 130)).astype(np.float32)
    S[3, 64:128] = np.inf
    by_triton, plain = both(cuda, "_minima", S)
    np.testing.assert_array_equal(by_triton[0], plain[0])


def test_rows_of_a_tile_are_summed_for_any_number_of_problems():
    from separatrix.kernels.gram import device_sums

    rng = np.random.default_rng(7)
    for p, u, m in ((1, 13, 600), (3, 300, 70), (20, 9, 70)):
        with case(p, u, m):
            tile, steps = rng.normal(size=(u, m)).astype(np.float32), rng.normal(size=(p, u))
            (there, *_), (here, *_) = both(device_sums, "sum_rows", tile, steps)
            np.testing.assert_allclose(there, here, rtol=1e-12, atol=1e-12)


def test_gaussians_of_bytes_are_summed_as_those_of_tiles():
    from separatrix.kernels.gram import device_bytes

    rng = np.random.default_rng(9)
    X = rng.integers(0, 256, size=(2100, 90)).astype(np.uint8)
    kernel = Gaussian(2e-7)
    for rows, columns, p in ((1, 300, 2), (400, 130, 3), (129, 1, 2)):
        with case(rows, columns, p):
            vectors = device_bytes.prepare_bytes(kernel, tensor(X), tolerance=1e-3)
            first, second = (tensor(rng.permutation(2100)[:count]) for count in (rows, columns))
            steps = rng.normal(size=(p, rows))
            steps[0, : rows // 3] = steps[-1] = 0.0
            given = kernel, first, second, tensor(steps)
            by_triton = vectors.weighted_sums(*given)
            with without_triton(device_bytes):
                plain = vectors.weighted_sums(*given)
            np.testing.assert_allclose(
                backends.as_numpy(by_triton), backends.as_numpy(plain), rtol=0, atol=2e-5
            )
            A, B = (X[backends.as_numpy(some)].astype(float) for some in (first, second))
            D = A[:, None] - B
            exact = steps @ np.exp(-kernel.gamma * (D**2).sum(axis=2))
            np.testing.assert_allclose(backends.as_numpy(by_triton), exact, rtol=0, atol=2e-5)


def test_sums_of_gaussians_in_several_launches_are_those_of_one():
    from separatrix.kernels.gram import device_sums

    rng = np.random.default_rng(11)
    X = tensor(rng.integers(-128, 128, size=(400, 64)).astype(np.int8))
    squares = X.int().square().sum(dim=1).int()
    rows, columns = (tensor(rng.permutation(400)[:count]) for count in (30, 300))
    given = X, squares, rows, columns, tensor(rng.normal(size=30)), 1e-6
    whole, before = device_sums.sum_gaussians(*given), device_sums.TERMS
    device_sums.TERMS = 30 * 256 * 128
    try:
        parts = device_sums.sum_gaussians(*given)
    finally:
        device_sums.TERMS = before
    np.testing.assert_allclose(
        backends.as_numpy(parts), backends.as_numpy(whole), rtol=1e-13, atol=1e-13
    )


def test_distances_of_whole_numbers_are_those_of_torch():
    from separatrix.kernels.gram import device_epilogues

    rng = np.random.default_rng(10)
    A, B = rng.integers(-128, 128, size=(2, 40, 70)).astype(np.int32)
    wide = np.zeros((40, 64), np.int32)
    wide[:, :40] = A @ B.T
    squares = [(part**2).sum(axis=1).astype(np.int32) for part in (A, B)]
    found = []
    for stands_in in (False, True):
        P, out = tensor(wide)[:, :40], tensor(np.zeros((40, 50), np.float32))[:, 5:45]
        given = P, *(tensor(part) for part in squares), 0.25, out
        with without_triton(device_epilogues) if stands_in else nullcontext():
            found.append(backends.as_numpy(device_epilogues.half_distances(*given)))
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0], -0.125 * ((A[:, None] - B) ** 2).sum(axis=2))


def test_absolute_distances_are_those_of_torch():
    from separatrix.kernels.gram import device_epilogues

    rng = np.random.default_rng(8)
    X, Z = rng.normal(size=(70, 9)), rng.normal(size=(130, 9))
    (there, *_), (here, *_) = both(device_epilogues, "absolute_distances", X, Z)
    np.testing.assert_allclose(there, here, rtol=1e-13)


def test_gaussians_are_summed_from_products_as_from_their_values():
    from separatrix.kernels.gram import device_sums

    rng = np.random.default_rng(11)
    for p, u, m in ((1, 300, 70), (3, 13, 600)):
        with case(p, u, m):
            A, B = (rng.normal(size=(count, 5)).astype(np.float32) for count in (u, m))
            steps, squares = rng.normal(size=(p, u)), [(part**2).sum(axis=1) for part in (A, B)]
            found = []
            for stands_in in (False, True):
                given = tensor(A @ B.T), tensor(steps), 0.3, *(tensor(part) for part in squares)
                with without_triton(device_sums) if stands_in else nullcontext():
                    found.append(backends.as_numpy(device_sums.sum_rows(*given)))
            exact = steps @ np.exp(-0.3 * ((A[:, None] - B) ** 2).sum(axis=2))
            np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-5)
            np.testing.assert_allclose(found[0], exact, rtol=0, atol=1e-5)
