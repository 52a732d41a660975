"""Large Parquet files in blocks: the same lines as from the whole file."""

from io import StringIO

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from sklearn.pipeline import make_pipeline
from tests.cli.command import run

from separatrix import LinearSVC, LogisticRegression, TableEncoder, save
from separatrix.app import predict_in_blocks

ROWS = 500


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    values = {f"c{j}": rng.normal(size=ROWS) for j in range(3)}
    return pd.DataFrame({**values, "id": np.arange(ROWS), "job": rng.choice(["a", "b,c"], ROWS)})


@pytest.fixture
def blocks(monkeypatch):
    """Blocks of 64 rows, or one block of all: then the file is read as a whole."""
    return lambda size: monkeypatch.setattr(predict_in_blocks, "BLOCK_ROWS", size)


def models(frame):
    numbers = frame[["c2", "c0"]]
    text = np.where(frame.c0 > 0, "yes", "no")
    yield "text", LogisticRegression().fit(numbers, text)
    yield "quoted", LogisticRegression().fit(numbers, np.where(frame.c0 > 0, "y,es", 'n"o'))
    yield "floats", LinearSVC().fit(numbers, np.where(frame.c0 > 0, 1.0, 2.0))
    table = make_pipeline(TableEncoder(), LogisticRegression())
    yield "mixed", table.fit(frame[["job", "c1", "c0"]], text)


@pytest.mark.parametrize("number", range(4))
def test_blocks_give_the_lines_of_the_whole_file(frame, blocks, tmp_path, number):
    name, model = list(models(frame))[number]
    path, data = save(model, tmp_path / "m.model"), tmp_path / "data.parquet"
    frame.to_parquet(data, row_group_size=150)
    blocks(ROWS)
    whole = run("predict", path, data).stdout
    blocks(64)
    assert run("predict", path, data).stdout == whole
    out = tmp_path / "out.csv"
    assert "500 rows" in run("predict", path, data, "--out", out).stderr
    assert out.read_text() == whole
    if name == "floats":
        return
    shares = [pd.read_csv(StringIO(run("predict", path, data, "--proba").stdout))]
    blocks(ROWS)
    shares.append(pd.read_csv(StringIO(run("predict", path, data, "--proba").stdout)))
    pd.testing.assert_frame_equal(*shares, rtol=1e-12)  # products may depend on the block


def test_predictions_can_be_parquet(frame, blocks, tmp_path):
    _, model = next(models(frame))
    path, data, out = (
        save(model, tmp_path / "m.model"),
        tmp_path / "d.parquet",
        tmp_path / "o.parquet",
    )
    frame.to_parquet(data)
    blocks(64)
    run("predict", path, data, "--proba", "--out", out)
    found = pyarrow.parquet.read_table(out)
    assert found.column_names == ["prediction", "p(no)", "p(yes)"]
    assert found["prediction"].to_pylist() == model.predict(frame[["c2", "c0"]]).tolist()
    P = model.predict_proba(frame[["c2", "c0"]])
    np.testing.assert_allclose(found["p(yes)"].to_numpy(), P[:, 1], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.drop(columns="c0"), "c0"),
        (lambda f: f.assign(c0=f.c0.where(f.c0.index != 300)), "missing values"),
    ],
)
def test_columns_and_values_that_are_missing_are_reported(
    frame, blocks, tmp_path, change, sentence
):
    _, model = next(models(frame))
    path, data, out = save(model, tmp_path / "m.model"), tmp_path / "d.parquet", tmp_path / "o.csv"
    change(frame).to_parquet(data)
    blocks(64)
    assert sentence in run("predict", path, data, "--out", out, code=1).output
    assert not out.exists()


def test_a_damaged_page_is_reported_and_nothing_is_written(frame, blocks, tmp_path):
    _, model = next(models(frame))
    path, data, out = save(model, tmp_path / "m.model"), tmp_path / "d.parquet", tmp_path / "o.csv"
    frame.to_parquet(data, row_group_size=100)
    raw = bytearray(data.read_bytes())
    raw[4:400] = bytes(396)
    data.write_bytes(raw)
    blocks(64)
    assert "Error" in run("predict", path, data, "--out", out, code=1).output
    assert not out.exists()


def test_notes_of_blocks_name_their_rows(frame, blocks, tmp_path):
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(
        frame[["job", "c0"]], frame.c0 > 0
    )
    path, data = save(model, tmp_path / "m.model"), tmp_path / "data.parquet"
    frame.loc[[200, 400], "job"] = "new"
    frame.to_parquet(data)
    blocks(64)
    told = run("predict", path, data).stderr
    assert told == "note: rows 192 to 255: job: 1 row has values the model has not seen: 'new'\n"


def test_a_file_has_one_convention_in_all_blocks(frame, blocks, tmp_path):
    numbers = [f"{value:.3f}" for value in np.arange(len(frame)) / 7]
    frame["price"] = [*numbers[:100], *(text.replace(".", ",") for text in numbers[100:])]
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(
        frame[["job", "price"]][:100], frame.c0[:100] > 0
    )
    path, data = save(model, tmp_path / "m.model"), tmp_path / "data.parquet"
    frame.to_parquet(data)
    blocks(64)
    told = run("predict", path, data).stderr
    assert "price: 28 of 64 cells are not numbers" in told
    assert "400 cells of 500 rows are missing (price 400) and are imputed as at training" in told


def test_a_row_of_a_frame_is_read_by_the_form_of_the_training_rows_alone():
    train = pd.DataFrame(
        {"x": ["1.5", "2.5", "3.25", None], "day": ["1.2.2020"] * 3 + ["4.5.2021"]}
    )
    encoder = TableEncoder().fit(train, [0, 1, 0, 1])
    rows = pd.DataFrame({"x": ["1.234", "1,5"], "day": ["1.2.2020", "2020-02-01"]})
    with pytest.warns(UserWarning, match="as missing"):
        both = encoder.transform(rows)
    np.testing.assert_array_equal(both[:1], encoder.transform(rows[:1]))
