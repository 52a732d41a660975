"""Twelve claims about linear and probabilistic classifiers, each checked in numbers.

A part is one step: its rows hold the claim and the deviation from it, its arrays the figure.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from separatrix.data.catalogue.find import find
from separatrix.experiments.steps import Experiment, Results, Step
from separatrix.report.page import Page, Section, Table
from separatrix.studies.inputs import MOST_FEATURES, MOST_ROWS
from separatrix.studies.linear import (
    doubt,
    generative,
    geometry,
    losses,
    margins,
    samples,
    separators,
    squares,
)
from separatrix.studies.views import largest_value, single_value, study_page

MADE_UP = (losses.FAR, generative.WORDS, doubt.DOUBT, losses.LOSSES)  # parts with data of their own
ROUNDING = 1e-9  # largest rounding error of a zero
PARTS = (
    (geometry.DISTANCE, geometry.check_distances, geometry.distance_section),
    (geometry.REGIONS, geometry.map_regions, geometry.regions_section),
    (losses.FAR, losses.add_distant_samples, losses.distant_section),
    (squares.ONE_HOT, squares.fit_one_hot, squares.one_hot_section),
    (squares.RIDGE, squares.fit_ridges, squares.ridge_section),
    (squares.FISHER, squares.compare_directions, squares.fisher_section),
    (generative.TERMS, generative.compute_terms, generative.terms_section),
    (generative.WORDS, generative.count_words, generative.words_section),
    (doubt.DOUBT, doubt.compare_costs_and_doubt, doubt.doubt_section),
    (geometry.SOFTMAX, geometry.check_softmax, geometry.softmax_section),
    (margins.MARGINS, margins.check_margins, margins.margins_section),
    (losses.LOSSES, losses.check_losses, losses.losses_section),
)


def experiment(*, quick: bool = False, seed: int = 0, data: str = samples.IRIS) -> Experiment:
    """The twelve parts; quick: coarser grids, and smaller sets where time is measured.

    With other `data` than iris the claims of the parts on iris are measured on it, on up to 600 rows and
    the 20 features that differ most between the classes, scaled; the plane is that of two of them.

    >>> len(experiment(quick=True).steps)
    12
    """
    return Experiment(
        name="linear-classifiers",
        title="Linear classifiers: twelve claims, checked",
        options={"quick": quick, "seed": seed, "data": data},
        data=(data, "breast_cancer"),
        steps=[Step(name, run) for name, run, _ in PARTS],
        load=find,
    )


def page(results: Results) -> Page:
    """The claims, then one section for each part."""
    found = all_claims(results)
    summary = [
        verdict(found),
        "A linear classifier is a direction and a threshold. The parts show what follows: distances, "
        "regions, the effect of each loss on distant samples, when boundaries are linear, classifiers "
        "from counts and Gaussians, probabilities far from the data, and the optimality certificate of a "
        "support vector machine.",
    ]
    rows = [[one.part, "not measured" if one.missing else one.holds, *one[1:4]] for one in found]
    claims = Section(
        "Claims and measured values",
        ["A wanted 0 allows for rounding: 1e-9."],
        [Table(("part", "holds", "claim", "measured", "wanted"), rows)],
    )
    own = results.options["data"] != samples.IRIS
    if own:
        summary.append(_describe_given(results))
    parts = [section for name, _, section in PARTS if not own or name in MADE_UP]
    title = f"{results.title}, on {results.options['data']}" if own else ""
    return study_page(results, summary, [claims, *(section(results) for section in parts)], title)


def _describe_given(results: Results) -> str:
    data = results.options["data"]
    made_up = ", ".join(name.split()[0] for name, _, _ in PARTS if name in MADE_UP)
    return (
        f"Parts {made_up} use samples made for them, and have their figures below. All other parts are "
        f"measured on {data}: up to {MOST_ROWS} rows and the {MOST_FEATURES} features that "
        "differ most between the classes, scaled to a deviation of 1; a plane is that of two of them, two "
        "classes are the last two, and lines are to separate the first two. A claim that fails here is no "
        "error: it does not hold for these rows."
    )


class Claim(NamedTuple):
    """One claim with the number that decides it."""

    part: int
    caption: str
    measured: float
    wanted: str
    holds: bool
    missing: str = ""  # premise that the samples do not meet, so that nothing was measured


def verdict(claims: list[Claim]) -> str:
    """Which claims hold, which do not, and which could not be measured, with the reason.

    >>> wider = Claim(2, "one is wider", np.nan, "above 0", False, "none fits")
    >>> verdict([Claim(1, "sums are 1", 0.0, "0", False), wider])
    '1 of 1 claims do not hold: part 1, sums are 1. Not measured: part 2, one is wider (none fits).'
    """
    missing = [f"part {one.part}, {one.caption} ({one.missing})" for one in claims if one.missing]
    measured = [one for one in claims if not one.missing]
    failed = [f"part {one.part}, {one.caption}" for one in measured if not one.holds]
    text = f"All {len(claims)} claims of the twelve parts hold in numbers."
    if failed:
        text = f"{len(failed)} of {len(measured)} claims do not hold: {'; '.join(failed)}."
    elif missing:
        text = f"All {len(measured)} claims that could be measured hold in numbers."
    return f"{text} Not measured: {'; '.join(missing)}." if missing else text


def all_claims(results: Results) -> list[Claim]:
    """All claims, in the order of the parts."""
    return [*_boundary_claims(results), *_model_claims(results), *_svm_claims(results)]


def _zero(part: int, caption: str, measured: float) -> Claim:
    return Claim(part, caption, measured, "0", bool(abs(measured) <= ROUNDING))


def _above(part: int, caption: str, measured: float, limit: float = 0.0) -> Claim:
    return Claim(part, caption, measured, f"above {limit:g}", bool(measured > limit))


def _below(part: int, caption: str, measured: float, limit: float) -> Claim:
    text = f"{limit:.6f}".rstrip("0").rstrip(".")
    return Claim(part, caption, measured, f"below {text}", bool(measured < limit))


def _boundary_claims(results: Results) -> list[Claim]:
    value, largest = partial(single_value, results), partial(largest_value, results)
    rest, pairs, predict = (
        value(geometry.REGIONS, "area_share", region="indeterminate", rule=rule)
        for rule in ("rest", "pairs", "predict")
    )
    wrong, far = (value(losses.FAR, "loss", "squared", margin=t) for t in (-1.0, 5.0))
    turned, still = (
        largest(losses.FAR, "turned_degrees", model=name)
        for name in ("LeastSquaresClassifier", "SVC")
    )
    fisher, random = (
        value(squares.FISHER, metric) for metric in ("ratio_of_model", "largest_ratio")
    )
    return [
        _zero(
            1,
            "f / |w| is the perpendicular distance",
            largest(geometry.DISTANCE, "off_perpendicular"),
        ),
        _above(2, "K - 1 one-vs-rest leaves area without a class", rest),
        _above(2, "one-vs-one ties in some area", pairs),
        Claim(2, "the largest score leaves none", predict, "0", predict == 0),
        Claim(3, "squared loss at f = -1", wrong, "4", wrong == 4),
        Claim(3, "squared loss at f = 5", far, "16", far == 16),
        _above(3, "far samples turn least squares, degrees", turned, 10),
        # its tolerance of 1e-10 leaves some 1e-9 degrees
        _below(3, "far samples turn an SVM, degrees", still, 1e-6),
        _zero(4, "scores of one-hot targets sum to 1", value(squares.ONE_HOT, "off_sum_of_scores")),
        _zero(
            5, "ridge weights equal their closed form", largest(squares.RIDGE, "off_closed_form")
        ),
        _zero(5, "a limit on |w|² finds the ridge again", squares.ridge_difference(results)),
        Claim(6, "Fisher's ratio", fisher, f"at least {random:.4g}", fisher >= random),
    ]


def _model_claims(results: Results) -> list[Claim]:
    value, largest = partial(single_value, results), partial(largest_value, results)
    impossible = np.isneginf(
        results.values(part=generative.WORDS, metric="joint_log_probability")
    ).sum()
    missing = float(np.isnan(results.values(part=generative.WORDS, metric="probability")).sum())
    far = partial(value, doubt.DOUBT, "probability", away=doubt.DISTANCES[-1])
    mle, map_, bayes = (far(name) for name in ("MLE", "MAP", "Bayes"))
    published, sigmoid, expected, others = (
        results.values(part=doubt.DOUBT, metric=metric)
        for metric in (
            *("published", "mean_sigmoid"),
            *("expected_cost", "least_expected_cost_elsewhere"),
        )
    )
    cheaper = float((expected - others).max())
    off = float(np.abs(sigmoid - published).max())
    measured = largest(generative.TERMS, "measured_difference", model=generative.LINEAR)
    remain = largest(generative.TERMS, "difference", model=generative.QUADRATIC)
    counted = largest(generative.WORDS, "off_relative_frequency")
    return [
        _zero(7, "quadratic terms of one covariance cancel", measured),
        Claim(7, "those of a covariance each do not", remain, "above 0", remain > 1e-3),
        _zero(8, "shares of words are relative frequencies", counted),
        _above(8, "log probabilities of minus infinity", float(impossible)),
        Claim(8, "probabilities that are NaN", missing, "0", missing == 0),
        _zero(9, "the threshold is c / (c + 1)", largest(doubt.DOUBT, "off_cost_ratio")),
        Claim(9, "saving of another threshold", cheaper, "at most 0", cheaper <= 1e-12),
        _above(9, "far away MLE and MAP are certain", min(mle, map_), 0.9999),
        _below(9, "far away Bayes is not", bayes, 0.95),
        _below(9, "MacKay's six values, largest difference", off, 1e-5),
        _zero(10, "probabilities sum to 1", value(geometry.SOFTMAX, "off_sum")),
        _zero(
            10, "a shift does not change softmax", largest(geometry.SOFTMAX, "off_shifted_scores")
        ),
    ]


def _svm_claims(results: Results) -> list[Claim]:
    largest = partial(largest_value, results, margins.MARGINS)
    curvature = partial(single_value, results, losses.LOSSES, "least_second_difference")
    convex = min(curvature(name) for name in ("hinge", "logistic", "squared"))
    sigmoid, apart = curvature("sigmoid"), margins.objective_difference(results)
    *others, widest = separators.margins_by_line(results, margins.MARGINS).values()
    wider = _above(11, "the SVM's margin less that of the next best line", widest - max(others))
    if np.isnan(widest):
        wider = wider._replace(missing="no line separates the first two classes")
    return [
        wider,
        _zero(11, "primal and dual objective are equal", largest("gap", model="SVC")),
        _zero(11, "no slack below α = C", largest("slack_below_C")),
        _zero(11, "margin vectors agree on w0", largest("off_w0")),
        _zero(11, "largest KKT violation", largest("violation")),
        _below(11, "difference of dual and primal solver", apart, 1e-6),
        Claim(
            *(12, "hinge, logistic, squared: least second difference", convex),
            *("at least 0", convex >= -1e-12),
        ),
        Claim(12, "sigmoid: the same", sigmoid, "below 0", sigmoid < -1e-6),
    ]
