import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from separatrix import (
    SVC,
    KernelLogisticRegression,
    KernelPerceptron,
    KNeighborsClassifier,
    LinearSVC,
)
from separatrix.evaluation.lattice import Lattice, kernel_machine, kernel_scores
from separatrix.evaluation.plane_decisions import decide

pytestmark = pytest.mark.filterwarnings("ignore:KernelPerceptron still made")

X, Y = load_iris(return_X_y=True)
X = X[:, 2:]
LATTICE = Lattice(np.linspace(0.5, 7.3, 31), np.linspace(-0.3, 3.1, 23))
MODELS = {
    "broken ties": SVC(break_ties=True),
    "machine": SVC(gamma=2.0, C=10.0),
    "against the rest": SVC(gamma=2.0, multi_class="ovr"),
    "laplacian": SVC(kernel="laplacian", gamma=0.7),
    "polynomial": SVC(kernel="poly", gamma=0.1, coef0=1.0),
    "linear": SVC(kernel="linear"),
    "perceptron": KernelPerceptron(gamma=1.0),
    "averaged perceptron": KernelPerceptron(gamma=1.0, predictor="average"),
    "perceptrons of pairs": KernelPerceptron(gamma=1.0, multi_class="ovo"),
    "polynomial perceptron": KernelPerceptron("poly", gamma=0.1, coef0=1.0),
    "logistic": KernelLogisticRegression(gamma=1.0),
}
OTHERS = {
    "neighbours": KNeighborsClassifier(6),
    "weighted neighbours": KNeighborsClassifier(6, weights="distance"),
    "votes": KernelPerceptron(predictor="vote"),
    "weights": LinearSVC(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scaler", [None, StandardScaler(), MinMaxScaler()], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_scores_on_a_lattice_are_those_of_the_machine_within_their_bounds(name, scaler, classes):
    rows = np.isin(Y, range(classes))
    model = MODELS[name] if scaler is None else make_pipeline(scaler, MODELS[name])
    model.fit(X[rows], Y[rows])
    ready = LATTICE.positions if scaler is None else model[0].transform(LATTICE.positions)
    machine = kernel_machine(model)

    by_lattice, by_position = (
        kernel_scores(model, where) for where in (LATTICE, LATTICE.positions)
    )

    if hasattr(machine, "boundary_scores"):
        expected = np.reshape(machine.boundary_scores(ready), by_lattice.values.shape)
    else:
        expected = np.reshape(machine.decision_function(ready), by_lattice.values.shape)
    for scores in (by_lattice, by_position):
        assert (np.abs(scores.values - expected) <= by_lattice.bounds + by_position.bounds).all()
        assert scores.bounds.max() < 1e-9 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
@pytest.mark.parametrize("classes", [2, 3])
def test_decisions_are_those_of_predict(name, classes):
    rows = np.isin(Y, range(classes))
    model = (MODELS | OTHERS)[name].fit(X[rows], Y[rows])

    by_lattice = decide(model, model.classes_, LATTICE)
    by_position = decide(model, model.classes_, LATTICE.positions)

    expected = model.predict(LATTICE.positions)
    for found in (by_lattice, by_position):
        np.testing.assert_array_equal(model.classes_[found.codes], expected)
    np.testing.assert_array_equal(by_lattice.undecided, by_position.undecided)


@pytest.mark.parametrize("model", OTHERS.values(), ids=repr)
def test_models_whose_scores_are_no_plain_sum_are_asked_in_the_usual_way(model):
    assert kernel_machine(model.fit(X, Y)) is None


def test_a_step_that_mixes_features_is_no_scaler():
    assert kernel_machine(make_pipeline(PCA(2), SVC()).fit(X, Y)) is None


def test_positions_of_a_lattice_vary_along_the_first_side_first():
    lattice = Lattice(np.array([0.0, 1.0]), np.array([5.0, 6.0, 7.0]))

    assert lattice.positions.tolist() == [[0, 5], [1, 5], [0, 6], [1, 6], [0, 7], [1, 7]]
    assert lattice.at(np.array([2]), np.array([1])).tolist() == [[1, 7]]
