"""What the report says of an audit: what is wrong first, grouped by cause, then all findings."""

from __future__ import annotations

import pytest

from tests.auditing.records import bad, good
from tests.report.audits.shown import seen
from verify.evidence.audits import AuditRecord, Judgement


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
