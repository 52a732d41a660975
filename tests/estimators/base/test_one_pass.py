import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler

from separatrix import (
    BernoulliNB,
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from separatrix.errors import DataError, ParameterError

SIDES = np.arange(200) % 2
NOISY = np.random.default_rng(0).normal(size=(200, 3)) + 0.8 * SIDES[:, None]


def test_sums_with_different_parameters_are_not_merged():
    flags = BernoulliNB().partial_fit(abs(NOISY), SIDES, classes=[0, 1]).set_params(binarize=2.0)
    with pytest.raises(ParameterError, match="`binarize`"):
        flags.partial_fit(abs(NOISY), SIDES)
    one, two = (
        LeastSquaresClassifier(features=FrozenEstimator(StandardScaler().fit(rows))).fit(
            NOISY, SIDES
        )
        for rows in (NOISY, NOISY[:100])
    )
    with pytest.raises(ParameterError, match="`features`"):
        one.merge(two)
    with pytest.raises(DataError, match="can only be merged with another"):
        one.merge([two])


@pytest.mark.parametrize(
    "model",
    [
        *(LeastSquaresClassifier(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()),
        *(FisherDiscriminant(), GaussianNB()),
    ],
)
def test_sums_that_overflow_are_refused(model):
    with pytest.raises(DataError, match="sums over the samples overflowed; scale the features"):
        model.fit(NOISY * 1e160, SIDES)
