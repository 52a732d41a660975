"""Requests that are almost right: a valid one, with a few parts replaced, added, removed or damaged."""

import json
import struct

import numpy as np

from separatrix.serving.inference_protocol import HEADER_LENGTH

ODD = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**30, 1e308, -1e308, 5e-324, 0.1),
    *("", "NaN", "1", "x" * 300, "\u0000", "\ud800", "é", "input", "predict_proba", "FP64"),
    *([], {}, [[]], [{}], {"rows": []}, [[[1]]], [None], ["a"], [1, [2]], {"": 0}),
]
KINDS = ["FP64", "FP32", "FP16", "INT8", "INT64", "UINT16", "BOOL", "BYTES", "BF16", "fp64", ""]
METHODS = ["POST"] * 12 + ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]
TYPES = ["application/json"] * 6 + ["text/csv"] * 2 + ["application/octet-stream"] * 2
TYPES += ["text/plain", "", "application/json; charset=utf-16", "a" * 500]
TARGETS = [
    *("/predict?model=iris", "/predict?model=jobs", "/predict?model=digits&explain=1"),
    *("/predict?model=iris&explain=1", "/predict?model=jobs&explain=1", "/predict"),
    *("/predict?model=iris&version=1&probabilities=0", "/predict?" + "a=1&" * 20),
    *("/v2/models/iris/infer", "/v2/models/jobs/infer", "/v2/models/digits/versions/1/infer"),
    *("/v2/models/iris/versions/2/infer", "/v2/models/%00/infer", "/v2/models//infer"),
    *("/v2/repository/index", "/v2/models/iris", "/static/form.js", "/../etc", "/metrics", "/"),
]
WIDTHS = {"iris": 4, "digits": 64}
COLUMNS = {
    "iris": ["sepal length", "sepal width", "petal length", "petal width"],
    "jobs": ["age", "job", "note"],
    "digits": [f"x{j + 1}" for j in range(64)],
}


class RequestFuzzer:
    """`next()` is (method, target, body, headers), the same for the same seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def pick(self, values):
        return values[self.rng.integers(len(values))]

    def chance(self, share):
        return self.rng.random() < share

    def next(self):
        target = self.pick(TARGETS)
        name = next((one for one in COLUMNS if one in target), "iris")
        headers = [("Content-Type", self.pick(TYPES))]
        if "infer" in target:
            document, tail = self._tensors(name)
        else:
            document, tail = self._rows(name), b""
        for _ in range(self.rng.integers(0, 4)):
            document = self._mutate(document)
        body = json.dumps(document).encode()
        if tail or self.chance(0.05):
            length = len(body) if self.chance(0.9) else int(self.rng.integers(-5, 2 * len(body)))
            headers.append((HEADER_LENGTH, str(length)))
        if headers[0][1] == "text/csv":
            body = self._csv(name)
        body += tail
        if self.chance(0.15):
            body = self._damage(body)
        if self.chance(0.05):
            headers.append(self.pick([("Content-Length", "-1"), ("Content-Encoding", "gzip")]))
        return self.pick(METHODS), target, body, headers

    def _cell(self, column):
        if self.chance(0.1):
            return self.pick(ODD)
        if column in ("job", "note"):
            return self.pick(["cook", "clerk", "reads old books", "new word", None])
        return float(self.rng.normal())

    def _rows(self, name):
        rows = []
        for _ in range(self.rng.integers(0, 5)):
            cells = {column: self._cell(column) for column in COLUMNS[name]}
            rows.append(cells if self.chance(0.6) else list(cells.values()))
        return {"rows": rows} if self.chance(0.5) else rows

    def _csv(self, name):
        lines = [",".join(COLUMNS[name])]
        for _ in range(self.rng.integers(0, 5)):
            cells = [json.dumps(self._cell(column)) for column in COLUMNS[name]]
            lines.append(self.pick([",", ",", ",", ";"]).join(cells))
        return self.pick(["\n", "\r\n", "\r"]).join(lines).encode()

    def _tensors(self, name):
        n = int(self.rng.integers(0, 4))
        width = WIDTHS.get(name)
        columns = [("input", width)] if width else [(column, 1) for column in COLUMNS[name]]
        inputs, parts = [], []
        for column, d in columns:
            kind = "BYTES" if column in ("job", "note") else self.pick(KINDS)
            one = {"name": column, "datatype": kind, "shape": [n, d]}
            if self.chance(0.4):
                raw = self._raw(kind, n * d)
                parts.append(raw)
                one["parameters"] = {"binary_data_size": len(raw)}
            else:
                one["data"] = [self._cell(column) for _ in range(n * d)]
            inputs.append(one)
        document = {"inputs": inputs}
        if self.chance(0.5):
            names = ["predict", "predict_proba", "other"]
            binary = {"binary_data": self.pick([True, False])}
            document["outputs"] = [{"name": self.pick(names), "parameters": binary}]
        return document, b"".join(parts)

    def _raw(self, kind, count):
        if kind == "BYTES":
            texts = [self.rng.bytes(self.rng.integers(0, 9)) for _ in range(count)]
            return b"".join(struct.pack("<I", len(t)) + t for t in texts)
        return self.rng.bytes(count * int(self.pick([1, 2, 4, 8, 8, 8])))

    def _mutate(self, value):
        """Replace, remove or double one part, anywhere in the document."""
        if self.chance(0.25) or not isinstance(value, dict | list) or not value:
            return self.pick(ODD)
        if isinstance(value, list):
            j = int(self.rng.integers(len(value)))
            change = self.pick(["in", "in", "in", "drop", "twice"])
            middle = {"drop": [], "twice": [value[j]] * 2}.get(change)
            return (
                value[:j]
                + ([self._mutate(value[j])] if middle is None else middle)
                + value[j + 1 :]
            )
        key = self.pick(list(value))
        change = self.pick(["in", "in", "in", "drop", "name"])
        if change == "drop":
            return {name: one for name, one in value.items() if name != key}
        if change == "name":
            return {**value, self.pick(["x", "", "rows", "id", "parameters"]): self.pick(ODD)}
        return {**value, key: self._mutate(value[key])}

    def _damage(self, body):
        raw = bytearray(body or b"{}")
        at = int(self.rng.integers(len(raw)))
        if self.chance(0.5):
            raw[at] = int(self.rng.integers(256))
            return bytes(raw)
        return bytes(raw[:at])
