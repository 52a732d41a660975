"""Parameters of every estimator: names and defaults, and bad values refused with what they must be."""

import inspect

import numpy as np
import pytest
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from tests.contracts.calls import make

import separatrix
from separatrix.errors import ParameterError, UnsupportedError
from separatrix.estimators.base.parameters import (
    Estimator,
    choice,
    flag,
    integer,
    real,
    threads,
    with_parameters,
)
from separatrix.estimators.registry import REGISTRY

X, Y = load_iris(return_X_y=True)

REFUSED = """
KNeighborsClassifier n_neighbors=0 n_neighbors=2.5 n_neighbors=None weights='squares' algorithm='tree'
KNeighborsClassifier leaf_size=0 p=0 p=float('nan') metric=7 metric_params=3 ties='first' k_max=0 n_jobs=0
KNeighborsClassifier class_weight='heavy' device='gpu' smoothing=-1
Perceptron max_iter=0 penalty='l2' tol=-1.0 eta0=0.0 shuffle='yes' multi_class='ovo' predictor='best'
Perceptron bias=None validation_fraction=1.0 class_weight='heavy' class_weight={0:-1.0} time_limit=0
Perceptron random_state='seed' n_iter_no_change=0 min_gain=-1 min_iter=0 early_stopping=1 warm_start=None
KernelPerceptron gamma=0.0 gamma=-1 multi_class='all' budget=0 min_gain=-0.1 cache_size=0 n_jobs=0
KernelPerceptron ties='first' predictor='best' device='gpu' time_limit=0 shuffle=2 eta0=0 max_iter=0
KernelPerceptronCV kernels=[] kernels='rbf' kernels=['precomputed'] device='gpu'
LogisticRegression C=0.0 C='best' C=float('nan') l1_ratio=1.5 l1_ratio=True penalty='l0' dual=True tol=0.0
LogisticRegression max_iter=-1 posterior='mcmc' predictive='exact' intercept_precision=0.0 n_jobs=0
LogisticRegression solver='sgd' class_weight='heavy' fit_intercept=None warm_start='no' time_limit=-1
LinearSVC penalty=None loss='log' dual='maybe' dual=1 tol=0.0 C=-1.0 C=float('nan') multi_class='ovo'
LinearSVC fit_intercept='yes' intercept_scaling=0 intercept_scaling=1e200 class_weight='heavy' n_jobs=0
LinearSVC device='gpu' random_state='seed' max_iter=-1 regularize_intercept=None time_limit=0
SubgradientSVC loss='huber' alpha=0.0 alpha=float('inf') alpha='small' eps=-1e-9 eps=float('nan') mu=-1
SubgradientSVC max_iter=0 max_iter=1.5 average='yes' keep_iterates=0 keep_iterates=None n_jobs=0
SubgradientSVC class_weight='heavy' class_weight={0:-1.0} time_limit=0
SVC C=0 C='1' tol=-1 max_iter=-2 multi_class='pairs' stop='never' calibration='isotonic' break_ties=1
SVC decision_function_shape='x' time_limit=0 cache_size=0 n_jobs=0 class_weight='heavy' device=None
SVC shrinking=None warm_start=1 probability=1 device='gpu'
SVCCV Cs=[] Cs=1.0 Cs=[1.0,-1.0] gammas=[] widen=-1 kernels=['precomputed'] time_limit=-1 device='gpu'
LinearDiscriminantAnalysis solver='qr' n_components=0 tol=-1 store_covariance='no' priors='half'
QuadraticDiscriminantAnalysis solver='lsqr' reg_param=1.5 tol=-1 priors=[0,0,0] priors=[0.5,0.5]
LogisticRegression device='gpu'
QuadraticDiscriminantAnalysis device='gpu'
FisherDiscriminant device='gpu' n_components=1.5 ridge=-1.0 threshold='mean' threshold=float('inf')
LeastSquaresClassifier ridge=-1.0 ridge='best' ridge=[] max_norm=0.0 features='poly'
LeastSquaresClassifier ridge=[1.0,float('nan')]
MultinomialNB alpha=-1 alpha='much' alpha=[[1.0]] alpha=[1.0]*3 class_prior=[0.5,0.5] fit_prior='yes'
BernoulliNB binarize=-1.0 alpha=[1.0,-2.0]*2 class_prior=[0.5,0.5,0.5] force_alpha=1
ComplementNB alpha=-1 alpha=[1.0]*3 class_prior=[0.5,0.5] norm='yes' force_alpha=1
CategoricalNB alpha=-1 alpha=[1.0]*4 min_categories=0 min_categories=2.5 fit_prior=None
NearestCentroid metric='cosine' shrink_threshold=0.0 shrink_threshold=-1 priors='half' priors=[-1,1,1]
NearestCentroid priors=[0.5,0.5]
RadiusNeighborsClassifier radius=-1.0 radius=None radius='wide' weights='much' metric='hyperbolic' p=0
RadiusNeighborsClassifier outlier_label=[0,1] ties='first' n_jobs=0 algorithm='tree' leaf_size=0
GaussianNB device=None priors=[-0.5,0.5,1.0] priors=[0.1,0.9] var_smoothing=-1e-9
PolynomialMap degree=0 degree=2.5 kernel='rbf' memory_limit=0 gamma=2.0 coef0=-1 include_bias=2
Nystroem kernel='gauss' kernel=3 gamma=-1.0 gamma='wide' n_components=0 n_jobs=0 kernel_params=[1.0]
RandomFourier device='gpu' gamma=0.0 gamma='wide' n_components=1.5 random_state=-1
"""
CASES = [
    (line.split()[0], *case.split("=", 1))
    for line in REFUSED.strip().splitlines()
    for case in line.split()[1:]
]


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
def test_a_bad_parameter_is_named_with_what_it_must_be(kind, name, value):
    with pytest.raises(ParameterError, match=f"^`{name}` of {kind} must be .*; got") as raised:
        make(f"{kind}({name}={value})").fit(X, Y)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("KNeighborsClassifier(metric='hyperbolic')", "a function or one of braycurtis"),
        ("KNeighborsClassifier(metric_params={'q': 3})", r"without \['q'\] for metric='minkowski'"),
        ("KNeighborsClassifier(kernel='gauss')", "a kernel object, a callable or one of linear"),
        ("KNeighborsClassifier(kernel='precomputed')", "computed from samples"),
        ("KNeighborsClassifier(k_max=150)", "at most 149, the number of possible neighbours"),
        ("KernelPerceptron('gauss')", "a kernel object, a callable or one of linear"),
        ("KernelPerceptron('poly', degree=0)", "`degree` .* an integer of at least 1; got 0"),
        ("KernelPerceptronCV(estimator=Perceptron())", "a KernelPerceptron or None"),
        ("LogisticRegression(l1_ratio=0.5, solver='lbfgs')", "'auto' or 'saga' with an l1 penalty"),
        ("LogisticRegression(C='best')", "one of 'evidence'"),
        ("LinearSVC(intercept_scaling=1e200)", r"at least 1e-100 and at most 1e\+100"),
        ("LinearSVC(multi_class='crammer_singer', regularize_intercept=False)", "True with"),
        ("SVC(kernel=Polynomial(2), gamma=3.0)", "left at its default"),
        ("SVCCV(gammas='auto')", "`gammas` of SVCCV must be a list of at least one value"),
        ("SVCCV(estimator=LinearSVC())", "an SVC or None"),
        (
            "LinearDiscriminantAnalysis(n_components=3)",
            r"at most min\(k - 1, d\) = 2 for 3 classes",
        ),
        ("LinearDiscriminantAnalysis(shrinkage='auto')", "use 'lsqr' or 'eigen'"),
        ("LinearDiscriminantAnalysis('lsqr', shrinkage=2)", "`shrinkage` of"),
        ("LinearDiscriminantAnalysis('lsqr', shrinkage='much')", "one of 'auto'"),
        ("QuadraticDiscriminantAnalysis(shrinkage=0.1)", "use 'eigen'"),
        (
            "FisherDiscriminant(3)",
            r"at most min\(k - 1, d\) = 2 for 3 classes and 4 features; got 3",
        ),
        ("LeastSquaresClassifier(2.0, max_norm=1.0)", "`ridge` .* 0 with max_norm"),
        ("MultinomialNB(alpha=[1.0] * 3)", "of length 4, one number for each feature; got 3"),
        ("MultinomialNB(class_prior=[0.5, 0.5])", "of length 3, one number for each class; got 2"),
        ("PolynomialMap(coef0=2.0)", "left at its default 0.0 with kernel=False"),
        ("PolynomialMap(kernel=True, include_bias=False)", "left at its default True with kernel"),
        ("PolynomialMap(kernel=True, interaction_only=True)", "left at its default False with"),
        ("PolynomialMap(kernel=True, gamma=0.0)", "`gamma` .* above 0"),
        ("Nystroem(Gaussian(1.0), gamma=1.0)", "None unless `kernel` is the name"),
        ("Nystroem('precomputed', gamma=1.0)", "None unless `kernel` is the name"),
        ("Nystroem(Gaussian(1.0), kernel_params={'gamma': 1.0})", "`kernel_params` .* None unless"),
        ("Nystroem(kernel_params={'sigma': 1.0})", "a dict of gamma, coef0"),
        ("Nystroem(n_components=5, random_state='seed')", "a seed of at least 0"),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(call, sentence):
    with pytest.raises((ParameterError, UnsupportedError), match=sentence):
        make(call).fit(X, Y)


