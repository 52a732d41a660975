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
# The bound, in a picture: a distance is at least the difference of distances to a pivot (triangle inequality). All
# stored digits whose bound is above the 5th distance found so far are skipped.

pivot = stored.mean(axis=0)
to_pivot = np.linalg.norm(stored - pivot, axis=1)
query = queries[0]
bound = np.abs(to_pivot - np.linalg.norm(query - pivot))
true = D[0]
figure, panel = plt.subplots(figsize=(5.5, 4.5))
skipped = bound > distances[0, -1]
panel.scatter(bound[~skipped], true[~skipped], s=6, label="must be compared")
panel.scatter(
    bound[skipped], true[skipped], s=6, color="#bbbbbb", label=f"skipped: {skipped.mean():.0%}"
)
panel.plot([0, true.max()], [0, true.max()], color="black", linewidth=1)
panel.axhline(distances[0, -1], color="red", linewidth=1, label="5th distance")
panel.set(xlabel="lower bound from one pivot", ylabel="distance")
panel.legend()
plt.show()
