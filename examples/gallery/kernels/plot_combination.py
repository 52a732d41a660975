"""
Learning the weights of several kernels
=======================================

Which measurements matter? Give each group of features a kernel of its own and let the support vector machine learn
their weights. Groups with information get the larger ones. The columns of noise do not get 0: a Gaussian of noise is close
to the identity matrix, and adding it works like a ridge.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from separatrix import SVCCV
from separatrix.kernels import Combination, FromCallable, Gaussian

wine = load_wine()
rng = np.random.default_rng(0)
X = np.hstack([scale(wine.data), rng.normal(size=(178, 6))])  # six columns of noise
groups = {
    "acids and ash": slice(0, 5),
    "phenols": slice(5, 9),
    "colour": slice(9, 13),
    "noise": slice(13, 19),
}


def on_columns(columns):
    """The Gaussian kernel of some columns, as a function of two blocks of samples."""
    gaussian = Gaussian(0.1)
    return lambda A, B: gaussian.block(np.asarray(A)[:, columns], np.asarray(B)[:, columns])


kernels = [FromCallable(on_columns(columns)) for columns in groups.values()]
search = SVCCV(Cs=[1, 10], kernels=Combination(kernels), cv=4).fit(X, wine.target)
print(f"accuracy over the folds {search.best_score_:.3f}, gap {search.combination_gap_:.1g}")

figure, panel = plt.subplots(figsize=(6, 2.6))
panel.barh(list(groups), search.kernel_weights_, color="#3b6ea5")
panel.set_xlabel("weight of the kernel")
panel.invert_yaxis()
plt.show()
