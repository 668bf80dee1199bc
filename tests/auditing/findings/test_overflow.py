"""How near products come to the end of a dtype's range: what the finding says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import arrays, call
from tests.auditing.planted import exact_findings
from verify.auditing.recording import Call, Intended, Layer
from verify.evidence.audits import Finding, Judgement


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


def test_the_same_products_in_single_precision_are_far_from_its_limit() -> None:
    """What overflows float16 does not come near float32's largest number."""
    found = _finding(call(deviation=1e4))
    assert found.judgement is Judgement.CONFIRMED
    assert found.estimate is not None
    assert 0 < found.estimate < 1e-30


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
