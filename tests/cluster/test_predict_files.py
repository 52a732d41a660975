"""Predictions of files on a cluster, piece by piece."""

import pytest

pytest.importorskip("distributed", reason="not installed: pip install 'separatrix[dask]'")

import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as parquet
from sklearn.pipeline import make_pipeline
from tests.cluster.support import samples

import separatrix.cluster.connection
from separatrix import LinearDiscriminantAnalysis, LogisticRegression, TableEncoder, save
from separatrix.app import predict_on_cluster as module
from separatrix.app.predict_on_cluster import cut_table, predict_on_cluster
from separatrix.cluster.connection import connect
from separatrix.errors import ClusterError, DataError


@pytest.fixture
def table(tmp_path):
    """A model, a CSV and a Parquet file of samples, and the labels in memory."""
    X, y, _ = samples()
    names = list("abcd")
    columns = pa.table(dict(zip(names, X.T, strict=True)))
    pyarrow.csv.write_csv(columns, tmp_path / "big.csv")
    parquet.write_table(columns, tmp_path / "big.parquet", row_group_size=40)
    model = LinearDiscriminantAnalysis().fit(columns.to_pandas(), np.array(["x", "y", "z"])[y])
    save(model, tmp_path / "lda.model")
    return tmp_path, model.predict(columns.to_pandas())


@pytest.fixture
def at_once(monkeypatch):
    """Tasks run here, one after the other; returns how many there were."""
    calls = []

    def run(_client, _names, function, given):
        for number, args in enumerate(given):
            calls.append(args)
            yield number, function(*args)

    monkeypatch.setattr(separatrix.cluster.connection, "connect", lambda _word: open_nothing())
    monkeypatch.setattr(separatrix.cluster.connection, "run_tasks", run)
    return calls


def open_nothing():
    from contextlib import nullcontext

    return nullcontext()


def read_parts(folder):
    parts = [parquet.read_table(path) for path in sorted(folder.glob("part-*.parquet"))]
    return np.concatenate([part["prediction"].to_numpy(zero_copy_only=False) for part in parts])


@pytest.mark.parametrize("name", ["big.csv", "big.parquet"])
def test_pieces_are_predicted_as_the_whole_file(table, at_once, name):
    folder, expected = table

    count = predict_on_cluster(
        folder / "lda.model", folder / name, folder / "out", "local", piece_bytes=3000
    )

    assert count == len(at_once) > 2
    np.testing.assert_array_equal(read_parts(folder / "out"), expected)


def test_csv_pieces_are_whole_lines(table):
    folder, _ = table

    pieces = cut_table(folder / "big.csv", 1000)

    text = (folder / "big.csv").read_bytes()
    lines = [line for piece in pieces for line in text[slice(*piece)].splitlines()]
    assert lines == text.splitlines()[1:]
    assert len(list(csv.reader(line.decode() for line in lines))) == 150


def test_an_interrupted_run_is_resumed_and_another_is_refused(table, at_once):
    folder, expected = table
    arguments = (folder / "lda.model", folder / "big.parquet", folder / "out", "local")
    predict_on_cluster(*arguments)
    (folder / "out" / "part-00001.parquet").unlink()
    at_once.clear()

    predict_on_cluster(*arguments)

    assert len(at_once) == 1
    np.testing.assert_array_equal(read_parts(folder / "out"), expected)
    with pytest.raises(DataError, match="holds predictions of another model or of other data"):
        predict_on_cluster(*arguments, probabilities=True)


def test_files_and_schedulers_that_do_not_do(table, monkeypatch):
    folder, _ = table
    with pytest.raises(DataError, match="--cluster reads"):
        cut_table(folder / "lda.model", module.PIECE_BYTES)
    monkeypatch.setattr(separatrix.cluster.connection, "TIMEOUT", 0.5)
    with pytest.raises(ClusterError, match="no scheduler answers at"), connect("tcp://127.0.0.1:9"):
        pass
    with pytest.raises(ClusterError, match="does not exist"), connect("nowhere.json"):
        pass


@pytest.mark.slow
def test_the_command_predicts_on_local_workers(table):
    from click.testing import CliRunner

    from separatrix.cli import main

    folder, expected = table
    data, out = folder / "big.parquet", folder / "parts"
    arguments = ["predict", str(folder / "lda.model"), str(data), "--cluster", "local", "--proba"]

    done = CliRunner().invoke(main, [*arguments, "--out", str(out)])

    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(read_parts(out), expected)
    assert parquet.read_table(out / "part-00000.parquet").column_names[1:] == [
        "p(x)",
        "p(y)",
        "p(z)",
    ]
    assert CliRunner().invoke(main, arguments).exit_code == 2


def test_a_piece_is_read_by_the_form_of_the_training_rows_alone(tmp_path, at_once):
    frame = pd.DataFrame({"x": [f"{i}.25" for i in range(40)], "job": ["cook", "clerk"] * 20})
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, np.arange(40) > 20)
    path = save(model, tmp_path / "m.model")
    rows = [*(f"{i}.125;cook" for i in range(30)), *(f"{i},5;cook" for i in range(30))]
    (tmp_path / "new.csv").write_text("x;job\n" + "".join(f"{row}\n" for row in rows))

    with pytest.warns(UserWarning, match=r"part [0-9]: ") as told:
        predict_on_cluster(path, tmp_path / "new.csv", tmp_path / "out", "local", piece_bytes=300)

    notes = [str(one.message) for one in told]
    assert any(note.startswith("part 2: x: ") and "are not numbers" in note for note in notes)
    missing = pd.DataFrame({"x": [None], "job": ["cook"]})
    assert read_parts(tmp_path / "out")[-1] == model.predict(missing)[0]
