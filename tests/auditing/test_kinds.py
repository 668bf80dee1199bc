"""What all kinds of findings have in common: how findings are called, and which decide by themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.auditing.calls import SCALE, call
from tests.auditing.records import good
from verify.auditing.block import Block
from verify.auditing.findings import kinds
from verify.auditing.kinds import Single, Subject
from verify.auditing.recording import Layer
from verify.auditing.statistical import Statistical

if TYPE_CHECKING:
    from verify.auditing.kinds import Kind

LAYER = good(1, 1).layers[0]
SUBJECT = Subject(Layer("attention", ()), 0, 8, 8, 64, LAYER.intention, 1e-6)


@given(st.integers(0, 9999), st.from_regex(r"[a-z]{1,5}(-[a-z0-9]{1,3}){0,2}", fullmatch=True))
def test_a_finding_is_called_by_its_name_and_head(head: int, name: str) -> None:
    """The record gives the name back, whatever numbers are in it."""
    called = replace(SUBJECT, head=head).id_of(name)
    finding = LAYER.finding("entropy-head-0").model_copy(update={"id": called, "head": head})
    assert finding.name == name


def test_a_single_kind_has_one_finding_of_its_own_name() -> None:
    """It judges by a rule of its own; its interval takes a place only where it has one."""
    one = Single("overflow")
    assert (one.names, one.has_rule, one.places) == (("overflow",), True, 0)
    assert Single("scale-implied", places=1).places == 1


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_every_kind_keeps_to_the_contract(kind: Kind) -> None:
    """Of a sequence in which no key is seen it makes a finding a name at most, and estimates no statistic."""
    blind = replace(call(queries=9, keys=9), value=None, output=None, mask=np.zeros((1, 1), bool))
    found = list(kind.find([kind.look(Block(blind, 0, 0, SCALE))], SUBJECT))
    assert {one.name for one in found} <= set(kind.names)
    assert len({one.id for one in found}) == len(found)
    assert {one.kind for one in found} <= {kind.name}
    assert kind.places in (0, len(kind.names))
    if isinstance(kind, Statistical) and kind.name != "largest-score":
        assert [one.estimate for one in found] == [None] * len(kind.names)
        assert not [one for one in found if one.decides]
