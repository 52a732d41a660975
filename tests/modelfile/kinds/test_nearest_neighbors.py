"""`NearestNeighbors` in a file: the same neighbours, and no harm by files that contradict themselves."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.modelfile.cases import X
from tests.modelfile.hostile import Maker, load_within_limits, refused_after

import separatrix as sx
from separatrix import NearestNeighbors, describe

CASES = {
    "numbers": (NearestNeighbors(n_neighbors=3), X),
    "pixels": (NearestNeighbors(n_neighbors=3), (20 * abs(X)).astype(np.uint8)),
    "sparse": (NearestNeighbors(n_neighbors=3), csr_array(np.where(X > 1, X, 0.0))),
    "cosine": (NearestNeighbors(n_neighbors=2, metric="cosine"), X),
    "seuclidean": (
        NearestNeighbors(metric="seuclidean", metric_params={"V": X.var(axis=0)}, algorithm="brute"), X
    ),
    "precomputed": (NearestNeighbors(metric="precomputed"), abs(X @ X.T)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_index_finds_the_same_neighbours(name, path):
    model, rows = CASES[name]
    model.fit(rows)
    again = sx.load(sx.save(model, path))
    assert type(again) is NearestNeighbors
    assert sorted(vars(again)) == sorted(vars(model))
    for ours, wanted in zip(again.kneighbors(), model.kneighbors(), strict=True):
        np.testing.assert_array_equal(ours, wanted)
    for ours, wanted in zip(again.kneighbors(rows), model.kneighbors(rows), strict=True):
        np.testing.assert_array_equal(ours, wanted)
    np.testing.assert_array_equal(
        again.radius_neighbors_graph(rows).toarray(), model.radius_neighbors_graph(rows).toarray()
    )
    assert "NearestNeighbors" in str(describe(path))


@pytest.mark.parametrize(
    "changes",
    [
        {"state.n_samples_fit_": 3},
        {"state.n_features_in_": 2},
        {"state.index_metric": "os.system"},
        {"state.index_metric_params": {"dict": [["p", -1.0]]}},
        {"params.n_neighbors": 0},
        {"params.radius": -1.0},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_files_that_contradict_themselves_are_refused(changes, path):
    refused_after(NearestNeighbors().fit(X), changes, path)


@pytest.mark.slow
def test_changed_files_with_the_right_checksum_do_no_harm(tmp_path):
    sources = []
    for name, (model, rows) in CASES.items():
        sources.append(sx.save(model.fit(rows), tmp_path / f"{name}.model"))
        load_within_limits(sources[-1], rows)  # compiled before the clock runs
    maker, path = Maker(sources), tmp_path / "x.model"
    refused = 0
    for number in range(120):
        path.write_bytes(maker.one(number))
        refused += load_within_limits(path) is not None
    assert refused > 60
