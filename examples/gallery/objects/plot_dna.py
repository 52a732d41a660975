"""
DNA: which letters decide
=========================

Half of these sequences contain the word TATAAT with one letter replaced. A support vector machine with a kernel on words learns it;
`explain_object` divides the score of a sequence among its letters.
"""

import numpy as np

from separatrix import SVCCV, explain_object
from separatrix.kernels import Normalized, Spectrum, Subsequence
from separatrix.plots import plot_parts

rng = np.random.default_rng(0)
y = np.tile(["with", "without"], 90)


def sequence(hidden):
    """Forty random letters, with the word at a random position if `hidden`."""
    letters = rng.choice(list("ACGT"), 40)
    if hidden:
        word = np.array(list("TATAAT"))
        word[rng.integers(6)] = rng.choice(list("ACGT"))
        start = rng.integers(34)
        letters[start : start + 6] = word
    return "".join(letters)


X = [sequence(label == "with") for label in y]
train, test = slice(0, 120), slice(120, None)
families = {
    "words": [Normalized(Spectrum(k, shortest=2)) for k in (3, 4, 5, 6)],
    "words with gaps": [Normalized(Subsequence(k, 0.5)) for k in (3, 4, 5)],
}
for name, kernels in families.items():
    search = SVCCV(Cs=[0.1, 1, 10], kernels=kernels, cv=5).fit(X[train], y[train])
    print(
        f"{name}: test accuracy {search.score(X[test], y[test]):.2f}, {search.best_params_['kernel']}"
    )

# %%
# One sequence that contains the word: letters on a coloured ground speak for or against.

attribution = explain_object(search, X[120])
figure = plot_parts(attribution)
