"""Part 8: naive Bayes on words is counting, and a word that a class never had rules it out."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.naive_bayes import MultinomialNB
from separatrix.experiments.steps import ALL_SPLITS, Row, RunContext, StepResult, params_json
from separatrix.types import Matrix

WORDS = "8 word frequencies"
CORPUS = "a dozen messages"
MESSAGES = (
    ("ham", "see you at lunch"),
    ("ham", "call me when you are home"),
    ("ham", "are you free for lunch now"),
    ("ham", "see you soon at home"),
    ("ham", "call me now please"),
    ("ham", "lunch at home is free for you"),
    ("ham", "please see me soon"),
    ("spam", "win cash now"),
    ("spam", "call now to win a free prize"),
    ("spam", "free cash prize call now"),
    ("spam", "claim your free prize now"),
    ("spam", "win win win cash"),
)
ASKED = ("free prize now", "see you at lunch", "win lunch now", "claim your lunch at home")
ALPHAS = (0.0, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 10.0)


def frequencies(_workshop: RunContext) -> StepResult:
    """beta(j | k) is the count of word j in class k over all counts in it; alpha=0 keeps its zeros."""
    kinds = np.array([kind for kind, _ in MESSAGES])
    vocabulary = sorted({word for _, text in MESSAGES for word in text.split()})
    counts = _counts([text for _, text in MESSAGES], vocabulary)
    plain = MultinomialNB(alpha=0.0).fit(counts, kinds)
    told = _table(plain, vocabulary, counts, kinds)
    rows = [Row(WORDS, CORPUS, "MultinomialNB", p, ALL_SPLITS, m, float(v)) for p, m, v in told]
    asked = _counts(list(ASKED), vocabulary)
    for alpha in ALPHAS:
        model = MultinomialNB(alpha=alpha).fit(counts, kinds)
        joint, proba = model.predict_joint_log_proba(asked), model.predict_proba(asked)
        rows += [
            Row(
                WORDS,
                CORPUS,
                "MultinomialNB",
                params_json(alpha=alpha, kind=kind, text=text),
                ALL_SPLITS,
                metric,
                float(values[i, k]),
            )
            for i, text in enumerate(ASKED)
            for k, kind in enumerate(model.classes_.tolist())
            for metric, values in (("joint_log_probability", joint), ("probability", proba))
        ]
    return StepResult(rows)


def _counts(texts: list[str], vocabulary: list[str]) -> Matrix:
    """How often each word is in each text, (n, d)."""
    return np.array(
        [[text.split().count(word) for word in vocabulary] for text in texts], dtype=np.float64
    )


def _table(
    model: Any, vocabulary: list[str], counts: Matrix, kinds: Any
) -> list[tuple[str, str, float]]:
    """Counts and shares of every word in every class, and how far the model is from them."""
    told = []
    for k, kind in enumerate(model.classes_.tolist()):
        own = counts[kinds == kind].sum(axis=0)
        for j, word in enumerate(vocabulary):
            told += [
                (params_json(kind=kind, word=word), "count", own[j]),
                (params_json(kind=kind, word=word), "share", np.exp(model.feature_log_prob_[k, j])),
            ]
        met = own > 0
        off = np.abs(np.exp(model.feature_log_prob_[k]) - own / own.sum())
        told += [
            (params_json(kind=kind), "all_counts", own.sum()),
            (params_json(kind=kind), "prior", np.exp(model.class_log_prior_[k])),
            (params_json(kind=kind), "never_met", float((~met).sum())),
            (params_json(kind=kind), "off_relative_frequency", off.max()),
        ]
    return told
