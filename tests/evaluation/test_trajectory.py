import numpy as np
import pytest
from sklearn.datasets import load_digits

from separatrix import KernelPerceptron
from separatrix.data.splits import random_splits
from separatrix.errors import ParameterError
from separatrix.evaluation.trajectory import Trajectory, learning_trajectories
from separatrix.kernels import Polynomial

X, Y = load_digits(return_X_y=True)
X, Y = X[:500], Y[:500]
SPLITS = random_splits(500, repeats=2, test_size=0.3, seed=1)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("predictor", ["last", "average"])
@pytest.mark.parametrize("multi_class", ["argmax", "ovr", "ovo"])
def test_every_pass_is_a_fit_of_so_many_passes(multi_class, predictor):
    terms = {"multi_class": multi_class, "predictor": predictor, "random_state": 4}
    model = KernelPerceptron(max_iter=4, **terms)
    found = learning_trajectories(model, X, Y, kernel=Polynomial(2), splits=SPLITS)
    for split, one in zip(SPLITS, found, strict=True):
        for number in range(len(one.test_error)):
            fitted = KernelPerceptron(Polynomial(2), max_iter=number + 1, **terms)
            fitted.fit(X[split.train], Y[split.train])
            for part, error in ((split.train, one.train_error), (split.test, one.test_error)):
                assert error[number] == pytest.approx(1 - fitted.score(X[part], Y[part]), abs=1e-12)
        np.testing.assert_allclose(one.online_error, 1 - fitted.learning_curve_, atol=1e-12)
        np.testing.assert_array_equal(one.corrected, fitted.mistakes_)


@pytest.mark.parametrize("multi_class", ["argmax", "ovr", "ovo"])
@pytest.mark.parametrize("min_gain", [0.0, 0.001, 0.01])
def test_the_stop_is_where_a_fit_with_min_gain_stops(multi_class, min_gain):
    model = KernelPerceptron(multi_class=multi_class, max_iter=12)
    (one, _) = learning_trajectories(model, X, Y, kernel=Polynomial(1), splits=SPLITS)
    stop = {"min_gain": min_gain, "min_iter": 3}
    fitted = KernelPerceptron(Polynomial(1), multi_class=multi_class, max_iter=12, **stop)
    fitted.fit(X[SPLITS[0].train], Y[SPLITS[0].train])
    assert one.stop(**stop) == fitted.n_iter_
    assert isinstance(one, Trajectory)


def test_models_without_a_trajectory_are_refused():
    with pytest.raises(
        ParameterError, match="with predictor 'last' or 'average', for a trajectory"
    ):
        learning_trajectories(
            KernelPerceptron(predictor="vote"), X, Y, kernel=Polynomial(2), splits=SPLITS
        )
