"""Metrics of the neighbour index, and the votes of neighbours."""
