"""What compiled functions share."""

from separatrix.runtime.cached_code import load_without_compiler

FAST_SUMS = {"contract", "reassoc", "nsz", "arcp"}
"""Flags that let sums be reordered into vector code; no nnan, no ninf: NaN and inf stay what they are."""

load_without_compiler()
