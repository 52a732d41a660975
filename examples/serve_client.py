"""Serve a model and ask it: rows by column name, an explanation, the Open Inference Protocol, metrics.

Starts a server of its own on a free port and stops it at the end. Needs pandas, for the names of
columns: pip install 'separatrix[serve]' pandas
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import LogisticRegression, save


def main() -> None:
    """Train, serve, ask."""
    iris = load_iris()
    frame = pd.DataFrame(
        iris.data, columns=["sepal length", "sepal width", "petal length", "petal width"]
    )
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(frame, iris.target_names[iris.target])
    with tempfile.TemporaryDirectory() as folder:
        path = save(model, Path(folder) / "iris.model", slim=True)
        with served(path) as url:
            rows = frame.iloc[[0, 70, 120]].to_dict(orient="records")
            found = ask(f"{url}/predict", {"rows": rows})
            for label, shares in zip(found["labels"], found["probabilities"], strict=True):
                print(f"{label:<12}" + " ".join(f"{share:.3f}" for share in shares))

            why = ask(f"{url}/predict?explain=1", {"rows": rows[:1]})["explanations"][0]
            print(f"most important for the first: {why['rows'][0]['feature']}")

            tensor = {
                "name": "input",
                "datatype": "FP64",
                "shape": [1, 4],
                "data": list(rows[0].values()),
            }
            answer = ask(f"{url}/v2/models/iris/infer", {"inputs": [tensor]})
            print(f"Open Inference Protocol: {answer['outputs'][0]['data']}")

            try:
                ask(f"{url}/predict", [{"petal length": "long"}])
            except urllib.error.HTTPError as error:
                print(f"{error.code}: {json.load(error)['error']}")

            with urllib.request.urlopen(f"{url}/metrics") as metrics:
                lines = metrics.read().decode().splitlines()
            print(next(line for line in lines if line.startswith("separatrix_rows_total")))


@contextmanager
def served(path: Path) -> Iterator[str]:
    """The address of a server of this model."""
    options = ["--port", "0", "--json", "--no-access-log", "--drain", "0"]
    command = [sys.executable, "-m", "separatrix", "serve", str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def ask(url: str, value: Any) -> Any:
    """Post JSON and return the answer."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(value).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


if __name__ == "__main__":
    main()
