"""Which parts of a sequence or a graph decided: its score as a sum over features, letters and nodes.

Where a kernel counts features, the score of an object is a sum over the features that it has, of count
times weight, and a bias. The shares of its letters or nodes (`kernels/attribution.py`) and the bias make up
the score too, exactly.
Subsequences are too many to be listed: there each letter has its part in all of those that use it.
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
from separatrix.kernels.attribution import Feature, find_features, shared_by_letters, shared_out
from separatrix.kernels.base import Kernel
from separatrix.kernels.composed import inside
from separatrix.kernels.object_kernels import FeatureKernel, ObjectKernel
from separatrix.kernels.strings.subsequence_kernel import Subsequence
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.solvers.decomposition import coding, pairs
from separatrix.types import Matrix, Vector


@dataclass(frozen=True)
class Attribution:
    """The score of one object, and what it is made of."""

    object: Any  # str, bytes, tuple of tokens, or Graph
    label: Any  # what it is taken for
    against: Any  # the other class of the boundary; None: all the others
    score: float  # above 0 for `label`
    bias: float
    shares: Vector  # shape: (letters,) or (nodes,); with the bias their sum is the score
    features: list[Feature]  # the largest terms first; with the bias their sum is the score


class Weight(NamedTuple):
    """What a feature counts at a boundary."""

    boundary: str
    name: str
    weight: float


class _Machine(NamedTuple):
    """A model as kernel values with its support."""

    kernel: Kernel
    base: FeatureKernel | Subsequence
    support: Any  # shape: (s,); objects
    columns: Matrix  # shape: (p, s); coefficients at each boundary
    bias: Vector  # shape: (p,)
    scheme: str

    def multiples(self, own: float) -> Vector:
        """What is around the base makes multiples of its values: these, for an object with itself `own`."""
        found: Matrix = np.ones((1, len(self.support)))
        if self.kernel is not self.base:
            self.kernel.apply(found, np.array([own]), self.base.diagonal(self.support))
        return found.ravel()


def explain_object(
    model: Any, x: Any, *, against: Any = None, names: Mapping[Any, str] | None = None
) -> Attribution:
    """What one object is taken for, and what each of its letters or nodes and features gives to that.

    Parameters
    ----------
    model
        A fitted `SVC` or `KernelPerceptron` with a kernel on sequences or graphs, alone or inside
        `Normalized` or a multiple; or a pipeline of `KernelFeatures` and a linear model.
    x
        A sequence or a graph.
    against
        The class that it might have been taken for. None: with a boundary for each pair of classes the
        one that comes next, with one for each class all the others.
    names
        What node labels of a graph are called, as {6: "C", 8: "O"}; others as they are.

    Examples
    --------
    >>> from separatrix.kernels import Spectrum
    >>> model = SVC(kernel=Spectrum(2)).fit(["GATTACA", "TACTAC", "GGGG", "CGGC"], [1, 1, 0, 0])
    >>> parts = explain_object(model, "TACG")
    >>> parts.label, parts.features[0].name
    (1, 'TA')
    >>> bool(np.isclose(parts.shares.sum() + parts.bias, model.decision_function(["TACG"])[0]))
    True
    """
    model = best_model(model)
    check_is_fitted(model)
    if isinstance(model, Pipeline) and len(model.steps) > 1:
        return _of_pipeline(model, x, against, names)
    model = _only(model)
    machine = _machine(model)
    X = _checked(machine.base, x, names)
    S = model.boundary_scores(X)[0]
    label, other, sides = _boundary(model, X, S, machine.scheme, against)
    coef = sides @ machine.columns * machine.multiples(float(machine.base.diagonal(X)[0]))
    if isinstance(machine.base, Subsequence):
        shares, features = shared_by_letters(machine.base, X, machine.support, coef)
    else:
        look = find_features(machine.base, X, Vocabulary())
        look.vocabulary.closed = True  # what the object has not does not count
        counts = machine.base.counts(machine.support, look.vocabulary)
        weights = _weights(machine.base, counts, coef)
        shares, features = shared_out(machine.base, X, look, weights, names)
    return Attribution(
        X[0], label, other, float(sides @ S), float(sides @ machine.bias), shares, features
    )


def largest_weights(model: Any, count: int) -> list[Weight]:
    """The features of largest weight at each boundary of a fitted `SVC` or `KernelPerceptron`.

    With `Normalized`, for an object whose value with itself is 1.
    """
    model = best_model(model)
    check_is_fitted(model)
    model = _only(model)
    machine = _machine(model)
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


def _only(model: Any) -> Any:
    """What a pipeline of one step has inside."""
    return model[-1] if isinstance(model, Pipeline) and len(model.steps) == 1 else model


def _machine(model: Any) -> _Machine:
    """Refuse whatever has no kernel on objects, or scores that are no sum over them."""
    if not isinstance(model, SVC | KernelPerceptron):
        raise UnsupportedError(
            f"{type(model).__name__} has no parts: they are known of SVC, of KernelPerceptron, and of "
            "KernelFeatures with a linear model"
        )
    kernel = model.kernel_
    base = inside(kernel)
    if not isinstance(base, FeatureKernel | Subsequence):
        raise UnsupportedError(
            f"parts are known of a kernel on sequences or graphs, alone or inside Normalized or a "
            f"multiple, but not of {kernel!r}"
        )
    if isinstance(model, SVC):
        columns, bias = model._support.columns(), model._support.intercept
        return _Machine(kernel, base, model.support_vectors_, columns, bias, model.multi_class)
    if model.predictor not in ("last", "average"):
        raise UnsupportedError(
            f"predictor={model.predictor!r} has no one score; use 'last' or 'average'"
        )
    columns = model.alpha_.T
    bias = np.zeros(len(columns))
    return _Machine(kernel, base, model.support_vectors_, columns, bias, model._scheme)


def _of_pipeline(
    model: Pipeline, x: Any, against: Any, names: Mapping[Any, str] | None
) -> Attribution:
    """The same where features are counted first, and a linear model is behind."""
    counter, inner = model.steps[0][1], model.steps[-1][1]
    if not isinstance(counter, KernelFeatures) or not hasattr(inner, "coef_"):
        raise UnsupportedError(
            "parts are known of a pipeline that begins with KernelFeatures and ends with a linear "
            f"model; got {type(counter).__name__} and {type(inner).__name__}"
        )
    base = counter.kernel_
    X = _checked(base, x, names)
    F = counter.transform(X)
    z = _through(model, F)
    W = inner.coef_.toarray() if issparse(inner.coef_) else np.atleast_2d(inner.coef_)
    b = np.broadcast_to(inner.intercept_, len(W))
    counts = np.concatenate([part.toarray()[0] for part in base.counts(X, counter.vocabulary_)])
    if len(z) != len(counts) or np.any(z[counts == 0]) or np.any(_through(model, 0 * F)):
        raise UnsupportedError(
            "parts are not known where a step after KernelFeatures mixes or shifts the features"
        )
    S = W @ z + b
    scheme = "ovo" if getattr(inner, "multi_class", "ovr") == "ovo" else "ovr"
    label, other, sides = _boundary(model, X, S, scheme, against)
    each = np.divide((sides @ W) * z, counts, out=np.zeros(len(z)), where=counts > 0)
    weights = np.split(each, np.cumsum(counter.widths_)[:-1])
    look = find_features(base, X, counter.vocabulary_)
    shares, features = shared_out(base, X, look, weights, names)
    return Attribution(X[0], label, other, float(sides @ S), float(sides @ b), shares, features)


def _through(model: Pipeline, F: Any) -> Vector:
    """Features of one object as they reach the last step, (d,)."""
    for _, step in model.steps[1:-1]:
        F = F if step in (None, "passthrough") else step.transform(F)
    z: Vector = (F.toarray() if issparse(F) else np.asarray(F))[0]
    return z


def _boundary(model: Any, X: Any, S: Vector, scheme: str, against: Any) -> tuple[Any, Any, Vector]:
    """The class, the other one, and how boundaries add up to the score between them, (p,)."""
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
    """What each feature counts, by level, from how often each support vector has it."""
    return [
        weight * (part.T @ coef) for part, (_, weight) in zip(counts, kernel.levels, strict=True)
    ]


def _largest(
    kernel: FeatureKernel, vocabulary: Vocabulary, weights: list[Vector], count: int
) -> list[tuple[str, float]]:
    """Names and weights of the largest of all levels."""
    ends = np.cumsum([0, *map(len, weights)])
    together = np.concatenate(weights)
    order = np.argsort(-np.abs(together), kind="stable")[:count]
    rows = []
    for position in order[together[order] != 0]:
        number = int(np.searchsorted(ends, position, side="right")) - 1
        level, own = kernel.levels[number][0], np.array([position - ends[number]])
        rows.append((kernel.names(level, vocabulary, own)[0], float(together[position])))
    return rows


def _titles(classes: list[Any], scheme: str) -> list[str]:
    """What the boundaries of a scheme are called; the class above 0 first."""
    if len(classes) == 2:
        return [f"{classes[1]} against {classes[0]}"]
    if scheme != "ovo":
        return [str(label) for label in classes]
    return [f"{classes[a]} against {classes[b]}" for a, b in pairs(len(classes))]


def _checked(kernel: ObjectKernel, x: Any, names: Mapping[Any, str] | None) -> Any:
    """A list of one object, as the kernel takes it."""
    X = np.empty(1, dtype=object)
    X[0] = x
    X = kernel.checked(X)
    if names is not None and not isinstance(X[0], Graph):
        raise ParameterError("explain_object", "names", "None, for a sequence", names)
    return X
