"""What is wrong in an audit, one line for each cause."""

from __future__ import annotations

from tests.auditing.records import bad, good
from tests.report.audits.shown import seen
from tests.report.builders import spaced
from verify.evidence.audits import Judgement
from verify.report.audits.lines import lines


def test_one_cause_is_one_line() -> None:
    """Layers, heads and kinds that share it are named together, with the fix."""
    first, second = seen(bad()).wrong.lines
    assert first.where == "decoder.layers.0–2.self_attn, all 4 heads"
    assert spaced(first.what) == (
        "Every score is 2.83 times too small "
        "(applied scale over the intended one 0.3536; implied scale over the intended one 0.3536)."
    )
    assert first.fix == r"divide by $\sqrt{64}$, not by $\sqrt{512}$."
    assert first.link == "decoder-layers-0-self-attn.scale-applied"
    assert (second.where, second.fix) == ("decoder.layers.3.self_attn, head 1", "add the mask after scaling.")
    assert spaced(second.what) == "Distance from the rebuilt output 1.7."


def test_undecided_lines_say_what_it_would_take() -> None:
    """And lines of other judgements say nothing of it."""
    view = seen(bad())
    by_place = {one.where: one for one in view.undecided.lines}
    assert by_place["all 4 layers, head 0"].needed == "It would take about 210 sequences; there are 48."
    assert by_place["decoder.layers.3.self_attn, all 4 heads"].needed == ""
    assert [one.badge.word for one in view.warned.lines] == ["warned", "warned"]
    assert not seen(good()).wrong.lines + seen(good()).undecided.lines + seen(good()).warned.lines


def test_lines_are_bounded() -> None:
    """A thousand different causes give as many lines as a page has room for, and the number of the rest."""
    audit = bad(2, 2)
    layer = audit.layers[0]
    wrong = layer.findings[0]
    found = tuple(
        wrong.model_copy(update={"id": f"scale-{number}", "cause": f"cause {number}"})
        for number in range(1000)
    )
    many = audit.model_copy(update={"layers": (layer.model_copy(update={"findings": found}),)})
    view = lines(many, Judgement.REFUTED)
    assert (len(view.lines), view.more) == (24, 976)


def test_a_reason_stands_before_its_numbers_where_all_give_it() -> None:
    """Else the numbers stand alone; a band is named where all are held against the same."""
    layer = bad(1, 2).layers[0]
    one, other = (
        layer.finding(f"entropy-head-{head}").model_copy(
            update={"judgement": Judgement.WARNED, "decides": True, "reason": reason, "band": (0.25, 1.0)}
        )
        for head, reason in enumerate(("too low", "too high"))
    )
    same = other.model_copy(update={"reason": "too low"})
    for pair, start in (((one, same), "Too low ("), ((one, other), "Entropy over")):
        audit = bad(1, 2).model_copy(update={"layers": (layer.model_copy(update={"findings": pair}),)})
        (line,) = lines(audit, Judgement.WARNED).lines
        assert line.what.startswith(start)
        assert "held against 0.25 to 1" in line.what
        assert line.badge.word == "warned"
        assert line.needed == ""


def test_what_could_not_be_estimated_has_no_number() -> None:
    """The quantity alone is named."""
    layer = bad(1, 1).layers[0]
    nothing = layer.findings[0].model_copy(
        update={"estimate": None, "interval": (None, None), "judgement": Judgement.UNDECIDED, "reason": ""}
    )
    audit = bad(1, 1).model_copy(update={"layers": (layer.model_copy(update={"findings": (nothing,)}),)})
    (line,) = lines(audit, Judgement.UNDECIDED).lines
    assert line.what == "Applied scale over the intended one."
