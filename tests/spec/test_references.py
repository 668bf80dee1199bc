"""The bibliography: every entry has a key of its own, and some claim cites it."""

from __future__ import annotations

import re

from tests.catalogue import CATALOGUE
from verify.evidence import Reference
from verify.spec import references

ENTRIES = {name: one for name, one in vars(references).items() if isinstance(one, Reference)}


def test_keys_are_distinct() -> None:
    """Two entries under one key could not be told apart where they are cited."""
    keys = [one.key for one in ENTRIES.values()]
    assert len(set(keys)) == len(keys) > 0


def test_a_year_in_a_key_is_that_of_the_text() -> None:
    """A key such as su2021 names the year that the entry states."""
    dated = {one.key: one.text for one in ENTRIES.values() if re.search(r"\d{4}$", one.key)}
    assert dated
    assert {key for key, text in dated.items() if key[-4:] not in text} == set()


def test_all_are_cited_and_nothing_else_is() -> None:
    """What no claim rests on or is about has no place in the bibliography, and claims write no entries."""
    cited = {one.key for claim in CATALOGUE.values() for one in claim.references}
    assert cited == {one.key for one in ENTRIES.values()}
