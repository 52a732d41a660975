"""Nearest neighbours and perceptrons on Iris, Adult or any file of vectors.

One search answers every k. Two classes share one weight vector, more classes have one each. A data set
with a test part is tested on it, rows in file order; otherwise random parts are held out, and the
training rows are shuffled.
"""

from separatrix.studies.knn_and_perceptron.page import page
from separatrix.studies.knn_and_perceptron.steps import experiment

__all__ = ["experiment", "page"]
