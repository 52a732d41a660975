"""Preprocessing that pipelines share gives what each would compute for itself."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

from separatrix import LinearDiscriminantAnalysis, compare
from separatrix.data.splits import stratified_folds
from separatrix.evaluation.shared_preprocessing import SharedPreprocessing, can_be_split
from separatrix.evaluation.suite import suite
from separatrix.evaluation.trial import fit_and_score

FITS = []


class CountingScaler(StandardScaler):
    def fit(self, X, y=None, sample_weight=None):
        FITS.append(X.shape)
        return super().fit(X, y, sample_weight)


def _times(X, factor):
    return factor * X


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5)) * [1.0, 10.0, 100.0, 0.1, 1.0]
    return X, (X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=150) > 0).astype(int)


def test_a_trial_with_shared_preprocessing_is_the_trial_without(samples):
    X, y = samples
    shared, classes = SharedPreprocessing(), np.unique(y)
    for split in stratified_folds(y, folds=3, repeats=1, seed=0):
        for model in suite(X, y, models=["knn", "logistic", "lda", "svm"]).values():
            one = fit_and_score(model, X, y, split, classes, shared)
            other = fit_and_score(model, X, y, split, classes)
            whole = model.fit(X[split.train], y[split.train])
            np.testing.assert_array_equal(one.on_test, whole.predict(X[split.test]))
            np.testing.assert_array_equal(one.on_train, whole.predict(X[split.train]))
            for name in ("on_train", "on_test", "probabilities", "scores"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
            assert one.settings == other.settings


class InPlace(NearestCentroid):
    """Works in place, as LinearRegression(copy_X=False) may."""

    def fit(self, X, y):
        _scale(X)
        return super().fit(X, y)

    def predict(self, X):
        _scale(X)
        return super().predict(X)


def _scale(X):
    values = X.data if issparse(X) else X
    values *= -3.0


@pytest.mark.parametrize("sparse", [False, True])
def test_models_that_work_in_place_leave_the_samples_of_others_alone(samples, sparse):
    X, y = samples
    scale = MaxAbsScaler() if sparse else StandardScaler()
    X = csr_array(X) if sparse else X
    shared, classes = SharedPreprocessing(), np.unique(y)
    split = stratified_folds(y, folds=3, repeats=1, seed=0)[0]
    model = Pipeline([("scale", scale), ("model", InPlace())])
    trials = [fit_and_score(model, X, y, split, classes, shared) for _ in range(3)]
    apart = clone(scale)
    fitted = InPlace().fit(apart.fit_transform(X[split.train]), y[split.train])
    for trial in trials:
        np.testing.assert_array_equal(trial.on_test, fitted.predict(apart.transform(X[split.test])))
        np.testing.assert_array_equal(
            trial.on_train, fitted.predict(apart.transform(X[split.train]))
        )


def test_equal_steps_are_fitted_once_for_each_split(samples):
    def pipeline(**params):
        return Pipeline(
            [("scale", CountingScaler(**params)), ("model", LinearDiscriminantAnalysis())]
        )

    FITS.clear()
    models = {"a": pipeline(), "b": pipeline(), "c": pipeline(with_mean=False)}
    found = compare(models, *samples, cv=3, repeats=1, progress=False)
    assert len(FITS) == 2 * 3
    a, b = (found.evaluations[name] for name in "ab")
    np.testing.assert_array_equal(a.test_error, b.test_error)
    assert b.seconds >= b.fit_seconds.sum()


def test_without_memory_nothing_is_kept(samples):
    X, y = samples
    split = stratified_folds(y, folds=3, repeats=1, seed=0)[0]
    model = Pipeline([("scale", CountingScaler()), ("model", LinearDiscriminantAnalysis())])
    for memory, fits in ((0, 2), (2**20, 1)):
        FITS.clear()
        shared = SharedPreprocessing(memory)
        for _ in range(2):
            shared.of(model, X, y[split.train], split)
        assert len(FITS) == fits


def test_the_oldest_splits_go_first(samples):
    X, y = samples
    model = Pipeline([("scale", CountingScaler()), ("model", LinearDiscriminantAnalysis())])
    shared = SharedPreprocessing(2 * X.nbytes)
    FITS.clear()
    for split in [*stratified_folds(y, folds=3, repeats=1, seed=0)] * 2:
        shared.of(model, X, y[split.train], split)
    assert len(FITS) == 6


def test_a_parameter_that_cannot_be_compared_is_not_shared(samples):
    X, y = samples
    split = stratified_folds(y, folds=3, repeats=1, seed=0)[0]
    shared = SharedPreprocessing()
    found = []
    for factor in (1.0, 2.0):
        times = FunctionTransformer(_times, kw_args={"factor": factor})
        model = Pipeline([("times", times), ("model", LinearDiscriminantAnalysis())])
        found.append(shared.of(model, X, y[split.train], split).train)
    np.testing.assert_array_equal(2 * found[0], found[1])


def test_a_pipeline_that_may_resample_is_not_split():
    class Resampling(Pipeline):
        pass

    steps = [("pca", PCA(2)), ("model", LinearDiscriminantAnalysis())]
    assert can_be_split(Pipeline(steps))
    assert not can_be_split(Resampling(steps))
    assert not can_be_split(Pipeline([("pca", "passthrough"), steps[1]]))
    assert not can_be_split(LinearDiscriminantAnalysis())
