"""How a function makes scores of queries and keys: each measurement on attention that is known."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.auditing.calls import attention
from tests.strategies import examples, floats
from verify.auditing.probing.callee import Callee
from verify.auditing.probing.scores import (
    Model,
    heads_of,
    measure,
    normalised,
    random_arrays,
    small_scale,
    softcap_of,
    stored,
)
from verify.auditing.probing.sizes import Sizes
from verify.auditing.probing.weights import Mask

SIZES = Sizes(heads=2, key_heads=2, width=8)
FULL = Model(Mask())


def callee(**declared: Any) -> Callee:
    """Return attention in NumPy that declares what is given."""
    return Callee(partial(attention, **declared), "bhtd", "numpy", dtype="float32")


def normed(q: Any, k: Any, v: Any, *, names: str) -> Any:
    """Return attention of which some vectors are brought to length 1."""
    q, k = (
        one / np.linalg.norm(one, axis=-1, keepdims=True) if name in names else one
        for name, one in (("q", q), ("k", k))
    )
    return attention(q, k, v, scale=3.0)


@pytest.mark.parametrize(
    ("names", "found"), [("qk", ("queries", "keys")), ("q", ("queries",)), ("k", ("keys",)), ("", ())]
)
def test_what_a_factor_does_not_change_is_normalised(names: str, found: tuple[str, ...]) -> None:
    """Queries, keys, both, or neither."""
    assert normalised(Callee(partial(normed, names=names), "bhtd", "numpy"), SIZES) == found


def test_weights_that_never_differ_say_nothing_of_lengths() -> None:
    """Where the scale is 0, nothing is called normalised."""
    assert normalised(callee(scale=0.0), SIZES) == ()


@pytest.mark.parametrize("scale", [1e-4, 0.03, 0.35, 20.0, -0.5])
@pytest.mark.parametrize("declared", [{}, {"softcap": 5.0}, {"causal": True}])
def test_the_slope_near_0_is_the_scale(scale: float, declared: dict[str, Any]) -> None:
    """Over five powers of ten and of either sign; a soft-cap does not matter there."""
    assert small_scale(callee(scale=scale, **declared), SIZES) == pytest.approx(scale, rel=0.02)


def test_what_follows_no_products_has_no_slope() -> None:
    """A mean of the values, whatever queries and keys are."""
    mean = Callee(lambda q, _k, v: 0 * q + v.mean(axis=2, keepdims=True), "bhtd", "numpy")
    assert small_scale(mean, SIZES) == 0


@pytest.mark.parametrize(
    ("declared", "cap"),
    [
        ({}, None),
        ({"softcap": 5.0}, 5.0),
        ({"softcap": 50.0}, 50.0),
        ({"softcap": 700.0}, None),
        ({"softcap": 1e5}, None),
    ],
)
def test_a_soft_cap_is_measured(declared: dict[str, Any], cap: float | None) -> None:
    """Far beyond the scores one is none."""
    found, follows = softcap_of(callee(scale=0.25, **declared), SIZES, 0.25)
    assert follows
    assert found == (None if cap is None else pytest.approx(cap, rel=1e-3))


def test_scores_that_follow_the_products_otherwise_are_no_soft_cap() -> None:
    """Clipped ones, say; and weights of 0 leave nothing to follow."""

    def clipped(q: Any, k: Any, v: Any) -> Any:
        scores = np.maximum(0.25 * q @ np.swapaxes(k, -1, -2), -5)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ v

    assert softcap_of(Callee(clipped, "bhtd", "numpy"), SIZES, 0.25) == (None, False)
    assert softcap_of(Callee(lambda _q, _k, v: 0 * v, "bhtd", "numpy"), SIZES, 0.25) == (None, False)


@pytest.mark.parametrize(
    ("declared", "model"),
    [
        ({}, FULL),
        ({"causal": True}, Model(Mask(0))),
        ({"softcap": 2.0}, Model(Mask(), softcap=2.0)),
        ({"sink": np.array([1.0, -1.0])}, Model(Mask(), sink=(1.0, -1.0))),
    ],
)
def test_the_scale_is_measured_where_the_model_fits(declared: dict[str, Any], model: Model) -> None:
    """Its interval holds the truth; a model that lacks what is there does not fit."""
    found = measure(callee(scale=0.3, **declared), SIZES, model, 12, (0.3,))
    assert (found.d, found.h, found.n, found.dtype, found.fits) == (8, 2, 12, "float32", True)
    assert found.interval[0] <= 0.3 <= found.interval[1]
    assert found.scale == pytest.approx(0.3, rel=1e-4)
    if declared:
        assert not measure(callee(scale=0.3, **declared), SIZES, FULL, 12, (0.3,)).fits


def test_factor_and_normalisation_are_taken_out() -> None:
    """What a model says of them is undone before the scale is fitted."""
    tripled = Callee(lambda q, k, v: 3 * attention(q, k, v, scale=0.3), "bhtd", "numpy")
    assert measure(tripled, SIZES, Model(Mask(), factor=3.0), 12, (0.3,)).fits
    unit = Callee(partial(normed, names="qk"), "bhtd", "numpy")
    found = measure(unit, SIZES, Model(Mask(), normalised=("queries", "keys")), 12, (3.0,))
    assert found.fits
    assert found.scale == pytest.approx(3.0, rel=1e-4)


@pytest.mark.parametrize("scale", [0.01, 1.0, -7.0])
def test_random_scores_differ_by_about_1(scale: float) -> None:
    """Whatever the scale is, so that rounding can be told from it; all heads of both sequences are made."""
    sizes = Sizes(4, 2, 64)
    query, key, value, output = random_arrays(callee(scale=scale), sizes, 16, scale)
    assert query.shape == (2, 4, 16, 64)
    assert key.shape == value.shape == (2, 2, 16, 64)
    scores = scale * query @ np.swapaxes(np.repeat(key, 2, axis=1), -1, -2)
    assert scores.std(axis=-1).mean() == pytest.approx(1, abs=0.1)
    heads = list(heads_of(callee(scale=scale), sizes, Model(Mask(0)), 16, scale))
    assert len(heads) == 8
    # The first row of a causal mask sees one key, and says nothing of a scale.
    assert all(head.places.tolist() == list(range(1, 16)) for head in heads)
    assert np.array_equal(heads[3].key, key[0, 1])
    assert output.shape == query.shape


@examples(40)
@given(
    st.lists(floats(-1e4, 1e4), min_size=1, max_size=4), st.sampled_from(["float16", "bfloat16", "float32"])
)
def test_stored_numbers_are_those_of_the_dtype(numbers: list[float], dtype: str) -> None:
    """Storing again changes nothing, and nothing moves by more than the dtype's rounding."""
    kept = stored(np.array(numbers), dtype)
    assert kept.dtype == np.float64
    assert np.array_equal(stored(kept, dtype), kept)
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-7, "float32": 2.0**-24}[dtype]
    assert np.all(np.abs(kept - numbers) <= unit * np.abs(numbers) + 1e-7)
