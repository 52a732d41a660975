"""Nearest neighbours compared with scikit-learn and FAISS's exhaustive search."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.neighbors import KNeighborsClassifier as Peer
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_info

from benchmarks.measure import Row, against_fastest, best_of_each, own_memory, seconds
from benchmarks.neighbors_growth import draw
from benchmarks.peers import TITLES, find_peers
from separatrix import KNeighborsClassifier, NeighborIndex
from separatrix.data.catalogue import load

K = 5
THREADS = len(os.sched_getaffinity(0))
SOME, FEW = 1000, 100  # queries for timing the slow searches
BLOCK = 4096  # of rows in FAISS's products; some 10 % faster than its default of 1024
CORE = "OPENBLAS_CORETYPE"
CORES = {"avx512f": "SkylakeX", "avx2": "Haswell"}

FAISS_DEFAULTS = """
import faiss
from benchmarks.neighbors import SOME, THREADS, Search, _blas, mnist, time_searches
faiss.omp_set_num_threads(THREADS)
X, Q = (pixels.astype("float32") for pixels in mnist())
index = faiss.IndexFlatL2(X.shape[1])
index.add(X)
times, _ = time_searches({"FAISS": Search(0.0, SOME, lambda: index.search(Q[:SOME], 5))}, len(Q), repeat=2)
print(times["FAISS"], _blas())
"""

MEMORY = "from benchmarks.neighbors import _memory; print(*_memory())"


class Search(NamedTuple):
    built_in: float  # seconds
    queries: int  # timed
    call: Callable  # returns distances and rows
    index: object = None


def ours(X, Q, metric="euclidean"):
    NeighborIndex(X[:3000], metric).search(Q[:300], K)  # compile
    built_in, index = seconds(lambda: NeighborIndex(X, metric), repeat=2)
    index.search(Q[:300], K)
    return Search(built_in, Q.shape[0], lambda: index.search(Q, K), index)


def theirs(algorithm, X, Q, metric="euclidean"):
    model = NearestNeighbors(n_neighbors=K, algorithm=algorithm, metric=metric, n_jobs=THREADS)
    built_in, _ = seconds(lambda: model.fit(X))
    model.kneighbors(Q[:THREADS])
    return Search(built_in, Q.shape[0], lambda: model.kneighbors(Q))


def flat(X, Q, metric="euclidean"):
    """FAISS's exhaustive search, as a dict; empty if FAISS is not installed."""
    if faiss() is None:
        return {}
    X, Q = (np.ascontiguousarray(part, dtype=np.float32) for part in (X, Q))
    euclidean = metric == "euclidean"
    index = faiss().IndexFlat(X.shape[1], faiss().METRIC_L2 if euclidean else faiss().METRIC_L1)
    built_in, _ = seconds(lambda: index.add(X))
    index.search(Q[:THREADS], K)
    return {"FAISS": Search(built_in, len(Q), lambda: index.search(Q, K))}


def intelex(X, Q):
    """The exhaustive search of scikit-learn-intelex, as a dict; empty if it is not installed."""
    cls = find_peers("neighbors", "NearestNeighbors").get("intelex")
    if cls is None:
        return {}
    model = cls(n_neighbors=K, algorithm="brute")
    built_in, _ = seconds(lambda: model.fit(X))
    model.kneighbors(Q[:THREADS])
    return {TITLES["intelex"]: Search(built_in, len(Q), lambda: model.kneighbors(Q))}


@cache
def faiss():
    """The module, or None. Its BLAS is too old to detect recent processors, so the core type is set."""
    flags = Path("/proc/cpuinfo")
    flags = flags.read_text().split() if flags.exists() else []
    before = os.environ.get(CORE)
    core = before or next((core for flag, core in CORES.items() if flag in flags), "")
    if core:
        os.environ[CORE] = core
    try:
        import faiss
    except ImportError:
        return None
    finally:  # child processes must not inherit it
        if before is None:
            os.environ.pop(CORE, None)
    faiss.omp_set_num_threads(THREADS)
    faiss.cvar.distance_compute_blas_database_bs = BLOCK
    return faiss


def describe_faiss():
    if faiss() is None:
        return "FAISS is not installed (pip install faiss-cpu): rows without it"
    return f"FAISS {faiss().__version__}, {THREADS} threads, blocks of {BLOCK} rows, its BLAS for {_blas()}"


def _blas():
    return " ".join(i["architecture"] for i in threadpool_info() if "faiss" in i["filepath"] and "architecture" in i)  # fmt: skip


