"""Wrong attentions by name: each gives what a program with that mistake gives, written out in NumPy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.auditing.calls import attention, call
from tests.auditing.written_out import OTHER, TOKENS, agrees, exact, products, softmax, variants, weights
from verify.auditing import alternatives
from verify.auditing.alternatives import CAPS

if TYPE_CHECKING:
    from collections.abc import Callable


RNG = np.random.default_rng(5)
MASK = RNG.random((TOKENS, TOKENS)) < 0.6
# Every row sees some keys and does not see others; so does every column.
for row in range(TOKENS):
    MASK[row, [row, (row + 1) % TOKENS, (row + 2) % TOKENS]] = True, False, True
BIAS = RNG.standard_normal((1, 4, TOKENS, TOKENS))
SINKS = np.array([0.5, 1.5, -0.5, 1.0])
CAUSAL = np.tri(TOKENS, dtype=bool)


@pytest.mark.parametrize(
    ("declared", "cause", "wanted"),
    [
        ({"mask": MASK}, "the mask is not applied", {}),
        ({"mask": MASK}, "the mask is inverted", {"mask": ~MASK}),
        ({"mask": MASK}, "the mask is added as the numbers 0 and 1", {"bias": MASK.astype(float)}),
        ({"mask": MASK}, "the mask is transposed", {"mask": MASK.T}),
        ({"mask": MASK, "causal": True}, "the mask is lost beside the causal one", {"causal": True}),
        ({"mask": MASK, "causal": True}, "the causal mask is lost beside the other", {"mask": MASK}),
        ({"mask": MASK}, "the mask is causal", {"mask": CAUSAL}),
        (
            {},
            "the mask is causal and off by one: query i sees the keys up to i+1",
            {"mask": np.tri(TOKENS, k=1) > 0},
        ),
        ({"bias": BIAS}, "the bias is lost", {}),
        ({"bias": BIAS}, "the bias has the wrong sign", {"bias": -BIAS}),
        ({"bias": BIAS}, "the bias is added twice", {"bias": 2 * BIAS}),
        ({"bias": BIAS}, "the bias (or mask) is multiplied by the scale", {"bias": OTHER * BIAS}),
        ({"bias": BIAS}, "the bias is that of head 3", {"bias": BIAS[:, [3]]}),
        *(({}, f"a soft-cap of {cap:g} is applied", {"softcap": cap}) for cap in CAPS),
        ({"softcap": 0.7}, "the soft-cap is lost", {}),
        ({}, "a sink of 0 is in the softmax (a further 1 in its denominator)", {"sink": np.zeros(4)}),
        ({"sink": SINKS}, "the sink is lost", {}),
        ({"sink": SINKS}, "the sink is 0 whatever it should be", {"sink": np.zeros(4)}),
        ({"sink": SINKS}, "the sink is multiplied by the scale", {"sink": OTHER * SINKS}),
    ],
)
def test_what_is_declared_otherwise(declared: dict[str, Any], cause: str, wanted: dict[str, Any]) -> None:
    """A mistake in what is declared gives attention with something else declared, whatever its scale."""
    one = call(queries=TOKENS, keys=TOKENS, **declared)
    variant = variants(one, alternatives.KINDS)[cause]
    agrees(variant, attention(*exact(one), scale=OTHER, **wanted), one)
    assert not variant.is_factor


@pytest.mark.parametrize(("queries", "keys"), [(5, 9), (9, 5)])
def test_causal_masks_are_aligned_at_either_end(queries: int, keys: int) -> None:
    """Where queries and keys differ in number; what is declared itself is no mistake."""
    one = call(queries=queries, keys=keys, mask=np.arange(keys) < keys - 1)
    found = variants(one, (alternatives.alignments,))
    ends = {" and aligned at the first token (top left)": 0}
    ends[" and aligned at the last token (bottom right)"] = keys - queries
    for end, shift in ends.items():
        mask = np.tri(queries, keys, shift, dtype=bool)
        # A row that sees no key has an output of 0.
        wanted = np.nan_to_num(attention(*exact(one), scale=OTHER, mask=mask)) if mask[0].any() else None
        variant = found[f"the mask is causal{end}"]
        if wanted is not None:
            agrees(variant, wanted, one)
        else:
            assert np.array_equal(variant.attend(OTHER)[0], np.zeros(64))
    declared = call(queries=queries, keys=keys, mask=np.tri(queries, keys, dtype=bool))
    assert not [cause for cause in variants(declared, (alternatives.alignments,)) if "top left" in cause]


def _ln_n(q: Any, k: Any, v: Any) -> Any:
    seen = np.tri(TOKENS).sum(axis=1)[:, None]
    return softmax(np.where(CAUSAL, OTHER * np.log(seen) * products(q, k), -np.inf)) @ v


@pytest.mark.parametrize(
    ("declared", "cause", "wanted"),
    [
        (
            {"mask": MASK},
            "the mask is applied after the softmax, and the weights are not normalised again",
            lambda q, k, v: (weights(q, k, scale=OTHER) * MASK) @ v,
        ),
        (
            {"softcap": 0.7},
            "the soft-cap is applied before the scale",
            lambda q, k, v: softmax(OTHER * 0.7 * np.tanh(products(q, k) / 0.7)) @ v,
        ),
        (
            {"softcap": 0.7, "bias": BIAS},
            "the soft-cap is applied after bias and mask, so that hidden keys get weight",
            lambda q, k, v: softmax(0.7 * np.tanh((OTHER * products(q, k) + BIAS) / 0.7)) @ v,
        ),
        (
            {},
            "the scale is applied after the softmax",
            lambda q, k, v: OTHER * attention(q, k, v, scale=1.0),
        ),
        ({}, "the output is multiplied by a factor", lambda q, k, v: OTHER * attention(q, k, v)),
        (
            {"mask": MASK},
            "there is no softmax",
            lambda q, k, v: np.where(MASK, OTHER * products(q, k), 0) @ v,
        ),
        (
            {"mask": MASK},
            "the softmax is applied twice",
            lambda q, k, v: softmax(np.where(MASK, weights(q, k, scale=OTHER, mask=MASK), -np.inf)) @ v,
        ),
        (
            {"mask": MASK},
            "a sigmoid is applied in place of the softmax",
            lambda q, k, v: (MASK / (1 + np.exp(-OTHER * products(q, k)))) @ v,
        ),
        (
            {"causal": True},
            "the scale is multiplied by ln n, the number of keys that a query sees",
            _ln_n,
        ),
    ],
)
def test_what_is_computed_otherwise(declared: dict[str, Any], cause: str, wanted: Callable[..., Any]) -> None:
    """A mistake in the order of steps, or another step; two take a factor in place of a scale."""
    one = call(queries=TOKENS, keys=TOKENS, **declared)
    variant = variants(one, alternatives.KINDS)[cause]
    agrees(variant, wanted(*exact(one)), one)
    assert variant.is_factor == (
        cause in ("the scale is applied after the softmax", "the output is multiplied by a factor")
    )


def test_without_an_occasion_there_is_no_such_mistake() -> None:
    """A call without mask, bias, soft-cap and sink has none of them lost, and all that can be added."""
    found = variants(call(queries=TOKENS, keys=TOKENS), alternatives.KINDS)
    assert not [
        cause for cause in found if re.search("lost|inverted|transposed|wrong sign|not applied", cause)
    ]
    assert {f"a soft-cap of {cap:g} is applied" for cap in CAPS} <= set(found)
    alone = call(queries=TOKENS, keys=TOKENS, bias=BIAS[:, :1])
    assert not [
        cause for cause in variants(alone, alternatives.KINDS) if cause.startswith("the bias is that of")
    ]
