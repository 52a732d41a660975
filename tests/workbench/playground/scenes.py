"""Scenes of Playground, and the arrays in its answers."""

import base64
import json

import numpy as np

from separatrix.workbench.playground.generators import generate_points

WINDOW = [-3.0, 3.0, -3.0, 3.0]


def make_scene(shape="moons", model="svm", *, n=80, seed=3, **more):
    points = generate_points(shape, n=n, noise=0.25, seed=seed)
    return {"points": points, "model": model, "parameters": {}, **more}


def fit(playground, grid=25, **scene):
    answer = playground.fit(window=WINDOW, grid=grid, **scene)
    json.dumps(answer, allow_nan=False)
    return answer


def fact(answer, title):
    return next(one["value"] for one in answer["facts"] if one["title"] == title)


def as_arrays(points):
    return np.array([point[:2] for point in points]), np.array([point[2] for point in points])


def decode_codes(answer):
    cells = np.frombuffer(base64.b64decode(answer["codes"]), dtype=np.int8)
    return cells.reshape(answer["grid"], answer["grid"])


def decode_fields(answer):
    values = np.frombuffer(base64.b64decode(answer["fields"]), dtype="<f4")
    return values.reshape(answer["boundaries"], answer["grid"], answer["grid"])


def decode_crossings(answer):
    found = np.zeros((4, answer["grid"], answer["grid"]))
    places = np.frombuffer(base64.b64decode(answer["crossed"]), dtype="<u4")
    found.ravel()[places] = np.frombuffer(base64.b64decode(answer["crossings"]), np.uint8) / 256
    return found
