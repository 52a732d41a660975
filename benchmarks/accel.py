"""Programs written for scikit-learn, run with and without `python -m separatrix.accel`."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import Row

DIGITS = """
from sklearn.datasets import load_digits
X, y = load_digits(return_X_y=True)
"""
USPS = """
import gzip, os
import numpy as np
with gzip.open(os.path.join(os.environ["SEPARATRIX_DATA"], "zipcombo.dat.gz"), "rt") as file:
    data = np.loadtxt(file)
X, y = data[:, 1:], data[:, 0].astype(int)
"""
R8 = """
import gzip, os
from sklearn.feature_extraction.text import TfidfVectorizer
def read(part):
    with gzip.open(os.path.join(os.environ["SEPARATRIX_DATA"], f"r8-{part}.txt.gz"), "rt") as file:
        rows = [line.rstrip("\\n").split("\\t", 1) for line in file if "\\t" in line]
    return [row[1] for row in rows], [row[0] for row in rows]
(train, y), (test, z) = read("train"), read("test")
words = TfidfVectorizer(sublinear_tf=True)
X, Z = words.fit_transform(train), words.transform(test)
"""
SPLIT = """
from sklearn.model_selection import train_test_split
X, Z, y, z = train_test_split(X, y, test_size=0.5, random_state=0)
"""

TYPICAL = {
    "grid search of an SVC, digits": DIGITS
    + """
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
grid = {"C": [0.1, 1, 10, 100, 1000], "gamma": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2]}
search = GridSearchCV(SVC(), grid, cv=5).fit(X, y)
print(search.best_params_, round(search.best_score_, 3))
""",
    "grid search of an SVC, USPS": USPS
    + """
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
grid = {"C": [1, 10, 100], "gamma": [0.003, 0.01, 0.03]}
search = GridSearchCV(SVC(), grid, cv=3).fit(X[:3000], y[:3000])
print(search.best_params_, round(search.best_score_, 2))
""",
    "neighbours, grid over k, USPS": USPS
    + """
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": list(range(1, 20, 2))}, cv=5).fit(X, y)
print(search.best_params_, round(search.best_score_, 4))
""",
    "one-vs-rest text classification, R8": R8
    + """
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
search = GridSearchCV(LinearSVC(max_iter=5000), {"C": [0.1, 1, 10]}, cv=5).fit(X, y)
print(search.best_params_, round(search.score(Z, z), 3))
""",
    "LDA in a pipeline, cross-validated, USPS": USPS
    + """
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
model = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())
print(cross_val_score(model, X, y, cv=10).round(3))
""",
    "calibration of an SVC, USPS": USPS
    + SPLIT
    + """
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.svm import SVC
model = CalibratedClassifierCV(SVC(C=10), ensemble=False).fit(X, y)
print(round(log_loss(z, model.predict_proba(Z)), 2), round(model.score(Z, z), 3))
""",
}

# after the gallery of scikit-learn, without the pictures
GALLERY = {
    "plot_digits_classification": DIGITS
    + SPLIT
    + """
from sklearn import metrics, svm
clf = svm.SVC(gamma=0.001).fit(X, y)
print(metrics.classification_report(z, clf.predict(Z)))
""",
    "plot_grid_search_digits": DIGITS
    + SPLIT
    + """
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
grid = [{"kernel": ["rbf"], "gamma": [1e-3, 1e-4], "C": [1, 10, 100, 1000]},
        {"kernel": ["linear"], "C": [1, 10, 100, 1000]}]
search = GridSearchCV(SVC(), grid, scoring=["precision_macro", "recall_macro"], refit="recall_macro").fit(X, y)
print(search.best_params_, search.score(Z, z).__round__(2))
""",
    "plot_rbf_parameters": """
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
X, y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
grid = dict(gamma=np.logspace(-9, 3, 13), C=np.logspace(-2, 10, 13))
cv = StratifiedShuffleSplit(n_splits=5, test_size=0.2, random_state=42)
search = GridSearchCV(SVC(), param_grid=grid, cv=cv).fit(X, y)
print(round(search.best_score_, 2))
""",
    "plot_cv_digits": DIGITS
    + """
import numpy as np
from sklearn import svm
from sklearn.model_selection import cross_val_score
for C in np.logspace(-10, 0, 10):
    print(np.mean(cross_val_score(svm.SVC(kernel="linear", C=C), X, y)).round(3))
