"""Every number of an audit has a key; texts and figures agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.auditing.records import bad, good
from verify.citing.agreement import agrees, fixed
from verify.citing.figures import numbers_in
from verify.citing.lookup import chosen, lookup
from verify.citing.values import values_of as values
from verify.errors import CitationError
from verify.report.audits.view import audit_view

if TYPE_CHECKING:
    from verify.evidence.audits import AuditRecord

BAD = bad(3, 2)
LAYER = BAD.layers[0].id


@pytest.mark.parametrize("audit", [BAD, good(1, 1)], ids=["bad", "one head"])
def test_keys_are_unique_and_texts_agree(audit: AuditRecord) -> None:
    """What is listed is right when quoted as it is, down to every figure, and fixing leaves it alone."""
    listed = list(values(audit))
    keys = [value.key for value in listed]
    assert len(set(keys)) == len(keys)
    for value in listed:
        if value.figures:
            assert len(numbers_in(value.text)) == len(value.figures), value.key
        assert agrees(value.text, value), value.key
        assert fixed(value.text, value) == value.text, value.key
        assert lookup(audit, value.key) == value


def test_every_finding_and_layer_can_be_quoted() -> None:
    """With its judgement, and where it is in the pages."""
    keys = {value.key: value for value in values(BAD)}
    view = audit_view(BAD, {})
    anchors = {group.anchor for layer in view.layers for group in layer.groups} | {"summary"}
    anchors |= {layer.id for layer in view.layers}
    for layer in BAD.layers:
        assert f"{layer.id}:judgement" in keys
        for finding in layer.findings:
            assert f"{layer.id}.{finding.id}" in keys
            assert keys[f"{layer.id}.{finding.id}:judgement"].text == finding.judgement
    assert {value.anchor for value in keys.values()} <= anchors


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("audit", "refuted"),
        ("audit:layers", "3"),
        ("audit:heads", "6"),
        ("audit:refuted", "7"),
        ("audit:date", "2026-11-21"),
        ("audit:false-alarm", "0.1%"),
        (f"{LAYER}:scale", "0.125"),
        (f"{LAYER}:intended", "1/sqrt(d)"),
        (f"{LAYER}.row-variance-head-0:needed", "210"),
        (f"{LAYER}.scale-applied:fix", "divide by √64, not by √512"),
        (f"{LAYER}.entropy-head-1:reference", "0.922"),
        (f"{LAYER}.largest-score-head-1:low", "19.4"),
    ],
)
def test_what_keys_stand_for(key: str, text: str) -> None:
    """Counts, settings, parts of findings."""
    assert lookup(BAD, key).text == text


def test_open_ends_and_missing_parts_have_no_keys() -> None:
    """What is not there cannot be quoted, and the nearest key is suggested."""
    with pytest.raises(CitationError, match="did you mean"):
        lookup(BAD, f"{LAYER}.largest-score-head-1:high")
    with pytest.raises(CitationError, match=r"did you mean 'decoder-layers-0-self-attn\.entropy-head-1"):
        lookup(BAD, f"{LAYER}.entropi-head-1")
    layer = good().layers[0]
    nothing = layer.findings[0].model_copy(update={"estimate": None})
    bare = good().model_copy(update={"layers": (layer.model_copy(update={"findings": (nothing,)}),)})
    assert lookup(bare, f"{layer.id}.scale-applied").text == "confirmed"


def test_a_layer_or_a_finding_is_chosen_with_its_parts() -> None:
    """As a claim is in a run."""
    of_layer = chosen(BAD, [LAYER])
    assert {value.key.partition(".")[0].partition(":")[0] for value in of_layer} == {LAYER}
    of_finding = chosen(BAD, [f"{LAYER}.entropy-head-1"])
    assert {value.key.partition(":")[2] for value in of_finding} >= {"", "estimate", "low", "level"}


def test_what_is_refuted_or_undecided_is_doubted() -> None:
    """Its judgement, cause and fix may be said anyway."""
    for layer in BAD.layers:
        for finding in layer.findings:
            doubted = finding.judgement in {"refuted", "undecided"}
            key = f"{layer.id}.{finding.id}"
            assert bool(lookup(BAD, key).doubt) is doubted
            assert not lookup(BAD, f"{key}:judgement").doubt
