"""Open Inference Protocol v2 over HTTP: tensors as JSON or, by the binary extension, as bytes.

A binary request is a JSON header, whose length `Inference-Header-Content-Length` gives, and the bytes of
the tensors in the order of the inputs; a text is preceded by its length in four bytes. A model of numbers
has one input, `input`, with a row for each sample; a model of mixed columns has one input per column.
"""

from __future__ import annotations

import math
import struct
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np
import orjson

from separatrix.data.column_forms import cell_error
from separatrix.data.units import is_percent
from separatrix.serving.request_rows import (
    NUMBERS,
    parse_json,
    refuse,
    require_count,
    require_finite,
    rows_of_cells,
)
from separatrix.serving.served_model import Rows, Scores, ServedModel
from separatrix.web.request_error import RequestError, shorten

HEADER_LENGTH = "Inference-Header-Content-Length"
DTYPES = {
    **{"BOOL": "?", "INT8": "i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8"},
    **{"UINT8": "u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8"},
    **{"FP16": "<f2", "FP32": "<f4", "FP64": "<f8"},
}
LABELS, PROBABILITIES = "predict", "predict_proba"
FIELDS = {"id", "inputs", "outputs", "parameters"}


class InferRequest(NamedTuple):
    """The rows of a request, and the outputs that it asks for, each with whether it is binary."""

    id: str | None
    rows: Rows
    outputs: dict[str, bool]


def describe_model(model: ServedModel, versions: list[str]) -> dict[str, Any]:
    """The metadata of a model; `parameters` has its columns and classes."""
    if model.encoder is None:
        inputs = [{"name": "input", "datatype": "FP64", "shape": [-1, len(model.columns)]}]
    else:
        numbers = [s.role == "number" and not is_percent(s.format) for s in model.specs]
        kinds = ["FP64" if number else "BYTES" for number in numbers]
        pairs = zip(model.columns, kinds, strict=True)
        inputs = [{"name": name, "datatype": kind, "shape": [-1, 1]} for name, kind in pairs]
    outputs = [{"name": LABELS, "datatype": _datatype(model.classes), "shape": [-1]}]
    if model.has_probabilities:
        shape = [-1, len(model.classes)]
        outputs.append({"name": PROBABILITIES, "datatype": "FP64", "shape": shape})
    return {
        "name": model.name,
        "versions": versions,
        "platform": "separatrix",
        "inputs": inputs,
        "outputs": outputs,
        "parameters": {
            "columns": [{"name": s.name, "role": s.role, "format": s.format} for s in model.specs],
            "classes": model.classes.tolist(),
        },
    }


def parse_infer(
    model: ServedModel, body: bytes, header_length: str | None, most: int
) -> InferRequest:
    """Parse a request; `header_length` is the header of the binary extension."""
    split = len(body)
    if header_length is not None:
        if not header_length.isdecimal() or len(header_length) > 15 or int(header_length) > split:
            found = shorten(repr(header_length))
            bad = f"{HEADER_LENGTH}: found {found}, expected a length within the body"
            raise RequestError(400, "header", bad)
        split = int(header_length)
    document = parse_json(body[:split])
    if not isinstance(document, dict) or not set(document) <= FIELDS:
        refuse("expected an object with the fields id, inputs, outputs and parameters")
    identity = document.get("id")
    if identity is not None and not isinstance(identity, str):
        refuse("`id`: expected a text")
    tensors = _Tensors(model, memoryview(body)[split:], most).read(document.get("inputs"))
    outputs = _outputs(model, document)
    return InferRequest(identity, _rows(model, tensors), outputs)


def make_reply(
    model: ServedModel, request: InferRequest, scores: Scores
) -> tuple[bytes, dict[str, str]]:
    """The body of the answer and its headers."""
    outputs, parts = [], []
    for name, binary in request.outputs.items():
        values = scores.labels if name == LABELS else scores.P
        kind = _datatype(values)
        one: dict[str, Any] = {"name": name, "datatype": kind, "shape": list(values.shape)}
        if binary:
            parts.append(_as_bytes(values, kind))
            one["parameters"] = {"binary_data_size": len(parts[-1])}
        else:
            one["data"] = values.ravel().tolist()
        outputs.append(one)
    document: dict[str, Any] = {"model_name": model.name, "model_version": model.version}
    if request.id is not None:
        document["id"] = request.id
    if notes := model.notes(request.rows):
        document["parameters"] = {"notes": notes}
    text = orjson.dumps({**document, "outputs": outputs})
    if not parts:
        return text, {"Content-Type": "application/json"}
    headers = {"Content-Type": "application/octet-stream", HEADER_LENGTH: str(len(text))}
    return b"".join([text, *parts]), headers


