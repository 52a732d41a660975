"""Kernels on sequences and graphs against grakel, SciPy and NumPy."""

import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC as Peer

from benchmarks.measure import Row, best_of_each, own_memory, seconds
from benchmarks.subsequence import documents, numpy_subsequence
from separatrix import SVC, SVCCV
from separatrix.data.catalogue import load
from separatrix.kernels import (
    Normalized,
    ShortestPath,
    Spectrum,
    Subsequence,
    WeightedDegree,
    WeisfeilerLehman,
)
from separatrix.kernels.gram import make_gram

PAIRS = 12  # documents on each side for timing the slow peer


def strings():
    """The full kernel matrix, on all cores. NumPy is timed on some pairs of the same documents and scaled
    to all pairs by the products of their lengths. SciPy's time is the sparse product of the word counts
    only; ours starts from the strings."""
    rows = []
    texts = documents()
    kernel = Subsequence(5, 0.5)
    kernel.block(texts[:3], texts[:3])
    ours, _ = seconds(lambda: kernel.block(texts, texts))
    few = texts[:: len(texts) // PAIRS][:PAIRS]
    codes = [np.frombuffer(text.encode(), dtype=np.uint8) for text in few]
    peer, values = seconds(
        lambda: np.array([[numpy_subsequence(s, t, 5, 0.5) for t in codes] for s in codes])
    )
    lengths, short = (np.array([len(text) for text in part]) for part in (texts, few))
    work = (lengths.sum() ** 2 + (lengths**2).sum()) / 2
    scaled = peer * work / short.sum() ** 2
    off = np.abs(kernel.block(few, few) / values - 1).max()
    rows.append(
        Row(
            f"Subsequence k=5, {len(texts)} documents of {lengths.mean():.0f} letters "
            f"(values differ by {off:.0e})",
            f"{ours:.1f} s",
            f"NumPy {scaled:.0f} s (from {PAIRS} x {PAIRS} in {peer:.1f} s)",
            f"{scaled / ours:.0f}x faster",
            "30x",
        )
    )
    X = load("splice").X
    for kernel, reach in ((Spectrum(6), "under 10x its time"), (WeightedDegree(8), "report")):
        objects = kernel.checked(X)
        (F,) = kernel.features(objects)
        times = best_of_each(
            {"ours": lambda k=kernel, o=objects: make_gram(k, o), "peer": lambda F=F: F @ F.T},
            repeat=5,
        )
        memory, _ = own_memory(lambda k=kernel, o=objects: make_gram(k, o))
        rows.append(
            Row(
                f"{type(kernel).__name__} k={kernel.k}, splice, 3190 sequences ({memory:.0f} MB)",
                f"{1000 * times['ours']:.0f} ms",
                f"SciPy's sparse product alone {1000 * times['peer']:.0f} ms",
                f"{times['ours'] / times['peer']:.2f}x its time",
                reach,
            )
        )
    return rows, []


def sequence_machine():
    """SVC on the 3190 splice sequences, C=1: from strings, and from the precomputed matrix, which
    scikit-learn gets too."""
    data = load("splice")
    kernel = Normalized(WeightedDegree(8))
    K = kernel.block(data.X, data.X)
    calls = {
        "strings": lambda: SVC(kernel=kernel).fit(data.X, data.y),
        "matrix": lambda: SVC(kernel="precomputed").fit(K, data.y),
        "peer": lambda: Peer(kernel="precomputed").fit(K, data.y),
        "gram": lambda: make_gram(kernel, kernel.base.checked(data.X)),
    }
    for call in calls.values():
        call()
    times = best_of_each(calls, repeat=3)
    same = np.mean(calls["strings"]().predict(data.X) == calls["peer"]().predict(K))
    peer = f"scikit-learn {times['peer']:.2f} s"
    rows = [
        Row(
            f"SVC, splice, precomputed matrix, fit ({100 * same:.2f} % of the predictions equal)",
            f"{times['matrix']:.2f} s",
            peer,
            f"{times['peer'] / times['matrix']:.1f}x its speed",
            "the solver's speed of part 2",
        ),
        Row(
            f"SVC, splice, from strings, fit (matrix alone {times['gram']:.2f} s)",
            f"{times['strings']:.2f} s",
            f"{peer}, matrix precomputed",
            f"{times['peer'] / times['strings']:.1f}x its speed",
            "report",
        ),
    ]
    return rows, []


def graphs():
    """MUTAG, 188 molecules, from graphs to the kernel matrix; grakel's graph objects are built before
    it is timed. The search: 7 numbers of rounds, 4 values of C, 10 folds, matrices included."""
    import grakel

    data = load("mutag")
    theirs = [_for_grakel(grakel, graph) for graph in data.X]
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = {
            "WeisfeilerLehman h=5": (WeisfeilerLehman(5), lambda: _subtrees(grakel, 5)),
            "ShortestPath": (ShortestPath(), lambda: grakel.ShortestPath(with_labels=True)),
        }
        for name, (kernel, make) in pairs.items():
            kernel.block(data.X, data.X)
            times = best_of_each(
                {
                    "ours": lambda k=kernel: k.block(data.X, data.X),
                    "peer": lambda make=make: make().fit_transform(theirs),
                },
                repeat=5,
            )
            off = np.abs(kernel.block(data.X, data.X) - make().fit_transform(theirs)).max()
            rows.append(
                Row(
                    f"{name}, MUTAG (values differ by {off:g})",
                    f"{1000 * times['ours']:.1f} ms",
                    f"grakel {1000 * times['peer']:.0f} ms",
                    f"{times['peer'] / times['ours']:.1f}x faster",
                    "5x, equal values" if "Lehman" in name else "report",
                )
            )
        rows.append(_search(grakel, data, theirs))
    return rows, []


def _search(grakel, data, theirs):
    Cs, folds = [0.1, 1.0, 10.0, 100.0], StratifiedKFold(10, shuffle=True, random_state=0)
    kernels = [Normalized(WeisfeilerLehman(h)) for h in range(1, 8)]

    def ours():
        return SVCCV(Cs=Cs, kernels=kernels, cv=folds).fit(data.X, data.y).best_score_

    def peer():
        best = 0.0
        for h in range(1, 8):
            K = _subtrees(grakel, h, normalize=True).fit_transform(theirs)
            grid = GridSearchCV(Peer(kernel="precomputed"), {"C": Cs}, cv=folds)
            best = max(best, grid.fit(K, data.y).best_score_)
        return best

    ours()
    (fast, score), (slow, other) = seconds(ours, repeat=3), seconds(peer)
    return Row(
        f"the search over 7 x 4 on 10 folds (accuracy {score:.4f}, {other:.4f})",
        f"{fast:.2f} s",
        f"grakel and scikit-learn {slow:.2f} s",
        f"{slow / fast:.1f}x faster",
        "report",
    )


def _subtrees(grakel, rounds, **options):
    return grakel.WeisfeilerLehman(
        n_iter=rounds, base_graph_kernel=grakel.VertexHistogram, **options
    )


def _for_grakel(grakel, graph):
    adjacency = {node: {} for node in range(graph.n_nodes)}
    for a, b in graph.edges.tolist():
        adjacency[a][b] = adjacency[b][a] = 1
    return grakel.Graph(adjacency, node_labels=dict(enumerate(graph.node_labels.tolist())))


SUITES = [strings, sequence_machine, graphs]
