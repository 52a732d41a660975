"""
The same search on a GPU
========================

``device="auto"``, the default, uses an NVIDIA GPU where there is one and the problem is large enough; ``"cuda"`` insists and fails with
a sentence where that is impossible, as on the machine that built this page if it has none. The picture shows accuracies, which do not
depend on the device; measured times are on :doc:`the GPU page </gpu>`.
"""

import numpy as np

from separatrix import SVCCV
from separatrix.errors import DeviceError
from separatrix.plots import plot_grid

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 300)
X = rng.normal(size=(3, 20))[y] + rng.normal(scale=1.5, size=(300, 20))
for device in ("cpu", "cuda"):
    search = SVCCV(Cs=[0.1, 1, 10], gammas=[0.01, 0.05], cv=5, device=device)
    try:
        search.fit(X, y)
    except DeviceError as error:
        print(f"{device}: {error}")
    else:
        print(f"{device}: {search.best_params_}, accuracy {search.best_score_:.3f}")
        print(f"    {search.best_estimator_.gram_}")

# %%
# All boundaries of a search advance together: here 5 values of C, 4 widths, 5 folds and 3 pairs of classes are 300 problems over one
# matrix of inner products. The accuracies are the same on every device.

search = SVCCV(
    Cs=[0.01, 0.1, 1, 10, 100], gammas=[0.001, 0.01, 0.03, 0.1], cv=5, device="auto"
).fit(X, y)
figure = plot_grid(search)