""",
    "plot_classification (neighbours)": """
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
X, y = load_iris(return_X_y=True)
for weights in ("uniform", "distance"):
    print(KNeighborsClassifier(15, weights=weights).fit(X[:, :2], y).score(X[:, :2], y))
""",
    "plot_logistic_l1_l2_sparsity": DIGITS
    + """
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
X = StandardScaler().fit_transform(X)
y = (y > 4).astype(int)
for C in (1, 0.1, 0.01):
    for ratio in (1, 0.5, 0):
        clf = LogisticRegression(C=C, l1_ratio=ratio, solver="saga", tol=0.01, max_iter=1000).fit(X, y)
        print(C, ratio, round(clf.score(X, y), 2))
""",
    "plot_classifier_comparison": """
from sklearn.datasets import make_circles, make_classification, make_moons
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
models = [KNeighborsClassifier(3), SVC(kernel="linear", C=0.025), SVC(gamma=2, C=1), GaussianNB(),
          QuadraticDiscriminantAnalysis()]
for X, y in (make_moons(noise=0.3, random_state=0), make_circles(noise=0.2, factor=0.5, random_state=1)):
    X, Z, y, z = train_test_split(X, y, test_size=0.4, random_state=42)
    print([make_pipeline(StandardScaler(), model).fit(X, y).score(Z, z) for model in models])
""",
    "plot_svm_tie_breaking": """
from sklearn.datasets import make_blobs
from sklearn.svm import SVC
X, y = make_blobs(random_state=27)
for break_ties in (False, True):
    print(SVC(kernel="linear", C=1, break_ties=break_ties).fit(X, y).predict(X).sum())
""",
    "plot_learning_curve": DIGITS
    + """
from sklearn.model_selection import ShuffleSplit, learning_curve
from sklearn.svm import SVC
cv = ShuffleSplit(n_splits=50, test_size=0.2, random_state=0)
sizes, train, test = learning_curve(SVC(kernel="rbf", gamma=0.001), X, y, cv=cv, train_sizes=[0.3, 0.6, 1.0])
print(sizes, test.mean(axis=1).round(3))
""",
    "plot_permutation_tests_for_classification": """
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold, permutation_test_score
from sklearn.svm import SVC
X, y = load_iris(return_X_y=True)
cv = StratifiedKFold(2, shuffle=True, random_state=0)
score, _, p = permutation_test_score(SVC(kernel="linear", random_state=7), X, y, cv=cv, n_permutations=200)
print(round(score, 2), p < 0.01)
""",
}


def accel():
    """Unmodified programs: six typical ones, and ten after scikit-learn's gallery, in processes of their own.

    Seconds include the start of Python. The goal: equal output, the geometric mean at least 3x, searches of an SVC
    at least 20x, none slower by more than 5 % and 0.2 s.
    """
    return compare_programs({**TYPICAL, **GALLERY})


def compare_programs(programs):
    """A row for each program, without and with the switch, and the geometric mean."""
    rows, factors = [], []
    for name, program in programs.items():
        theirs, ours = _measure(program, []), _measure(program, ["-m", "separatrix.accel"])
        factors.append(theirs[0] / ours[0])
        same = "" if theirs[2] == ours[2] else ", OUTPUT DIFFERS"
        used = f"{ours[0]:.2f} s, {ours[1]:.2f} s of processor time{same}"
        peer = f"scikit-learn {theirs[0]:.2f} s, {theirs[1]:.2f} s"
        reach = (
            "20x"
            if name.startswith("grid search of an SVC")
            else f"{1 / (1.05 + 0.2 / theirs[0]):.2f}x"
        )
        rows.append(Row(name, used, peer, f"{factors[-1]:.1f}x", reach))
    mean = float(np.exp(np.mean(np.log(factors))))
    return rows, [f"geometric mean: {mean:.1f}x; start-up of the switch: {_start_up():.2f} s"]


def _measure(program, options, repeat=1):
    """The least seconds and processor seconds of a program, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(program)
        found = []
        for _ in range(repeat):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-W", "ignore", *options, str(path)],
                capture_output=True,
                text=True,
                check=True,
                env=os.environ,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            found.append((time.perf_counter() - start, used, done.stdout))
    return min(seconds for seconds, *_ in found), min(used for _, used, _ in found), found[0][2]


def _start_up():
    program = "import sklearn.svm, sklearn.neighbors, sklearn.linear_model"
    return max(
        0.0, _measure(program, ["-m", "separatrix.accel"], 5)[1] - _measure(program, [], 5)[1]
    )


SUITES = [accel]
