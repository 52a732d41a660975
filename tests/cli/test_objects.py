"""Strings and graphs from the command line: fit, tune, evaluate, explain, compare."""

import numpy as np
import pytest
from tests.cli.command import run, run_json

from separatrix import load
from separatrix.app.train_from_file import parse_normalized_kernel
from separatrix.errors import ParameterError
from separatrix.evaluation.suite import suite
from separatrix.kernels import Gaussian, Normalized, Spectrum, WeisfeilerLehman
from separatrix.kernels.names import parse_kernel


@pytest.fixture
def molecules(tmp_path):
    """A folder of the TU collection: rings and paths of 3 to 14 nodes."""
    owner, edges, labels = [], [], []
    for number in range(24):
        n, ring, first = 3 + number // 2, number % 2 == 0, len(owner) + 1
        owner += [number + 1] * n
        pairs = [(first + i, first + i + 1) for i in range(n - 1)]
        pairs += [(first + n - 1, first)] if ring else []
        edges += pairs + [(b, a) for a, b in pairs]
        labels.append(1 if ring else -1)
    for part, rows in {"graph_indicator": owner, "graph_labels": labels}.items():
        (tmp_path / f"SHAPES_{part}.txt").write_text("".join(f"{row}\n" for row in rows))
    (tmp_path / "SHAPES_A.txt").write_text("".join(f"{a}, {b}\n" for a, b in edges))
    return tmp_path


@pytest.fixture
def sites(tmp_path):
    rng = np.random.default_rng(0)
    lines = []
    for number in range(40):
        letters = rng.choice(list("acgt"), 12)
        if number % 2:
            letters[4:8] = list("tata")
        lines.append(f"{'+' if number % 2 else '-'},n{number},\t{''.join(letters)}\n")
    path = tmp_path / "sites.data"
    path.write_text("".join(lines))
    return path


@pytest.mark.slow
def test_a_machine_over_graphs_is_fitted_kept_measured_and_explained(molecules, tmp_path):
    kept = tmp_path / "shapes.model"

    options = ("--kernel", "WeisfeilerLehman(2)", "--set", "C=100", "--out", kept, "--quiet")
    run("fit", molecules, *options)

    assert load(kept)[-1].kernel == Normalized(WeisfeilerLehman(2))
    measured = run_json("evaluate", kept, molecules)
    assert measured["metrics"]["error"] == 0.0
    told = run_json("explain", kept, molecules, "--row", 1)
    assert len(told["shares"]["values"]) == 3
    picture = tmp_path / "why.svg"
    run("explain", kept, molecules, "--row", 1, "--picture", picture)
    assert picture.read_text().lstrip().startswith("<?xml")


@pytest.mark.slow
def test_lengths_of_words_are_tuned_over_strings(sites, tmp_path):
    kept = tmp_path / "sites.model"
    told = run_json("tune", sites, "--model", "svm-string", "--folds", 3, "--out", kept)
    assert told["chosen"]["kernel"].startswith("Normalized(kernel=")
    assert run_json("evaluate", kept, sites)["metrics"]["error"] < 0.1


@pytest.mark.slow
def test_graphs_are_compared_by_all_that_suits(molecules):
    told = run_json("compare", molecules, "--cv", 3, "--repeats", 1)
    names = {row["model"] for row in told["rows"]}
    assert {"SVM, graph kernel", "nearest neighbours", "naive Bayes, multinomial"} <= names
    assert "SVM, string kernel" not in told["left_out"]


def test_a_picture_needs_a_row(molecules, tmp_path):
    kept = tmp_path / "shapes.model"
    run("fit", molecules, "--model", "svm-graph", "--out", kept, "--quiet")
    refused = run("explain", kept, "--picture", tmp_path / "a.svg", code=2)
    assert "--picture needs DATA and --row" in refused.stderr
    wrong = run("explain", kept, molecules, "--row", 0, "--picture", tmp_path / "a.doc", code=1)
    assert "a file .svg, .png, .pdf" in wrong.stderr
    assert not (tmp_path / "a.doc").exists()


def test_a_kernel_for_other_samples_is_refused(sites, tmp_path):
    done = run("fit", sites, "--kernel", "ShortestPath()", "--out", tmp_path / "m", code=1)
    assert "ShortestPath takes a list of Graph objects" in done.stderr


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("Spectrum(4)", Spectrum(4)),
        (" Normalized(Spectrum(k=2, shortest=1)) ", Normalized(Spectrum(2, shortest=1))),
        ("Spectrum(1) + 2 * Spectrum(2)", Spectrum(1) + 2 * Spectrum(2)),
        ("Gaussian(gamma=0.5)", Gaussian(0.5)),
        ("Spectrum(2, 1, (1.0, 2.0))", Spectrum(2, 1, (1.0, 2.0))),
    ],
)
def test_a_kernel_is_what_was_typed(text, kernel):
    assert parse_kernel(text) == kernel


NO_KERNELS = """|3|Spectrum|Spectrum(|Spectrum(k=k)|Spectrum(**{})|Spectrum(1) ** 2
Spectrum(1, 2, 3, 4, 5)|Precomputed()|Kernel()|open('x')|__import__('os')"""


@pytest.mark.parametrize("text", [*NO_KERNELS.replace("\n", "|").split("|"), "(" * 5000])
def test_other_expressions_are_refused(text):
    with pytest.raises(ParameterError, match="such as Spectrum"):
        parse_kernel(text)


def test_parameters_that_a_kernel_refuses_are_named():
    with pytest.raises(ParameterError, match="`k` of Spectrum must be an integer of at least 1"):
        parse_kernel("Spectrum(0)")


def test_kernels_on_objects_are_normalised_unless_they_are_multiples():
    assert parse_normalized_kernel("Spectrum(3)") == Normalized(Spectrum(3))
    assert parse_normalized_kernel("1 * Spectrum(3)") == 1 * Spectrum(3)
    assert parse_normalized_kernel("Gaussian(2.0)") == Gaussian(2.0)


def test_machines_for_other_samples_are_left_out_where_they_are_asked_for():
    X, y = np.eye(6), np.arange(6) % 2
    assert not {"SVM, string kernel", "SVM, graph kernel"} & {*suite(X, y), *suite(X, y).left_out}
    assert suite(X, y, models=["knn", "svm-graph"]).left_out == {
        "SVM, graph kernel": "needs graphs"
    }
