"""One rule for several classes from fitted classifiers: the model's own, or one of binary boundaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix.evaluation.lattice import Lattice, in_blocks
from separatrix.evaluation.plane_decisions import decide
from separatrix.solvers.decomposition import coding
from separatrix.types import Codes, Flags, Matrix, Signs

RULES = {
    "predict": "the predicted class",
    "rest": "each class but the last against the rest",
    "each": "each class against the rest",
    "pairs": "majority of all pairs",
}
INDETERMINATE = -1


class RegionClassifier(NamedTuple):
    """A fitted classifier, and the rows that it was trained on."""

    fitted: Any
    rows: Codes


class RuleDecisions(NamedTuple):
    """The class of each position by a rule."""

    codes: Codes  # shape: (m,)
    undecided: Flags  # shape: (m,)
    fields: Matrix  # shape: (p, m)
    rounding: float


@dataclass(frozen=True, eq=False)
class RuleClassifier:
    """Classifiers that are fitted, and the rule that combines them."""

    labels: Any  # shape: (k,)
    rule: str
    machines: tuple[RegionClassifier, ...]

    @property
    def boundaries(self) -> int:
        """Boundaries whose scores are held for each position."""
        votes = len(self.labels) if self.rule == "predict" else 1
        return max(len(self.machines), votes)

    def predict(self, positions: Matrix) -> Codes:
        """The class code of positions, (m,); -1 if the rule gives no class."""
        guesses = [in_blocks(machine.fitted.predict, positions) for machine in self.machines]
        if self.rule == "predict":
            return np.asarray(np.searchsorted(self.labels, guesses[0]))
        return _combine(np.stack(guesses) == 1, self.rule, len(self.labels))

    def decide(self, where: Lattice | Matrix) -> RuleDecisions:
        """The class of positions, and where it is undecided."""
        labels = self.labels if self.rule == "predict" else np.array([-1, 1])
        parts = [decide(machine.fitted, labels, where) for machine in self.machines]
        scores, bounds = (
            np.stack(part) for part in zip(*(part[1:] for part in parts), strict=True)
        )
        open_ = np.stack([part.undecided for part in parts])
        if self.rule == "predict":
            codes, undecided = parts[0].codes, open_[0]
        else:
            claims, k = np.stack([part.codes == 1 for part in parts]), len(self.labels)
            codes, undecided = _combine(claims, self.rule, k), np.zeros(claims.shape[1], dtype=bool)
            for p in np.flatnonzero(open_.any(axis=1)):  # would the other side make a difference?
                other = claims.copy()
                other[p] ^= open_[p]
                undecided |= _combine(other, self.rule, k) != codes
        rounding = float(bounds[open_ & undecided].max(initial=0.0))
        return RuleDecisions(codes, undecided, scores, rounding)


def _combine(claims: Flags, rule: str, k: int) -> Codes:
    """Return the class of each position, (m,), from the claims of all boundaries, (p, m)."""
    rule_function = _majority if rule == "pairs" else _only_claim
    return rule_function(claims, sides_of(rule, k))


def sides_of(rule: str, k: int) -> Signs:
    """Return the side of each class in each binary problem, (k, p)."""
    if rule == "pairs":
        return coding(k, "ovo")
    against_rest = (2 * np.eye(k, dtype=np.int8) - 1).astype(np.int8)
    return against_rest[:, :-1] if rule == "rest" else against_rest


def _majority(claims: Flags, sides: Signs) -> Codes:
    """Return the class with the most votes, (m,); ties are indeterminate."""
    votes = (sides > 0).astype(np.intp) @ claims + (sides < 0).astype(np.intp) @ ~claims  # (k, m)
    alone = (votes == votes.max(axis=0)).sum(axis=0) == 1
    return np.where(alone, votes.argmax(axis=0), INDETERMINATE)


def _only_claim(claims: Flags, sides: Signs) -> Codes:
    """Return the only class that claims a position; if none does, the one without a boundary, (m,)."""
    k, p = sides.shape
    count = claims.sum(axis=0)
    unclaimed = k - 1 if p < k else INDETERMINATE
    codes = np.where(count == 1, claims.argmax(axis=0), INDETERMINATE)
    return np.where(count == 0, unclaimed, codes)