class _Tensors:
    """Reads the inputs of a request; `data` are the bytes behind the JSON header."""

    def __init__(self, model: ServedModel, data: memoryview, most: int) -> None:
        self.model, self.data, self.most = model, data, most
        self.expected = ("input",) if model.encoder is None else model.columns

    def read(self, inputs: Any) -> dict[str, Any]:
        if not isinstance(inputs, list) or not inputs:
            refuse("`inputs`: expected a list of tensors")
        found: dict[str, Any] = {}
        for one in inputs:
            if not isinstance(one, dict) or not isinstance(one.get("name"), str):
                refuse("`inputs`: expected objects with a name")
            if one["name"] in found:
                refuse(f"`inputs`: {shorten(repr(one['name']))} occurs twice")
            if one["name"] not in self.expected:
                refuse(f"the model has no input {shorten(repr(one['name']))}")
            found[one["name"]] = self._tensor(one)
        if len(self.data):
            refuse(f"the body has {len(self.data)} bytes after the last tensor")
        for name in self.expected:
            if name not in found:
                refuse(f"input {shorten(repr(name))} is missing")
        return found

    def _tensor(self, one: dict[str, Any]) -> Any:
        where, kind = f"input {shorten(repr(one['name']))}", one.get("datatype")
        shape, size = one.get("shape"), _parameter(one, "binary_data_size")
        if not isinstance(kind, str) or (kind not in DTYPES and kind != "BYTES"):
            expected = f"one of {', '.join(DTYPES)}, BYTES"
            refuse(f"{where}: found datatype {shorten(repr(kind))}, expected {expected}")
        if (
            not isinstance(shape, list)
            or len(shape) not in (1, 2)
            or not all(type(n) is int and 0 <= n < 2**31 for n in shape)
        ):
            refuse(f"{where}: found shape {shorten(repr(shape))}, expected one or two lengths")
        require_count(shape[0], self.most)
        self._require_shape(shape, where)
        count = math.prod(shape)
        if size is None:
            values = _flat(one.get("data"), shape, where)
            return self._from_json(values, kind, shape, one["name"]).reshape(shape)
        if "data" in one or type(size) is not int or not 0 <= size <= len(self.data):
            refuse(f"{where}: expected either `data` or a binary_data_size within the body")
        piece, self.data = self.data[:size], self.data[size:]
        if kind == "BYTES":
            return np.array(_texts(piece, count, where), dtype=object).reshape(shape)
        if size != count * np.dtype(DTYPES[kind]).itemsize:
            refuse(f"{where}: found {size} bytes, expected {count} values of {kind}")
        return np.frombuffer(piece, dtype=DTYPES[kind]).reshape(shape)

    def _require_shape(self, shape: list[int], where: str) -> None:
        d = len(self.model.columns)
        if self.model.encoder is None and (len(shape) != 2 or shape[1] != d):
            refuse(f"{where}: found {shape}, expected numbers of [n, {d}]")
        if self.model.encoder is not None and len(shape) == 2 and shape[1] != 1:
            refuse(f"{where}: found {shape}, expected a column of shape [n] or [n, 1]")

    def _from_json(self, values: list[Any], kind: str, shape: list[int], name: str) -> Any:
        """Values of a datatype; with null among them, an array of objects."""
        exact: dict[str, set[type]] = {"BYTES": {str}, "BOOL": {bool}}
        allowed = exact.get(kind, NUMBERS if kind[:2] == "FP" else {int})
        found, nulls = set(map(type, values)), type(None)
        if not found <= allowed | {nulls}:
            wrong = (i for i, v in enumerate(values) if v is not None and type(v) not in allowed)
            self._refuse_value(values, next(wrong), kind, shape, name)
        if kind == "BYTES":
            return np.array([*values, None], dtype=object)[:-1]  # None: never an array of texts
        known = [i for i, v in enumerate(values) if v is not None] if nulls in found else None
        some = values if known is None else [values[i] for i in known]
        with np.errstate(over="ignore"):  # an infinite number is refused later
            try:
                array = np.array(some, dtype=DTYPES[kind])
            except OverflowError:
                span = np.iinfo(DTYPES[kind])
                far = (i for i, v in enumerate(values) if v is not None)
                beyond = next(i for i in far if not span.min <= values[i] <= span.max)
                self._refuse_value(values, beyond, kind, shape, name)
        if known is None:
            return array
        whole = np.full(len(values), None, dtype=object)
        whole[known] = array.tolist()
        return whole

    def _refuse_value(
        self, values: list[Any], i: int, kind: str, shape: list[int], name: str
    ) -> NoReturn:
        """Refuse a value that its datatype does not have, as a cell of JSON or CSV is refused."""
        row, j = divmod(i, math.prod(shape[1:]))
        j = j if self.model.encoder is None else self.model.columns.index(name)
        column, _, expected = self.model.signature.columns[j]
        raise cell_error(row, column, values[i], f"{expected}, as {kind}")


