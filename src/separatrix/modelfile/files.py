"""`save` and `load`: one fitted model in one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ModelFileError, SeparatrixError
from separatrix.modelfile.container import (
    Tensors,
    in_a_line,
    read_container,
    round_trip,
    write_container,
)
from separatrix.modelfile.fields import (
    Archive,
    ShapeEnv,
    require_keys,
    schema_error,
)
from separatrix.modelfile.kinds import KINDS
from separatrix.modelfile.model_card import card_of, read_card
from separatrix.modelfile.schema import IGNORED, OF_THE_MACHINE, ModelSchema
from separatrix.modelfile.values import TYPES, Value
from separatrix.runtime.blocks import MEBIBYTE, memory_of_this_machine

FORMAT = 1  # grows whenever a file of the one before would not be read as it is
MOST_THREADS = 1024
DEEPEST = 8  # models in models
MOST_MODELS = 500

PathLike = str | os.PathLike[str]


def save(
    model: Any,
    path: PathLike,
    *,
    slim: bool = False,
    data: tuple[Any, Any] | None = None,
    note: str = "",
) -> Path:
    """Write a fitted model into one file, which `load` turns back into a model with the same answers.

    The file holds numbers and words, and no code: opening one from a stranger runs nothing of theirs.
    Every byte is under a checksum. It is written beside its place and moved there when it is whole, so
    an interrupted save leaves what was there before.

    Parameters
    ----------
    model
        A fitted estimator of separatrix, or a pipeline of such; `StandardScaler`, `MinMaxScaler`,
        `MaxAbsScaler`, `Normalizer`, `OneHotEncoder`, `OrdinalEncoder`, `SimpleImputer`,
        `CountVectorizer`, `TfidfTransformer` and `TfidfVectorizer` of scikit-learn may be in it.
        Functions, as a kernel or a metric, and classes of your own have no place in a file.
    path
        Where to. What is there is replaced.
    slim
        Leave out what prediction does not need: sums to go on learning from, curves, certificates.
    data
        The training set (X, y), X being rows, texts, sequences or graphs, as the model takes them:
        the card then has its SHA-256 and its size.
    note
        A line for the card: what this model is for.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import SVC, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(model, f"{folder}/iris.model", data=(X, y)))
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    path = as_path(path)
    require_fitted(model)
    card = card_of(model, data, note).as_document()
    try:
        writing = _Writing(slim)
        document = {"format": FORMAT, "model": writing.model(model, "model", True), "card": card}
        _built(round_trip(document), writing.file.tensors)  # what is written can be read
    except ModelFileError as error:
        reason = error.reason if error.reason == "limit" else "unsupported"
        raise ModelFileError(
            reason, f"this {type(model).__name__} cannot be saved: {error}"
        ) from None
    except Exception as error:  # what nobody foresaw
        said = f"this {type(model).__name__} cannot be saved: {in_a_line(error)}"
        raise ModelFileError("unsupported", said) from error
    write_container(path, document, writing.file.tensors)
    return path


def load(path: PathLike) -> Any:
    """The model in a file that `save` wrote.

    A file that is damaged, cut short, made by somebody else or by a later version, or whose parts do
    not go together, is refused with a `ModelFileError`, and its `reason` is one of
    `ModelFileError.REASONS`.
    """
    path = as_path(path)
    contents = read_container(path, versions=why_not)
    with told_of(path):
        return _built(contents.document, contents.tensors)


