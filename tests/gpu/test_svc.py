"""SVC on a card beside SVC on the CPU."""

import copy
import os
import pickle
import tempfile

import numpy as np
from tests.gpu.at_hand import case, clouds, digits, mnist, size, tensor
from tests.gpu.certificates import boundaries, certificate, require_same_machine

from separatrix import SVC, load, save
from separatrix.kernels import Gaussian, Normalized, Polynomial
from separatrix.runtime.device import as_numpy

KERNELS = (
    {"kernel": "rbf", "gamma": 0.02},
    {"kernel": "poly", "gamma": 0.1, "degree": 3, "coef0": 1.0},
    {"kernel": "linear"},
)


def both(X, y, *, weights=None, **parameters):
    """The same machine, fitted here and on the card."""
    return [
        SVC(device=device, **parameters).fit(X, y, sample_weight=weights)
        for device in ("cpu", "cuda")
    ]


def test_every_kernel_and_scheme_gives_the_machine_of_the_cpu():
    X, y = digits(size(900, 300))
    X = X / 16
    for parameters in KERNELS:
        for scheme in ("ovo", "ovr"):
            with case(parameters, scheme):
                here, there = both(X, y, multi_class=scheme, **parameters)
                require_same_machine(here, there, X, y)
                asked = digits()[0][1000:] / 16
                agree = np.mean(here.predict(asked) == there.predict(asked))
                assert agree >= 0.995, agree


def test_a_kernel_object_and_a_product_of_kernels_work_there_too():
    X, y = digits(size(500, 300))
    for kernel in (Normalized(Polynomial(5)), 0.5 * Gaussian(1e-3) + Gaussian(1e-4)):
        with case(kernel):
            here, there = both(X, y, kernel=kernel, C=10)
            require_same_machine(here, there, X, y)


def test_in_float64_the_coefficients_are_the_same_to_many_digits():
    X, y = clouds(size(600, 300), 8)
    here, there = both(X, y, gamma=0.3, C=10, tol=1e-9)  # 0.3 is no float32
    assert "float64" in there.gram_
    assert there.violation_.max() <= 1e-9
    np.testing.assert_array_equal(there.support_, here.support_)
    np.testing.assert_allclose(there.dual_coef_, here.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


def test_the_violation_that_is_told_is_the_one_that_float64_finds():
    for C in (0.1, 1.0, 10.0, 100.0, 1000.0):
        X, y = clouds(size(1500, 500), 6, classes=4)
        with case(f"C={C}"):
            model = SVC(C=C, gamma=1.0, device="cuda").fit(X, y)
            assert model.stop_ == ["tol"] * 6
            for p, boundary in enumerate(boundaries(model, y)):
                found = certificate(model, X, boundary)
                assert found.violation <= model.violation_[p] + model.tol
                assert found.gap <= model.dual_gap_[p] + 1e-3
                assert (np.abs(boundary.coef) <= boundary.box).all()


def test_weights_of_classes_and_samples_move_the_box():
    X, y = clouds(800, 5)
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.1, 3.0, len(y))
    weights[::7] = 0.0
    here, there = both(X, y, weights=weights, class_weight={0: 5.0, 1: 0.2}, C=2.0)
    require_same_machine(here, there, X, y, weights=weights)
    assert not np.isin(there.support_, np.flatnonzero(weights == 0)).any()


def test_a_warm_start_ends_at_the_same_optimum_in_fewer_steps():
    X, y = clouds(size(1500, 500), 6)
    model = SVC(C=1.0, gamma=1.0, warm_start=True, device="cuda").fit(X, y)
    cold = model.n_iter_.sum()
    model.fit(X, y)
    assert model.n_iter_.sum() < cold
    model.set_params(C=5.0).fit(X, y)
    require_same_machine(model, SVC(C=5.0, gamma=1.0, device="cpu").fit(X, y), X, y)


def test_a_ready_matrix_gives_the_machine_of_its_kernel():
    X, y = digits(600)
    K = Gaussian(1e-3).block(X, X)
    of_matrix = SVC(kernel="precomputed", C=10, device="cuda").fit(K, y)
    of_kernel = SVC(kernel="precomputed", C=10, device="cpu").fit(K, y)
    require_same_machine(of_kernel, of_matrix, K, y)
    np.testing.assert_array_equal(of_matrix.predict(K), of_kernel.predict(K))


def test_rows_computed_when_needed_give_the_machine_of_the_whole_matrix():
    n = size(6000, 1500)
    X, y = clouds(n, 10, classes=3)
    whole = SVC(C=10, device="cuda").fit(X, y)
    a_third = 4 * n**2 / 3 / 2**20  # of the matrix in float32, in MB
    rows = SVC(C=10, cache_size=a_third, device="cuda").fit(X, y)
    assert rows.gram_ != whole.gram_
    require_same_machine(whole, rows, X, y)


