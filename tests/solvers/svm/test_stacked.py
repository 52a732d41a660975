import numpy as np
import pytest

from separatrix.estimators.base.support import Support
from separatrix.kernels import Gaussian
from separatrix.kernels.gram.build import make_gram
from separatrix.solvers.decomposition import ClassSides, coding
from separatrix.solvers.svm import solve_svms
from separatrix.solvers.svm.problem import SvmProblem
from separatrix.solvers.svm.stacked import FitNumbers, StackedFits, StackedProblems

RNG = np.random.default_rng(3)
SEGMENTS = (slice(0, 12), slice(12, 30), slice(30, 41))
X = RNG.normal(size=(41, 3)) + np.repeat([0.0, 1.0, 2.0], [12, 18, 11])[:, None]
SIDES = coding(3, "ovo")
BOXES = [np.where(np.arange(41) % 3 == fold, 0.0, 2.0) for fold in range(3)]


@pytest.fixture
def gram():
    return make_gram(Gaussian(0.3), X, segments=SEGMENTS, tolerance=1e-12, hold=True)


def same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_stacked_problems_are_those_of_a_list(gram):
    listed = [SvmProblem(side, box) for box in BOXES for side in SIDES.T]
    stacked = StackedProblems.for_each(SEGMENTS, ClassSides.of(SIDES), BOXES)

    assert len(stacked) == 9
    for one, other in zip(stacked, listed, strict=True):
        same(one[:2], other[:2])
        assert one.start is None
    for one, other in zip(solve_svms(gram, stacked), solve_svms(gram, listed), strict=True):
        same(one, other)


def test_some_problems_of_a_list_may_have_a_start_and_some_its_errors(gram):
    cold = [SvmProblem(side, BOXES[0]) for side in SIDES.T]
    fits = solve_svms(gram, cold, tol=1e-6)
    mixed = [
        cold[0],
        cold[1]._replace(start=fits[1].alpha),
        cold[2]._replace(start=fits[2].alpha, start_errors=fits[2].errors),
    ]

    again = solve_svms(gram, mixed, tol=1e-6)

    same(again[0], fits[0])
    assert [fit.n_iter == 0 for fit in again] == [False, True, True]
    assert [fit.dual for fit in again] == pytest.approx([fit.dual for fit in fits])


def test_parts_of_stacked_fits_are_the_fits_of_their_problems(gram):
    sides = ClassSides.for_scheme(3, "ovo")
    fits = StackedFits.of(solve_svms(gram, StackedProblems.for_each(SEGMENTS, sides, BOXES)))
    part = fits[3:6]
    assert isinstance(part, StackedFits)
    for one, other in zip(part, list(fits)[3:6], strict=True):
        same(one, other)
    same(part.intercepts, [fit.intercept for fit in part])
    of_list = StackedFits.of(list(part))
    same(of_list.certificates, part.certificates)
    one, other = (Support.of(f, 3, "ovo", segments=SEGMENTS) for f in (part, list(part)))
    same((one.rows, one.coef, one.intercept), (other.rows, other.coef, other.intercept))


def test_numbers_of_stacked_fits_are_those_of_a_list(gram):
    hard = [np.full(41, np.inf), np.full(41, 0.5)]
    problems = StackedProblems.for_each(SEGMENTS, ClassSides.for_scheme(3, "ovr"), hard)
    fits = solve_svms(gram, problems, max_iter=40)
    assert isinstance(fits, StackedFits)

    numbers = FitNumbers.of(fits)

    same(numbers, FitNumbers.of(list(fits)))
    same(numbers.margin_widths, [fit.margin_width for fit in fits])
    assert len(set(numbers.stops.tolist())) > 1
    same(fits.scores, np.concatenate([fit.scores for fit in fits]))


def test_rows_and_steps_of_stacked_fits_can_be_replaced(gram):
    fits = StackedFits.of(solve_svms(gram, [SvmProblem(side, BOXES[0]) for side in SIDES.T]))

    other = fits.with_rows(fits.rows[::-1]).with_steps(fits.steps + 1)

    same(other[0].rows, fits.rows[::-1][: len(fits[0].rows)])
    same(other[0][1:10], fits[0][1:10])
    assert [fit.n_iter - 1 for fit in other] == fits.steps.tolist()
