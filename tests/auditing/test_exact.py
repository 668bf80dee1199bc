"""What exact findings keep of a block, and which blocks they look at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.calls import SCALE, call
from tests.auditing.findings.found import of_calls
from verify.auditing.block import Block
from verify.auditing.exact import examine, widths_of
from verify.auditing.kinds import Subject
from verify.auditing.recording import Layer
from verify.evidence.audits import Intention, Judgement


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


def test_widths_hold_what_the_layer_knows() -> None:
    """Model width, padded widths and a width of the values that differs are candidates."""
    layer = Layer("attention", (), width=512, padded={"padded width": 80})
    intention = Intention(expression="1/sqrt(d)", latex="c", value=SCALE, origin="default")
    widths = widths_of(Subject(layer, 0, 8, 8, 64, intention, 1e-6), 24, d_v=32)
    assert (widths.d, widths.h, widths.D, widths.n) == (64, 8, 512, 24)
    assert widths.padded == {"padded width": 80, "width of the values": 32}
