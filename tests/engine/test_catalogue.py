"""The catalogue: it finds every claim, and names every file that it must refuse."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from verify.claims.chapters import CHAPTERS
from verify.engine.catalogue import catalogue, catalogue_with, choose
from verify.errors import ClaimError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]


def test_an_id_of_the_catalogue_is_taken(claim_file: Write) -> None:
    """An id belongs to one claim, and the other is named."""
    path = claim_file(name="score_mean.py")
    with pytest.raises(
        ClaimError, match=r"/score_mean\.py: claim id 'score-mean' is taken by verify\.claims\.raw_scores\."
    ):
        catalogue_with([path])


@pytest.mark.slow
def test_a_duplicate_id_names_both_files(claim_file: Write) -> None:
    """Neither can two files share one; for claims made in this process see ``tests/test_api.py``."""
    one, two = claim_file(), claim_file(name="other/doubled_keys.py")
    with pytest.raises(
        ClaimError, match=r"other/doubled_keys\.py: claim id 'doubled-keys' is taken by .*/doubled_keys\.py; "
    ):
        catalogue_with([one, two])


@pytest.mark.slow
def test_claims_of_the_user_come_last(claim_file: Write) -> None:
    """Two files may even share their name, and one may hold a dataclass, which needs its own module."""
    one = claim_file(
        (
            '"""Var(q·2k) = 4 d_k."""\n',
            "from __future__ import annotations\nfrom dataclasses import dataclass\n",
        ),
        ("LABEL = ", "@dataclass\nclass Mine:\n    size: int\n\nLABEL = "),
    )
    two = claim_file(("Claim(\n", 'Claim(\n    id="doubled-again",\n'), name="other/doubled_keys.py")
    found = catalogue_with([one, two])
    assert list(found)[-2:] == ["doubled-again", "doubled-keys"]
    assert {found[name].chapter for name in ("doubled-again", "doubled-keys")} == {"user"}


def test_the_order_is_that_of_the_report() -> None:
    """Chapter by chapter, and in each as the chapter lists its claims, every one of them once."""
    listed = [name for chapter in CHAPTERS.values() for name in chapter.claims]
    assert list(catalogue()) == listed
    assert len(set(listed)) == len(listed)
    for name, claim in catalogue().items():
        assert name in CHAPTERS[claim.chapter].claims


def test_choosing_keeps_the_order_and_forgets_repetitions() -> None:
    """What is named twice is run once; nothing named means all."""
    everything = catalogue()
    assert list(choose(everything, ["over-scaling", "score-mean", "over-scaling"])) == [
        "score-mean",
        "over-scaling",
    ]
    assert list(choose(everything, [])) == list(everything)


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [("score-variances", "did you mean 'score-variance'?"), ("sqrt", "did you mean 'sqrt-scaling'?"),
     ("zzz", "`sdpa-verify list` shows them all")],
)  # fmt: skip
def test_an_unknown_claim_is_answered_with_the_nearest(wanted: str, hint: str) -> None:
    """A typing error costs one look, not a search."""
    with pytest.raises(ClaimError, match=re.escape(f"no claim {wanted!r}; {hint}")):
        choose(catalogue(), ["score-mean", wanted])
