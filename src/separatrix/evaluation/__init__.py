"""Repeated splits, cross-validation and comparison: what composes models into an answer."""
