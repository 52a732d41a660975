"""Programs as users write them: what they print is the same with the switch and without."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.metrics import confusion_matrix, make_scorer, matthews_corrcoef
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    LeaveOneOut,
    PredefinedSplit,
    RandomizedSearchCV,
    RepeatedStratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler, scale
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC, NuSVC

from separatrix import accel

IRIS, KINDS = load_iris(return_X_y=True)
WINE, WINES = load_wine(return_X_y=True)
CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER)
DIGITS, NUMBERS = load_digits(n_class=5, return_X_y=True)
DIGITS, NUMBERS = DIGITS[:300], NUMBERS[:300]


def columns_of_a_table():
    frame = pd.DataFrame(WINE[:, :3], columns=["a", "b", "c"])
    frame["size"] = np.where(WINE[:, 4] > 100, "large", "small")
    names = np.array(["red", "rose", "white"])[WINES]
    prepare = make_column_transformer(
        (StandardScaler(), ["a", "b", "c"]), (OneHotEncoder(), ["size"])
    )
    model = GridSearchCV(
        make_pipeline(prepare, SVC()),
        {"svc__C": [0.1, 1, 10], "svc__kernel": ["rbf", "linear"]},
        scoring="balanced_accuracy",
    )
    X, Z, y, z = train_test_split(frame, names, random_state=0, stratify=names)
    model.fit(X, y)
    return [model.best_params_, round(model.score(Z, z), 6), list(model.predict(Z[:10]))]


def predictions_of_folds():
    model = make_pipeline(StandardScaler(), SVC(tol=1e-5))
    labels = cross_val_predict(model, WINE, WINES, cv=5)
    values = cross_val_predict(model, WINE, WINES, cv=5, method="decision_function")
    return [confusion_matrix(WINES, labels).tolist(), values.argmax(axis=1).tolist()]


def importances():
    model = make_pipeline(StandardScaler(), KNeighborsClassifier()).fit(WINE, WINES)
    found = permutation_importance(model, WINE, WINES, n_repeats=3, random_state=0)
    return found.importances.round(9).tolist()


def curves():
    sizes, train, test = learning_curve(
        KNeighborsClassifier(), WINE, WINES, cv=3, train_sizes=[0.3, 0.6, 1.0], shuffle=True, random_state=0
    )  # fmt: skip
    return [sizes.tolist(), train.round(9).tolist(), test.round(9).tolist()]


def one_against_others():
    found = []
    for outer in (OneVsRestClassifier, OneVsOneClassifier):
        found.append(
            outer(LinearSVC(tol=1e-6, max_iter=100_000)).fit(DIGITS, NUMBERS).score(DIGITS, NUMBERS)
        )
        found.append(outer(SVC(tol=1e-5)).fit(IRIS, KINDS).predict(IRIS).tolist())
    codes = OutputCodeClassifier(SVC(), random_state=0).fit(IRIS, KINDS)
    return [*found, codes.score(IRIS, KINDS)]


def bags():
    bag = BaggingClassifier(
        SVC(), n_estimators=5, max_samples=0.5, max_features=0.5, random_state=0
    )
    near = BaggingClassifier(
        KNeighborsClassifier(), n_estimators=5, max_samples=0.5, random_state=0
    )
    return [model.fit(IRIS, KINDS).predict(IRIS).tolist() for model in (bag, near)]


def votes():
    models = [("svc", SVC()), ("near", KNeighborsClassifier()), ("bayes", GaussianNB())]
    hard = VotingClassifier(models).fit(CANCER, BENIGN)
    soft = VotingClassifier([*models[1:], ("lda", LinearDiscriminantAnalysis())], voting="soft")
    found = soft.fit(CANCER, BENIGN).predict_proba(CANCER)
    return [hard.predict(CANCER).tolist(), found.round(6).tolist()]


def halving():
    found = HalvingGridSearchCV(
        SVC(), {"C": [0.1, 1, 10], "gamma": [1e-4, 1e-3]}, random_state=0, cv=3
    ).fit(DIGITS, NUMBERS)
    kept = ("iter", "n_resources", "param_C", "mean_test_score")
    return [
        found.best_params_,
        *(np.round(found.cv_results_[key].astype(float), 9).tolist() for key in kept),
    ]


def random_candidates():
    found = RandomizedSearchCV(
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": loguniform(1e-1, 1e2), "svc__gamma": loguniform(1e-3, 1e-1)},
        n_iter=6, random_state=3, cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=1),
        scoring="f1_macro",
    ).fit(WINE, WINES)  # fmt: skip
    return [found.best_params_, found.cv_results_["mean_test_score"].round(6).tolist()]


def warm_starts():
    model = LogisticRegression(warm_start=True, tol=1e-8, max_iter=1000)
    found = []
    for C in (0.01, 0.1, 1.0):
        found.append(model.set_params(C=C).fit(CANCER, BENIGN).coef_.round(3).tolist())
    return found


def pickles():
    models = [SVC(), NuSVC(nu=0.2), KNeighborsClassifier(), GaussianNB(), NearestNeighbors()]
    found = []
    for model in models:
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model)).fit(IRIS, KINDS)))
        search = hasattr(again, "predict")
        found.append(
            again.predict(IRIS).tolist() if search else again.kneighbors(IRIS)[0].round(9).tolist()
        )
    return found


def own_scores_and_folds():
    scorer = make_scorer(matthews_corrcoef)
    groups = np.arange(len(IRIS)) % 7
    fold = PredefinedSplit(np.arange(len(IRIS)) % 3 - 1)
    model = SVC(tol=1e-5)
    return [
        cross_val_score(model, IRIS, KINDS, scoring=scorer).round(9).tolist(),
        cross_val_score(model, IRIS, KINDS, groups=groups, cv=GroupKFold(3)).tolist(),
        cross_val_score(model, IRIS, KINDS, cv=fold).tolist(),
        cross_val_score(KNeighborsClassifier(1), IRIS[::3], KINDS[::3], cv=LeaveOneOut()).tolist(),
        cross_validate(model, IRIS, KINDS, cv=3, return_estimator=True)["estimator"][
            0
        ].n_support_.tolist(),
        permutation_test_score(model, IRIS, KINDS, n_permutations=5, random_state=0)[1].tolist(),
    ]


def selections():
    near = SequentialFeatureSelector(KNeighborsClassifier(3), n_features_to_select=3, cv=3)
    linear = RFECV(SVC(kernel="linear", tol=1e-6), cv=3, step=2).fit(WINE[:, :6], WINES)
    return [near.fit(WINE, WINES).support_.tolist(), linear.ranking_.tolist()]


def several_outputs():
    two = np.column_stack([KINDS, KINDS == 1])
    near = KNeighborsClassifier(4).fit(IRIS, two)
    both = MultiOutputClassifier(SVC()).fit(IRIS, two)
    shares = [part.round(9).tolist() for part in near.predict_proba(IRIS)]
    return [near.predict(IRIS).tolist(), both.predict(IRIS).tolist(), shares]


def half_labelled():
    partly = np.where(np.arange(len(KINDS)) % 3 == 0, KINDS, -1)
    model = SelfTrainingClassifier(KNeighborsClassifier(), threshold=0.9).fit(IRIS, partly)
    return [model.transduction_.tolist(), model.predict(IRIS).tolist()]


def labels_of_all_sorts():
    texts = np.array(["no", "yes", "maybe"], dtype=object)[KINDS]
    found = []
    for y in (texts, texts.astype(str), pd.Series(texts, dtype="category"), KINDS.astype(float),
              KINDS.astype(np.int8), list(texts), pd.Series(KINDS, index=range(500, 650))):  # fmt: skip
        search = GridSearchCV(SVC(), {"C": [1, 10]}, cv=3).fit(IRIS, y)
        found.append(
            [search.best_params_, search.best_score_.round(9), list(search.predict(IRIS[::20]))]
        )
        near = cross_val_score(KNeighborsClassifier(), IRIS, y, cv=3)
        found.append([near.tolist(), [str(label) for label in SVC().fit(IRIS, y).classes_]])
    return found


def samples_of_all_sorts():
    frame = pd.DataFrame(IRIS, columns=list("abcd"), index=range(7, 157))
    found = []
    for X in (frame, IRIS.astype(np.float32), IRIS.tolist(), np.asfortranarray(IRIS), IRIS[::-1],
              (10 * IRIS).astype(np.uint8), np.ma.masked_array(IRIS)):  # fmt: skip
        for model in (SVC(), KNeighborsClassifier(3), LinearDiscriminantAnalysis(), GaussianNB()):
            found.append(cross_val_score(model, X, KINDS, cv=3).tolist())
            found.append(model.fit(X, KINDS).predict(X).tolist())
    return found


def bins_and_ridges():
    bins = KBinsDiscretizer(5, encode="ordinal", quantile_method="averaged_inverted_cdf")
    model = make_pipeline(bins, SVC(kernel="poly", degree=2, class_weight="balanced"))
    ridge = RidgeClassifierCV(alphas=[0.1, 1, 10]).fit(CANCER, BENIGN)
    return [
        cross_val_score(model, WINE, WINES).tolist(),
        ridge.alpha_,
        ridge.predict(CANCER).tolist(),
    ]


PROGRAMS = [
    columns_of_a_table, predictions_of_folds, importances, curves, one_against_others, bags, votes,
    halving, random_candidates, warm_starts, pickles, own_scores_and_folds, selections, several_outputs,
    half_labelled, labels_of_all_sorts, samples_of_all_sorts, bins_and_ridges,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_a_program_prints_is_the_same(program):
    wanted = program()
    with accel.patched(smallest=0):
        found = program()
    assert repr(found) == repr(wanted)


PROCESSES = """
import multiprocessing
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
X, y = load_iris(return_X_y=True)
def fit(C):
    return SVC(C=C).fit(X, y).score(X, y)
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(fit, [0.1, 1.0, 10.0]))
    search = GridSearchCV(SVC(), {"C": [1, 10]}, n_jobs=2).fit(X, y)
    print(search.best_params_, search.cv_results_["mean_test_score"].round(6))
    print(cross_val_score(KNeighborsClassifier(n_jobs=2), X, y, n_jobs=2).round(6))
"""


@pytest.mark.slow
def test_programs_with_processes_print_the_same(tmp_path):
    (tmp_path / "program.py").write_text(PROCESSES)
    printed = [
        subprocess.run(
            [sys.executable, *options, "program.py"],
            capture_output=True, text=True, check=True, cwd=tmp_path, env=os.environ, timeout=300,
        ).stdout
        for options in ([], ["-m", "separatrix.accel"])
    ]  # fmt: skip
    assert printed[0] == printed[1]
    assert printed[0].count("\n") == 3
