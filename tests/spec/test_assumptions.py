"""Assumptions: those that claims share, and a claim's own."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from verify.spec.claim import CENTRED, INDEPENDENT, assume


def test_a_claim_names_its_own_after_those_it_shares() -> None:
    """In their order; an id has hyphens where its keyword has underscores."""
    first, second, own, last = assume(
        INDEPENDENT, CENTRED, one_head="There is one head.", signs="All are ±1."
    )
    assert (first, second) == (INDEPENDENT, CENTRED)
    assert (own.id, own.text) == ("one-head", "There is one head.")
    assert last.id == "signs"


def test_an_id_is_a_slug() -> None:
    """As everywhere else."""
    with pytest.raises(ValidationError, match="id"):
        assume(Signs="All are ±1.")
