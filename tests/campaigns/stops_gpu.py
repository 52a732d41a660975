"""R11 on a GPU: Ctrl-C and `time_limit` in work that takes long there, by the clock.

    python -m tests.campaigns.stops_gpu [--pretend] [part of a name ...]

runs each work once and says how late it was. `--pretend` does so on torch's CPU with few rows, which
checks the works. Without a GPU the parts of the campaign have no trials.
"""

import gc
import os
import sys
import time
import warnings
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from tests.campaigns.campaign import PATIENCE, NoMore, chosen
from tests.campaigns.stops import LATE, interrupted, require_alive, state
from tests.contracts.calls import make
from tests.gpu.at_hand import pretend, why_no_card

from separatrix import evaluate
from separatrix.data.deformed import PIXELS, DeformedDigits
from separatrix.runtime import device as backends

ENOUGH = 6.0  # seconds for which a work is repeated
WARM = 0.3  # seconds of a small one before it, beside the compilation of programs
KEPT = 2**24  # bytes of the GPU that may stay taken
ROWS, FEATURES = (
    3000,
    20,
)  # of a small work: enough for kernel values in float32, and for full tiles
PRETENDED_ROWS = 1500


def allowed():
    """Seconds after which work has ended; more where more processes compute than there are cores."""
    if is_small():  # one tile after the other
        return 60.0
    return LATE * PATIENCE if os.getloadavg()[0] > os.cpu_count() + 1 else LATE


def drawn(n, d, classes=2, *, apart=0.0):
    """Samples and labels on the GPU; without a distance between the classes no pattern."""
    import torch

    device = backends.default_gpu()
    rng = torch.Generator(device).manual_seed(n + d)
    X = torch.randn((n, d), generator=rng, device=device)
    y = torch.randint(0, classes, (n,), generator=rng, device=device)
    if apart:
        for c in range(classes):
            X[:, c].add_((y == c).to(X.dtype), alpha=apart)
    return X, y


def few_rows(classes=2):
    """Rows of a small work, as many of each pair of classes."""
    return PRETENDED_ROWS if is_small() else ROWS * classes // 2


class Fit(NamedTuple):
    """A model and its samples."""

    model: Any
    X: Any
    y: Any

    def __call__(self):
        return clone(self.model).fit(self.X, self.y)

    def limited_to(self, limit):
        """The same fit with a time limit, where the model has one."""
        names = self.model.get_params().keys() & {"time_limit", "estimator__time_limit"}
        limits = dict.fromkeys(names, limit)
        return self._replace(model=clone(self.model).set_params(**limits))


def fit(call, shape, classes=2, *, small=("", ""), of=drawn, **how):
    """Fits of a model; `small` are its other parameters for few rows, on torch's CPU and on a GPU."""

    def begin(few):
        n, d = (few_rows(classes), min(FEATURES, shape[1])) if few else shape
        X, y = of(n, d, classes, **how)
        other = small[0 if is_small() else 1] if few else ""
        return Fit(make(call.replace("...", f"{other} device='cuda'")), X, y)

    return begin


def in_memory(n, d, classes, **how):
    """Samples and labels as NumPy arrays."""
    X, y = drawn(n, d, classes, **how)
    return X.cpu().numpy(), y.cpu().numpy()


def slow_to_descend(n, d, classes):
    """Features of very different sizes: many steps of L-BFGS."""
    import torch

    X, y = drawn(n, d, classes)
    return X.mul_(torch.logspace(0, -3, d, device=X.device)), y


def images(n, _d, _classes):
    """Deformed digits, bytes."""
    stream = digit_stream()
    return stream.images(0, n), stream.labels(0, n)


def digit_stream():
    """Digits of 8 x 8 pixels, three times as large, without end."""
    X, y = load_digits(return_X_y=True)
    large = np.kron(15 * X.reshape(-1, 8, 8), np.ones((1, 3, 3)))
    originals = np.pad(large, ((0, 0), (2, 2), (2, 2))).reshape(-1, PIXELS)
    return DeformedDigits(originals, y, device=backends.default_gpu())


def deform(few):
    stream = digit_stream()
    return lambda: stream.images(0, 20_000 if few else 4_000_000)


