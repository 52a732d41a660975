"""
Decisions with costs, and the choice to reject
==============================================

A missed tumour costs more than a false alarm. `BayesDecision` takes a matrix of losses and decides for the lowest expected one; with a
cost for asking an expert, it rejects what is not sure enough.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import BayesDecision, LogisticRegression
from separatrix.plots import plot_costs

X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant, 1 is benign
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
losses = np.array([[0.0, 20.0], [1.0, 0.0]])  # [true class, decision]
model = make_pipeline(StandardScaler(), LogisticRegression(C="evidence", posterior="laplace"))
rules = {
    "most probable class": BayesDecision(model),
    "lowest expected cost": BayesDecision(model, losses),
    "lowest cost, or reject": BayesDecision(model, losses, reject_cost=0.2),
}
for name, rule in rules.items():
    decided = rule.fit(X, y).predict(X_test)
    costs = [0.2 if d == -1 else losses[t, d] for t, d in zip(y_test, decided, strict=True)]
    print(
        f"{name:23} mean cost {np.mean(costs):.3f}, {(decided == -1).sum():3} of {len(y_test)} rejected"
    )

# %%
# The cost of every threshold on the test rows.

figure = plot_costs(rules["lowest expected cost"].cost_curve(X_test, y_test))
