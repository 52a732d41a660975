import numpy as np
import pytest
from tests.kernels.strings.test_subsequence import letters, products

from separatrix.kernels.strings import subsequence_attribution
from separatrix.kernels.strings.subsequence_attribution import attribute_letters


@pytest.mark.parametrize("decay", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_a_contribution_is_the_loss_without_the_letter(k, decay):
    rng = np.random.default_rng(k)
    x, others = rng.integers(0, 3, 40), [rng.integers(0, 3, n) for n in rng.integers(0, 50, 19)]
    coef = rng.integers(-4, 5, 19).astype(float)
    replaced = [x.copy() for _ in x]
    for i, string in enumerate(replaced):
        string[i] = 99
    scores = products([x, *replaced], others, k, decay) @ coef

    values = attribute_letters(x, letters(others), coef, k, decay)

    size = products([x], others, k, decay) @ abs(coef)
    np.testing.assert_allclose(values, (scores[0] - scores[1:]) / k, rtol=0, atol=1e-13 * size[0])
    np.testing.assert_allclose(values.sum(), scores[0], rtol=0, atol=1e-13 * size[0])


@pytest.mark.parametrize("chunk", [1, 10**9])
def test_neither_threads_nor_chunks_change_the_attribution(chunk, monkeypatch):
    rng = np.random.default_rng(9)
    x = rng.integers(0, 4, 70)
    others = letters([rng.integers(0, 4, n) for n in rng.integers(0, 90, 30)])
    coef = rng.normal(size=30)
    expected = attribute_letters(x, others, coef, 4, 0.5)
    monkeypatch.setattr(subsequence_attribution, "CHUNK", chunk)

    np.testing.assert_array_equal(attribute_letters(x, others, coef, 4, 0.5, threads=2), expected)


@pytest.mark.parametrize(("x", "others"), [([], ["ab"]), ([1], []), ([1, 2], [""])])
def test_empty_strings_have_no_contributions(x, others):
    others = letters(others)
    coef = np.ones(len(others.starts) - 1)

    values = attribute_letters(np.array(x, np.int64), others, coef, 2, 0.5)

    np.testing.assert_array_equal(values, np.zeros(len(x)))
