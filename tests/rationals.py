"""Linear algebra on rational numbers, as an oracle without rounding."""

from fractions import Fraction

Rational = Fraction


def rational(values):
    """Floats, nested in rows, as the rational numbers that they are."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    return [rational(v) for v in values] if isinstance(values, list) else Fraction(values)


def dot(u, v):
    """The inner product of two vectors."""
    return sum((a * b for a, b in zip(u, v, strict=True)), Fraction(0))


def solve_exactly(A, B):
    """X with AX = B, and the determinant of A; rows of B may hold several right-hand sides."""
    rows = [list(a) + list(b) for a, b in zip(A, B, strict=True)]
    n, determinant = len(rows), Fraction(1)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        if pivot != i:
            rows[i], rows[pivot], determinant = rows[pivot], rows[i], -determinant
        determinant *= rows[i][i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(n):
            if r != i and rows[r][i]:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[n:] for row in rows], determinant
