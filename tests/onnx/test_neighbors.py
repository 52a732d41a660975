"""Graphs of nearest neighbours: ties of distances and of votes, weights and metrics."""

import numpy as np
import pytest
from tests.onnx.comparison import assert_same_answers, to_onnx

from separatrix import KNeighborsClassifier, RadiusNeighborsClassifier, errors

rng = np.random.default_rng(0)
GRID = rng.integers(0, 3, size=(200, 3)).astype(float)  # many equal rows and distances
LABELS = rng.integers(0, 4, size=200)
OTHERS = np.vstack([rng.integers(0, 4, size=(300, 3)), np.zeros((2, 3))]).astype(float)
ROUGH, QUERIES = rng.normal(size=(300, 5)), rng.normal(size=(400, 5))


@pytest.mark.parametrize("ties", ["lowest", "nearest"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine"])
def test_equal_distances_and_votes_are_decided_as_predict_does(metric, weights, ties):
    model = KNeighborsClassifier(6, metric=metric, weights=weights, ties=ties).fit(GRID, LABELS)

    for dtype in ("float32", "float64"):
        assert_same_answers(model, OTHERS, dtype)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("k", [1, 4, 300])
def test_all_numbers_of_neighbours_are_found(metric, k):
    model = KNeighborsClassifier(k, metric=metric, smoothing=2.0).fit(ROUGH, np.resize(LABELS, 300))

    assert_same_answers(model, QUERIES, "float64")


def test_rows_far_from_the_origin_are_compared_by_differences():
    far = KNeighborsClassifier(3).fit(ROUGH + 1e7, np.resize(LABELS, 300))
    assert_same_answers(far, QUERIES + 1e7, "float64")


def test_weights_of_samples_and_classes_are_votes():
    model = KNeighborsClassifier(5, class_weight={0: 2.5, 1: 1.0, 2: 0.3, 3: 1.0})
    model.fit(GRID, LABELS, sample_weight=rng.integers(0, 3, size=200))

    assert_same_answers(model, OTHERS, "float64")


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("label", [3, "most_frequent", 9])
def test_rows_within_a_radius_vote(label, metric, weights):
    model = RadiusNeighborsClassifier(
        0.4 if metric == "cosine" else 1.0, weights=weights, metric=metric, outlier_label=label
    ).fit(GRID[:40], LABELS[:40])
    others = np.vstack([OTHERS, np.full((2, 3), -9.0)])

    if label == 9:
        with pytest.warns(UserWarning, match="not in training classes"):
            assert_same_answers(model, others, "float64")
    else:
        assert_same_answers(model, others, "float64")


def test_a_radius_without_a_label_for_outliers_is_refused():
    model = RadiusNeighborsClassifier(1.0).fit(GRID, LABELS)
    with pytest.raises(errors.UnsupportedError, match="set `outlier_label`"):
        to_onnx(model)
    model = RadiusNeighborsClassifier(1.0, outlier_label=0, ties="nearest").fit(GRID, LABELS)
    with pytest.raises(errors.UnsupportedError, match="order of all neighbours"):
        to_onnx(model)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"metric": "chebyshev"}, "metric='chebyshev' is not one of 'euclidean'"),
        ({"weights": lambda d: 1 / (1 + d)}, "`weights` is a function of Python"),
    ],
)
def test_other_neighbours_are_refused_with_the_reason(params, reason):
    model = KNeighborsClassifier(3, **params).fit(GRID, LABELS)
    with pytest.raises(errors.UnsupportedError, match=reason):
        to_onnx(model)


def test_several_outputs_are_refused():
    model = KNeighborsClassifier(3).fit(GRID, np.column_stack([LABELS, LABELS % 2]))
    with pytest.raises(errors.UnsupportedError, match="it has 2 outputs"):
        to_onnx(model)
