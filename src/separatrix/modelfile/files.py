"""`save` and `load`: one fitted model in one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ModelFileError, SeparatrixError
from separatrix.modelfile.container import (
    Tensors,
    one_line,
    read_container,
    round_trip,
    write_container,
)
from separatrix.modelfile.fields import Archive, find_in, require_keys, schema_error
from separatrix.modelfile.given_code import GivenCode
from separatrix.modelfile.kinds import KINDS
from separatrix.modelfile.model_card import make_model_card, read_model_card, version_of
from separatrix.modelfile.schema import IGNORED, MACHINE_PARAMETERS, ModelSchema, Values

FORMAT = 1  # increases whenever a file of the one before would not be read as it is
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
    """Write a fitted model into a file; `load` reads it back, with bit-identical predictions.

    The file holds numbers and strings, and no code: reading a file from a stranger runs nothing of theirs.
    Every byte is under a checksum. The file is replaced atomically: an interrupted save leaves the old one.

    Parameters
    ----------
    model
        A fitted estimator of separatrix, or a pipeline of such; `StandardScaler`, `MinMaxScaler`,
        `MaxAbsScaler`, `Normalizer`, `OneHotEncoder`, `OrdinalEncoder`, `SimpleImputer`,
        `CountVectorizer`, `TfidfTransformer` and `TfidfVectorizer` of scikit-learn may be in it.
        Metrics that are functions, and classes of your own, cannot be saved. Of a kernel that is a
        function the file has the name: the function is given to `load` again.
    path
        The file, replaced if it exists.
    slim
        Leave out what prediction does not need: state of `partial_fit`, curves, certificates.
    data
        The training set (X, y), as passed to `fit`: the model card then has its SHA-256 and its size.
    note
        One line for the model card, such as the purpose of the model.

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
    model_card = make_model_card(model, data, note).as_document()
    failure = f"this {type(model).__name__} cannot be saved"
    try:
        writer = _Writer(slim)
        document = {"format": FORMAT, "model": writer.put(model, "model", True), "card": model_card}
        # whatever is written can be read
        _build(round_trip(document), writer.file.tensors, writer.file.code)
    except ModelFileError as error:
        reason = "limit" if error.reason == "limit" else "unsupported"
        raise ModelFileError(reason, f"{failure}: {error}") from None
    except Exception as error:  # not foreseen by any field
        raise ModelFileError("unsupported", f"{failure}: {one_line(error)}") from error
    write_container(path, document, writer.file.tensors)
    return path


def load(path: PathLike, *, kernel: Any = None, classes: Iterable[type] | None = None) -> Any:
    """Read the model of a file that `save` wrote.

    A model whose kernel is a function needs it again as `kernel`; several functions as a dict by their
    names in the file. If its samples are dataclasses, `classes` lists them.

    A file that is damaged, truncated, of another program or of a later version, or that contradicts itself,
    raises `ModelFileError`; its `reason` is one of `ModelFileError.REASONS`.

    Parameters
    ----------
    path
        A file that `save` wrote.
    kernel
        The function of a model with a kernel of your own; several as a dict by name.
    classes
        Dataclasses of the samples that the model holds.

    Examples
    --------
    >>> import tempfile
    >>> from separatrix import SVC, load, save
    >>> model = SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(model, f"{folder}/small.model"))
    >>> again.predict([[0.2]]).tolist()
    ['low']
    """
    path, code = as_path(path), GivenCode.of(kernel, classes)
    contents = read_container(path, versions=check_version)
    with name_file(path):
        return _build(contents.document, contents.tensors, code)


@contextmanager
def name_file(path: Path) -> Iterator[None]:
    """Turn every error into a `ModelFileError` that names the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(error.reason, f"{one_line(path)}: {error}") from None
    except Exception as error:  # not foreseen by any check
        raise ModelFileError("invariant", f"{one_line(path)}: {one_line(error)}") from error


def _build(document: dict[str, Any], tensors: Tensors, code: GivenCode) -> Any:
    require_keys(document, "document", {"format", "model", "card"})
    read_model_card(document["card"])
    reader = _Reader(tensors, code)
    model = reader.get(document["model"], "model")
    unused = sorted(set(tensors) - reader.file.used)
    if unused:
        raise ModelFileError("schema", f"the file has arrays that nothing uses: {unused[:3]}")
    code.require_used()
    return model


def check_version(found: object) -> str | None:
    """Why a file of this format cannot be read, or None."""
    if found == FORMAT and type(found) is int:
        return None
    if type(found) is int and found > FORMAT:
        return (
            f"it has format {found}, and separatrix {version_of('separatrix')} reads format {FORMAT}: "
            "it was written by a later version; upgrade with `pip install --upgrade separatrix`"
        )
    return f"format {found!r:.20} was never written by separatrix"


def as_path(path: PathLike) -> Path:
    """A path that can be opened."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str) or not name:
        raise ModelFileError("missing", f"a path is needed; got {path!r:.60}")
    try:
        if b"\0" in os.fsencode(name):
            raise ModelFileError("missing", "a path cannot contain a zero byte")
    except UnicodeEncodeError:
        why = f"{name!a:.80} is not a valid path on this system"
        raise ModelFileError("missing", why) from None
    return Path(name)


def require_fitted(model: Any) -> None:
    """Refuse all but fitted estimators."""
    name = type(model).__name__
    if isinstance(model, type) or not isinstance(model, BaseEstimator):
        raise ModelFileError("unsupported", f"`save` takes a fitted estimator; got {name}")
    try:
        check_is_fitted(model)
    except NotFittedError:
        why = f"this {name} is not fitted: call `fit` first"
        raise ModelFileError("unsupported", why) from None


