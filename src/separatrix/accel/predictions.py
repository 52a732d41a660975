"""Cross-validated predictions: the fits of all folds as one problem, as in searches.

`cross_val_predict`, and with it calibration without an ensemble and stacking, hands joblib one call of
`_fit_and_predict` for each fold. scikit-learn's own function then predicts with the solved models.
"""

from __future__ import annotations

from typing import Any

from separatrix.accel.dispatch import NotServed
from separatrix.accel.searches import Solved, find_candidates, give_methods, may_be_served, serve

NAMES = ("predict", "decision_function", "predict_proba")


def serve_predictions(calls: list[Any], workers: float, in_process: bool) -> list[Any]:
    """The predictions of each call, None where scikit-learn is to compute them."""
    if not all(len(args) == 7 and not more for _, args, more in calls):  # of another version
        return [None] * len(calls)
    as_search = [_as_search(*call) for call in calls]
    if not all(may_be_served(call) and call[2]["method"] in NAMES for call in as_search):
        return [None] * len(calls)
    candidates = find_candidates(as_search)
    return serve(as_search, candidates, workers, in_process=in_process, answer=_predict_solved)


def _as_search(function: Any, args: Any, _more: Any) -> Any:
    """A call with the arguments that those of a search have."""
    estimator, X, y, train, test, fit_params, method = args
    options = {"train": train, "test": test, "fit_params": fit_params, "method": method}
    return function, (estimator, X, y), {**options, "parameters": None, "scorer": None}


def _predict_solved(call: Any, solved: Solved) -> Any:
    """The predictions of a call whose model is solved: scikit-learn asks for them by row numbers."""
    function, (estimator, _, y), options = call
    method = options["method"]
    if method == "decision_function" and solved.scores is None:
        raise NotServed("scores of neighbours")
    if method == "predict_proba" and solved.shares is None:
        raise NotServed("probabilities")
    rows = give_methods(estimator, solved)
    return function.function(estimator, rows, y, options["train"], options["test"], {}, method)
