"""Thin estimators, one file a family: prepare, solve, keep. They never draw and never print."""
