"""Facts about a fitted model, each a title and a value as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from separatrix.evaluation.regions import Regions
from separatrix.evaluation.rules import INDETERMINATE, RegionClassifier
from separatrix.types import Codes
from separatrix.workbench.playground.scene import Scene, final_estimator

MAX_GAP = 0.1  # relative duality gap of a fit that is shown as an answer
MAX_LEAVE_ONE_OUT = 2000  # points up to which leave-one-out is fast
Fact = tuple[str, str]
_STOPS = {
    "clean pass": "a pass without a mistake",
    "max_iter": "the limit on passes or steps",
    "min_gain": "too small a gain in a pass",
    "tol": "too small a gain in a pass",
    "eps": "too small a change",
    "stopped": "the limit on time",
    "diverged": "overflow of the objective",
}


def list_facts(
    scene: Scene, regions: Regions, codes: Codes, unfinished: str | None = None
) -> list[dict[str, str]]:
    """Facts about the picture, in which the points have these codes, then about the models."""
    if unfinished is not None:  # an error of what is not there yet would be read as the model's
        return [{"title": "not finished", "value": unfinished}]
    found = [*_of_picture(scene, regions, codes)]
    if (own := _FACTS.get(scene.model.key)) is not None:
        found += own(scene, [final_estimator(machine.fitted) for machine in regions.machines])
    return [{"title": title, "value": value} for title, value in found]


def support_rows(machines: Sequence[RegionClassifier]) -> list[int]:
    """Rows of the support vectors of all models, sorted."""
    none = np.empty(0, dtype=np.intp)
    support = [getattr(final_estimator(machine.fitted), "support_", none) for machine in machines]
    rows = [machine.rows[own] for machine, own in zip(machines, support, strict=True)]
    found: list[int] = np.unique(np.concatenate(rows)).tolist()
    return found


def wrong_in_test(scene: Scene, regions: Regions) -> Codes:
    """Rows of the test points that get another class than their own."""
    if not len(scene.test.rows):
        return scene.test.rows
    known = np.array([*scene.labels, None], dtype=object)  # -1, no class, is the last
    right = known[regions.codes_at(scene.test.X)] == scene.test.labels.astype(object)
    return np.asarray(scene.test.rows[~right])


def why_unfinished(machines: Sequence[RegionClassifier]) -> str | None:
    """Why the fit must not be shown as an answer; None if it may."""
    fitted = [final_estimator(machine.fitted) for machine in machines]
    stops = {str(stop) for model in fitted for stop in np.ravel(getattr(model, "stop_", ""))}
    if "stopped" in stops:
        return "stopped by the limit on time"
    gaps = [np.max(getattr(model, "dual_gap_", 0.0)) for model in fitted]  # NaN: no gap
    return "cannot come closer at this precision" if np.max(gaps) > MAX_GAP else None


def offer_more(scene: Scene, machines: Sequence[RegionClassifier]) -> dict[str, Any] | None:
    """Twice the passes or steps, if their limit ended a fit: the slider, its value and the words for it."""
    limit = next((one for one in scene.model.sliders if one.name == "max_iter"), None)
    if limit is None or limit.most is None:
        return None
    fitted = [final_estimator(machine.fitted) for machine in machines]
    stops = {str(stop) for model in fitted for stop in np.ravel(getattr(model, "stop_", ""))}
    value = min(2 * scene.values[limit.name], int(limit.most))
    if "max_iter" not in stops or value == scene.values[limit.name]:
        return None
    return {"name": limit.name, "value": value, "words": f"{value:,} {limit.title.split()[0]}"}


def _of_picture(scene: Scene, regions: Regions, codes: Codes) -> Iterator[Fact]:
    wrong, n = int(np.count_nonzero(codes != scene.y)), len(codes)
    yield "training error", _share(wrong, n)
    if m := len(scene.test.rows):
        missed = len(wrong_in_test(scene, regions))
        yield "test error", _share(missed, m)
    if regions.rule != "predict":
        indeterminate = int(np.count_nonzero(codes == INDETERMINATE))
        share = f"{100 * regions.indeterminate:.1f} % of the area, {indeterminate} of the points"
        yield "indeterminate", share
    if regions.undecided_areas.any():
        share = f"{100 * regions.undecided_share:.1f} % of the area"
        yield "undecided", f"{share}: {regions.why_undecided}"
    if support := support_rows(regions.machines):
        yield "support vectors", f"{len(support)} of {n}"


def _svm(scene: Scene, machines: list[Any]) -> Iterator[Fact]:
    widths = np.concatenate([machine.margin_width_ for machine in machines])
    unit = " (standardised)" if scene.standardise else ""
    if np.isfinite(widths).all():  # else a boundary has no slope: all places get one class
        yield "margin width", _range(widths) + unit
    if hasattr(machines[0], "dual_gap_"):
        gap = np.max([machine.dual_gap_.max() for machine in machines])
        yield "duality gap", "none: the kernel may be indefinite" if np.isnan(gap) else f"{gap:.1g}"


def _subgradient(scene: Scene, machines: list[Any]) -> Iterator[Fact]:
    yield "steps", f"{max(machine.n_iter_ for machine in machines)}"
    yield "objective", f"{sum(np.sum(machine.loss_curve_[-1]) for machine in machines):.4g}"
    yield "stopped by", _stops(machines)
    yield from _svm(scene, machines)


def _neighbours(scene: Scene, machines: list[Any]) -> Iterator[Fact]:
    n = len(scene.y)
    possible = machines[0].n_neighbors < n <= MAX_LEAVE_ONE_OUT
    if scene.rule != "predict" or scene.standardise or not possible:
        return  # the scaler would see the point that is left out
    wrong = int(np.count_nonzero(machines[0].predict(None) != scene.targets))
    yield "leave-one-out error", _share(wrong, n)


def _perceptron(_scene: Scene, machines: list[Any]) -> Iterator[Fact]:
    yield "passes", f"{max(machine.n_iter_ for machine in machines)}"
    mistakes = sum(int(machine.mistakes_.sum()) for machine in machines)
    yield "mistakes while learning", f"{mistakes:,}"
    yield "stopped by", _stops(machines)
    bounds = [np.max(getattr(machine, "mistake_bound_", np.inf)) for machine in machines]
    if np.isfinite(bounds).all():
        yield "Novikoff's bound on mistakes", f"{int(np.sum(bounds)):,}"


def _logistic(scene: Scene, machines: list[Any]) -> Iterator[Fact]:
    if scene.values["prior"] == "evidence":
        yield "C found", _range(np.array([machine.C_ for machine in machines]))
    yield "minus log posterior", f"{np.sum([machine.objective_ for machine in machines]):.4g}"


def _least_squares(scene: Scene, machines: list[Any]) -> Iterator[Fact]:
    if scene.values["find"] == "loo":
        yield "ridge found", _range(np.ravel([machine.ridge_ for machine in machines]))


def _share(part: int, of: int) -> str:
    """A share in per cent, halves up, as the page writes the same numbers elsewhere.

    >>> _share(15, 240)
    '6.3 % (15 of 240)'
    """
    return f"{(2000 * part + of) // (2 * of) / 10:.1f} % ({part} of {of})"


def _range(values: Any) -> str:
    """One number, or the range of several."""
    least, most = f"{np.min(values):.3g}", f"{np.max(values):.3g}"
    return least if least == most else f"{least} to {most}"


def _stops(machines: list[Any]) -> str:
    stops = sorted({machine.stop_ for machine in machines})
    return ", ".join(_STOPS.get(stop, stop) for stop in stops)


_FACTS: dict[str, Callable[[Scene, list[Any]], Iterator[Fact]]] = {
    "svm": _svm,
    "linear-svm": _svm,
    "subgradient": _subgradient,
    "knn": _neighbours,
    "perceptron": _perceptron,
    "kernel-perceptron": _perceptron,
    "logistic": _logistic,
    "least-squares": _least_squares,
}
