import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from separatrix.data.splits import (
    fold_splits,
    grouped_folds,
    grouped_splits,
    random_splits,
    stratified_folds,
    stratified_splits,
    subsample,
)
from separatrix.errors import DataError, ParameterError

LABELS = np.repeat(["a", "b", "c"], [50, 30, 7])
GROUPS = np.repeat(np.arange(20), np.arange(1, 21))


def shuffled(values, seed=0):
    return np.random.default_rng(seed).permutation(values)


def shares(y, rows):
    return np.unique(np.asarray(y)[rows], return_counts=True)[1]


@settings(max_examples=100, deadline=None)
@given(
    counts=st.lists(st.integers(2, 30), min_size=1, max_size=6),
    test_size=st.floats(0.05, 0.95),
    seed=st.integers(0, 1000),
)
def test_a_stratified_split_is_as_fair_as_whole_samples_allow(counts, test_size, seed):
    y = shuffled(np.repeat(np.arange(len(counts)), counts), seed)
    n, held_out = len(y), round(test_size * len(y))
    if not 0 < held_out <= n - len(counts):
        with pytest.raises(DataError):
            stratified_splits(y, repeats=1, test_size=test_size, seed=seed)
        return

    (split,) = stratified_splits(y, repeats=1, test_size=test_size, seed=seed)

    assert sorted([*split.train, *split.test]) == list(range(n))
    assert len(split.test) == held_out
    taken = np.bincount(y[split.test], minlength=len(counts))
    exact = np.array(counts) * held_out / n
    assert (taken < counts).all()
    # Only a class that must keep one sample to train on moves others by more than rounding.
    if (np.ceil(exact) < counts).all():
        assert (np.abs(taken - exact) < 1).all()


@settings(max_examples=100, deadline=None)
@given(
    counts=st.lists(st.integers(2, 30), min_size=1, max_size=6),
    folds=st.integers(2, 8),
    seed=st.integers(0, 1000),
)
def test_stratified_folds_differ_by_one_sample_of_each_class_and_in_all(counts, folds, seed):
    y = shuffled(np.repeat(np.arange(len(counts)), counts), seed)
    if folds > len(y):
        with pytest.raises(DataError, match="folds need at least"):
            stratified_folds(y, folds=folds, seed=seed)
        return

    splits = stratified_folds(y, folds=folds, seed=seed, repeats=2)

    assert len(splits) == 2 * folds
    for repeat in (splits[:folds], splits[folds:]):
        assert sorted(np.concatenate([split.test for split in repeat])) == list(range(len(y)))
        assert np.ptp([len(split.test) for split in repeat]) <= 1
        held = np.array([np.bincount(y[s.test], minlength=len(counts)) for s in repeat])
        assert (np.ptp(held, axis=0) <= 1).all()
        for split in repeat:
            assert set(y[split.train]) == set(y)


def test_repeats_differ_and_seeds_repeat():
    for draw in (
        lambda seed: random_splits(50, repeats=2, test_size=0.2, seed=seed),
        lambda seed: stratified_splits(LABELS, repeats=2, test_size=0.2, seed=seed),
        lambda seed: stratified_folds(LABELS, folds=2, repeats=2, seed=seed),
        lambda seed: grouped_splits(GROUPS, repeats=2, test_size=0.2, seed=seed),
        lambda seed: grouped_folds(GROUPS, folds=2, repeats=2, seed=seed),
    ):
        first, again, other = draw(3), draw(3), draw(4)
        for one, two in zip(first, again, strict=True):
            np.testing.assert_array_equal(one.train, two.train)
            np.testing.assert_array_equal(one.test, two.test)
        half = len(first) // 2
        assert not np.array_equal(first[0].test, first[half].test)
        assert not np.array_equal(first[0].test, other[0].test)


def test_whatever_holds_the_labels_gives_the_same_splits():
    expected = stratified_folds(LABELS, folds=3, seed=0)
    for y in (list(LABELS), pd.Series(LABELS), LABELS.astype(object)):
        found = stratified_folds(y, folds=3, seed=0)
        for one, two in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one.test, two.test)


def test_groups_are_never_torn():
    groups = shuffled(GROUPS)
    for split in [
        *grouped_splits(groups, repeats=5, test_size=0.25, seed=1),
        *grouped_folds(groups, folds=4, seed=1, repeats=2),
    ]:
        assert not set(groups[split.train]) & set(groups[split.test])
        assert sorted([*split.train, *split.test]) == list(range(len(groups)))
    for split in grouped_splits(groups, repeats=5, test_size=0.25, seed=1):
        assert len(set(groups[split.test])) == 5


