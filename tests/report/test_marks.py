"""The drawn signs of the verdicts: each has its own outline, and a drawing of its own."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from verify.evidence import Outcome, Proof, Verdict
from verify.evidence.audits import Judgement
from verify.evidence.words import badge
from verify.report.marks import MARKS, drawings


def test_every_badge_has_a_mark_and_every_mark_a_badge() -> None:
    """None is missing and none is idle."""
    used = {badge(one).mark for kind in (Verdict, Proof, Outcome, Judgement) for one in kind}
    assert used == set(MARKS)


def test_verdicts_of_one_kind_differ_in_more_than_colour() -> None:
    """No two have one drawing; nothing in a drawing has a colour of its own."""
    for kind in (Verdict, Proof, Outcome, Judgement):
        drawings = [MARKS[badge(one).mark] for one in kind]
        assert len(set(drawings)) == len(drawings)
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', "".join(MARKS.values()))) <= {"currentColor"}


def test_marks_stay_in_their_square() -> None:
    """Absolute places lie in the square of 16 units, half a stroke from its edges."""
    for drawing in MARKS.values():
        for x, y in re.findall(r"[ML](\d+(?:\.\d+)?)[ ,](\d+(?:\.\d+)?)", drawing):
            assert 0.75 <= float(x) <= 15.25
            assert 0.75 <= float(y) <= 15.25


def test_drawings_are_well_formed_and_had_by_their_names() -> None:
    """One for each mark, with its paths, in black to be cut out."""
    found = drawings()
    assert list(found) == list(MARKS)
    for name, drawing in found.items():
        (group,) = root = ET.fromstring(drawing)  # noqa: S314 - our own
        assert (root.get("viewBox"), group.get("fill"), group.get("stroke")) == ("0 0 16 16", "none", "black")
        assert len(group) == MARKS[name].count("<path")
        assert "currentColor" not in drawing
