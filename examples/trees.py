"""Arithmetic expressions as trees: the kernel of common subtrees, as a function of two trees.

Collins and Duffy's kernel counts the subtrees that two trees have in common. The classes are sums of
products and products of sums: the symbols alone say little about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from separatrix import SVC, SVCCV, load, save
from separatrix.kernels import Combination, FromCallable, Normalized

DECAY = 0.5  # of a subtree, for each node: large ones would outweigh all others


@dataclass(frozen=True)
class Tree:
    """A node with a symbol and its children."""

    symbol: str
    children: tuple[Tree, ...] = ()

    def nodes(self) -> Iterator[Tree]:
        """The node and all nodes below it."""
        yield self
        for child in self.children:
            yield from child.nodes()


def common_subtrees(a: Tree, b: Tree) -> float:
    """The weighted number of common subtrees."""
    return sum(_rooted(x, z) for x in a.nodes() for z in b.nodes())


def common_symbols(a: Tree, b: Tree) -> float:
    """The inner product of the counts of symbols."""
    return float(sum(x.symbol == z.symbol for x in a.nodes() for z in b.nodes()))


def _rooted(a: Tree, b: Tree) -> float:
    if a.symbol != b.symbol or len(a.children) != len(b.children):
        return 0.0
    product = DECAY
    for x, z in zip(a.children, b.children, strict=True):
        product *= 1.0 + _rooted(x, z)
    return product


def main() -> None:
    """Compare both kernels and their combination, and save the best model."""
    rng = np.random.default_rng(0)
    y = rng.choice(["sum of products", "product of sums"], size=120)
    trees = [expression(rng, "+*" if label.startswith("sum") else "*+") for label in y]
    train, test = slice(0, 80), slice(80, 120)
    kernels = {
        "symbols": Normalized(FromCallable(common_symbols, objects=True)),
        "subtrees": Normalized(FromCallable(common_subtrees, objects=True)),
    }
    for name, kernel in kernels.items():
        model = SVC(kernel=kernel, C=10).fit(trees[train], y[train])
        print(f"{name}: test accuracy {model.score(trees[test], y[test]):.2f}")

    both = SVCCV([1, 10], kernels=Combination(kernels.values()), cv=4).fit(trees[train], y[train])
    weights = dict(zip(kernels, both.kernel_weights_.round(2).tolist(), strict=True))
    print(f"combined: test accuracy {both.score(trees[test], y[test]):.2f}, weights {weights}")
    print(f"relative duality gap of the combination: {both.combination_gap_:.1g}")

    path = save(model, "trees.model")
    again = load(path, kernel=common_subtrees, classes=[Tree])
    print(f"wrote {path}; the first test tree is a {again.predict(trees[test])[0]}")


def expression(rng: np.random.Generator, operators: str) -> Tree:
    """Operators of two levels over names; the one at the root is the first."""
    outer, inner = operators
    leaves = [Tree(str(rng.choice(list("xyz")))) for _ in range(4)]
    first, second = Tree(inner, tuple(leaves[:2])), Tree(inner, tuple(leaves[2:]))
    if rng.random() < 0.5:  # as many of either operator as in the other class
        return Tree(outer, (first, Tree(outer, tuple(leaves[2:]))))
    return Tree(outer, (first, second, Tree(outer, (leaves[0], leaves[3]))))


if __name__ == "__main__":
    main()
