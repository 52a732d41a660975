import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from separatrix import SVC, LinearSVC
from separatrix.errors import DataError, MemoryBudgetError, ParameterError
from separatrix.evaluation import regions as module
from separatrix.evaluation.regions import decision_regions
from separatrix.evaluation.rules import RULES

# Corners of the square [0, 4] x [0, 4], so that with margin=0 it is what is cut into cells.
SQUARE = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]])
LABELS = np.array(["a", "b", "c", "c"])


class KnownLines(ClassifierMixin, BaseEstimator):
    """Binary classifier whose boundary is known beforehand: it looks up whom it was given."""

    def __init__(self, lines=None, scores=True):
        self.lines = lines
        self.scores = scores

    def fit(self, X, y):
        positive, negative = (tuple(map(tuple, X[y == side].tolist())) for side in (1, -1))
        self.classes_ = np.array([-1, 1])
        self.w_ = np.array(self.lines[positive, negative])
        return self

    def __getattr__(self, name):
        if name == "decision_function" and self.__dict__.get("scores"):
            return lambda X: X @ self.w_[:2] + self.w_[2]
        raise AttributeError(name)

    def predict(self, X):
        return np.where(X @ self.w_[:2] + self.w_[2] > 0, 1, -1)


def lines(**by_classes):
    """Lines as KnownLines looks them up: "a_bc" is what separates a, positive, from b and c."""

    def rows(labels):
        return tuple(
            tuple(row)
            for row, label in zip(SQUARE.tolist(), LABELS, strict=True)
            if label in labels
        )

    return {tuple(map(rows, key.split("_"))): line for key, line in by_classes.items()}


# a claims x < 2, b claims y < 1, c claims x + y > 4: areas of the square of 16 can be counted.
AGAINST_REST = lines(a_bc=(-1, 0, 2), b_ac=(0, -1, 1), c_ab=(1, 1, -4))
# a beats b where x < 2.5, a beats c where y < 2.5, b beats c where x + y < 3
PAIRWISE = lines(a_b=(-1, 0, 2.5), a_c=(0, -1, 2.5), b_c=(-1, -1, 3))


def code_at(found, x, y):
    return int(found.codes[np.abs(found.second - y).argmin(), np.abs(found.first - x).argmin()])


def on_the_square(rule, known, *, scores=True, grid=400):
    return decision_regions(
        KnownLines(known, scores), SQUARE, LABELS, rule=rule, grid=grid, margin=0
    )


def test_a_position_that_two_classes_claim_has_no_class():
    found = on_the_square("rest", AGAINST_REST)

    # a alone: 2 x 3; b alone: 2 x 1; nobody, so c: 2 x 3; both: 2 x 1; all cells lie on one side
    assert found.share == {"a": 6 / 16, "b": 2 / 16, "c": 6 / 16, None: 2 / 16}
    assert [code_at(found, *position) for position in ((1, 2), (3, 0.5), (3, 2), (1, 0.5))] == [
        0,
        1,
        2,
        -1,
    ]


def test_with_a_boundary_for_each_class_exactly_one_must_claim_a_position():
    found = on_the_square("each", AGAINST_REST)

    cells = found.first[None, :], found.second[:, None]
    claims = np.stack(
        np.broadcast_arrays(cells[0] < 2, cells[1] < 1, cells[0] + cells[1] > 4)
    ).astype(int)
    expected = np.where(claims.sum(axis=0) == 1, claims.argmax(axis=0), -1)
    np.testing.assert_array_equal(found.codes, expected)
    assert code_at(found, 2.2, 1.2) == -1  # nobody's
    assert code_at(found, 1, 3.5) == -1  # a's and c's


def test_a_position_whose_pairs_vote_in_a_circle_has_no_class():
    found = on_the_square("pairs", PAIRWISE)

    # In the triangle x < 2.5, y > 2.5, x + y < 3 each class wins once: a over b, c over a, b over c.
    # Where x > 2.5, y < 2.5, x + y > 3 too: b over a, a over c, c over b.
    assert code_at(found, 0.1, 2.6) == -1
    assert code_at(found, 3.5, 1.0) == -1
    area = 0.5**2 / 2 + (1.5 * 2.5 - 0.5**2 / 2)
    np.testing.assert_allclose(found.indeterminate, area / 16, atol=2 / 400)
    assert [code_at(found, *position) for position in ((1, 1), (2.6, 0.2), (3, 3))] == [0, 1, 2]


