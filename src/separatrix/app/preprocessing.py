"""Preprocessing that a user asks for: scaling, feature maps, and labels that become two classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from separatrix.data.dataset import Dataset
from separatrix.data.targets import indicator
from separatrix.errors import DataError, ParameterError, UnsupportedError
from separatrix.estimators.decision import BayesDecision
from separatrix.estimators.feature_maps import Nystroem, PolynomialMap, RandomFourier
from separatrix.evaluation.samples import require_labels
from separatrix.evaluation.table_models import is_sparse

SCALES = ("auto", "minmax", "standard", "maxabs", "none")
MAPS: dict[str, Callable[[int, int], Any]] = {  # of a number and a seed
    "polynomial": lambda degree, _seed: PolynomialMap(degree, include_bias=False),
    "nystroem": lambda size, seed: Nystroem(n_components=size, random_state=seed),
    "fourier": lambda size, seed: RandomFourier("scale", n_components=size, random_state=seed),
}
NUMBERS = {PolynomialMap: "degree", Nystroem: "n_components", RandomFourier: "n_components"}
MAP_WORDS = "polynomial:DEGREE, nystroem:FEATURES or fourier:FEATURES, such as polynomial:2"


def set_scale(model: Pipeline, scale: str, data: Dataset) -> Pipeline:
    """Replace the scaling before the model; "auto" leaves the one that suits the data.

    >>> from sklearn.svm import SVC
    >>> plain = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    >>> set_scale(plain, "minmax", Dataset("a", np.eye(2), [0, 1]))[0]
    MinMaxScaler()
    """
    if scale not in SCALES:
        raise ParameterError("fit", "scale", f"one of {', '.join(SCALES)}", scale)
    if scale == "auto":
        return model
    _require_table(data, f"--scale {scale}")
    sparse = is_sparse(data)
    if sparse and scale == "minmax":
        error = UnsupportedError(f"--scale minmax would make the sparse {data.name} dense")
        error.hint = "--scale maxabs keeps zeros, and so does --scale none"
        raise error
    made = {
        "minmax": MinMaxScaler(),
        "standard": StandardScaler(with_mean=not sparse),
        "maxabs": MaxAbsScaler(),
    }
    *before, last = (step for step in model.steps if step[0] != "scale")
    return Pipeline([*before, *([("scale", made[scale])] if scale in made else []), last])


def add_features(model: Pipeline, text: str, data: Dataset, seed: int = 0) -> Pipeline:
    """Put a feature map between the scaling and the model.

    >>> from sklearn.svm import SVC
    >>> add_features(Pipeline([("model", SVC())]), "polynomial:2", Dataset("a", np.eye(2), [0, 1]))[0]
    PolynomialMap(include_bias=False)
    """
    name, _, number = text.partition(":")
    if name not in MAPS or not number.isascii() or not number.isdigit() or not int(number[:9]):
        raise ParameterError("fit", "features", MAP_WORDS, text)
    _require_table(data, f"--features {text}")
    *before, last = model.steps
    return Pipeline([*before, ("map", MAPS[name](int(number[:9]), seed)), last])


def describe_preprocessing(model: Any) -> list[str]:
    """The steps before the model, as Python would write them.

    >>> describe_preprocessing(Pipeline([("scale", MaxAbsScaler()), ("model", None)]))
    ['MaxAbsScaler()']
    """
    model = undecided(model)
    steps = model.steps[:-1] if isinstance(model, Pipeline) else []
    return [_shown(step) for _, step in steps]


def _shown(step: Any) -> str:
    number = next((n for kind, n in NUMBERS.items() if isinstance(step, kind)), None)
    if number is not None:  # also where it is the default
        return f"{type(step).__name__}({number}={getattr(step, number)})"
    return " ".join(repr(step).split())


def undecided(model: Any) -> Any:
    """The classifier inside a decision; any other model unchanged."""
    while isinstance(model, BayesDecision | FrozenEstimator):
        model = getattr(model, "estimator_", model.estimator)
    return model


def mark_positive(data: Dataset, text: str, *, as_fitted: bool = False) -> Dataset:
    """Labels of two classes: 1 for those in a text such as "1,3,5,7,9", -1 for all others.

    `as_fitted`: the text comes from a model; the data may lack some of the labels, or have no others.

    >>> mark_positive(Dataset("a", np.eye(3), np.array([3, 4, 5])), "3,5").y
    array([ 1, -1,  1])
    """
    require_labels(data)
    known = {str(label): label for label in np.unique(np.asarray(data.y)).tolist()}
    wanted = list(dict.fromkeys(word.strip() for word in text.split(",")))
    unknown = [word for word in wanted if word not in known]
    if not as_fitted and (unknown or len(wanted) == len(known)):
        some = ", ".join(list(known)[:20]) + (", ..." if len(known) > 20 else "")
        must_be = f"some, but not all, of the labels {some}"
        raise ParameterError(data.name, "positive", must_be, text)
    marked = [known[word] for word in wanted if word in known]
    y = indicator(data.y, marked)
    count = f"{int((y == 1).sum())} of {len(y)} rows"
    note = f"labels {', '.join(wanted)} became 1 and all others -1: {count} are positive"
    if as_fitted:
        note += "; the model was fitted with them"
    y_test = None if data.y_test is None else indicator(data.y_test, marked)
    return replace(data, y=y, y_test=y_test, notes=(*data.notes, note))


def mark_as_fitted(model: Any, data: Dataset, note: str) -> Dataset:
    """Mark the labels that the note in a model card names, unless they are marked already."""
    begin, _, marked = note.partition(";")[0].partition("positive labels ")
    if data.y is None or begin or not marked:
        return data
    if set(np.unique(data.y).tolist()) <= set(model.classes_.tolist()):
        return data
    return mark_positive(data, marked, as_fitted=True)


def _require_table(data: Dataset, flag: str) -> None:
    if isinstance(data.X, list):
        raise DataError(f"{flag} needs a table of numbers, but {data.name} holds {data.kind}")
