"""Exact nearest neighbours: cheap bounds rule out most rows, one exact distance decides.

`metrics.py` has the exact distances, `ranking.py` the heaps of the k best rows; every other file is one
search method or a part of one, and `index.py` chooses among them.
"""
