import inspect

import numpy as np
import pytest
import sklearn.neighbors as peers
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict, train_test_split

from separatrix import KNeighborsClassifier
from separatrix.errors import DataError, ParameterError, UnsupportedError
from separatrix.estimators.metrics.votes import Voters, factors_of
from separatrix.kernels import Gaussian, Linear, Polynomial

X, Y = load_iris(return_X_y=True)
DIGITS, NUMBERS = load_digits(return_X_y=True)


def made_up(seed=0, n=60, k=3):
    """Samples with many equal distances, in overlapping classes."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, size=(n, 3)).astype(float), np.r_[
        np.arange(k), rng.integers(0, k, size=n - k)
    ]


def plain(A, y, Q, k, ties="nearest", weights="uniform", votes=None):
    """The rule, one query at a time."""
    labels = []
    votes = np.ones(len(y)) if votes is None else votes
    for q in Q:
        D = np.sqrt(((A - q) ** 2).sum(axis=1))
        near = np.argsort(D, kind="stable")[:k]
        factor = np.ones(k)
        if weights == "distance":
            factor = (D[near] == 0) * 1.0 if (D[near] == 0).any() else 1.0 / D[near]
        sums = {}
        for row, times in zip(near, factor, strict=True):
            if votes[row] * times > 0:
                sums[y[row]] = sums.get(y[row], 0.0) + votes[row] * times
        order = sorted(sums) if ties == "lowest" else list(sums)
        labels.append(max(order, key=sums.get))
    return np.array(labels)


@pytest.mark.parametrize("method", ["kneighbors", "kneighbors_graph"])
def test_the_methods_have_scikit_learns_parameters(method):
    ours, theirs = (
        [(p.name, p.default) for p in inspect.signature(getattr(kind, method)).parameters.values()]
        for kind in (KNeighborsClassifier, peers.KNeighborsClassifier)
    )
    assert ours == theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_neighbors": 1},
        {"weights": "distance"},
        {"metric": "manhattan"},
        {"metric": "cosine", "n_neighbors": 8},
        {"p": 3},
        {"metric": "chebyshev", "weights": "distance"},
        {"metric": "canberra", "algorithm": "brute"},
        pytest.param({"weights": lambda d: np.exp(-d)}, id="a function of distances"),
        {"metric_params": {"w": [1.0, 2.0, 0.5, 3.0]}, "p": 1.5},
    ],
    ids=str,
)
def test_it_agrees_with_scikit_learn(options):
    rng = np.random.default_rng(0)
    A = X + rng.normal(scale=1e-3, size=X.shape)  # no equal distances
    Q = rng.uniform(A.min(axis=0), A.max(axis=0), size=(200, 4))
    ours = KNeighborsClassifier(ties="lowest", **options).fit(A, Y)
    theirs = peers.KNeighborsClassifier(**options).fit(A, Y)
    for queries in (Q, None):
        np.testing.assert_array_equal(ours.predict(queries), theirs.predict(queries))
        np.testing.assert_allclose(
            ours.predict_proba(queries), theirs.predict_proba(queries), rtol=1e-12, atol=1e-12
        )
        a, b = ours.kneighbors(queries), theirs.kneighbors(queries)
        np.testing.assert_allclose(a[0], b[0], rtol=1e-9)
        np.testing.assert_array_equal(a[1], b[1])
        for mode in ("connectivity", "distance"):
            graphs = [one.kneighbors_graph(queries, 3, mode=mode) for one in (ours, theirs)]
            assert type(graphs[0]) is type(graphs[1])
            np.testing.assert_allclose(graphs[0].toarray(), graphs[1].toarray(), rtol=1e-9)
    assert ours.score(None, Y) == theirs.score(None, Y)
    assert ours.effective_metric_ == theirs.effective_metric_
    assert ours.effective_metric_params_.keys() == theirs.effective_metric_params_.keys()
    assert (ours.n_samples_fit_, ours.outputs_2d_) == (150, False)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 12),
    ties=st.sampled_from(["nearest", "lowest"]),
    weights=st.sampled_from(["uniform", "distance"]),
    weighted=st.booleans(),
)
def test_it_is_the_rule_with_all_its_ties(seed, k, ties, weights, weighted):
    A, y = made_up(seed)
    votes = np.random.default_rng(seed).integers(1, 4, size=60) if weighted else None
    model = KNeighborsClassifier(k, ties=ties, weights=weights)
    found = model.fit(A, y, sample_weight=votes).predict(A + 0.5)
    np.testing.assert_array_equal(found, plain(A, y, A + 0.5, k, ties, weights, votes))


@pytest.mark.parametrize("k", range(1, 9))
def test_the_lowest_class_of_equal_votes_is_scikit_learns(k):
    A, y = np.arange(30.0)[:, None] ** 1.5, np.random.default_rng(0).integers(0, 3, size=30)
    Q = np.random.default_rng(1).uniform(0, 160, size=(300, 1))
    np.testing.assert_array_equal(
        KNeighborsClassifier(k, ties="lowest").fit(A, y).predict(Q),
        peers.KNeighborsClassifier(k).fit(A, y).predict(Q),
    )


def test_equal_votes_go_to_the_class_met_first_or_to_the_lowest():
    A, y = [[1.0], [2.0], [3.0], [4.0]], ["b", "a", "a", "b"]
    nearest = {"ties": "nearest"}
    assert KNeighborsClassifier(4, **nearest).fit(A, y).predict([[0.0]]).tolist() == ["b"]
    assert KNeighborsClassifier(4).fit(A, y).predict([[0.0]]).tolist() == ["a"]
    assert KNeighborsClassifier(2, **nearest).fit(A, y).predict([[5.0]]).tolist() == ["b"]


def test_equal_votes_go_where_scikit_learn_sends_them():
    A, y = load_wine(return_X_y=True)
    for k in (2, 4):
        ours, theirs = (
            kind(k).fit(A, y) for kind in (KNeighborsClassifier, peers.KNeighborsClassifier)
        )
        np.testing.assert_array_equal(ours.predict(A), theirs.predict(A))


def test_the_largest_share_is_the_predicted_class():
    A, y = made_up(1)
    for ties in ("nearest", "lowest"):
        for weights in ("uniform", "distance"):
            model = KNeighborsClassifier(4, ties=ties, weights=weights).fit(A, y)
            P = model.predict_proba(A + 0.5)
            np.testing.assert_array_equal(P.argmax(axis=1), model.predict(A + 0.5))
            np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)


def test_a_distance_of_zero_has_all_the_votes():
    A, y = [[0.0], [0.0], [1.0], [1.0], [1.0]], [0, 1, 1, 1, 1]
    model = KNeighborsClassifier(5, weights="distance").fit(A, y)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.5, 0.5]])
    assert model.predict([[0.0]]).tolist() == [0]  # met first
    tiny = KNeighborsClassifier(2, weights="distance").fit([[0.0], [5e-324]], [0, 1])
    np.testing.assert_allclose(tiny.predict_proba([[0.0]]), [[0.5, 0.5]])  # 1 / 5e-324 is infinite


def test_weights_are_votes_and_not_repetitions():
    A, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    model = KNeighborsClassifier(3).fit(A, y, sample_weight=[5.0, 1.0, 1.0])
    np.testing.assert_allclose(model.predict_proba([[9.0]]), [[5 / 7, 2 / 7]])
    by_class = KNeighborsClassifier(3, class_weight={0: 5.0}).fit(A, y)
    np.testing.assert_allclose(by_class.predict_proba([[9.0]]), [[5 / 7, 2 / 7]])
    assert model.kneighbors([[9.0]])[1].tolist() == [[2, 1, 0]]
    balanced = KNeighborsClassifier(3, class_weight="balanced").fit(A, y)
    np.testing.assert_allclose(balanced.predict_proba([[9.0]]), [[0.5, 0.5]])


def test_rows_of_weight_0_are_left_out():
    weights = np.ones(150)
    weights[::3] = 0.0
    for options in ({}, {"weights": "distance"}, {"class_weight": {0: 0.0}}):
        model = KNeighborsClassifier(**options).fit(X, Y, sample_weight=weights)
        kept = (weights > 0) & ((Y > 0) | ("class_weight" not in options))
        options.pop("class_weight", None)
        left = peers.KNeighborsClassifier(**options).fit(X[kept], Y[kept])
        np.testing.assert_array_equal(model.predict(X), left.predict(X))
        assert model.n_samples_fit_ == kept.sum()
        assert model.classes_.tolist() == [0, 1, 2]


def test_bags_of_neighbours_pass_their_weights():
    bag = BaggingClassifier(
        KNeighborsClassifier(), max_samples=0.5, max_features=0.5, random_state=0
    )
    assert bag.fit(X, Y).score(X, Y) > 0.95


def test_one_class_alone_is_the_answer():
    model = KNeighborsClassifier(2).fit([[0.0], [1.0]], ["a", "a"])
    assert model.predict([[3.0]]).tolist() == ["a"]
    assert model.predict_proba([[3.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize("metric", ["braycurtis", "canberra", "correlation", "cosine", "hamming"])
def test_features_of_both_signs_have_scikit_learns_distances(metric):
    rng = np.random.default_rng(0)
    A, Q = rng.normal(size=(200, 4)), rng.normal(size=(20, 4))
    ours, theirs = (
        kind(5, metric=metric).fit(A, np.arange(200) % 3).kneighbors(Q)[0]
        for kind in (KNeighborsClassifier, peers.KNeighborsClassifier)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_neighbours_without_any_vote_are_an_error():
    model = KNeighborsClassifier(1, weights=lambda d: (d < 0.5).astype(float))
    model.fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert model.predict([[0.1]]).tolist() == [0]
    for use in (model.predict, model.predict_proba, lambda Q: model.predict_by_k(Q, 3)):
        with pytest.raises(DataError, match="All neighbors of some sample is getting zero weights"):
            use([[9.1]])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (lambda d: -d, "`weights` must return numbers of at least 0"),
        (lambda d: d * np.nan, "`weights` must return numbers of at least 0"),
        (lambda d: d[:, 0], "`weights` must return an array of the shape"),
    ],
)
def test_a_function_that_returns_no_weights_is_refused(weights, sentence):
    with pytest.raises(DataError, match=sentence):
        KNeighborsClassifier(weights=weights).fit(X, Y).predict(X + 0.01)


def test_a_function_of_the_distances_may_not_change_them():
    def greedy(distances):
        distances *= 0
        return distances + 1

    model = KNeighborsClassifier(weights=greedy).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), KNeighborsClassifier().fit(X, Y).predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d / d.max())])
@pytest.mark.parametrize("ties", ["nearest", "lowest"])
def test_all_numbers_of_neighbours_at_once_are_as_one_at_a_time(weights, ties):
    A, y = made_up(2)
    votes = np.random.default_rng(2).uniform(0.5, 2.0, size=60)
    model = KNeighborsClassifier(weights=weights, ties=ties, k_max=20).fit(A, y, votes)
    together = model.predict_by_k(A + 0.5, 20)
    left_out = model.predict_by_k(None, 20)
    for k in range(1, 21):
        one = clone(model).set_params(n_neighbors=k, k_max=None).fit(A, y, votes)
        np.testing.assert_array_equal(together[:, k - 1], one.predict(A + 0.5))
        np.testing.assert_array_equal(left_out[:, k - 1], one.predict(None))
        assert model.accuracy_by_k_[k - 1] == one.score(None, y)
    np.testing.assert_array_equal(model.score_by_k(None, y, 20), model.accuracy_by_k_)
    np.testing.assert_array_equal(
        model.score_by_k(A + 0.5, y, 20), (together == y[:, None]).mean(axis=0)
    )


@pytest.mark.slow
def test_leaving_out_is_a_fit_without_the_row():
    model = KNeighborsClassifier(k_max=15).fit(X, Y)
    for k in (1, 4, 15):
        without = cross_val_predict(KNeighborsClassifier(k), X, Y, cv=LeaveOneOut())
        np.testing.assert_array_equal(model.predict_by_k(None, 15)[:, k - 1], without)
        assert model.accuracy_by_k_[k - 1] == (without == Y).mean()
    assert model.best_k_ == 1 + np.argmax(model.accuracy_by_k_)
    assert not hasattr(model.set_params(k_max=None).fit(X, Y), "best_k_")


def test_leaving_out_takes_k_max_up_to_all_others():
    model = KNeighborsClassifier(k_max=149).fit(X, Y)
    assert model.accuracy_by_k_.shape == (149,)
    with pytest.raises(ParameterError, match=r"`k_max` .* must be at most 150, .*; got 151"):
        model.predict_by_k(X, 151)


def test_the_numbers_of_the_text(a4a):
    A, Q = (np.asarray(part.toarray(), dtype=np.uint8) for part in (a4a.X, a4a.X_test))
    model = KNeighborsClassifier(ties="nearest").fit(A, a4a.y)
    errors = (model.predict_by_k(Q, 41) != a4a.y_test[:, None]).sum(axis=0)
    assert errors[0] == errors[1] == 5937  # of two, the nearer decides
    assert errors[40] == 4626


def test_iris_in_the_range_of_the_text():
    accuracies = []
    for seed in range(20):
        A, Q, a, q = train_test_split(X, Y, test_size=0.3, random_state=seed)
        accuracies.append(KNeighborsClassifier().fit(A, a).score(Q, q))
    assert 0.93 <= np.mean(accuracies) <= 0.98


def test_a_linear_kernel_is_the_euclidean_distance():
    whole = np.round(X * 10)
    linear, by_name, norm = (
        KNeighborsClassifier(kernel=kernel).fit(whole, Y) for kernel in (Linear(), "linear", None)
    )
    for model in (linear, by_name):
        for a, b in zip(model.kneighbors(whole + 1), norm.kneighbors(whole + 1), strict=True):
            np.testing.assert_array_equal(a, b)
    assert linear.kernel_ == Linear()
    assert norm.kernel_ is None


def test_a_kernel_is_as_its_distances():
    kernel = Polynomial(2, coef0=1.0)
    whole = np.round(X * 10)
    K, own = kernel.block(whole, whole), kernel.diagonal(whole)
    D = np.sqrt(own[:, None] + own - 2 * K)
    model = KNeighborsClassifier(kernel=kernel).fit(whole, Y)
    given = KNeighborsClassifier(metric="precomputed").fit(D, Y)
    for queries in ((whole, D), (None, None)):
        a, b = model.kneighbors(queries[0]), given.kneighbors(queries[1])
        np.testing.assert_array_equal(a[1], b[1])
        np.testing.assert_allclose(a[0], b[0])
    assert model.predict_proba(whole).tolist() == given.predict_proba(D).tolist()


def test_parameters_of_a_kernel_can_be_searched():
    search = GridSearchCV(
        KNeighborsClassifier(kernel=Polynomial(2)), {"kernel__degree": [1, 3]}, cv=3
    ).fit(X, Y)
    assert search.best_estimator_.kernel_.degree in (1, 3)


@pytest.mark.parametrize("other", [{"metric": "manhattan"}, {"p": 1}, {"metric_params": {"p": 2}}])
def test_a_kernel_beside_a_metric_is_refused(other):
    with pytest.raises(ParameterError, match=r"`metric` .* left at its default 'minkowski'"):
        KNeighborsClassifier(kernel=Gaussian(1.0), **other).fit(X, Y)


def test_algorithm_and_leaf_size_are_hints():
    expected = KNeighborsClassifier().fit(X, Y).predict_proba(X)
    for algorithm in ("ball_tree", "kd_tree", "brute"):
        model = KNeighborsClassifier(algorithm=algorithm, leaf_size=3).fit(X, Y)
        np.testing.assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"algorithm": "kd_tree", "metric": "cosine"}, "`metric` .* with algorithm='kd_tree'"),
        ({"algorithm": "ball_tree", "metric": "precomputed"}, "`metric` .* with algorithm='ball_tree'"),
        ({"algorithm": "brute", "metric": "infinity"}, "`metric` .* with algorithm='brute'"),
        ({"algorithm": "kd_tree", "metric": lambda x, z: 0.0}, "`algorithm` .* with a function"),
        ({"algorithm": "kd_tree", "p": 0.5}, "does not support 0 < p < 1"),
        ({"algorithm": "kd_tree", "metric_params": {"w": np.ones(4)}}, "with a weight parameter 'w'"),
    ],
)  # fmt: skip
def test_what_an_algorithm_cannot_do_is_refused(options, sentence):
    with pytest.raises((ParameterError, UnsupportedError), match=sentence):
        KNeighborsClassifier(**options).fit(X, Y)


def test_powers_below_one_are_no_metric_and_said_to_be_none():
    with pytest.warns(UserWarning, match="Mind that for 0 < p < 1, Minkowski metrics are not"):
        model = KNeighborsClassifier(p=0.5).fit(X, Y)
    with pytest.warns(UserWarning, match="Mind that"):
        theirs = peers.KNeighborsClassifier(p=0.5, algorithm="brute").fit(X, Y)
    np.testing.assert_allclose(model.kneighbors(X + 0.01)[0], theirs.kneighbors(X + 0.01)[0])
    with pytest.warns(SyntaxWarning, match="Parameter p is found in metric_params"):
        assert (
            KNeighborsClassifier(metric_params={"p": 1}).fit(X, Y).effective_metric_ == "manhattan"
        )


def test_trees_do_not_go_with_sparse_samples():
    model = KNeighborsClassifier(algorithm="kd_tree").fit(X, Y)
    with pytest.raises(DataError, match="kd_tree does not work with sparse matrices"):
        model.predict(csr_array(X))
    with pytest.warns(UserWarning, match="cannot use tree with sparse input: using brute force"):
        KNeighborsClassifier(algorithm="ball_tree", metric=lambda x, z: abs(x - z).sum()).fit(
            csr_array(X), Y
        )


def test_several_outputs_are_as_many_models():
    rng = np.random.default_rng(0)
    words = np.array(["a", "b", "c"])
    T = np.column_stack([words[Y], words[rng.integers(0, 3, 150)]])
    model = KNeighborsClassifier(4, weights="distance", class_weight="balanced").fit(X, T)
    assert model.outputs_2d_
    for j in range(2):
        one = clone(model).fit(X, T[:, j])
        np.testing.assert_array_equal(model.predict(X + 0.1)[:, j], one.predict(X + 0.1))
        np.testing.assert_array_equal(model.predict_proba(X + 0.1)[j], one.predict_proba(X + 0.1))
        assert model.classes_[j].tolist() == one.classes_.tolist()
    flags = (T == "a").astype(int)
    np.testing.assert_array_equal(
        clone(model).fit(X, csr_array(flags)).predict(X), clone(model).fit(X, flags).predict(X)
    )
    with pytest.raises(ParameterError, match=r"`k_max` .* None with several outputs"):
        KNeighborsClassifier(k_max=3).fit(X, T)
    with pytest.raises(
        UnsupportedError, match="predict_by_k supports single-output y only; got 2 outputs"
    ):
        model.predict_by_k(X, 3)


def test_too_many_neighbours_are_refused_in_scikit_learns_words():
    model = KNeighborsClassifier(3).fit(X[48:52], Y[48:52])
    words = "Expected n_neighbors {} n_samples_fit, but n_neighbors = {}, n_samples_fit = 4"
    with pytest.raises(ValueError, match=words.format("<=", 5)):
        model.kneighbors(X, 5)
    with pytest.raises(ValueError, match=words.format("<", 4)):
        model.kneighbors(None, 4)
    with pytest.raises(ValueError, match=words.format("<=", 5)):
        model.set_params(n_neighbors=5).predict(X)
    for k in (0, -1, 2.5, "3", True):
        with pytest.raises(ParameterError, match=r"`n_neighbors` .* an integer of at least 1"):
            model.kneighbors(X, k)


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda m: m.predict([[np.nan] * 4]), "NaN"),
        (lambda m: m.predict(np.empty((0, 4))), r"0 sample\(s\)"),
        (lambda m: m.kneighbors_graph(X, mode="blah"), "Unsupported mode"),
        (lambda m: m.score_by_k(X, Y[:3], 2), "X has 150 samples, but y has 3 labels"),
        (lambda m: m.set_params(ties="all").predict(X), "`ties` .* one of 'lowest', 'nearest'"),
        (lambda m: m.set_params(weights="no").predict(X), "`weights` .* one of 'uniform'"),
        (lambda m: m.set_params(n_jobs=0).predict(X), "`n_jobs` .* an integer other than 0"),
    ],
)
def test_bad_queries_are_refused(use, sentence):
    with pytest.raises(ValueError, match=sentence):
        use(KNeighborsClassifier().fit(X, Y))


def test_given_distances_are_checked():
    D = pairwise_distances(X)
    model = KNeighborsClassifier(metric="precomputed")
    with pytest.raises(ValueError, match=r"X has 3 features, but .* expecting 150"):
        model.fit(D, Y).predict(D[:, :3])
    with pytest.raises(TypeError, match="'bsr' format is not supported"):
        model.fit(csr_array(D).tobsr(), Y)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = KNeighborsClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 2), np.nan), [0, 1, 0, 1, 0])
    with pytest.raises(ParameterError):
        model.set_params(k_max=4).fit(X[48:52], Y[48:52])
    assert model.n_features_in_ == 4
    assert model.score(X, Y) > 0.9
    with pytest.raises(NotFittedError):
        KNeighborsClassifier().kneighbors(X)


def test_a_bar_is_drawn_where_it_is_asked_for(capfd):
    KNeighborsClassifier(verbose=1).fit(X, Y).predict(X)
    assert capfd.readouterr().err.count("KNeighborsClassifier: search") >= 2
    KNeighborsClassifier().fit(X, Y).predict(X)
    assert capfd.readouterr().err == ""


def test_votes_by_hand():
    voters = Voters(np.array([2, 0, 0, 2, 1]), np.array([1.0, 1.0, 1.0, 1.0, 0.5]), 3)
    rows, none = np.array([[0, 1, 2, 3, 4]]), factors_of("uniform", np.zeros((1, 5)))
    assert voters.winners(rows, none, "nearest", each=True).tolist() == [[2, 2, 0, 2, 2]]
    assert voters.winners(rows, none, "lowest", each=True).tolist() == [[2, 0, 0, 0, 0]]
    np.testing.assert_allclose(voters.shares(rows, none, "nearest"), [[4 / 9, 1 / 9, 4 / 9]])


def test_smoothing_adds_votes_to_every_class():
    X, y = load_iris(return_X_y=True)
    plain = KNeighborsClassifier(5).fit(X[::2], y[::2])
    smooth = KNeighborsClassifier(5, smoothing=1.5).fit(X[::2], y[::2])
    P, S = plain.predict_proba(X), smooth.predict_proba(X)
    np.testing.assert_allclose(S, (5 * P + 0.5) / 6.5, rtol=1e-12)
    np.testing.assert_array_equal(S.argmax(axis=1), P.argmax(axis=1))
    assert P.min() == 0.0 < S.min()


def test_the_smoothing_chosen_is_best_for_the_rows_left_out():
    from separatrix.estimators.base.tuned import KNeighborsCV

    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) % 5 == 0, (y + 1) % 3, y)  # every fifth label is wrong
    found = KNeighborsCV(estimator=KNeighborsClassifier(ties="nearest")).fit(X, y).estimator_
    losses = {}
    for factor in (0.3, 1.0, 3.0):
        found.set_params(smoothing=factor * found.smoothing)
        losses[factor] = -np.log(found.predict_proba(None)[np.arange(150), y]).mean()
        found.set_params(smoothing=found.smoothing / factor)
    assert min(losses, key=losses.get) == 1.0
