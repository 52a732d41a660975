"""The workbench: a local web page over the same functions as the library and the command line.

The server is light and holds no model. What computes is in processes of its own that can be stopped: one
that answers while somebody draws or drags, and one for each experiment that runs.
"""
