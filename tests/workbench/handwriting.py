"""Digits as people draw them: strokes on a page from 0 to 1, several ways for each digit.

The first of each digit is the plain one.
"""

from itertools import pairwise

import numpy as np


def arc(x, y, rx, ry, start, end, n=24):
    """A piece of an ellipse; degrees from the right, clockwise on the page (y is down)."""
    turns = np.radians(np.linspace(start, end, n))
    return [[float(x + rx * np.cos(t)), float(y + ry * np.sin(t))] for t in turns]


def line(*corners, n=10):
    """Straight pieces from corner to corner."""
    points = []
    for (x0, y0), (x1, y1) in pairwise(corners):
        points += [[x0 + (x1 - x0) * t / n, y0 + (y1 - y0) * t / n] for t in range(n)]
    return [*points, list(corners[-1])]


HANDWRITING = {
    "0": [
        [arc(0.5, 0.5, 0.24, 0.36, -90, -450, 40)],
        [arc(0.5, 0.5, 0.19, 0.36, -100, 260, 40)],
        [arc(0.5, 0.5, 0.28, 0.34, -60, -425, 40)],
    ],
    "1": [
        [line((0.5, 0.12), (0.5, 0.88))],
        [line((0.38, 0.3), (0.53, 0.12), (0.53, 0.88))],
        [line((0.56, 0.12), (0.46, 0.88))],
    ],
    "2": [
        [arc(0.5, 0.32, 0.22, 0.2, -170, 30) + line((0.69, 0.42), (0.28, 0.86), (0.74, 0.86))],
        [arc(0.5, 0.3, 0.2, 0.18, -190, 40) + line((0.64, 0.44), (0.3, 0.85), (0.72, 0.85))],
        [arc(0.5, 0.32, 0.22, 0.2, -170, 35) + line((0.66, 0.46), (0.3, 0.84), (0.74, 0.83))],
    ],
    "3": [
        [arc(0.47, 0.31, 0.2, 0.19, -150, 90) + arc(0.47, 0.68, 0.23, 0.19, -90, 150)],
        [arc(0.46, 0.3, 0.22, 0.19, -160, 80) + arc(0.46, 0.68, 0.24, 0.19, -80, 160)],
        [arc(0.48, 0.31, 0.2, 0.2, -140, 100) + arc(0.48, 0.68, 0.21, 0.18, -100, 140)],
    ],
    "4": [
        [line((0.52, 0.12), (0.28, 0.58), (0.74, 0.58)), line((0.58, 0.32), (0.56, 0.88))],
        [line((0.4, 0.14), (0.28, 0.56), (0.74, 0.56)), line((0.6, 0.34), (0.57, 0.88))],
        [line((0.36, 0.14), (0.32, 0.52), (0.68, 0.5)), line((0.66, 0.16), (0.62, 0.88))],
    ],
    "5": [
        [line((0.7, 0.14), (0.38, 0.14), (0.35, 0.44)) + arc(0.47, 0.64, 0.23, 0.23, -125, 140)],
        [
            line((0.37, 0.15), (0.35, 0.46)) + arc(0.47, 0.65, 0.22, 0.22, -120, 145),
            line((0.37, 0.15), (0.68, 0.14)),
        ],
        [line((0.68, 0.13), (0.4, 0.13), (0.37, 0.43)) + arc(0.48, 0.64, 0.2, 0.23, -125, 150)],
    ],
    "6": [
        [arc(0.66, 0.6, 0.36, 0.48, -105, -180, 16) + arc(0.49, 0.67, 0.19, 0.19, 180, -180, 30)],
        [arc(0.62, 0.56, 0.3, 0.44, -100, -180, 16) + arc(0.5, 0.66, 0.18, 0.2, 170, -190, 30)],
        [line((0.56, 0.12), (0.38, 0.5)) + arc(0.5, 0.66, 0.17, 0.2, 195, -165, 30)],
    ],
    "7": [
        [line((0.3, 0.15), (0.7, 0.15), (0.46, 0.88))],
        [line((0.3, 0.15), (0.7, 0.15), (0.44, 0.88)), line((0.38, 0.5), (0.68, 0.5))],
        [line((0.32, 0.16), (0.7, 0.14), (0.54, 0.5), (0.48, 0.88))],
    ],
    "8": [
        [
            arc(0.5, 0.31, 0.18, 0.18, 60, -240, 24)
            + arc(0.5, 0.68, 0.21, 0.19, -65, 245, 24)
            + line((0.41, 0.5), (0.59, 0.46))
        ],
        [arc(0.5, 0.31, 0.17, 0.18, 90, -270, 30), arc(0.5, 0.68, 0.2, 0.19, -90, 270, 30)],
        [
            arc(0.5, 0.3, 0.17, 0.17, -20, -230, 20)
            + arc(0.5, 0.67, 0.19, 0.2, -60, 240, 24)
            + line((0.4, 0.5), (0.64, 0.34), (0.66, 0.25))
        ],
    ],
    "9": [
        [arc(0.48, 0.33, 0.19, 0.19, -10, -360, 30) + line((0.67, 0.33), (0.62, 0.88))],
        [arc(0.5, 0.32, 0.18, 0.19, 0, -355, 30) + line((0.68, 0.3), (0.67, 0.88))],
        [
            arc(0.48, 0.33, 0.18, 0.19, -10, -360, 30)
            + line((0.66, 0.33), (0.66, 0.6))
            + arc(0.49, 0.62, 0.17, 0.25, 0, 120, 16)
        ],
    ],
}


def moved(strokes, *, scale=1.0, right=0.0, down=0.0, slant=0.0):
    """The drawing elsewhere on the page, larger or smaller, or leaning."""
    return [
        [[x * scale + slant * (0.5 - y) + right, y * scale + down] for x, y in stroke]
        for stroke in strokes
    ]


def shaky(strokes, seed, noise=0.012):
    """The drawing by a hand that trembles: each point is off by a slowly changing amount."""
    rng = np.random.default_rng(seed)
    found = []
    for stroke in strokes:
        steps = rng.normal(0.0, noise, size=(len(stroke) + 4, 2))
        smooth = np.stack([np.convolve(c, np.ones(5) / 5, "valid") for c in steps.T], axis=1)
        found.append((np.asarray(stroke) + smooth * 2).tolist())
    return found
