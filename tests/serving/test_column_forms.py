"""A served cell is read by the form of its training column alone: JSON, CSV and tensors alike."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from tests.serving.asgi_client import AsgiClient

from separatrix import LogisticRegression, TableEncoder, save
from separatrix.data.read_table import read_table

NAMES = ["age", "price", "height", "share", "smoker", "day", "job", "town", "note", "zip"]
TABLE_NOTES = ["likes long walks", "reads old books", "sings in the rain", "sleeps a lot"]


def training_rows(n=160):
    rng = np.random.default_rng(0)
    for i in range(n):
        yield {
            "age": f"{rng.integers(20, 70)}.{i % 10}" if i % 9 else "",
            "price": f"{1 + i % 3}.{rng.integers(100, 999)},{i % 10}" if i % 2 else f"{i},5",
            "height": f"{rng.integers(150, 200)} cm",
            "share": f"{rng.integers(1, 99)} %",
            "smoker": "yes" if rng.random() < 0.4 else "no",
            "day": f"{1 + i % 28:02d}.{1 + i % 12:02d}.20{10 + i % 9}",
            "job": ["cook", "clerk", "pilot", "NA"][rng.integers(4)],
            "town": f"town{rng.integers(60)}",
            "note": f"{TABLE_NOTES[i % 4]} {i % 50}",
            "zip": f"{rng.integers(5) + 1234}",
            "class": "ab"[int(rng.random() < 0.5)],
        }


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file with a column of each role, and its model behind a server."""
    folder = tmp_path_factory.mktemp("forms")
    rows = list(training_rows())
    with open(folder / "train.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, [*NAMES, "class"])
        writer.writeheader()
        writer.writerows(rows)
    data = read_table(folder / "train.csv", overrides=None)
    encoder = TableEncoder(category=["zip"])
    frame = {name: [row[name] for row in rows] for name in NAMES}
    model = make_pipeline(encoder, LogisticRegression()).fit(pd.DataFrame(frame), data.y)
    path = save(model, folder / "forms.model")
    return model, rows, AsgiClient([("forms", "1", path)])


RIGHT = {
    "age": 31.5,
    "price": "1.234,5",
    "height": "170 cm",
    "share": "12 %",
    "smoker": "no",
    "day": "24.12.2019",
    "job": "cook",
    "town": "town7",
    "note": "reads old books",
    "zip": "1234",
}


def as_csv(rows):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(NAMES)
    writer.writerows([["" if r[name] is None else r[name] for name in NAMES] for r in rows])
    return {"body": text.getvalue().encode(), "headers": [("Content-Type", "text/csv")]}


def as_tensors(rows):
    inputs = []
    for name in NAMES:
        cells = [row[name] for row in rows]
        kind = {bool: "BOOL", float: "FP64", int: "INT64"}.get(type(cells[0]), "BYTES")
        inputs.append({"name": name, "datatype": kind, "shape": [len(rows)], "data": cells})
    return {"inputs": inputs}


@pytest.mark.slow
def test_the_training_columns_have_every_role(table):
    roles = {spec.name: (spec.role, spec.format) for spec in table[0][0].columns_}
    assert roles == {
        "age": ("number", "plain"),
        "price": ("number", "1.234,5"),
        "height": ("number", "plain [cm]"),
        "share": ("number", "plain with %"),
        "smoker": ("boolean", "no/yes"),
        "day": ("date", "%d.%m.%Y"),
        "job": ("category", ""),
        "town": ("codes", ""),
        "note": ("text", ""),
        "zip": ("category", ""),
    }


def test_every_training_row_is_served_as_the_model_predicts_it(table):
    model, rows, client = table
    expected = model.predict_proba(pd.DataFrame(rows)[NAMES])
    rows = [{name: row[name] for name in NAMES} for row in rows]
    answers = [client.post("/predict", rows), client.post("/predict", **as_csv(rows))]
    for answer in answers:
        assert answer.status == 200, answer.body
        np.testing.assert_allclose(answer.json()["probabilities"], expected, rtol=1e-12)
    tensors = client.post("/v2/models/forms/infer", as_tensors(rows))
    assert tensors.json()["outputs"][0]["data"] == answers[0].json()["labels"]


WRONG = {
    "age": ["abc", "1_0", "0x10", "inf", "1e400", "１２", "1,5", "$5", "12 %", "<5", "5 cm"],
    "price": ["1.5", "1_0", "12,3,4", "1.234 kg"],
    "height": ["170 kg", "tall", "1,70 m"],
    "share": ["12 $", "half", "12.5", "0.3", "1e2"],
    "smoker": ["maybe", "ja", "1", "true"],
    "day": ["2019-12-24", "12/24/2019", "31.02.2019", "soon", "24.12.19"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in WRONG.items() for t in texts])
def test_a_text_of_another_form_is_refused_with_row_column_and_value(table, name, text):
    client = table[2]
    rows = [{**RIGHT, "age": "31.5"}, {**RIGHT, "age": "31.5", name: text}]
    for answer in (
        client.post("/predict", rows),
        client.post("/predict", **as_csv(rows)),
        client.post("/v2/models/forms/infer", as_tensors(rows)),
    ):
        assert answer.status == 422, answer.body
        sentence = answer.json()["error"]
        assert sentence.startswith(f"row 1, column {name!r}: found the text {text!r}, expected ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("age", value) for value in (True, [1], {})),
        *(("share", value) for value in (12.5, 12, 0.125, True)),
        *(("smoker", value) for value in (1, 0.0, 7)),
        *(("day", value) for value in (True, 20191224, 1.5e9)),
        *(("job", value) for value in (3, True, [])),
        *(("town", value) for value in (3, False)),
        *(("note", value) for value in (3.5, True)),
        *(("zip", value) for value in (True, {})),
    ],
)
def test_a_value_of_another_type_is_refused(table, name, value):
    answer = table[2].post("/predict", [RIGHT, {**RIGHT, name: value}])
    assert answer.status == 422
    assert answer.json()["error"].startswith(f"row 1, column {name!r}: found ")


