"""Where models work: one word for them and for the models inside them."""

from __future__ import annotations

from typing import Any

from separatrix.errors import UnsupportedError
from separatrix.runtime.device import DEVICES, choose_device
from separatrix.validation import require_choice


def device_of_search(search: Any) -> str:
    """Where a search and what it finds work: as its estimator asks or, where that has no wish, itself.

    >>> from separatrix import SVC, SVCCV
    >>> device_of_search(SVCCV(estimator=SVC(), device="cpu"))
    'cpu'
    """
    require_choice(type(search).__name__, "device", search.device, DEVICES)
    own: str = getattr(search.estimator, "device", "auto")
    return search.device if own == "auto" else own


def set_device(device: str, *models: Any) -> None:
    """Tell all that have a `device`, and models inside, to work there.

    "cuda" must be there, and reach somebody.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix import SVC
    >>> model = make_pipeline(StandardScaler(), SVC())
    >>> set_device("cpu", model)
    >>> model[-1].device
    'cpu'
    """
    told = False
    for model in models:
        places = [name for name in model.get_params() if name.split("__")[-1] == "device"]
        model.set_params(**dict.fromkeys(places, device))
        told = told or bool(places)
    if device == "cuda" and not told:
        error = UnsupportedError("nothing in this model can work on a card")
        error.hint = "svm, kernel-perceptron and knn can; leave --device out for others"
        raise error
    choose_device("model", device, None, worth=False)
