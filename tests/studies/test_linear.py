"""The twelve claims of `linear-classifiers`, each on the rows of one quick run."""

import dataclasses
import json
from html import unescape

import numpy as np
import pytest
from tests.studies.quick_runs import quick_run

from separatrix.errors import ExperimentError
from separatrix.experiments.run import run
from separatrix.experiments.steps import Row, RunContext, params_json
from separatrix.report.page import Picture, render
from separatrix.studies.linear import all_claims, experiment, page
from separatrix.studies.linear.doubt import DISTANCES, DOUBT
from separatrix.studies.linear.generative import MESSAGES, TERMS, WORDS
from separatrix.studies.linear.geometry import DISTANCE, REGIONS, SOFTMAX
from separatrix.studies.linear.losses import FAR, LOSSES, loss_at
from separatrix.studies.linear.margins import COSTS, MARGINS
from separatrix.studies.linear.samples import angle_between
from separatrix.studies.linear.separators import margins_by_line
from separatrix.studies.linear.squares import FISHER, ONE_HOT, RIDGE
from separatrix.studies.views import single_value


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


def test_a_run_goes_on_where_it_was(results, folder):
    (folder / "steps" / "004.step").unlink()
    there = {}

    again = run(experiment(quick=True), folder, progress=False, done=there.__setitem__)

    assert [name for name, was in there.items() if not was] == [RIDGE]
    assert _but_for_times(again) == _but_for_times(results)


def test_lines_without_an_error_have_different_margins_and_the_svm_the_largest(results):
    margins = margins_by_line(results, MARGINS)
    *others, largest = margins.values()
    assert len(others) == 5
    assert min(others) > 0  # all of them separate
    assert max(others) < 0.8 * largest
    assert min(others) < 0.05 * largest
    assert largest == pytest.approx(0.65192, abs=1e-5)
    shown = page(results).sections[11].shows[0]
    assert len(shown.figure.axes) == 6
    assert [row[1] for row in shown.table.rows] == list(margins.values())


def test_another_seed_draws_other_samples(results):
    other = experiment(quick=True, seed=1)
    far = {step.name: step.run for step in other.steps}[FAR]

    found = far(RunContext(other))

    assert not np.array_equal(found.arrays["X"], results.arrays[FAR]["X"])


# deviations that are rounding, by part and metric, with the largest that is allowed
ROUNDING = {
    (DISTANCE, "off_formula"): 1e-12,
    (DISTANCE, "off_boundary_at_foot"): 1e-12,
    (DISTANCE, "off_perpendicular"): 1e-12,
    (ONE_HOT, "off_normal_equations"): 1e-10,
    (RIDGE, "off_closed_form"): 1e-12,
    (RIDGE, "off_bias"): 1e-12,
    (RIDGE, "off_weights_of_limit"): 1e-10,
    (FISHER, "between"): 1e-10,  # without its square
    (FISHER, "degrees_from_formula"): 1e-8,
    (DOUBT, "off_cost_ratio"): 1e-15,
    (SOFTMAX, "off_sum"): 1e-12,
    (SOFTMAX, "off_other_weights"): 1e-12,
    (SOFTMAX, "off_shifted_scores"): 1e-12,
    (SOFTMAX, "off_sigmoid_of_two"): 1e-12,
    (SOFTMAX, "indeterminate_share"): 1e-300,
    (SOFTMAX, "gradient"): 1.01e-8,
    (MARGINS, "worst_at_zero"): 1e-9,
    (MARGINS, "worst_between"): 1e-9,
    (MARGINS, "worst_at_C"): 1e-9,
    (MARGINS, "balance"): 1e-9,
    (MARGINS, "violation"): 1e-9,
    (MARGINS, "off_w0"): 1e-9,
}
AGREEMENT = (
    (DISTANCE, "sign_is_the_class"),
    (ONE_HOT, "argmax_agrees"),
    (DOUBT, "decides_by_threshold"),
    (SOFTMAX, "argmax_agrees"),
)


@pytest.mark.parametrize(("part", "metric"), ROUNDING)
def test_deviations_are_rounding(part, metric, results):
    assert np.abs(results.values(part=part, metric=metric)).max() < ROUNDING[part, metric]


@pytest.mark.parametrize(("part", "metric"), AGREEMENT)
def test_decisions_agree_everywhere(part, metric, results):
    values = results.values(part=part, metric=metric)
    assert len(values)
    assert (values == 1).all()


# 2


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


# 5


def test_the_limit_meets_the_ridge(results):
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


def test_slack_is_sparse(results):
    states = [results.values(part=MARGINS, metric=m) for m in ("a_zero", "a_between", "a_at_C")]
    with_slack = results.values(part=MARGINS, metric="with_slack")
    assert (sum(states) == 100).all()
    assert (with_slack <= states[2]).all()
    assert (results.values(part=MARGINS, metric="slack_below_C") == 0).all()
    assert (np.diff(with_slack) < 0).all()  # the higher the price, the fewer


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


# the page


@pytest.fixture(scope="module")
def shown(results):
    return page(results)


@pytest.mark.slow
def test_every_part_has_a_section_with_a_picture_and_its_numbers(shown):
    parts = shown.sections[1:]

    assert [section.title.split(" ·")[0] for section in parts] == [str(i) for i in range(1, 13)]
    for section in parts:
        pictures = [one for one in section.shows if isinstance(one, Picture)]
        assert pictures
        assert section.words
        assert all(picture.caption and picture.table.rows for picture in pictures)


def test_every_axis_of_every_picture_is_named_or_has_no_ticks(shown):
    for section in shown.sections:
        for one in section.shows:
            if isinstance(one, Picture):
                named = [(axes.get_xlabel(), axes.get_ylabel()) for axes in one.figure.axes]
                words = [
                    text.get_text() for axes in one.figure.axes for text in axes.get_xticklabels()
                ]
                assert any(x or y for x, y in named) or any(word.isalpha() for word in words)


def test_all_claims_hold(results):
    found = all_claims(results)

    assert {claim.part for claim in found} == set(range(1, 13))
    assert [claim.caption for claim in found if not claim.holds] == []


@pytest.mark.slow
def test_a_claim_that_fails_is_reported_first(results):
    parameters = params_json(region="indeterminate", rule="predict")
    rows = [
        row._replace(value=0.25) if (row.part, row.parameters) == (REGIONS, parameters) else row
        for row in results.rows
    ]

    summary = page(dataclasses.replace(results, rows=rows)).summary[0]

    assert summary.startswith("1 of ")
    assert "part 2, the largest score leaves none" in summary


@pytest.mark.slow
def test_the_page_renders_with_all_pictures_and_how_to_run_it_again(shown):
    html = render(shown)
    again = "make(\"linear-classifiers\", quick=True, seed=0, data='iris')"

    assert html.count("<svg") == sum(
        isinstance(one, Picture) for section in shown.sections for one in section.shows
    )
    assert "separatrix run linear-classifiers --quick --seed 0 --data iris" in html
    assert again in unescape(html)


def test_a_missing_row_is_reported(results):
    with pytest.raises(ExperimentError, match="has no row of 2 regions, weight"):
        single_value(results, REGIONS, "weight")