@pytest.mark.parametrize("cell", [12.5, "12.5"])
def test_a_bare_number_in_a_column_of_percents_is_refused_in_every_format(table, cell):
    client = table[2]
    rows = [{**RIGHT, "age": "31.5"}, {**RIGHT, "age": "31.5", "share": cell}]
    tensors = as_tensors(rows)
    share = tensors["inputs"][NAMES.index("share")]
    if cell == 12.5:
        share |= {"datatype": "FP64", "data": [0, 12.5]}
    for answer in (
        client.post("/predict", rows),
        client.post("/predict", **as_csv(rows)),
        client.post("/v2/models/forms/infer", tensors),
    ):
        assert answer.status == 422
        sentence = answer.json()["error"]
        assert sentence.startswith("row 1, column 'share': found the ")
        assert "12.5" in sentence
        assert sentence.endswith(", expected a number with % or null")


def test_a_percent_of_zero_needs_no_sign(table):
    answers = [
        table[2].post("/predict", [{**RIGHT, "share": cell}]).body for cell in ("0 %", "0", 0, -0.0)
    ]
    assert answers == [answers[0]] * 4


def test_the_metadata_ask_for_percents_as_texts(table):
    inputs = {one["name"]: one for one in table[2].get("/v2/models/forms").json()["inputs"]}
    assert [inputs[name]["datatype"] for name in ("age", "price", "share")] == [
        "FP64",
        "FP64",
        "BYTES",
    ]


def test_numbers_stand_for_values_of_a_category_that_are_numbers(table):
    texts, numbers, floats = (
        table[2].post("/predict", [{**RIGHT, "zip": cell}]).body for cell in ("1236", 1236, 1236.0)
    )
    assert texts == numbers == floats


@pytest.mark.parametrize("name", NAMES)
def test_missing_cells_are_imputed_as_at_training(table, name):
    model, _, client = table
    missing = ["", None, "NA", "?", " ", "n.a.", "nan", "-"]
    rows = [{**RIGHT, name: cell} for cell in missing]
    found = client.post("/predict", rows).json()["probabilities"]
    assert found == [found[0]] * len(missing)
    frame = pd.DataFrame([{**RIGHT, "age": "31.5", name: None}])
    np.testing.assert_allclose(found[0], model.predict_proba(frame)[0], rtol=1e-12)


def test_json_booleans_are_the_words_of_the_column(table):
    words, values = (
        table[2].post("/predict", [{**RIGHT, "smoker": cell} for cell in cells]).body
        for cells in (("no", "YES"), (False, True))
    )
    assert words == values


def test_values_that_the_model_has_not_seen_are_noted(table):
    rows = [RIGHT, {**RIGHT, "zip": "9999"}, {**RIGHT, "zip": "8888"}]
    found = table[2].post("/predict", rows).json()
    assert found["notes"] == ["zip: 2 rows have values the model has not seen: '9999', '8888'"]
    assert "notes" not in table[2].post("/predict", rows[:1]).json()
    answer = table[2].post("/v2/models/forms/infer", as_tensors([{**r, "age": 1.5} for r in rows]))
    assert answer.json()["parameters"] == {"notes": found["notes"]}


def random_row(rng):
    """Cells that one reading of several rows could confuse: 1.234 beside 1,5, - beside +."""
    pick = lambda values: values[rng.integers(len(values))]  # noqa: E731
    return {
        "age": pick([1.5, "1.234", 7, None, "-", "1e3", "12"]),
        "price": pick(["1.234", "1,5", "1.234,5", 2.5, None, "12"]),
        "height": pick(["170", "1.8 m", "180 cm", 175, "NA"]),
        "share": pick(["12 %", "0", 0, "99.5%", None]),
        "smoker": pick(["no", "yes", True, False, None, "No"]),
        "day": pick(["01.02.2019", "13.12.2011", None, ""]),
        "job": pick(["cook", "+", "-", "clerk", "new", None]),
        "town": pick(["town1", "town2", "+", "-", "elsewhere"]),
        "note": pick([*TABLE_NOTES, "-", "+", None, "42"]),
        "zip": pick(["1234", 1235, "0", None]),
    }


