"""The linear family, naive Bayes and the feature maps on a card: as on the CPU, to tolerance."""

import warnings

import numpy as np
from sklearn.base import clone
from tests.gpu.at_hand import case, clouds, digits, real_card, refused, size, tensor

import separatrix as s
from separatrix.errors import DataError, DeviceError, MemoryBudgetError
from separatrix.kernels import Gaussian
from separatrix.runtime.device import as_numpy

ONE_PASS = (
    (s.LinearDiscriminantAnalysis(), "coef_ intercept_ scalings_"),
    (s.LinearDiscriminantAnalysis("lsqr", shrinkage=0.1), "coef_ intercept_"),
    (s.LinearDiscriminantAnalysis("eigen", shrinkage="auto"), "coef_ intercept_"),
    (s.QuadraticDiscriminantAnalysis(reg_param=0.1), "means_ priors_"),
    (s.LeastSquaresClassifier(1.0), "coef_ intercept_"),
    (s.LeastSquaresClassifier("loo"), "coef_ ridge_"),
    (s.GaussianNB(var_smoothing=1e-3), "theta_ var_"),
    (s.MultinomialNB(), "feature_log_prob_"),
    (s.BernoulliNB(binarize=3.0), "feature_log_prob_"),
    (s.ComplementNB(norm=True), "feature_log_prob_"),
    (s.CategoricalNB(min_categories=17), "class_log_prior_"),
)
MAPS = (
    s.PolynomialMap(2),
    s.PolynomialMap(2, kernel=True, gamma=0.01, coef0=1.0),
    s.RandomFourier(0.01, n_components=60, random_state=0),
    s.Nystroem(Gaussian(0.001), n_components=60, random_state=0),
)


def samples(n, labels=10):
    """Digits, their labels as so many classes, and weights of which some are 0."""
    X, y = digits(n)
    weights = np.random.default_rng(0).uniform(0.0, 2.0, n)
    weights[::50] = 0.0
    return X, y % labels, weights


