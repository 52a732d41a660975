"""The twelve claims of `linear-classifiers`, each on the rows of one quick run."""

import json

import numpy as np
import pytest
from tests.studies.quick_runs import quick_run

from separatrix.experiments.run import run
from separatrix.experiments.steps import Row, RunContext, params_json
from separatrix.studies.linear import experiment
from separatrix.studies.linear.doubt import DISTANCES, DOUBT
from separatrix.studies.linear.generative import MESSAGES, TERMS, WORDS
from separatrix.studies.linear.geometry import DISTANCE, REGIONS, SOFTMAX
from separatrix.studies.linear.losses import FAR, LOSSES, loss_at
from separatrix.studies.linear.margins import COSTS, MARGINS
from separatrix.studies.linear.samples import angle_between
from separatrix.studies.linear.squares import FISHER, ONE_HOT, RIDGE


@pytest.fixture(scope="module")
def folder():
    return quick_run("linear-classifiers").folder


@pytest.fixture(scope="module")
def results():
    return quick_run("linear-classifiers").results


def _but_for_times(results):
    """As texts, because NaN is not equal to itself."""
    return [repr(row[: Row._fields.index("value") + 1]) for row in results.rows]


def about(row):
    return json.loads(row.parameters)


@pytest.mark.slow
def test_there_are_twelve_steps_and_each_has_rows(results):
    steps = [step.name for step in experiment().steps]

    assert len(steps) == 12
    assert list(dict.fromkeys(row.part for row in results.rows)) == steps


@pytest.mark.slow
def test_two_runs_differ_in_their_times_only(results, tmp_path):
    again = run(experiment(quick=True), tmp_path, progress=False)

    assert _but_for_times(again) == _but_for_times(results)
    for step, arrays in results.arrays.items():
        for name, array in arrays.items():
            np.testing.assert_array_equal(again.arrays[step][name], array)


def test_a_run_goes_on_where_it_was(results, folder):
    (folder / "steps" / "004.step").unlink()
    there = {}

    again = run(experiment(quick=True), folder, progress=False, done=there.__setitem__)

    assert [name for name, was in there.items() if not was] == [RIDGE]
    assert _but_for_times(again) == _but_for_times(results)


def test_another_seed_draws_other_samples(results):
    other = experiment(quick=True, seed=1)
    far = {step.name: step.run for step in other.steps}[FAR]

    found = far(RunContext(other))

    assert not np.array_equal(found.arrays["X"], results.arrays[FAR]["X"])


# 1


def test_the_signed_distance_is_the_perpendicular_of_every_linear_model(results):
    for metric in ("off_formula", "off_boundary_at_foot", "off_perpendicular"):
        values = results.values(part=DISTANCE, metric=metric)
        assert len(values) == 8  # four models, in two and in four dimensions
        assert values.max() < 1e-12
    assert (results.values(part=DISTANCE, metric="sign_is_the_class") == 1).all()


# 2


def test_only_the_largest_score_gives_every_place_a_class(results):
    left = {
        about(row)["rule"]: row.value
        for row in results.where(part=REGIONS, metric="area_share")
        if about(row)["region"] == "indeterminate"
    }

    assert left["predict"] == 0
    assert min(left["rest"], left["each"], left["pairs"]) > 0


def test_areas_are_those_of_the_cells(results):
    for rule in ("rest", "each", "pairs", "predict"):
        rows = [
            row
            for row in results.where(part=REGIONS, metric="area_share")
            if about(row)["rule"] == rule
        ]
        codes = results.arrays[REGIONS][f"{rule}_codes"]
        names = ("setosa", "versicolor", "virginica", "indeterminate")

        assert sum(row.value for row in rows) == pytest.approx(1, abs=1e-12)
        for row in rows:
            code = names.index(about(row)["region"])
            assert row.value == np.mean(codes == (-1 if code == 3 else code))


# 3


def test_the_squared_loss_charges_4_for_a_mistake_and_16_for_being_far(results):
    loss = {
        about(row)["margin"]: row.value
        for row in results.where(part=FAR, metric="loss", model="squared")
    }

    assert loss == {-1.0: 4.0, 5.0: 16.0}


def test_far_samples_turn_least_squares_and_leave_a_support_vector_machine_where_it_is(results):
    def turned(model):
        return results.values(part=FAR, metric="turned_degrees", model=model)

    assert (np.diff(turned("LeastSquaresClassifier")) > 0).all()
    assert turned("LeastSquaresClassifier")[-1] > 30
    assert turned("LogisticRegression").max() < 0.1
    assert turned("SVC").max() < 1e-6  # the solver's tolerance is 1e-10
    assert np.abs(results.values(part=FAR, metric="moved", model="SVC")).max() < 1e-8


