"""The Open Inference Protocol: JSON tensors, the binary extension, and refusals."""

import json
import struct

import numpy as np
import pytest

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
        ({"inputs": [{**GOOD, "data": ["0"] * 64}]}, "found values that are not FP64"),
        ({"inputs": [{**GOOD, "data": [[0.0] * 63]}]}, "do not have the length 64"),
        ({"inputs": [{**GOOD, "datatype": "UINT8", "data": [300] * 64}]}, "beyond UINT8"),
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
