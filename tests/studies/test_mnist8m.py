"""One SVC by the number of deformed digits: sizes, warm starts, certificates and the page."""

import numpy as np
import pytest
from tests.gpu.certificates import boundaries
from tests.gpu.certificates import certificate as certificate_of
from tests.studies.quick_runs import OPTIONS, quick_run

from separatrix import SVC
from separatrix.data.deformed import DeformedDigits
from separatrix.experiments.run import run
from separatrix.experiments.steps import RunContext
from separatrix.report.page import render
from separatrix.studies import mnist8m
from separatrix.studies.catalogue import make
from separatrix.studies.mnist8m import GAMMA, check_pairs, on_canvas, starting_fits
from separatrix.studies.mnist8m_page import page


@pytest.fixture(scope="module")
def results():
    return quick_run("mnist8m").results


@pytest.fixture(scope="module")
def study():
    made = make("mnist8m", quick=True, **OPTIONS["mnist8m"])
    context = RunContext(made)
    own = made.steps[0].run.func.__self__
    return own, own.parts(context)


@pytest.fixture(scope="module")
def fitted(study):
    own, parts = study
    stream = own._stream(parts, on_device=False)
    X, y = stream.images(0, 300), stream.labels(0, 300)
    return SVC(C=10.0, gamma=GAMMA / 255**2).fit(X, y), stream, X, y


def test_each_size_is_the_machine_of_its_images_from_scratch(results, study, fitted):
    _, parts = study
    model = fitted[0]
    wrong = np.mean(model.predict(parts.test) != parts.test_labels)
    assert results.values(part="300 images", metric="test_error").tolist() == [
        pytest.approx(wrong, abs=2 / len(parts.test))
    ]
    support = results.values(part="300 images", metric="support_vectors")[0]
    assert support == pytest.approx(len(model.support_), rel=0.02)
    assert results.values(metric="violation").max() <= 1e-3
    assert results.values(metric="unfinished").tolist() == [0, 0]


def test_certificates_are_those_of_all_images_where_all_are_checked(fitted):
    model, stream, X, y = fitted
    every = list(boundaries(model, y))
    checked = check_pairs(model, stream, y)
    for check, p in zip(checked, (0, 22, 44), strict=True):
        whole = certificate_of(model, X, every[p])
        assert check.violation == pytest.approx(whole.violation, abs=1e-9)
        assert check.gap == pytest.approx(whole.gap, abs=1e-9)


def test_a_wrong_coefficient_shows_in_the_certificate(fitted):
    model, stream, X, y = fitted
    spoiled = SVC(C=10.0, gamma=GAMMA / 255**2).fit(X, y)
    spoiled.dual_coef_ = 0.9 * spoiled.dual_coef_
    assert max(check.violation for check in check_pairs(spoiled, stream, y)) > 0.01
    assert max(check.violation for check in check_pairs(model, stream, y)) <= 2e-3


def test_a_fit_from_all_its_own_coefficients_needs_no_step(fitted):
    model, _, X, y = fitted
    again = SVC(C=10.0, gamma=GAMMA / 255**2, warm_start=True)
    again._fits = starting_fits(model.support_, np.asarray(model.dual_coef_), y)
    assert again.fit(X, y).n_iter_.sum() == 0
    np.testing.assert_allclose(again.dual_coef_, model.dual_coef_)


def test_a_run_that_was_cut_goes_on_where_it_was(results, tmp_path, monkeypatch):
    made = make("mnist8m", quick=True, **OPTIONS["mnist8m"])
    train = mnist8m._StreamStudy.train

    def cut(self, context, n, before):
        if n == 300:
            raise KeyboardInterrupt
        return train(self, context, n, before)

    monkeypatch.setattr(mnist8m._StreamStudy, "train", cut)
    with pytest.raises(KeyboardInterrupt):
        run(make("mnist8m", quick=True, **OPTIONS["mnist8m"]), tmp_path, progress=False)
    monkeypatch.setattr(mnist8m._StreamStudy, "train", train)

    resumed = run(made, tmp_path, progress=False)

    assert [repr(row[:7]) for row in resumed.rows] == [repr(row[:7]) for row in results.rows]
    for step, arrays in results.arrays.items():
        for key, array in arrays.items():
            np.testing.assert_array_equal(resumed.arrays[step][key], array)


def test_the_page_shows_every_size(results):
    made = page(results)
    curve, certificates = made.sections
    assert [row[0] for row in curve.shows[0].table.rows] == [120, 300]
    assert [row[0] for row in certificates.shows[0].rows] == [120, 300]
    assert f"{100 * results.values(metric='test_error')[-1]:.2f} %" in made.summary[0]
    assert render(made)


def test_small_images_are_enlarged_onto_the_canvas():
    large = on_canvas(np.full((1, 8, 8), 7, np.uint8)).reshape(28, 28)
    assert (large == 7).sum() == 24 * 24
    assert large[:2].max() == 0
    np.testing.assert_array_equal(
        on_canvas(np.full((1, 28, 28), 7, np.uint8)), np.full((1, 784), 7)
    )


def test_any_numbers_of_a_stream_are_its_images():
    images = np.random.default_rng(0).integers(0, 256, (5, 784)).astype(np.uint8)
    stream = DeformedDigits(images, np.arange(5))
    np.testing.assert_array_equal(stream.take([17, 3, 9]), stream.images(0, 18)[[17, 3, 9]])
