"""Support vector machines compared with scikit-learn (LIBSVM) and scikit-learn-intelex, the faster of the two."""

import gc
import os

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC as Peer

from benchmarks.growth import draw
from benchmarks.measure import Row, against_fastest, peak_memory, seconds
from benchmarks.peers import TITLES, find_peers, time_peers
from separatrix import SVC, SVCCV, evaluate, indicator
from separatrix.data.catalogue import load

MNIST = {"C": 10.0, "gamma": 0.02}
CS, GAMMAS = (
    [0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 1000.0],
    [0.001, 0.002, 1 / 256, 0.008, 0.016, 0.03],
)


def mnist(n):
    """The first n rows and the test rows, pixels over 255."""
    data = load("mnist")
    return data.X[:n] / 255.0, data.y[:n], data.X_test / 255.0, data.y_test


def dual_objective(model):
    """Dual objective of scikit-learn's model, summed over all pairs, in float64."""
    total = 0.0
    first = np.concatenate([[0], np.cumsum(model.n_support_)])
    V, squares = model.support_vectors_, (model.support_vectors_**2).sum(axis=1)
    K = np.exp(-model._gamma * np.maximum(squares[:, None] + squares - 2 * V @ V.T, 0.0))
    k = len(model.classes_)
    for a in range(k):
        for b in range(a + 1, k):
            rows = np.r_[first[a] : first[a + 1], first[b] : first[b + 1]]
            coef = np.concatenate(
                [
                    model.dual_coef_[b - 1, first[a] : first[a + 1]],
                    model.dual_coef_[a, first[b] : first[b + 1]],
                ]
            )
            total += np.abs(coef).sum() - 0.5 * coef @ K[np.ix_(rows, rows)] @ coef
    return total


def compile_first():
    """Compile the code for both precisions and for held and cached matrices."""
    X, y, X_test, _ = mnist(3000)
    for cache in (None, 5):
        for samples in (X[:300], X):
            SVC(**MNIST, cache_size=cache).fit(samples, y[: len(samples)]).predict(X_test[:2000])


def mnist_10k():
    """MNIST, first 10,000 rows, Gaussian gamma=.02, C=10, x/255; 10,000 test rows."""
    X, y, X_test, y_test = mnist(10_000)
    compile_first()
    fit, ours = seconds(lambda: SVC(**MNIST).fit(X, y), repeat=3)
    predict, guess = seconds(lambda: ours.predict(X_test), repeat=3)
    calibrated, probable = seconds(
        lambda: SVC(**MNIST, calibration="sigmoid", random_state=0).fit(X, y), repeat=2
    )
    fits, predictions, models = time_peers("svm", "SVC", X, y, X_test, **MNIST, cache_size=4000)
    peer = models["scikit-learn"]
    peer_guess, theirs = peer.predict(X_test), dual_objective(peer)
    rows = [
        against_fastest("MNIST 10k, fit", fit, fits, "8x"),
        against_fastest("MNIST 10k, predict 10,000 rows", predict, predictions, "28x"),
        Row("accuracy", f"{np.mean(guess == y_test):.4f}", f"{np.mean(peer_guess == y_test):.4f}", "-", ".9696"),
        Row("support vectors", f"{len(ours.support_)}", f"{len(peer.support_)}", f"{100 * (len(ours.support_) / len(peer.support_) - 1):+.2f} %", "within 0.3 %"),
        Row("dual objective, all pairs", f"{ours.objective_.sum():.3f}", f"{theirs:.3f}", f"{ours.objective_.sum() / theirs - 1:+.1e}", "within 1e-4"),
        Row("largest violation, relative gap", f"{ours.violation_.max():.1e}, {ours.dual_gap_.max():.1e}", "-", "-", "1e-3, 1e-3"),
        Row("probabilities from 5 folds, in addition to the fit", f"{calibrated - fit:.2f} s", f"the fit, {fit:.2f} s", f"{(calibrated - fit) / fit:.2f}x its time", "at most 1.5x"),
    ]  # fmt: skip
    note = f"log loss on the test rows: {log_loss(y_test, probable.predict_proba(X_test)):.4f}"
    return rows, [note]


def calibration():
    """Log loss compared with CalibratedClassifierCV (ensemble=False), MNIST, first 4,000 rows."""
    X, y, X_test, y_test = mnist(4000)
    rows = []
    peers = {}
    for name, labels, truth in (
        ("ten digits", y, y_test),
        ("parity", y % 2, y_test % 2),
    ):
        for method in ("sigmoid", "temperature"):
            peer = CalibratedClassifierCV(Peer(**MNIST), method=method, ensemble=False)
            peers[method] = log_loss(truth, peer.fit(X, labels).predict_proba(X_test))
            ours = SVC(**MNIST, calibration=method, random_state=0).fit(X, labels)
            loss = log_loss(truth, ours.predict_proba(X_test))
            rows.append(Row(f"log loss, {name}, {method}", f"{loss:.4f}", f"{peers[method]:.4f}", f"{loss / peers[method]:.2f}x", "-"))  # fmt: skip
    return rows, []


