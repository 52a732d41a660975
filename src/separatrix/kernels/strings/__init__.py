"""Kernels on sequences: spectrum, weighted degree, subsequences."""
