"""What a file may hold of each kind of model, and the fields and checks that several kinds share.

A file names the kind of each model, and the name is looked up in the table of `kinds` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from separatrix.errors import ModelFileError
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.graphs.graph_kernels import ShortestPath
from separatrix.modelfile import fields as f
from separatrix.modelfile.labels import Labels
from separatrix.modelfile.objects import sample_type
from separatrix.modelfile.values import PARAMETERS, Value
from separatrix.runtime.blocks import in_words, memory_of_this_machine
from separatrix.solvers.moments import Moments

Values = dict[str, Any]
OUTPUTS = ("default", "pandas", "polars")
IGNORED = {"_skl_callbacks", "_metadata_request", "_sklearn_version", "_slim"}  # no part of a model
MACHINE_PARAMETERS = {"device"}  # the file may be read on another machine


@dataclass(frozen=True)
class InnerModel(f.Field):
    """A fitted model inside another, of one of some kinds."""

    kinds: tuple[str, ...] = ()

    def put(self, value: Any, at: str, file: f.Archive) -> Any:
        return file.put_model(value, at, True)

    def get(self, document: Any, at: str, file: f.Archive) -> Any:
        if not isinstance(document, dict) or not {"state", "same"} & set(document):
            raise f.schema_error(at, "a fitted model", document)
        found = file.get_model(document, at)
        if self.kinds and type(found).__name__ not in self.kinds:
            raise f.schema_error(at, f"one of {', '.join(self.kinds)}", type(found).__name__)
        return found


@dataclass(frozen=True)
class Shape(f.Field):
    """The shape of samples as a tuple; for objects, the first letter alone."""

    letters: str

    def put(self, value: Any, at: str, file: f.Archive) -> list[int]:
        return [int(length) for length in value]

    def get(self, document: Any, at: str, file: f.Archive) -> tuple[int, ...]:
        shape = tuple(f.Listed(f.Integer()).get(document, at, file))
        letters = self.letters.split()[0] if len(shape) == 1 else self.letters
        file.sizes.unify(at, shape, letters)
        return shape


COMMON: dict[str, f.Field] = {
    "feature_names_in_": Labels("d", rising=False, distinct=False),
    "_sklearn_output_config": f.Entries(f.Text(OUTPUTS), f.Text(("transform",))),
}
FEATURES: dict[str, f.Field] = {"n_features_in_": f.Integer(1, "d")}
CLASSES: dict[str, f.Field] = {**FEATURES, "classes_": Labels("k")}
WEIGHTS: dict[str, f.Field] = {"coef_": f.MatrixField("p d"), "intercept_": f.Array("f8 p")}
LOG = f.arrays(rows="i8 m >=0 <s", columns="i8 m >=0 <p", deltas="f8 m", steps="i8 m >=0 rising")


def each(field: f.Field, names: str) -> dict[str, f.Field]:
    """The same field for several attributes."""
    return dict.fromkeys(names.split(), field)


def set_attributes(model: Any, values: Values) -> None:
    """Give a model its attributes."""
    for name, value in values.items():
        setattr(model, name, value)


class ModelSchema(NamedTuple):
    """One kind of model: its class, the field of each attribute, and the checks between them."""

    make: Callable[..., Any]
    fields: Mapping[str, f.Field]
    extra: Mapping[str, f.Field] = {}  # a slim file has none: not for prediction
    optional: str = ""  # names of attributes that need not be there
    params: Mapping[str, f.Field] = {}  # those that `Value` does not describe
    later: str = ""  # names of hyper-parameters that files of earlier versions lack: the default
    derived: str = ""  # names of attributes that `unpack` computes
    copied: Mapping[str, str] = {}  # attributes that are others, by their paths
    pack: Callable[[Any, Values, bool], Values] = lambda _model, values, _slim: values
    unpack: Callable[[Any, Values], None] = set_attributes
    check: Callable[[Any, f.ShapeEnv], None] = lambda _model, _sizes: None
    boundaries: bool = False  # whether p is the number of boundaries between k classes

    def all_fields(self, slim: bool) -> dict[str, f.Field]:
        """Fields of the attributes by name, in the order they are written and read."""
        return {**self.fields, **({} if slim else self.extra), **COMMON}

    def required(self, slim: bool) -> set[str]:
        """Names of attributes that must be there."""
        return set(self.all_fields(slim)) - set(self.optional.split()) - set(COMMON)

    def param_field(self, name: str) -> f.Field:
        """The field of a hyper-parameter."""
        return self.params.get(name, PARAMETERS.get(name, Value()))

    def bind_boundaries(self, model: Any, sizes: f.ShapeEnv) -> None:
        """Compute the number of boundaries, p, once the number of classes is known."""
        if self.boundaries and "k" in sizes and "p" not in sizes:
            k = sizes["k"]
            require(k >= 2, "classes_", "at least two", k)
            scheme = getattr(model, "multi_class", None)
            if k == 2 and scheme == "argmax":
                return  # 1 in files of earlier versions, now 2: the model's own check
            sizes["p"] = 1 if k == 2 else k * (k - 1) // 2 if scheme == "ovo" else k

    def restore(self, model: Any, values: Values, sizes: f.ShapeEnv) -> None:
        """Give a model its attributes, stored and derived, and check them together."""
        self.unpack(model, values)
        for name, path in self.copied.items():
            if hasattr(model, path.partition(".")[0]):
                setattr(model, name, attrgetter(path)(model))
        self.check(model, sizes)

    def require_parameters(self, document: Any, at: str) -> None:
        """Refuse all but an object of the hyper-parameters, of which an earlier version may lack some."""
        f.require_keys(document, at, self.parameters - set(self.later.split()), self.parameters)

    @property
    def parameters(self) -> set[str]:
        """Names of the hyper-parameters that a file has."""
        return set(self.make._get_param_names()) - MACHINE_PARAMETERS  # type: ignore[attr-defined]


def restore_argmax(model: Any, values: Values, weights: str) -> None:
    """Name what earlier versions trained by "argmax" on two classes: one boundary, now "auto"."""
    p = values[weights].shape[-1 if weights == "alpha_" else 0]
    if model.multi_class == "argmax" and len(values["classes_"]) == 2:
        require(p in (1, 2), weights, "of one or two boundaries", p)
        if p == 1:
            model.multi_class = "auto"
            if isinstance(values["_begun"], dict):
                values["_begun"]["multi_class"] = "auto"


def require(holds: bool, at: str, expected: str, found: object) -> None:
    """Refuse values that contradict each other."""
    if not holds:
        raise f.mismatch_error(at, expected, found)


FORM = f.Text(("pooled", "each", "features"))


def _check_scatter(moments: Any, at: str) -> None:
    k, d = moments.mean.shape
    wanted = {"pooled": (d, d), "each": (k, d, d), "features": (k, d)}[moments.form]
    require(moments.scatter.shape == wanted, f"{at}.scatter", f"of shape {wanted}", moments.form)


def moments_field(letter: str = "d") -> f.Struct:
    """Sums over the samples of each class, with that many features."""
    fields = f.arrays(
        weight="f8 k >=0", samples="i8 k >=0", mean=f"f8 k {letter}", scatter="f8 ..."
    )
    return f.Struct(Moments, {"form": FORM, **fields}, _check_scatter)


def check_kernel(model: Any, sizes: f.ShapeEnv) -> None:
    """The fitted kernel agrees with the parameter and the samples; a precomputed one has no samples."""
    name = "components_" if hasattr(model, "components_") else "support_vectors_"
    check_samples(model, model.kernel_, getattr(model, name, None), name)
    precomputed = isinstance(model.kernel_, Precomputed)
    require(model._precomputed == precomputed, "kernel", f"{model.kernel_!r}", model.kernel)
    if precomputed:
        columns = model.support_ if hasattr(model, "support_") else model.component_indices_
        most = int(columns.max(initial=-1))
        require(most < sizes["d"], "support_", f"below {sizes['d']}", most)
    elif hasattr(model, "support_"):
        have = model.support_vectors_.shape[0] if hasattr(model, "support_vectors_") else -1
        require(have == len(model.support_), "support_vectors_", "one for each of support_", have)


def kernel_takes(kernel: Any) -> str:
    """What samples an estimator with such a kernel takes."""
    return kernel.takes if isinstance(kernel, Kernel) else "vectors"


def check_samples(model: Any, kernel: Any, samples: Any, at: str) -> None:
    """The fitted kernel, the kernel parameter and the samples are of one type."""
    kind = _check_takes(model, kernel, "kernel", "kernel_")
    untyped = samples is None or (kind == "objects" and samples.dtype == object)
    found = kind if untyped else sample_type(samples)
    require(found in (kind, None), at, kind, found)
    if found == "graphs" and any(isinstance(one, ShortestPath) for one in _leaves(kernel)):
        pairs = 24 * sum(graph.n_nodes**2 for graph in samples)
        if pairs > memory_of_this_machine():
            needed = f"`{at}`: shortest paths in these graphs take {in_words(pairs)}"
            raise ModelFileError("limit", f"{needed}, more than this machine has")


def _check_takes(model: Any, kernel: Any, parameter: str, at: str) -> str:
    kind, own = kernel_takes(kernel), model._own_kernel
    if kind != "vectors" and (callable(own) or isinstance(own, Kernel)):
        own = (own if isinstance(own, Kernel) else FromCallable(own)).on_objects()
    own = kernel_takes(own)
    require(own == kind, parameter, f"on {kind}, as {at} is", f"one on {own}")
    counted = hasattr(model, "n_features_in_")
    require(counted == (kind == "vectors"), "n_features_in_", f"as samples are {kind}", counted)
    return kind


def _leaves(kernel: Kernel) -> Iterator[Kernel]:
    """The kernels inside a kernel that contain no others."""
    inner = [one for one in kernel.get_params(deep=False).values() if isinstance(one, Kernel)]
    for one in inner:
        yield from _leaves(one)
    if not inner:
        yield kernel


def count_features_out(transformer: Any) -> int:
    """How many features a fitted transformer returns, counted without naming them."""
    if isinstance(transformer, FrozenEstimator):
        return count_features_out(transformer.estimator)
    if isinstance(transformer, Pipeline):
        steps = [step for _, step in transformer.steps if hasattr(step, "transform")]
        return count_features_out(steps[-1]) if steps else -1
    for name in ("n_output_features_", "_n_features_out", "n_features_out_"):
        if hasattr(transformer, name):
            return int(getattr(transformer, name))
    if hasattr(transformer, "_n_features_outs"):  # of each column, one-hot
        return int(sum(transformer._n_features_outs))
    if isinstance(transformer, SimpleImputer):  # drops columns without any value
        return sum(value == value for value in transformer.statistics_)
    return int(getattr(transformer, "n_features_in_", -1))


def check_features(inner: Any, d: int, at: str) -> None:
    """The model inside takes as many features as the one around it."""
    have = getattr(inner, "n_features_in_", d)
    require(have == d, f"{at}.n_features_in_", str(d), have)


def check_search(model: Any, inner: Any, sizes: f.ShapeEnv, at: str) -> None:
    """The kernel machine inside a search takes the samples that the search takes."""
    _check_takes(model, inner.kernel_, "kernels", f"{at}.kernel_")
    if "d" in sizes:
        check_features(inner, sizes["d"], at)