@contextmanager
def told_of(path: Path) -> Iterator[None]:
    """Whatever goes wrong is a `ModelFileError` that names the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(error.reason, f"{in_a_line(path)}: {error}") from None
    except Exception as error:  # what no check foresaw: a file never does worse than this
        said = f"{in_a_line(path)}: {in_a_line(error)}"
        raise ModelFileError("invariant", said) from error


def _built(document: dict[str, Any], tensors: Tensors) -> Any:
    """The model of a document and its arrays."""
    require_keys(document, "document", {"format", "model", "card"})
    read_card(document["card"])
    reading = _Reading(Archive(tensors))
    model = reading.model(document["model"], "model")
    unused = sorted(set(tensors) - reading.file.used)
    if unused:
        raise ModelFileError("schema", f"the file has arrays that nothing uses: {unused[:3]}")
    return model


def why_not(found: object) -> str | None:
    """Why a file of this format is not read, or None."""
    if found == FORMAT and type(found) is int:
        return None
    if type(found) is int and found > FORMAT:
        return (
            f"it has format {found}, and separatrix {version('separatrix')} reads format {FORMAT}: it was "
            "written by a later version; upgrade with `pip install --upgrade separatrix`"
        )
    return f"format {found!r:.20} is none that separatrix ever wrote"


def as_path(path: PathLike) -> Path:
    """A path that can be opened."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name:
        raise ModelFileError("missing", f"a path is needed; got {path!r:.60}")
    try:
        if b"\0" in os.fsencode(name):
            raise ModelFileError("missing", "a path cannot have a zero byte in it")
    except UnicodeEncodeError:
        said = f"{name!a:.80} is no path that this system can write"
        raise ModelFileError("missing", said) from None
    return Path(name)


def require_fitted(model: Any) -> None:
    """Refuse what is no estimator, or has not been fitted."""
    if isinstance(model, type) or not isinstance(model, BaseEstimator):
        raise ModelFileError(
            "unsupported", f"`save` takes a fitted estimator; got {type(model).__name__}"
        )
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ModelFileError(
            "unsupported", f"this {type(model).__name__} is not fitted: call `fit` first"
        ) from None


class _Writing:
    """Models on their way into a file."""

    def __init__(self, slim: bool) -> None:
        self.slim = slim
        self.file = Archive(put_model=self.model)
        self.positions: dict[int, str] = {}

    def model(self, model: Any, at: str, fitted: bool) -> Any:
        """What goes into the document for a model; of one that is only a template, its parameters."""
        name = type(model).__name__
        if name not in KINDS or type(model) is not KINDS[name].make:
            found = "; of a search, save what it found: `separatrix.estimators.base.tuned.settled(model)`"
            raise ModelFileError(
                "unsupported",
                f"`{at}` is a {name}, which has no place in a file: it can hold {', '.join(KINDS)}"
                f"{found if hasattr(model, 'best_score_') else ''}",
            )
        if id(model) in self.positions:
            return {"same": self.positions[id(model)]}
        kind = KINDS[name]
        fitted = fitted or name == "FrozenEstimator"
        sizes = ShapeEnv()
        around, self.file.fitted = self.file.fitted, fitted
        params = {
            key: kind.params.get(key, Value()).put(value, f"{at}.{key}", self.file, sizes)
            for key, value in model.get_params(deep=False).items()
            if key not in OF_THE_MACHINE
        }
        self.file.fitted = around
        if not fitted:
            return {"kind": name, "params": params}
        self.positions[id(model)] = at
        slim = self.slim or bool(getattr(model, "_slim", False))
        state = self._state(model, kind, f"{at}.", slim, sizes)
        return {"kind": name, "params": params, "state": state, "slim": slim}

    def _state(
        self, model: Any, kind: ModelSchema, at: str, slim: bool, sizes: ShapeEnv
    ) -> dict[str, Any]:
        require_fitted(model)
        known = model.get_params(deep=False)
        values = {
            name: value
            for name, value in vars(model).items()
            if name not in known and name not in IGNORED
        }
        values = kind.pack(model, values, slim)
        unknown = set(values) - set(kind.all_parts(slim=False))
        if unknown:
            raise ModelFileError(
                "unsupported",
                f"{type(model).__name__} has attributes that no fit gives it, {sorted(unknown)}: "
                "delete them, or keep them elsewhere",
            )
        state = {}
        for name, part in kind.all_parts(slim).items():
            if name in values:
                state[name] = part.put(values[name], at + name, self.file, sizes)
                kind.bind_boundaries(model, sizes)
        return state


