"""Sizes at which code for many samples takes over decide how long an answer takes, and no more.

The other campaigns try small problems, which the code for large ones never sees. Here some of the limits
between the two are moved at random, so that small problems go through it.
"""

import importlib
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
from sklearn.base import clone
from tests.campaigns.campaign import Campaign, chosen
from tests.campaigns.problems import EXACT, OBJECTS, assert_close, draw_for, outputs, seeded

from separatrix import LogisticRegression

# Constants that plain Python reads on every call, and values on the far side of small problems. Those
# that compiled functions read are fixed when they are compiled, and are not here.
LIMITS = {
    "solvers.logistic.descent": {
        **{"MIN_SUBSAMPLE": (2, 5), "BLOCK_WORK": (1.0, 500.0), "MERGED": (0,), "WIDE": (1, 10**6)},
        **{"MAX_NEWTON": (0, 10**6), "LITTLE_WORK": (0.0,), "VALUE": (0, 1e4)},
    },
    "solvers.logistic.costs": {"FEW_FEATURES": (0,), "FEWEST_TRIED": (1, 100), "VALUE": (0, 1e4)},
    "solvers.logistic.passes": {"HESSIAN_BYTES": (64, 2**12), "STRIP_BYTES": (64, 2**10)},
    "solvers.logistic.elastic_net": {"ALL_WEIGHTS": (1,), "FEWEST": (1, 2), "MOST_WEIGHTS": (2, 5)},
    "solvers.logistic.kernel_newton": {"CONVERTED": (1, 7)},
    "solvers.linear_svm.primal_newton": {"DIRECT": (0,), "ONE_THREAD": (0,)},
    "solvers.linear_svm.joint_newton": {"PAIRS": (0,), "MANY_FEATURES": (1,), "PAIRS_BYTES": (0,)},
    "solvers.svm.smo": {"FEW_PROBLEMS": (1, 1000), "LARGE_PROBLEM": (2,), "FEW_ACTIVE": (1, 1000)},
    "solvers.nearest.index": {"TINY": (0,), "FEW_QUERIES": (0,), "ALWAYS_BOXES": (0, 100)},
    "solvers.nearest.axes": {"FEW": (0,)},
    "estimators.linear_svc": {"DENSE_ENOUGH": (0.0, 1.0)},
    "estimators.discriminant": {"FEWEST_ROWS": (1, 7), "SMALL": (0,)},
    "estimators.naive_bayes": {"FEWEST_ENTRIES": (1,)},
    "estimators.least_squares": {"LOO_ROWS": (1, 5)},
    "estimators.base.svc_fit": {"HELD_ROWS": (0, 10**6)},
    "estimators.base.svc_training": {"HOLD_BELOW": (0,), "HOLD_AT_MOST": (0,)},
    "estimators.base.support_scores": {"SMALL": (0,), "LARGEST_WEIGHTS": (0,), "TILES": (1,)},
    "estimators.base.linear_machine": {"BLOCK_BYTES": (64, 500)},
    "estimators.base.linear_plan": {
        **{"DIRECT": (0,), "PASSES_FIRST": (0, 1), "PASSES_LONG": (0,)},
    },
    "estimators.base.multiclass": {"MATRIX_UP_TO": (1,)},
    "kernels.prepared": {"SMALL": (0,), "ROWS_AT_ONCE": (1, 7), "PRODUCT_ROWS": (1, 7)},
    "kernels.gram.sources": {"ROWS_AT_ONCE": (1, 7), "TILES": (1,), "TILE_WORK": (1,)},
    "kernels.features": {"ROWS_AT_ONCE": (1, 7), "SCRATCH": (64,)},
    "runtime.sums": {"FEWEST_ROWS": (1, 5)},
}
ALL = [(module, name, values) for module in LIMITS for name, values in LIMITS[module].items()]
MOVED = tuple(call for call in EXACT if not call.startswith(OBJECTS))
SINGLE = 2e-4  # relative to the largest output: kernel values may be float32 on the far side


def moved(rng):
    """Patches of a third of the limits."""
    for module, name, values in ALL:
        if rng.random() < 1 / 3:
            where = importlib.import_module(f"separatrix.{module}")
            yield patch.object(where, name, chosen(rng, values))


def limits(number):
    """Limits of size do not change the answer."""
    call = MOVED[number % len(MOVED)]
    model = seeded(call)
    X, y, rng = draw_for(call, number // len(MOVED), least=50)
    plain = clone(model).fit(X, y)
    new = np.vstack([X, X[::-1] + (0.1 if "Categorical" not in call else 0.0)])
    expected = outputs(plain, new)
    with ExitStack() as stack:
        for one in moved(rng):
            stack.enter_context(one)
        found = outputs(clone(model).fit(X, y), new)
    if "no margin" not in str(getattr(plain, "stop_", "")):
        assert_close(found, expected, SINGLE)


def objectives(number):
    """At its default tolerance a fit ends near the least objective on the far side too."""
    rng = np.random.default_rng([8, number])
    n, d, k = int(rng.integers(100, 2000)), int(rng.integers(1, 8)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, k)) + rng.normal(size=k)).argmax(axis=1)  # separable
    y[: 5 * k] = np.arange(5 * k) % k
    y[rng.random(n) < chosen(rng, (0.0, 0.01, 0.3))] = 0
    C = 10.0 ** rng.integers(-2, 5)
    with ExitStack() as stack:
        for one in moved(rng):
            stack.enter_context(one)
        found = LogisticRegression(C=C, max_iter=1000).fit(X, y)
    least = LogisticRegression(C=C, tol=1e-9, max_iter=10_000).fit(X, y)
    assert found.objective_ - least.objective_ <= 1e-5 * least.objective_ + 1e-8 * n


CAMPAIGN = Campaign(
    "limits of size: small problems through the code for large ones",
    lambda: {"limits": limits, "objectives": objectives},
    short=20,
    middle=5,
)
