"""What exact findings keep of a block, and which blocks they look at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.calls import SCALE, call
from verify.auditing.block import Block
from verify.auditing.exact import examine, widths_of
from verify.auditing.kinds import Subject
from verify.auditing.recording import Layer
from verify.evidence.audits import Intention


def test_sequences_are_looked_at_more_and_more_rarely() -> None:
    """Of a layer the first, and those whose place is a power of two."""
    one = call(sequences=1, heads=1)
    looked_at = [place for place in range(10) if examine(Block(one, 0, 0, SCALE, place=place)) is not None]
    assert looked_at == [0, 1, 2, 4, 8]


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
