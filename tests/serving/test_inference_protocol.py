"""The Open Inference Protocol: JSON tensors, the binary extension, and refusals."""

import json
import struct

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from tests.serving.asgi_client import AsgiClient

from separatrix import LogisticRegression, save
from separatrix.serving.inference_protocol import HEADER_LENGTH

DIGITS = "/v2/models/digits/infer"


def tensor(X, datatype="FP64", **more):
    return {"name": "input", "datatype": datatype, "shape": list(X.shape), **more}


def binary_request(document, *parts):
    text = json.dumps(document).encode()
    headers = [("Content-Type", "application/octet-stream"), (HEADER_LENGTH, str(len(text)))]
    return {"body": text + b"".join(parts), "headers": headers}


def split_reply(answer):
    length = int(answer.headers[HEADER_LENGTH.lower()])
    return json.loads(answer.body[:length]), answer.body[length:]


def test_nested_and_flat_tensors_give_the_same_labels(client, digits):
    model, _, X = digits
    X = X[:5]
    nested = client.post(DIGITS, {"id": "a7", "inputs": [tensor(X, data=X.tolist())]})
    flat = client.post(
        "/v2/models/digits/versions/1/infer",
        {"id": "a7", "inputs": [tensor(X, data=X.ravel().tolist())]},
    )
    found = nested.json()
    assert nested.body == flat.body
    assert (found["model_name"], found["model_version"], found["id"]) == ("digits", "1", "a7")
    assert found["outputs"] == [
        {"name": "predict", "datatype": "INT64", "shape": [5], "data": model.predict(X).tolist()}
    ]


@pytest.mark.parametrize("datatype", ["FP64", "FP32", "UINT8", "INT16"])
def test_binary_tensors_equal_json_tensors(client, iris, datatype):
    kinds = {"FP64": "<f8", "FP32": "<f4", "UINT8": "u1", "INT16": "<i2"}
    X = iris[2][:3].astype(kinds[datatype])
    asked = [{"name": "predict_proba", "parameters": {"binary_data": True}}]
    sized = tensor(X, datatype, parameters={"binary_data_size": X.nbytes})

    answer = client.post(
        "/v2/models/iris/infer",
        **binary_request({"inputs": [sized], "outputs": asked}, X.tobytes()),
    )
    plain = client.post(
        "/v2/models/iris/infer",
        {
            "inputs": [tensor(X, data=X.astype(float).tolist())],
            "outputs": [{"name": "predict_proba"}],
        },
    )

    document, raw = split_reply(answer)
    P = np.frombuffer(raw).reshape(document["outputs"][0]["shape"])
    assert P.ravel().tolist() == plain.json()["outputs"][0]["data"]


def test_texts_travel_with_their_lengths(client, jobs):
    model, _, frame = jobs
    frame = frame[:4]
    inputs, parts = [], []
    for name in frame:
        if name == "age":
            raw, kind = frame[name].to_numpy().tobytes(), "FP64"
        else:
            texts = [text.encode() for text in frame[name]]
            raw, kind = b"".join(struct.pack("<I", len(t)) + t for t in texts), "BYTES"
        size = {"binary_data_size": len(raw)}
        inputs.append({"name": name, "datatype": kind, "shape": [4, 1], "parameters": size})
        parts.append(raw)

    answer = client.post(
        "/v2/models/jobs/infer",
        **binary_request({"inputs": inputs, "parameters": {"binary_data_output": True}}, *parts),
    )

    document, raw = split_reply(answer)
    labels = []
    while raw:
        length = struct.unpack_from("<I", raw)[0]
        labels.append(raw[4 : 4 + length].decode())
        raw = raw[4 + length :]
    assert document["outputs"][0]["datatype"] == "BYTES"
    assert labels == model.predict(frame).tolist()


def test_metadata_names_inputs_outputs_and_versions(client):
    found = client.get("/v2/models/jobs").json()
    assert [(one["name"], one["datatype"]) for one in found["inputs"]] == [
        ("age", "FP64"),
        ("job", "BYTES"),
        ("note", "BYTES"),
    ]
    assert found["versions"] == ["7"]
    assert [one["name"] for one in found["outputs"]] == ["predict", "predict_proba"]
    assert client.get("/v2/models/digits/versions/1").json()["inputs"][0]["shape"] == [-1, 64]
    assert client.get("/v2/models/digits/versions/1/ready").json() == {"ready": True}
    assert client.get("/v2").json()["extensions"] == ["binary_tensor_data"]
    assert {one["name"] for one in client.get("/v2/models").json()} == {"iris", "digits", "jobs"}


