"""The `class_weight` parameter of models, and of the models inside them."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from separatrix.estimators.base.kernel_search import KernelMachineCV
from separatrix.estimators.base.tuned import KNeighborsCV
from separatrix.estimators.neighbors import KNeighborsClassifier


def set_class_weight(model: Any, class_weight: Any) -> bool:
    """Set the weights of the classes, also inside a pipeline or a search; False if it takes none.

    >>> from separatrix import SVCCV, GaussianNB
    >>> search = SVCCV()
    >>> set_class_weight(search, "balanced"), search.estimator, set_class_weight(GaussianNB(), "balanced")
    (True, SVC(class_weight='balanced'), False)
    """
    if isinstance(model, Pipeline):
        return set_class_weight(model.steps[-1][1], class_weight)
    own = model.get_params(deep=False)
    if "class_weight" in own:
        model.set_params(class_weight=class_weight)
        return True
    if "estimator" not in own:
        return False
    inner = model.estimator
    if inner is None and isinstance(model, KernelMachineCV):
        inner = model._kind()
    elif inner is None and isinstance(model, KNeighborsCV):
        inner = KNeighborsClassifier()
    if inner is None:
        return False
    inner = clone(inner)
    found = set_class_weight(inner, class_weight)
    model.set_params(estimator=inner)
    return found
