"""What is in a model file, without building the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from separatrix.compute.blocks import in_words
from separatrix.compute.container import TensorEntry, read_container
from separatrix.errors import ModelFileError
from separatrix.models.modelfile.card import Card, read_card
from separatrix.models.modelfile.fields import Filing, Labels, Sizes, require_keys, wrong
from separatrix.models.modelfile.files import PathLike, as_path, why_not
from separatrix.models.modelfile.kinds import KINDS

SHOWN = 12  # classes, names and arrays in a card; all are in `as_dict`
LABELS = ("classes_", ".classes", "feature_names_in_")


@dataclass(frozen=True)
class Part:
    """One model of those in a file, and its parameters in words."""

    place: str
    kind: str
    params: dict[str, str]
    slim: bool
    features: int | None
    kernel: str | None


@dataclass(frozen=True)
class Description:
    """A model file: what it holds and where that comes from. Prints as Markdown."""

    path: str
    nbytes: int
    format: int
    parts: tuple[Part, ...]  # the model itself first, then those inside it
    classes: list[Any] | None
    feature_names: list[str] | None
    arrays: tuple[TensorEntry, ...]
    card: Card

    @property
    def kind(self) -> str:
        """The class of the model."""
        return self.parts[0].kind

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        return {
            "path": self.path,
            "bytes": self.nbytes,
            "format": self.format,
            "kind": self.kind,
            "parts": [vars(part) for part in self.parts],
            "classes": self.classes,
            "feature_names": self.feature_names,
            "arrays": [entry._asdict() for entry in self.arrays],
            "card": self.card.as_document(),
        }

    def markdown(self) -> str:
        """The model card."""
        return "\n".join(self._lines()) + "\n"

    __str__ = markdown

    def _lines(self) -> Iterator[str]:
        top, card = self.parts[0], self.card
        yield f"# {top.kind}"
        if card.note:
            yield f"\n{escaped(card.note)}"
        yield "\n| | |\n|---|---|"
        slim = ", slim: it predicts, and cannot go on learning" if top.slim else ""
        yield f"| file | `{escaped(self.path)}`, {in_words(self.nbytes)}, format {self.format}{slim} |"
        if self.classes is not None:
            yield f"| classes | {len(self.classes)}: {_some(self.classes)} |"
        features = [part.features for part in self.parts if part.features is not None]
        if features:
            yield f"| features | {features[0]}{self._names()} |"
        for part in self.parts:
            if part.kernel is not None:
                yield f"| kernel | `{escaped(part.kernel)}` |"
        if card.data is not None:
            yield f"| trained on | {card.data.samples} samples of {card.data.features} features |"
            yield f"| their SHA-256 | `{escaped(card.data.sha256)}` |"
        else:
            yield "| trained on | not said: `save(..., data=(X, y))` keeps the hash and the size |"
        yield f"| seed | {'none' if card.seed is None else card.seed} |"
        versions = ", ".join(f"{name} {value}" for name, value in card.versions.items())
        yield f"| versions | {escaped(versions)} |"
        if card.certificate:
            yield "\n## Certificate\n\n| | |\n|---|---|"
            for name, value in card.certificate.items():
                yield f"| {escaped(name)} | {value:.6g} |"
        for part in self.parts:
            where = "" if part is top else f" of {escaped(part.kind)} (`{escaped(part.place)}`)"
            if part.params:
                yield f"\n## Parameters{where}\n\n| | |\n|---|---|"
            for name, said in part.params.items():
                yield f"| {escaped(name)} | `{escaped(said)}` |"
        yield "\n## Arrays\n\n| name | type | shape |\n|---|---|---|"
        for entry in self.arrays[:SHOWN]:
            yield f"| `{escaped(entry.name)}` | {entry.dtype} | {list(entry.shape)} |"
        if len(self.arrays) > SHOWN:
            yield f"| and {len(self.arrays) - SHOWN} more | | |"

    def _names(self) -> str:
        return f": {_some(self.feature_names)}" if self.feature_names else ""


def describe(path: PathLike) -> Description:
    """What a model file holds, after its checksum was found right; no model is built.

    Printed, it is a model card in Markdown; `as_dict()` is for machines.

    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression, describe, save
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = LogisticRegression().fit(X, y)
    ...     card = describe(save(model, f"{folder}/iris.model", data=(X, y)))
    >>> card.kind, card.classes, card.card.data.samples
    ('LogisticRegression', [0, 1, 2], 150)
    """
    path = as_path(path)
    contents = read_container(
        path, versions=why_not, wanted=lambda name: name.removesuffix(".ends").endswith(LABELS)
    )
    document = contents.document
    try:
        require_keys(document, "document", {"format", "model", "card"})
        found = list(_walk(document["model"], "model"))
        if not found or found[0][0] != "model":
            raise wrong("model", "a fitted model", document["model"])
        file = Filing(contents.tensors)
        return Description(
            str(path),
            contents.nbytes,
            document["format"],
            tuple(_part(model, at) for at, model in found),
            _labels(found, ("classes_", "outputs[0].classes"), file),
            _labels(found, ("feature_names_in_",), file),
            contents.entries,
            read_card(document["card"]),
        )
    except ModelFileError as error:
        raise ModelFileError(error.reason, f"{path}: {error}") from None


def escaped(text: str) -> str:
    """Text that neither Markdown nor HTML takes for anything else, in one line.

    >>> escaped("a|b <script>")
    'a\\\\|b &lt;script&gt;'
    """
    line = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    for letter, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("`", "'")):
        line = line.replace(letter, safe)
    return line


def _some(values: list[Any]) -> str:
    shown = ", ".join(escaped(str(value)) for value in values[:SHOWN])
    return shown + (", ..." if len(values) > SHOWN else "")


def _walk(document: Any, at: str, deep: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every fitted model in a document, with its place."""
    if deep > 64:
        raise ModelFileError("limit", "models in models are too deep")
    if isinstance(document, dict) and "kind" in document and "state" in document:
        require_keys(document, at, {"kind", "params", "state", "slim"})
        if not isinstance(document["kind"], str) or document["kind"] not in KINDS:
            raise wrong(f"{at}.kind", f"one of {', '.join(KINDS)}", document["kind"])
        yield at, document
        for part in (document["params"], document["state"]):
            if isinstance(part, dict):
                for name, value in part.items():
                    yield from _walk(value, f"{at}.{name}", deep + 1)
    elif isinstance(document, dict):
        for value in document.values():
            yield from _walk(value, at, deep + 1)
    elif isinstance(document, list):
        for value in document:
            named = isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)
            yield from _walk(value, f"{at}.{value[0]}" if named else at, deep + 1)


