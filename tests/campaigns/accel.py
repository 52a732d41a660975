"""Random programs for scikit-learn, run without and with `separatrix.accel`: they print the same.

A program is drawn from a grammar: data, a model (bare, in a pipeline, a search or a meta-estimator, or a
subclass), and what is done with it. Both runs draw all from the number of the trial. The size rule is
off, so that small programs reach separatrix too. Scores of an SVC may differ by what its tolerance allows,
and the label of a sample whose best two scores are that close; everything else is equal to rounding.
"""

import threading
import warnings

import numpy as np
import pandas as pd
from scipy.sparse import csc_array, csr_array, csr_matrix, issparse
from sklearn import set_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from tests.campaigns.campaign import Campaign, chosen

from separatrix import accel

TIGHT = 1e-6  # tolerance of iterative models
# Of floats, relative to the largest:
ROUNDING = 1e-12  # where the switch has no listed difference
SCORE_BOUND = 1e-4  # of an SVC: TIGHT times the condition of small problems


class Data:
    """Samples to train and to predict, labels and weights, in one of many containers.

    With `ties` they may be whole numbers or repeat each other, so that distances, and scores, are equal.
    """

    def __init__(self, rng, *, ties):
        k = int(chosen(rng, (2, 2, 3, 5)))
        n, m, d = (
            int(rng.integers(12 * k, 40 * k)),
            int(rng.integers(1, 40)),
            int(rng.integers(1, 9)),
        )
        y = rng.permutation(np.arange(n + m) % k)
        X = rng.normal(size=(n + m, d)) + rng.normal(size=(k, d))[y] * chosen(rng, (0.3, 1.0, 3.0))
        kind = chosen(
            rng, ("plain", "plain", "whole", "codes", "duplicates") if ties else ("plain",)
        )
        if kind == "whole":
            X = np.round(2 * X)
        elif kind == "codes":
            X = (X > 0).astype(float)
        elif kind == "duplicates":
            X[: n // 2] = X[rng.integers(0, n + m, size=n // 2)]
        X = X / np.abs(X).max()  # LIBSVM takes for ever on large values
        self.dtype = chosen(rng, (np.float64, np.float64, np.float32, np.int64)[: 3 + ties])
        X = (20 * X if self.dtype == np.int64 else 3 * X).astype(self.dtype)
        names = chosen(
            rng, (np.arange(k), np.array(["d", "b", "e", "a", "c"])[:k], 2 * np.arange(k) - 3)
        )
        self.k, self.train, self.test = k, X[:n], X[n:]
        self.y, self.truth = names[y[:n]], names[y[n:]]
        self.weights = rng.uniform(0.2, 2.0, size=n) if rng.random() < 0.2 else None
        if self.weights is not None and rng.random() < 0.3:
            self.weights[rng.random(n) < 0.2] = 0.0
        self.form = chosen(rng, ("array", "array", "array", "fortran", "list", "frame", "sparse"))

    def given(self, X):
        """The samples in the container of the program; a new object at each call."""
        if self.form == "sparse":
            return chosen(np.random.default_rng(len(X)), (csr_array, csr_matrix, csc_array))(X)
        if self.form == "frame":
            return pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
        if self.form == "list":
            return X.tolist()
        return X.copy(order="F" if self.form == "fortran" else "C")


class Dropping(KNeighborsClassifier):
    """Ignores the nearest neighbour: a subclass may override what `predict` calls."""

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        more = (n_neighbors or self.n_neighbors) + 1
        found = super().kneighbors(X, more, True)
        distances, rows = found[0][:, 1:], found[1][:, 1:]
        return (distances, rows) if return_distance else rows


class Shifted(SVC):
    """Shifts its decision values."""

    def decision_function(self, X):
        return super().decision_function(X) + 0.25

    def predict(self, X):
        return self.classes_[(np.atleast_2d(self.decision_function(X).T).T > 0).any(axis=1) * 1]


class Loud(LogisticRegression):
    """Overrides nothing that counts."""

    def predict(self, X):
        return super().predict(X)


def svc(rng):
    options = {"C": float(chosen(rng, (0.1, 1.0, 10.0))), "tol": TIGHT}
    options["kernel"] = chosen(rng, ("rbf", "rbf", "linear", "poly"))
    options["decision_function_shape"] = chosen(rng, ("ovr", "ovo"))
    if rng.random() < 0.2:
        options["class_weight"] = "balanced"
    if options["kernel"] == "poly":
        options |= {"coef0": 1.0, "degree": 2}
    return chosen(rng, (SVC, SVC, SVC, Shifted))(**options)


def neighbors(rng):
    return chosen(rng, (KNeighborsClassifier, KNeighborsClassifier, Dropping))(
        int(rng.integers(1, 7)),
        weights=chosen(rng, ("uniform", "distance")),
        metric=chosen(rng, ("minkowski", "minkowski", "manhattan", "chebyshev", "hamming")),
        algorithm=chosen(rng, ("auto", "auto", "brute")),
    )


def logistic(rng):
    solver = chosen(rng, ("lbfgs", "newton-cg", "newton-cholesky", "liblinear"))
    cls = chosen(rng, (LogisticRegression, LogisticRegression, Loud))
    C = float(chosen(rng, (0.1, 1.0, 10.0)))
    return cls(
        C=C, solver=solver, tol=TIGHT, max_iter=5000, warm_start=bool(chosen(rng, (0, 0, 1)))
    )


def linear_svc(rng):
    return LinearSVC(
        C=float(chosen(rng, (0.01, 0.1, 1.0))), tol=TIGHT, max_iter=100_000, random_state=0
    )


def others(rng):
    """Classes that separatrix does not serve, some of which write into their samples."""
    return chosen(
        rng,
        (
            RidgeClassifier(copy_X=False),
            Ridge(copy_X=False),
            GaussianNB(),
            LinearDiscriminantAnalysis(),
            QuadraticDiscriminantAnalysis(reg_param=0.1),
            make_pipeline(MinMaxScaler(copy=False), RidgeClassifier()),
        ),
    )


BASES = {
    "SVC": (
        svc,
        {
            "C": [0.1, 1.0, 10.0],
            "kernel": ["rbf", "linear"],
            "gamma": ["scale", 0.1],
            "class_weight": [None, "balanced"],
        },
    ),
    "KNeighborsClassifier": (
        neighbors,
        {"n_neighbors": [1, 3, 4], "weights": ["uniform", "distance"], "p": [1, 2]},
    ),
    "LogisticRegression": (
        logistic,
        {"C": [0.1, 1.0, 10.0], "class_weight": [None, "balanced"], "fit_intercept": [True, False]},
    ),
    "LinearSVC": (linear_svc, {"C": [0.01, 0.1, 1.0], "class_weight": [None, "balanced"]}),
    "others": (others, {}),
}
STEPS = (
    lambda: StandardScaler(with_mean=False),
    lambda: MinMaxScaler(copy=False),
    lambda: SelectKBest(k="all"),
    lambda: PCA(random_state=0),
    lambda: SelectKBest(mutual_info_classif, k="all"),  # draws from the global generator
    lambda: FeatureUnion([("a", MinMaxScaler()), ("b", StandardScaler())]),
)


class Program:
    """One run of a program: what it prints, by name."""

    def __init__(self, number, base):
        self.rng = np.random.default_rng([11, number])
        self.data = Data(
            self.rng, ties=base != "SVC"
        )  # its score of a tie is 0 within its tolerance
        make, grid = BASES[base]
        self.base, self.model, self.grid = base, make(self.rng), grid
        self.prefix = ""
        self.printed = {}

    def say(self, name, value):
        self.printed[f"{len(self.printed)} {name}"] = value

    def run(self):
        """Draw a form of the model and what is done with it."""
        if self.data.form == "sparse" and self.base == "others":
            self.data.form = "array"
        if self.rng.random() < 0.5 and self.base != "others":
            self._in_pipeline()
        form = chosen(self.rng, FORMS)
        try:
            form(self)
        except (ValueError, TypeError, AttributeError, IndexError) as error:
            self.say("error", f"{type(error).__name__}: {str(error)[:80]}")
        self.say("global generator", np.random.random())  # noqa: NPY002
        return self.printed

    def _in_pipeline(self):
        step = chosen(self.rng, STEPS[:3] if self.data.form == "sparse" else STEPS)()
        steps = [("step", step), ("model", self.model)]
        self.model = Pipeline(steps)
        self.prefix = "model__"

    def fit(self, model, weights=True):
        data = self.data
        fit_params = {}
        if weights and data.weights is not None and not self.prefix and self._takes_weights(model):
            fit_params["sample_weight"] = data.weights
        return model.fit(data.given(data.train), data.y, **fit_params)

    def _takes_weights(self, model):
        return isinstance(model, SVC | LogisticRegression | LinearSVC | RidgeClassifier | Ridge)

    def ask(self, model):
        """Say what a fitted model answers."""
        for what in ("predict", "predict_proba", "decision_function"):
            if hasattr(model, what):
                self.say(what, getattr(model, what)(self.data.given(self.data.test)))
        if hasattr(model, "score"):
            self.say("score", model.score(self.data.given(self.data.test), self.data.truth))

    def cv(self):
        seed = int(self.rng.integers(100))
        return chosen(
            self.rng,
            (
                3,
                StratifiedKFold(3, shuffle=True, random_state=seed),
                ShuffleSplit(2, random_state=seed),
            ),
        )

    def drawn_grid(self):
        """A few values of a few parameters."""
        if self.base == "others":
            ridge = isinstance(self.model, Ridge | RidgeClassifier)
            return {"alpha": [0.01, 0.1, 1.0]} if ridge else {}
        names = self.rng.permutation(list(self.grid))[: int(self.rng.integers(1, 3))]
        return {f"{self.prefix}{name}": self.grid[name] for name in names}


def bare(program):
    """Fit, ask, pickle nothing, fit again with other parameters, in place or by a clone."""
    model = program.fit(program.model)
    program.ask(model)
    if program.rng.random() < 0.5:
        grid = program.drawn_grid()
        name = next(iter(grid), None)
        if name:
            model = model if program.rng.random() < 0.5 else clone(model)
            model.set_params(**{name: grid[name][0]})
            program.ask(program.fit(model))


def edited_in_place(program):
    """Attributes of a fitted model that are edited count at the next prediction."""
    model = program.fit(program.model)
    program.ask(model)
    last = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(last, SVC):
        last._intercept_ += 0.5
        last.intercept_ += 0.5
    elif isinstance(last, KNeighborsClassifier) and not issparse(last._fit_X):
        if program.rng.random() < 0.3:
            last.set_params(p=1)
        elif last._fit_X.flags.writeable:
            last._fit_X[: len(last._fit_X) // 2] += 1
    elif hasattr(last, "coef_"):
        last.coef_ *= -1
    program.ask(model)


def graphs_and_neighbors(program):
    data, rng = program.data, program.rng
    k = int(rng.integers(1, 6))
    model = NearestNeighbors(n_neighbors=k, algorithm=chosen(rng, ("auto", "brute"))).fit(
        data.given(data.train)
    )
    distances, rows = model.kneighbors(data.given(data.test))
    program.say("distances", distances)
    program.say("rows", rows)
    program.say("self", model.kneighbors(n_neighbors=k)[1])
    program.say("graph", model.kneighbors_graph(data.given(data.test), mode="distance").toarray())


def searched(program):
    """A search, its table and its best model."""
    rng, grid = program.rng, program.drawn_grid()
    if not grid:
        return cross_validated(program)
    kind = chosen(rng, ("grid", "grid", "grid", "random", "halving", "nested"))
    scoring = chosen(rng, (None, None, "accuracy", "f1_macro", "balanced_accuracy"))
    scoring = None if isinstance(program.model, Ridge) else scoring
    cv = program.cv()
    if kind == "random":
        search = RandomizedSearchCV(
            program.model, grid, n_iter=2, cv=cv, scoring=scoring, random_state=0
        )
    elif kind == "halving":
        search = HalvingGridSearchCV(program.model, grid, cv=3, scoring=scoring, random_state=0)
    else:
        search = GridSearchCV(program.model, grid, cv=cv, scoring=scoring)
    if kind == "nested":
        return program.say(
            "nested", cross_val_score(search, program.data.given(program.data.train), y_of(program))
        )
    search.fit(program.data.given(program.data.train), y_of(program))
    for name, values in search.cv_results_.items():
        if "time" not in name and not name.startswith("param"):
            program.say(name, np.asarray(values))
    program.say("best", str(search.best_params_))
    program.ask(search)


def y_of(program):
    """The labels, as numbers for a regression."""
    y = program.data.y
    return np.unique(y, return_inverse=True)[1] if isinstance(program.model, Ridge) else y


def cross_validated(program):
    rng, data = program.rng, program.data
    X, y, cv = data.given(data.train), y_of(program), program.cv()
    kind = chosen(rng, ("score", "validate", "predict", "curve", "validation curve"))
    if kind == "score":
        program.say("scores", cross_val_score(program.model, X, y, cv=cv))
    elif kind == "validate":
        found = cross_validate(program.model, X, y, cv=cv, return_train_score=True)
        program.say("test", found["test_score"])
        program.say("train", found["train_score"])
    elif kind == "predict":
        method = chosen(rng, ("predict", "decision_function", "predict_proba"))
        program.say(method, cross_val_predict(program.model, X, y, cv=3, method=method))
    elif kind == "curve":
        _, train, test = learning_curve(program.model, X, y, cv=3, train_sizes=[0.5, 1.0])
        program.say("train", train)
        program.say("test", test)
    elif grid := program.drawn_grid():
        name, values = next(iter(grid.items()))
        for part in validation_curve(program.model, X, y, param_name=name, param_range=values):
            program.say(name, part)


def inside_others(program):
    """The model inside meta-estimators."""
    rng, model = program.rng, program.model
    if isinstance(model, Ridge):
        return bare(program)
    final = LogisticRegression(
        solver="newton-cholesky", tol=TIGHT
    )  # L-BFGS stops at 1e-3 of its scores
    wraps = [
        lambda: CalibratedClassifierCV(model, cv=3, ensemble=bool(chosen(rng, (0, 1)))),
        lambda: BaggingClassifier(model, 3, random_state=0),
        lambda: VotingClassifier([("a", model), ("b", GaussianNB())]),
        lambda: StackingClassifier([("a", model)], final_estimator=final, cv=3),
        lambda: OneVsRestClassifier(model),
        lambda: OneVsOneClassifier(model),
        lambda: OutputCodeClassifier(model, random_state=0),
    ]
    program.ask(program.fit(chosen(rng, wraps)(), weights=False))


def several_models(program):
    """One search over models of several kinds."""
    rng = program.rng
    bases = (
        "SVC" if program.base == "SVC" else "LinearSVC",
        "KNeighborsClassifier",
        "LogisticRegression",
    )
    models = [BASES[base][0](rng) for base in bases]
    pipe = Pipeline([("scale", StandardScaler(with_mean=False)), ("clf", models[0])])
    search = GridSearchCV(pipe, [{"clf": models}], cv=3)
    search.fit(program.data.given(program.data.train), program.data.y)
    program.say("scores", search.cv_results_["mean_test_score"])
    program.ask(search)


def in_threads(program):
    """Two threads that fit and draw at once."""
    data, answers = program.data, {}
    drawn = np.random.RandomState(5)

    def work(name):
        try:
            model = clone(program.model).fit(data.given(data.train), y_of(program))
            answers[name] = model.predict(data.given(data.test))
        except (ValueError, TypeError) as error:
            answers[name] = type(error).__name__

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    program.say("numbers", drawn.random(200))
    for thread in threads:
        thread.join()
    for name in sorted(answers):
        program.say("predict", answers[name])


def warm(program):
    """Fits one after the other on growing data, with warm_start where there is one."""
    model, n = program.model, len(program.data.train)
    for size in (n // 2, n):
        model.fit(program.data.given(program.data.train[:size]), y_of(program)[:size])
        program.ask(model)


FORMS = (
    *(bare, bare, edited_in_place, graphs_and_neighbors, searched, searched, searched),
    *(cross_validated, inside_others, inside_others, several_models, in_threads, warm),
)


def print_program(number, base):
    """What the program of that number prints."""
    np.random.seed(number)  # noqa: NPY002
    set_config()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Program(number, base).run()


def compare_printed(theirs, ours, base):
    """Raise where the two runs differ by more than the listed bounds."""
    assert list(theirs) == list(ours), f"{list(theirs)} without, {list(ours)} with the switch"
    relative = SCORE_BOUND if base == "SVC" else ROUNDING
    tied = 0.0  # share of the last labels that differ
    for name, expected in theirs.items():
        found = ours[name]
        assert type(found) is type(expected), f"{name}: {type(expected)} became {type(found)}"
        expected, found = np.asarray(expected), np.asarray(found)
        assert found.dtype == expected.dtype, f"{name}: {expected.dtype} became {found.dtype}"
        assert found.shape == expected.shape, f"{name}: {expected.shape} became {found.shape}"
        if expected.dtype.kind == "f":
            bound = relative * max(1.0, float(np.nanmax(np.abs(expected), initial=0.0)))
            bound += tied if name.endswith(" score") else 0.0
            close = np.isclose(found, expected, rtol=0, atol=bound, equal_nan=True)
            assert close.all(), f"{name}: {expected[~close][:3]} became {found[~close][:3]}"
        else:
            differs = found != expected
            tied = float(np.mean(differs))
            assert not differs.any() or (leads_of(name, theirs)[differs] <= relative).all(), (
                f"{name}: {expected[differs][:3]} became {found[differs][:3]}"
            )


def leads_of(name, printed):
    """Lead of the best score of each sample, relative to the largest score; infinity without scores."""
    names = list(printed)
    model = names[names.index(name) : names.index(name) + 3]  # labels, probabilities, scores
    scores = next((printed[other] for other in model if other.endswith("decision_function")), None)
    if scores is None:
        return np.full(len(printed[name]), np.inf)
    ranked = np.sort(scores if scores.ndim > 1 else np.stack([scores, -scores], axis=1), axis=1)
    return (ranked[:, -1] - ranked[:, -2]) / np.abs(scores).max()


def compares(base):
    """Trials of programs around one class."""

    def trial(number):
        theirs = print_program(number, base)
        with accel.patched(smallest=0):  # small programs reach separatrix as well
            ours = print_program(number, base)
        compare_printed(theirs, ours, base)

    return trial


CAMPAIGN = Campaign(
    title="Random programs for scikit-learn print the same with the switch on",
    parts=lambda: {base: compares(base) for base in BASES},
    short=4,
    middle=20,
    full=10_000,
    seconds=600.0,  # LIBSVM takes minutes for a few of them
)