def time_searches(searches, m, *, repeat=3):
    """Best seconds of each search, scaled to m queries, and its results."""
    found = {}

    def keep(name, call):
        found[name] = call()

    calls = {name: lambda n=name, s=search: keep(n, s.call) for name, search in searches.items()}
    best = best_of_each(calls, repeat=repeat)
    return {name: best[name] * m / searches[name].queries for name in searches}, found


def spent(time):
    if time < 0.1:
        return f"{1e3 * time:.1f} ms"
    return f"{time:.2f} s" if time < 10 else f"{time:.1f} s" if time < 100 else f"{time:.0f} s"


def ratio(peer, own):
    return f"{peer / own:.1f}x faster" if peer >= own else f"{own / peer:.2f}x its time"


def describe(name, searches, times, m):
    part = "" if searches[name].queries == m else f" from {searches[name].queries}"
    return f"{name} {spent(times[name])}{part}"


def against_best(what, searches, times, reach):
    """A row with the fastest peer, the others in parentheses."""
    own, *peers = sorted(searches, key=lambda name: (name != "separatrix", times[name]))
    m = searches[own].queries
    first, *others = (describe(name, searches, times, m) for name in peers)
    peer = f"{first} ({', '.join(others)})" if others else first
    what = f"{what}, {searches[own].index.method}"
    return Row(what, spent(times[own]), peer, ratio(times[peers[0]], times[own]), reach)


def distances_to(X, Q, rows, power=2):
    """Distances of queries to rows by index, (m, k), in float64, from the differences."""
    found = np.empty(rows.shape)
    for start in range(0, len(rows), 1000):
        part = slice(start, start + 1000)
        differences = np.abs(X[rows[part]].astype(np.float64) - Q[part, None])
        found[part] = (differences**power).sum(axis=2) ** (1 / power)
    return found


def compare_neighbors(X, Q, found, power=2):
    """Number of neighbours of each peer that are not among ours; raises if one of them is nearer."""
    own = found["separatrix"]
    Q = Q[: len(own.rows)]
    distances = distances_to(X, Q, own.rows, power)
    if not np.allclose(own.distances, distances, rtol=1e-9, atol=1e-9):
        raise RuntimeError("our distances are not those of our rows")
    notes = []
    for name, (_, rows) in found.items():
        if name == "separatrix":
            continue
        mine, last = own.rows[: len(rows)], distances[: len(rows), -1:]
        other = ~(rows[:, :, None] == mine[:, None, :]).any(axis=2)
        beyond = (distances_to(X, Q[: len(rows)], rows, power) - last)[other]
        if (beyond < -1e-9).any():
            raise RuntimeError(f"{name} found nearer rows")
        ties = np.count_nonzero(beyond <= 1e-9)
        notes.append(f"{name} {other.sum()} of {rows.size:,}" + (f" ({ties} ties, {other.sum() - ties} farther)" if other.any() else ""))  # fmt: skip
    return f"neighbours not among ours: {', '.join(notes)}" if notes else "no peer to compare with"


def describe_builds(searches):
    return "index built in: " + ", ".join(f"{n} {spent(s.built_in)}" for n, s in searches.items())


def mnist():
    data = load("mnist")
    return data.X, data.X_test


def _memory():
    """MB of the index, and in addition during a search of all queries; called in a new process."""
    X, Q = mnist()
    index = NeighborIndex(X)
    index.search(Q[:300], K)
    return index.nbytes / 1e6, own_memory(lambda: index.search(Q, K))[0]


def _run_python(code):
    return subprocess.check_output([sys.executable, "-c", code], text=True).split()


