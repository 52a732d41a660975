"""What compiled functions share."""

FAST_SUMS = {"contract", "reassoc", "nsz", "arcp"}
"""Flags that let sums be reordered into vector code; no nnan, no ninf: NaN and inf stay what they are."""
