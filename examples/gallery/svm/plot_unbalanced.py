"""
Few samples of one class
========================

With 30 positive among 330 samples, a support vector machine that weighs all samples alike gives most of the overlap to the
frequent class. ``class_weight="balanced"`` multiplies C by the inverse frequency of each class.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import SVC
from separatrix.kernels import Gaussian

rng = np.random.default_rng(2)
X = np.vstack([rng.normal(size=(300, 2)), rng.normal(scale=0.8, size=(30, 2)) + [1.6, 1.4]])
y = np.repeat([0, 1], [300, 30])
fresh = np.vstack([rng.normal(size=(3000, 2)), rng.normal(scale=0.8, size=(300, 2)) + [1.6, 1.4]])
truth = np.repeat([0, 1], [3000, 300])

span = np.linspace(-3.5, 4, 150)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
for panel, weights in zip(axes, (None, "balanced"), strict=True):
    model = SVC(kernel=Gaussian(0.5), class_weight=weights).fit(X, y)
    predicted = model.predict(fresh)
    found = (predicted[truth == 1] == 1).mean()
    alarms = (predicted[truth == 0] == 1).mean()
    classes = model.predict(plane).reshape(150, 150)
    panel.contourf(span, span, classes, levels=[-1, 0.5, 2], colors=["#cfe0f2", "#f8d9c4"])
    panel.scatter(*X.T, c=y, cmap="coolwarm", s=8)
    panel.set_title(
        f"class_weight={weights!r}\nfound {found:.0%}, false alarms {alarms:.0%}", fontsize=10
    )
plt.show()
