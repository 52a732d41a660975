"""The tables of benchmarks/RESULTS.md: sections, rows, and which rows missed their target."""

import re
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "benchmarks" / "RESULTS.md"
NUMBER = r"([\d,]*\.?\d+(?:e-?\d+)?)"
QUANTITY = re.compile(NUMBER + r"\s*(ms|s|/s|MB|MiB|GB|GiB|%)?(?![\w.])")
SECONDS = {"ms": 1e-3, "s": 1.0}
BYTES = {"MB": 1e6, "MiB": 2**20, "GB": 1e9, "GiB": 2**30}
UNITS = {
    **{u: ("time", v) for u, v in SECONDS.items()},
    **{u: ("memory", v) for u, v in BYTES.items()},
}


def read_sections(text):
    """Name and text of every section."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def read_rows(text):
    """Cells of the tables with the columns what, separatrix, peer, ratio, to reach."""
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[-1] == "to reach" or len(cells) != 5:
            inside = cells[-1] == "to reach"
        elif inside and not set(cells[0]) <= set("- "):
            yield [*cells[:3], ratio_in_words(cells), cells[4]]


def find_row(sections, line):
    """(section, row) that a line of the directive names; ValueError if there is none."""
    line, _, name = (part.strip() for part in line.partition("=>"))
    section, _, start = (part.strip() for part in line.partition(":"))
    if section not in sections:
        raise ValueError(f"benchmarks/RESULTS.md has no section {section!r}")
    for row in read_rows(sections[section]):
        if row[0].startswith(start):
            return section, [name or row[0], *row[1:]]
    raise ValueError(f"section {section!r} of benchmarks/RESULTS.md has no row {start!r}")


def quantity(words):
    """(kind, value) of the first number that has a unit, or that the words begin with; else None.

    >>> quantity("433 MB at rest"), quantity("scikit-learn 0.5 s"), quantity("4,546/s")
    (('memory', 433000000.0), ('time', 0.5), ('rate', 4546.0))
    >>> quantity("the same") is None
    True
    """
    words = re.sub(r" \([^()]* to [^()]*\)", "", words)  # "0.387 (0.366 to 0.425) s"
    for found in QUANTITY.finditer(words):
        value, unit = float(found[1].replace(",", "")), found[2]
        if unit in UNITS:
            kind, scale = UNITS[unit]
            return kind, value * scale
        if unit == "/s":
            return "rate", value
        if found.start() == 0:
            return "number", value
    return None


def factor(words):
    """The leading factor of "8.8x faster", or None."""
    found = re.match(NUMBER + "x", words)
    return float(found[1].replace(",", "")) if found else None


def is_speed(ours, peer, ratio):
    """Whether a bare ratio is a speed, and so the higher the better; None if it is neither."""
    a, b = quantity(ours), quantity(peer)
    if a is None or b is None or a[0] != b[0] or 0 in (a[1], b[1]):
        return None
    share = a[1] / b[1]
    if a[0] == "rate":
        return True
    if abs(ratio * share - 1) < 0.2:
        return True
    return False if abs(ratio / share - 1) < 0.2 else None


def reached(row):
    """Whether a row (what, ours, peer, ratio, target) reached its target; None if it cannot be read."""
    _, ours, peer, ratio, target = row
    if re.search(r"\bgoal\b", target):
        parts = target.split(", goal ")
        return all(reached([*row[:4], part]) is not False for part in parts)
    if factor(ratio) is not None:
        return _factor_reached(ours, peer, ratio, target)
    return _value_reached(ours, target)


def _factor_reached(ours, peer, ratio, target):
    value = factor(ratio)
    value = 1 / value if "slower" in ratio else value
    if target.startswith("not slower"):
        return value >= 1 if "faster" in ratio or "slower" in ratio else None
    limit = factor(re.sub(r"^(at most|under) ", "", target))
    if limit is None:
        return _value_reached(ours, target)
    if "its time" in ratio or "the copy" in ratio:
        return value <= limit
    if "faster" in ratio or "slower" in ratio:
        return value >= limit or target.startswith("at most")
    higher_is_better = is_speed(ours, peer, value)
    if higher_is_better is None:
        return None
    return value >= limit if higher_is_better else value <= limit


def _value_reached(ours, target):
    band = re.match(NUMBER + r" \+- " + NUMBER, target)
    value = quantity(ours)
    if value is None:
        return None
    if band:
        return abs(value[1] - float(band[1])) <= float(band[2]) + 1e-9
    bound, words = re.match(r"(at most |at least |under )?(.*)", target).groups()
    limit = None if words.startswith("+") else quantity(words)
    if limit is None or limit[0] != value[0] or (limit[0] == "number" and bound is None):
        return None
    if bound == "at least " or limit[0] == "rate":
        return value[1] >= limit[1]
    return value[1] <= limit[1]


def ratio_in_words(row):
    """The ratio, where "0.1x faster" becomes "8.7x slower".

    >>> ratio_in_words(["fit", "0.746 s", "liblinear 0.086 s", "0.1x faster", "3x"])
    '8.7x slower'
    """
    _, ours, peer, ratio, _ = row
    value, a, b = factor(ratio), quantity(ours), quantity(peer)
    if value is None or "faster" not in ratio or value >= 1 or None in (a, b) or a[0] != b[0]:
        return ratio
    return f"{a[1] / b[1]:.1f}x slower"