def test_far_samples_make_only_least_squares_lose_near_ones(results):
    mistaken = {row.model: row.value for row in results.where(part=FAR, metric="near_mistaken")}

    assert mistaken["LeastSquaresClassifier"] > 0
    assert mistaken["LogisticRegression"] == mistaken["SVC"] == 0


# 4


def test_one_hot_targets_give_a_matrix_with_a_column_for_each_class(results):
    W, S = results.arrays[ONE_HOT]["W"], results.arrays[ONE_HOT]["scores"]

    assert W.shape == (5, 3)
    np.testing.assert_allclose(W.sum(axis=1), [1, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(S.sum(axis=1), 1, atol=1e-12)
    assert results.values(part=ONE_HOT, metric="off_normal_equations")[0] < 1e-10
    assert results.values(part=ONE_HOT, metric="argmax_agrees")[0] == 1


# 5


def test_the_ridge_meets_its_closed_form_and_the_limit_meets_the_ridge(results):
    assert results.values(part=RIDGE, metric="off_closed_form").max() < 1e-12
    assert results.values(part=RIDGE, metric="off_bias").max() < 1e-12
    assert results.values(part=RIDGE, metric="off_weights_of_limit").max() < 1e-10
    found = results.where(part=RIDGE, metric="ridge_of_limit")
    np.testing.assert_allclose(
        [row.value for row in found], [about(row)["ridge"] for row in found], rtol=1e-8
    )
    assert (np.diff(results.values(part=RIDGE, metric="squared_length")) < 0).all()


# 6


def test_no_direction_beats_fishers(results):
    ratios = results.arrays[FISHER]["ratios"]
    ours = results.values(part=FISHER, metric="ratio_of_model")[0]

    assert len(ratios) == 1000
    assert ours >= ratios.max()
    assert results.values(part=FISHER, metric="ratio", model="Fisher")[0] == pytest.approx(
        ours, rel=1e-10
    )
    assert results.values(part=FISHER, metric="between")[0] < 1e-10  # without its square
    assert results.values(part=FISHER, metric="degrees_from_formula")[0] < 1e-8


# 7


def test_quadratic_terms_cancel_with_one_covariance_and_only_then(results):
    def left(metric, model):
        return results.values(part=TERMS, metric=metric, model=model)

    assert (left("difference", "LinearDiscriminantAnalysis") == 0).all()
    assert np.abs(left("measured_difference", "LinearDiscriminantAnalysis")).max() < 1e-11
    curved = left("difference", "QuadraticDiscriminantAnalysis")
    assert (np.abs(curved) > 0.1).all()
    np.testing.assert_allclose(
        left("measured_difference", "QuadraticDiscriminantAnalysis"), curved, rtol=1e-9
    )


# 8


def test_shares_of_words_are_counts_over_counts(results):
    for kind in ("ham", "spam"):
        words = " ".join(text for label, text in MESSAGES if label == kind).split()
        for row in results.where(part=WORDS, metric="share"):
            if about(row)["kind"] == kind:
                share = words.count(about(row)["word"]) / len(words)
                assert row.value == pytest.approx(share, rel=1e-14, abs=0)


def test_a_word_never_met_is_impossible_without_smoothing_and_never_nan(results):
    rows = results.where(part=WORDS, metric="joint_log_probability")
    plain = [
        row.value
        for row in rows
        if about(row)["alpha"] == 0 and about(row)["text"] == "win lunch now"
    ]
    smooth = [row.value for row in rows if about(row)["alpha"] > 0]
    p = results.where(part=WORDS, metric="probability")
    spam = {
        about(row)["alpha"]: row.value
        for row in p
        if about(row)["text"] == "win lunch now" and about(row)["kind"] == "spam"
    }

    assert plain == [-np.inf, -np.inf]
    assert np.isfinite(smooth).all()
    assert not any(np.isnan(row.value) for row in p)
    assert spam[0.0] == pytest.approx(spam[1e-9], rel=1e-8)


# 9


def test_the_threshold_follows_from_the_costs_and_no_other_is_expected_to_be_cheaper(results):
    assert results.values(part=DOUBT, metric="off_cost_ratio").max() < 1e-15
    assert (results.values(part=DOUBT, metric="decides_by_threshold") == 1).all()
    here = results.values(part=DOUBT, metric="expected_cost")
    elsewhere = results.values(part=DOUBT, metric="least_expected_cost_elsewhere")
    assert (here <= elsewhere + 1e-15).all()


def test_far_from_the_data_only_bayes_stays_in_doubt(results):
    def along(model):
        return results.values(part=DOUBT, metric="probability", model=model)

    limit = results.values(part=DOUBT, metric="limit")[0]

    assert len(along("MLE")) == len(DISTANCES)
    assert min(along("MLE")[-1], along("MAP")[-1]) > 0.9999
    assert along("Bayes")[-1] == pytest.approx(limit, abs=1e-4)
    assert along("Bayes, by quadrature").max() < 0.95
    sure, unsure = along("MAP") - 0.5, along("Bayes") - 0.5
    assert (np.sign(sure) == np.sign(unsure)).all()  # the boundary is not moved
    assert (np.abs(unsure) < np.abs(sure)).all()


def test_mackays_values_are_the_published_ones(results):
    found = results.values(part=DOUBT, metric="mean_sigmoid")
    published = results.values(part=DOUBT, metric="published")

    assert len(found) == 12
    np.testing.assert_allclose(found, published, rtol=0, atol=5.1e-6)


# 10


@pytest.mark.slow
def test_softmax_sums_to_one_and_feels_only_differences(results):
    for metric in ("off_sum", "off_other_weights", "off_shifted_scores", "off_sigmoid_of_two"):
        assert results.values(part=SOFTMAX, metric=metric).max() < 1e-12
    assert results.values(part=SOFTMAX, metric="argmax_agrees")[0] == 1
    assert results.values(part=SOFTMAX, metric="indeterminate_share")[0] == 0
    assert results.values(part=SOFTMAX, metric="gradient")[0] <= 1e-8


# 11


def test_primal_and_dual_are_equal_at_every_price(results):
    gaps = results.values(part=MARGINS, metric="gap", model="SVC")

    assert len(gaps) == len(COSTS)
    assert np.abs(gaps).max() < 1e-9
    whole = [results.values(part=MARGINS, metric=f"whole_{side}")[0] for side in ("primal", "dual")]
    assert whole[0] == pytest.approx(whole[1], rel=1e-10)
    assert whole[0] == pytest.approx(
        2 * results.where(part=MARGINS, metric="primal", parameters=params_json(C=0.5))[0].value
    )
    assert results.values(part=MARGINS, metric="largest_multiplier")[0] <= 1


def test_conditions_of_the_optimum_hold_and_slack_is_sparse(results):
    for metric in ("worst_at_zero", "worst_between", "worst_at_C", "balance", "violation"):
        assert results.values(part=MARGINS, metric=metric).max() < 1e-9
    states = [results.values(part=MARGINS, metric=m) for m in ("a_zero", "a_between", "a_at_C")]
    with_slack = results.values(part=MARGINS, metric="with_slack")
    assert (sum(states) == 100).all()
    assert (with_slack <= states[2]).all()
    assert (results.values(part=MARGINS, metric="slack_below_C") == 0).all()
    assert (np.diff(with_slack) < 0).all()  # the higher the price, the fewer


def test_every_margin_vector_gives_the_same_bias(results):
    off = results.where(part=MARGINS, metric="off_w0")

    assert len({about(row)["C"] for row in off}) == 3
    assert max(abs(row.value) for row in off) < 1e-9


def test_both_ways_to_solve_end_at_the_same_objective_and_are_timed(results):
    rows = results.where(part=MARGINS, metric="objective")
    by_shape = {}
    for row in rows:
        by_shape.setdefault((about(row)["n"], about(row)["d"], about(row)["grows"]), []).append(
            row.value
        )

    assert all(len(both) == 2 for both in by_shape.values())
    for both in by_shape.values():
        assert both[0] == pytest.approx(both[1], rel=1e-7)
    assert len({row.seconds for row in rows}) == len(rows)
    assert results.values(part=MARGINS, metric="gap", model="LinearSVC").max() < 1e-6


# 12


def test_losses_have_the_values_of_their_formulas():
    t = np.linspace(-3, 6, 19)

    np.testing.assert_allclose(loss_at("hinge", t), np.maximum(0, 1 - t), rtol=1e-15)
    np.testing.assert_allclose(loss_at("logistic", t), np.logaddexp(0, -t), rtol=1e-14)
    np.testing.assert_allclose(loss_at("sigmoid", t), -1 / (1 + np.exp(-t)), rtol=1e-14)
    np.testing.assert_array_equal(loss_at("squared", t), (1 - t) ** 2)


def test_the_sigmoid_loss_alone_is_not_convex_and_the_squared_alone_charges_the_right(results):
    least = {
        row.model: row.value for row in results.where(part=LOSSES, metric="least_second_difference")
    }
    far = {row.model: row.value for row in results.where(part=LOSSES, metric="cost_of_margin_6")}

    assert [name for name, value in least.items() if value < -1e-12] == ["sigmoid"]
    assert [name for name, value in far.items() if value > 0] == ["squared"]


def test_a_small_angle_keeps_its_digits():
    assert angle_between(np.array([1.0, 0.0]), np.array([1.0, 1e-12])) == pytest.approx(
        np.degrees(1e-12)
    )
