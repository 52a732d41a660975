"""The kernel matrix as an operator: held, cached or computed on demand, on the CPU or a GPU."""
