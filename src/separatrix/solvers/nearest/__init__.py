"""Exact nearest neighbours: cheap bounds say which rows to look at, one exact distance decides.

`metrics.py` has the distances that decide, `ranking.py` the list of the k best; every other file is one
way of looking at few rows, and `index.py` chooses among them.
"""
