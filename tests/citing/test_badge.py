"""Badges say a claim's verdict in words and colour."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from tests.auditing.records import bad, good
from tests.report.records import CLAIMS, record
from verify.citing.summaries import as_endpoint, as_svg, badge_of
from verify.evidence import ClaimRecord, Proof, Verdict

RUN = record()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_both_forms_say_the_same(claim: ClaimRecord) -> None:
    """The verdict is in the text, not in the colour alone; the SVG is well formed and has a name."""
    endpoint = json.loads(as_endpoint(badge_of(RUN, claim)))
    root = ET.fromstring(as_svg(badge_of(RUN, claim)))  # noqa: S314 - made here
    assert endpoint["schemaVersion"] == 1
    assert endpoint["label"] == claim.id
    assert root.attrib["aria-label"] == f"{claim.id}: {endpoint['message']}"
    assert f"#{endpoint['color']}" in as_svg(badge_of(RUN, claim))
    if claim.derivation.status is Proof.FAILED:
        assert endpoint["message"] == "derivation failed"
    else:
        assert endpoint["message"].endswith(claim.verdict)


def test_each_verdict_has_its_colour() -> None:
    """Refuted and confirmed look different; a failed derivation looks as bad as a refuted claim."""
    colours = {
        verdict: badge_of(RUN, CLAIMS[0].model_copy(update={"verdict": verdict})).colour
        for verdict in Verdict
    }
    assert len(set(colours.values())) == len(colours)
    failed = next(claim for claim in CLAIMS if claim.derivation.status is Proof.FAILED)
    assert badge_of(RUN, failed).colour == colours[Verdict.REFUTED]


def test_an_audit_shows_its_most_serious_judgement() -> None:
    """The whole and a layer, in words, with the audit's seal."""
    audit = bad()
    whole, last = badge_of(audit, audit), badge_of(audit, audit.layers[3])
    assert (whole.label, whole.message, whole.is_error) == ("attention audit", "refuted", True)
    assert (last.label, last.message) == ("decoder-layers-3-self-attn", "refuted")
    assert whole.digest == last.digest == audit.seal
    fine = badge_of(good(), good())
    assert (fine.message, fine.is_error) == ("confirmed", False)
    assert fine.colour != whole.colour
    root = ET.fromstring(as_svg(whole))  # noqa: S314 - made here
    assert root.attrib["aria-label"] == "attention audit: refuted"
    assert json.loads(as_endpoint(whole))["message"] == "refuted"
