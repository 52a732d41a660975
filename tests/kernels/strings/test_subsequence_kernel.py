import pytest

from separatrix.errors import DataError, ParameterError
from separatrix.kernels import Normalized, Subsequence


@pytest.mark.slow
@pytest.mark.parametrize("around", [lambda k: k, Normalized])
def test_values_that_overflow_are_refused(around):
    X = ["a" * 1000, "a" * 999]

    with pytest.raises(DataError, match="overflow float64; lower k or decay"):
        around(Subsequence(400, decay=1.0)).block(X, X)


def test_a_decay_that_underflows_is_refused():
    with pytest.raises(ParameterError, match="larger for k=100"):
        Subsequence(100, decay=0.01)
