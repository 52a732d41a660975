"""Counts in words."""

from __future__ import annotations


def count_of(number: int, noun: str) -> str:
    """A number and its noun, in the plural unless it is one.

    >>> count_of(1, "split"), count_of(1200, "random split")
    ('1 split', '1,200 random splits')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
