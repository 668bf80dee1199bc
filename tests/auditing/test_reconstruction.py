"""Wrong attentions by name: each is what a program with that mistake gives, and explains its output."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import verify
from tests.auditing.calls import SCALE, arrays, attention, call, of_calls
from tests.auditing.planted import Arithmetic
from verify.auditing.alternatives import Place
from verify.auditing.blocks import head_of
from verify.auditing.reconstruction import explanations
from verify.auditing.recording import Call, Layer, Recording
from verify.auditing.rows import look
from verify.evidence.audits import Judgement

DIGITS = {np.float32: 24, np.float16: 11, bfloat16: 8}


STARTS = (SCALE, 1.0)


def _place(one: Call, number: int = 0, rows: int = 8) -> Place:
    return Place(one, 0, number, head_of(one, 0, number, rows), SCALE)


def test_noise_has_no_explanation() -> None:
    """An output of random numbers is explained by nothing, not even with a scale of its own."""
    one = call()
    noise = np.random.default_rng(1).standard_normal(one.query.shape).astype(np.float32)
    assert explanations(_place(replace(one, output=noise)), STARTS) == ()


def test_two_mistakes_at_once_are_found_with_the_scale() -> None:
    """A lost mask and a wrong scale: the mask is named, with the scale that fits."""
    one = call(applied=0.3)
    mask = np.tri(24) > 0
    (found, *_) = explanations(_place(replace(one, mask=mask)), STARTS)
    assert found.cause == "the mask is not applied"
    assert found.scale == pytest.approx(0.3, rel=1e-4)


def test_coarser_arithmetic_is_recognised() -> None:
    """Inputs that were cut to TF32's digits give a residual that single precision does not explain."""
    one = call()
    cut = [_tf32(array) for array in (one.query, one.key, one.value)]
    found = of_calls(replace(one, output=attention(*cut).astype(np.float32)))["reconstruction"]
    assert found.judgement is Judgement.WARNED
    assert "11 binary digits (TF32 or float16)" in found.reason


def _tf32(array: Any) -> Any:
    """Return single precision with 11 binary digits, rounded to nearest."""
    bits = array.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


@pytest.mark.parametrize(("axis", "over"), [(0, "sequences"), (1, "heads"), (2, "queries")])
def test_softmax_over_another_axis_is_named_in_single_precision(axis: int, over: str) -> None:
    """Its weights add up to more than 1 over many keys, and so do their roundings."""
    q, k, v = (array.astype(np.float32) for array in arrays(3, heads=2, queries=128, keys=128))
    scores = np.float32(SCALE) * (q @ np.swapaxes(k, -1, -2))
    raised = np.exp(scores - scores.max(axis=axis, keepdims=True))
    output = (raised / raised.sum(axis=axis, keepdims=True)) @ v
    assert output.dtype == np.float32
    causes = [one.cause for one in explanations(_place(Call(q, k, v, output), 1, rows=16), STARTS)]
    assert causes == [f"the softmax is over the {over}, not the keys"]


@pytest.mark.parametrize("declared", [{}, {"causal": True}, {"heads": 4, "key_heads": 2}], ids=str)
def test_arrays_with_heads_after_tokens_are_recognised(declared: dict[str, Any]) -> None:
    """All arrays as [sequence, token, head, d]: that is named, and nothing else tried."""
    one = call(**{"sequences": 2, "heads": 2, "queries": 32, "keys": 32, **declared})
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


def test_every_row_is_compared() -> None:
    """Of every sequence and head, with those that see one key, in calls of any shape."""
    calls = [
        call(seed=place, sequences=2, queries=10 + place, keys=10 + place, causal=True) for place in range(3)
    ]
    record = verify.audit(Recording("tests", (Layer("attention", calls),)), workers=1)
    (layer,) = record.layers
    rows = 2 * (10 + 11 + 12)
    assert (layer.calls, layer.sequences, layer.rows, layer.rows_compared) == (3, 6, rows, rows)
    assert f"3 calls, 6 sequences, all {rows} rows compared; declared: " in str(record)


