import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.kernels.definitions import random_graphs

from separatrix import (
    SVC,
    SVCCV,
    KernelFeatures,
    KernelPerceptron,
    KNeighborsClassifier,
    LinearSVC,
    Nystroem,
)
from separatrix.data.graph import Graph
from separatrix.errors import ParameterError, UnsupportedError
from separatrix.estimators.object_attribution import explain_object, largest_weights
from separatrix.kernels import (
    BagOfWords,
    EdgeHistogram,
    Gaussian,
    Normalized,
    Scaled,
    ShortestPath,
    Spectrum,
    Subsequence,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)

STRINGS = [
    Spectrum(2),
    Normalized(Spectrum(3, shortest=1, weights=(0.5, 1.0, 2.0))),
    WeightedDegree(3),
    Scaled(Normalized(Scaled(WeightedDegree(2), 3.0)), 0.5),
    BagOfWords(),
]
GRAPHS = [
    VertexHistogram(),
    EdgeHistogram(),
    Normalized(WeisfeilerLehman(3)),
    WeisfeilerLehman(2, edge_labels=True),
    Scaled(Normalized(ShortestPath()), 2.0),
    Normalized(ShortestPath(both_ways=False, nodes=True)),
]

LONG_WORDS = {("hgfedcba" + "abcdefgh" * 3)[at : at + 20] for at in range(13)}
LONG_LETTERS = {"a\u1e9e\U0001f600", "\u1e9e\U0001f600\n"}
FEW = {"max_iter": 3, "min_gain": 1.0}  # passes; they need not end


def texts(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("AB c"), size=rng.integers(4, 12))) for _ in range(n)]


def graphs(n=40, seed=0, **sizes):
    rng = np.random.default_rng(seed)
    return random_graphs(rng, n, nodes=["C", "N", "O"], edges=["-", "="], **sizes)


def labels(n=40, k=2, seed=1):
    return np.random.default_rng(seed).permutation(np.arange(n) % k)


def objects(kernel, **more):
    return texts(**more) if kernel.takes == "sequences" else graphs(**more)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", STRINGS + GRAPHS, ids=repr)
@pytest.mark.parametrize(
    "model", [SVC(), KernelPerceptron(**FEW), KernelPerceptron(predictor="average", **FEW)]
)
def test_contributions_and_terms_sum_to_the_decision_value(model, kernel):
    fitted = model.set_params(kernel=kernel).fit(objects(kernel), labels())
    new = objects(kernel, n=5, seed=9)
    values = fitted.decision_function(new)

    for x, label, value in zip(new, fitted.predict(new), values, strict=True):
        attribution = explain_object(fitted, x)

        assert attribution.label == label
        assert attribution.against == 1 - label
        assert attribution.score == pytest.approx(value if label == 1 else -value, abs=1e-12)
        assert attribution.values.sum() + attribution.bias == pytest.approx(
            attribution.score, abs=1e-9
        )
        terms = [feature.term for feature in attribution.features]
        assert sum(terms) + attribution.bias == pytest.approx(attribution.score, abs=1e-9)
        assert np.all(np.diff(np.abs(terms)) <= 0)
        assert all(one.term == one.count * one.weight for one in attribution.features)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [WeightedDegree(2), Normalized(ShortestPath())], ids=repr)
@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        SVC(multi_class="ovr"),
        KernelPerceptron(**FEW),
        KernelPerceptron(multi_class="ovo", **FEW),
    ],
)
def test_of_several_classes_the_score_is_that_of_the_boundary_between_two(model, kernel):
    X, y = objects(kernel, n=60), labels(60, 4)
    fitted = model.set_params(kernel=kernel).fit(X, y)
    by_pair = fitted.boundary_scores(X[:1]).shape[1] == 6
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]

    for x in X[:6]:
        S = fitted.boundary_scores([x])[0]
        label = fitted.predict([x])[0]
        for other in set(range(4)) - {label}:
            attribution = explain_object(fitted, x, against=other)
            if by_pair:
                wanted = S[pairs.index(tuple(sorted((label, other))))]
                wanted = wanted if label < other else -wanted
            else:
                wanted = S[label] - S[other]
            assert (attribution.label, attribution.against) == (label, other)
            assert attribution.score == pytest.approx(wanted, abs=1e-12)
            assert attribution.values.sum() + attribution.bias == pytest.approx(wanted, abs=1e-9)
        alone = explain_object(fitted, x)
        if by_pair:
            assert alone.against != label
        else:
            assert alone.against is None
            assert alone.score == pytest.approx(S[label], abs=1e-12)


