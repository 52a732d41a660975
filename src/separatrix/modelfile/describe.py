"""Describe a model file without building the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from separatrix.kernels.composed import Normalized, Product, Scaled, Sum
from separatrix.kernels.registry import KERNELS
from separatrix.modelfile.container import TensorEntry, read_container
from separatrix.modelfile.fields import Archive, require_keys, schema_error
from separatrix.modelfile.files import MOST_MODELS, PathLike, as_path, check_version, name_file
from separatrix.modelfile.kinds import KINDS
from separatrix.modelfile.labels import Labels
from separatrix.modelfile.model_card import ModelCard, read_model_card
from separatrix.runtime.blocks import in_words

SHOWN = 12  # classes, names and arrays in Markdown; `as_dict` has all
LABELS = ("classes_", ".classes", "feature_names_in_")
COMPOSED = (Normalized, Product, Scaled, Sum)
MARKS = "\\`*[]|"  # have a meaning in Markdown


@dataclass(frozen=True)
class Part:
    """One of the models in a file, with its parameters as text."""

    position: str
    kind: str
    params: dict[str, str]
    slim: bool
    features: int | None
    kernel: str | None
    takes: str | None = None  # "sequences" or "graphs"; None for vectors


@dataclass(frozen=True)
class Description:
    """What a model file holds; prints as Markdown."""

    path: str
    nbytes: int
    format: int
    parts: tuple[Part, ...]  # the model itself first, then those inside it
    classes: list[Any] | None
    feature_names: list[str] | None
    arrays: tuple[TensorEntry, ...]
    card: ModelCard

    @property
    def kind(self) -> str:
        """The class of the model."""
        return self.parts[0].kind

    @property
    def objects(self) -> str | None:
        """Type of the samples: "sequences" or "graphs"; None for vectors."""
        return next((part.takes for part in self.parts if part.takes is not None), None)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
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
        yield "\n| | |\n|---|---|"
        if card.note:
            yield f"| note | {escape_markdown(card.note)} |"
        slim = ", slim: it predicts, and cannot be trained further" if top.slim else ""
        yield f"| file | {as_code(self.path)}, {in_words(self.nbytes)}, format {self.format}{slim} |"
        if self.classes is not None:
            yield f"| classes | {len(self.classes)}: {_format_first(self.classes)} |"
        features = [part.features for part in self.parts if part.features is not None]
        if self.objects is not None:
            yield f"| samples | {self.objects} |"
        elif features:
            yield f"| features | {features[0]}{self._names()} |"
        for part in self.parts:
            if part.kernel is not None:
                yield f"| kernel | {as_code(part.kernel)} |"
        if card.data is not None:
            d = card.data.features
            what = (self.objects or "texts") if d is None else f"samples of {d} features"
            yield f"| trained on | {card.data.samples} {what} |"
            yield f"| SHA-256 of the data | {as_code(card.data.sha256)} |"
        else:
            yield "| trained on | unknown: `save(..., data=(X, y))` keeps the hash and the size |"
        yield f"| seed | {'none' if card.seed is None else card.seed} |"
        versions = ", ".join(f"{name} {value}" for name, value in card.versions.items())
        yield f"| versions | {escape_markdown(versions)} |"
        if card.certificate:
            yield "\n## Certificate\n\n| | |\n|---|---|"
            for name, value in card.certificate.items():
                yield f"| {escape_markdown(name)} | {value:.6g} |"
        for part in self.parts:
            where = (
                ""
                if part is top
                else f" of {escape_markdown(part.kind)} ({as_code(part.position)})"
            )
            if part.params:
                yield f"\n## Parameters{where}\n\n| | |\n|---|---|"
            for name, text in part.params.items():
                yield f"| {escape_markdown(name)} | {as_code(text)} |"
        yield "\n## Arrays\n\n| name | type | shape |\n|---|---|---|"
        for entry in self.arrays[:SHOWN]:
            yield f"| {as_code(entry.name)} | {entry.dtype} | {list(entry.shape)} |"
        if len(self.arrays) > SHOWN:
            yield f"| and {len(self.arrays) - SHOWN} more | | |"

    def _names(self) -> str:
        return f": {_format_first(self.feature_names)}" if self.feature_names else ""


def describe(path: PathLike) -> Description:
    """Describe a model file, after its checksum was verified; no model is built.

    The result prints as a model card in Markdown; `as_dict()` is for programs.

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
        path,
        versions=check_version,
        wanted=lambda name: name.removesuffix(".ends").endswith(LABELS),
    )
    document = contents.document
    with name_file(path):
        require_keys(document, "document", {"format", "model", "card"})
        found = list(islice(_walk(document["model"], "model"), MOST_MODELS))
        if not found or found[0][0] != "model":
            raise schema_error("model", "a fitted model", document["model"])
        file = Archive(contents.tensors)
        return Description(
            str(path),
            contents.nbytes,
            document["format"],
            tuple(_make_part(model, at) for at, model in found),
            _read_labels(found, "classes_", file),
            _read_labels(found, "feature_names_in_", file),
            contents.entries,
            read_model_card(document["card"]),
        )


