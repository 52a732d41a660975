"""R11: Ctrl-C and `time_limit` in long work of every estimator and search.

Processor time counts, not the clock: on a busy machine a process may have to wait to be told. What runs
on a GPU is in `stops_gpu.py`.
"""

import math
import os
import signal
import sys
import threading
import time
from functools import cache

import numba
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tests.campaigns.campaign import Campaign, chosen
from tests.contracts.calls import make
from threadpoolctl import threadpool_info

from separatrix import SVC, GaussianNB, compare
from separatrix.estimators.registry import REGISTRY

LATE = 0.5  # seconds of every core
LARGE = (6000, 20)

ENDLESS = tuple(call for record in REGISTRY for call in record.endless)
LONG = (  # fits that end by themselves, on samples for which that takes seconds
    ("NuSVC(nu=0.45, tol=1e-6)", LARGE),
    ("OneClassSVM(nu=0.5, tol=1e-6)", (12_000, 20)),
    ("SVC(C=100.0, probability=True)", LARGE),
    ("SVC(kernel=Laplacian(0.5))", (9000, 40)),
    ("LogisticRegression(solver='saga', l1_ratio=1.0, tol=1e-12, max_iter=10**6)", (20_000, 400)),
    ("LogisticRegression(solver='sag', tol=1e-14, max_iter=10**6)", (20_000, 400)),
    ("LogisticRegression(C=1e6, tol=1e-15, max_iter=10**6)", (20_000, 400)),
    ("LogisticRegression(C='evidence')", (20_000, 150)),
    ("LogisticRegressionCV(Cs=20, cv=5, tol=1e-10)", (20_000, 100)),
    ("KernelLogisticRegressionCV()", (2500, 20)),
    ("LinearSVC(multi_class='crammer_singer', C=1e6, tol=1e-12, max_iter=10**6)", (20_000, 50)),
    ("LinearSVC(penalty='l1', dual=False, C=1e4, tol=1e-12, max_iter=10**6)", (20_000, 50)),
    ("KernelFisherDiscriminant()", (5000, 20)),
    ("LinearDiscriminantAnalysis()", (8000, 800)),
    ("QuadraticDiscriminantAnalysis(reg_param=0.1)", (4000, 600)),
    ("LeastSquaresClassifier(1.0, features=PolynomialMap(2))", (6000, 50)),
    ("LeastSquaresClassifier(max_norm=0.1)", (6000, 1500)),
    ("LinearDiscriminantAnalysis('eigen', 0.3)", (6000, 1500)),
    ("Nystroem(n_components=1500)", (6000, 20)),
    ("MultinomialNB()", (40_000, 800)),
    ("GaussianNB()", (40_000, 800)),
    ("BernoulliNB()", (40_000, 800)),
    ("NearestCentroid('manhattan')", (40_000, 500)),
)
SEARCHED = (  # models whose use is the long part
    ("KNeighborsClassifier(5)", (25_000, 40)),
    ("KNeighborsClassifier(5, metric='manhattan')", (12_000, 40)),
    ("KNeighborsClassifier(5, metric='canberra')", (8000, 40)),
    ("RadiusNeighborsClassifier(9.0)", (12_000, 40)),
    ("SVC(C=0.1)", (12_000, 20)),
)


