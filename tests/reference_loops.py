"""Textbook algorithms, one sample at a time: slow reference implementations."""

import numpy as np


def kernel_perceptron(K, y, rows, n_classes, rule, epochs, orders, rates=None):
    """All mistakes as (epoch, row, {column: delta}), and the last coefficients, (n, p)."""
    pairs = [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]
    p = len(pairs) if rule == "ovo" else (1 if n_classes == 2 else n_classes)
    coef = np.zeros((len(K), p))
    rates = np.ones(len(K)) if rates is None else rates
    mistakes = []
    for epoch in range(epochs):
        wrong = 0
        for t in rows[orders[epoch]]:
            scores = coef.T @ K[t]
            changes = {}
            if rule == "argmax" and n_classes > 2:
                guess = int(np.argmax(scores))
                if guess != y[t]:
                    changes = {int(y[t]): rates[t], guess: -rates[t]}
            else:
                for c in range(p):
                    if n_classes == 2:
                        side = 1 if y[t] == 1 else -1
                    elif rule == "ovo":
                        side = 1 if y[t] == pairs[c][0] else -1 if y[t] == pairs[c][1] else 0
                    else:
                        side = 1 if y[t] == c else -1
                    if side and side * scores[c] <= 0:
                        changes[c] = side * rates[t]
            if changes:
                wrong += 1
                mistakes.append((epoch, int(t), changes))
                for c, delta in changes.items():
                    coef[t, c] += delta
        if not wrong:
            break
    return mistakes, coef


def predictions_when_met(K, y, rows, n_classes, rule, orders, ties="lowest"):
    """Classes that a kernel perceptron predicts for each row just before it learns from it, by epoch."""
    pairs = [(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)]
    p = len(pairs) if rule == "ovo" and n_classes > 2 else (1 if n_classes == 2 else n_classes)
    coef, met = np.zeros((len(K), p)), []
    for order in orders:
        met.append([])
        for t in rows[order]:
            scores = coef.T @ K[t]
            if n_classes == 2:
                met[-1].append(int(scores[0] > 0))
                sides = [1 if y[t] == 1 else -1]
            elif rule == "ovo":
                votes, margins = np.zeros(n_classes), np.zeros(n_classes)
                for score, (a, b) in zip(scores, pairs, strict=True):
                    votes[a if score > 0 else b] += 1
                    margins[a] += score
                    margins[b] -= score
                best = np.flatnonzero(votes == votes.max())
                met[-1].append(int(best[np.argmax(margins[best])] if ties == "margin" else best[0]))
                sides = [1 if y[t] == a else -1 if y[t] == b else 0 for a, b in pairs]
            else:
                met[-1].append(int(np.argmax(scores)))
                sides = [1 if y[t] == c else -1 for c in range(n_classes)]
            for c, side in enumerate(sides):
                if side and side * scores[c] <= 0:
                    coef[t, c] += side
    return np.array(met)
