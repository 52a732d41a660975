import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.sums import total
from separatrix.solvers.moments import merge, moments_of
from separatrix.types import Block

FORMS = ("pooled", "each", "features")

SHAPES = {"pooled": (4, 4), "each": (3, 4, 4), "features": (3, 4)}
whole = st.integers(-8, 8).map(float)


def problem(seed, n=60, d=4, k=3):
    rng = np.random.default_rng(seed)
    return Block(
        rng.normal(size=(n, d)) + 3.0, rng.integers(0, k, size=n), rng.integers(0, 4, size=n) / 1.0
    )


def plainly(block, form, k=3):
    """The definition, a class at a time."""
    X, y, w = block
    weight = np.bincount(y, w, minlength=k)
    mean = np.stack([w[y == c] @ X[y == c] / weight[c] for c in range(k)])
    apart = [(X - mean[c])[y == c] for c in range(k)]
    each = np.stack([(a * w[y == c][:, None]).T @ a for c, a in enumerate(apart)])
    scatter = {
        "pooled": each.sum(axis=0),
        "each": each,
        "features": np.einsum("kii->ki", each),
    }[form]
    return weight, mean, scatter


def assert_same(a, b, tol=1e-11):
    assert a.form == b.form
    for one, other in zip(a[1:], b[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=tol, atol=tol)


@pytest.mark.parametrize("form", FORMS)
def test_moments_are_what_their_names_say(form):
    block = problem(0)
    found = moments_of(block, n_classes=3, form=form)
    weight, mean, scatter = plainly(block, form)
    np.testing.assert_allclose(found.weight, weight)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.scatter, scatter, atol=1e-12)
    assert found.scatter.shape == SHAPES[form]
    assert found.samples.tolist() == np.bincount(block.y[block.weights > 0], minlength=3).tolist()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 7, 60])
def test_merged_parts_equal_the_whole(form, size):
    block = problem(1)
    parts = [Block(*(part[rows] for part in block)) for rows in row_blocks(60, size)]
    found = total(lambda part: moments_of(part, n_classes=3, form=form), parts, merge)
    assert_same(found, moments_of(block, n_classes=3, form=form))


@settings(max_examples=40, deadline=None)
@given(
    X=hnp.arrays(float, (12, 2), elements=whole),
    y=hnp.arrays(np.intp, 12, elements=st.integers(0, 2)),
    w=hnp.arrays(np.intp, 12, elements=st.integers(0, 3)),
    form=st.sampled_from(FORMS),
)
def test_a_weight_is_a_repetition_and_0_is_not_there(X, y, w, form):
    weighted = moments_of(Block(X, y, w.astype(float)), n_classes=3, form=form)
    rows = np.repeat(np.arange(12), w)
    repeated = moments_of(Block(X[rows], y[rows], np.ones(len(rows))), n_classes=3, form=form)
    for name in ("weight", "mean", "scatter"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-10, atol=1e-10
        )


@settings(max_examples=40, deadline=None)
@given(
    X=hnp.arrays(float, (12, 2), elements=whole),
    y=hnp.arrays(np.intp, 12, elements=st.integers(0, 2)),
    cut=st.integers(1, 11),
    order=st.permutations(range(12)),
    form=st.sampled_from(FORMS),
)
def test_neither_the_cut_nor_the_order_matters(X, y, cut, order, form):
    order = np.array(order)
    block = Block(X, y, np.ones(12))
    first = Block(*(part[order[:cut]] for part in block))
    second = Block(*(part[order[cut:]] for part in block))
    found = merge(*(moments_of(part, n_classes=3, form=form) for part in (first, second)))
    assert_same(found, moments_of(block, n_classes=3, form=form))


@pytest.mark.parametrize("form", FORMS)
def test_far_from_the_origin_no_digits_are_lost(form):
    near = problem(2)
    near = near._replace(X=np.round(near.X, 3))
    shift = np.array([1e9, -1e8, 1e7, 0.0])
    grid = np.round(near.X * 1024) / 1024  # these values plus the shift are exact in float64
    close = moments_of(near._replace(X=grid), n_classes=3, form=form)
    parts = [
        Block(grid[rows] + shift, near.y[rows], near.weights[rows]) for rows in row_blocks(60, 9)
    ]
    far = total(lambda part: moments_of(part, n_classes=3, form=form), parts, merge)
    np.testing.assert_allclose(far.scatter, close.scatter, rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(far.mean - shift, close.mean, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_samples_and_other_number_types_give_the_same(form):
    rng = np.random.default_rng(3)
    X, y, w = rng.integers(0, 3, size=(40, 4)), rng.integers(0, 3, size=40), np.ones(40)
    expected = moments_of(Block(X.astype(float), y, w), n_classes=3, form=form)
    for samples in (X, csr_array(X), X.astype(np.float32), np.asfortranarray(X)):
        assert_same(moments_of(Block(samples, y, w), n_classes=3, form=form), expected)


def test_samples_are_not_changed():
    block = problem(4)
    before = block.X.copy()
    moments_of(block, n_classes=3, form="each")
    np.testing.assert_array_equal(block.X, before)


@pytest.mark.parametrize("form", FORMS)
def test_classes_can_be_put_in_order_and_new_ones_can_come(form):
    block = problem(5)
    order = np.array([2, 0, 1])
    renamed = block._replace(y=np.argsort(order)[block.y])
    found = moments_of(renamed, n_classes=3, form=form)
    assert_same(moments_of(block, n_classes=3, form=form).taken(order), found)
    few = moments_of(block._replace(y=block.y % 2), n_classes=2, form=form)
    grown = moments_of(block._replace(y=block.y % 2), n_classes=3, form=form)
    assert_same(few.grown(3), grown)
    assert_same(merge(few, grown), merge(grown, grown))


def test_scatter_within_and_between_add_up_to_that_of_all():
    block = problem(6)
    as_one = block._replace(y=np.zeros_like(block.y))
    whole = moments_of(as_one, n_classes=1, form="pooled")
    for form in ("pooled", "each"):
        found = moments_of(block, n_classes=3, form=form)
        np.testing.assert_allclose(found.grand_mean, whole.mean[0])
        np.testing.assert_allclose(found.pooled() + found.between(), whole.scatter)
