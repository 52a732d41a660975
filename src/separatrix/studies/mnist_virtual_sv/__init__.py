"""Virtual support vectors on MNIST: train, shift the support vectors by a pixel or two, train again.

Reference: DeCoste and Schoelkopf, Training Invariant Support Vector Machines, Machine Learning 46 (2002).
"""

from separatrix.studies.mnist_virtual_sv.page import page
from separatrix.studies.mnist_virtual_sv.steps import experiment
from separatrix.studies.mnist_virtual_sv.training import run_virtual_sv

__all__ = ["experiment", "page", "run_virtual_sv"]
