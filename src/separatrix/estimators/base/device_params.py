"""The `device` parameter of models, and of the models inside them."""

from __future__ import annotations

from typing import Any

from separatrix.errors import UnsupportedError
from separatrix.runtime.device import choose_device


def set_device(device: str, *models: Any) -> None:
    """Set the `device` of all models that have one, and of models inside them.

    "cuda" must be available, and some model must have the parameter.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix import SVC
    >>> model = make_pipeline(StandardScaler(), SVC())
    >>> set_device("cpu", model)
    >>> model[-1].device
    'cpu'
    """
    found = False
    for model in models:
        names = [name for name in model.get_params() if name.split("__")[-1] == "device"]
        model.set_params(**dict.fromkeys(names, device))
        found = found or bool(names)
    if device == "cuda" and not found:
        error = UnsupportedError("no part of this model can run on a GPU")
        error.hint = "svm, logistic, lda and knn can, among others; omit --device for this one"
        raise error
    choose_device("model", device, None, large=False)