GOOD = {"name": "input", "datatype": "FP64", "shape": [1, 64], "data": [0.0] * 64}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"inputs": []}, "`inputs`: expected a list of tensors"),
        ({"inputs": [GOOD, GOOD]}, "'input' occurs twice"),
        ({"inputs": [{**GOOD, "name": "pixels"}]}, "the model has no input 'pixels'"),
        ({"inputs": [{**GOOD, "datatype": "BF16"}]}, "found datatype 'BF16'"),
        ({"inputs": [{**GOOD, "datatype": ["FP64"]}]}, "found datatype"),
        ({"inputs": [{**GOOD, "shape": [64]}]}, "expected numbers of [n, 64]"),
        ({"inputs": [{**GOOD, "shape": [2, 64]}]}, "found 64 values, expected 128"),
        ({"inputs": [{**GOOD, "shape": [1, 2**40]}]}, "expected one or two lengths"),
        ({"inputs": [{**GOOD, "shape": [-1, 64]}]}, "expected one or two lengths"),
        (
            {"inputs": [{**GOOD, "data": [0.0] * 63 + ["0"]}]},
            "row 0, column 'x64': found the text '0', expected a number, as FP64",
        ),
        (
            {"inputs": [{**GOOD, "shape": [2, 64], "data": [0.0] * 127 + [None]}]},
            "row 1, column 'x64': found null, expected a number",
        ),
        (
            {"inputs": [{**GOOD, "datatype": "BYTES", "data": ["0"] * 64}]},
            "row 0, column 'x1': found the text '0', expected a number",
        ),
        (
            {"inputs": [{**GOOD, "datatype": "INT32", "data": [0, 1.5, *[0] * 62]}]},
            "row 0, column 'x2': found the number 1.5, expected a number, as INT32",
        ),
        ({"inputs": [{**GOOD, "data": [[0.0] * 63]}]}, "do not have the length 64"),
        (
            {"inputs": [{**GOOD, "datatype": "UINT8", "data": [None, *[300] * 63]}]},
            "'x2': found the number 300",
        ),
        ({"inputs": [{**GOOD, "datatype": "FP32", "data": [1e300] * 64}]}, "expected a finite"),
        ({"inputs": [{**GOOD, "parameters": {"binary_data_size": 8}}]}, "expected either `data`"),
        ({"inputs": [GOOD], "outputs": [{"name": "logits"}]}, "found 'logits'"),
        ({"inputs": [GOOD], "outputs": [{"name": "predict_proba"}]}, "has no probabilities"),
        ({"inputs": [GOOD], "id": 7}, "`id`: expected a text"),
        ({"inputs": [GOOD], "colour": 7}, "expected an object with the fields"),
        ({"inputs": [GOOD], "parameters": 7}, "`parameters`: expected an object"),
    ],
)
def test_tensors_that_do_not_fit_are_refused_in_one_sentence(client, change, sentence):
    answer = client.post(DIGITS, change)
    assert answer.status == 422
    assert sentence in answer.json()["error"]


@pytest.mark.parametrize(
    ("size", "raw", "status", "sentence"),
    [
        (8, b"12345678", 422, "found 8 bytes, expected 64 values of FP64"),
        (512, b"\0" * 600, 422, "88 bytes after the last tensor"),
        (600, b"\0" * 512, 422, "expected either `data`"),
        (512, np.full(64, np.nan).tobytes(), 422, "found nan, expected a finite number"),
    ],
)
def test_bytes_that_do_not_fit_are_refused(client, size, raw, status, sentence):
    one = {"name": "input", "datatype": "FP64", "shape": [1, 64]}
    one["parameters"] = {"binary_data_size": size}
    answer = client.post(DIGITS, **binary_request({"inputs": [one]}, raw))
    assert answer.status == status
    assert sentence in answer.json()["error"]


