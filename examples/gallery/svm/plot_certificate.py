"""
The certificate of a fit
========================

A fitted `SVC` states how far it can be from the optimum: ``dual_gap_`` bounds the relative distance of its objective, and
``violation_`` the largest violation of the optimality conditions. A smaller ``tol`` costs steps and buys a smaller
bound.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from separatrix import SVC, kkt_report

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
tols = np.logspace(-1, -8, 8)
fits = [SVC(C=10, gamma=0.02, tol=tol).fit(X, y) for tol in tols]
best = fits[-1].objective_[0]

figure, panel = plt.subplots(figsize=(6, 4))
panel.loglog(
    tols, [fit.dual_gap_[0] for fit in fits], marker="o", label="relative duality gap (bound)"
)
distance = [abs(fit.objective_[0] - best) / abs(best) + 1e-16 for fit in fits]
panel.loglog(
    tols[:-1], distance[:-1], marker="s", label="distance of the objective from the last fit"
)
panel.loglog(
    tols, [fit.violation_[0] for fit in fits], marker="^", label="violation of the conditions"
)
panel.set_xlabel("tol")
panel.invert_xaxis()
panel.legend(fontsize=8)
plt.show()
for tol, fit in zip(tols, fits, strict=True):
    print(
        f"tol {tol:.0e}: {fit.n_iter_[0]:5} steps, gap {fit.dual_gap_[0]:.1e}, stopped by {fit.stop_[0]!r}"
    )

# %%
# `kkt_report` checks the optimality conditions row by row: how many coefficients are zero, free or at C.

print(kkt_report(fits[2]))
