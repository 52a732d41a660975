"""Programs as courses, notebooks and forums write them, run with and without `python -m separatrix.accel`."""

from benchmarks.accel import DIGITS, SPLIT, compare_programs

CANCER = """
from sklearn.datasets import load_breast_cancer
X, y = load_breast_cancer(return_X_y=True)
"""
MESSAGES = """
import gzip, os
with gzip.open(os.path.join(os.environ["SEPARATRIX_DATA"], "SMSSpamCollection.gz"), "rt") as file:
    rows = [line.rstrip("\\n").split("\\t", 1) for line in file if "\\t" in line]
X, y = [row[1] for row in rows], [row[0] for row in rows]
"""
FASHION = """
import gzip, os
import numpy as np
def read(name, skip):
    with gzip.open(os.path.join(os.environ["SEPARATRIX_DATA"], name)) as file:
        return np.frombuffer(file.read(), np.uint8, offset=skip)
X = read("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 784) / 255.0
y = read("t10k-labels-idx1-ubyte.gz", 8)
"""
ADULT = """
import os
from sklearn.datasets import load_svmlight_file
X, y = load_svmlight_file(os.path.join(os.environ["SEPARATRIX_DATA"], "a9a.gz"), n_features=123)
"""


def _made(n, d, classes=2, **more):
    options = "".join(f", {name}={value!r}" for name, value in more.items())
    return f"""
from sklearn.datasets import make_classification
X, y = make_classification({n}, {d}, n_informative={d // 2}, n_classes={classes}, random_state=0{options})
"""


