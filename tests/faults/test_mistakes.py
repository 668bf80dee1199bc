"""Honest mistakes are caught by one of four nets, each tried alone, and the nearest true claim passes."""

from functools import cache

import pytest

from tests.faults.mistakes import NETS, Mistake, main, mistakes

ALL = mistakes()
SAMPLE = {
    "0 < d - 1, also in one dimension",
    "∛r³ = r",
    "Σj = n², right for n = 1",
    "means are forgotten",
    "another chain than the one that says it",
    "-1/r rises across its pole",
    "the scale is forgotten",
    "a control that is right",
    "two checks of one id",
}
"""Quickly tried, of each net some."""


@cache
def caught_by(mistake: Mistake) -> dict[str, str]:
    """Return what each net says that catches a mistake."""
    return mistake.nets()


@pytest.mark.parametrize(
    "mistake",
    [each if each.name in SAMPLE else pytest.param(each, marks=pytest.mark.slow) for each in ALL],
    ids=lambda each: each.name,
)
def test_a_mistake_is_caught_and_its_neighbour_passes(mistake: Mistake) -> None:
    """A few of them; all among the longer studies. What no net catches is said to be so, with the reason.

    An author reads what is wrong in a line, and no dump of it.
    """
    nets = caught_by(mistake)
    assert bool(nets) != bool(mistake.uncaught), nets
    assert all(text.strip() and "\n" not in text for text in nets.values())
    assert mistake.problem() == ""


@pytest.mark.parametrize("net", NETS)
def test_each_net_catches_what_the_others_let_pass(net: str) -> None:
    """No net is there for nothing."""
    alone = {
        "check": "another chain than the one that says it",
        "second net": "∛r³ = r",
        "simulation": "the scale is forgotten",
        "refusal": "two checks of one id",
    }
    (mistake,) = (each for each in ALL if each.name == alone[net])
    assert set(caught_by(mistake)) == {net}


def test_the_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """With what is caught by which net, and counts at the end."""
    assert main(["--kind", "corner"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("corner: 0 < 1 - r up to r = 1: check, second net")
    assert lines[-1].endswith("true neighbours pass")
