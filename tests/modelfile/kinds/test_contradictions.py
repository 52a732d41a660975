"""Files whose parts contradict each other are refused: the part, what it must be, and what was found."""

import copy
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.modelfile.cases import BY_NAME
from tests.modelfile.hostile import DELETED, change, signed, split_file

from separatrix import load
from separatrix.errors import ModelFileError


def fewer(a):
    return a[:-1]


def one_more(a):
    return np.concatenate([a, a[-1:]])


def begins_at_1(a):
    return np.concatenate([a[:1] + 1, a[1:]])


def ends_earlier(a):
    return np.concatenate([a[:-1], a[-1:] - 1])


def transposed(change):
    """A change of the columns of an array that lies by rows."""
    return lambda a: np.ascontiguousarray(change(a.T).T)


MACHINES = [
    ("svc", "_support.cuts` must be from 0 to", {"@._support.cuts": begins_at_1}),
    ("svc", "_support.cuts` must be from 0 to", {"@._support.cuts": ends_earlier}),
    ("svc", "_support.paired` must be True; found False", {"state._support.paired": False}),
    ("svc-two", "_support.paired` must be False; found True", {"state._support.paired": True}),
    ("svc-ovr", "_support.paired` must be False; found True", {"state._support.paired": True}),
    ("svc", "a row for each other class; found 3", {"@._support.coef": transposed(one_more)}),
    ("svc", "a row for each other class; found 1", {"@._support.coef": transposed(fewer)}),
    ("svc-ovr", "a row for each other class; found 2", {"@._support.coef": transposed(fewer)}),
    ("svc-two", "a row for each other class; found 2", {"@._support.coef": one_more}),
    (
        "svc",
        "_ties` must be an order of all classes; found",
        {"state._ties": "C", "@._ties": np.array([0, 2, 2])},
    ),
    (
        "svc-sigmoid-calibrated",
        "_calibration.scheme` must be ovo; found ovr",
        {"state._calibration.scheme": "ovr"},
    ),
    (
        "svc-sigmoid-calibrated",
        r"_calibration.slopes` must be \(3, 2\); found \(2, 2\)",
        {"@._calibration.slopes": fewer},
    ),
    (
        "svc-temperature",
        r"_calibration.slopes` must be \(1, 1\); found \(2, 1\)",
        {"@._calibration.slopes": one_more},
    ),
    ("one-class", r"_support.coef` must be \(1, .*found \(2, ", {"@._support.coef": one_more}),
    ("one-class", "_support.intercept` must be 1; found 2", {"@._support.intercept": one_more}),
    ("one-class", "_support.cuts` must be 2; found 3", {"@._support.cuts": one_more}),
    ("one-class", "_support.paired` must be False; found True", {"state._support.paired": True}),
    ("one-class", "shape_fit_` must be 2 numbers; found", {"state.shape_fit_": [30]}),
    ("one-class-on-sequences", "shape_fit_` must be 1 numbers", {"state.shape_fit_": [30, 4]}),
    (
        "kernel-logistic",
        r"_support.coef` must be \(3, .*found \(2,",
        {"@._support.coef": transposed(fewer)},
    ),
    ("kernel-logistic", "_support.paired` must be False", {"state._support.paired": True}),
    ("kernel-fisher", "shape_fit_` must be 2 numbers; found", {"state.shape_fit_": [30]}),
    ("kernel-perceptron", "must be one for each of support_; found -1", "without vectors"),
    ("svc", "support_vectors_` must be there; found nothing", "without vectors"),
    ("svc-precomputed", "support_` must be below 30; found", {"@.support_": lambda a: a + 1}),
    ("svc-precomputed", "kernel` must be .*found linear", {"params.kernel": "linear"}),
    ("kernel-perceptron", "_begun` must be .*found others", {"state._begun": {"dict": []}}),
    ("kernel-perceptron", "_begun` must be .*found others", {"state._begun": 5}),
    ("svc-cv", "best_estimator_.n_features_in_` must be 5; found 4", {"state.n_features_in_": 5}),
    (
        "svc-cv",
        "best_estimator_.calibration` must be None, as searched with; found platt",
        {"state.best_estimator_.params.calibration": "platt"},
    ),
]
LINEAR = [
    ("perceptron-vote", "_past` must be up to", {"@._past.sample_ends": ends_earlier}),
    ("perceptron-vote", "_past` must be up to", {"@._past.log_ends": ends_earlier}),
    (
        "perceptron-vote",
        "_past` must be up to",
        {f"@._past.{name}": lambda a: a[:0] for name in ("sample_ends", "log_ends")},
    ),
    ("perceptron-vote", "_past.log.rows` must be below .*; found 30", "a row too far"),
    ("perceptron-vote", "_past.log.steps` must be below", {"state.t_": 1}),
    (
        "perceptron-vote",
        "_past.log.steps` must be rising; found falling",
        {"@._past.log.steps": lambda a: a[::-1].copy()},
    ),
    ("perceptron-vote", "_state` must be there, to vote; found nothing", "without a state"),
    ("perceptron", "_past` must be there, to vote; found nothing", {"params.predictor": "vote"}),
    ("perceptron", "_begun` must be .*found others", {"state._begun": {"dict": []}}),
    ("perceptron", "_begun` must be .*found others", {"state._begun": [1]}),
    ("perceptron-radius", "_radius` must be there with bias='radius'", {"state._radius": DELETED}),
    ("passive-aggressive", "_begun` must be average; found others", {"state._begun": 5}),
    ("passive-aggressive", "_begun` must be average; found others", {"state._begun": {"dict": []}}),
    ("logistic-laplace", "_posterior.p` must be 3; found 2", {"state._posterior.p": 2}),
    (
        "logistic-laplace",
        r"_posterior.factor` must be \(15, 15\); found \(14, 14\)",
        {"@._posterior.factor": lambda a: np.ascontiguousarray(a[:-1, :-1])},
    ),
    ("logistic-cv", "_best` must be C and l1_ratio; found", {"state._best": {"tuple": [1.0]}}),
    ("logistic-cv", "_best` must be C and l1_ratio; found", {"state._best": {"tuple": [1, "x"]}}),
    ("logistic-cv", "_best` must be C and l1_ratio; found", {"state._best": [1.0, 0.0]}),
    (
        "logistic-cv",
        "_fold_paths` must be 5 weights wide; found 4",
        {"@._fold_paths": lambda a: np.ascontiguousarray(a[..., :-1])},
    ),
    ("least-squares", "coef_` must be 4 columns wide; found 3", "fewer columns"),
    (
        "least-squares-features",
        "coef_` must be 15 columns wide; found 14",
        "fewer columns",
    ),
    (
        "least-squares-features",
        "features_.n_features_in_` must be 5; found 4",
        {"state.n_features_in_": 5},
    ),
]
GAUSSIAN = [
    *(
        ("categorical-words", "_likelihood.sizes` must be at least 1, with sum", changes)
        for changes in (
            {"@._likelihood.sizes": lambda a: a + 1},
            {"@._likelihood.sizes": lambda a: np.array([a[0] + a[1], 0, *a[2:]])},
            {"@._likelihood.sizes": lambda a: np.array([2**62, 2**62, 2**62, 2**62 + a.sum()])},
        )
    ),
    (
        "categorical-words",
        "_sums.sizes` must be those of _likelihood",
        {"@._sums.sizes": lambda a: a[::-1] - np.array([1, 0, 0, -1])},
    ),
    ("fisher-threshold", "threshold_` must be there; found nothing", {"state.threshold_": DELETED}),
    ("lda", "_n_features_out` must be columns of scalings_; found 3", {"state._n_features_out": 3}),
    ("lda-lsqr", "scalings_` must be there; found nothing", {"params.solver": "eigen"}),
    ("lda", "scatter` must be of shape", {"state._sums.form": "each"}),
    ("lda", "scatter` must be of shape", {"state._sums.form": "features"}),
    ("qda", "scatter` must be of shape", {"state._sums.form": "pooled"}),
]
OTHERS = [
    (
        "calibrated-two",
        "curves_` must be one for each class, or for two; found 2",
        "a second curve",
    ),
    ("calibrated-two", "curves_` must be one for each class, or for two; found 0", "no curves"),
    ("calibrated-two", "classes_` must be at least two; found 1", {"@.classes_": fewer}),
    (
        "decision-reject",
        "actions_` must be 3 or 4; found 2",
        {"@.actions_": lambda a: a[:2], "@.loss_matrix_": lambda a: np.ascontiguousarray(a[:, :2])},
    ),
    (
        "count-given",
        "vocabulary_` must be as `vocabulary` says",
        {"params.vocabulary": ["long", "petal", "root"]},
    ),
    (
        "tfidf",
        "_tfidf.n_features_in_` must be .*one for each word; found 5",
        {"state._tfidf.state.n_features_in_": 5, "@._tfidf.idf_": fewer},
    ),
    ("weights", "idf_` must be there: False, as use_idf says; found", {"params.use_idf": False}),
    ("fill-mean", "as_objects` must be false unless constant", {"state.as_objects": True}),
    (
        "fill-constant",
        "statistics_` must be 0, as fill_value says, or NaN",
        {"@.statistics_": lambda a: a + 1},
    ),
    (
        "polynomial-map",
        "n_output_features_` must be 15; found 14",
        {"state.n_output_features_": 14},
    ),
    (
        "polynomial-map",
        "monomials_` must be .*as the parameters say",
        {"state.monomials_.degree": 3},
    ),
    (
        "features-words",
        "vocabulary_` must be with all tables|kernel_` must be",
        {"params.kernel.params.lowercase": True},
    ),
]


