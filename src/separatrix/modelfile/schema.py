"""What a kind of model is, and the parts that many kinds share.

A file names its kind, and the name is looked up in the table of `kinds` and nowhere else. Parts in
`extra` are not needed to predict; a slim file leaves them out. What a model holds in another form than
the file has a `pack` and an `unpack`; what one part says about another is in `check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from separatrix.errors import ModelFileError
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.graphs.graph_kernels import ShortestPath
from separatrix.modelfile.array_fields import ANY_SHAPE, Array, Labels, Rows
from separatrix.modelfile.fields import (
    Archive,
    Field,
    Listed,
    Record,
    ShapeEnv,
    Text,
    Whole,
    mismatch_error,
    schema_error,
)
from separatrix.modelfile.object_fields import kind_of
from separatrix.runtime.blocks import in_words, memory_of_this_machine
from separatrix.solvers.moments import Moments
from separatrix.solvers.perceptron.online_to_batch import Mistakes

Values = dict[str, Any]
OUTPUTS = ("default", "pandas", "polars")


@dataclass(frozen=True)
class OutputConfig:
    """What scikit-learn's `set_output` has set."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """As it is."""
        return self.get(dict(value), at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> dict[str, str]:
        """One word for the output of `transform`, or nothing."""
        if document == {}:
            return {}
        if not isinstance(document, dict) or list(document) != ["transform"]:
            raise schema_error(at, "an object with 'transform'", document)
        return {"transform": Text(OUTPUTS).get(document["transform"], at, file, sizes)}


# attributes that are no part of a model
IGNORED = {"_skl_callbacks", "_metadata_request", "_slim"}
OF_THE_MACHINE = {"device"}  # parameters that say where to work: the file may be read elsewhere
COMMON: dict[str, Field] = {
    "feature_names_in_": Labels("d", rising=False, distinct=False),
    "_sklearn_output_config": OutputConfig(),
}


def _as_they_are(_model: Any, values: Values, _slim: bool) -> Values:
    return values


def set_all(model: Any, values: Values) -> None:
    """Give a model its parts as attributes."""
    for name, value in values.items():
        setattr(model, name, value)


def _nothing_more(_model: Any, _sizes: ShapeEnv) -> None:
    pass


@dataclass(frozen=True)
class ModelSchema:
    """One kind of model: its class, its parts by name, and what holds between them."""

    make: Callable[..., Any]
    parts: Mapping[str, Field]
    extra: Mapping[str, Field] = field(default_factory=dict)  # not needed to predict
    sometimes: frozenset[str] = frozenset()  # parts that need not be there
    params: Mapping[str, Field] = field(default_factory=dict)  # those that are no plain values
    pack: Callable[[Any, Values, bool], Values] = _as_they_are  # model, attributes, slim
    unpack: Callable[[Any, Values], None] = set_all
    check: Callable[[Any, ShapeEnv], None] = _nothing_more
    boundaries: Callable[[Any, int], int] | None = None  # of a model with k classes: settles p

    def all_parts(self, slim: bool) -> dict[str, Field]:
        """Parts by name, in the order they are written and read."""
        return {**self.parts, **({} if slim else self.extra), **COMMON}

    def needed(self, slim: bool) -> set[str]:
        """Names of parts that must be there."""
        return set(self.all_parts(slim)) - self.sometimes - set(COMMON)

    def bind_boundaries(self, model: Any, sizes: ShapeEnv) -> None:
        """Say how many boundaries there must be, once the classes are known."""
        if self.boundaries is not None and "k" in sizes and "p" not in sizes:
            require(sizes["k"] >= 2, "classes_", "at least two", sizes["k"])
            sizes["p"] = self.boundaries(model, sizes["k"])

    @property
    def parameters(self) -> set[str]:
        """Names of the hyper-parameters that a file has."""
        return set(self.make._get_param_names()) - OF_THE_MACHINE  # type: ignore[attr-defined]


def without(*names: str) -> Callable[[Any, Values, bool], Values]:
    """A `pack` that leaves out what follows from other parts."""

    def pack(_model: Any, values: Values, _slim: bool) -> Values:
        return {name: value for name, value in values.items() if name not in names}

    return pack


@dataclass(frozen=True)
class Model:
    """A fitted model inside another, of one of some kinds."""

    kinds: tuple[str, ...] = ()

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """As a file of its own would have it."""
        return file.put_model(value, at, True)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The model."""
        if not isinstance(document, dict) or not {"state", "same"} & set(document):
            raise schema_error(at, "a fitted model", document)
        found = file.get_model(document, at)
        if self.kinds and type(found).__name__ not in self.kinds:
            raise schema_error(at, f"one of {', '.join(self.kinds)}", type(found).__name__)
        return found


@dataclass(frozen=True)
class Shape:
    """The shape that samples had, as a tuple; that of objects has the first letter alone."""

    letters: str

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[int]:
        """As a list."""
        return list(self.get([int(length) for length in value], at, file, sizes))

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> tuple[int, ...]:
        """The tuple."""
        shape = Listed(Whole()).get(document, at, file, sizes)
        letters = self.letters.split()
        sizes.unify(at, tuple(shape), letters[0] if len(shape) == 1 else self.letters)
        return tuple(shape)


FEATURES: dict[str, Field] = {"n_features_in_": Whole(1, "d")}
OF_VECTORS = frozenset(FEATURES)  # samples that are objects have none
CLASSES: dict[str, Field] = {**FEATURES, "classes_": Labels("k")}
WEIGHTS: dict[str, Field] = {"coef_": Rows("p d"), "intercept_": Array("f8", "p")}
BY_BOUNDARY = Array("f8", "p", "any")
LOG = Record(
    Mistakes,
    {
        "rows": Array("i8", "m", least=0, below="s"),
        "columns": Array("i8", "m", least=0, below="p"),
        "deltas": Array("f8", "m"),
        "steps": Array("i8", "m", least=0, rising=True),
    },
)


def of_rest(_model: Any, k: int) -> int:
    """Boundaries of each class against the rest."""
    return 1 if k == 2 else k


def as_multi_class(model: Any, k: int) -> int:
    """Boundaries of every class against every other, or against the rest."""
    return k * (k - 1) // 2 if model.multi_class == "ovo" else of_rest(model, k)


def require(holds: bool, at: str, expected: str, found: object) -> None:
    """Refuse parts that do not go together."""
    if not holds:
        raise mismatch_error(at, expected, found)


def _moments_fit(moments: Any, at: str, _sizes: ShapeEnv) -> None:
    k, d = moments.mean.shape
    shapes = {"pooled": (d, d), "each": (k, d, d), "features": (k, d)}
    wanted = shapes[moments.form]
    require(moments.scatter.shape == wanted, f"{at}.scatter", f"of shape {wanted}", moments.form)


def moments_of(letter: str = "d") -> Record:
    """Sums over the samples of each class, of so many features."""
    return Record(
        Moments,
        {
            "form": Text(("pooled", "each", "features")),
            "weight": Array("f8", "k", least=0.0),
            "samples": Array("i8", "k", least=0),
            "mean": Array("f8", f"k {letter}"),
            "scatter": Array("f8", ANY_SHAPE),
        },
        _moments_fit,
    )


def kernel_fits(model: Any, sizes: ShapeEnv) -> None:
    """A kernel matrix as samples has a column for every training sample, and no support vectors."""
    name = "components_" if hasattr(model, "components_") else "support_vectors_"
    samples_fit(model, model.kernel_, getattr(model, name, None), name)
    precomputed = isinstance(model.kernel_, Precomputed)
    require(model._precomputed == precomputed, "kernel", f"{model.kernel_!r}", model.kernel)
    if precomputed:
        columns = model.support_ if hasattr(model, "support_") else model.component_indices_
        most = int(columns.max(initial=-1))
        require(most < sizes["d"], "support_", f"below {sizes['d']}", most)
    elif hasattr(model, "support_"):
        have = model.support_vectors_.shape[0] if hasattr(model, "support_vectors_") else -1
        require(have == len(model.support_), "support_vectors_", "one for each of support_", have)


def takes(kernel: Any) -> str:
    """What samples an estimator with such a kernel takes."""
    return kernel.takes if isinstance(kernel, Kernel) else "vectors"


def samples_fit(model: Any, kernel: Any, samples: Any, at: str) -> None:
    """The kernel, the one that was asked for and the samples are on things of one kind."""
    kind = takes(kernel)
    asked = takes(model._own_kernel)
    require(asked == kind, "kernel", f"on {kind}, as kernel_ is", f"one on {asked}")
    found = kind if samples is None else kind_of(samples)
    require(found in (kind, None), at, kind, found)
    counted = hasattr(model, "n_features_in_")
    require(counted == (kind == "vectors"), "n_features_in_", f"as samples are {kind}", counted)
    if found == "graphs" and any(isinstance(one, ShortestPath) for one in _leaves(kernel)):
        pairs = 24 * sum(graph.n_nodes**2 for graph in samples)
        if pairs > memory_of_this_machine():
            said = f"`{at}`: shortest paths in these graphs take {in_words(pairs)}"
            raise ModelFileError("limit", f"{said}, more than this machine has")


def _leaves(kernel: Kernel) -> Iterator[Kernel]:
    """The kernels that one is made of in the end."""
    inner = [one for one in kernel.get_params(deep=False).values() if isinstance(one, Kernel)]
    for one in inner:
        yield from _leaves(one)
    if not inner:
        yield kernel


def width_of(transformer: Any) -> int:
    """How many features come out of a fitted transformer, counted without naming them."""
    if isinstance(transformer, FrozenEstimator):
        return width_of(transformer.estimator)
    if isinstance(transformer, Pipeline):
        steps = [step for _, step in transformer.steps if hasattr(step, "transform")]
        return width_of(steps[-1]) if steps else -1
    for name in ("n_output_features_", "_n_features_out", "n_features_out_"):
        if hasattr(transformer, name):
            return int(getattr(transformer, name))
    if hasattr(transformer, "_n_features_outs"):  # of each column, one-hot
        return int(sum(transformer._n_features_outs))
    if isinstance(transformer, SimpleImputer):  # columns without any value are left out
        return sum(value == value for value in transformer.statistics_)
    return int(getattr(transformer, "n_features_in_", -1))


def same_features(inner: Any, d: int, at: str) -> None:
    """The model inside takes the samples that the one around it takes."""
    have = getattr(inner, "n_features_in_", d)
    require(have == d, f"{at}.n_features_in_", str(d), have)


def same_samples(model: Any, inner: Any, sizes: ShapeEnv, at: str) -> None:
    """A kernel machine inside a search takes the samples that the search was asked for."""
    kind, asked = takes(inner.kernel_), takes(model._own_kernel)
    require(asked == kind, "kernels", f"on {kind}, as {at}.kernel_ is", f"one on {asked}")
    counted = "d" in sizes
    require(counted == (kind == "vectors"), "n_features_in_", f"as samples are {kind}", counted)
    if counted:
        same_features(inner, sizes["d"], at)
