"""
An exact search that skips most distances
=========================================

`NeighborIndex` returns the true nearest samples, and of equal distances the lower row. It uses bounds that need a part of the
work; only samples that pass them are compared in full. A distance that a bound excludes cannot be among the nearest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import NeighborIndex

X = load_digits().data
queries, stored = X[1500:], X[:1500]
index = NeighborIndex(stored, expected_k=5)
print(index)
distances, rows = index.search(queries, 5)

# %%
# Compared with all distances, computed in full.

D = np.sqrt(((queries[:, None, :] - stored[None]) ** 2).sum(axis=2))
print("the same distances:", np.allclose(np.sort(D, axis=1)[:, :5], distances))

# %%
# The bound, in a picture: with the projection on the four axes of largest variance and the norms r of the residuals, a squared
# distance is at least the squared distance of the projections plus the squared difference of the residual norms. Digits whose
# bound is above the 5th distance found so far are skipped.

centre = stored.mean(axis=0)
directions = np.linalg.svd(stored - centre, full_matrices=False)[2][:4]


def project(A):
    """Coordinates on the axes, and the norm of what is left."""
    P = (A - centre) @ directions.T
    return P, np.sqrt(np.maximum(((A - centre) ** 2).sum(axis=1) - (P**2).sum(axis=1), 0))


(P, r), (Q, s) = project(stored), project(queries[:1])
bound = np.sqrt(((P - Q) ** 2).sum(axis=1) + (r - s) ** 2)
true, limit = D[0], distances[0, -1]
skipped = bound > limit
figure, panel = plt.subplots(figsize=(5.5, 4.5))
panel.scatter(bound[~skipped], true[~skipped], s=6, label="must be compared")
panel.scatter(
    bound[skipped], true[skipped], s=6, color="#bbbbbb", label=f"skipped: {skipped.mean():.0%}"
)
panel.plot([0, true.max()], [0, true.max()], color="black", linewidth=1)
panel.axhline(limit, color="red", linewidth=1, label="5th distance")
panel.set(xlabel="lower bound from four axes", ylabel="distance")
panel.legend()
plt.show()