WEIGHTED = [record.load() for record in REGISTRY if "class_weight" in record.load()().get_params()]


@pytest.mark.parametrize("kind", WEIGHTED, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("weights", [{"a": 2}, {5: 2}, {0: 2, 5: 1}], ids=repr)
def test_class_weights_of_labels_that_are_not_there_are_refused(kind, weights):
    with pytest.raises(ValueError, match=r"must be a dict with labels of \[0, 1, 2\] as keys; got"):
        kind(class_weight=weights).fit(X, Y)


@pytest.mark.parametrize("kind", WEIGHTED, ids=lambda kind: kind.__name__)
def test_class_weights_of_more_classes_than_are_there_are_used(kind):
    model = kind(class_weight={0: 1.0, 1: 2.0, 7: 3.0})
    two = Y < 2
    same = clone(model).set_params(class_weight={0: 1.0, 1: 2.0}).fit(X[two], Y[two])
    np.testing.assert_array_equal(model.fit(X[two], Y[two]).predict(X), same.predict(X))


@with_parameters
class Machine(Estimator):
    share: float = real(0.5, above=0, most=1)
    limit: float | None = real(None, least=0)
    C: float = real(1.0, above=0, also=(np.inf,))
    steps: int = integer(3, least=1)
    quick: bool = flag(False)
    rule: str | None = choice("first", "last", None)
    n_jobs: int | None = threads()


@pytest.mark.parametrize(
    ("given", "must_be"),
    [
        ({"share": 1.5}, "above 0 and at most 1; got 1.5"),
        ({"share": None}, "above 0 and at most 1; got None"),
        ({"share": True}, "above 0 and at most 1; got True"),
        ({"limit": -1}, "at least 0; got -1"),
        ({"limit": np.inf}, "at least 0; got inf"),
        ({"C": -np.inf}, "above 0; got -inf"),
        ({"steps": 3.0}, "an integer of at least 1; got 3.0"),
        ({"steps": None}, "an integer of at least 1; got None"),
        ({"quick": 1}, "True or False; got 1"),
        ({"rule": "all"}, "one of 'first', 'last', None; got 'all'"),
        ({"n_jobs": 0}, "an integer other than 0, or None; got 0"),
    ],
)
def test_a_declared_parameter_refuses_other_values(given, must_be):
    with pytest.raises(
        ParameterError, match=f"^`{next(iter(given))}` of Machine must be {must_be}$"
    ):
        Machine(**given)._check_parameters()


def test_declared_parameters_are_those_of_scikit_learn():
    model = Machine(0.25, C=np.inf, limit=None, rule=None, n_jobs=np.int64(2))
    model._check_parameters()
    assert model.get_params() == {**vars(Machine()), **vars(model)}
    assert repr(model) == "Machine(C=inf, n_jobs=np.int64(2), rule=None, share=0.25)"


PEERS = [sklearn.svm.LinearSVC, sklearn.neighbors.KNeighborsClassifier]
PEERS += [
    getattr(sklearn.naive_bayes, f"{name}NB") for name in ("Multinomial", "Bernoulli", "Gaussian")
]


@pytest.mark.parametrize("theirs", PEERS, ids=lambda kind: kind.__name__)
def test_the_signature_begins_as_scikit_learns(theirs):
    ours = getattr(separatrix, theirs.__name__)
    own, wanted = (
        [(p.name, p.default, p.kind) for p in inspect.signature(kind).parameters.values()]
        for kind in (ours, theirs)
    )
    assert own[: len(wanted)] == wanted
