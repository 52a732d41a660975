"""Steps of experiments as tasks: the same table, whoever ran which step."""

import pytest

pytest.importorskip("distributed", reason="not installed: pip install 'separatrix[dask]'")

from contextlib import nullcontext

import numpy as np

import separatrix.cluster.connection
from separatrix.data.dataset import Dataset
from separatrix.errors import ExperimentError
from separatrix.experiments.run import run
from separatrix.experiments.steps import Experiment, Step, StepResult, metric_rows


def study(fail=False, loop=False):
    """Three steps, of which the second needs the third, which comes later only on a cluster."""

    def first(context):
        X = context.shared("twice", lambda: 2.0 * context.data("toy").X)
        return StepResult(metric_rows("1", "toy", "sum", {"value": X.sum()}), {"x": X[0]})

    def second(context):
        if fail:
            raise KeyboardInterrupt
        value = context.result("never" if loop else "first").arrays["x"].sum()
        return StepResult(metric_rows("2", "toy", "sum", {"value": value}))

    steps = [Step("first", first), Step("second", second)]
    X = np.arange(6.0).reshape(3, 2)
    data = Dataset(X=X, y=np.array([0, 1, 0]), name="toy")
    return Experiment("toy", "Toy", {"seed": 0}, ("toy",), steps, load=lambda _name: data)


def table(folder):
    rows = (folder / "results.csv").read_text().splitlines()
    return [[cell for i, cell in enumerate(row.split(",")) if i not in (8, 9)] for row in rows]


@pytest.mark.slow
def test_a_run_that_began_here_ends_on_a_cluster_with_the_same_table(client, tmp_path, monkeypatch):
    monkeypatch.setattr(separatrix.cluster.connection, "connect", lambda _w: nullcontext(client))
    run(study(), tmp_path / "here", progress=False)
    with pytest.raises(KeyboardInterrupt):
        run(study(fail=True), tmp_path / "both", progress=False)

    run(study(), tmp_path / "both", progress=False, cluster="local")
    run(study(), tmp_path / "there", progress=False, cluster="local")

    for name in ("both", "there"):
        found, expected = table(tmp_path / name), table(tmp_path / "here")
        assert [row[:7] for row in found] == [row[:7] for row in expected]
    with pytest.raises(ExperimentError, match="asks for a result that no step gives"):
        run(study(loop=True), tmp_path / "loop", progress=False, cluster="local")