@pytest.mark.parametrize("row", [0, 7, 23])
@pytest.mark.parametrize("sequence", [0, 4])
def test_one_row_of_one_sequence_is_enough(row: int, sequence: int) -> None:
    """The first, which sees one key, one in the middle or the last: off it is found, and its place said."""
    one = call(sequences=5, heads=2, causal=True)
    output = np.array(one.output)
    output[sequence, 1, row] = 7.0 if row == 0 else 0.0
    record = verify.audit(Recording("tests", (Layer("attention", [replace(one, output=output)]),)), workers=1)
    assert record.exit_status == 1
    found = {finding.id: finding for finding in record.findings if finding.judgement is Judgement.REFUTED}
    assert list(found) == ["reconstruction-head-1"]
    said = found["reconstruction-head-1"].reason
    assert f"row {row} of sequence {sequence}" in said
    assert "1 of 120 rows are off, in 1 of 5 sequences" in said


def test_calls_of_one_token_are_compared_with_the_keys_they_saw() -> None:
    """Decoding goes on with sequences seen before: a fault there is found."""
    first = call(sequences=2, causal=True)
    later = [call(seed=at, sequences=2, queries=1, keys=24 + at) for at in range(1, 5)]
    right = verify.audit(Recording("tests", (Layer("attention", [first, *later]),)), workers=1)
    assert right.exit_status == 0
    wrong = replace(later[2], output=np.roll(np.array(later[2].output), 1, axis=-1))
    record = verify.audit(Recording("tests", (Layer("attention", [first, *later[:2], wrong]),)), workers=1)
    refuted = {one.kind for one in record.findings if one.judgement is Judgement.REFUTED}
    assert record.exit_status == 1
    assert refuted == {"reconstruction"}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, bfloat16])
@pytest.mark.parametrize("deviation", [0.02, 1.0, 16.0, 5000.0])
def test_honest_rounding_stays_within_the_bound_of_each_row(dtype: Any, deviation: float) -> None:
    """Every intermediate result rounded, as an eager program does it; whatever the size of scores."""
    arithmetic = Arithmetic(dtype)
    for seed in range(4):
        q, k, v = (arithmetic.rounded(one) for one in arrays(seed, queries=60, keys=60, deviation=deviation))
        for applied, queries in ((SCALE, q), (1.0, arithmetic.rounded(q * SCALE))):
            out = arithmetic.attend(queries, k, v, applied)
            given = (one.astype(np.float32) for one in (q, k, v, out))
            _, found = look(Call(*given), np.arange(2), np.full(2, SCALE), float(2.0 ** -DIGITS[dtype]))
            assert found is not None
            assert found.rows.sum() == np.isfinite(out).all(axis=-1).sum() > 0
            assert found.worst.max() < 0.6


def test_a_head_without_scale_in_a_few_sequences_is_refuted() -> None:
    """Sequences 3, 5, 6 and 7 of eight have no scale; that it is so in some is said."""
    calls = [
        call(seed=place, sequences=1, queries=64, applied=1.0 if place in (3, 5, 6, 7) else SCALE)
        for place in range(8)
    ]
    found = of_calls(*calls)
    assert found["scale-implied"].judgement is Judgement.REFUTED
    assert "no scale is applied" in found["scale-implied"].cause
    assert found["scale-implied"].reason == "it is so in 4 of 8 sequences"
    assert found["reconstruction"].judgement is Judgement.CONFIRMED


def test_rows_that_are_garbage_are_no_factor_of_the_output() -> None:
    """Six rows of 64 are wrong: the output is refuted, and no cause is named that most rows fit."""
    one = call(sequences=4, queries=64)
    output = np.array(one.output)
    output[:, :, 1:4], output[:, :, 33:36] = 0, -7 * output[:, :, 33:36]
    found = of_calls(replace(one, output=output))["reconstruction"]
    assert (found.judgement, found.cause) == (Judgement.REFUTED, "")
    assert "no known mistake gives it" in found.reason