@pytest.mark.parametrize("rule", RULES)
def test_shares_sum_to_one_and_argmax_leaves_nothing_out(rule):
    X, y = load_iris(return_X_y=True)

    found = decision_regions(LinearSVC(), X[:, 2:], y, rule=rule)

    assert sum(found.share.values()) == pytest.approx(1, abs=1e-15)
    assert list(found.share) == [0, 1, 2, None]
    assert (found.indeterminate == 0) == (rule == "predict")
    assert [row["share"] for row in found.rows()] == [100 * part for part in found.share.values()]
    again = decision_regions(LinearSVC(), X[:, 2:], y, rule=rule)
    np.testing.assert_array_equal(found.codes, again.codes)


def test_votes_are_those_of_scikit_learn_wherever_one_class_has_the_most():
    X, y = load_iris(return_X_y=True)
    X = X[:, 2:]

    found = decision_regions(LinearSVC(), X, y, rule="pairs", grid=100)

    peer = decision_regions(OneVsOneClassifier(LinearSVC()), X, y, grid=100)
    decided = found.codes >= 0
    assert 0 < decided.mean() < 1
    np.testing.assert_array_equal(found.codes[decided], peer.codes[decided])


def test_a_fitted_model_is_asked_and_any_other_is_fitted_as_a_clone():
    X, y = load_iris(return_X_y=True)
    X = X[:, 2:]
    model = LinearSVC()

    found = decision_regions(model, X, y, grid=50)
    assert not hasattr(model, "coef_")
    model.fit(X, y)
    np.testing.assert_array_equal(decision_regions(model, X, y, grid=50).codes, found.codes)

    # fitted elsewhere, shown with samples of two of its classes: it is not fitted again
    part = decision_regions(model, X[:100], y[:100], grid=50)
    cells = np.stack(np.meshgrid(part.first, part.second), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(part.labels[part.codes].ravel(), model.predict(cells))
    assert part.labels.tolist() == [0, 1, 2]


def test_whatever_predicts_has_regions():
    class Halves:
        def predict(self, X):
            return np.where(X[:, 0] > 1, "right", "left")

    found = decision_regions(Halves(), SQUARE, ["left", "right", "left", "right"], margin=0)

    assert found.share == {"left": 1 / 4, "right": 3 / 4, None: 0}
    np.testing.assert_array_equal(found.fields[0], np.where(found.codes == 1, 1, -1))


@pytest.mark.parametrize(
    "model", [LinearSVC(), SVC(gamma=2.0), GaussianNB(), KNeighborsClassifier(3), DummyClassifier()]
)
@pytest.mark.parametrize("rule", RULES)
def test_there_is_a_field_for_each_boundary_above_0_on_its_own_side(model, rule):
    X, y = load_iris(return_X_y=True)

    found = decision_regions(model, X[:, 2:], y, rule=rule, grid=40)

    if rule == "predict":
        assert (found.fields[0][~found.undecided] > 0).all()  # the lead of the predicted class
    assert found.fields.shape == ({"predict": 1, "rest": 2, "each": 3, "pairs": 3}[rule], 40, 40)


def test_fields_of_a_linear_model_are_its_scores():
    scored, steps = (on_the_square("rest", AGAINST_REST, scores=scores) for scores in (True, False))

    np.testing.assert_array_equal(scored.codes, steps.codes)
    expected = np.broadcast_to(2 - scored.first, (400, 400))
    np.testing.assert_allclose(scored.fields[0], expected, atol=1e-6)
    np.testing.assert_array_equal(steps.fields[0], np.sign(expected))


def test_two_classes_need_one_boundary():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100, 2:], y[:100]

    found = {rule: decision_regions(LinearSVC(), X, y, rule=rule, grid=50) for rule in RULES}

    assert [len(found[rule].fields) for rule in RULES] == [1, 1, 2, 1]
    assert found["rest"].indeterminate == found["pairs"].indeterminate == 0
    np.testing.assert_array_equal(found["pairs"].codes, found["predict"].codes)


def test_cells_cover_the_samples_and_a_margin_around_them():
    found = decision_regions(GaussianNB(), [[0, 5], [10, 5], [2, 5]], [0, 1, 0], grid=10)

    np.testing.assert_allclose(found.first, np.arange(-0.4, 11, 1.2))
    np.testing.assert_allclose(found.second, np.arange(4.55, 5.5, 0.1))


def test_the_table_says_how_it_was_got():
    text = str(on_the_square("rest", AGAINST_REST)).splitlines()

    assert text[0].startswith("KnownLines, each class but the last against the rest: share of 400")
    assert [line.split() for line in text[1:]] == [
        ["region", "area", "%"],
        ["a", "37.50"],
        ["b", "12.50"],
        ["c", "37.50"],
        ["indeterminate", "12.50"],
    ]


