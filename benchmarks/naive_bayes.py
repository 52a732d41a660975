"""Naive Bayes compared with scikit-learn: same estimates."""

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB as Peer

from benchmarks.linear_svm import r8
from benchmarks.measure import Row, best_of_each
from separatrix.estimators.naive_bayes import MultinomialNB


def _counts(n=20_000, d=50_000, words=100):
    """Words drawn by Zipf's law."""
    rng = np.random.default_rng(0)
    words_drawn = np.minimum(rng.zipf(1.2, size=(n, words)) - 1, d - 1)
    indptr = np.arange(0, n * words + 1, words)
    X = csr_array((np.ones(n * words), words_drawn.ravel(), indptr), shape=(n, d))
    X.sum_duplicates()
    return X, rng.integers(0, 8, size=n)


def naive_bayes():
    """R8 counts, eight classes; 20,000 x 50,000 synthetic, eight classes; best of alternating runs."""
    rows = []
    for name, (X, y) in {"R8 counts": r8(CountVectorizer), "20,000 x 50,000": _counts()}.items():
        ours, peer = MultinomialNB().fit(X, y), Peer().fit(X, y)
        off = np.abs(ours.feature_log_prob_ - peer.feature_log_prob_).max()
        for what, call in {
            "fit": lambda model, X=X, y=y: model.fit(X, y),
            "predict": lambda model, X=X: model.predict(X),
        }.items():
            times = best_of_each(
                {"ours": lambda call=call: call(ours), "peer": lambda call=call: call(peer)},
                repeat=20,
            )
            rows.append(
                Row(
                    f"MultinomialNB, {name}, {what} (estimates differ by {off:.0e})",
                    f"{1000 * times['ours']:.1f} ms",
                    f"scikit-learn {1000 * times['peer']:.1f} ms",
                    f"{times['peer'] / times['ours']:.1f}x faster",
                    "not slower, 1e-10",
                )
            )
    return rows, []


SUITES = [naive_bayes]