class _Reading:
    """Models on their way out of a file."""

    def __init__(self, file: Archive) -> None:
        self.file = file
        self.file.get_model = self.model
        self.models: dict[str, Any] = {}
        self.work: dict[str, int] = {}  # models in each, one that comes twice counted twice
        self.depth = self.met = 0

    def model(self, document: Any, at: str) -> Any:
        """The model, built once all its parts were found to be as they must be."""
        if isinstance(document, dict) and list(document) == ["same"]:
            position = document["same"]
            if not isinstance(position, str) or position not in self.models:
                raise schema_error(at, "a model that came before", position)
            self._count(self.work[position])
            return self.models[position]
        require_keys(document, at, {"kind", "params"}, {"state", "slim"})
        name = document["kind"]
        if not isinstance(name, str) or name not in KINDS:
            raise schema_error(f"{at}.kind", f"one of {', '.join(KINDS)}", repr(name))
        if ("state" in document) != ("slim" in document):
            raise schema_error(at, "with both state and slim, or neither", sorted(document))
        self.depth += 1
        if self.depth > DEEPEST:
            raise ModelFileError("limit", f"`{at}`: models in models are too deep")
        before = self.met
        self._count(1)
        kind = KINDS[name]
        sizes = ShapeEnv()
        model = self._template(kind, document["params"], at, sizes)
        if "state" in document:
            self._fill(model, kind, document, f"{at}.", sizes)
            self.models[at], self.work[at] = model, self.met - before
        self.depth -= 1
        return model

    def _count(self, models: int) -> None:
        self.met += models
        if self.met > MOST_MODELS:
            raise ModelFileError("limit", f"there are more than {MOST_MODELS} models in models")

    def _template(self, kind: ModelSchema, document: Any, at: str, sizes: ShapeEnv) -> Any:
        require_keys(document, f"{at}.params", kind.parameters)
        params = {
            key: kind.params.get(key, Value()).get(value, f"{at}.{key}", self.file, sizes)
            for key, value in document.items()
        }
        _check_plain(params, at)
        model = kind.make(**params)
        check = _own_check(model) if params else None
        if check is None:
            return model
        try:
            check()
        except (SeparatrixError, ValueError, TypeError) as error:
            raise ModelFileError("invariant", f"`{at}.params`: {in_a_line(error)}") from None
        return model

    def _fill(
        self, model: Any, kind: ModelSchema, document: dict[str, Any], at: str, sizes: ShapeEnv
    ) -> None:
        state, slim = document["state"], document["slim"]
        if not isinstance(slim, bool):
            raise schema_error(f"{at}slim", "true or false", slim)
        parts = kind.all_parts(slim)
        require_keys(state, f"{at}state", kind.needed(slim), set(parts))
        values = {}
        for name, part in parts.items():
            if name in state:
                values[name] = part.get(state[name], at + name, self.file, sizes)
                kind.bind_boundaries(model, sizes)
        try:
            kind.unpack(model, values)
            kind.check(model, sizes)
        except ModelFileError:
            raise
        except (SeparatrixError, ValueError, TypeError) as error:
            raise ModelFileError("invariant", f"`{at[:-1]}`: {in_a_line(error)}") from None
        if slim:
            model._slim = True


def _own_check(model: Any) -> Callable[[], None] | None:
    """What a model checks its parameters with, where it has something."""
    if hasattr(model, "_check_parameters"):
        check: Callable[[], None] = model._check_parameters
        return check
    return model._validate_params if hasattr(model, "_parameter_constraints") else None


def _check_plain(params: dict[str, Any], at: str) -> None:
    """What any model's parameters of these names must be, though its own checks wait for a fit."""
    for name in params:
        value = params[name]
        if name == "random_state" and not (value is None or (type(value) is int and value >= 0)):
            raise schema_error(f"{at}.{name}", "a seed of at least 0 or null", value)
        if name == "n_jobs" and not (
            value is None or (type(value) is int and abs(value) <= MOST_THREADS)
        ):
            raise schema_error(f"{at}.{name}", f"at most {MOST_THREADS} threads", value)
        if name == "memory_limit" and value is not None and not _fits(value):
            raise schema_error(f"{at}.{name}", "within this machine's memory", value)
        if name == "dtype" and not (
            isinstance(value, type) or (isinstance(value, str) and value in TYPES)
        ):
            raise schema_error(f"{at}.{name}", "a type of numbers", value)
        if name == "verbose" and not isinstance(value, bool | int | float):
            raise schema_error(f"{at}.{name}", "a number", value)


def _fits(megabytes: object) -> bool:
    """Whether a limit, which may come from anybody, is one that this machine can hold to."""
    return isinstance(megabytes, int | float) and megabytes <= memory_of_this_machine() / MEBIBYTE