def test_chunks_of_levels_give_the_machine_of_the_whole_matrix():
    from separatrix.solvers.svm import cuda_chunks

    X, y = clouds(size(20_000, 700), classes=3)
    scaled = np.rint(20 * (X - X.min())).astype(np.uint8)
    before = cuda_chunks.FIRST_LEVEL, cuda_chunks.LEAST_CACHED
    cuda_chunks.FIRST_LEVEL, cuda_chunks.LEAST_CACHED = len(X) // 20, 1
    try:
        for samples, gamma in ((X, 0.5), (scaled, 0.5 / 400)):
            with case(samples.dtype):
                whole = SVC(C=10, gamma=gamma, device="cuda").fit(tensor(samples), y)
                a_third = 8 * len(X) ** 2 / 3 / 2**20
                parts = SVC(C=10, gamma=gamma, cache_size=a_third, device="cuda")
                parts.fit(tensor(samples), y)
                assert " rows in " in parts.gram_
                assert parts.violation_.max() <= 1e-3
                require_same_machine(parts, whole, samples.astype(float), y)
    finally:
        cuda_chunks.FIRST_LEVEL, cuda_chunks.LEAST_CACHED = before


def test_chunks_of_groups_of_pairs_give_the_machine_of_the_whole_matrix():
    from separatrix.solvers.svm import cuda_chunks

    X, y = digits(1797)
    groups, before = [], (cuda_chunks.LEAST_CACHED, cuda_chunks.ChunkedBatch._groups)

    def counted(self, *args):
        found = before[1](self, *args)
        groups.append(len(found))
        return found

    cuda_chunks.LEAST_CACHED, cuda_chunks.ChunkedBatch._groups = 1, counted
    try:
        whole = SVC(C=2.0, gamma=0.001, device="cuda").fit(X, y)
        parts = SVC(C=2.0, gamma=0.001, cache_size=4.0, device="cuda").fit(X, y)
    finally:
        cuda_chunks.LEAST_CACHED, cuda_chunks.ChunkedBatch._groups = before
    assert max(groups) > 1
    require_same_machine(parts, whole, X, y)


def test_a_gap_as_the_rule_to_stop_is_reached():
    X, y = clouds(size(1000, 400), 6)
    model = SVC(C=10, stop="gap", tol=1e-5, device="cuda").fit(X, y)
    assert model.dual_gap_.max() <= 1e-5
    assert max(certificate(model, X, b).gap for b in boundaries(model, y)) <= 2e-5


def test_probabilities_are_those_of_the_cpu():
    X, y = clouds(size(900, 300), 6)
    here, there = both(X, y, C=5.0, tol=1e-7, calibration="sigmoid", random_state=0)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-4)


def test_a_file_from_the_card_answers_the_same_without_one():
    X, y = digits(size(700, 400))
    model = SVC(C=10, gamma=1e-3, device="cuda").fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "digits.model")
        save(model, path)
        again = load(path).set_params(device="cpu")
        asked = digits()[0][1000:]
        expected = model.set_params(device="cpu").decision_function(asked)
        np.testing.assert_array_equal(again.decision_function(asked), expected)
        there = model.set_params(device="cuda").decision_function(asked)
        np.testing.assert_allclose(there, expected, atol=1e-4)


def test_mnist_is_learned_as_on_the_cpu():
    X, y, asked, answers = mnist(6000)
    here, there = both(X, y, gamma=0.02, C=10)
    require_same_machine(here, there, X, y)
    assert abs(len(there.support_) - len(here.support_)) <= 0.002 * len(here.support_)
    from_tensors = SVC(gamma=0.02, C=10, device="cuda").fit(tensor(X), tensor(y))
    guessed = from_tensors.predict(tensor(asked)).cpu().numpy()
    assert abs(np.mean(guessed == answers) - here.score(asked, answers)) <= 0.001


def test_support_vectors_stay_on_the_card_until_they_are_asked_for():
    X, y = digits(size(700, 400))
    there = tensor(X.astype(np.float32))
    model = SVC(C=10, gamma=1e-3, device="cuda").fit(there, y)
    scores = model.decision_function(there)
    if size(True, False):
        assert "support_vectors_" not in vars(model)
    copied = pickle.loads(pickle.dumps(model))
    for same in (model, copied, copy.copy(model)):
        np.testing.assert_array_equal(same.support_vectors_, X[model.support_])
        np.testing.assert_array_equal(as_numpy(same.decision_function(there)), as_numpy(scores))


def test_recorded_rounds_are_those_that_are_not():
    from separatrix.runtime import device_graph

    X, y = clouds(size(9000, 300), 8)
    found, before = [], device_graph.EAGER_CALLS
    for calls in (before, 10**9):
        device_graph.EAGER_CALLS = calls
        try:
            found.append(SVC(C=10, tol=1e-5, device="cuda").fit(X, y))
        finally:
            device_graph.EAGER_CALLS = before
    np.testing.assert_array_equal(found[0].dual_coef_, found[1].dual_coef_)
    np.testing.assert_array_equal(found[0].n_iter_, found[1].n_iter_)


def test_pixels_are_predicted_as_bytes_and_others_as_floats():
    from separatrix.estimators.base.device_support import PREPARED

    X, y, asked, _ = mnist(size(6000, 500))
    here, there = both(X, y, gamma=0.02, C=10)
    for samples, whole in ((asked, True), (asked + 0.01, False), (2.0 * asked, False)):
        samples = samples[: size(1000, 50)].astype(np.float32)
        with case(whole):
            expected = here.decision_function(samples)
            np.testing.assert_allclose(there.decision_function(samples), expected, atol=1e-3)
            if size(True, False):
                kept = PREPARED[there]
                assert kept.whole is not None
                assert kept.whole.serves(there.kernel_, tensor(samples), 1e-3) == whole