@cache
def samples(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, rng.integers(0, 4, size=n)


def state():
    """The threads that each library would use now."""
    pools = {pool["filepath"]: pool["num_threads"] for pool in threadpool_info()}
    return {"numba": numba.get_num_threads(), **pools}


def interrupted(work, after, clock=time.process_time):
    """Time from Ctrl-C to the end of `work`, in seconds: infinite if it was lost; None if none came.

    Python drops an error of a function that it calls when an object is deleted: then Ctrl-C comes again.
    """
    begun, told, ended, dropped = clock(), [], threading.Event(), threading.Event()

    def press():
        os.kill(os.getpid(), signal.SIGINT)

    def tell():
        while clock() - begun < after:
            if ended.wait(0.005):
                return
        told.append(clock())
        press()
        while not ended.wait(0.05):
            if dropped.is_set():
                dropped.clear()
                press()

    def note(unraisable):
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            dropped.set()

    thread = threading.Thread(target=tell)
    before, sys.unraisablehook = sys.unraisablehook, note
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        work()
        ended.set()
        thread.join()  # a signal that is under way arrives here
    except KeyboardInterrupt:
        return clock() - told[0]
    finally:
        ended.set()
        thread.join()
        signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = before
    return math.inf if told else None


def require_alive(before):
    """The process works on, with the threads that it had."""
    now = {name: count for name, count in state().items() if name in before}
    assert now == before, f"threads: {now}, before {before}"
    X, y = samples(200, 3)
    assert GaussianNB().fit(X, y).predict(X).shape == (200,)
    assert SVC(C=0.1, gamma=0.5).fit(X, y).predict(X).shape == (200,)


def interrupt(works):
    """Ctrl-C at a random moment of one work after the other."""

    def trial(number):
        names = list(works())
        name, rng = names[number % len(names)], np.random.default_rng([11, number])
        work = works()[name]()
        require_alive(state())  # compiled before
        before = state()
        late = interrupted(work, float(rng.uniform(0.02, 0.6)))
        assert late is None or late < LATE * os.cpu_count(), (
            f"{name}: {late:.2f} s of processor time"
        )
        require_alive(before)

    return trial


def _fit(call, shape):
    def begin():
        X, y = samples(*shape)
        model = make(call)
        rows = X if "NB" not in call else np.abs(X)
        return lambda: clone(model).fit(rows, y)

    return begin


def _predict(call, shape):
    def begin():
        X, y = samples(*shape)
        model = make(call).fit(X, y)
        return lambda: model.predict(X)

    return begin


def _grid_search():
    X, y = samples(*LARGE)
    return lambda: GridSearchCV(SVC(tol=1e-6), {"C": [1.0, 10.0, 100.0]}, cv=3).fit(X, y)


def _compare():
    X, y = samples(*LARGE)
    return lambda: compare({"a": SVC(C=100.0, tol=1e-6), "b": GaussianNB()}, X, y, repeats=3)


def fits():
    """Every fit that is long, by its call."""
    return {call: _fit(call, shape) for call, shape in (*((e, LARGE) for e in ENDLESS), *LONG)}


def uses():
    """Long predictions, and searches that are not ours."""
    known = {call: _predict(call, shape) for call, shape in SEARCHED}
    return {**known, "GridSearchCV": _grid_search, "compare": _compare}


TIMED = tuple(call for call in ENDLESS if "time_limit" in make(call).get_params())


def time_limits(number):
    """A fit with a time limit ends soon after it and warns; the process works on."""
    call = TIMED[number % len(TIMED)]
    limit = float(chosen(np.random.default_rng([12, number]), (0.1, 0.3, 0.6)))
    X, y = samples(*LARGE)
    model = make(call)
    # a search ends at its limit; then the model of the best cell has its own
    given = [n for n in ("time_limit", "estimator__time_limit") if n in model.get_params()]
    model.set_params(**dict.fromkeys(given, limit))
    require_alive(state())
    model.fit(X[:300], y[:300])  # compiled
    before, begun = state(), time.process_time()
    model.fit(X, y)
    took = time.process_time() - begun
    most = (len(given) * limit + LATE) * os.cpu_count()
    assert took < most, f"{call}: {took:.2f} s for {limit:g} s"
    assert model.predict(X[:10]).shape == (10,)
    require_alive(before)


def parts():
    """All trials; those on a GPU end at once where there is none."""
    from tests.campaigns.stops_gpu import PARTS  # which needs this module

    return {
        "Ctrl-C, fits": interrupt(fits),
        "Ctrl-C, predictions and searches": interrupt(uses),
        "time limits": time_limits,
        **PARTS,
    }


CAMPAIGN = Campaign(
    "R11 Ctrl-C and time limits in long fits, predictions and searches: within 0.5 s of every core",
    parts,
    middle=1,
    seconds=300.0,
    quick=("time limits",),
    thorough=("Ctrl-C, fits", "Ctrl-C, predictions and searches", "time limits"),
)