def fitted(model, device, X, y, weights=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # digits have constant features
        return clone(model).set_params(device=device).fit(X, y, sample_weight=weights)


def close(ours, theirs, tolerance):
    ours, theirs = as_numpy(ours), as_numpy(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())


def test_models_of_one_pass_learn_on_the_card_what_they_learn_on_the_cpu():
    for labels in (10, 2):
        X, y, weights = samples(600, labels)
        for model, names in ONE_PASS:
            with case(model, labels):
                here = fitted(model, "cpu", X, y, weights)
                there = fitted(model, "cuda", tensor(X), tensor(y), weights)
                for name in names.split():
                    close(getattr(there, name), getattr(here, name), 1e-8)
                again = fitted(model, "cuda", X, y, weights)
                np.testing.assert_array_equal(again.predict(X), here.predict(X))


def test_answers_to_tensors_are_tensors_where_they_were():
    import torch

    X, y, _ = samples(400)
    T = tensor(X)
    models = [model for model, _ in ONE_PASS]
    for model in (*models, s.LogisticRegression(C=0.01), s.LinearSVC(C=0.001)):
        with case(model):
            there, here = fitted(model, "cuda", T, tensor(y)), fitted(model, "cpu", X, y)
            for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
                if not hasattr(there, method):
                    continue
                answer = getattr(there, method)(T)
                assert isinstance(answer, torch.Tensor), method
                assert answer.device == T.device
                expected = getattr(here, method)(X)
                if method == "predict":
                    assert np.mean(as_numpy(answer) == expected) >= 0.995
                elif method != "predict_log_proba" and not isinstance(there, s.LinearSVC):
                    close(answer, expected, 1e-6)
            assert there.score(T, tensor(y)) == there.score(X, y)


def test_sums_of_parts_on_the_card_are_those_of_all_samples():
    X, y, _ = samples(600)
    parts = [slice(0, 200), slice(200, 450), slice(450, 600)]
    for model, names in ONE_PASS[:1] + ONE_PASS[4:5] + ONE_PASS[6:]:
        with case(model), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            whole = fitted(model, "cpu", X, y)
            stream = clone(model).set_params(device="cuda")
            for part in parts:
                stream.partial_fit(tensor(X[part]), tensor(y[part]), classes=np.arange(10))
            merged = [
                clone(model).partial_fit(tensor(X[part]), tensor(y[part]), classes=np.arange(10))
                for part in parts
            ]
            merged = merged[0].merge(*merged[1:])
            for name in names.split():
                close(getattr(stream, name), getattr(whole, name), 1e-8)
                close(getattr(merged, name), getattr(whole, name), 1e-8)


def test_fishers_axes_and_maps_are_those_of_the_cpu():
    X, y, _ = samples(500)
    fisher = s.FisherDiscriminant(ridge=1.0)
    here, there = fitted(fisher, "cpu", X, y), fitted(fisher, "cuda", tensor(X), tensor(y))
    close(there.axes_, here.axes_, 1e-8)
    close(there.transform(tensor(X)), here.transform(X), 1e-8)
    for model in MAPS:
        with case(model):
            expected = clone(model).set_params(device="cpu").fit(X).transform(X)
            found = clone(model).set_params(device="cuda").fit(tensor(X))
            close(found.transform(tensor(X)), expected, 1e-9)
            close(found.transform(X), expected, 1e-9)
            close(found.transform(tensor(X).float()), expected, 1e-4)


def test_logistic_regression_reaches_the_same_minimum():
    for labels in (10, 2):
        X, y, weights = samples(700, labels)
        for solver in ("lbfgs", "newton-cholesky"):
            for C in (0.01, 1.0):
                with case(solver, C, labels):
                    model = s.LogisticRegression(C=C, solver=solver, max_iter=500, tol=1e-6)
                    here = fitted(model, "cpu", X, y, weights)
                    there = fitted(model, "cuda", tensor(X), tensor(y), weights)
                    assert there.gradient_ <= 1e-6
                    close(there.objective_, here.objective_, 1e-7)
                    close(there.coef_, here.coef_, 1e-2)


def test_the_evidence_and_the_posterior_are_those_of_the_cpu():
    X, y = clouds(size(3000, 400), 6, classes=2)
    model = s.LogisticRegression(C="evidence", posterior="laplace")
    here, there = fitted(model, "cpu", X, y), fitted(model, "cuda", tensor(X), tensor(y))
    close(there.C_, here.C_, 1e-3)
    close(there.log_evidence_, here.log_evidence_, 1e-6)
    close(there.coef_std_, here.coef_std_, 1e-3)
    close(there.predict_proba(tensor(X)), here.predict_proba(X), 1e-4)


def test_linear_svc_reaches_the_same_minimum_with_a_certificate():
    for labels in (10, 2):
        X, y, weights = samples(700, labels)
        for bias in (True, False):
            with case(labels, bias):
                model = s.LinearSVC(C=0.01, tol=1e-6, dual=False, regularize_intercept=bias)
                here = fitted(model, "cpu", X, y, weights)
                there = fitted(model, "cuda", tensor(X), tensor(y), weights)
                close(there.objective_, here.objective_, 1e-6)
                close(there.coef_, here.coef_, 1e-3)
                assert (there.dual_gap_ <= 1e-5).all()


def test_what_has_no_solver_there_is_refused_in_a_sentence():
    import scipy.sparse

    X, y, _ = samples(200)
    for model, word in (
        (s.LinearSVC(loss="hinge"), "hinge"),
        (s.LinearSVC(dual=True), "dual=False"),
        (s.LinearSVC(multi_class="crammer_singer"), "crammer_singer"),
        (s.LogisticRegression(l1_ratio=1.0), "l1 penalty"),
        (s.LeastSquaresClassifier(features=s.PolynomialMap(1)), "features"),
    ):
        with case(model), refused(DeviceError, word, "device='cpu'"):
            fitted(model, "cuda", X, y)
    features = s.PolynomialMap(2, device="cuda").fit(X)
    with refused(DeviceError, "sparse samples"):
        features.transform(scipy.sparse.csr_array(X))
    with refused(DataError, "Negative"):
        fitted(s.MultinomialNB(), "cuda", tensor(-X), y)
    with refused(ValueError, "NaN"):
        fitted(s.LinearDiscriminantAnalysis(), "cuda", tensor(np.where(X > 15, np.nan, X)), y)


def test_samples_in_main_memory_are_copied_in_blocks():
    from separatrix.runtime import device_rows

    X, y = clouds(size(200_000, 900), 12)
    here = fitted(s.LinearDiscriminantAnalysis(), "cpu", X, y)
    before = device_rows.BLOCK_BYTES
    device_rows.BLOCK_BYTES = 8 * 12 * (len(X) // 7)
    try:
        there = fitted(s.LinearDiscriminantAnalysis(), "cuda", X, y)
        np.testing.assert_array_equal(there.predict(X), here.predict(X))
        scores = there.decision_function(X)
    finally:
        device_rows.BLOCK_BYTES = before
    close(there.coef_, here.coef_, 1e-9)
    close(scores, here.decision_function(X), 1e-9)


def test_logistic_regression_streams_samples_that_do_not_fit():
    from separatrix.estimators.base import device_samples

    X, y = clouds(size(100_000, 900), 12, classes=2, spread=1.0)
    model = s.LogisticRegression(tol=1e-7)
    here = fitted(model, "cpu", X, y)
    before = device_samples.free_bytes
    device_samples.free_bytes = lambda device: X.nbytes
    try:
        there = fitted(model, "cuda", X, y)
    finally:
        device_samples.free_bytes = before
    close(there.objective_, here.objective_, 1e-7)


def test_a_linear_svc_that_does_not_fit_is_refused_before_the_fit():
    real_card()
    from separatrix.estimators.base import device_samples

    X, y, _ = samples(300)
    before = device_samples.free_bytes
    device_samples.free_bytes = lambda device: X.nbytes
    try:
        with refused(MemoryBudgetError, "LinearSVC", "device='cpu'"):
            fitted(s.LinearSVC(dual=False), "cuda", X, y)
    finally:
        device_samples.free_bytes = before


def test_labels_on_the_card_get_their_codes_there():
    from separatrix.estimators.base import blocks

    X, y, _ = samples(300, 3)
    for labels in (y.astype(np.int64), (7 * y - 5).astype(np.int16), (y > 0).astype(np.uint8)):
        for model in (s.LogisticRegression(), s.GaussianNB(var_smoothing=1e-3)):
            with case(model, labels.dtype):
                found = blocks.blocks_of(
                    clone(model).set_params(device="cuda"), tensor(X), tensor(labels)
                )
                assert isinstance(found, blocks.TensorBlocks)
                assert "train" not in vars(found)
                there = fitted(model, "cuda", tensor(X), tensor(labels))
                here = fitted(model, "cpu", X, labels)
                np.testing.assert_array_equal(there.classes_, here.classes_)
                assert there.classes_.dtype == labels.dtype
                np.testing.assert_array_equal(as_numpy(there.predict(tensor(X))), here.predict(X))
    with refused(DataError, "at least 2 classes; got one class, 4"):
        fitted(s.LogisticRegression(), "cuda", tensor(X), tensor(np.full(300, 4)))
    with refused(DataError, "X has 300 samples, but y has 299 labels"):
        fitted(s.GaussianNB(), "cuda", tensor(X), tensor(y[:299]))
    with refused(ValueError, "NaN"):
        fitted(s.GaussianNB(), "cuda", tensor(np.where(X > 15, np.nan, X)), tensor(y))
