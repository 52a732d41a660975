"""Plain /predict: rows as JSON or CSV, probabilities, explanations, sentences for what is wrong."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from tests.serving.asgi_client import AsgiClient
from tests.serving.conftest import COLUMNS

from separatrix import LogisticRegression, TableEncoder, save

IRIS = "/predict?model=iris"


def iris_rows(X):
    return [dict(zip(COLUMNS, row, strict=True)) for row in X.tolist()]


def test_rows_by_column_name_give_labels_and_probabilities(client, iris):
    model, _, X = iris
    rows = pd.DataFrame(X[[0, 60, 140]], columns=COLUMNS)
    reordered = [dict(reversed(row.items())) for row in iris_rows(X[[0, 60, 140]])]

    answer = client.post(IRIS, {"rows": reordered})

    found = answer.json()
    assert answer.status == 200
    assert found["labels"] == model.predict(rows).tolist()
    assert found["classes"] == model.classes_.tolist()
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), rtol=1e-12)


def test_csv_lists_and_objects_give_the_same_answer(client, iris):
    X = iris[2][:4]
    text = ",".join(reversed(COLUMNS)) + "\n"
    text += "".join(",".join(map(repr, row[::-1])) + "\r\n" for row in X.tolist())
    csv = {"headers": [("Content-Type", "text/csv; charset=utf-8")], "body": text.encode()}

    answers = [
        client.post(IRIS, **csv),
        client.post(IRIS, X.tolist()),
        client.post(IRIS, iris_rows(X)),
    ]

    assert [one.status for one in answers] == [200] * 3
    assert answers[0].body == answers[1].body == answers[2].body


def test_a_model_without_probabilities_gives_labels_only(client, digits):
    model, _, X = digits
    found = client.post("/predict?model=digits", X[:40].tolist()).json()
    assert found["labels"] == model.predict(X[:40]).tolist()
    assert "probabilities" not in found


def test_mixed_columns_take_numbers_texts_and_null(client, jobs):
    model, _, frame = jobs
    rows = json.loads(frame[:3].to_json(orient="records"))
    rows.append({"age": None, "job": "astronaut", "note": ""})

    found = client.post("/predict?model=jobs", rows).json()

    assert found["labels"][:3] == model.predict(frame[:3]).tolist()
    assert found["labels"][3] in ("yes", "no")
    assert found["version"] == "7"


def test_columns_that_the_fit_dropped_may_be_left_out_or_sent(jobs, tmp_path):
    frame = jobs[2].assign(number=[f"N{i:04d}" for i in range(len(jobs[2]))])
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, frame.age > 45)
    client = AsgiClient([("ages", "1", save(model, tmp_path / "ages.model"))])
    whole = json.loads(frame[:3].to_json(orient="records"))
    without = [{name: cell for name, cell in row.items() if name != "number"} for row in whole]

    answers = [client.post("/predict", rows).json()["labels"] for rows in (whole, without)]
    body = frame[:3].to_csv(index=False).encode()
    csv = client.post("/predict", headers=[("Content-Type", "text/csv")], body=body).json()

    assert answers[0] == answers[1] == csv["labels"] == model.predict(frame[:3]).tolist()
    assert client.post("/predict", [{**whole[0], "name": "x"}]).status == 422


def test_an_explanation_names_the_features_that_decided(client, iris):
    found = client.post(IRIS + "&explain=1", iris_rows(iris[2][:2])).json()
    assert len(found["explanations"]) == 2
    assert {row["feature"] for row in found["explanations"][0]["rows"]} == set(COLUMNS)
    assert client.post(IRIS + "&explain=1", iris[2][:21].tolist()).status == 422


def test_an_explanation_of_mixed_columns(client, jobs):
    rows = json.loads(jobs[2][:1].to_json(orient="records"))
    found = client.post("/predict?model=jobs&explain=1", rows).json()
    assert any(row["feature"].startswith("job=") for row in found["explanations"][0]["rows"])


ROW = [1.0, 2.0, 3.0, 4.0]
NAMED = dict(zip(COLUMNS, ROW, strict=True))


@pytest.mark.parametrize(
    ("value", "status", "sentence"),
    [
        ([[1, 2, 3]], 422, "row 0: found 3 values, expected 4"),
        ([ROW, {**NAMED, "colour": 1}], 422, "row 1: the model has no column 'colour'"),
        ([ROW, {}], 422, "row 1: column 'sepal length' is missing"),
        ([{"sepal length": 1}], 422, "row 0: column 'sepal width' is missing"),
        (
            [[1, 2, 3, "4"]],
            422,
            "row 0, column 'petal width': found the text '4', expected a number",
        ),
        ([[1, 2, 3, None]], 422, "found null, expected a number"),
        ([[1, 2, 3, True]], 422, "found true, expected a number"),
        ([[1, 2, 3, [4]]], 422, "found a list, expected a number"),
        ([], 422, "found no rows"),
        ({"row": []}, 422, "found an object with 'row'"),
        (7, 422, "found the number 7 for the rows, expected a list"),
        ([7], 422, "row 0: found the number 7, expected an object of columns"),
        (b'[{"a": NaN}]', 400, "the body is not JSON"),
        (b"[[1,2,3,1e999]]", (400, 422), ""),
        (b"[" * 5000, 400, "the body is not JSON"),
        (b"\xff\xfe", 400, "the body is not JSON"),
        (b"", 400, "the body is not JSON"),
        (rb'[{"a": "\udf11"}]', 400, "the body is not JSON"),
    ],
)
def test_what_does_not_fit_the_model_is_refused_in_one_sentence(client, value, status, sentence):
    answer = client.post(IRIS, value)
    assert answer.status in (status if isinstance(status, tuple) else (status,))
    assert set(answer.json()) == {"error"}
    assert sentence in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"a,b,c,d\n1,2,3,4\n", "the header: the model has no column 'a'"),
        (",".join(COLUMNS).encode() + b"\n1,2,3\n", "row 0: found 3 cells, expected 4"),
        (",".join(COLUMNS).encode() + b"\n1,2,x,4\n", "column 'petal length': found the text 'x'"),
        (",".join(COLUMNS).encode() + b"\n1,2,inf,4\n", "found inf, expected a finite number"),
        (",".join(COLUMNS).encode() + b"\n1,2,,4\n", "found null, expected a number"),
        (",".join([*COLUMNS, COLUMNS[0]]).encode() + b"\n1,2,3,4,5\n", "a column occurs twice"),
        (b"", "column 'sepal length' is missing"),
    ],
)
def test_csv_that_does_not_fit_the_model_is_refused(client, body, sentence):
    answer = client.post(IRIS, body=body, headers=[("Content-Type", "text/csv")])
    assert answer.status == 422
    assert sentence in answer.json()["error"]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/predict", 422),
        ("/predict?model=none", 404),
        ("/predict?model=iris&version=2", 404),
        ("/predict?model=iris&colour=red", 422),
        ("/predict?model=../../etc/passwd", 404),
        ("/v2/models/..%2f..%2fetc/infer", 404),
        ("/static/..%2f..%2fsecret", 404),
        ("/nothing", 404),
    ],
)
def test_unknown_models_and_paths_are_refused(client, target, status):
    assert client.post(target, [ROW]).status == status


def test_pages_and_the_description_of_the_interface_are_served(client):
    for path in ("/", "/docs", "/static/form.js", "/static/workbench.css", "/openapi.json"):
        answer = client.get(path)
        assert answer.status == 200
        assert answer.body
    described = set(client.get("/openapi.json").json()["paths"])
    assert {"/predict", "/v2/models/{name}/infer", "/metrics", "/v2/health/ready"} <= described
    page = client.get("/")
    again = client.get("/", headers=[("If-None-Match", page.headers["etag"])])
    assert (again.status, again.body) == (304, b"")
    assert "script-src 'self'" in page.headers["content-security-policy"]


@pytest.mark.parametrize("name", ["explain", "probabilities"])
@pytest.mark.parametrize("word", ["maybe", "", "2", "yes"])
def test_a_parameter_that_is_neither_true_nor_false_is_refused(client, iris, name, word):
    answer = client.post(f"{IRIS}&{name}={word}", iris[2][:1].tolist())
    assert answer.status == 422
    expected = f"?{name}: found {word!r}, expected one of 1, true, 0, false"
    assert answer.json()["error"] == expected


@pytest.mark.parametrize(("word", "found"), [("1", True), ("True", True), ("false", False)])
def test_a_parameter_is_true_or_false_in_digits_and_words(client, iris, word, found):
    answer = client.post(f"{IRIS}&explain={word}", iris[2][:1].tolist()).json()
    assert ("explanations" in answer) == found


@pytest.mark.parametrize("cell", ["1" * 140_000, "x" * 140_000])
@pytest.mark.parametrize(
    ("model", "header", "row", "column"),
    [
        ("digits", [f"x{j + 1}" for j in range(64)], ["1"] * 63, "x64"),
        ("jobs", ["age", "job", "note"], ["1", "cook"], "note"),
    ],
)
def test_a_cell_of_csv_beyond_the_limit_of_the_csv_module_is_refused_by_its_place(
    client, cell, model, header, row, column
):
    csv.field_size_limit(131_072)
    lines = [header, [*row, "1"], [*row, cell]]
    body = "\n".join(map(",".join, lines)).encode()
    answer = client.post(
        f"/predict?model={model}", body=body, headers=[("Content-Type", "text/csv")]
    )
    assert answer.status == 422
    assert answer.json()["error"].startswith(f"row 1, column {column!r}: found the text '")