def use(call, method, rows, queries, d, classes=2, *, device="cuda"):
    """Uses of a fitted model: of many samples."""

    def begin(few):
        m, width = (few_rows(classes), FEATURES) if few else (queries, d)
        X, y = drawn(min(rows, few_rows(classes)) if few else rows, width, classes)
        Q, _ = drawn(m + 1, width, classes)
        given = (X, y) if device == "cuda" else (X.cpu().numpy(), y.cpu().numpy())
        model = make(call).set_params(device=device).fit(*given)
        work = getattr(model, method)
        work(Q[:100])  # what a model keeps on the GPU
        return partial(work, Q)

    return begin


def in_turn(*begins):
    """Several works, one after the other."""

    def begin(few):
        works = [own(few) for own in begins]
        return lambda: [work() for work in works]

    return begin


def one_pass(few):
    """Models that read their samples once."""
    n, d = (few_rows(), FEATURES) if few else (4_000_000, 400)
    X, y = drawn(n, d, 5)
    X.abs_()
    whole = X[:, :20].long().clamp_(max=9)
    calls = {
        "GaussianNB()": X,
        "BernoulliNB()": X,
        "MultinomialNB()": X,
        "ComplementNB()": X,
        "CategoricalNB()": whole,
        "LinearDiscriminantAnalysis()": X,
        "QuadraticDiscriminantAnalysis(reg_param=0.1)": X,
        "FisherDiscriminant()": X,
        "LeastSquaresClassifier(1.0)": X,
    }

    def work():
        for call, samples in calls.items():
            model = make(call).set_params(device="cuda").fit(samples, y)
            (model.predict if hasattr(model, "predict") else model.transform)(samples)

    return work


def grid_search(few):
    X, y = in_memory(*(few_rows(), FEATURES) if few else (60_000, 100), 10)
    model = make("SVC(gamma=0.01, tol=1e-8, device='cuda')")
    model.set_params(max_iter=1000 if few else -1)
    return lambda: GridSearchCV(model, {"C": [1e4, 1e5]}, cv=3).fit(X, y)


def study(few):
    X, y = in_memory(*(few_rows(), FEATURES) if few else (40_000, 100), 10)
    model = make("KernelPerceptron(device='cuda')").set_params(max_iter=3 if few else 10**5)
    gammas = [make(f"Gaussian({gamma})") for gamma in (0.001, 0.01)]
    return lambda: evaluate(model, X, y, kernels=gammas, repeats=5, progress=False)