@pytest.mark.parametrize("seed", range(10))
def test_folds_of_groups_differ_by_no_more_than_the_largest_group(seed):
    splits = grouped_folds(shuffled(GROUPS), folds=4, seed=seed)
    assert sorted(np.concatenate([split.test for split in splits])) == list(range(len(GROUPS)))
    assert np.ptp([len(split.test) for split in splits]) <= 20
    assert all(len(split.test) for split in grouped_folds(np.arange(4), folds=4, seed=seed))


@pytest.mark.parametrize("size", [1, 2, 3, 10, 86, 87, 0.5, 1.0])
def test_a_sub_sample_keeps_the_shares(size):
    rows = subsample(LABELS, size, seed=0)
    count = size if isinstance(size, int) else round(size * len(LABELS))
    assert len(set(rows)) == count
    assert (np.diff(rows) > 0).all()
    if count >= 3:
        exact = shares(LABELS, slice(None)) * count / len(LABELS)
        assert (np.abs(shares(LABELS, rows) - exact) <= 1).all()


def test_a_sub_sample_need_not_look_at_the_labels():
    y = np.zeros(1000)
    y[:5] = 1
    assert len(subsample(y, 0.1, seed=0, stratified=False)) == 100
    drawn = [y[subsample(y, 100, seed=seed, stratified=False)].sum() for seed in range(40)]
    assert len(set(drawn)) > 1


def test_folds_hold_out_every_row_once():
    rows = np.array([2, 3, 5, 7, 11, 13, 17])
    splits = fold_splits(rows, folds=3, seed=1)
    assert sorted(np.concatenate([split.test for split in splits])) == rows.tolist()
    for split in splits:
        assert sorted([*split.train, *split.test]) == rows.tolist()
        assert (np.diff(split.train) > 0).all()


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: random_splits(3, repeats=1, test_size=0.1, seed=0), "leaves 0 to test"),
        (
            lambda: fold_splits(np.arange(4), folds=9, seed=0),
            "9 folds need at least 9 samples; got 4",
        ),
        (lambda: stratified_splits([0, 0, 1], repeats=1, test_size=0.5, seed=0), "class 1 has 1"),
        (
            lambda: stratified_splits([0, 0, 1, 1], repeats=1, test_size=0.1, seed=0),
            "test_size=0.1 of 4 samples leaves 0 to test; need 1 to 3",
        ),
        (
            lambda: stratified_splits([0, 0, 1, 1], repeats=1, test_size=0.75, seed=0),
            "3 of 4 samples to test leave nothing to train on of some class; hold out at most 2",
        ),
        (
            lambda: stratified_folds([0, 1, 1], folds=2, seed=0),
            "leave it out, or use random_splits",
        ),
        (lambda: stratified_folds([0, 0], folds=3, seed=0), "3 folds need at least 3 samples"),
        (
            lambda: grouped_folds([1, 1, 2], folds=3, seed=0),
            "3 folds need at least 3 groups; got 2",
        ),
        (
            lambda: grouped_splits([1, 1, 1], repeats=1, test_size=0.5, seed=0),
            "test_size=0.5 of 1 groups leaves 0 to test",
        ),
        (lambda: subsample([0, 1], 3, seed=0), "a sub-sample of 3 needs at least 3 samples; got 2"),
        (lambda: subsample([], 1, seed=0), r"one value for each sample; got shape \(0,\)"),
        (lambda: subsample([[0, 1]], 1, seed=0), r"got shape \(1, 2\)"),
        (lambda: subsample(np.array([0, "a", None], object), 1, seed=0), "all strings or all numb"),
    ],
)
def test_impossible_parts_are_refused(draw, sentence):
    with pytest.raises(DataError, match=sentence):
        draw()


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: random_splits(10, repeats=1, test_size=1.5, seed=0), "`test_size`"),
        (lambda: stratified_splits([0, 0, 1, 1], repeats=0, test_size=0.5, seed=0), "`repeats`"),
        (lambda: stratified_splits([0, 0, 1, 1], repeats=1, test_size=1.0, seed=0), "`test_size`"),
        (lambda: stratified_folds([0, 0, 1, 1], folds=1, seed=0), "`folds` of stratified_folds"),
        (lambda: grouped_folds([0, 1], folds=2.0, seed=0), "`folds` of grouped_folds"),
        (lambda: subsample([0, 1], 0, seed=0), "`size` of subsample"),
        (lambda: subsample([0, 1], 1.5, seed=0), "`size` of subsample"),
        (lambda: subsample([0, 1], True, seed=0), "`size` of subsample"),
    ],
)
def test_parameters_are_checked(draw, sentence):
    with pytest.raises(ParameterError, match=sentence):
        draw()
