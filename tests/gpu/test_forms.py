"""Samples as bytes, as sparse rows, and under a kernel of distances, on a card: as on the CPU."""

import numpy as np
from scipy.sparse import csr_array
from tests.gpu.at_hand import case, digits, refused, size, tensor
from tests.gpu.certificates import require_same_machine

import separatrix as s
from separatrix.errors import DeviceError
from separatrix.kernels import Gaussian, Laplacian, Polynomial
from separatrix.kernels.gram import make_gram
from separatrix.runtime import device as backends


def byte_images(n, d=50):
    """Whole numbers from 0 to 255, in clusters."""
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 256, (10, d))
    y = rng.integers(0, 10, n)
    X = np.clip(centres[y] + rng.integers(-90, 91, (n, d)), 0, 255).astype(np.uint8)
    return X, y


def test_distances_of_bytes_are_exact():
    from separatrix.kernels.gram.device_bytes import ByteVectors, prepare_bytes

    X, _ = byte_images(size(9000, 2100))
    gram = make_gram(Gaussian(1e-6), tensor(X), device=backends.default_gpu())
    vectors = prepare_bytes(Gaussian(1e-6), tensor(X), tolerance=1e-3)
    assert isinstance(vectors, ByteVectors)
    rows = X[::97].astype(np.int64)
    squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
    found = backends.as_numpy(vectors.take(slice(None, None, 97)).products(
        vectors.take(slice(None, None, 97))
    ))  # fmt: skip
    np.testing.assert_array_equal(-2 * found.astype(np.float64), squares)
    values = backends.as_numpy(gram.storage)[::97, ::97]
    np.testing.assert_allclose(values, np.exp(-1e-6 * squares), rtol=1e-6)
    assert gram.error <= 1e-6


def test_a_machine_on_bytes_is_that_on_floats():
    X, y = byte_images(size(6000, 2100))
    model = s.SVC(C=2.0, gamma=2e-6, device="cuda").fit(tensor(X), y)
    other = s.SVC(C=2.0, gamma=2e-6, device="cpu").fit(X.astype(float), y)
    require_same_machine(model, other, X.astype(float), y)
    assert "float32" in model.gram_


def test_floats_on_a_grid_are_bytes():
    from separatrix.kernels.gram.device_bytes import FEATURES, ByteVectors, prepare_bytes

    X, _ = byte_images(size(6000, 2100), FEATURES)
    for unit, shift, dtype in (
        (1 / 255, 0, np.float32),
        (1.0, -40, np.float64),
        (0.1, 3, np.float64),
    ):
        with case(unit, shift, dtype):
            samples, kernel = (
                ((X.astype(float) + shift) * unit).astype(dtype),
                Gaussian(1e-6 / unit**2),
            )
            vectors = prepare_bytes(kernel, tensor(samples), tolerance=1e-3)
            assert isinstance(vectors, ByteVectors)
            gram = make_gram(kernel, tensor(samples), device=backends.default_gpu())
            values = backends.as_numpy(gram.storage)[::97, ::97]
            rows = X[::97].astype(np.int64)
            squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
            np.testing.assert_allclose(values, np.exp(-1e-6 * squares), atol=gram.error + 1e-7)
            samples[-1, 3] += 0.01 * unit
            assert prepare_bytes(kernel, tensor(samples), tolerance=1e-3) is None


def test_sparse_rows_give_the_machine_of_dense_ones():
    X, y = digits(size(1797, 400))
    X[X < 6] = 0.0
    for kernel in (Gaussian(0.002), Polynomial(2, gamma=0.01, coef0=1.0)):
        with case(kernel):
            scores = {"kernel": kernel, "decision_function_shape": "ovo"}  # votes of ties differ
            there = s.SVC(**scores, device="cuda").fit(csr_array(X), y)
            here = s.SVC(**scores, device="cpu").fit(csr_array(X), y)
            require_same_machine(there, here, X, y)
            for queries in (csr_array(X[:50]), X[:50]):
                ours, theirs = there.decision_function(queries), here.decision_function(queries)
                np.testing.assert_allclose(ours, theirs, atol=0.02)
            dense = s.SVC(**scores, device="cuda").fit(X, y)
            np.testing.assert_allclose(
                dense.decision_function(csr_array(X[:50])), theirs, atol=0.02
            )


