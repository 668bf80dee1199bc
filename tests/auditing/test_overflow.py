"""How near products come to the end of a dtype's range, and what is no number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.auditing.calls import arrays
from tests.auditing.planted import exact_findings
from verify.auditing.block import Block
from verify.auditing.overflow import LARGEST, margin
from verify.auditing.recording import Call, Intended, Layer

if TYPE_CHECKING:
    from verify.evidence.audits import Finding


def _finding(one: Call) -> Finding:
    return exact_findings(Layer("attention", (one,), Intended("1/sqrt(d)", "given")), head=0)["overflow"]


def _half(deviation: float, *, output: Any = "finite") -> Call:
    q, k, v = (one.astype(np.float16) for one in arrays(deviation=deviation))
    return Call(q, k, v, None if output is None else np.zeros_like(q))


@pytest.mark.parametrize("deviation", [1.0, 1500.0, 1e4])
def test_share_is_that_of_the_largest_product(deviation: float) -> None:
    """Near the limit the share is the largest of all products; elsewhere it lies below the bound."""
    one = _half(deviation)
    found = margin(Block(one, 1, 2, 1 / 8))
    query, key = (array[1, 2].astype(np.float64) for array in (one.query, one.key))
    largest = np.abs(query @ key.T).max() / LARGEST["float16"]
    assert found.share <= largest * (1 + 1e-12)
    assert largest <= found.bound * (1 + 1e-12)
    if found.bound > 0.25:
        assert found.share == found.bound == pytest.approx(largest)