class _Writer:
    """Converts models, and models inside them, into a document and arrays."""

    def __init__(self, slim: bool) -> None:
        self.slim = slim
        self.file = Archive(put_model=self.put, code=GivenCode())
        self.positions: dict[int, str] = {}

    def put(self, model: Any, at: str, fitted: bool) -> Any:
        """The document of a model; of a template, only its parameters."""
        name = type(model).__name__
        if name not in KINDS or type(model) is not KINDS[name].make:
            hint = "; of a search, save `separatrix.estimators.base.tuned.best_model(search)`"
            raise ModelFileError(
                "unsupported",
                f"`{at}` is a {name}, which cannot be stored in a file; these can: {', '.join(KINDS)}"
                f"{hint if hasattr(model, 'best_score_') else ''}",
            )
        if id(model) in self.positions:
            return {"same": self.positions[id(model)]}
        kind = KINDS[name]
        fitted = fitted or name == "FrozenEstimator"
        file = replace(self.file, fitted=fitted)
        params = {
            key: kind.param_field(key).put(value, f"{at}.{key}", file)
            for key, value in model.get_params(deep=False).items()
            if key not in MACHINE_PARAMETERS
        }
        if not fitted:
            return {"kind": name, "params": params}
        self.positions[id(model)] = at
        slim = self.slim or bool(getattr(model, "_slim", False))
        values = _stored_attributes(model, kind, slim)
        state = {
            key: field.put(values[key], f"{at}.{key}", file)
            for key, field in kind.all_fields(slim).items()
            if key in values
        }
        return {"kind": name, "params": params, "state": state, "slim": slim}


def _stored_attributes(model: Any, kind: ModelSchema, slim: bool) -> Values:
    require_fitted(model)
    left_out = {*model.get_params(deep=False), *IGNORED, *kind.derived.split(), *kind.copied}
    attributes = model.__getstate__().items()
    values = {name: value for name, value in attributes if name not in left_out}
    values = kind.pack(model, values, slim)
    unknown = set(values) - set(kind.all_fields(slim=False))
    if unknown:
        raise ModelFileError(
            "unsupported",
            f"{type(model).__name__} has attributes that no fit gives it, {sorted(unknown)}: delete them",
        )
    return values


class _Reader:
    """Builds models, and models inside them, from a document and arrays."""

    def __init__(self, tensors: Tensors, code: GivenCode) -> None:
        self.file = Archive(tensors, get_model=self.get, code=code)
        self.models: dict[str, Any] = {}
        self.inside: dict[str, int] = {}  # number of models in each, shared ones counted every time
        self.depth = self.count = 0

    def get(self, document: Any, at: str) -> Any:
        """The model, built after all its parts were checked."""
        if isinstance(document, dict) and list(document) == ["same"]:
            position = document["same"]
            if not isinstance(position, str) or position not in self.models:
                raise schema_error(at, "a model that came before", position)
            self._add(self.inside[position])
            return self.models[position]
        require_keys(document, at, {"kind", "params"}, {"state", "slim"})
        kind = find_in(KINDS, document["kind"], f"{at}.kind")
        if ("state" in document) != ("slim" in document):
            raise schema_error(at, "with both state and slim, or neither", sorted(document))
        self.depth += 1
        if self.depth > DEEPEST:
            raise ModelFileError("limit", f"`{at}`: models in models are too deep")
        before = self.count
        self._add(1)
        file = self.file.scope()
        model = self._make(kind, document["params"], at, file)
        if "state" in document:
            self._restore(model, kind, document, at, file)
            self.models[at], self.inside[at] = model, self.count - before
        self.depth -= 1
        return model

    def _add(self, models: int) -> None:
        self.count += models
        if self.count > MOST_MODELS:
            raise ModelFileError("limit", f"there are more than {MOST_MODELS} models in models")

    def _make(self, kind: ModelSchema, document: Any, at: str, file: Archive) -> Any:
        """The unfitted model, its parameters checked as `fit` checks them."""
        kind.require_parameters(document, f"{at}.params")
        params = {
            key: kind.param_field(key).get(value, f"{at}.{key}", file)
            for key, value in document.items()
        }
        model = kind.make(**params)
        with _name_model(f"{at}.params"):
            if params and hasattr(model, "_check_parameters"):
                model._check_parameters()
            elif params and hasattr(model, "_parameter_constraints"):
                model._validate_params()
        return model

    def _restore(
        self, model: Any, kind: ModelSchema, document: dict[str, Any], at: str, file: Archive
    ) -> None:
        state, slim = document["state"], document["slim"]
        if not isinstance(slim, bool):
            raise schema_error(f"{at}.slim", "true or false", slim)
        fields = kind.all_fields(slim)
        require_keys(state, f"{at}.state", kind.required(slim), set(fields))
        values = {}
        for name, field in fields.items():
            if name in state:
                values[name] = field.get(state[name], f"{at}.{name}", file)
                kind.bind_boundaries(model, file.sizes)
        with _name_model(at):
            kind.restore(model, values, file.sizes)
        if slim:
            model._slim = True


@contextmanager
def _name_model(at: str) -> Iterator[None]:
    """Turn the errors of an estimator's own checks into a `ModelFileError`."""
    try:
        yield
    except ModelFileError:
        raise
    except (SeparatrixError, ValueError, TypeError) as error:
        raise ModelFileError("invariant", f"`{at}`: {one_line(error)}") from None
