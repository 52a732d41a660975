"""Describe a model file without building the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any

from separatrix.modelfile.container import NAMES, read_container
from separatrix.modelfile.fields import Archive, Maybe, find_in, require_keys, schema_error
from separatrix.modelfile.files import MOST_MODELS, PathLike, as_path, check_version, name_file
from separatrix.modelfile.given_code import GivenCode
from separatrix.modelfile.kinds import KINDS
from separatrix.modelfile.labels import Labels
from separatrix.modelfile.model_card import ModelCard, describe_data, read_model_card
from separatrix.modelfile.values import KernelObject
from separatrix.runtime.blocks import in_words

SHOWN = 12  # classes, names and arrays in Markdown; `as_dict` has all


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
    arrays: list[dict[str, Any]]  # name, dtype, shape and nbytes of each
    card: ModelCard
    functions: list[str]  # that must be given to `load`

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
            "arrays": self.arrays,
            "card": self.card.as_document(),
            "functions": self.functions,
        }

    def markdown(self) -> str:
        """The model card."""
        top, certificate = self.parts[0], self.card.certificate.items()
        sections = [f"# {top.kind}\n\n{_table(self._overview())}"]
        if certificate:
            rows = ((escape_markdown(name), f"{value:.6g}") for name, value in certificate)
            sections.append(f"## Certificate\n\n{_table(rows)}")
        for part in self.parts:
            where = f" of {escape_markdown(part.kind)} ({as_code(part.position)})"
            if part.params:
                rows = ((escape_markdown(key), as_code(text)) for key, text in part.params.items())
                sections.append(f"## Parameters{'' if part is top else where}\n\n{_table(rows)}")
        arrays = [
            (as_code(array["name"]), array["dtype"], str(array["shape"]))
            for array in self.arrays[:SHOWN]
        ]
        if len(self.arrays) > SHOWN:
            arrays.append((f"and {len(self.arrays) - SHOWN} more", "", ""))
        sections.append(f"## Arrays\n\n{_table(arrays, 'name', 'type', 'shape')}")
        return "\n\n".join(sections) + "\n"

    __str__ = markdown

    def _overview(self) -> Iterator[tuple[str, str]]:
        card, data = self.card, self.card.data
        if card.note:
            yield "note", escape_markdown(card.note)
        slim = ", slim: it predicts, and cannot be trained further" if self.parts[0].slim else ""
        size = in_words(self.nbytes)
        yield "file", f"{as_code(self.path)}, {size}, format {self.format}{slim}"
        if self.classes is not None:
            yield "classes", _format_first(self.classes)
        features = [part.features for part in self.parts if part.features is not None]
        if self.objects is not None:
            yield "samples", self.objects
        elif features:
            names = self.feature_names
            yield "features", _format_first(names) if names else str(features[0])
        for part in self.parts:
            if part.kernel is not None:
                yield "kernel", as_code(part.kernel)
        for name in self.functions:
            yield "function", f"{as_code(name)}: give it to `load(path, kernel=...)`"
        if data is None:
            yield "trained on", "unknown: `save(..., data=(X, y))` keeps the hash and the size"
        else:
            d = data.features
            what = (self.objects or "texts") if d is None else f"samples of {d} features"
            yield "trained on", f"{data.samples} {what}"
            yield "SHA-256 of the data", as_code(data.sha256)
        yield "seed", "none" if card.seed is None else str(card.seed)
        versions = ", ".join(f"{name} {value}" for name, value in card.versions.items())
        yield "versions", escape_markdown(versions)


def _table(rows: Iterable[tuple[str, ...]], *heading: str) -> str:
    heading = heading or ("", "")
    lines = ["|" + "".join(f" {c} |" if c else " |" for c in cells) for cells in (heading, *rows)]
    lines.insert(1, "|" + "---|" * len(heading))
    return "\n".join(lines)


def _format_first(values: list[Any]) -> str:
    """Number of values, and the first of them."""
    shown = ", ".join(escape_markdown(str(value)) for value in values[:SHOWN])
    return f"{len(values)}: {shown}" + (", ..." if len(values) > SHOWN else "")


def was_trained_on(path: PathLike, model: Any, X: Any, y: Any) -> bool:
    """Whether the model of a file was trained on exactly these rows and labels, by their hash.

    False if the file has no hash; `save(..., data=(X, y))` stores it.
    """
    known = describe(path).card.data
    return known is not None and describe_data(model, (X, y)).sha256 == known.sha256


def describe(path: PathLike) -> Description:
    """Describe a model file, after its checksum was verified; no model is built.

    The result prints as a model card in Markdown; `as_dict()` is for programs.

    Parameters
    ----------
    path
        A file that `save` wrote.

    Examples
    --------
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
    contents = read_container(path, versions=check_version, keep=_has_labels)
    document = contents.document
    with name_file(path):
        require_keys(document, "document", {"format", "model", "card"})
        found = list(islice(_walk(document["model"], "model"), MOST_MODELS))
        if not found or found[0][0] != "model":
            raise schema_error("model", "a fitted model", document["model"])
        file = Archive(contents.tensors, code=GivenCode(described=True))
        parts = tuple(_make_part(model, at, file) for at, model in found)
        return Description(
            str(path),
            contents.nbytes,
            document["format"],
            parts,
            _read_labels(found, "classes_", file),
            _read_labels(found, "feature_names_in_", file),
            [
                {"name": name, "dtype": NAMES[a.dtype], "shape": list(a.shape), "nbytes": a.nbytes}
                for name, a in contents.tensors.items()
            ],
            read_model_card(document["card"]),
            sorted(file.code.used),
        )


def escape_markdown(text: str) -> str:
    """Text in one line, escaped for Markdown and HTML.

    >>> escape_markdown("a|b <i>")
    'a\\\\|b &lt;i&gt;'
    """
    return escape(re.sub(r"([\\`*\[\]|])", r"\\\1", _printable(text)), quote=False)


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


def _walk(document: Any, at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every fitted model in a document, with its position."""
    if isinstance(document, dict) and "kind" in document and "state" in document:
        require_keys(document, at, {"kind", "params", "state", "slim"})
        kind = find_in(KINDS, document["kind"], f"{at}.kind")
        params, state = document["params"], document["state"]
        kind.require_parameters(params, f"{at}.params")
        require_keys(state, f"{at}.state", set(), set(kind.all_fields(slim=False)))
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


def _make_part(document: dict[str, Any], at: str, file: Archive) -> Part:
    state, params = document["state"], document["params"]
    features, kernel = state.get("n_features_in_"), state.get("kernel_")
    built = Maybe(KernelObject()).get(kernel, f"{at}.kernel_", file.scope())
    return Part(
        at,
        str(document["kind"]),
        {name: format_value(value) for name, value in params.items() if not _holds_model(value)},
        bool(document["slim"]),
        features if type(features) is int else None,
        None if built is None else format_value(kernel),
        None if built is None or built.takes == "vectors" else built.takes,
    )


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


def _has_labels(name: str) -> bool:
    """Whether an array of that name holds class labels or feature names."""
    return any(word in name for word in ("classes", "feature_names_in_"))


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
            labels = field.get(document, position, file.scope())
            return None if labels is None else list(labels.tolist())
    return None
