"""Kernel methods: each claim as numbers that can be checked.

Samples of the first three parts are multiples of 1/64, so that sums and products are exact and two forms
of one algorithm can be compared mistake by mistake. The last part computes one matrix for each type of
object in `OBJECT_TYPES`.
"""

from separatrix.studies.kernel_methods.page import page
from separatrix.studies.kernel_methods.steps import experiment

__all__ = ["experiment", "page"]
