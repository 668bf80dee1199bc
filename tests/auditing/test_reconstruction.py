"""What explains an output: the mistake that was made, none where there is none, and all that fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import SCALE, arrays, attention, call
from verify.auditing import alternatives, rearrangements
from verify.auditing.alternatives import Place
from verify.auditing.heads import head_of
from verify.auditing.reconstruction import coarser_precision, explanations
from verify.auditing.recording import Call

STARTS = (SCALE, 1.0)


def _place(one: Call, number: int = 1, rows: int = 8) -> Place:
    return Place(one, 0, number, head_of(one, 0, number, rows), SCALE)


def _full() -> Call:
    """Return a correct call that gives occasion for every alternative."""
    rng = np.random.default_rng(8)
    mask = rng.random((2, 1, 24, 24)) < 0.7
    mask[..., :3] = True
    bias = rng.standard_normal((1, 4, 24, 24))
    return call(mask=mask, bias=bias, softcap=2.0, sink=np.ones(4), key_heads=2, causal=True)


@pytest.mark.parametrize("kind", [*alternatives.KINDS, *rearrangements.KINDS], ids=lambda kind: kind.__name__)
def test_no_alternative_is_the_declared_attention(kind: Any) -> None:
    """Each variant of a call that has everything differs from the call's own output, at its own scale."""
    place = _place(_full())
    variants = list(kind(place))
    assert variants
    for variant in variants:
        output = variant.attend(SCALE)
        assert output.shape == place.head.output.shape
        assert np.linalg.norm(output - place.head.output) > 1e-3 * place.head.size, variant.cause
        assert variant.fix


def test_alternatives_have_different_names() -> None:
    """A cause that is named says which alternative it was."""
    place = _place(_full())
    causes = [one.cause for kind in (*alternatives.KINDS, *rearrangements.KINDS) for one in kind(place)]
    assert len(causes) == len(set(causes)) > 40


def test_correct_attention_has_no_other_explanation() -> None:
    """A correct call also has the output that a factor of 1 gives, which is no better and not named."""
    assert explanations(_place(_full()), STARTS) == ()


def test_what_fits_some_rows_only_is_not_named() -> None:
    """Of 16 rows the second, which is not among the eight that are screened, is wrong: no cause fits it."""
    one = call()
    place = _place(one, rows=16)
    output = np.array(one.output)
    output[:, :, place.head.places[1]] *= -7
    spoiled = _place(replace(one, output=output), rows=16)
    assert np.array_equal(spoiled.head.thinned(8).output, place.head.thinned(8).output)
    assert explanations(spoiled, STARTS) == ()


def test_noise_has_no_explanation() -> None:
    """An output of random numbers is explained by nothing, not even with a scale of its own."""
    one = call()
    noise = np.random.default_rng(1).standard_normal(one.query.shape).astype(np.float32)
    assert explanations(_place(replace(one, output=noise)), STARTS) == ()


def test_explanation_with_an_expected_scale_goes_first() -> None:
    """A lost bias needs no number of its own; what does is not named beside it."""
    bias = np.random.default_rng(2).standard_normal((1, 4, 24, 24))
    (found,) = explanations(_place(replace(call(), bias=bias)), STARTS)
    assert found.cause == "the bias is lost"
    assert found.scale == pytest.approx(SCALE, rel=1e-4)


def test_two_mistakes_at_once_are_found_with_the_scale() -> None:
    """A lost mask and a wrong scale: the mask is named, with the scale that fits."""
    one = call(applied=0.3)
    mask = np.tri(24) > 0
    (found, *_) = explanations(_place(replace(one, mask=mask)), STARTS)
    assert found.cause == "the mask is not applied"
    assert found.scale == pytest.approx(0.3, rel=1e-4)


def test_scale_after_the_softmax_is_told_from_any_other_factor() -> None:
    """The intended scale as a factor of unscaled attention is named so, a factor of 0.9 as what it is."""
    one = call(deviation=0.1)
    exact = [np.array(array, dtype=np.float64) for array in (one.query, one.key, one.value)]
    unscaled = attention(*exact, scale=1.0).astype(np.float32)
    (found,) = explanations(_place(replace(one, output=np.float32(SCALE) * unscaled)), STARTS)
    assert found.cause == "the scale is applied after the softmax"
    (found,) = explanations(_place(replace(one, output=np.float32(0.9) * np.array(one.output))), STARTS)
    assert found.cause == "the output is multiplied by a factor"


def test_coarser_arithmetic_is_recognised() -> None:
    """Inputs that were cut to TF32's digits give a residual that single precision does not explain."""
    one = call()
    cut = [_tf32(array) for array in (one.query, one.key, one.value)]
    head = head_of(replace(one, output=attention(*cut).astype(np.float32)), 0, 0, 16)
    assert coarser_precision(head, SCALE) == "11 binary digits (TF32 or float16)"
    assert coarser_precision(head, 2 * SCALE) == ""


def _tf32(array: Any) -> Any:
    """Return single precision with 11 binary digits, rounded to nearest."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


@pytest.mark.parametrize(("axis", "over"), [(0, "sequences"), (1, "heads"), (2, "queries")])
def test_softmax_over_another_axis_is_named_in_single_precision(axis: int, over: str) -> None:
    """Its weights add up to more than 1 over many keys, and so do their roundings."""
    q, k, v = (array.astype(np.float32) for array in arrays(3, queries=128, keys=128))
    scores = np.float32(SCALE) * (q @ np.swapaxes(k, -1, -2))
    raised = np.exp(scores - scores.max(axis=axis, keepdims=True))
    output = (raised / raised.sum(axis=axis, keepdims=True)) @ v
    assert output.dtype == np.float32
    for number in (0, 3):
        causes = [one.cause for one in explanations(_place(Call(q, k, v, output), number, rows=16), STARTS)]
        assert causes == [f"the softmax is over the {over}, not the keys"]


@pytest.mark.parametrize("declared", [{}, {"causal": True}, {"key_heads": 2}], ids=str)
def test_arrays_with_heads_after_tokens_are_recognised(declared: dict[str, Any]) -> None:
    """All arrays as [sequence, token, head, d]: that is named, and nothing else tried."""
    one = call(sequences=2, queries=32, keys=32, **declared)
    swapped = replace(
        one,
        query=np.swapaxes(np.asarray(one.query), 1, 2),
        key=np.swapaxes(np.asarray(one.key), 1, 2),
        value=np.swapaxes(np.asarray(one.value), 1, 2),
        output=np.swapaxes(np.asarray(one.output), 1, 2),
    )
    (found,) = explanations(_place(swapped, number=5, rows=16), STARTS)
    assert found.cause == "the arrays have the axes [sequence, token, head, d]"
    assert found.scale == pytest.approx(SCALE, rel=1e-4)
    assert explanations(_place(one, number=1, rows=16), STARTS) == ()
