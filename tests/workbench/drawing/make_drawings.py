"""Writes `drawings.json`: 240 drawings of the ten digits, made by us, in 24 styles for each digit.

    python -m tests.workbench.drawing.make_drawings

A drawing is one of the forms of a digit (five each), bent by a style: slant, width against height, turn,
size on the page, the trembling of a slow or a quick hand, and how dense the points of the pen are.
The styles follow from the seed; the file in the repository is what this script writes.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from tests.workbench.handwriting import HANDWRITING, arc, line

SEED, STYLES = 28, 24
FILE = Path(__file__).with_name("drawings.json")
MORE = {
    "0": [
        [arc(0.5, 0.5, 0.2, 0.33, -130, 220, 40)],
        [arc(0.5, 0.5, 0.22, 0.34, -70, -410, 40)],
    ],
    "1": [
        [line((0.36, 0.28), (0.52, 0.14), (0.52, 0.86)), line((0.36, 0.86), (0.68, 0.86))],
        [line((0.5, 0.86), (0.5, 0.14))],
    ],
    "2": [
        [
            arc(0.5, 0.31, 0.2, 0.18, -165, 45)
            + line((0.62, 0.46), (0.36, 0.78))
            + arc(0.36, 0.82, 0.06, 0.05, -90, -270, 10)
            + line((0.38, 0.86), (0.5, 0.8), (0.72, 0.86))
        ],
        [line((0.32, 0.2), (0.44, 0.13), (0.62, 0.18), (0.66, 0.34), (0.3, 0.86), (0.7, 0.85))],
    ],
    "3": [
        [line((0.32, 0.15), (0.66, 0.15), (0.46, 0.44)) + arc(0.46, 0.65, 0.21, 0.21, -80, 150)],
        [arc(0.48, 0.31, 0.17, 0.17, -160, 70) + arc(0.47, 0.68, 0.22, 0.2, -70, 155)],
    ],
    "4": [
        [line((0.62, 0.88), (0.62, 0.14), (0.28, 0.62), (0.76, 0.62))],
        [line((0.34, 0.14), (0.34, 0.5), (0.7, 0.5)), line((0.66, 0.14), (0.66, 0.88))],
    ],
    "5": [
        [
            line((0.36, 0.14), (0.36, 0.44), (0.52, 0.42)) + arc(0.5, 0.64, 0.2, 0.22, -80, 140),
            line((0.36, 0.14), (0.7, 0.13)),
        ],
        [line((0.68, 0.16), (0.4, 0.15), (0.38, 0.42)) + arc(0.46, 0.63, 0.21, 0.22, -110, 135)],
    ],
    "6": [
        [
            line((0.6, 0.12), (0.44, 0.34), (0.34, 0.58))
            + arc(0.51, 0.67, 0.18, 0.19, 190, -170, 30)
        ],
        [arc(0.64, 0.55, 0.3, 0.43, -95, -185, 16) + arc(0.49, 0.69, 0.17, 0.17, 190, -180, 30)],
    ],
    "7": [
        [line((0.3, 0.2), (0.32, 0.15), (0.7, 0.15), (0.5, 0.5), (0.42, 0.88))],
        [line((0.3, 0.14), (0.7, 0.16), (0.5, 0.88)), line((0.42, 0.52), (0.7, 0.5))],
    ],
    "8": [
        [
            arc(0.5, 0.32, 0.17, 0.17, -45, -225, 20)
            + line((0.4, 0.44), (0.6, 0.56))
            + arc(0.5, 0.68, 0.19, 0.18, -45, 225, 24)
            + line((0.38, 0.56), (0.61, 0.42))
        ],
        [arc(0.5, 0.32, 0.16, 0.17, -90, 270, 30), arc(0.5, 0.68, 0.2, 0.19, -80, 280, 30)],
    ],
    "9": [
        [arc(0.48, 0.33, 0.18, 0.18, 20, -340, 30) + line((0.66, 0.3), (0.6, 0.6), (0.54, 0.88))],
        [arc(0.5, 0.32, 0.18, 0.18, -30, -350, 30), line((0.68, 0.24), (0.64, 0.88))],
    ],
}


def make_drawings() -> list[dict[str, object]]:
    """All drawings, each with its label, its style in words and the width of its pen."""
    rng = np.random.default_rng(SEED)
    found: list[dict[str, object]] = []
    for label, ways in HANDWRITING.items():
        forms = [*ways, *MORE[label]]
        for number in range(STYLES):
            style = draw_style(rng)
            strokes = [bend(stroke, style, rng) for stroke in forms[number % len(forms)]]
            found.append({"label": label, "form": number % len(forms), **style, "strokes": strokes})
    return found


def draw_style(rng: np.random.Generator) -> dict[str, float]:
    """How one hand writes."""
    return {
        "slant": round(float(rng.uniform(-0.15, 0.5)), 2),  # most people lean to the right
        "width": round(float(rng.uniform(0.7, 1.2)), 2),
        "turn": round(float(rng.uniform(-6.0, 6.0)), 1),  # degrees
        "size": round(float(rng.uniform(0.35, 0.95)), 2),
        "tremble": round(float(rng.uniform(0.0, 0.02)), 3),
        "pen": round(float(rng.uniform(0.75, 1.25)), 2),  # its width against the usual one
        "points": int(rng.integers(8, 40)),  # of a stroke
    }


def bend(
    stroke: list[list[float]], style: dict[str, float], rng: np.random.Generator
) -> list[list[float]]:
    """A stroke in a style."""
    points = resample(np.asarray(stroke), int(style["points"])) - 0.5
    points += tremble(len(points), style["tremble"], rng)
    points[:, 0] = points[:, 0] * style["width"] - style["slant"] * points[:, 1]
    angle = np.deg2rad(style["turn"])
    turned = points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.clip(0.5 + style["size"] * turned, 0.0, 1.0).round(3).tolist()


def resample(points: np.ndarray, count: int) -> np.ndarray:
    """Points along a line, the corners kept: a hand is slow there."""
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    travelled = np.concatenate([[0.0], np.cumsum(steps)])
    before, after = np.diff(points, axis=0)[:-1], np.diff(points, axis=0)[1:]
    turns = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])
    turns /= np.maximum(steps[:-1] * steps[1:], 1e-12)
    at = np.union1d(np.linspace(0, travelled[-1], count), travelled[1:-1][turns > 0.5])
    return np.column_stack([np.interp(at, travelled, points[:, axis]) for axis in (0, 1)])


def tremble(count: int, size: float, rng: np.random.Generator) -> np.ndarray:
    """Slowly changing offsets: sums of three waves along the stroke."""
    t = np.linspace(0.0, 1.0, count)[:, None]
    waves = [
        np.sin(2 * np.pi * (rng.uniform(0.5, 4.0, 2) * t + rng.uniform(0, 1, 2))) for _ in range(3)
    ]
    return size * np.sum(waves, axis=0)


def as_text(drawings: list[dict[str, object]]) -> str:
    """JSON with one drawing a line."""
    lines = (json.dumps(one, separators=(",", ":")) for one in drawings)
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(as_text(make_drawings()))
