"""`python -m benchmarks.everyday [part ...]`: everyday tables, side by side with every peer found.

Peers are scikit-learn and, where they are found, scikit-learn-intelex, FAISS for nearest neighbours and LIBSVM's
programs for SVC, on one thread and with reading of their files; `--peers` chooses.
The tables are generated: Gaussian clusters, several to a class, in few dimensions, mapped linearly into d
columns with noise, and standardised; one label in a hundred is wrong. Times are medians of alternating
runs in one process on the cores it may use (`taskset` gives fewer). A peer that would need more than
`--limit` seconds is left out of a row and of all larger ones.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import warnings
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import Bunch

from benchmarks import peers as others
from benchmarks.measure import keep_section, measured, seconds
from benchmarks.peers import LIBSVM, LibsvmSVC, find_peers

REPEAT_BELOW = 2.0  # seconds of a run that is repeated
PARTS = {}


def part(measure):
    """Register a part of the benchmark under the name of its function."""
    PARTS[measure.__name__] = measure
    return measure


def generate(n, d, k, *, queries=0, clusters=3, seed=0):
    """n rows to fit and `queries` rows to predict, d columns, k classes."""
    rng = np.random.default_rng([seed, n, d, k])
    latent = min(d, 12)
    centers = rng.normal(size=(k, clusters, latent)) * 1.6
    y = rng.integers(k, size=n + queries)
    Z = centers[y, rng.integers(clusters, size=len(y))] + rng.normal(size=(len(y), latent))
    X = Z @ rng.normal(size=(latent, d)) / np.sqrt(latent) + 0.3 * rng.normal(size=(len(y), d))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    wrong = rng.random(len(y)) < 0.01
    y[wrong] = rng.integers(k, size=wrong.sum())
    return Bunch(X=X[:n], y=y[:n], Q=X[n:], q=y[n:])


def time_each(calls, *, repeat=3):
    """Median wall time and last result of each call by name; calls alternate. Ours is compiled before."""
    calls["ours"]()
    times = {name: [] for name in calls}
    results = {}
    for _ in range(repeat):
        for name, call in calls.items():
            if not times[name] or min(times[name]) < REPEAT_BELOW:
                elapsed, results[name] = seconds(call)
                times[name].append(elapsed)
    return {name: median(found) for name, found in times.items()}, results


def show(what, times, extra=""):
    """Print one row: seconds of each, and ratios of the peers to ours."""
    ours = times["ours"]
    parts = [f"{name} {t * 1e3:9.2f} ms" for name, t in times.items()]
    ratios = [f"{name} {t / ours:6.2f}x" for name, t in times.items() if name != "ours"]
    print(f"{what:44s} {'  '.join(parts)}   {'  '.join(ratios)}  {extra}", flush=True)


def means(rows):
    """Geometric mean and least ratio of each peer over the rows of a part, by kind."""
    for kind in sorted({row["kind"] for row in rows}):
        for peer in sorted({name for row in rows for name in row["times"]} - {"ours"}):
            ratios = {
                row["what"]: row["times"][peer] / row["times"]["ours"]
                for row in rows
                if row["kind"] == kind and peer in row["times"]
            }
            if ratios:
                mean = np.exp(np.mean(np.log(list(ratios.values()))))
                behind = sum(ratio < 1 for ratio in ratios.values())
                worst = min(ratios, key=ratios.get)
                yield [
                    kind,
                    peer,
                    f"{mean:.2f}x",
                    f"{ratios[worst]:.2f}x ({worst})",
                    f"{behind} of {len(ratios)}",
                ]


def section(name, rows, sentence):
    """The results of a part as a section of RESULTS.md."""
    head = ["what", "peer", "geometric mean", "least", "behind"]
    cores = sentence.split(", ")[1]
    lines = [head, ["---"] * 5, *means(rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    about = "Time of the peer divided by ours, on generated tables; see `benchmarks/everyday.py`."
    return f"## everyday {name}, {cores}\n\n{about}\n\n{table}\n\n{sentence}\n"


class Slow:
    """Which peers have become too slow for a series of growing tables."""

    def __init__(self, limit):
        self.limit, self.last = limit, {}

    def allows(self, name, series, size):
        """Whether the peer's last time in the series, grown with the square of n, keeps the limit."""
        n, elapsed = self.last.get((name, series), (size, 0.0))
        return elapsed * (size / n) ** 2 <= self.limit

    def note(self, name, series, size, elapsed):
        self.last[name, series] = (size, elapsed)


KERNELS = {
    "rbf": {"kernel": "rbf"},
    "poly": {"kernel": "poly"},
    "linear": {"kernel": "linear"},
}


