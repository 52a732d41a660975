import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from separatrix.evaluation.statistics import corrected_t, holm, interval


def test_the_corrected_test_is_the_formula_of_the_paper():
    d = np.array([0.031, -0.004, 0.02, 0.012, 0.025, 0.007, 0.018, 0.0, 0.011, 0.03])
    found = corrected_t(d, ratio=1 / 9)
    r, s2 = 10, ((d - d.mean()) ** 2).sum() / 9
    t = d.mean() / np.sqrt((1 / r + 1 / 9) * s2)
    assert found.mean == d.mean()
    assert found.p == pytest.approx(2 * (1 - student.cdf(t, 9)), rel=1e-9)
    assert found.half_width == pytest.approx(2.2621571628 * np.sqrt((1 / r + 1 / 9) * s2))


def test_without_overlap_it_is_students_test():
    d = np.random.default_rng(0).normal(0.3, 1.0, size=12)
    assert corrected_t(d, ratio=0.0).p == pytest.approx(ttest_1samp(d, 0).pvalue, rel=1e-9)


def resampled_differences(rng, n, repeats, test_size):
    """Differences of two classifiers that are equally good, on overlapping splits of one sample.

    One cuts the first feature between the means of the classes, the other one the second. The features
    are drawn alike, so neither is better.
    """
    y = np.arange(n) % 2 == 0
    X = rng.normal(size=(n, 2)) + np.where(y, 0.5, -0.5)[:, None]
    found = []
    for _ in range(repeats):
        order = rng.permutation(n)
        test, train = order[:test_size], order[test_size:]
        cut = (X[train][y[train]].mean(axis=0) + X[train][~y[train]].mean(axis=0)) / 2
        wrong = (X[test] > cut) != y[test][:, None]
        found.append(wrong[:, 0].mean() - wrong[:, 1].mean())
    return np.array(found)


@pytest.mark.slow
def test_the_plain_test_rejects_far_too_often_and_the_corrected_one_does_not():
    rng = np.random.default_rng(0)
    runs = [resampled_differences(rng, n=100, repeats=15, test_size=20) for _ in range(400)]
    plain = np.mean([corrected_t(d, ratio=0.0).p < 0.05 for d in runs])
    corrected = np.mean([corrected_t(d, ratio=20 / 80).p < 0.05 for d in runs])
    assert plain > 0.2
    assert corrected < 0.07


def test_one_row_more_in_every_fold_is_no_certain_difference():
    equal = np.full(5, 1 / 360)
    assert corrected_t(equal, ratio=0.25, rows=360).p > 0.1
    nearly = np.array([1 / 360, 1 / 360, 1 / 359, 1 / 359, 1 / 359])
    assert corrected_t(nearly, ratio=0.25, rows=360).p > 0.1
    assert corrected_t(nearly, ratio=0.25).p < 1e-6  # what the spread alone would say
    assert np.isnan(corrected_t(equal, ratio=0.25).p)


def test_no_row_that_differs_is_no_difference_and_one_split_says_nothing():
    assert corrected_t(np.zeros(5), ratio=0.25).p == 1
    assert np.isnan(corrected_t([0.1], ratio=0.25, rows=10).p)


def test_counting_rows_gives_the_least_spread():
    d = np.array([0.1, 0.1, 0.1, 0.1001])
    found = corrected_t(d, ratio=0.25, rows=50)
    assert found.error == pytest.approx(np.sqrt(0.5 * d.mean() * (1 - d.mean()) / 50))


def test_intervals_hold_the_mean_and_stay_within_0_and_1():
    low, high = interval([0.0, 0.01, 0.0, 0.02], ratio=0.25, rows=100, tested=400)
    assert low == 0
    assert 0.0075 < high < 1
    low, high = interval([0.0, 0.0], ratio=1.0, rows=20, tested=40)
    assert low == 0
    assert high == pytest.approx(0.0876, abs=1e-4)  # Wilson's, for 0 of 40
    assert interval([0.2], ratio=0.25, rows=50, tested=50) == pytest.approx(
        (0.1124, 0.3304), abs=1e-4
    )


def test_intervals_cover_the_true_error():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        wrong = rng.random(100) < 0.1
        errors = wrong[rng.permutation(100)].reshape(5, 20).mean(axis=1)
        low, high = interval(errors, ratio=0.25, rows=20, tested=100)
        covered += low <= 0.1 <= high
    assert covered / 300 >= 0.94


def holm_step_by_step(p, level):
    """Which are rejected, straight from the paper: smallest first, until one is not small enough."""
    order, rejected = np.argsort(p), np.zeros(len(p), dtype=bool)
    for step, position in enumerate(order):
        if p[position] > level / (len(p) - step):
            break
        rejected[position] = True
    return rejected


@pytest.mark.parametrize("seed", range(20))
def test_holm_rejects_what_the_steps_of_the_paper_reject(seed):
    rng = np.random.default_rng(seed)
    p = rng.random(8) ** 4
    for level in (0.01, 0.05, 0.2):
        np.testing.assert_array_equal(holm(p) <= level, holm_step_by_step(p, level))


def test_holm_gives_the_known_example_and_keeps_what_could_not_be_tested():
    np.testing.assert_allclose(holm([0.01, 0.02, 0.03, 0.04, 0.05]), [0.05, 0.08, 0.09, 0.09, 0.09])
    found = holm([0.01, np.nan, 0.5])
    assert found[0] == pytest.approx(0.03)
    assert np.isnan(found[1])
    assert len(holm([])) == 0


@pytest.mark.slow
def test_pairs_with_the_best_are_too_small_a_family_and_all_pairs_are_not():
    """Thirteen classifiers that are equally good; which is best is only seen in their errors."""
    rng, wrong = np.random.default_rng(0), np.zeros(2)
    one, other = np.triu_indices(13, 1)
    for _ in range(100):
        y = np.arange(100) % 2 == 0
        X = rng.normal(size=(100, 13)) + np.where(y, 0.5, -0.5)[:, None]
        errors = []
        for _ in range(20):
            trained = np.ones(100, dtype=bool)
            trained[rng.permutation(100)[:20]] = False
            cut = (X[trained & y].mean(axis=0) + X[trained & ~y].mean(axis=0)) / 2
            errors.append(((X[~trained] > cut) != y[~trained][:, None]).mean(axis=0))
        errors = np.array(errors)
        p = np.array(
            [
                corrected_t(errors[:, a] - errors[:, b], ratio=0.25, rows=20).p
                for a, b in zip(one, other, strict=True)
            ]
        )
        best = errors.mean(axis=0).argmin()
        with_the_best = (one == best) | (other == best)
        wrong += [(holm(p[with_the_best]) < 0.05).any(), (holm(p) < 0.05)[with_the_best].any()]
    assert wrong[0] / 100 > 0.1
    assert wrong[1] / 100 < 0.06