def test_the_runner_up_has_the_most_votes_of_the_others():
    X = ["aaaa", "aaab", "bbbb", "bbba", "cccc", "cccb"] * 2
    fitted = SVC(kernel=Spectrum(1)).fit(X, [0, 0, 1, 1, 2, 2] * 2)

    assert explain_object(fitted, "bbbc").label == 1
    assert explain_object(fitted, "bbbc").against == 2
    assert explain_object(fitted, "bbba").against == 0


@pytest.mark.slow
@pytest.mark.parametrize("kernel", GRAPHS, ids=repr)
def test_renumbered_nodes_have_the_same_contributions(kernel):
    fitted = SVC(kernel=kernel).fit(graphs(), labels())
    rng = np.random.default_rng(3)
    for graph in graphs(5, seed=4):
        position = rng.permutation(graph.n_nodes)
        back = np.argsort(position)
        turned = replace(graph, edges=position[graph.edges], node_labels=graph.node_labels[back])

        original, renumbered = explain_object(fitted, graph), explain_object(fitted, turned)

        np.testing.assert_allclose(renumbered.values[position], original.values, atol=1e-12)
        assert {f.name for f in original.features} == {f.name for f in renumbered.features}


@pytest.mark.parametrize("around", [lambda kernel: kernel, Normalized])
def test_a_letters_contribution_is_the_effect_of_masking_it(around):
    k = 3
    kernel = around(Subsequence(k, decay=0.6))
    X, y = texts(20), labels(20)
    fitted = SVC(kernel=kernel).fit(X, y)
    for x in texts(3, seed=7):
        attribution = explain_object(fitted, x)

        sign = 1.0 if attribution.label == 1 else -1.0
        base, support = Subsequence(k, decay=0.6), fitted.support_vectors_
        coef = sign * fitted.dual_coef_[0]
        if kernel is not base and isinstance(kernel, Normalized):
            coef = coef / np.sqrt(base.diagonal(support) * base.diagonal([x])[0])
        full = base.block([x], support)[0] @ coef
        masked = [x[:i] + "?" + x[i + 1 :] for i in range(len(x))]
        taken = (full - base.block(masked, support) @ coef) / k

        np.testing.assert_allclose(attribution.values, taken, atol=1e-12)
        assert attribution.values.sum() + attribution.bias == pytest.approx(
            attribution.score, abs=1e-9
        )
        assert sum(f.term for f in attribution.features) == pytest.approx(attribution.values.sum())


def words_and_letters(text, lengths, *, placed):
    for length in lengths:
        for at in range(len(text) - length + 1):
            word = text[at : at + length]
            yield f"{word} at {at + 1}" if placed else word, range(at, at + length)


def hops(graph):
    """Nodes by their distance from each node."""
    joined = [{a, b} for a, b in graph.edges.tolist()]
    for root in range(graph.n_nodes):
        far = {root: 0}
        for d in range(1, graph.n_nodes):
            reached = {v for edge in joined for v in edge if edge & {u for u in far if far[u] < d}}
            far |= dict.fromkeys(reached - set(far), d)
        yield root, far


def subtree(graph, node, rounds):
    label = graph.node_labels[node]
    if not rounds:
        return str(label)
    around = [b if a == node else a for a, b in graph.edges.tolist() if node in (a, b)]
    return f"{label}({','.join(sorted(subtree(graph, other, rounds - 1) for other in around))})"


