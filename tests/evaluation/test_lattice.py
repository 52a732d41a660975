import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from separatrix import SVC, KernelPerceptron, KNeighborsClassifier, LinearSVC
from separatrix.evaluation.lattice import Lattice, predict_on

pytestmark = pytest.mark.filterwarnings("ignore:KernelPerceptron still made")

X, Y = load_iris(return_X_y=True)
X = X[:, 2:]
LATTICE = Lattice(np.linspace(0.5, 7.3, 31), np.linspace(-0.3, 3.1, 23))
MODELS = {
    "machine": SVC(gamma=2.0, C=10.0),
    "against the rest": SVC(gamma=2.0, multi_class="ovr"),
    "laplacian": SVC(kernel="laplacian", gamma=0.7),
    "polynomial": SVC(kernel="poly", gamma=0.1, coef0=1.0),
    "linear": SVC(kernel="linear"),
    "perceptron": KernelPerceptron(gamma=1.0),
    "averaged perceptron": KernelPerceptron(gamma=1.0, predictor="average"),
    "perceptrons of pairs": KernelPerceptron(gamma=1.0, multi_class="ovo"),
    "polynomial perceptron": KernelPerceptron("poly", gamma=0.1, coef0=1.0),
    "neighbours": KNeighborsClassifier(6),
    "weighted neighbours": KNeighborsClassifier(6, weights="distance", ties="lowest"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scaler", [None, StandardScaler(), MinMaxScaler()], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_predictions_on_a_lattice_are_those_of_predict_and_the_scores(name, scaler, classes):
    rows = np.isin(Y, range(classes))
    model = MODELS[name] if scaler is None else make_pipeline(scaler, MODELS[name])
    model.fit(X[rows], Y[rows])

    found = predict_on(model, LATTICE)

    np.testing.assert_array_equal(model.classes_[found.codes], model.predict(LATTICE.positions))
    score = getattr(model, "decision_function", None) or model.predict_proba
    np.testing.assert_allclose(found.values, score(LATTICE.positions), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        SVC(break_ties=True),
        KernelPerceptron(predictor="vote"),
        KNeighborsClassifier().set_params(n_neighbors=3),
    ],
    ids=repr,
)
def test_models_whose_scores_are_no_plain_sum_are_asked_in_the_usual_way(model):
    y = np.stack([Y, Y], axis=1) if isinstance(model, KNeighborsClassifier) else Y

    assert predict_on(model.fit(X, y), LATTICE) is None


def test_a_step_that_mixes_features_is_no_scaler():
    from sklearn.decomposition import PCA

    assert predict_on(make_pipeline(PCA(2), SVC()).fit(X, Y), LATTICE) is None


def test_positions_of_a_lattice_vary_along_the_first_side_first():
    positions = Lattice(np.array([0.0, 1.0]), np.array([5.0, 6.0, 7.0])).positions

    assert positions.tolist() == [[0, 5], [1, 5], [0, 6], [1, 6], [0, 7], [1, 7]]
