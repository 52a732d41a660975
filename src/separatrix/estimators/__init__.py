"""Thin estimators, one file per family: prepare, solve, keep. They never draw and never print."""