@pytest.mark.parametrize(
    ("changed", "error", "sentence"),
    [
        ({"rule": "vote"}, ParameterError, "`rule` of decision_regions must be one of 'predict'"),
        ({"grid": 9}, ParameterError, "`grid` .* must be an integer from 10 to 2000; got 9"),
        ({"grid": 2001}, ParameterError, "from 10 to 2000; got 2001"),
        ({"grid": 20.0}, ParameterError, "from 10 to 2000; got 20.0"),
        ({"window": (1, 0, 0, 1)}, ParameterError, r"`window` .* x0 < x1 and y0 < y1; got \(1, 0"),
        ({"window": (0, 1, 0)}, ParameterError, "`window` .* four numbers"),
        ({"window": (0, np.inf, 0, 1)}, ParameterError, "`window` .* four numbers"),
        ({"window": "0101"}, ParameterError, "`window` .* four numbers"),
        ({"margin": -0.1}, ParameterError, "`margin` .* at least 0; got -0.1"),
        ({"model": object()}, ParameterError, "`model` .* a classifier with predict; got"),
        ({"X": np.ones((4, 3))}, DataError, "2 features; got 3: .* FisherDiscriminant or PCA"),
        ({"y": [1, 1, 1, 1], "rule": "pairs"}, DataError, "at least 2 classes; got one, 1"),
        ({"y": [1, 2, 3, 4], "model": LinearSVC().fit(SQUARE, LABELS)}, DataError, "it was fitted"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence(changed, error, sentence):
    given = {"model": LinearSVC(), "X": SQUARE, "y": LABELS, **changed}

    with pytest.raises(error, match=sentence):
        decision_regions(given.pop("model"), given.pop("X"), given.pop("y"), **given)


def test_a_rule_that_trains_needs_a_model_that_can_be_trained():
    class OnlyPredicts:
        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(ParameterError, match="cloned and fitted for rule='pairs'"):
        decision_regions(OnlyPredicts(), SQUARE, LABELS, rule="pairs")


def test_more_boundaries_than_memory_ask_for_a_smaller_grid(monkeypatch):
    monkeypatch.setattr(module, "default_budget", lambda: 1000)

    with pytest.raises(MemoryBudgetError, match=r"3 boundaries on 100 cells .* a smaller grid"):
        decision_regions(GaussianNB(), SQUARE, LABELS, rule="pairs", grid=10)


def test_a_window_is_what_is_cut_into_cells():
    found = decision_regions(GaussianNB(), SQUARE, LABELS, grid=10, window=(-1, 1, 5, 6))

    np.testing.assert_allclose(found.first, np.linspace(-0.9, 0.9, 10))
    np.testing.assert_allclose(found.second, np.linspace(5.05, 5.95, 10))


def test_the_window_of_the_samples_range_changes_nothing():
    model = SVC(gamma=0.3)
    by_range = decision_regions(model, SQUARE, LABELS, grid=30, margin=0)
    by_window = decision_regions(model, SQUARE, LABELS, grid=30, window=(0, 4, 0, 4))

    np.testing.assert_array_equal(by_range.codes, by_window.codes)
    np.testing.assert_array_equal(by_range.fields, by_window.fields)


@pytest.mark.parametrize("rule", RULES)
def test_other_positions_are_classified_by_the_same_rule(rule):
    X, y = load_iris(return_X_y=True)
    found = decision_regions(LinearSVC(), X[:, 2:], y, rule=rule, grid=40)
    positions = np.stack(np.meshgrid(found.first, found.second), axis=-1).reshape(-1, 2)

    np.testing.assert_array_equal(found.codes_at(positions).reshape(40, 40), found.codes)


def test_machines_are_what_was_trained_and_on_which_samples():
    X, y = load_iris(return_X_y=True)
    own = decision_regions(SVC(), X[:, 2:], y, grid=10)
    pairs = decision_regions(SVC(), X[:, 2:], y, grid=10, rule="pairs")

    assert own.machines[0].fitted.classes_.tolist() == [0, 1, 2]
    assert own.machines[0].rows.tolist() == list(range(150))
    assert [sorted(set(y[machine.rows].tolist())) for machine in pairs.machines] == [
        [0, 1],
        [0, 2],
        [1, 2],
    ]


def test_the_boundary_of_votes_is_where_the_prediction_changes():
    """Votes are steps: between two cells the model is asked where its class changes."""
    X, y = load_iris(return_X_y=True)
    found = decision_regions(SVC(C=1.0, gamma=1.0), X[:, 2:], y, grid=40)

    i, j = np.nonzero(~np.isnan(found.crossings[0]))
    step = found.first[1] - found.first[0]
    for row, column in zip(i, j, strict=True):
        fine = np.linspace(found.first[column], found.first[column + 1], 201)
        codes = found.codes_at(np.column_stack([fine, np.full(201, found.second[row])]))
        change = fine[np.argmax(codes != found.codes[row, column])] - found.first[column]
        assert change / step == pytest.approx(found.crossings[0, row, column], abs=0.02)
    assert len(i) > 20