HARD = "C=1e6, gamma=0.01, tol=1e-9,"
LONG = "max_iter=10**6,"
SLOW = "tol=1e-14, max_iter=10**6,"
CACHED = tuple(f"cache_size={size}, max_iter=10**9," for size in (8, 400))  # MB: a part of the rows
CHUNKED, CHUNKED_BYTES = ("cache_size=2,",) * 2, ("cache_size=2,", "cache_size=32,")  # few rows
TIMED = {  # fits that have a time limit
    "SVC, matrix held": fit(f"SVC({HARD} ...)", (60_000, 20)),
    "SVC, pairs of ten classes": fit(f"SVC({HARD} ...)", (60_000, 100), 10),
    "SVC, large matrix": fit("SVC(C=1e4, gamma=1e-4, ...)", (150_000, 3000)),
    "SVC, absolute distances": fit(
        "SVC(C=1e4, kernel=Laplacian(0.01), tol=1e-8, ...)", (110_000, 400)
    ),
    "SVC, cached rows": fit(f"SVC({HARD} ...)", (300_000, 200), 10, small=CACHED),
    "SVC, chunks": fit(
        "SVC(C=100.0, gamma=0.02, tol=1e-4, ...)", (1_000_000, 50), apart=2.0, small=CHUNKED
    ),
    "SVC, chunks of bytes": fit(
        "SVC(C=100.0, gamma=1e-6, tol=1e-4, ...)",
        (1_000_000, PIXELS),
        10,
        of=images,
        small=CHUNKED_BYTES,
    ),
    "SVC, calibrated": fit(f"SVC({HARD} calibration='sigmoid', ...)", (40_000, 50), 4),
    "SVCCV": fit(
        "SVCCV([1e3, 1e4, 1e5], [0.01, 0.02], cv=3, estimator=SVC(tol=1e-8), ...)",
        (60_000, 100),
        10,
    ),
    "KernelPerceptron, by argmax": fit(
        f"KernelPerceptron(Gaussian(0.001), {LONG} ...)", (60_000, 100), 10
    ),
    "KernelPerceptron, pairs": fit(
        f"KernelPerceptron(Gaussian(0.001), multi_class='ovo', {LONG} ...)", (60_000, 100), 10
    ),
    "KernelPerceptron, cached rows": fit(
        f"KernelPerceptron(Gaussian(0.001), {LONG} ...)",
        (300_000, 50),
        small=("cache_size=8,",) * 2,
    ),
    "KernelPerceptronCV": fit(
        f"KernelPerceptronCV([Gaussian(0.001)], estimator=KernelPerceptron({LONG}), ...)",
        (40_000, 100),
        10,
    ),
    "LogisticRegression, L-BFGS": fit(
        f"LogisticRegression(C=1e9, solver='lbfgs', {SLOW} ...)",
        (1_000_000, 500),
        20,
        of=slow_to_descend,
    ),
    "LogisticRegression, Newton": fit(
        f"LogisticRegression(C=1e9, solver='newton-cholesky', {SLOW} ...)", (5_000_000, 300), 5
    ),
    "LinearSVC": fit(f"LinearSVC(C=10.0, dual=False, {SLOW} ...)", (1_000_000, 1000), 20),
}
TRAINED_ON_THE_CPU = (
    *("NuSVC()", "OneClassSVM()", "KernelFisherDiscriminant()", "KernelLogisticRegression()"),
    "KernelLogisticRegressionCV(Cs=[1.0], cv=2)",
)
WORKS = {
    **TIMED,
    "SVC, predict": use("SVC(C=0.01, gamma=0.005)", "predict", 50_000, 2_000_000, 200, 10),
    "SVC, from NumPy": fit("SVC(C=100.0, gamma=1e-4, ...)", (100_000, 4000), of=in_memory),
    "KNeighborsClassifier": use("KNeighborsClassifier(5)", "predict", 1_000_000, 1_000_000, 128),
    "KNeighborsClassifier, from NumPy": fit(
        "KNeighborsClassifier(5, ...)", (2_000_000, 500), of=in_memory
    ),
    "NearestNeighbors, RadiusNeighborsClassifier": in_turn(
        use("NearestNeighbors(n_neighbors=5)", "kneighbors", 300_000, 300_000, 64),
        use("RadiusNeighborsClassifier(1e-3, outlier_label=0)", "predict", 300_000, 300_000, 64),
    ),
    "RandomFourier, Nystroem, PolynomialMap": in_turn(
        use("RandomFourier(0.01, n_components=8000)", "transform", 1000, 500_000, 784),
        use("Nystroem(gamma=0.01, n_components=1000)", "transform", 2000, 1_000_000, 200),
        use("PolynomialMap(2)", "transform", 1000, 200_000, 150),
    ),
    "models of one pass": one_pass,
    "GridSearchCV of SVC": grid_search,
    "evaluate of KernelPerceptron": study,
    "DeformedDigits": deform,
    "predictions of models of the CPU": in_turn(
        *(use(call, "predict", 300, 1_000_000, 50, device="auto") for call in TRAINED_ON_THE_CPU)
    ),
    "LogisticRegression, from NumPy": fit(
        f"LogisticRegression(C=1e9, {SLOW} ...)", (1_000_000, 500), 2, of=in_memory
    ),
}


def require_card():
    """End the part where there is no GPU."""
    if why_no_card():
        raise NoMore


def is_small():
    return backends.default_gpu().type != "cuda"


def held():
    """Bytes of the GPU that tensors take, without what cuBLAS keeps for itself."""
    if is_small():
        return 0
    import torch

    gc.collect()
    torch.cuda.synchronize()
    clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if clear is not None:
        clear()
    torch.cuda.empty_cache()
    return torch.cuda.memory_allocated()