def found_by_hand(kernel, x):
    """The name of every feature that x has, each time, and what it covers."""
    if isinstance(kernel, Spectrum | WeightedDegree):
        lengths = [level for level, _ in kernel.levels]
        yield from words_and_letters(x, lengths, placed=isinstance(kernel, WeightedDegree))
    if isinstance(kernel, VertexHistogram):
        yield from ((str(label), [node]) for node, label in enumerate(x.node_labels))
    if isinstance(kernel, EdgeHistogram):
        yield from zip(map(str, x.edge_labels), x.edges.tolist(), strict=True)
    if isinstance(kernel, ShortestPath):
        for a, far in hops(x):
            for b, d in far.items():
                if a != b:
                    yield f"{x.node_labels[a]}-{x.node_labels[b]}, {d} apart", [a, b]
    if isinstance(kernel, WeisfeilerLehman):
        for root, far in hops(x):
            for t in range(kernel.iterations + 1):
                yield subtree(x, root, t), [node for node, d in far.items() if d <= t]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(3, shortest=2),
        WeightedDegree(3),
        VertexHistogram(),
        EdgeHistogram(),
        ShortestPath(),
        WeisfeilerLehman(2),
    ],
    ids=repr,
)
def test_a_contribution_is_divided_among_the_covered_positions(kernel):
    X = texts() if kernel.takes == "sequences" else graphs(most=4)
    fitted = SVC(kernel=kernel).fit(X, labels())
    for x in X[:12]:
        attribution = explain_object(fitted, x)

        weight = {feature.name: feature.weight for feature in attribution.features}
        wanted, counts = np.zeros(len(attribution.values)), Counter()
        for name, covered in found_by_hand(kernel, x):
            counts[name] += 1
            wanted[list(covered)] += weight[name] / len(covered)
        np.testing.assert_allclose(attribution.values, wanted, atol=1e-12)
        for feature in attribution.features:  # lone nodes have one name in all rounds
            counts[feature.name] -= feature.count
        assert not any(counts.values())


def test_words_share_their_weight_among_their_letters():
    fitted = SVC(kernel=BagOfWords()).fit(["good film", "bad film"] * 3, [1, 0] * 3)

    attribution = explain_object(fitted, "Good, good day")

    weight = next(f for f in attribution.features if f.name == "good")
    assert weight.count == 2
    np.testing.assert_allclose(attribution.values[:4], weight.weight / 4)
    np.testing.assert_allclose(attribution.values[6:10], weight.weight / 4)
    np.testing.assert_array_equal(attribution.values[[4, 5, 10, 11, 12, 13]], 0)


def test_a_capital_that_lowers_to_two_letters_is_attributed():
    fitted = SVC(kernel=BagOfWords()).fit(["bei", "cd"] * 3, [1, 0] * 3)

    attribution = explain_object(fitted, "\u0130\u0130 bei")

    assert attribution.values.shape == (6,)
    assert attribution.values[3:].sum() + attribution.bias == pytest.approx(attribution.score)


@pytest.mark.parametrize(
    ("kernel", "X", "x", "wanted"),
    [
        (Spectrum(2), ["ab", "cd"], "ab", {"ab"}),
        (Spectrum(2), [b"ab", b"\xe9d"], b"\xe9d", {"\xe9d"}),
        (Spectrum(2), [["not", "good"], [1, 2]], ("not", "good"), {"not good"}),
        (Spectrum(20), ["abcdefgh" * 3, "x" * 20], "hgfedcba" + "abcdefgh" * 3, LONG_WORDS),
        (Spectrum(3), ["a\u1e9e\U0001f600\n", "abc"], "a\u1e9e\U0001f600\n", LONG_LETTERS),
        (Spectrum(3), [list("abcd"), [1, 2, 3]], [1, 2, 3, -7], {"1 2 3", "2 3 -7"}),
        (WeightedDegree(2), ["ab", "cd"], "ab", {"a at 1", "b at 2", "ab at 1"}),
        (BagOfWords(), ["To be", "me"], "To be", {"to", "be"}),
        (BagOfWords(), [[7, 8], [9]], [7, 8], {"7", "8"}),
    ],
)
def test_features_of_sequences_have_their_names(kernel, X, x, wanted):
    fitted = SVC(kernel=kernel).fit(X * 2, [0, 1] * 2)

    assert {feature.name for feature in explain_object(fitted, x).features} == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (VertexHistogram(), {"C", "N", "O"}),
        (EdgeHistogram(), {"1", "2"}),
        (ShortestPath(), {"C-N, 1 apart", "N-O, 1 apart", "C-O, 2 apart"}),
        (WeisfeilerLehman(1), {"C", "C(N)", "N(C,O)", "O(N)"}),
        (WeisfeilerLehman(2), {"C(N(C,O))", "N(C(N),O(N))"}),
        (WeisfeilerLehman(1, edge_labels=True), {"N(1:C,2:O)", "O(2:N)"}),
    ],
)
def test_features_of_graphs_have_their_names(kernel, wanted):
    labels = np.array([6, 7, 8])
    graph = Graph(3, np.array([[0, 1], [1, 2]]), labels, np.array([1, 2]))
    other = Graph(3, np.array([[0, 1], [1, 2]]), labels[::-1] + 1, np.array([1, 3]))
    fitted = SVC(kernel=kernel).fit([graph, other] * 2, [0, 1] * 2)

    attribution = explain_object(fitted, graph, names={6: "C", 7: "N", 8: "O"})

    assert wanted <= {feature.name for feature in attribution.features}
    assert attribution.object is graph