def mnist_60k():
    """MNIST, 60,000 rows, as above."""
    X, y, X_test, y_test = mnist(60_000)
    compile_first()
    gc.collect()
    fit, ours = seconds(lambda: SVC(**MNIST).fit(X, y))
    predict, guess = seconds(lambda: ours.predict(X_test), repeat=3)
    memory = peak_memory()
    fits, predictions, models = time_peers("svm", "SVC", X, y, X_test, **MNIST, cache_size=4000)
    peer = models["scikit-learn"]
    return [
        against_fastest("MNIST 60k, fit", fit, fits, "18x, goal 25x"),
        against_fastest("MNIST 60k, predict 10,000 rows", predict, predictions, "28x"),
        Row("accuracy", f"{np.mean(guess == y_test):.4f}", "-", "-", ".9853"),
        Row("support vectors", f"{len(ours.support_)}", f"{len(peer.support_)}", "-", "-"),
        Row("peak memory of the process, with the samples", f"{memory:.1f} GiB", "-", "-", "under 6 GiB"),
        Row("matrix", ours.gram_, "-", "-", "-"),
    ], []  # fmt: skip


def adult():
    """a9a, 32,561 sparse rows, Gaussian gamma=2^-5, C=8."""
    data = load("a9a")
    compile_first()
    SVC().fit(data.X[:3000], data.y[:3000])
    fit, ours = seconds(lambda: SVC(C=8, gamma=2**-5).fit(data.X, data.y), repeat=2)
    params = {"C": 8, "gamma": 2**-5, "cache_size": 4000}
    fits, _, models = time_peers("svm", "SVC", data.X, data.y, data.X_test[:100], **params)
    peer = models["scikit-learn"]
    return [
        against_fastest("a9a, fit", fit, fits, "8x"),
        Row("accuracy, %", f"{100 * ours.score(data.X_test, data.y_test):.2f}", f"{100 * peer.score(data.X_test, data.y_test):.2f}", "-", "85.0 +- 0.1"),
        Row("support vectors", f"{len(ours.support_)}", f"{len(peer.support_)}", "-", "-"),
    ], []  # fmt: skip


def usps_grid():
    """USPS, the 7,291 training rows, 8 C x 6 gamma x 5 folds."""
    usps = load("usps")
    X, y = usps.X[:7291], usps.y[:7291]
    cv, cores = StratifiedKFold(5, shuffle=True, random_state=0), len(os.sched_getaffinity(0))
    SVCCV(CS[:2], GAMMAS[:1], cv=2).fit(X[:3000], y[:3000])  # compile
    ours_in, ours = seconds(lambda: SVCCV(CS, GAMMAS, cv=cv).fit(X, y), repeat=2)
    times, grids = {}, {}
    for library, cls in find_peers("svm", "SVC").items():
        if library in TITLES:
            grid = GridSearchCV(
                cls(cache_size=1000), {"C": CS, "gamma": GAMMAS}, cv=cv, n_jobs=cores
            )
            title = f"GridSearchCV, {cores} jobs, {TITLES[library]}"
            times[title], grids[library] = seconds(lambda grid=grid: grid.fit(X, y))
    peer = grids["sklearn"]
    scores, peer_scores = (
        np.array([found.cv_results_[f"split{fold}_test_score"] for fold in range(5)])
        for found in (ours, peer)
    )
    rows_off = np.abs(scores - peer_scores).max() * 7291 / 5
    return [
        against_fastest("USPS grid of 240 fits", ours_in, times, "30x, goal 60x"),
        Row("best parameters", f"{ours.best_params_}", f"{peer.best_params_}", "-", "-"),
        Row("largest difference of a fold's accuracy, in rows", f"{rows_off:.1f}", "-", "-", "1"),
    ], []  # fmt: skip


def usps_protocol():
    """USPS, gamma=1/256, C=10: three times 20 random 80/20 splits."""
    usps = load("usps")
    model = SVC(C=10, gamma=1 / 256)
    evaluate(model, usps.X[:3000], usps.y[:3000], repeats=1)  # compile
    took, found = seconds(lambda: evaluate(model, usps.X, usps.y))
    errors = [100 * found.test_error]
    errors += [100 * evaluate(model, usps.X, usps.y, random_state=s).test_error for s in (1, 2)]
    means = ", ".join(f"{part.mean():.2f}" for part in errors)
    train, test = found.splits[0]
    peer_in, peer = seconds(lambda: Peer(C=10, gamma=1 / 256).fit(usps.X[train], usps.y[train]))
    predict_in, guess = seconds(lambda: peer.predict(usps.X))
    same = np.mean(guess[test] != usps.y[test])
    rows = [
        Row("USPS, 20 splits, test error %", f"{errors[0].mean():.2f} +- {errors[0].std():.2f}", "published 2.20 +- 0.31", "-", "2.20 +- 0.15"),
        Row("the same with other seeds, mean error %", means, "-", "-", "-"),
        Row("time of the 20 splits", f"{took:.1f} s", f"scikit-learn {20 * (peer_in + predict_in):.0f} s (20 x one split)", f"{20 * (peer_in + predict_in) / took:.0f}x faster", "-"),
    ]  # fmt: skip
    return rows, [f"split 0, test error: {100 * found.test_error[0, 0]:.3f} % and scikit-learn {100 * same:.3f} %"]  # fmt: skip