def neighbors_mnist():
    """MNIST, 60,000 rows, 10,000 queries, 5 neighbours; scikit-learn on a part of the queries, scaled."""
    data = load("mnist")
    X, Q = data.X, data.X_test
    m = len(Q)
    floats = [part.astype(np.float32) for part in (X, Q)]
    searches = {"separatrix": ours(X, Q), "given float32": ours(*floats)} | flat(*floats)
    searches |= intelex(*floats)
    times, found = time_searches(searches, m)
    searches["scikit-learn brute"] = theirs("brute", floats[0], floats[1][:SOME])
    brute, more = time_searches({"scikit-learn brute": searches["scikit-learn brute"]}, m, repeat=2)
    times, found = times | brute, found | more
    own, index = times["separatrix"], searches["separatrix"].index
    rows = []
    if "FAISS" in times:
        peer, built_in = times["FAISS"], searches["separatrix"].built_in
        peers = {
            name: times[name]
            for name in times
            if name not in ("separatrix", "given float32", "scikit-learn brute")
        }
        rows += [
            against_fastest(f"MNIST 60k, 5 neighbours of 10,000, Euclidean, {index.method}", own, peers, "4.5x, goal 8x"),
            Row("the same, pixels given as float32", spent(times["given float32"]), f"FAISS {spent(peer)}", ratio(peer, times["given float32"]), "-"),
            Row("its index", spent(built_in), f"FAISS's search {spent(peer)}", f"{100 * built_in / peer:.0f} % of it", "at most 12 %"),
        ]  # fmt: skip
    rows.append(Row("MNIST 60k, Euclidean, against scikit-learn", spent(own), describe("scikit-learn brute", searches, times, m), ratio(times["scikit-learn brute"], own), "15x"))  # fmt: skip
    notes = [f"{compare_neighbors(X, Q, found)}\n{describe_builds(searches)}\n{describe_faiss()}"]
    if "FAISS" in times:
        time, blas = _run_python(FAISS_DEFAULTS)
        notes[0] += (
            f"; with its defaults, blocks of 1024, for {blas}: {spent(float(time))} (scaled from {SOME} queries)"
        )

    some = floats[0], floats[1][:200], "manhattan"
    searches = {"separatrix": ours(X, Q, "manhattan"), "scikit-learn brute": theirs("brute", *some)}
    searches |= flat(*some)
    times, found = time_searches(searches, m, repeat=2)
    rows.append(against_best("MNIST 60k, Manhattan", searches, times, "6x scikit-learn"))
    notes.append(
        f"Manhattan: {compare_neighbors(X, Q, found, power=1)}\n{describe_builds(searches)}"
    )

    held, above = map(float, _run_python(MEMORY))
    float_rows = 4 * X.size / 1e6
    errors = 100 - 100 * KNeighborsClassifier().fit(X, data.y).score_by_k(Q, data.y_test, K)
    rows += [
        Row("the index, Euclidean, beside the rows", f"{held:.0f} MB", f"rows in float32, {float_rows:.0f} MB", f"{held / float_rows:.2f} of them", "at most 1.5"),
        Row("peak memory of a search of all queries, without the index", f"{above:.0f} MB", "-", "-", "under 500 MB"),
        Row("test error %, 1, 3 and 5 neighbours", " ".join(f"{errors[k - 1]:.2f}" for k in (1, 3, 5)), "published 3.1", "-", "3.1"),
    ]  # fmt: skip
    notes.append(f"the rows stay in their dtype, {X.nbytes / 1e6:.0f} MB; with them {(held + X.nbytes / 1e6) / float_rows:.2f} of the rows in float32")  # fmt: skip
    return rows, notes


def neighbors_others():
    """Searches only, the fastest peer first; "from": scaled from that many queries. A million rows: float32 x 16."""
    usps, adult = load("usps"), load("a9a")
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((1_004_000, 16), dtype=np.float32)
    blobs = make_blobs(1_004_000, 16, centers=50, random_state=0)[0].astype(np.float32)
    rows, notes = [], []
    for name, X, Q in (
        ("USPS", usps.X[:7291], usps.X[7291:]),
        ("a9a", adult.X, adult.X_test),
        ("1,000,000 normal", normal[:1_000_000], normal[1_000_000:]),
        ("1,000,000 in 50 blobs", blobs[:1_000_000], blobs[1_000_000:]),
    ):
        dense, queries = (X, Q) if name != "a9a" else (X.toarray(), Q.toarray())
        searches = {"separatrix": ours(X, Q)} | flat(dense, queries)
        searches["brute"] = theirs("brute", X, Q[:SOME])
        if X is not dense:
            searches["brute, dense"] = theirs("brute", dense, queries[:SOME])
        for tree in ("kd_tree", "ball_tree"):
            searches[tree] = theirs(tree, dense, queries[:FEW])
        times, found = time_searches(searches, len(queries))
        rows.append(against_best(f"{name}, 5 neighbours of {len(queries):,}", searches, times, "never slower; several times faster on two"))  # fmt: skip
        notes.append(
            f"{name}: {compare_neighbors(dense, queries, found)}\n{describe_builds(searches)}"
        )
    return rows, [*notes, describe_faiss()]


