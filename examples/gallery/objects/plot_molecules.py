"""
Molecules with coloured atoms
=============================

Molecules are graphs. Here, rings of six carbons carry either a nitro group or a hydroxyl group, among other side chains; the
Weisfeiler-Lehman kernel compares neighbourhoods of atoms. The colours show which atoms decide.
"""

import numpy as np

from separatrix import SVC, Graph, explain_object
from separatrix.kernels import Normalized, WeisfeilerLehman
from separatrix.plots import plot_graphs, plot_parts

rng = np.random.default_rng(0)
C, N, O = 6, 7, 8  # atomic numbers
names = {C: "C", N: "N", O: "O"}


def molecule(nitro):
    """A ring of carbons with a nitro group, or with two hydroxyl groups, and a chain."""
    atoms, edges = [C] * 6, [(i, (i + 1) % 6) for i in range(6)]
    slots = list(rng.permutation(6))

    def attach(atom, to):
        atoms.append(atom)
        edges.append((to, len(atoms) - 1))
        return len(atoms) - 1

    if nitro:
        nitrogen = attach(N, slots.pop())
        attach(O, nitrogen)
        attach(O, nitrogen)
    else:
        attach(O, slots.pop())
        attach(N, slots.pop())
        attach(O, slots.pop())
    at = slots.pop()
    for _ in range(rng.integers(1, 4)):
        at = attach(C, at)
    return Graph(len(atoms), edges, node_labels=atoms)


y = np.tile(["nitro", "other"], 30)
X = [molecule(label == "nitro") for label in y]

# %%
# Atoms alone cannot tell the classes apart: both have one nitrogen and two oxygens. One round of neighbourhoods can.

for rounds in (0, 1, 2):
    model = SVC(kernel=Normalized(WeisfeilerLehman(rounds))).fit(X[:40], y[:40])
    print(f"{rounds} rounds: test accuracy {model.score(X[40:], y[40:]):.2f}")

explained = explain_object(model, X[40], names=names)
figure = plot_parts(explained, names=names)

# %%
# Four test molecules on one scale.

parts = [explain_object(model, graph, names=names) for graph in X[40:44]]
four = plot_graphs(
    X[40:44],
    [part.values for part in parts],
    [f"{part.label}" for part in parts],
    names=names,
    columns=4,
)