def escape_markdown(text: str) -> str:
    """Text in one line, escape_markdown for Markdown and HTML.

    >>> escape_markdown("a|b <i>")
    'a\\\\|b &lt;i&gt;'
    """
    line = "".join(f"\\{letter}" if letter in MARKS else letter for letter in _printable(text))
    for letter, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        line = line.replace(letter, safe)
    return line


def as_code(text: str) -> str:
    """Text between backticks, where only backticks and bars need escapes.

    >>> as_code("a|b `c` <i>")
    "`a\\\\|b 'c' <i>`"
    """
    return "`" + _printable(text).replace("`", "'").replace("|", "\\|") + "`"


def _printable(text: str) -> str:
    """Printable characters, and the others as Python escapes them."""
    joiner = "\u200d"  # within emoji
    return "".join(
        letter if letter.isprintable() or letter == joiner else ascii(letter)[1:-1]
        for letter in text
    )


def _format_first(values: list[Any]) -> str:
    shown = ", ".join(escape_markdown(str(value)) for value in values[:SHOWN])
    return shown + (", ..." if len(values) > SHOWN else "")


def _walk(document: Any, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every fitted model in a document, with its position."""
    if isinstance(document, dict) and "kind" in document and "state" in document:
        require_keys(document, at, {"kind", "params", "state", "slim"})
        kind, params, state = (document[key] for key in ("kind", "params", "state"))
        if not isinstance(kind, str) or kind not in KINDS:
            raise schema_error(f"{at}.kind", f"one of {', '.join(KINDS)}", kind)
        require_keys(params, f"{at}.params", KINDS[kind].parameters)
        require_keys(state, f"{at}.state", set(), set(KINDS[kind].all_fields(slim=False)))
        yield at, document
        for name, value in (*params.items(), *state.items()):
            yield from _walk(value, f"{at}.{name}")
    elif isinstance(document, dict):
        for value in document.values():
            yield from _walk(value, at)
    elif isinstance(document, list):
        for number, value in enumerate(document):
            named = isinstance(value, list) and len(value) == 2
            yield from _walk(value[1] if named else value, f"{at}[{number}]")


def _make_part(document: dict[str, Any], at: str) -> Part:
    state, params = document["state"], document["params"]
    features, kernel = state.get("n_features_in_"), state.get("kernel_")
    return Part(
        at,
        str(document["kind"]),
        {name: format_value(value) for name, value in params.items() if not _holds_model(value)},
        bool(document["slim"]),
        features if type(features) is int else None,
        None if kernel is None else format_value(kernel),
        _find_sample_type(kernel),
    )


def _find_sample_type(kernel: Any) -> str | None:
    """What the first kernel inside a kernel takes, if not vectors."""
    while isinstance(kernel, dict) and isinstance(kernel.get("params"), dict):
        name, params = kernel.get("kernel"), kernel["params"]
        if isinstance(name, str) and name in KERNELS and KERNELS[name] not in COMPOSED:
            takes = KERNELS[name].takes
            return None if takes == "vectors" else takes
        kernel = params.get("left", params.get("kernel"))
    return None


def _holds_model(value: Any) -> bool:
    if isinstance(value, dict):
        return "kind" in value or any(map(_holds_model, value.values()))
    return isinstance(value, list) and any(map(_holds_model, value))


def format_value(value: Any) -> str:
    """A value of the document as Python would print it.

    >>> format_value({"kernel": "Scaled", "params": {"kernel": {"kernel": "Linear", "params": {}}}})
    'Scaled(kernel=Linear())'
    """
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    if not isinstance(value, dict):
        return repr(value)
    if "params" in value and isinstance(value["params"], dict):
        name = next((value[key] for key in ("kernel", "splitter", "kind") if key in value), "")
        inner = ", ".join(f"{key}={format_value(item)}" for key, item in value["params"].items())
        return f"{name}({inner})"
    if "dict" in value and isinstance(value["dict"], list):
        pairs = (format_value(pair)[1:-1].replace(", ", ": ", 1) for pair in value["dict"])
        return "{" + ", ".join(pairs) + "}"
    if "array" in value:
        return "an array"
    return ", ".join(format_value(item).strip("'") for item in value.values())


def _read_labels(
    found: list[tuple[str, dict[str, Any]]], name: str, file: Archive
) -> list[Any] | None:
    """The first labels of that name in a file."""
    for at, model in found:
        state, position = model["state"], f"{at}.{name}"
        document = state.get(name)
        if name == "classes_" and isinstance(state.get("outputs"), list):  # of neighbours
            first = next(iter(state["outputs"]), None)
            document = first.get("classes") if isinstance(first, dict) else None
            position = f"{at}.outputs[0].classes"
        if document is not None:
            field = Labels("k", rising=False, distinct=False)
            labels: list[Any] = field.get(document, position, file.scope()).tolist()
            return labels
    return None