ALL = [*MACHINES, *LINEAR, *GAUSSIAN, *OTHERS]


@cache
def file_of(name):
    """The document and the arrays of the file of a case."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return split_file(BY_NAME[name].fitted(), Path(folder, "x.model"))


def without(tensors, start):
    for name in [name for name in tensors if name.startswith(start)]:
        del tensors[name]


def alter(document, tensors, changes):
    state = document["model"]["state"]
    if changes == "without vectors":
        del state["support_vectors_"]
        without(tensors, "model.support_vectors_")
    elif changes == "without a state":
        state["_state"] = None
        without(tensors, "model._state")
    elif changes == "a second curve":
        state["curves_"] = 2 * state["curves_"]
        for name in [name for name in tensors if ".curves_[0]" in name]:
            tensors[name.replace("[0]", "[1]")] = tensors[name]
    elif changes == "no curves":
        state["curves_"] = []
        without(tensors, "model.curves_")
    elif changes == "fewer columns":
        state["_sums"] = None
        without(tensors, "model._sums")
        change(document, tensors, "@.coef_", transposed(fewer))
    elif changes == "a row too far":
        rows = tensors["model._past.log.rows"] = tensors["model._past.log.rows"].copy()
        rows[0] = 30
        tensors["model._past.samples"] = one_more(tensors["model._past.samples"])
        ends = tensors["model._past.sample_ends"] = tensors["model._past.sample_ends"].copy()
        ends[-1] += 1
    else:
        for where, new in changes.items():
            change(document, tensors, where, new)


def copied(name):
    document, tensors = file_of(name)
    return copy.deepcopy(document), dict(tensors)


@pytest.mark.parametrize(
    ("name", "said", "changes"), ALL, ids=[f"{row[0]}-{at}" for at, row in enumerate(ALL)]
)
def test_a_file_that_contradicts_itself_is_refused(name, said, changes, path):
    document, tensors = copied(name)
    alter(document, tensors, changes)
    path.write_bytes(signed(document, tensors))
    with pytest.raises(ModelFileError, match=said) as refusal:
        load(path)
    assert refusal.value.__cause__ is None


@pytest.mark.parametrize("name", sorted({row[0] for row in ALL}))
def test_the_same_files_without_a_change_are_read(name, path):
    path.write_bytes(signed(*copied(name)))
    load(path)
