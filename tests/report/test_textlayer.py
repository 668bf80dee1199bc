"""Text that is not seen: as wide as it should be, and read as what it says."""

import re

import pytest

from verify.report.textlayer import unseen


@pytest.mark.parametrize("text", ["d_k", "Var(q·k) = d_k", "‖J‖₂ ≤ ½"])
def test_says_the_text_twice(text: str) -> None:
    """To programs that know what an actual text is, and to those that read characters."""
    actual, characters = re.findall("<([0-9A-F]+)>", unseen(text, 1000, 900))
    assert bytes.fromhex(actual).decode("utf-16") == text
    assert bytes.fromhex(characters).decode("utf-16-be") == text


@pytest.mark.parametrize("width", [100.0, 5000.0])
def test_is_as_wide_as_asked_for(width: float) -> None:
    """Its characters, half as wide as high, are stretched to the width; nothing of them is painted."""
    drawn = unseen("abcd", width, 900)
    stretch = re.search(r"900 Tf ([\d.]+) Tz", drawn)
    assert stretch
    assert 4 * 450 * float(stretch[1]) / 100 == pytest.approx(width, rel=1e-3)
    assert " 3 Tr " in drawn
    assert drawn.count("BT") == drawn.count("ET") == drawn.count("BDC") == drawn.count("EMC") == 1
