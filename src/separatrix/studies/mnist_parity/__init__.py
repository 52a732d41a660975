"""Even or odd digits by subgradient descent, beside a linear SVM and kernel SVMs.

The constants of the subgradient-descent text, S4, are run on its own target, {0, 1}, and on parity, with
disjoint training and test parts; then constants with which the descent converges, a linear SVM and two
kernels. Pixels are bytes from 0 to 255, as these constants require.
"""

from separatrix.studies.mnist_parity.page import page
from separatrix.studies.mnist_parity.steps import experiment

__all__ = ["experiment", "page"]
