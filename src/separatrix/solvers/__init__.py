"""Pure functions, one algorithm a file: arrays in, a named tuple that says how it stopped out.

A solver keeps nothing and prints nothing. It sees kernels only through the `Gram` protocol, so it
runs on a held matrix, on tiles, on a string kernel or on a GPU alike. Its outer loop is Python,
where the `FitMonitor` is asked whether to go on; its inner loop is a private compiled function.
"""