def neighbors_adult():
    """a4a, 4,781 sparse rows, 27,780 queries: the errors of every odd number of neighbours up to 101."""
    data = load("a4a")
    X, y, Q, answers = data.X, data.y, data.X_test, data.y_test

    def one_search():
        return KNeighborsClassifier().fit(X, y).score_by_k(Q, answers, 101)

    right = one_search()
    odd, few = range(1, 102, 2), (1, 51, 101)
    forms = {"dense": (X.toarray(), Q.toarray()), "sparse": (X, Q)}
    calls = {"separatrix": one_search} | {
        (form, k): lambda A=A, B=B, k=k: Peer(k, n_jobs=THREADS).fit(A, y).score(B, answers)
        for form, (A, B) in forms.items()
        for k in few
    }
    times = best_of_each(calls, repeat=2)
    own, rows = times["separatrix"], []
    for form in forms:
        peer = sum(times[form, k] for k in few) * len(odd) / len(few)
        rows.append(Row(f"a4a, all odd numbers up to 101, fit and predict; {form} rows for scikit-learn", spent(own), f"scikit-learn, one fit for each {spent(peer)} (scaled from {len(few)} of {len(odd)})", ratio(peer, own), "-"))  # fmt: skip
    wrong = np.rint((1 - right) * len(answers)).astype(int)
    peers = [round((1 - calls["dense", k]()) * len(answers)) for k in few]
    for k, published in ((1, "5937"), (41, "4626")):
        rows.append(Row(f"errors of {len(answers):,}, k = {k}", f"{wrong[k - 1]}", "-", "-", published))  # fmt: skip
    note = f"errors at k = {few}: {[int(wrong[k - 1]) for k in few]}; scikit-learn, with other tie-breaking: {peers}"
    return rows, [note]


def neighbors_growth():
    """Time of 1,000 queries, searches only, by rows and by features, float32; "from": scaled from that many queries."""
    rng = np.random.default_rng(0)
    rows, notes = [], []

    def measure(what, X, Q):
        searches = {"separatrix": ours(X, Q)} | flat(X, Q)
        searches["scikit-learn brute"] = theirs("brute", X, Q)
        if X.shape[1] <= 16:
            searches["kd_tree"] = theirs("kd_tree", X, Q[:FEW])
        times, found = time_searches(searches, len(Q))
        rows.append(against_best(what, searches, times, "-"))
        notes.append(f"{what}: {compare_neighbors(X, Q, found)}")
        return times

    def normal(n, d):
        return rng.standard_normal((n, d), dtype=np.float32)

    sizes = [1000, 10_000, 100_000, 1_000_000]
    by_size = [measure(f"{n:,} x 16, normal", normal(n, 16), normal(SOME, 16)) for n in sizes]
    widths, by_width = [8, 16, 32, 64, 128, 256, 512, 1024], []
    for d in widths:
        noise = normal(51_000, d)
        low = normal(51_000, 12) @ normal(12, d) + np.float32(0.05) * normal(51_000, d)
        times = measure(f"50,000 x {d}, 12 factors", low[SOME:], low[:SOME])
        own = measure(f"50,000 x {d}, noise", noise[SOME:], noise[:SOME])["separatrix"]
        by_width.append({"separatrix, noise": own} | times)
    draw(
        ("rows of 16 features, normal", sizes, by_size),
        ("features of 50,000 rows, 12 factors or noise", widths, by_width),
    )
    odd = [note for note in notes if "farther" in note] or ["neighbours equal those of every peer"]
    return rows, ["\n".join([*odd, describe_faiss()])]


def neighbors_flat():
    """Uniform noise in float32, 60,000 x 784, 2,000 queries: no row can be pruned."""
    rng = np.random.default_rng(0)
    X, Q = (rng.random((n, 784), dtype=np.float32) for n in (60_000, 2000))
    searches = {"separatrix": ours(X, Q)} | flat(X, Q)
    times, found = time_searches(searches, len(Q))
    rows = []
    if "FAISS" in times:
        own, peer = times["separatrix"], times["FAISS"]
        rows.append(Row(f"uniform noise, 60,000 x 784, 2,000 queries, {searches['separatrix'].index.method}", spent(own), f"FAISS {spent(peer)}", f"{own / peer:.2f}x its time", "at most 1.1x"))  # fmt: skip
    return rows, [
        f"{compare_neighbors(X, Q, found)}\n{describe_builds(searches)}\n{describe_faiss()}"
    ]


SUITES = [neighbors_mnist, neighbors_others, neighbors_adult, neighbors_growth, neighbors_flat]
