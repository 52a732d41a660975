"""Kernel support vector machines: working-set decomposition on the CPU and the GPU."""
