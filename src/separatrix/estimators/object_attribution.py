"""Attribution of a score to the features, letters or nodes of one sequence or graph.

If a kernel counts features, the score of an object is the bias plus the sum of count times weight over
its features. The contributions of its letters or nodes (`kernels/attribution.py`) and the bias add up to
the score too, exactly. Subsequences are too many to list: each letter gets its part of all that use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from separatrix.data.graph import Graph
from separatrix.errors import ParameterError, UnsupportedError
from separatrix.estimators.base.multiclass import decision_values
from separatrix.estimators.base.tuned import best_model
from separatrix.estimators.kernel_features import KernelFeatures
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.svc import SVC
from separatrix.kernels.attribution import (
    Feature,
    attribute_features,
    attribute_subsequences,
    find_features,
)
from separatrix.kernels.base import Kernel
from separatrix.kernels.composed import inside
from separatrix.kernels.object_kernels import FeatureKernel, ObjectKernel
from separatrix.kernels.strings.subsequence_kernel import Subsequence
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.solvers.decomposition import coding, pairs
from separatrix.types import Matrix, Vector


@dataclass(frozen=True)
class Attribution:
    """The score of one object, and the contributions to it."""

    object: Any  # str, bytes, tuple of tokens, or Graph
    label: Any  # the predicted class
    against: Any  # the other class of the boundary; None: all the others
    score: float  # above 0 for `label`
    bias: float
    values: Vector  # shape: (letters,) or (nodes,); their sum and the bias are the score
    features: list[Feature]  # the largest terms first; their sum and the bias are the score


class Weight(NamedTuple):
    """The weight of a feature at one decision boundary."""

    boundary: str
    name: str
    weight: float


class _KernelExpansion(NamedTuple):
    """A model as a sum over kernel values with its support vectors."""

    kernel: Kernel
    base: FeatureKernel | Subsequence
    support: Any  # shape: (s,); objects
    columns: Matrix  # shape: (p, s); coefficients at each boundary
    bias: Vector  # shape: (p,)
    scheme: str

    def multiples(self, own: float) -> Vector:
        """kernel / base for each support vector and an object whose base value with itself is `own`."""
        ratios: Matrix = np.ones((1, len(self.support)))
        if self.kernel is not self.base:
            self.kernel.apply(ratios, np.array([own]), self.base.diagonal(self.support))
        return ratios.ravel()


def explain_object(
    model: Any, x: Any, *, against: Any = None, names: Mapping[Any, str] | None = None
) -> Attribution:
    """The predicted class of one object, and what its features and its letters or nodes contribute.

    Parameters
    ----------
    model
        A fitted `SVC` or `KernelPerceptron` with a kernel on sequences or graphs, alone or inside
        `Normalized` or a multiple; or a pipeline of `KernelFeatures` and a linear model.
    x
        A sequence or a graph.
    against
        The other class. None: the runner-up if the model has one boundary for each pair of classes, all
        other classes if it has one for each class.
    names
        Names of a graph's node labels, such as {6: "C", 8: "O"}; other labels are unchanged.

    Examples
    --------
    >>> from separatrix.kernels import Spectrum
    >>> model = SVC(kernel=Spectrum(2)).fit(["GATTACA", "TACTAC", "GGGG", "CGGC"], [1, 1, 0, 0])
    >>> found = explain_object(model, "TACG")
    >>> found.label, found.features[0].name
    (1, 'TA')
    >>> bool(np.isclose(found.values.sum() + found.bias, model.decision_function(["TACG"])[0]))
    True
    """
    model = best_model(model)
    check_is_fitted(model)
    if isinstance(model, Pipeline) and len(model.steps) > 1:
        return _explain_pipeline(model, x, against, names)
    model = _unwrap(model)
    machine = _expand(model)
    X = _checked(machine.base, x, names)
    S = model.boundary_scores(X)[0]
    label, other, sides = _boundary(model, X, S, machine.scheme, against)
    coef = sides @ machine.columns * machine.multiples(float(machine.base.diagonal(X)[0]))
    if isinstance(machine.base, Subsequence):
        values, features = attribute_subsequences(machine.base, X, machine.support, coef)
    else:
        found = find_features(machine.base, X, Vocabulary())
        found.vocabulary.closed = True  # only the features of this object matter
        counts = machine.base.counts(machine.support, found.vocabulary)
        weights = _weights(machine.base, counts, coef)
        values, features = attribute_features(machine.base, X, found, weights, names)
    return Attribution(
        X[0], label, other, float(sides @ S), float(sides @ machine.bias), values, features
    )


def largest_weights(model: Any, count: int) -> list[Weight]:
    """The features of largest weight at each boundary of a fitted `SVC` or `KernelPerceptron`.

    With `Normalized`, the weights apply to an object whose value with itself is 1.
    """
    model = best_model(model)
    check_is_fitted(model)
    model = _unwrap(model)
    machine = _expand(model)
    base, X = machine.base, machine.support
    if isinstance(base, Subsequence):
        raise UnsupportedError("Subsequence has too many features to list; explain a row instead")
    vocabulary, multiples = Vocabulary(), machine.multiples(1.0)
    counts = base.counts(X, vocabulary)
    titles = _titles(model.classes_.tolist(), machine.scheme)
    rows = []
    for title, coef in zip(titles, machine.columns, strict=True):
        weights = _weights(base, counts, coef * multiples)
        rows += [Weight(title, *one) for one in _largest(base, vocabulary, weights, count)]
    return rows


def _unwrap(model: Any) -> Any:
    """The estimator of a pipeline of one step."""
    return model[-1] if isinstance(model, Pipeline) and len(model.steps) == 1 else model


def _expand(model: Any) -> _KernelExpansion:
    """The kernel expansion of a model; raises UnsupportedError if it has none on objects."""
    if not isinstance(model, SVC | KernelPerceptron):
        raise UnsupportedError(
            f"explain_object does not support {type(model).__name__}: use SVC, KernelPerceptron, or "
            "KernelFeatures with a linear model"
        )
    kernel = model.kernel_
    base = inside(kernel)
    if not isinstance(base, FeatureKernel | Subsequence):
        raise UnsupportedError(
            f"explain_object needs a kernel on sequences or graphs, alone or inside Normalized or a "
            f"multiple; got {kernel!r}"
        )
    if isinstance(model, SVC):
        columns, bias = model._support.columns(), model._support.intercept
        return _KernelExpansion(
            kernel, base, model.support_vectors_, columns, bias, model.multi_class
        )
    if model.predictor not in ("last", "average"):
        raise UnsupportedError(
            f"predictor={model.predictor!r} has no single score; use 'last' or 'average'"
        )
    columns = model.alpha_.T
    bias = np.zeros(len(columns))
    return _KernelExpansion(kernel, base, model.support_vectors_, columns, bias, model._scheme)


def _explain_pipeline(
    model: Pipeline, x: Any, against: Any, names: Mapping[Any, str] | None
) -> Attribution:
    """`explain_object` for a pipeline of `KernelFeatures` and a linear model."""
    counter, inner = model.steps[0][1], model.steps[-1][1]
    if not isinstance(counter, KernelFeatures) or not hasattr(inner, "coef_"):
        raise UnsupportedError(
            "explain_object needs a pipeline that begins with KernelFeatures and ends with a linear "
            f"model; got {type(counter).__name__} and {type(inner).__name__}"
        )
    base = counter.kernel_
    X = _checked(base, x, names)
    F = counter.transform(X)
    z = _transform(model, F)
    W = inner.coef_.toarray() if issparse(inner.coef_) else np.atleast_2d(inner.coef_)
    b = np.broadcast_to(inner.intercept_, len(W))
    counts = np.concatenate([part.toarray()[0] for part in base.counts(X, counter.vocabulary_)])
    if len(z) != len(counts) or np.any(z[counts == 0]) or np.any(_transform(model, 0 * F)):
        raise UnsupportedError(
            "explain_object does not support steps after KernelFeatures that mix or shift features"
        )
    S = W @ z + b
    scheme = "ovo" if getattr(inner, "multi_class", "ovr") == "ovo" else "ovr"
    label, other, sides = _boundary(model, X, S, scheme, against)
    each = np.divide((sides @ W) * z, counts, out=np.zeros(len(z)), where=counts > 0)
    weights = np.split(each, np.cumsum(counter.widths_)[:-1])
    found = find_features(base, X, counter.vocabulary_)
    values, features = attribute_features(base, X, found, weights, names)
    return Attribution(X[0], label, other, float(sides @ S), float(sides @ b), values, features)


def _transform(model: Pipeline, F: Any) -> Vector:
    """Features of one object at the input of the last step, (d,)."""
    for _, step in model.steps[1:-1]:
        F = F if step in (None, "passthrough") else step.transform(F)
    z: Vector = (F.toarray() if issparse(F) else np.asarray(F))[0]
    return z


def _boundary(model: Any, X: Any, S: Vector, scheme: str, against: Any) -> tuple[Any, Any, Vector]:
    """The class, the other class, and the coefficients of the boundaries in their score, (p,)."""
    classes = model.classes_.tolist()
    label = np.asarray(model.predict(X)).tolist()[0]
    own, k = classes.index(label), len(classes)
    if against is not None and (against not in classes or against == label):
        others = [name for name in classes if name != label]
        raise ParameterError("explain_object", "against", f"one of {others}", against)
    other = None if against is None else classes.index(against)
    sides = np.zeros(len(S))
    if len(S) == k and (scheme != "ovo" or k == 2):  # one for each class
        sides[own] = 1.0
        if other is not None:
            sides[other] = -1.0
        return label, against, sides
    if other is None:
        values = decision_values(S[None], k, "ovo", "margin")[0] if k > 2 else np.zeros(2)
        values[own] = -np.inf
        other = int(values.argmax())
    both = coding(k, "ovo")
    boundary = int(np.flatnonzero((both[own] != 0) & (both[other] != 0))[0])
    sides[boundary] = both[own, boundary]
    return label, classes[other], sides


def _weights(kernel: FeatureKernel, counts: list[Any], coef: Vector) -> list[Vector]:
    """The weight of each feature, by level, from its counts in the support vectors."""
    return [
        weight * (part.T @ coef) for part, (_, weight) in zip(counts, kernel.levels, strict=True)
    ]


def _largest(
    kernel: FeatureKernel, vocabulary: Vocabulary, weights: list[Vector], count: int
) -> list[tuple[str, float]]:
    """Names and weights of the features of largest weight, over all levels."""
    ends = np.cumsum([0, *map(len, weights)])
    values = np.concatenate(weights)
    order = np.argsort(-np.abs(values), kind="stable")[:count]
    rows = []
    for position in order[values[order] != 0]:
        number = int(np.searchsorted(ends, position, side="right")) - 1
        level, own = kernel.levels[number][0], np.array([position - ends[number]])
        rows.append((kernel.names(level, vocabulary, own)[0], float(values[position])))
    return rows


def _titles(classes: list[Any], scheme: str) -> list[str]:
    """Names of a scheme's boundaries; the class of positive scores first."""
    if len(classes) == 2:
        return [f"{classes[1]} against {classes[0]}"]
    if scheme != "ovo":
        return [str(label) for label in classes]
    return [f"{classes[a]} against {classes[b]}" for a, b in pairs(len(classes))]


def _checked(kernel: ObjectKernel, x: Any, names: Mapping[Any, str] | None) -> Any:
    """One object as an array of samples that the kernel accepts."""
    X = np.empty(1, dtype=object)
    X[0] = x
    X = kernel.checked(X)
    if names is not None and not isinstance(X[0], Graph):
        raise ParameterError("explain_object", "names", "None, for a sequence", names)
    return X