@pytest.mark.parametrize("mask", [-10.0, -5.0])
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(bfloat16, marks=pytest.mark.slow)])
def test_a_weak_mask_is_named(mask: float, dtype: Any) -> None:
    """What is left for hidden keys has one direction: it is no rounding, and no coarse arithmetic."""
    one = call(dtype, sequences=10, queries=40, keys=40, causal=True)
    q, k, v = (np.asarray(array, dtype=np.float64) for array in (one.query, one.key, one.value))
    out = attention(q, k, v, bias=np.where(np.tri(40) > 0, 0.0, mask)).astype(dtype)
    found = of_calls(replace(one, output=out))["reconstruction"]
    assert found.judgement is Judgement.REFUTED
    assert found.cause is not None
    (said,) = re.findall(r"it adds about (-[\d.]+) to the scores of hidden keys", found.cause)
    assert float(said) == pytest.approx(mask, rel=0.01)


def test_what_is_off_to_one_side_is_no_coarse_arithmetic() -> None:
    """A factor within the rounding of half precision is no noise; noise of that size is warned of."""
    one = call(sequences=8)
    found = of_calls(replace(one, output=np.float32(1.0002) * np.array(one.output)))["reconstruction"]
    assert found.judgement is Judgement.REFUTED
    wobble = 1 + 2e-4 * np.random.default_rng(1).uniform(-1, 1, one.query.shape)
    noisy = of_calls(replace(one, output=(np.array(one.output) * wobble).astype(np.float32)))[
        "reconstruction"
    ]
    assert noisy.judgement is Judgement.WARNED


def test_the_tolerance_is_that_of_the_declared_type() -> None:
    """Numbers that fit bfloat16 by chance get no more room than their type does."""
    q, k, v = (array.astype(bfloat16).astype(np.float32) for array in arrays(5, sequences=4))
    exact = attention(*(array.astype(np.float64) for array in (q, k, v)))
    rounded = exact.astype(bfloat16).astype(np.float32)
    assert of_calls(Call(q, k, v, rounded))["reconstruction"].judgement is Judgement.WARNED
    assert (
        of_calls(Call(q, k, v, rounded, dtype="bfloat16"))["reconstruction"].judgement is Judgement.CONFIRMED
    )


def test_bfloat16_tells_a_scale_by_all_rows_together() -> None:
    """A row alone cannot show 2%; hundreds do, and the interval holds it."""
    found = of_calls(call(bfloat16, sequences=8, queries=64, keys=64, applied=1.02 * SCALE))
    one = found["scale-implied"]
    assert (one.judgement, found["reconstruction"].judgement) == (Judgement.REFUTED, Judgement.CONFIRMED)
    assert (one.interval[0] or 0) < 1.02 < (one.interval[1] or 0)


@pytest.mark.parametrize("apart", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize("dtype", [np.float16, bfloat16])
def test_alike_tokens_do_not_settle_a_scale(dtype: Any, apart: float) -> None:
    """Rows that are alike share their rounding errors: no interval may exclude the scale that was applied."""
    rng = np.random.default_rng(7)
    for _ in range(4):
        made = (
            np.take(rng.standard_normal((1, 2, 2, 64)), rng.integers(0, 2, 64), axis=2)
            + apart * rng.standard_normal((1, 2, 64, 64))
            for _ in range(3)
        )
        q, k, v = (array.astype(dtype).astype(np.float32) for array in made)
        out = Arithmetic(dtype).attend(
            q.astype(np.float64), k.astype(np.float64), v.astype(np.float64), SCALE
        )
        one = Call(q, k, v, out.astype(np.float32), dtype=np.dtype(dtype).name)
        for found in verify.audit(Recording("x", (Layer("a", [one]),)), workers=1).findings:
            if found.kind in ("scale-implied", "reconstruction"):
                assert found.judgement is not Judgement.REFUTED, found.cause or found.reason