@part
def svc(options):
    """SVC: fit, predict of as many rows (at most 10,000), and of one row."""
    from separatrix import SVC

    classes = {"ours": partial(SVC, device="cpu")} | find_peers("svm", "SVC")
    slow, rows = Slow(options.limit), []
    grid = itertools.product(options.kernels, options.d, options.k, options.C, options.n)
    for kernel, d, k, C, n in grid:
        data = generate(n, d, k, queries=min(n, 10_000))
        if LIBSVM in classes:
            LibsvmSVC.write(data)
        series = (kernel, d, k, C)
        calls = {
            name: lambda cls=cls: cls(C=C, **KERNELS[kernel]).fit(data.X, data.y)
            for name, cls in classes.items()
            if name == "ours" or slow.allows(name, series, n)
        }
        times, models = time_each(calls, repeat=options.repeat)
        for name, elapsed in times.items():
            slow.note(name, series, n, elapsed)
        what = f"{kernel} C={C:g} n={n} d={d} k={k}"
        support = len(models["ours"].support_)
        show(f"fit {what}", times, f"support {support}")
        rows.append({"kind": "fit", "what": what, "times": times, "support": support})
        for kind, Q in [("predict", data.Q), ("predict one", data.Q[:1])]:
            asked = {
                name: lambda m=m, Q=Q: m.predict(Q)
                for name, m in models.items()
                if name != LIBSVM or kind == "predict"  # it reads a file of all
            }
            times, labels = time_each(asked, repeat=5 if kind == "predict one" else options.repeat)
            same = [np.mean(labels["ours"] == found) for found in labels.values()]
            show(f"{kind} {what}", times, f"agreement {min(same):.4f}")
            rows.append({"kind": kind, "what": what, "times": times, "same": min(same)})
    return rows


@part
def neighbors(options):
    """KNeighborsClassifier: fit and predict of n rows (at most 10,000) and of ten; one row after a fit."""
    from separatrix import KNeighborsClassifier

    classes = {"ours": KNeighborsClassifier} | find_peers("neighbors", "KNeighborsClassifier")
    slow, rows = Slow(options.limit), []
    for d, n in itertools.product(options.d, options.n):
        data = generate(n, d, 6, queries=min(n, 10_000))
        names = [name for name in classes if name == "ours" or slow.allows(name, d, n)]
        for kind, Q in [("fit, n queries", data.Q), ("fit, ten queries", data.Q[:10])]:
            calls = {
                name: lambda cls=classes[name], Q=Q: cls().fit(data.X, data.y).predict(Q)
                for name in names
            }
            times, _ = time_each(calls, repeat=options.repeat)
            if Q is data.Q:
                for name, elapsed in times.items():
                    slow.note(name, d, n, elapsed)
            show(f"{kind} n={n} d={d}", times)
            rows.append({"kind": kind, "what": f"n={n} d={d}", "times": times})
        models = {name: classes[name]().fit(data.X, data.y) for name in names}
        asked = {name: lambda m=m: m.predict(data.Q[:1]) for name, m in models.items()}
        times, _ = time_each(asked, repeat=15)
        show(f"predict one n={n} d={d}", times)
        rows.append({"kind": "predict one", "what": f"n={n} d={d}", "times": times})
    return rows


LINEAR = {  # module and class; parameters
    ("svm", "LinearSVC"): [{"C": C} for C in (0.01, 1.0, 10.0)],
    ("discriminant_analysis", "LinearDiscriminantAnalysis"): [{}],
    ("discriminant_analysis", "QuadraticDiscriminantAnalysis"): [{}],
    ("naive_bayes", "GaussianNB"): [{}],
}


@part
def linear(options):
    """LinearSVC, LDA, QDA and GaussianNB: fit, predict of 4,000 rows and of one."""
    import separatrix

    slow, rows = Slow(options.limit), []
    for (module, name), d, k, n in itertools.product(LINEAR, options.d, options.k, options.n):
        data = generate(n, d, k, queries=4000)
        peers = {"ours": getattr(separatrix, name)} | find_peers(module, name)
        for params in LINEAR[module, name]:
            series = (name, d, k, *params.values())
            calls = {
                peer: lambda cls=cls, params=params: cls(**params).fit(data.X, data.y)
                for peer, cls in peers.items()
                if peer == "ours" or slow.allows(peer, series, n)
            }
            times, models = time_each(calls, repeat=options.repeat)
            for peer, elapsed in times.items():
                slow.note(peer, series, n, elapsed)
            what = f"{name} {params} n={n} d={d} k={k}"
            show(f"fit {what}", times)
            rows.append({"kind": f"fit {name}", "what": what, "times": times})
        for kind, Q in [("predict", data.Q), ("predict one", data.Q[:1])]:
            asked = {peer: lambda m=m, Q=Q: m.predict(Q) for peer, m in models.items()}
            times, _ = time_each(asked, repeat=15)
            show(f"{kind} {what}", times)
            rows.append({"kind": f"{kind} {name}", "what": what, "times": times})
    return rows


