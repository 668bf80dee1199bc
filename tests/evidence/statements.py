"""A statement made for tests."""

from __future__ import annotations

from verify.evidence import Outcome, Part, Statement


def statement(outcome: Outcome, noted: Outcome | None, *claims: str, name: str = "one") -> Statement:
    """Return a statement with a part for each of these claims."""
    parts = tuple(
        Part(
            text="",
            claim=claim,
            evidence="verdict",
            kind="says",
            printed=None,
            computed=None,
            holds=True,
            reason="",
        )
        for claim in claims
    )
    return Statement(
        id=name, source="a-source", text="", claim=None, printed=None, computed=None, outcome=outcome,
        noted=noted, note="", parts=parts,
    )  # fmt: skip
