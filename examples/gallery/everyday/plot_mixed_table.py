"""
A table of numbers, categories and gaps
=======================================

`TableEncoder` reads a data frame as it is: numbers are scaled, categories become indicators, gaps are filled and marked. It is fitted
within each training part, so nothing of the test rows is used.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from separatrix import LogisticRegression, TableEncoder

rng = np.random.default_rng(0)
n = 600
table = pd.DataFrame(
    {
        "age": rng.integers(18, 80, n).astype(float),
        "income": rng.lognormal(10, 0.5, n),
        "city": rng.choice(["Oslo", "Lima", "Pune", "Kyoto"], n),
        "contract": rng.choice(["monthly", "yearly"], n),
    }
)
score = (
    0.04 * (table["age"] - 45) + (table["contract"] == "monthly") * 1.5 - (table["city"] == "Pune")
)
y = np.where(score + rng.logistic(size=n) > 0.5, "leaves", "stays")
table.loc[rng.choice(n, 90, replace=False), "income"] = np.nan

model = make_pipeline(TableEncoder(), LogisticRegression())
print(f"accuracy, 5 folds: {cross_val_score(model, table, y, cv=5).mean():.3f}")
model.fit(table, y)
names = model[0].get_feature_names_out()
weights = model[1].coef_[0]

# %%
# The weights by column.

order = np.argsort(weights)
figure, panel = plt.subplots(figsize=(6, 3.4))
panel.barh([names[i] for i in order], weights[order], color="#3b6ea5")
panel.set_xlabel(f"weight towards {model.classes_[1]}")
plt.show()
