"""What the twelve parts claim, what was measured, and whether it is so."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.experiments.table import Results
from separatrix.studies.linear.margins import objectives_agree
from separatrix.studies.linear.panels import largest, number, rows_of
from separatrix.studies.linear.squares import ridges_agree
from separatrix.studies.linear_steps.gaussian import TERMS
from separatrix.studies.linear_steps.geometry import DISTANCE, REGIONS
from separatrix.studies.linear_steps.logistic import DOUBT, PLACES, SOFTMAX
from separatrix.studies.linear_steps.losses import FAR, LOSSES
from separatrix.studies.linear_steps.margins import MARGINS
from separatrix.studies.linear_steps.squares import FISHER, ONE_HOT, RIDGE
from separatrix.studies.linear_steps.words import WORDS

ROUNDING = 1e-9  # what arithmetic may leave of a zero


class Claim(NamedTuple):
    """One claim with the number that decides it."""

    part: int
    caption: str
    measured: float
    wanted: str
    holds: bool


def all_claims(results: Results) -> list[Claim]:
    """All claims, in the order of the parts."""
    return [*_of_lines(results), *_of_models(results), *_of_machines(results)]


def _zero(part: int, caption: str, measured: float) -> Claim:
    return Claim(part, caption, measured, "0", bool(abs(measured) <= ROUNDING))


def _of_lines(results: Results) -> list[Claim]:
    shares = {
        rule: number(results, REGIONS, "area_share", region="indeterminate", rule=rule)
        for rule in ("rest", "pairs", "predict")
    }
    wrong, far = (number(results, FAR, "loss", "squared", margin=t) for t in (-1.0, 5.0))
    turned = {
        name: largest(results, FAR, "turned_degrees", model=name)
        for name in ("LeastSquaresClassifier", "SVC")
    }
    fisher, random = (
        number(results, FISHER, metric) for metric in ("ratio_of_model", "largest_ratio")
    )
    return [
        _zero(
            1,
            "f / |w| is the length of the perpendicular",
            largest(results, DISTANCE, "off_perpendicular"),
        ),
        Claim(
            2,
            "K - 1 against the rest leaves area to no class",
            shares["rest"],
            "above 0",
            shares["rest"] > 0,
        ),
        Claim(2, "pairs tie somewhere", shares["pairs"], "above 0", shares["pairs"] > 0),
        Claim(
            2, "the largest score leaves nothing", shares["predict"], "0", shares["predict"] == 0
        ),
        Claim(3, "squared loss at f = -1", wrong, "4", wrong == 4),
        Claim(3, "squared loss at f = 5", far, "16", far == 16),
        Claim(
            3,
            "far samples turn least squares, degrees",
            turned["LeastSquaresClassifier"],
            "above 10",
            turned["LeastSquaresClassifier"] > 10,
        ),
        Claim(  # its tolerance of 1e-10 leaves some 1e-9 degrees
            3,
            "far samples turn a support vector machine, degrees",
            turned["SVC"],
            "below 0.000001",
            turned["SVC"] < 1e-6,
        ),
        _zero(
            4, "scores of one-hot targets sum to 1", number(results, ONE_HOT, "off_sum_of_scores")
        ),
        _zero(
            5, "ridge weights meet their closed form", largest(results, RIDGE, "off_closed_form")
        ),
        _zero(5, "a limit on |w|² finds the ridge again", ridges_agree(results)),
        Claim(6, "Fisher's ratio", fisher, f"at least {random:.4g}", fisher >= random),
    ]


def _of_models(results: Results) -> list[Claim]:
    stays = largest(results, TERMS, "difference", model="QuadraticDiscriminantAnalysis")
    plain = np.isneginf(results.values(part=WORDS, metric="joint_log_probability")).sum()
    p = results.values(part=WORDS, metric="probability")
    far = {
        name: number(results, DOUBT, "probability", name, away=PLACES[-1])
        for name in ("MLE", "MAP", "Bayes")
    }
    sure = min(far["MLE"], far["MAP"])
    published = [row.value for row in rows_of(results, DOUBT, "published")]
    off = float(np.abs(results.values(part=DOUBT, metric="mean_sigmoid") - published).max())
    cheaper = max(
        here.value - elsewhere.value
        for here, elsewhere in zip(
            rows_of(results, DOUBT, "expected_cost"),
            rows_of(results, DOUBT, "least_expected_cost_elsewhere"),
            strict=True,
        )
    )
    return [
        _zero(
            7,
            "quadratic terms of one covariance cancel",
            largest(results, TERMS, "measured_difference", model="LinearDiscriminantAnalysis"),
        ),
        Claim(7, "those of a covariance each do not", stays, "above 0", stays > 1e-3),
        _zero(
            8,
            "shares of words are relative frequencies",
            largest(results, WORDS, "off_relative_frequency"),
        ),
        Claim(8, "log probabilities of minus infinity", float(plain), "above 0", bool(plain > 0)),
        Claim(
            8,
            "and probabilities that are no number",
            float(np.isnan(p).sum()),
            "0",
            not np.isnan(p).any(),
        ),
        _zero(9, "the threshold is c / (c + 1)", largest(results, DOUBT, "off_cost_ratio")),
        Claim(
            9,
            "another threshold is expected to be cheaper by",
            cheaper,
            "at most 0",
            cheaper <= 1e-12,
        ),
        Claim(9, "far away MLE and MAP are certain", sure, "above 0.9999", sure > 0.9999),
        Claim(9, "far away Bayes is not", far["Bayes"], "below 0.95", far["Bayes"] < 0.95),
        Claim(9, "MacKay's six values, largest difference", off, "below 0.00001", off < 1e-5),
        _zero(10, "probabilities sum to 1", number(results, SOFTMAX, "off_sum")),
        _zero(10, "softmax does not feel a shift", largest(results, SOFTMAX, "off_shifted_scores")),
    ]


def _of_machines(results: Results) -> list[Claim]:
    bent = number(results, LOSSES, "least_second_difference", "sigmoid")
    convex = min(
        number(results, LOSSES, "least_second_difference", name)
        for name in ("hinge", "logistic", "squared")
    )
    apart = objectives_agree(results)
    return [
        _zero(
            11, "primal and dual objective are equal", largest(results, MARGINS, "gap", model="SVC")
        ),
        _zero(11, "no slack below α = C", largest(results, MARGINS, "slack_below_C")),
        _zero(11, "margin vectors agree on w0", largest(results, MARGINS, "off_w0")),
        _zero(11, "conditions of the optimum, worst", largest(results, MARGINS, "violation")),
        Claim(
            11,
            "solved in the dual and in the primal, apart by",
            apart,
            "below 0.000001",
            apart < 1e-6,
        ),
        Claim(
            12,
            "hinge, logistic, squared: least second difference",
            convex,
            "at least 0",
            convex >= -1e-12,
        ),
        Claim(12, "sigmoid: the same", bent, "below 0", bent < -1e-6),
    ]