def test_a_deep_subtree_is_named_by_its_beginning():
    edges = np.array([[a, b] for a in range(8) for b in range(a)])
    fitted = SVC(kernel=WeisfeilerLehman(4)).fit(
        [Graph(8, edges), Graph(2, edges[:1])] * 2, [0, 1] * 2
    )

    names = [feature.name for feature in explain_object(fitted, Graph(8, edges)).features]

    assert "*(*,*,*,*,*,*,*)" in names
    assert max(map(len, names)) == 60
    assert sum(name.endswith("...") for name in names) == 3


@pytest.mark.slow
def test_a_subtree_deeper_than_its_name_has_a_name():
    ring = Graph(4, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), np.array([7, 6, 7, 6]))
    pair = Graph(2, np.array([[0, 1]]), np.array([7, 6]))
    fitted = SVC(kernel=WeisfeilerLehman(100)).fit([ring, pair] * 2, [0, 1] * 2)

    names = [feature.name for feature in explain_object(fitted, pair).features]

    assert len(names) == 2 * 101
    assert {"6(7(6))", "7(6(7(6(7(6(7(6)))))))"} <= set(names)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [*STRINGS, *GRAPHS], ids=repr)
def test_names_of_counted_features_are_those_of_the_objects(kernel):
    X = objects(kernel)
    counter = KernelFeatures(kernel).fit(X)

    names = counter.get_feature_names_out()

    F = counter.transform(X)
    assert F.shape[1] == len(names)
    fitted = SVC(kernel=kernel).fit(X, labels())
    for row in range(8):
        own = sorted(feature.name for feature in explain_object(fitted, X[row]).features)
        assert sorted(names[F[[row]].indices].tolist()) == own


def test_a_length_that_no_sequence_has_leaves_a_column_without_a_name():
    assert KernelFeatures(Spectrum(3, shortest=2)).fit(["ab"]).get_feature_names_out().tolist() == [
        "ab",
        "",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [STRINGS[1], STRINGS[4], *GRAPHS[1:]], ids=repr)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("model", [LinearSVC(), SVC(kernel="linear")])
def test_pipelines_of_features_and_a_linear_model_are_explained(kernel, k, model):
    X, y = objects(kernel, n=60), labels(60, k)
    fitted = make_pipeline(KernelFeatures(kernel), TfidfTransformer(), model).fit(X, y)
    for x in objects(kernel, n=4, seed=5):
        attribution = explain_object(fitted, x)

        assert attribution.label == fitted.predict([x])[0]
        assert attribution.values.sum() + attribution.bias == pytest.approx(
            attribution.score, abs=1e-9
        )
        assert sum(f.term for f in attribution.features) == pytest.approx(
            attribution.values.sum(), abs=1e-9
        )
        S = np.atleast_1d(np.squeeze(fitted.decision_function([x])))
        if k == 2:
            assert attribution.score == pytest.approx(
                S[0] if attribution.label else -S[0], abs=1e-9
            )
        elif isinstance(model, LinearSVC):
            assert attribution.score == pytest.approx(S[attribution.label], abs=1e-9)


def test_a_kernel_machine_and_its_counted_features_agree():
    X, y = texts(), labels()
    kernel = Normalized(WeightedDegree(2))
    tol = 1e-8  # the certificate adds a bound of the rounding of kernel values, here of 4e-10
    machine = SVC(kernel=kernel, tol=tol).fit(X, y)
    counted = make_pipeline(KernelFeatures(kernel), SVC(kernel="linear", tol=tol)).fit(X, y)

    one, two = explain_object(machine, "AB cc"), explain_object(counted, "AB cc")

    np.testing.assert_allclose(one.values, two.values, atol=1e-6)
    weights = {f.name: f.weight for f in one.features}
    assert {f.name: f.weight for f in two.features} == pytest.approx(weights, abs=1e-6)


