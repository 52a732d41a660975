"""Perceptrons: primal, dual and kernel; CPU and GPU."""
