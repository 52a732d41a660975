"""Tables of very many columns: work in proportion to their number."""

from separatrix.app.data_summary import summarize
from separatrix.data import data_table
from separatrix.data.data_table import DataTable
from separatrix.data.read_table import read_table

COLUMNS = 300


def test_a_summary_finds_the_columns_of_numbers_once(tmp_path, monkeypatch):
    head = ",".join(f"c{i}" for i in range(COLUMNS))
    rows = "".join(",".join(str(i * r % 7 + r) for i in range(COLUMNS)) + "\n" for r in range(5))
    path = tmp_path / "wide.csv"
    path.write_text(f"{head}\n{rows}")
    data = read_table(path, target=None)
    calls, parts = [], []
    kept, part = data_table.ColumnSpec.kept.fget, DataTable.__getitem__
    counted = property(lambda spec: calls.append(1) or kept(spec))
    monkeypatch.setattr(data_table.ColumnSpec, "kept", counted)
    monkeypatch.setattr(DataTable, "__getitem__", lambda t, rows: parts.append(1) or part(t, rows))

    found = summarize(data)

    assert len(found.columns) == COLUMNS
    assert len(parts) == 1
    assert len(calls) <= 5 * COLUMNS