def test_a_search_is_explained_by_its_best_model():
    kernels = [Normalized(Spectrum(k)) for k in (1, 2)]
    search = SVCCV(kernels=kernels, cv=2).fit(texts(), labels())

    found = explain_object(make_pipeline(search), "AB cc")

    assert found.score == explain_object(search.best_estimator_, "AB cc").score


@pytest.mark.parametrize("kernel", [STRINGS[0], STRINGS[3], *GRAPHS[1:]], ids=repr)
def test_an_object_without_features_has_the_bias_alone(kernel):
    fitted = SVC(kernel=kernel).fit(objects(kernel), labels())
    empty = "" if kernel.takes == "sequences" else Graph(0, np.empty((0, 2), dtype=int))

    attribution = explain_object(fitted, empty)

    assert attribution.values.shape == (0,)
    assert attribution.features == []
    assert attribution.score == pytest.approx(attribution.bias)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [Spectrum(2), Normalized(WeisfeilerLehman(1))], ids=repr)
@pytest.mark.parametrize("k", [2, 3])
def test_the_largest_weights_are_those_of_objects_that_have_the_feature(kernel, k):
    X, y = objects(kernel), labels(40, k)
    fitted = SVC(kernel=kernel).fit(X, y)

    found = largest_weights(fitted, 4)

    boundaries = 1 if k == 2 else 3
    assert len(found) == 4 * boundaries
    assert found[0].boundary == ("1 against 0" if k == 2 else "0 against 1")
    base = getattr(kernel, "kernel", kernel)
    for x in X:
        attribution = explain_object(fitted, x)
        if k == 2:
            weights = {f.name: f.weight for f in attribution.features}
            length = np.sqrt(base.diagonal([x])[0]) if kernel is not base else 1.0
            sign = 1.0 if attribution.label == 1 else -1.0
            for one in found:
                if one.name in weights:
                    assert one.weight == pytest.approx(sign * length * weights[one.name])


@pytest.mark.parametrize(
    ("model", "caption"),
    [
        (SVC(kernel=Spectrum(1) + Spectrum(2)), "multiple; got Sum("),
        (SVC(kernel=Spectrum(1) * Spectrum(1)), "multiple; got Product("),
        (KernelPerceptron(Spectrum(1), predictor="vote", **FEW), "predictor='vote' has no single"),
        (
            make_pipeline(KernelFeatures(Spectrum(1)), TruncatedSVD(2), LinearSVC()),
            "mix or shift features",
        ),
        (
            make_pipeline(Nystroem(Spectrum(1), n_components=5), LinearSVC()),
            "begins with KernelFeatures",
        ),
        (KNeighborsClassifier(kernel=Spectrum(1)), "does not support KNeighborsClassifier"),
    ],
)
def test_models_without_a_sum_over_features_are_refused(model, caption):
    X = texts()
    fitted = model.fit(X, labels())

    with pytest.raises(UnsupportedError, match=re.escape(caption)):
        explain_object(fitted, X[0])


def test_a_step_that_shifts_all_features_is_refused():
    model = make_pipeline(
        KernelFeatures(Spectrum(1)),
        FunctionTransformer(lambda F: F.toarray(), accept_sparse=True),
        StandardScaler(),
        LinearSVC(),
    )
    fitted = model.fit(texts(), labels())

    with pytest.raises(UnsupportedError, match="mix or shift features"):
        explain_object(fitted, "AB c")


def test_a_kernel_on_vectors_is_refused():
    fitted = SVC(kernel=Gaussian(1.0)).fit(np.eye(4), [0, 1] * 2)

    with pytest.raises(UnsupportedError, match="multiple; got Gaussian"):
        explain_object(fitted, np.eye(4)[0])


def test_an_invalid_other_class_is_refused():
    fitted = SVC(kernel=Spectrum(1)).fit(["a", "b"] * 2, ["x", "y"] * 2)

    with pytest.raises(ParameterError, match=re.escape("must be one of ['y']; got 'x'")):
        explain_object(fitted, "a", against="x")


@pytest.mark.parametrize("kernel", [Spectrum(1), Subsequence(1)], ids=repr)
def test_names_of_node_labels_are_refused_for_a_sequence(kernel):
    fitted = SVC(kernel=kernel).fit(["a", "b"] * 2, [0, 1] * 2)

    with pytest.raises(ParameterError, match="`names` of explain_object must be None"):
        explain_object(fitted, "a", names={"a": "b"})