def test_models_of_one_pass_read_sparse_rows():
    X, y = digits(400)
    for model, name, tolerance in (
        (s.LinearDiscriminantAnalysis(), "coef_", 1e-8),
        (s.GaussianNB(var_smoothing=1e-3), "theta_", 1e-10),
        (s.MultinomialNB(), "feature_log_prob_", 1e-10),
        (s.LogisticRegression(C=0.1), "coef_", 1e-3),
        (s.LinearSVC(C=0.01, dual=False), "coef_", 1e-2),
        (s.LeastSquaresClassifier(1.0), "coef_", 1e-8),
    ):
        with case(model):
            used = X[:, X.std(axis=0) > 0]
            here = model.set_params(device="cpu").fit(used, y)
            expected, guess = getattr(here, name).copy(), here.predict(used)
            there = model.set_params(device="cuda").fit(csr_array(used), y)
            found = getattr(there, name)
            np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
            np.testing.assert_array_equal(there.predict(csr_array(used)), guess)


def test_maps_read_sparse_rows():
    X, _ = digits(200)
    for model in (
        s.RandomFourier(0.01, n_components=30, random_state=0),
        s.Nystroem(Gaussian(0.001), n_components=30, random_state=0),
    ):
        with case(model):
            here = model.set_params(device="cpu").fit(X).transform(csr_array(X))
            there = model.set_params(device="cuda").fit(X).transform(csr_array(X))
            np.testing.assert_allclose(there, here, atol=1e-6)


def test_the_laplacian_kernel_is_that_of_the_cpu():
    X, y = digits(size(1797, 400))
    here = s.SVC(kernel=Laplacian(0.01), device="cpu").fit(X, y)
    there = s.SVC(kernel=Laplacian(0.01), device="cuda").fit(tensor(X), y)
    require_same_machine(there, here, X, y)
    np.testing.assert_allclose(
        backends.as_numpy(there.decision_function(tensor(X[:50]))),
        here.decision_function(X[:50]), atol=0.02,
    )  # fmt: skip
    features = s.Nystroem(Laplacian(0.01), n_components=30, random_state=0)
    mapped = features.set_params(device="cpu").fit_transform(X)
    np.testing.assert_allclose(features.set_params(device="cuda").transform(X), mapped, atol=1e-6)
    with refused(DeviceError, "sparse samples", "Laplacian"):
        s.SVC(kernel=Laplacian(0.01), device="cuda").fit(csr_array(X), y)


def test_other_samples_are_bytes_too_if_they_are_on_the_grid():
    from separatrix.kernels.gram.device_bytes import prepare_bytes

    rng, kernel = np.random.default_rng(4), Gaussian(3e-6)
    X = rng.integers(0, 200, size=(2100, 300)).astype(np.uint8)
    vectors = prepare_bytes(kernel, tensor(X), tolerance=1e-3)
    others = rng.integers(0, 256, size=(40, 300)).astype(np.float32)
    assert vectors.serves(kernel, tensor(others), 1e-3)
    values = vectors.like(tensor(others)).kernel_values(kernel, vectors)
    squares = ((others[:, None].astype(float) - X[:50]) ** 2).sum(axis=2)
    expected = np.exp(-kernel.gamma * squares)
    np.testing.assert_allclose(backends.as_numpy(values)[:, :50], expected, rtol=1e-5)
    for value in (0.5, 256.0, -1.0, np.nan, np.inf):
        with case(value):
            others[3, 7] = value
            assert not vectors.serves(kernel, tensor(others), 1e-3)
