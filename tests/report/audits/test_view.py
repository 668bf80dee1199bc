"""What the report says of an audit: what is wrong first, grouped by cause, then all findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.auditing.records import bad, good
from tests.report.records import CLAIMS
from verify.evidence.audits import AuditRecord, Judgement
from verify.report.audits.lines import lines
from verify.report.audits.tables import figures
from verify.report.audits.view import audit_view
from verify.report.numbers import GAP, NO_BREAK

if TYPE_CHECKING:
    from verify.report.audits.views import AuditView, FoundGroup

CATALOGUE = {claim.id: claim for claim in CLAIMS}


def seen(audit: AuditRecord) -> AuditView:
    """Return the view of an audit."""
    return audit_view(audit, CATALOGUE)


def plain(text: str) -> str:
    """Return a text with plain spaces."""
    return text.replace(NO_BREAK, " ").replace(GAP, " ")


def group(view: AuditView, layer: int, quantity: str) -> FoundGroup:
    """Return the group of a layer whose quantity starts so."""
    return next(one for one in view.layers[layer].groups if one.quantity.startswith(quantity))


def test_one_cause_is_one_line() -> None:
    """Layers, heads and kinds that share it are named together, with the fix."""
    first, second = seen(bad()).wrong.lines
    assert first.where == "decoder.layers.0–2.self_attn, all 4 heads"
    assert plain(first.what) == (
        "Every score is 2.83 times too small "
        "(applied scale over the intended one 0.3536; implied scale over the intended one 0.3536)."
    )
    assert first.fix == r"divide by $\sqrt{64}$, not by $\sqrt{512}$."
    assert first.link == "decoder-layers-0-self-attn.scale-applied"
    assert (second.where, second.fix) == ("decoder.layers.3.self_attn, head 1", "add the mask after scaling.")
    assert plain(second.what) == "Distance from the rebuilt output 1.7."


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


def _with(audit: AuditRecord, *judgements: Judgement) -> AuditRecord:
    """Return an audit of one layer whose findings have these judgements, and decide where they can."""
    layer = audit.layers[0]
    found = tuple(
        layer.findings[0].model_copy(
            update={"id": f"f-{n}", "judgement": one, "decides": one is not Judgement.REPORTED}
        )
        for n, one in enumerate(judgements)
    )
    return audit.model_copy(update={"layers": (layer.model_copy(update={"findings": found}),)})


@pytest.mark.parametrize(
    ("judgements", "outcome", "tone"),
    [
        ([Judgement.CONFIRMED] * 2, "The 2 findings that decide are confirmed.", "good"),
        ([Judgement.CONFIRMED], "The 1 finding that decides is confirmed.", "good"),
        ([Judgement.CONFIRMED, Judgement.WARNED], "None of the 2 findings that decide is refuted or", "fair"),
        ([Judgement.CONFIRMED, Judgement.UNDECIDED], "Nothing is refuted, but 1 of the 2 findings", "idle"),
        ([Judgement.REFUTED, Judgement.UNDECIDED], "1 of the 2 findings that decide is refuted.", "bad"),
        ([Judgement.REPORTED], "No finding was asked to decide; all are reported.", "idle"),
    ],
)
def test_the_outcome_says_no_more_than_was_found(
    judgements: list[Judgement], outcome: str, tone: str
) -> None:
    """In one sentence, coloured as its judgement."""
    view = seen(_with(good(), *judgements))
    assert view.outcome.startswith(outcome)
    assert view.tone == tone


def test_whose_word_the_intention_is() -> None:
    """The formula, its value and who said so; per layer where they differ."""
    (one,) = seen(good()).intentions
    assert (one.value, one.where) == ("0.125", "")
    assert one.origin == "read from the model’s configuration: query_pre_attn_scalar = 64"
    audit = good()
    other = audit.layers[1].intention.model_copy(update={"origin": "default", "where": ""})
    layers = (audit.layers[0], audit.layers[1].model_copy(update={"intention": other}))
    first, second = seen(audit.model_copy(update={"layers": layers})).intentions
    assert first.where == "decoder.layers.0.self_attn"
    assert second.where == "decoder.layers.1.self_attn"
    assert second.origin == "assumed, as nobody said otherwise"


def test_a_row_has_all_of_a_finding() -> None:
    """Estimate, error and interval to the digits that mean something, and what it is held against."""
    view = seen(bad())
    rows = group(view, 0, "Variance of a row").rows
    assert [row.heads for row in rows] == ["head 0", "head 1", "head 2", "head 3"]
    assert [cell.text for cell in (rows[1].estimate, rows[1].error, rows[1].low, rows[1].high)] == [
        "1.309",
        "0.015",
        "1.226",
        "1.392",
    ]
    assert rows[1].against == "0.5 to 2"
    assert rows[0].badge.word == "undecided"
    assert rows[0].remark == "48 sequences leave too wide an interval; 7 rows left out"
    shared = group(view, 0, "Entropy")
    assert shared.note == "7 rows left out; at unit variance 0.922"
    assert {row.remark for row in shared.rows} == {""}
    assert shared.claims == ("attention-entropy",)
    score = group(view, 0, "Largest score").rows[0]
    assert (score.low.text, score.high.text) == ("18.4", "∞")


def test_a_large_audit_merges_heads_that_are_judged_alike() -> None:
    """A row for each judgement, with the range of the estimates and the hull of the intervals."""
    view = seen(bad(12, 12))
    assert view.merged
    assert sum(len(one.rows) for layer in view.layers for one in layer.groups) < 12 * 16
    undecided, confirmed = sorted(
        group(view, 0, "Variance of a row").rows, key=lambda row: row.badge.word, reverse=True
    )
    assert (undecided.heads, confirmed.heads) == ("head 0", "heads 1–11")
    found = [one for one in bad(12, 12).layers[0].findings if one.kind == "row-variance" and one.head]
    estimates = sorted(one.estimate or 0.0 for one in found)
    assert confirmed.estimate.text == f"{estimates[0]:.4g} to {estimates[-1]:.4g}"
    assert confirmed.low.text == f"{min(one.interval[0] or 0.0 for one in found):.4g}"
    assert confirmed.high.text == f"{max(one.interval[1] or 0.0 for one in found):.4g}"
    assert group(view, 0, "Implied scale").rows[0].heads == "all 12 heads"
    assert not seen(bad()).merged


def test_numbers_without_an_interval_or_an_estimate() -> None:
    """An exact one has neither error nor interval; where nothing is estimated there is no text."""
    layer = good().layers[0]
    assert figures(layer.finding("scale-applied")) == ("1", "", "", "")
    nothing = layer.finding("scale-applied").model_copy(update={"estimate": None})
    assert figures(nothing) == ("", "", "", "")
    huge = layer.finding("entropy-head-0").model_copy(
        update={"estimate": 0.0, "standard_error": None, "interval": (-1.7e308, 1.7e308)}
    )
    assert figures(huge)[0]


def test_anchors_are_found_and_claims_explained() -> None:
    """Each line and claim leads to something in the page; what the reference lacks is said to be so."""
    view = seen(bad())
    anchors = [one.anchor for layer in view.layers for one in layer.groups]
    assert len(anchors) == len(set(anchors))
    links = {one.link for some in (view.wrong, view.undecided, view.warned) for one in some.lines}
    assert links <= set(anchors)
    known = {one.id: one.standing for one in view.claims}
    assert known["score-variance"] == "derivation proved, measurement confirmed"
    assert known["attention-entropy"] == ""


def test_an_audit_that_saw_nothing() -> None:
    """It says so."""
    view = seen(good().model_copy(update={"layers": ()}))
    assert view.seen == "No attention layer was seen."
    assert not view.layers + view.maps + view.shapes
