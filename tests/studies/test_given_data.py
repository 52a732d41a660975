"""`linear-classifiers` and `kernel-methods` on given data: claims are measured there, and judged."""

import numpy as np
import pytest

from separatrix.data.dataset import Dataset
from separatrix.errors import ExperimentError
from separatrix.experiments.run import run
from separatrix.studies import kernel_methods, linear
from separatrix.studies.inputs import MOST_FEATURES, MOST_ROWS, scaled_samples
from separatrix.studies.kernel_methods.steps import BOUND, DEFINITE, FORMS, MAP, OBJECTS


def write(path, X, y):
    """A file of samples with classes."""
    header = ",".join([*(f"x{j}" for j in range(X.shape[1])), "class"])
    lines = [",".join([*map(repr, x), label]) for x, label in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join([header, *lines]))
    return str(path)


@pytest.fixture(scope="module")
def clouds():
    """Three overlapping classes, far from 0 and on different scales, sorted by class."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 50)
    X = 100.0 + rng.normal(size=(150, 3)) * [1.0, 50.0, 0.01]
    X[:, :2] += np.outer(y, [1.5, 75.0])
    return X, np.array(["low", "middle", "high"])[y]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_claims_of_the_linear_study_are_measured_on_given_data(clouds, tmp_path):
    data = write(tmp_path / "clouds.csv", *clouds)
    made = linear.experiment(quick=True, data=data)
    results = run(made, tmp_path / "run", progress=False)
    failed = [claim.caption for claim in linear.all_claims(results) if not claim.holds]
    assert failed == ["K - 1 one-vs-rest leaves area without a class"]  # classes lie in a row
    page = linear.page(results)
    assert page.summary[0].startswith("1 of 32 claims do not hold: part 2")
    assert "clouds.csv" in page.title
    assert any("does not hold for these rows" in words for words in page.summary)
    measured = {row.data for row in results.rows}
    assert not any("iris" in name for name in measured)
    assert any(data in name for name in measured)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_classes_have_the_claims_that_two_classes_can_have(clouds, tmp_path):
    X, y = clouds
    data = write(tmp_path / "two.csv", X[50:], y[50:])
    results = run(linear.experiment(quick=True, data=data), tmp_path / "run", progress=False)
    claims = linear.all_claims(results)
    assert [claim.part for claim in claims if claim.missing] == [11]  # no line separates them
    failed = {claim.part for claim in claims if not (claim.holds or claim.missing)}
    assert failed == {2}  # of two classes no combination leaves area
    page = linear.page(results)
    assert page.summary[0].endswith(
        "Not measured: part 11, the SVM's margin less that of the next best line (no line separates the "
        "first two classes)."
    )
    table = page.sections[0].shows[0]
    assert [row[1] for row in table.rows if row[2].startswith("the SVM's margin")] == [
        "not measured"
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_kernel_study_says_what_holds_on_given_data(clouds, tmp_path):
    data = write(tmp_path / "clouds.csv", *clouds)
    made = kernel_methods.experiment(quick=True, data=data)
    results = run(made, tmp_path / "run", progress=False)
    for part in (FORMS, BOUND, MAP, DEFINITE, f"{OBJECTS}"):
        assert data in {row.data for row in results.where(part=part)}
    assert results.values(part=FORMS, metric="same_mistakes").all()
    assert results.values(part=MAP, metric="same_mistakes").all()
    page = kernel_methods.page(results)
    (judged,) = [words for words in page.summary if "clouds.csv" in words]
    assert "does not hold that a line separates them" in judged
    assert "a Gaussian separates them, with mistakes within" in judged


def test_scaled_samples_are_drawn_from_every_class_and_from_what_differs():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [3000, 40, 3])
    X = rng.normal(size=(len(y), 60))
    X[:, 7] += 10.0 * y
    X[:, 8] = 1.0
    found = scaled_samples("a study", Dataset("many", X, y), 0)
    assert found.X.shape == (MOST_ROWS, MOST_FEATURES)
    assert found.names == ("0", "1")  # three rows are too few
    assert np.bincount(found.y).min() > 0
    assert "feature 8" in found.features
    assert "feature 9" not in found.features
    with pytest.raises(ExperimentError, match="two classes with 10 rows; few has 0"):
        scaled_samples("a study", Dataset("few", X[-3:], y[-3:]), 0)
