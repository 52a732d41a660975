"""Kernels on labelled graphs: histograms, Weisfeiler-Lehman, shortest paths."""
