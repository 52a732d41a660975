"""The benchmark pages, from the tables of benchmarks/RESULTS.md: one page and picture a family."""

import re
from pathlib import Path

from benchmark_tables import RESULTS, ratio_in_words, reached, read_rows, read_sections
from matplotlib.figure import Figure

FAMILIES = {  # the first word of a section's name decides
    "svm": "mnist parity adult usps_grid usps_protocol growth small raw nu_svm linear_dense linear_sparse",
    "perceptrons": "usps_study usps_errors linear mnist_kernel",
    "neighbors": "neighbors",
    "probabilistic": "discriminants kernel_logistic kernel_fisher least_squares logistic naive_bayes "
    "sparse_logistic calibration",
    "objects": "strings sequence_machine graphs",
    "gpu": "gpu",
    "tools": "",  # all others
}
TITLES = {
    "svm": "Support vector machines: times",
    "perceptrons": "Perceptrons: times",
    "neighbors": "Nearest neighbours: times",
    "probabilistic": "Probabilistic and linear methods: times",
    "objects": "Strings and graphs: times",
    "gpu": "GPU: times",
    "tools": "Files, experiments and start-up: times",
}
MISSED = (
    "Every row of the tables that misses its target, or the higher goal that is named beside it. "
    'Targets in words, such as "equal or lower", are not read here: see the tables of the sections.'
)


def family_of(section):
    """The family with the longest prefix of the section's name."""
    fits = [
        (len(prefix), family)
        for family, prefixes in FAMILIES.items()
        for prefix in prefixes.split()
        if section == prefix or section.startswith(f"{prefix}_")
    ]
    return max(fits, default=(0, "tools"))[1]


def speed_up(words):
    """The factor in "8.8x faster" or "1.2x slower", or None."""
    found = re.match(r"([\d.,]+)x (faster|slower)", words)
    if found is None:
        return None
    factor = float(found[1].replace(",", ""))
    return factor if found[2] == "faster" else 1 / factor


def draw(rows, path):
    """Bars of all factors over peers, on a log scale."""
    bars = [(row[0], speed_up(row[3]), f"{row[3]}: {row[2]}") for row in rows if speed_up(row[3])]
    figure = Figure(figsize=(9, 0.34 * len(bars) + 1.0), layout="constrained")
    axes = figure.add_subplot()
    colors = ["#3b6ea5" if factor >= 1 else "#b5542f" for _, factor, _ in bars]
    widths = [factor - 1 for _, factor, _ in bars]
    axes.barh(range(len(bars)), widths, left=1, color=colors, height=0.6)
    names = [name if len(name) <= 52 else f"{name[:50]} ..." for name, _, _ in bars]
    axes.set_yticks(range(len(bars)), names, fontsize=8)
    for position, (_, factor, label) in enumerate(bars):
        text = label if len(label) < 44 else f"{label[:42]} ..."
        axes.text(max(factor, 1) * 1.08, position, text, va="center", fontsize=7)
    axes.axvline(1, color="#555555", linewidth=0.8)
    axes.set_xscale("log")
    top = max([factor for _, factor, _ in bars], default=1)
    axes.set_xlim(min([0.5, *(factor for _, factor, _ in bars)]) * 0.8, 60 * top)
    axes.invert_yaxis()
    ticks = [tick for tick in (0.1, 1, 10, 100, 1000) if tick <= 10 * top and tick >= 0.05]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("times faster than the peer in the same run (log scale); red: slower")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def family_page(family, sections):
    """The page of a family, in Markdown."""
    lines = [f"# {TITLES[family]}", ""]
    if any(speed_up(row[3]) for _, text in sections for row in read_rows(text)):
        lines += [f"![Times faster than peers, by task]({family}.svg)", ""]
    for name, text in sections:
        command = f"$ python -m benchmarks {name.split()[0]}"
        lines += [f"## {name}", "", _one_table(text), "", f"```console\n{command}\n```", ""]
    return "\n".join(lines)


def _one_table(text):
    lines = text.splitlines()
    for position, line in enumerate(lines):
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if "x faster" in line and len(cells) == 5:
            lines[position] = line.replace(cells[3], ratio_in_words(cells))
    return "\n".join(lines)


def missed_table(sections):
    """What was not reached, over all sections."""
    head = [
        "| section | what | separatrix | peer | ratio | to reach |",
        "|---|---|---|---|---|---|",
    ]
    rows = [
        f"| {name} | {' | '.join(row)} |"
        for name, text in sections
        for row in read_rows(text)
        if reached(row) is False
    ]
    return "\n".join([*head, *rows]) if rows else "Every target was reached."


def write_pages(app):
    """Write docs/benchmarks/, which git ignores; a page that is the same stays untouched."""
    folder = Path(app.srcdir) / "benchmarks"
    folder.mkdir(exist_ok=True)
    sections = read_sections(RESULTS.read_text(encoding="utf-8"))
    pages = {family: [s for s in sections if family_of(s[0]) == family] for family in FAMILIES}
    texts = {family: family_page(family, part) for family, part in pages.items()}
    texts["missed"] = f"# Targets that were not reached\n\n{MISSED}\n\n{missed_table(sections)}\n"
    for name, text in texts.items():
        path = folder / f"{name}.md"
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.write_text(text, encoding="utf-8")
        rows = [row for _, part in pages.get(name, []) for row in read_rows(part)]
        if any(speed_up(row[3]) for row in rows):
            draw(rows, folder / f"{name}.svg")


def setup(app):
    """Pages are written before Sphinx looks for sources."""
    app.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True}
