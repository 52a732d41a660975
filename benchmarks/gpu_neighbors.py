"""Nearest neighbours on a GPU compared with torch's product and `topk`, checked by a float64 search."""

import numpy as np

from benchmarks.gpu_ceilings import time_on_gpu
from benchmarks.measure import Row
from separatrix import KNeighborsClassifier, NeighborIndex
from separatrix.data.catalogue import load
from separatrix.runtime.blocks import row_blocks

K = 5
CHECKED = 200  # queries that are checked in float64
REACH = "at most 1.2x"


def neighbors():
    """MNIST, 60,000 rows, 10,000 queries, 5 neighbours; medians of 5, warm.

    The peer is torch's float32 product of a tile of queries with all rows and `topk`, all on the GPU.
    "NumPy" includes both transfers and all checks.
    """
    data = load("mnist")
    rows, notes = neighbors_on_gpu(data.X, data.X_test)
    scaled = [np.asarray(part / 255.0, dtype=np.float32) for part in (data.X, data.X_test)]
    more, more_notes = neighbors_on_gpu(*scaled, name="pixels / 255, float32")
    noise = np.random.default_rng(0).random((len(data.X), data.X.shape[1]), dtype=np.float32) / 255
    third, third_notes = neighbors_on_gpu(
        scaled[0] + noise, scaled[1], name="with noise: no integers"
    )
    rng = np.random.default_rng(0)
    many, asked = (rng.standard_normal((n, 128), dtype=np.float32) for n in (1_000_000, 10_000))
    fourth, fourth_notes = neighbors_on_gpu(many, asked, name="128 Gaussian features")
    fitted, predicted = predictions(data)
    rows += [*more, *third, *fourth, fitted, predicted]
    third_notes += fourth_notes
    return rows, notes + more_notes + third_notes


def neighbors_on_gpu(X_train, X_test, *, name="pixels, uint8", device="cuda"):
    """Rows and notes: our search from NumPy and from tensors, and torch's from tensors."""
    import torch

    X, Q = (torch.as_tensor(part, device=device) for part in (X_train, X_test))
    index = NeighborIndex(X, device="cuda")
    from_numpy, found = time_on_gpu(lambda: index.search(X_test, K))
    from_tensors, same = time_on_gpu(lambda: index.search(Q, K))
    if not np.array_equal(same.rows.cpu().numpy(), found.rows):
        raise RuntimeError("the neighbours of tensors differ from those of arrays")
    tile = tile_of(index, len(Q))
    floats = X.float(), Q.float(), X.float().square().sum(dim=1) / 2
    plain, theirs = time_on_gpu(lambda: multiplied(*floats, tile))
    require_nearest(X, Q, found)
    built, _ = time_on_gpu(lambda: NeighborIndex(X_train, device="cuda"), repeat=3)
    other = int((theirs.cpu().numpy() != found.rows).any(axis=1).sum())
    peer = f"torch matmul + topk {spent(plain)}"
    rows = [
        Row(f"5 neighbours of {len(Q):,} among {len(X):,}, {name}, tensors", spent(from_tensors), peer, ratio(plain, from_tensors), REACH),
        Row(f"the same, {name}, NumPy", spent(from_numpy), peer, ratio(plain, from_numpy), "-"),
        Row(f"its index from NumPy, {name}", spent(built), "-", "-", "-"),
    ]  # fmt: skip
    note = (
        f"{name}: tiles of {tile:,} queries; {CHECKED} queries searched in float64 have the same rows; "
        f"torch's float32 has other rows, or another order, for {other} of {len(Q):,} queries"
    )
    return rows, [f"{note}\n{parts(index, Q, tile)}"]


def tile_of(index, m):
    """Queries in one tile of our search."""
    from separatrix.runtime.device import free_bytes

    (card,) = index._rows.gpu_indexes.values()
    return card._queries_at_once(m, K, free_bytes(card._device) // 4)


def multiplied(X, Q, half, tile):
    """Rows of the nearest by float32 scores |x|^2 / 2 - q . x: torch alone, (m, k)."""
    import torch

    parts = []
    for part in row_blocks(len(Q), tile):
        S = torch.addmm(half, Q[part], X.T, alpha=-1)
        parts.append(S.topk(K, dim=1, largest=False).indices)
        del S
    return torch.cat(parts)


def parts(index, Q, tile):
    """Seconds of each step of one tile, as text."""
    import torch

    from separatrix.solvers.nearest.cuda import EXTRA, EXTRA_INTEGER, _Tile, lowest_scores

    (card,) = index._rows.gpu_indexes.values()
    screen = card._filter_for(Q)
    queries = Q[:tile].double()
    nobody = torch.full((len(queries),), -1, device=Q.device)
    work = _Tile(card._X, screen, queries, nobody, 2**30)
    asked_in, asked = time_on_gpu(lambda: screen.prepare(queries))
    product, S = time_on_gpu(lambda: screen.scores(asked))
    count = K + (EXTRA_INTEGER if screen.whole else EXTRA)
    chosen, (rows, _) = time_on_gpu(lambda: lowest_scores(S, count))
    measured, _ = time_on_gpu(lambda: work._distances(rows))
    return (
        f"one tile: queries {spent(asked_in)}, product in {screen._dtype} {spent(product)}, "
        f"candidates {spent(chosen)}, measured {spent(measured)}"
    )


def require_nearest(X, Q, found):
    """Compare some queries with all distances in float64, ties by row."""
    import torch

    for i in range(0, len(Q), max(1, len(Q) // CHECKED)):
        squares = (X.double() - Q[i].double()).square().sum(dim=1)
        best = torch.sort(squares, stable=True)
        if not np.array_equal(best.indices[:K].cpu().numpy(), found.rows[i]):
            raise RuntimeError(f"query {i}: float64 finds {best.indices[:K]}, not {found.rows[i]}")
        np.testing.assert_allclose(
            found.distances[i], best.values[:K].sqrt().cpu().numpy(), rtol=1e-12
        )


def predictions(data):
    """KNeighborsClassifier from NumPy: fit, and predict with all checks and votes."""
    fitted, model = time_on_gpu(lambda: KNeighborsClassifier(K, device="cuda").fit(data.X, data.y))
    predicted, labels = time_on_gpu(lambda: model.predict(data.X_test))
    error = 100 * float(np.mean(labels != data.y_test))
    return (
        Row("KNeighborsClassifier, fit, NumPy", spent(fitted), "-", "-", "-"),
        Row(f"and predict 10,000; test error {error:.2f} %", spent(predicted), "-", "-", "-"),
    )


def spent(time):
    return f"{1e3 * time:.1f} ms" if time < 1 else f"{time:.2f} s"


def ratio(peer, own):
    return f"{peer / own:.1f}x faster" if peer >= own else f"{own / peer:.2f}x its time"
