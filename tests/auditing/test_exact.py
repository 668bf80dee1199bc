"""Findings: how they are judged, and what their causes say."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import verify
from tests.auditing.calls import SCALE, arrays, attention, call, of_calls
from tests.auditing.planted import exact_findings
from verify.auditing.recording import Call, Intended, Layer
from verify.evidence.audits import Finding, Judgement


def test_sequences_in_which_nothing_is_seen_have_no_numbers() -> None:
    """Where a mask hides all keys, all is undecided or reported, and no number is called NaN or infinite."""
    one = call()
    hidden = replace(one, mask=np.zeros((1, 1, 1, 1), bool), output=np.zeros_like(one.output))
    found = of_calls(hidden)
    assert {one.judgement for one in found.values() if one.estimate is None} == {Judgement.UNDECIDED}
    assert not [one.reason for one in found.values() if "infinit" in one.reason]


@pytest.mark.parametrize(
    ("given", "judgement"),
    [
        (SCALE, Judgement.CONFIRMED),
        (float(np.float32(SCALE)), Judgement.CONFIRMED),
        (SCALE * (1 + 1e-3), Judgement.WARNED),
        (SCALE * 1.01, Judgement.REFUTED),
        (1.0, Judgement.REFUTED),
    ],
)
def test_factor_given_must_be_the_intended_one_up_to_rounding(given: float, judgement: Judgement) -> None:
    """Single precision is no difference, bfloat16's rounding a warning, 1% wrong."""
    assert of_calls(replace(call(), scale=given))["scale-applied"].judgement is judgement


def test_the_farthest_factor_of_all_calls_counts() -> None:
    """One call among many with a scale of its own is enough."""
    found = of_calls(call(), replace(call(seed=1), scale=SCALE / 2), call(seed=2))["scale-applied"]
    assert found.estimate == 0.5
    assert found.judgement is Judgement.REFUTED


def test_a_single_key_leaves_the_scale_undecided() -> None:
    """With one key every scale gives the same output, and the finding says so."""
    found = of_calls(call(keys=1))["scale-implied"]
    assert found.judgement is Judgement.UNDECIDED
    assert "with one key every scale gives the same output" in found.reason


def test_a_scale_lost_in_rounding_has_neither_sign_nor_size() -> None:
    """Of scores that do not reach the output only a bound of the scale is known, of either sign."""
    found = of_calls(call(applied=1e-30))["scale-implied"]
    assert found.judgement is Judgement.REFUTED
    assert found.cause.startswith("the scale is at most ")
    assert "sign" not in found.fix


def test_a_scale_that_the_output_does_not_tell_has_no_number() -> None:
    """Copies of one token have no estimate; tokens that hardly differ have no share of uncertainty."""
    rng = np.random.default_rng(3)
    for apart in (0.0, 1e-6):
        made = rng.standard_normal((3, 1, 1, 1, 64)) + apart * rng.standard_normal((3, 1, 1, 32, 64))
        q, k, v = made.astype(np.float32)
        found = of_calls(Call(q, k, v, attention(q, k, v)))["scale-implied"]
        assert found.judgement is Judgement.UNDECIDED
        assert "%" not in found.reason
        if apart:
            assert "what it changes is lost in rounding" in found.reason
        else:
            assert "does not depend on the scale" in found.reason
            assert found.estimate is None


def test_a_causal_program_that_is_not_declared_so_is_told_how_to_declare_it() -> None:
    """The program may be right and what was said of it wrong."""
    one = replace(call(causal=True), causal=False)
    found = of_calls(one)["reconstruction"]
    assert found.cause == "the mask is causal"
    assert found.fix.endswith("or declare this mask (causal=True)")


def test_zeros_where_attention_has_none_are_refuted() -> None:
    """An output that was never written is wrong whatever the scale; one of zeros from zeros tells nothing."""
    one = call()
    found = of_calls(replace(one, output=np.zeros_like(one.output)))
    assert found["reconstruction"].judgement is Judgement.REFUTED
    assert "the output is 0 throughout" in found["reconstruction"].cause
    assert (
        found["scale-implied"].reason == "no scale reproduces the output; see the finding on reconstruction"
    )
    nothing = of_calls(replace(one, value=np.zeros_like(one.value), output=np.zeros_like(one.output)))
    for kind in ("scale-implied", "reconstruction"):
        assert nothing[kind].judgement is Judgement.UNDECIDED
        assert "it is 0 as it should be" in nothing[kind].reason


def _finding(one: Call) -> Finding:
    return exact_findings(Layer("attention", (one,), Intended("1/sqrt(d)", "given")), head=0)["overflow"]


def _half(deviation: float, *, output: Any = "finite") -> Call:
    q, k, v = (one.astype(np.float16) for one in arrays(deviation=deviation))
    return Call(q, k, v, None if output is None else np.zeros_like(q))


@pytest.mark.parametrize(
    ("deviation", "output", "judgement"),
    [
        (1.0, "finite", Judgement.CONFIRMED),
        (1000.0, "finite", Judgement.WARNED),
        (1e4, "finite", Judgement.WARNED),
        (1e4, None, Judgement.UNDECIDED),
    ],
)
def test_large_products_in_half_precision(deviation: float, output: Any, judgement: Judgement) -> None:
    """Warned beyond a quarter; beyond the range undecided, unless a finite output shows wider scores."""
    found = _finding(_half(deviation, output=output))
    assert found.judgement is judgement
    assert bool(found.fix) == (judgement is not Judgement.CONFIRMED)


@pytest.mark.parametrize("name", ["query", "key", "value", "output"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_none_are_named_with_their_array(name: str, wrong: float) -> None:
    """NaN or an infinity anywhere is refuted, and its array is named."""
    one = call()
    spoiled = getattr(one, name).copy()
    spoiled[0, 0, 3, 1] = wrong
    given = {"query": one.query, "key": one.key, "value": one.value, "output": one.output, name: spoiled}
    found = _finding(Call(**given))
    assert found.judgement is Judgement.REFUTED
    assert {"query": "queries", "key": "keys", "value": "values", "output": "outputs"}[name] in found.cause


def test_rows_that_see_no_key_may_be_no_numbers() -> None:
    """PyTorch gives NaN for a row whose keys are all hidden; this is said, and is no overflow."""
    one = call()
    mask = np.ones((2, 1, 24, 24), dtype=bool)
    mask[:, :, 7] = False
    output = np.array(one.output)
    output[:, :, 7] = np.nan
    found = _finding(Call(one.query, one.key, one.value, output, mask=mask))
    assert found.judgement is Judgement.CONFIRMED
    assert found.reason == "2 rows of the output are no numbers, for they see no key"


@pytest.mark.parametrize("apart", [1e-6, 1e-5, 1e-4])
def test_tokens_that_are_nearly_equal_refute_no_scale(apart: float) -> None:
    """Outputs that agree to rounding share its error, and say nothing together that one does not."""
    rng = np.random.default_rng(7)
    for _ in range(4):
        shape = (1, 2, 32, 64)
        made = (rng.standard_normal((1, 2, 1, 64)) + apart * rng.standard_normal(shape) for _ in range(3))
        q, k, v = (array.astype(np.float32) for array in made)
        record = verify.audit(q, k, v=v, out=attention(q, k, v, scale=0.125), scale=0.125, workers=1)
        assert record.exit_status == 3
        assert not [one for one in record.findings if one.judgement == "refuted"]