@pytest.mark.slow
def test_a_row_has_the_same_answer_alone_among_others_and_in_any_order(table):
    client, rng = table[2], np.random.default_rng(1)
    rows = [random_row(rng) for _ in range(120)]
    alone = [client.post("/predict", [row]).json()["probabilities"][0] for row in rows]

    assert client.post("/predict", rows).json()["probabilities"] == alone
    order = rng.permutation(len(rows)).tolist()
    found = client.post("/predict", [rows[i] for i in order]).json()["probabilities"]
    assert found == [alone[i] for i in order]
    cuts = [rows[i : i + 3] for i in range(0, len(rows), 3)]
    together = client.post_together([("/predict", part) for part in cuts])
    assert [p for one in together for p in one.json()["probabilities"]] == alone


@pytest.mark.slow
def test_a_row_has_the_same_bits_in_a_request_of_thousands(iris, digits):
    client = AsgiClient([("iris", "1", iris[1]), ("digits", "1", digits[1])])
    for name, X in (("iris", iris[2]), ("digits", digits[2])):
        model = client.endpoints.store.find(name).model
        assert model.sizes == (32, 128, 512)
        rows = np.random.default_rng(2).permutation(np.tile(X, (3000 // len(X) + 1, 1)))[:2500]
        whole = model.score_together([rows], model.has_probabilities)[0]
        small = [rows[start : start + 7] for start in range(0, len(rows), 7)]
        parts = [model.score_together([part], model.has_probabilities)[0] for part in small]
        np.testing.assert_array_equal(whole.labels, np.concatenate([one.labels for one in parts]))
        if whole.P is not None:
            np.testing.assert_array_equal(whole.P, np.concatenate([one.P for one in parts]))


@pytest.mark.parametrize("cell", ["1_0", "１２", "0x10", "nan", "1e400", "1,5", "Infinity", "true"])
def test_csv_of_plain_numbers_takes_nothing_else(client, cell):
    columns = [f"x{j + 1}" for j in range(64)]
    body = ",".join(columns) + "\n" + ",".join([f'"{cell}"', *["1"] * 63]) + "\n"
    answer = client.post(
        "/predict?model=digits", body=body.encode(), headers=[("Content-Type", "text/csv")]
    )
    assert answer.status == 422
    assert answer.json()["error"].startswith("row 0, column 'x1': found ")


def test_truth_values_are_no_numbers_in_a_tensor(client):
    inputs = [{"name": "input", "datatype": "BOOL", "shape": [1, 4], "data": [True] * 4}]
    assert client.post("/v2/models/iris/infer", {"inputs": inputs}).status == 422


@pytest.mark.parametrize(
    ("target", "body", "key"),
    [
        ("/predict?model=iris", '{"rows": [[1,2,3,4]], "rows": [[1,2,3,5]]}', "rows"),
        ("/predict?model=jobs", '[{"age": 1, "job": "a", "note": "b", "age" : 2}]', "age"),
        (
            "/predict?model=jobs",
            r'[{"age": 1, "job": "a: \":", "note": "b", "\u0061ge": 2}]',
            "age",
        ),
        (
            "/v2/models/iris/infer",
            '{"inputs": [{"name": "input", "datatype": "FP64", "shape": [1, 4], "data": [1,2,3,4], '
            '"parameters": {"x": 1, "x": 2}}]}',
            "x",
        ),
    ],
)
def test_a_repeated_key_is_refused_by_its_name(client, target, body, key):
    answer = client.post(target, body=body.encode())
    assert answer.status == 400
    assert f"the key {key!r} occurs twice" in answer.json()["error"]


def test_texts_with_colons_and_keys_with_blanks_are_no_repeated_keys(client):
    body = r'[{"age" : 1, "job": "a:\":", "note":": b", "age ": 1}]'
    assert (
        "no column 'age '" in client.post("/predict?model=jobs", body=body.encode()).json()["error"]
    )
    rows = [{"age": 1, "job": 'x": "y', "note": ": 10:30"}] * 50
    assert client.post("/predict?model=jobs", body=json.dumps(rows).encode()).status == 200


@pytest.mark.parametrize(
    "target",
    [
        "/predict?model=iris&model=jobs",
        "/predict?model=iris&mod%65l=iris",
        "/v2/models/iris/infer?model=a&model=b",
        "/metrics?model=&model=",
    ],
)
def test_a_repeated_parameter_of_the_query_is_refused_by_its_name(client, target):
    call = client.get if target.startswith("/metrics") else client.post
    answer = call(target, **({} if call == client.get else {"value": [[1, 2, 3, 4]]}))
    assert answer.status == 400
    assert "?'model' is given 2 times" in answer.json()["error"]
