"""
Naive Bayes on text
===================

Which data set does a sentence describe? scikit-learn's descriptions of its data sets are a small collection of real text that
needs no download. Multinomial naive Bayes counts words; its weights are logarithms of ratios of word frequencies.
"""

import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import cross_val_predict

from separatrix import ComplementNB, MultinomialNB

loaders = {"iris": load_iris, "wine": load_wine, "digits": load_digits, "cells": load_breast_cancer}
loaders["diabetes"] = load_diabetes
texts, y = [], []
for name, loader in loaders.items():
    words = re.sub(r"[^A-Za-z ]+", " ", loader().DESCR).lower().split()
    pieces = [" ".join(words[i : i + 20]) for i in range(0, len(words) - 10, 20)]
    texts += pieces
    y += [name] * len(pieces)
y = np.array(y)
counts = CountVectorizer(stop_words="english", min_df=2)
X = counts.fit_transform(texts)
print(f"{X.shape[0]} pieces of 20 words, {X.shape[1]} different words")

# %%
# Accuracy by cross-validation, for several amounts of smoothing.

alphas = [0.001, 0.01, 0.1, 0.5, 1.0, 5.0]
figure, panel = plt.subplots(figsize=(6, 3.4))
for method in (MultinomialNB, ComplementNB):
    scores = [(cross_val_predict(method(alpha=alpha), X, y, cv=5) == y).mean() for alpha in alphas]
    panel.semilogx(alphas, scores, marker="o", label=method.__name__)
panel.set(xlabel="alpha: counts added to every word", ylabel="accuracy, 5 folds")
panel.legend()
plt.show()

# %%
# The words that speak most for each data set.

model = MultinomialNB(alpha=0.1).fit(X, y)
names = counts.get_feature_names_out()
evidence = model.feature_log_prob_ - model.feature_log_prob_.mean(axis=0)
for label, row in zip(model.classes_, evidence, strict=True):
    print(f"{label:9} {', '.join(names[np.argsort(-row)[:6]])}")