def parity():
    """MNIST, even against odd, 60,000 rows, Gaussian C=2, gamma=.01."""
    X, y, X_test, y_test = mnist(60_000)
    compile_first()
    even = {0, 2, 4, 6, 8}
    fit, model = seconds(lambda: SVC(C=2, gamma=0.01).fit(X, indicator(y, even)))
    score = model.score(X_test, indicator(y_test, even))
    return [Row("parity on MNIST, Gaussian, test accuracy", f"{score:.4f} ({fit:.0f} s)", "-", "-", "at least .987")], []  # fmt: skip


def growth():
    """Time of a fit against the number of rows of MNIST, and the exponent."""
    compile_first()
    sizes = [5000, 10_000, 20_000, 40_000, 60_000]
    times, peer_times = [], []
    for n in sizes:
        X, y, _, _ = mnist(n)
        gc.collect()
        times.append(seconds(lambda X=X, y=y: SVC(**MNIST).fit(X, y))[0])
        if n <= 20_000:
            peer_times.append(seconds(lambda X=X, y=y: Peer(**MNIST, cache_size=4000).fit(X, y))[0])
    exponents = draw(sizes, times, peer_times)
    rows = [
        Row(f"MNIST, {n} rows", f"{t:.1f} s", f"scikit-learn {peer_times[i]:.1f} s" if i < len(peer_times) else "-", f"{peer_times[i] / t:.1f}x faster" if i < len(peer_times) else "-", "-")
        for i, (n, t) in enumerate(zip(sizes, times, strict=True))
    ]  # fmt: skip
    rows.append(Row("time grows as n to the power", f"{exponents[0]:.2f}", f"{exponents[1]:.2f}", "-", "-"))  # fmt: skip
    return rows, []


def small():
    """Iris, 150 rows, after compilation."""
    X, y = load_iris(return_X_y=True)
    rows = []
    for name, parameters in (("Gaussian", {}), ("linear", {"kernel": "linear"})):
        SVC(**parameters).fit(X, y)
        ours = seconds(lambda p=parameters: SVC(**p).fit(X, y), repeat=30)[0]
        theirs = seconds(lambda p=parameters: Peer(**p).fit(X, y), repeat=30)[0]
        rows.append(Row(f"Iris, {name}, fit", f"{1e3 * ours:.2f} ms", f"scikit-learn {1e3 * theirs:.2f} ms", f"{ours / theirs:.2f}x its time", "at most 2x"))  # fmt: skip
    return rows, []


def many_classes():
    """Six rows of 20 features for each of many classes, Gaussian clusters, default parameters; 1,000 test rows."""
    rng, rows = np.random.default_rng(0), []
    for k in [30, 100, 300, 1000]:
        centers = 2.0 * rng.normal(size=(k, 20))
        y = np.repeat(np.arange(k), 6)
        X, test = (centers[y] + rng.normal(size=(len(y), 20)) for _ in range(2))
        some = rng.choice(len(y), min(len(y), 1000), replace=False)
        times, models = {}, {}
        SVC().fit(X[:120], y[:120]).predict(X)
        for name, cls in {"ours": SVC, "peer": Peer}.items():
            fit, model = seconds(lambda cls=cls: cls().fit(X, y), repeat=3 if k < 1000 else 1)
            predict, found = seconds(lambda model=model: model.predict(test[some]))
            times[name], models[name] = (fit, predict), (model, found)
        for what, ours, peer in zip(["fit", "predict"], *times.values(), strict=True):
            rows.append(Row(f"{k:,} classes, {what}", f"{ours:.3g} s", f"scikit-learn {peer:.3g} s", f"{peer / ours:.1f}x faster", "1x"))  # fmt: skip
        same = np.mean(models["ours"][1] == models["peer"][1])
        rows.append(Row(f"{k:,} classes, equal predictions", f"{100 * same:.1f} %", "-", "-", "99.5 %"))  # fmt: skip
    return rows, []


SUITES = [
    *(mnist_10k, calibration, mnist_60k, adult, usps_grid, usps_protocol, parity, growth, small),
    many_classes,
]
