"""What the service keeps between the requests of a dragged slider: points and kernel values."""

import numpy as np
import pytest
from sklearn.svm import SVC as PeerSVC
from tests.workbench.playground.scenes import as_arrays, fit, make_scene

from separatrix.kernels import Gaussian
from separatrix.kernels.gram import HeldGram
from separatrix.workbench.playground import service as service_module
from separatrix.workbench.playground.kernel_rows import KernelValuesCache
from separatrix.workbench.worker import PointsNotKeptError, describe_error

OPTIONS = {"memory": None, "segments": None, "threads": 1, "hold": False, "device": None}


def without_points(scene, **more):
    return {**{name: value for name, value in scene.items() if name != "points"}, **more}


def test_points_that_are_kept_need_not_be_sent_again(playground):
    scene = make_scene("moons", model="svm")
    first = fit(playground, **scene, kept="k")
    again = fit(playground, **without_points(scene, kept="k"))

    assert {**again, "milliseconds": 0} == {**first, "milliseconds": 0}


def test_points_that_are_not_kept_are_asked_for(playground):
    with pytest.raises(PointsNotKeptError) as caught:
        fit(playground, **without_points(make_scene("moons", model="svm"), kept="unknown"))

    assert describe_error(caught.value)["code"] == "points"


def test_the_points_used_last_are_kept(playground, monkeypatch):
    monkeypatch.setattr(service_module, "MAX_KEPT", 2)
    scene = make_scene("moons", model="lda")
    for key in ("a", "b"):
        fit(playground, **scene, kept=key)
    fit(playground, **without_points(scene, kept="a"))
    fit(playground, **scene, kept="c")

    fit(playground, **without_points(scene, kept="a"))
    with pytest.raises(PointsNotKeptError):
        fit(playground, **without_points(scene, kept="b"))


def test_other_points_under_a_key_have_their_own_explanation(playground):
    scene = make_scene("moons", model="knn")
    asked = {name: value for name, value in scene.items() if name not in ("window", "grid")}
    before = playground.explain(**asked, kept="k", at=[0.3, 0.2])
    moved = [[x + 5.0, y, label] for x, y, label in scene["points"]]
    after = playground.explain(**{**asked, "points": moved}, kept="k", at=[0.3, 0.2])

    assert after["neighbours"] != before["neighbours"]


def test_a_slider_that_leaves_the_kernel_alone_computes_no_kernel_matrix(playground, monkeypatch):
    made, make = [], KernelValuesCache.make

    def remember(self, *args, **options):
        made.append(make(self, *args, **options))
        return made[-1]

    monkeypatch.setattr(KernelValuesCache, "make", remember)
    scene = make_scene("moons", model="svm", n=600)
    X, y = as_arrays(scene["points"])
    fit(playground, **scene)
    for C in (1.5, 2.0, 2.5):
        found = fit(playground, **{**scene, "parameters": {"C": C}}, quick=True)
        peer = PeerSVC(C=C, gamma=1.0).fit(X, y)
        assert abs(found["errors"]["train"][0] - np.sum(peer.predict(X) != y)) <= 3  # a preview
    fit(playground, **{**scene, "parameters": {"C": 2.5, "gamma": 2.0}}, quick=True)

    assert made[0] is made[1] is made[2]
    assert made[3] is not made[2]


def test_kernel_rows_are_single_where_the_bound_allows_it_and_exact_elsewhere():
    X = np.random.default_rng(0).normal(size=(300, 2))
    rows, order = KernelValuesCache(), np.arange(300)
    loose = rows.make(Gaussian(1.0), X, order=order, tolerance=1e-3, **OPTIONS)
    tight = rows.make(Gaussian(1.0), X, order=order, tolerance=0.0, **OPTIONS)

    assert loose.dtype == np.float32
    assert tight.dtype == np.float64
    exact = HeldGram(Gaussian(1.0).block(X, X)).matrix
    np.testing.assert_allclose(loose.tile(order, order), exact, atol=1e-5)