PROGRAMS = {
    "moons, scaled SVC, grid": """
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
X, y = make_moons(1000, noise=0.3, random_state=0)
X, Z, y, z = train_test_split(X, y, random_state=42)
grid = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": [0.01, 0.1, 1, 10]}
search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=5, n_jobs=-1).fit(X, y)
print(search.best_params_, round(search.best_score_, 3), round(search.score(Z, z), 3))
""",
    "digits, PCA and SVC, grid": DIGITS
    + SPLIT
    + """
from sklearn.decomposition import PCA
from sklearn.metrics import classification_report
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
pipe = Pipeline([("pca", PCA(random_state=0)), ("svc", SVC(class_weight="balanced"))])
grid = {"pca__n_components": [10, 20, 40], "svc__C": [1, 5, 10, 50], "svc__gamma": [1e-4, 5e-4, 1e-3]}
search = GridSearchCV(pipe, grid, cv=5).fit(X, y)
print(search.best_params_)
print(classification_report(z, search.predict(Z)))
""",
    "cancer, SelectKBest and logistic regression, nested": CANCER
    + """
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
pipe = make_pipeline(StandardScaler(), SelectKBest(f_classif), LogisticRegression(max_iter=1000))
grid = {"selectkbest__k": [5, 10, 20, 30], "logisticregression__C": [0.01, 0.1, 1, 10]}
print(cross_val_score(GridSearchCV(pipe, grid, cv=5), X, y, cv=5).round(3))
""",
    "wine, nested cross-validation of an SVC": """
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
X, y = load_wine(return_X_y=True)
for trial in range(5):
    inner, outer = (KFold(4, shuffle=True, random_state=trial) for _ in range(2))
    grid = {"svc__C": [1, 10, 100], "svc__gamma": [0.01, 0.1, 1]}
    search = GridSearchCV(make_pipeline(MinMaxScaler(), SVC()), grid, cv=inner)
    print(cross_val_score(search, X, y, cv=outer).mean().round(3))
""",
    "digits, cross_val_predict and confusion matrices": DIGITS
    + """
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
for model in (SVC(gamma=0.001), SVC(kernel="linear"), KNeighborsClassifier(), GaussianNB()):
    print(confusion_matrix(y, cross_val_predict(model, X, y, cv=10)))
""",
    "digits, validation curve, macro F1": DIGITS
    + """
import numpy as np
from sklearn.model_selection import validation_curve
from sklearn.svm import SVC
train, test = validation_curve(
    SVC(), X, y, param_name="gamma", param_range=np.logspace(-6, -1, 6), cv=5, scoring="f1_macro")
print(train.mean(axis=1).round(3), test.mean(axis=1).round(3))
""",
    "imbalanced, randomised search, F2": _made(3000, 20, weights=[0.9])
    + """
from scipy.stats import loguniform
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import RandomizedSearchCV
from sklearn.svm import SVC
draw = {"C": loguniform(0.1, 100), "gamma": loguniform(1e-3, 1), "class_weight": [None, "balanced"]}
search = RandomizedSearchCV(SVC(), draw, n_iter=20, cv=4, scoring=make_scorer(fbeta_score, beta=2), random_state=1)
search.fit(X, y)
print({k: v if isinstance(v, str) else round(v, 4) for k, v in search.best_params_.items() if v}, round(search.best_score_, 3))
""",
    "groups, neighbours, own splitter": _made(4000, 30, 3)
    + """
import numpy as np
from sklearn.model_selection import GridSearchCV, GroupKFold, PredefinedSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
groups = np.random.default_rng(0).integers(0, 20, len(y))
model = make_pipeline(StandardScaler(), KNeighborsClassifier(7, weights="distance"))
print(cross_val_score(model, X, y, groups=groups, cv=GroupKFold(5)).round(3))
search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 5, 9, 15], "p": [1, 2]}, cv=PredefinedSplit(groups % 4))
print(search.fit(X, y).best_params_, round(search.best_score_, 3))
""",
    "ROC curves of three models": _made(2000, 20, flip_y=0.1)
    + SPLIT
    + """
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import auc, roc_curve, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
fpr, tpr, _ = roc_curve(z, SVC(C=2).fit(X, y).decision_function(Z))
print(round(auc(fpr, tpr), 3))
for model in (LogisticRegression(), KNeighborsClassifier(15), SVC(probability=True, random_state=0)):
    print(round(roc_auc_score(z, model.fit(X, y).predict_proba(Z)[:, 1]), 3))
""",
    "messages, TF-IDF and three classifiers": MESSAGES
    + """
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import ComplementNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
for model in (LinearSVC(), LogisticRegression(), ComplementNB(), SVC(kernel="linear")):
    print(cross_val_score(make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), model), X, y, cv=5).mean().round(4))
pipe = make_pipeline(TfidfVectorizer(stop_words="english"), LinearSVC())
search = GridSearchCV(pipe, {"linearsvc__C": [0.1, 1, 10], "tfidfvectorizer__min_df": [1, 2]}, cv=3).fit(X, y)
print(search.best_params_, round(search.best_score_, 3))
""",
    "neighbours inside other tools": _made(3000, 15, 4)
    + """
import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.impute import KNNImputer
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor, NearestNeighbors, kneighbors_graph
graph = kneighbors_graph(X, 10, mode="distance")
print(graph.nnz, round(float(graph.sum()), 1))
distances, _ = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(X)
eps = float(np.quantile(distances[:, -1], 0.5))
print((DBSCAN(eps=eps, min_samples=5).fit_predict(X) == -1).sum())
print((LocalOutlierFactor().fit_predict(X) == -1).sum())
holes = X[:800].copy()
holes[np.random.default_rng(0).random(holes.shape) < 0.1] = np.nan
filled = KNNImputer().fit_transform(holes)
print(round(KNeighborsClassifier().fit(filled, y[:800]).score(X[800:], y[800:]), 3))
print(Isomap(n_components=2).fit_transform(X[:600]).shape)
""",
    "digits, one-vs-one, one-vs-rest, output codes": DIGITS
    + SPLIT
    + """
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.svm import SVC, LinearSVC
for model in (OneVsOneClassifier(LinearSVC(random_state=0, max_iter=10000)), OneVsRestClassifier(SVC(gamma=0.001)),
              OutputCodeClassifier(SVC(gamma=0.001), random_state=0)):
    print(type(model).__name__, round(model.fit(X, y).score(Z, z), 2))
""",
    "voting, stacking, bagging": _made(2500, 20, 3)
    + SPLIT
    + """
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
parts = [("lr", LogisticRegression(max_iter=1000)), ("nb", GaussianNB()), ("knn", KNeighborsClassifier()), ("svc", SVC())]
for model in (VotingClassifier(parts), StackingClassifier(parts, LogisticRegression(max_iter=1000)),
              BaggingClassifier(SVC(C=10), n_estimators=20, random_state=0),
              BaggingClassifier(KNeighborsClassifier(), n_estimators=20, max_features=0.5, random_state=0)):
    print(type(model).__name__, round(model.fit(X, y).score(Z, z), 2))
""",
    "several outputs": """
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import hamming_loss
from sklearn.model_selection import train_test_split
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
X, Y = make_multilabel_classification(3000, 40, n_classes=6, random_state=0)
X, Z, Y, W = train_test_split(X, Y, random_state=0)
for model in (KNeighborsClassifier(), MultiOutputClassifier(SVC()), MultiOutputClassifier(LogisticRegression(max_iter=2000)),
              ClassifierChain(LogisticRegression(max_iter=2000), random_state=0)):
    print(round(hamming_loss(W, model.fit(X, Y).predict(Z)), 2))
""",
    "adult census, one-hot, four models": ADULT
    + SPLIT
    + """
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import SVC, LinearSVC
for model in (LogisticRegression(max_iter=1000), LinearSVC(), BernoulliNB()):
    print(round(model.fit(X, y).score(Z, z), 3))
print(round(roc_auc_score(z, LogisticRegressionCV(Cs=5, cv=3, max_iter=1000).fit(X, y).decision_function(Z)), 3))
print(round(SVC().fit(X[:3000], y[:3000]).score(Z, z), 2))
""",
    "features chosen by models": CANCER
    + """
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
X = StandardScaler().fit_transform(X)
print(RFECV(SVC(kernel="linear"), cv=5).fit(X, y).n_features_)
print(SequentialFeatureSelector(KNeighborsClassifier(), n_features_to_select=4, cv=5).fit(X, y).get_support(True))
model = SVC().fit(X[:400], y[:400])
print(permutation_importance(model, X[400:], y[400:], n_repeats=10, random_state=0).importances_mean.argmax())
""",
    "fashion, neighbours and an SVC": FASHION
    + """
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
X, Z, y, z = train_test_split(X, y, train_size=6000, random_state=0)
print(round(KNeighborsClassifier(5).fit(X, y).score(Z, z), 3))
pca = PCA(50, random_state=0).fit(X)
print(round(SVC(C=10).fit(pca.transform(X), y).score(pca.transform(Z), z), 2))
""",
    "cancer, five models side by side": CANCER
    + """
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
for name, model in [("LR", LogisticRegression(solver="liblinear")), ("LDA", LinearDiscriminantAnalysis()),
                    ("KNN", KNeighborsClassifier()), ("NB", GaussianNB()), ("SVM", SVC())]:
    scores = cross_val_score(model, X, y, cv=KFold(10, shuffle=True, random_state=7), scoring="accuracy")
    print(f"{name}: {scores.mean():.3f} ({scores.std():.3f})")
""",
}


def accel_courses():
    """Unmodified programs of the kinds that courses teach, which the switch was not measured on before."""
    return compare_programs(PROGRAMS)


SUITES = [accel_courses]