def answers():
    """What small fits on the GPU give."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    svc = make("SVC(C=10.0, gamma=1e-3, device='cuda')").fit(X, y)
    perceptron = make("KernelPerceptron(Polynomial(2), max_iter=3, device='cuda')").fit(X, y)
    linear = make("LogisticRegression(C=1e-3, device='cuda')").fit(X, y)
    near = make("NearestNeighbors(n_neighbors=3, device='cuda')").fit(X)
    return [
        svc.dual_coef_,
        svc.decision_function(X),
        perceptron.predict(X),
        linear.coef_,
        near.kneighbors(X)[0],
    ]


@cache
def first_answers():
    everything()  # torch sets its threads when it is asked for them
    answers()  # compiled
    return answers()


def everything():
    """What must be the same after a stop."""
    import torch

    of_torch = torch.get_num_threads(), torch.get_float32_matmul_precision()
    return {"torch": of_torch, **state()}


def require_as_before(before, bytes_before):
    """The process works on, on the GPU as well, and has given back its memory."""
    require_alive({name: count for name, count in before.items() if name != "torch"})
    now = {name: count for name, count in everything().items() if name in before}
    assert now == before, f"{now}, before {before}"
    more = held() - bytes_before
    assert more <= KEPT, f"{more / 2**20:.1f} MiB of the GPU stay taken"
    for found, expected in zip(answers(), first_answers(), strict=True):
        np.testing.assert_array_equal(found, expected)


def repeated(work):
    """Work without an end in sight."""

    def run():
        began = time.monotonic()
        while time.monotonic() - began < ENOUGH:
            work()

    return run


@cache
def warm(name):
    """Compile what a work needs."""
    first_answers()
    work = WORKS[name](True)
    (work.limited_to(WARM) if isinstance(work, Fit) else work)()


def interrupt(name, after):
    """Ctrl-C so many seconds after a work has begun; how late it took effect."""
    warm(name)
    work = repeated(WORKS[name](is_small()))
    require_alive(state())
    bytes_before, before = held(), everything()
    late = interrupted(work, after, clock=time.monotonic)
    assert late is not None, f"{name} ended too soon"
    began = time.monotonic()
    backends.wait_for(backends.default_gpu())
    idle = time.monotonic() - began
    assert late < allowed(), f"{name}: {late:.2f} s after Ctrl-C"
    assert idle < allowed(), f"{name}: the GPU worked on for {idle:.2f} s"
    require_as_before(before, bytes_before)
    return late


def limited(name, limit):
    """A fit with a time limit; by how much it passed that."""
    warm(name)
    model, X, y = TIMED[name](is_small()).limited_to(limit)
    turns = 2 if name.endswith("CV") else 1  # a search, then the model of the best cell
    bytes_before, before = held(), everything()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        began = time.monotonic()
        model.fit(X, y)
        late = time.monotonic() - began - turns * limit
    assert late < allowed(), f"{name}: {late:.2f} s after {turns} x {limit:g} s"
    warned = any(issubclass(w.category, ConvergenceWarning) for w in said)
    assert warned or late < 0, f"{name} did not warn"
    assert model.predict(X[:10]).shape == (10,)
    del model
    require_as_before(before, bytes_before)
    return late


def ctrl_c(number):
    """Ctrl-C at a random moment of one work after the other."""
    require_card()
    names, rng = list(WORKS), np.random.default_rng([13, number])
    interrupt(names[number % len(names)], float(rng.uniform(0.05, 1.0)))


def time_limits(number):
    """One fit after the other with a time limit."""
    require_card()
    names, rng = list(TIMED), np.random.default_rng([14, number])
    limited(names[number % len(names)], float(chosen(rng, (0.2, 0.5, 1.0))))


PARTS = {"Ctrl-C, GPU": ctrl_c, "time limits, GPU": time_limits}


def main(arguments):
    if "--pretend" in arguments:
        pretend()
    elif reason := why_no_card():
        sys.exit(reason)
    words = [word for word in arguments if word != "--pretend"]
    failed = 0
    for part, works, run in (("Ctrl-C", WORKS, interrupt), ("time limit", TIMED, limited)):
        for name in works:
            if words and not any(word in name for word in words):
                continue
            began = time.monotonic()
            try:
                said = f"{run(name, 0.4):6.2f} s late"
            except Exception as error:
                failed, said = failed + 1, f"FAILED: {type(error).__name__}: {error}"
            print(f"{part:11}{time.monotonic() - began:6.1f} s  {name}: {said}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(sys.argv[1:]))