def logistic_tables(options):
    """Tables of the grid by name: standardised, with units of their own for columns, and sparse."""
    rng = np.random.default_rng(0)
    for d, k, n in itertools.product(options.d, options.k, options.n):
        data = generate(n, d, k, queries=min(n, 10_000))
        yield f"standardised n={n} d={d} k={k}", data
        unit, origin = 10.0 ** rng.uniform(-2, 3, size=d), rng.normal(size=d)
        units = {name: (data[name] + origin) * unit for name in "XQ"}
        yield f"raw units n={n} d={d} k={k}", Bunch(**{**data, **units})
    for d, k, n in itertools.product([1000, 10_000], options.k, options.n):
        yield f"sparse n={n} d={d} k={k}", generate_words(n, d, k, queries=min(n, 10_000))


def generate_words(n, d, k, *, queries=0, share=0.01, seed=0):
    """Rows of a sparse table like texts: each class prefers words of its own; `share` of values is stored."""
    rng = np.random.default_rng([seed, n, d, k])
    y = rng.integers(k, size=n + queries)
    length = max(1, int(share * d))
    usual = np.minimum(rng.pareto(1.0, size=(len(y), length)) * d / 50, d - 1).astype(int)
    own = (rng.integers(d, size=(k, 2 * length)))[y][:, :length]
    words = np.where(rng.random(usual.shape) < 0.2, own, usual)
    rows = np.repeat(np.arange(len(y)), length)
    X = csr_array((np.ones(len(rows)), (rows, words.ravel())), shape=(len(y), d))
    X = normalize(X)
    return Bunch(X=X[:n], y=y[:n], Q=X[n:], q=y[n:])


def logistic_objective(model, data):
    """Mean -log p of the labels plus |w|^2 / (2 C n), in float64, of two or more classes."""
    S = np.asarray(data.X @ model.coef_.T, np.float64) + model.intercept_
    if S.shape[1] == 1:
        S = np.hstack([np.zeros_like(S), S])
    loss = np.mean(logsumexp(S, axis=1) - S[np.arange(len(S)), data.y])
    return loss + np.sum(model.coef_**2) / (2 * model.C * len(S))


@part
def logistic(options):
    """LogisticRegression at its defaults: fit and objective, predict, and predict of one row."""
    from separatrix import LogisticRegression

    classes = {"ours": LogisticRegression} | find_peers("linear_model", "LogisticRegression")
    for cls, k in itertools.product(classes.values(), [2, 3]):  # what is loaded or compiled once
        data = generate(100, 4, k)
        cls().fit(data.X, data.y)
    rows = []
    for what, data in logistic_tables(options):
        calls = {
            name: lambda cls=cls, data=data: cls().fit(data.X, data.y)
            for name, cls in classes.items()
        }
        times, models = time_each(calls, repeat=options.repeat)
        objective = {name: logistic_objective(model, data) for name, model in models.items()}
        above = objective["ours"] / min(objective.values()) - 1
        steps = "/".join(str(int(model.n_iter_[0])) for model in models.values())
        show(f"fit {what}", times, f"objective {above:+.1e} steps {steps} {models['ours'].solver_}")
        kind = f"fit {what.split(' n=')[0]}"
        rows.append({"kind": kind, "what": what, "times": times, "objective": objective})
        for kind, Q in [("predict", data.Q), ("predict one", data.Q[:1])]:
            asked = {name: lambda m=m, Q=Q: m.predict(Q) for name, m in models.items()}
            times, _ = time_each(asked, repeat=21 if kind == "predict one" else 5)
            rows.append({"kind": kind, "what": what, "times": times})
    return rows


def main(arguments):
    parser = argparse.ArgumentParser(prog="benchmarks.everyday", description=__doc__.split("\n")[0])
    parser.add_argument(
        "parts", nargs="*", default=list(PARTS), metavar="part", help=f"{list(PARTS)}"
    )
    parser.add_argument("--n", type=int, nargs="+", default=[1000, 4000, 16000, 60000])
    parser.add_argument("--d", type=int, nargs="+", default=[4, 16, 64, 256])
    parser.add_argument("--k", type=int, nargs="+", default=[2, 6, 26])
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--kernels", nargs="+", default=list(KERNELS), choices=list(KERNELS))
    parser.add_argument("--peers", nargs="+", default=others.CHOICES, choices=others.CHOICES)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of one run of a peer")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", help="file to write all rows to")
    parser.add_argument("--keep", nargs="+", help="JSON files whose results go into RESULTS.md")
    options = parser.parse_args(arguments)
    for path in options.keep or ():
        found = json.loads(Path(path).read_text())
        for name, rows in found["rows"].items():
            keep_section(section(name, rows, found["measured"]))
    if options.keep:
        return
    others.choose(options.peers)
    print(others.missing(), flush=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = {}
    for name in options.parts:
        if name not in PARTS:
            sys.exit(f"error: unknown part {name!r}; one of {list(PARTS)}")
        rows[name] = PARTS[name](options)
        print(section(name, rows[name], measured()), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"measured": measured(), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
