"""MUTAG: 188 molecules, mutagenic or not, classified by graph kernels.

Ten times ten stratified folds. Inside each training part further folds choose the number of refinements,
whether kernel values are normalised, and C; the number of neighbours is chosen by leave-one-out. So a
test molecule takes no part in any choice. All families are tested on the same folds.
"""

from separatrix.studies.mutag.page import page
from separatrix.studies.mutag.steps import experiment

__all__ = ["experiment", "page"]
