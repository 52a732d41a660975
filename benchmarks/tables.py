"""Tables: seconds to read a large one beside polars, and the error of the encoder beside skrub's."""

import io
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from benchmarks.measure import Row, best_of_each
from benchmarks.readers import folder
from separatrix import LogisticRegression, TableEncoder
from separatrix.data.catalogue import load
from separatrix.data.read_table import read_table

ROWS = 1_000_000
REPEAT = 5
FOLDS = 10


def table_reader():
    """1,000,000 rows of ten decimal numbers, four integers, two categories, a date and a label: seconds from a CSV file to columns with roles, beside `polars.read_csv`, which gives a frame without roles. Calls alternate."""
    rng = np.random.default_rng(0)
    columns = {f"n{i}": rng.normal(size=ROWS).round(4) for i in range(10)}
    columns |= {f"i{i}": rng.integers(0, 1000, ROWS) for i in range(4)}
    columns["job"] = rng.choice(["clerk", "boss", "nurse", "cook"], ROWS)
    columns["town"] = rng.choice([f"town {i}" for i in range(300)], ROWS)
    columns["day"] = (np.datetime64("2020-01-01") + rng.integers(0, 1500, ROWS)).astype(str)
    columns["class"] = rng.choice(["yes", "no"], ROWS)
    with folder() as name:
        path = Path(name) / "big.csv"
        pl.DataFrame(columns).write_csv(path)
        calls = {"separatrix": lambda: read_table(path), "polars": lambda: pl.read_csv(path)}
        took = best_of_each(calls, repeat=REPEAT)
    ours, theirs = took["separatrix"], took["polars"]
    size = "1,000,000 x 18"
    return [Row(size, f"{ours:.2f} s", f"{theirs:.2f} s", f"{ours / theirs:.2f}", "1.3")], []


def table_encoder():
    """Ten mixed tables, 10 folds, accuracy of logistic regression after `TableEncoder` and after skrub's `tabular_pipeline`, on the same rows. "To reach": not worse by more than one standard error of the difference. Five tables are made up, with known columns that matter; the others are data sets with columns of letters, words or numbers."""
    if find_spec("skrub") is None:
        return [Row("ten mixed tables", "-", "skrub is not installed", "-", "-")], []
    rows = []
    for name, (frame, y) in mixed_tables().items():
        ours, theirs = compare_encoders(frame, y)
        difference = ours - theirs
        se = difference.std(ddof=1) / np.sqrt(len(difference))
        verdict = "yes" if difference.mean() >= -se else "no"
        rows.append(
            Row(
                f"{name}, {len(frame):,} x {frame.shape[1]}",
                f"{100 * ours.mean():.2f} %",
                f"{100 * theirs.mean():.2f} %",
                f"{100 * difference.mean():+.2f} ± {100 * se:.2f}",
                f"not worse: {verdict}",
            )
        )
    return rows, []


def compare_encoders(frame, y):
    """Accuracies in each fold, ours and skrub's."""
    from skrub import tabular_pipeline

    text = frame.to_csv(index=False)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "table.csv"
        path.write_text(text)
        table = read_table(path, target=None).X
    other = pd.read_csv(io.StringIO(text))
    found = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(frame, y):
        models = (
            (make_pipeline(TableEncoder(), LogisticRegression(max_iter=1000)), table),
            (tabular_pipeline(LogisticRegression(max_iter=1000)), other),
        )
        scores = []
        for model, samples in models:
            rows = samples.iloc if samples is other else samples
            model.fit(rows[train], y[train])
            scores.append(np.mean(model.predict(rows[test]) == y[test]))
        found.append(scores)
    return np.array(found).T


def mixed_tables():
    """Ten tables by name: a frame, and labels."""
    tables = {f"made up {seed}": made_up(seed) for seed in range(5)}
    for name in ("splice", "promoters"):
        data = load(name)
        letters = pd.DataFrame([list(sequence) for sequence in data.X])
        letters.columns = [f"p{j}" for j in letters.columns]
        tables[name] = letters[:1500], np.asarray(data.y)[:1500]
    mails = load("sms_spam")
    texts = pd.DataFrame({"text": mails.X, "letters": [len(text) for text in mails.X]})
    tables["sms_spam"] = texts[:3000], np.asarray(mails.y)[:3000]
    for name, loader in (("wine", load_wine), ("breast cancer", load_breast_cancer)):
        X, y = loader(return_X_y=True, as_frame=True)
        rng = np.random.default_rng(0)
        X = X.mask(rng.random(X.shape) < 0.05)
        X["size"] = pd.cut(X.iloc[:, 0], 4, labels=["S", "M", "L", "XL"]).astype(object)
        tables[name] = X, y.to_numpy()
    return tables


def made_up(seed, n=1500):
    """Customers with numbers, categories of few and many values, dates, texts and gaps."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 90, n), np.exp(rng.normal(10, 0.6, n))
    job = rng.choice(["clerk", "boss", "nurse", "cook", "smith", "farmer"], n)
    shop = rng.integers(0, 80, n)
    day = np.datetime64("2020-01-01") + rng.integers(0, 1000, n)
    word = rng.choice(["late", "broken", "great", "fine", "perfect", "slow"], n)
    effect = rng.normal(size=80)
    month = day.astype("datetime64[M]").astype(int) % 12
    score = (
        rng.normal() * (age - 50) / 20
        + rng.normal() * np.log(income / 22_000)
        + rng.normal(size=6)[np.unique(job, return_inverse=True)[1]]
        + effect[shop]
        + np.sin(2 * np.pi * month / 12)
        + 1.5 * np.isin(word, ["late", "broken", "slow"])
        + rng.logistic(size=n)
    )
    frame = pd.DataFrame(
        {
            "age": age.astype(float),
            "income": income.round(2),
            "job": job,
            "shop": [f"shop-{i:03d}" for i in shop],
            "day": day.astype(str),
            "review": [
                f"the thing was {w} when it came to me, order {i}" for i, w in enumerate(word)
            ],
            "member": rng.choice(["yes", "no"], n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.05, "job"] = None
    return frame, np.where(score > np.median(score), "buys", "leaves")


SUITES = [table_reader, table_encoder]
