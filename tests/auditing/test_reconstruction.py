"""Wrong attentions by name: each is what a program with that mistake gives, and explains its output."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import SCALE, arrays, attention, call, of_calls
from verify.auditing import alternatives
from verify.auditing.alternatives import CAPS, Place
from verify.auditing.blocks import Block, head_of
from verify.auditing.reconstruction import coarser_precision, examine, explanations, implied_unlike_declared
from verify.auditing.recording import Call
from verify.evidence.audits import Judgement

TOKENS = 12


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


@pytest.mark.parametrize("kind", alternatives.KINDS, ids=lambda kind: kind.__name__)
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
    causes = [one.cause for kind in alternatives.KINDS for one in kind(place)]
    assert len(causes) == len(set(causes)) > 40


def _causes(number: int = 1, **options: Any) -> set[str]:
    """Return the causes that are tried for a head of a call of 12 tokens, or of what is given."""
    one = call(**{"queries": TOKENS, "keys": TOKENS, **options})
    place = Place(one, 0, number, head_of(one, 0, number, TOKENS), SCALE)
    return {variant.cause for kind in alternatives.KINDS for variant in kind(place)}


def test_without_an_occasion_there_is_no_such_mistake() -> None:
    """A call without mask, bias, soft-cap and sink has none of them lost; one head is not another's."""
    found = _causes()
    lost = "lost|inverted|mask is transposed|wrong sign|not applied"
    assert not [cause for cause in found if re.search(lost, cause)]
    assert {f"a soft-cap of {cap:g} is applied" for cap in CAPS} <= found
    shared = _causes(bias=np.random.default_rng(5).standard_normal((1, 1, TOKENS, TOKENS)))
    assert not [cause for cause in shared if cause.startswith("the bias is that of")]
    alone = _causes(number=0, sequences=1, heads=1)
    assert not [cause for cause in alone if "head" in cause or "sequences" in cause]
    assert "keys are used as values" in alone
    assert "queries and keys are exchanged" not in _causes(queries=TOKENS - 2)


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


def test_every_sequence_is_looked_at_and_others_of_its_rows() -> None:
    """Of the first and those whose place is a power of two 16 rows, of the others four."""
    one = call(sequences=1, heads=1, queries=64)
    looks = [examine(Block(one, 0, 0, SCALE, place=place)) for place in range(10)]
    rows = [look.rows for look in looks if look is not None]
    assert rows == [16 if place in (0, 1, 2, 4, 8) else 4 for place in range(10)]
    assert {look.queries for look in looks if look is not None} == {64}


def test_wrong_attention_is_searched_for_in_two_sequences_of_a_head() -> None:
    """The search takes long; sequences after two that nothing explains are not looked at."""
    one = call(sequences=1)
    wrong = replace(one, output=np.array(one.output)[:, ::-1])
    unexplained: list[int] = []
    blocks = [
        Block(each, 0, 0, SCALE, place=place, unexplained=unexplained)
        for place, each in enumerate([one, one, one, wrong, one, wrong, one, wrong])
    ]
    looks = [examine(block) for block in blocks]
    assert [look is not None for look in looks] == [True] * 6 + [False] * 2
    assert unexplained == [3, 5]
    assert [bool(look.explanations) for look in looks[3:6] if look] == [True, False, True]


def test_a_head_without_scale_in_a_few_sequences_is_refuted() -> None:
    """Sequences 3, 5, 6 and 7 of eight have no scale; how many rows and sequences were looked at is said."""
    calls = [
        call(seed=place, sequences=1, queries=64, applied=1.0 if place in (3, 5, 6, 7) else SCALE)
        for place in range(8)
    ]
    found = of_calls(*calls)
    assert found["scale-implied"].judgement is Judgement.REFUTED
    assert "no scale is applied" in found["scale-implied"].cause
    assert found["scale-implied"].reason == (
        "it is so in 4 of 8 sequences; looked at 80 of 512 rows, drawn, of 8 sequences"
    )
    assert found["reconstruction"].judgement is Judgement.CONFIRMED
    assert found["reconstruction"].reason == "looked at 80 of 512 rows, drawn, of 8 sequences"


def test_rows_that_are_garbage_are_no_factor_of_the_output() -> None:
    """Six rows of 64 are wrong: the output is refuted, and no cause is named that most rows fit."""
    one = call(sequences=4, queries=64)
    output = np.array(one.output)
    output[:, :, 1:4], output[:, :, 33:36] = 0, -7 * output[:, :, 33:36]
    found = of_calls(replace(one, output=output))["reconstruction"]
    assert (found.judgement, found.cause) == (Judgement.REFUTED, "")
    assert "no known mistake gives it" in found.reason


@pytest.mark.parametrize("missing", ["value", "output"])
def test_calls_without_output_or_values_are_not_looked_at(missing: str) -> None:
    """Queries and keys alone say nothing of the scale that was applied."""
    one = replace(call(), value=None) if missing == "value" else replace(call(), output=None)
    assert examine(Block(one, 0, 0, SCALE)) is None


def test_more_rows_are_taken_where_few_do_not_decide() -> None:
    """In half precision with nearly equal scores more rows are read, up to all there are."""
    plain = examine(Block(call(queries=300, keys=40), 0, 0, SCALE))
    hard = examine(Block(call(np.float16, queries=300, keys=40, deviation=0.0005), 0, 0, SCALE))
    assert plain is not None
    assert hard is not None
    assert plain.implied is not None
    assert hard.implied is not None
    assert (plain.implied.rows, hard.implied.rows) == (16, 256)


def test_one_key_and_broken_numbers_leave_nothing_to_imply() -> None:
    """A single key says nothing of a scale, and NaN is said to be NaN."""
    single = examine(Block(call(keys=1), 0, 0, SCALE))
    assert single is not None
    assert (single.implied, single.broken) == (None, False)
    one = call()
    output = np.array(one.output)
    output[0, 0] = np.nan
    broken = examine(Block(replace(one, output=output), 0, 0, SCALE))
    assert broken is not None
    assert (broken.implied, broken.broken) == (None, True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"applied": 1.0}, 1.0),
        ({"applied": -SCALE}, -SCALE),
        ({}, None),
        ({"applied": 1.005 * SCALE}, None),
        ({"dtype": np.float16, "deviation": 0.00005}, 0.7),
        ({"keys": 1}, 0.7),
    ],
)
def test_scale_is_the_implied_one_only_where_the_output_tells(
    options: dict[str, Any], expected: float | None
) -> None:
    """Within the tolerance it is the declared one; where nothing tells, what was found before stands."""
    found = implied_unlike_declared(Block(call(**options), 0, 0, SCALE), 0.7)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-3))


def test_output_that_no_scale_gives_leaves_what_was_found_before() -> None:
    """Noise for an output implies nothing."""
    one = call()
    noise = replace(one, output=np.random.default_rng(1).standard_normal(one.query.shape))
    assert implied_unlike_declared(Block(noise, 0, 0, SCALE), 0.7) == 0.7
