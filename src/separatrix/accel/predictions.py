"""Cross-validated predictions: the fits of all folds as one problem, as in searches.

`cross_val_predict`, and with it calibration without an ensemble and stacking, hands joblib one call of
`_fit_and_predict` for each fold. scikit-learn's own function then predicts with the solved models.
"""

from __future__ import annotations

from typing import Any

from separatrix.accel.searches import Solved, Workers, give_methods, serve

METHODS = {
    "SVC": ("predict", "decision_function"),
    "KNeighborsClassifier": ("predict", "predict_proba"),
}


def serve_predictions(calls: list[Any], *, workers: Workers | None) -> list[Any] | None:
    """The predictions of each call, or None if scikit-learn is to compute all of them."""
    if not all(len(args) == 7 and not more for _, args, more in calls):  # of another version
        return None
    as_search = [_as_search(*call) for call in calls]
    estimator, method = calls[0][1][0], calls[0][1][6]
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if method not in METHODS.get(type(last).__name__, ()):
        return None
    return serve(as_search, workers=workers, answer=_predict_solved, compute=_fit_and_predict)


def _as_search(function: Any, args: Any, _more: Any) -> Any:
    """A call with the arguments that those of a search have."""
    estimator, X, y, train, test, fit_params, method = args
    options = {"train": train, "test": test, "fit_params": fit_params, "method": method}
    return function, (estimator, X, y), {**options, "parameters": None, "scorer": None}


def _fit_and_predict(call: Any) -> Any:
    """The predictions of a call by scikit-learn."""
    function, given, options = call
    more = (options[name] for name in ("train", "test", "fit_params", "method"))
    return function.function(*given, *more)


def _predict_solved(call: Any, solved: Solved) -> Any:
    """The predictions of a call whose model is solved: scikit-learn asks for them by row numbers."""
    function, (estimator, _, y), options = call
    rows = give_methods(estimator, solved)
    train, test, method = options["train"], options["test"], options["method"]
    return function.function(estimator, rows, y, train, test, {}, method)
