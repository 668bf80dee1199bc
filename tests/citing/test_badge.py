"""Badges say a claim's verdict in words and colour."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from tests.report.records import CLAIMS
from verify.citing.badge import as_endpoint, as_svg
from verify.evidence import ClaimRecord, Proof, Verdict


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_both_forms_say_the_same(claim: ClaimRecord) -> None:
    """The verdict is in the text, not in the colour alone; the SVG is well formed and has a name."""
    endpoint = json.loads(as_endpoint(claim))
    root = ET.fromstring(as_svg(claim))  # noqa: S314 - made here
    assert endpoint["schemaVersion"] == 1
    assert endpoint["label"] == claim.id
    assert root.attrib["aria-label"] == f"{claim.id}: {endpoint['message']}"
    assert f"#{endpoint['color']}" in as_svg(claim)
    if claim.derivation.status is Proof.FAILED:
        assert endpoint["message"] == "derivation failed"
    else:
        assert endpoint["message"].endswith(claim.verdict)


def test_each_verdict_has_its_colour() -> None:
    """Refuted and confirmed look different; a failed derivation looks as bad as a refuted claim."""
    colours = {
        verdict: json.loads(as_endpoint(CLAIMS[0].model_copy(update={"verdict": verdict})))["color"]
        for verdict in Verdict
    }
    assert len(set(colours.values())) == len(colours)
    failed = next(claim for claim in CLAIMS if claim.derivation.status is Proof.FAILED)
    assert json.loads(as_endpoint(failed))["color"] == colours[Verdict.REFUTED]