@pytest.mark.parametrize("length", ["-1", "99999", "x", "9" * 400])
def test_a_wrong_header_length_is_refused(client, length):
    answer = client.post(DIGITS, {}, headers=[(HEADER_LENGTH, length)])
    assert answer.status == 400
    assert "expected a length within the body" in answer.json()["error"]


@pytest.mark.parametrize(
    ("name", "datatype", "cell", "found"),
    [
        ("age", "FP64", "abc", "the text 'abc', expected a number or null, as FP64"),
        ("age", "BYTES", "abc", "the text 'abc', expected a number or null"),
        ("age", "BYTES", 7, "the number 7, expected a number or null, as BYTES"),
        ("age", "BOOL", True, "true, expected a number or null"),
        ("age", "INT8", 300, "the number 300, expected a number or null, as INT8"),
        ("age", "FP64", [1], "a list, expected a number or null, as FP64"),
        ("job", "BYTES", 7, "the number 7, expected a text or null, as BYTES"),
        ("job", "INT64", 7, "the number 7, expected a text or null"),
    ],
)
def test_a_value_of_a_tensor_is_refused_by_row_and_column(
    client, jobs, name, datatype, cell, found
):
    good = {"age": ("FP64", 30.0), "job": ("BYTES", "cook"), "note": ("BYTES", "sings")}
    inputs = [
        {"name": column, "datatype": kind, "shape": [3], "data": [value] * 3}
        for column, (kind, value) in good.items()
    ]
    wrong = inputs[list(good).index(name)]
    wrong |= {"datatype": datatype, "data": [None, None, cell], "shape": [3, 1]}
    if isinstance(cell, list):
        wrong |= {"data": [[None], [None], [cell]]}
    answer = client.post("/v2/models/jobs/infer", {"inputs": inputs})
    assert answer.status == 422
    assert answer.json()["error"] == f"row 2, column {name!r}: found {found}"


def test_null_is_missing_in_tensors_as_in_json_and_csv(client, jobs):
    rows = [{"age": None, "job": "cook", "note": None}, {"age": 30, "job": None, "note": "sings"}]
    expected = client.post("/predict?model=jobs", rows).json()["probabilities"]
    text = b"age,job,note\n,cook,\n30,,sings\n"
    table = client.post("/predict?model=jobs", body=text, headers=[("Content-Type", "text/csv")])
    assert table.json()["probabilities"] == expected
    for kind in ("FP64", "FP32", "INT64", "UINT8"):
        inputs = [
            {"name": name, "datatype": datatype, "shape": [2], "data": [row[name] for row in rows]}
            for name, datatype in (("age", kind), ("job", "BYTES"), ("note", "BYTES"))
        ]
        asked = {"inputs": inputs, "outputs": [{"name": "predict_proba"}]}
        answer = client.post("/v2/models/jobs/infer", asked).json()
        assert answer["outputs"][0]["data"] == [p for row in expected for p in row]


def test_null_is_imputed_or_refused_in_tensors_of_numbers_as_in_json_and_csv(tmp_path):
    X = np.arange(40.0).reshape(20, 2)
    y = np.repeat(["a", "b"], 10)
    models = {"imputes": make_pipeline(SimpleImputer(), LogisticRegression())}
    models["complete"] = LogisticRegression()
    paths = {name: save(model.fit(X, y), tmp_path / name) for name, model in models.items()}
    client = AsgiClient([(name, "1", path) for name, path in paths.items()])
    answers = {}
    for name in models:
        one = {"name": "input", "datatype": "FP64", "shape": [2, 2], "data": [1, 2, None, 4]}
        asked = {"inputs": [one], "outputs": [{"name": "predict_proba"}]}
        text = {"body": b"x1,x2\n1,2\n,4\n", "headers": [("Content-Type", "text/csv")]}
        answers[name] = [
            client.post(f"/predict?model={name}", [[1, 2], [None, 4]]),
            client.post(f"/predict?model={name}", **text),
            client.post(f"/v2/models/{name}/infer", asked),
        ]
    for answer in answers["complete"]:
        assert answer.json()["error"] == "row 1, column 'x1': found null, expected a number"
    rows, table, tensors = (answer.json() for answer in answers["imputes"])
    assert rows["probabilities"] == table["probabilities"]
    assert tensors["outputs"][0]["data"] == [p for row in rows["probabilities"] for p in row]