def _flat(data: Any, shape: list[int], where: str) -> list[Any]:
    """The values of a tensor, which may be nested as the shape is."""
    if not isinstance(data, list):
        refuse(f"{where}: expected `data` to be a list")
    values: list[Any] = data
    if len(shape) == 2 and data and type(data[0]) is list:
        if not all(type(row) is list and len(row) == shape[1] for row in data):
            refuse(f"{where}: the rows of `data` do not have the length {shape[1]} of its shape")
        values = list(chain.from_iterable(data))
    if len(values) != math.prod(shape):
        refuse(f"{where}: found {len(values)} values, expected {math.prod(shape)} by its shape")
    return values


def _texts(piece: memoryview, count: int, where: str) -> list[str]:
    """Texts with their lengths before them."""
    found: list[str] = []
    at = 0
    while at + 4 <= len(piece) and len(found) <= count:
        (length,) = struct.unpack_from("<I", piece, at)
        at += 4 + length
        try:
            found.append(str(piece[at - length : at], "utf-8"))
        except UnicodeDecodeError:
            refuse(f"{where}: a text is not UTF-8")
    if at != len(piece) or len(found) != count:
        refuse(f"{where}: the bytes are not {count} texts with their lengths")
    return found


def _rows(model: ServedModel, tensors: dict[str, Any]) -> Rows:
    if model.encoder is None:
        X = tensors["input"]
        if X.dtype.kind in "bO":  # texts, truth values or nulls
            return rows_of_cells(model, X.tolist())
        with np.errstate(invalid="ignore"):  # a signalling NaN is refused with all others
            X = np.ascontiguousarray(X, dtype=np.float64)
        require_finite(model, X)
        return X
    columns = [tensors[name] for name in model.columns]
    if len({len(one) for one in columns}) > 1:
        refuse("the inputs have different numbers of rows")
    return model.read_columns(
        [[None if v != v else v for v in one.ravel().tolist()] for one in columns]
    )


def _outputs(model: ServedModel, document: dict[str, Any]) -> dict[str, bool]:
    default = _parameter(document, "binary_data_output") is True
    asked = document.get("outputs")
    if asked is None:
        return {LABELS: default}
    if not isinstance(asked, list) or not asked:
        refuse("`outputs`: expected a list of outputs")
    found = {}
    for one in asked:
        name = one.get("name") if isinstance(one, dict) else None
        if name == PROBABILITIES and not model.has_probabilities:
            refuse(f"model {model.name} has no probabilities")
        if name not in (LABELS, PROBABILITIES) or name in found:
            expected = f"{LABELS} or {PROBABILITIES}, each once"
            refuse(f"`outputs`: found {shorten(repr(name))}, expected {expected}")
        binary = _parameter(one, "binary_data")
        found[name] = default if binary is None else binary is True
    return found


def _parameter(document: dict[str, Any], name: str) -> Any:
    parameters = document.get("parameters")
    if parameters is None:
        return None
    if not isinstance(parameters, dict):
        refuse("`parameters`: expected an object")
    return parameters.get(name)


def _datatype(values: Any) -> str:
    kind = np.asarray(values).dtype.kind
    return {"b": "BOOL", "i": "INT64", "u": "INT64", "f": "FP64"}.get(kind, "BYTES")


def _as_bytes(values: Any, kind: str) -> bytes:
    if kind != "BYTES":
        return np.ascontiguousarray(values, dtype=DTYPES[kind]).tobytes()
    texts = [str(value).encode() for value in values.ravel().tolist()]
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)