def _part(document: dict[str, Any], at: str) -> Part:
    state = document["state"] if isinstance(document["state"], dict) else {}
    params = document["params"] if isinstance(document["params"], dict) else {}
    features, kernel = state.get("n_features_in_"), state.get("kernel_")
    return Part(
        at,
        str(document["kind"]),
        {name: in_text(value) for name, value in params.items() if not _holds_model(value)},
        bool(document["slim"]),
        features if type(features) is int else None,
        None if kernel is None else in_text(kernel),
    )


def _holds_model(value: Any) -> bool:
    if isinstance(value, dict):
        return "kind" in value or any(map(_holds_model, value.values()))
    return isinstance(value, list) and any(map(_holds_model, value))


def in_text(value: Any) -> str:
    """A value of the document as Python would print it.

    >>> in_text({"kernel": "Scaled", "params": {"kernel": {"kernel": "Linear", "params": {}}}})
    'Scaled(kernel=Linear())'
    """
    if isinstance(value, list):
        return f"[{', '.join(map(in_text, value))}]"
    if not isinstance(value, dict):
        return repr(value)
    if "params" in value and isinstance(value["params"], dict):
        name = next((value[key] for key in ("kernel", "splitter", "kind") if key in value), "")
        inner = ", ".join(f"{key}={in_text(item)}" for key, item in value["params"].items())
        return f"{name}({inner})"
    if "dict" in value and isinstance(value["dict"], list):
        pairs = (in_text(pair)[1:-1].replace(", ", ": ", 1) for pair in value["dict"])
        return "{" + ", ".join(pairs) + "}"
    if "array" in value:
        return "an array"
    return ", ".join(in_text(item).strip("'") for item in value.values())


def _labels(
    found: list[tuple[str, dict[str, Any]]], names: tuple[str, ...], file: Filing
) -> list[Any] | None:
    """The first labels of that name among the models of a file."""
    for at, document in found:
        for name in names:
            if f"{at}.{name}" in file.tensors:
                kind = "objects" if f"{at}.{name}.ends" in file.tensors else "numbers"
                field = Labels("k", rising=False, distinct=False)
                labels: list[Any] = field.get(kind, f"{at}.{name}", file, Sizes()).tolist()
                return labels
            mixed = document["state"].get(name) if isinstance(document["state"], dict) else None
            if isinstance(mixed, dict) and isinstance(mixed.get("mixed"), list):
                return list(mixed["mixed"])
    return None
