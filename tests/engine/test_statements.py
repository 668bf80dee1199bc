"""Statements are decided by the evidence of a run and by nothing else."""

from collections.abc import Mapping
from typing import Literal

import pytest

from tests.report.builders import check_that_is, control_that_is, exact_check
from verify.engine.sources import PartEntry, SourceBook, read_sources
from verify.engine.statements import decide
from verify.errors import SourcesError
from verify.evidence import (
    Check,
    ClaimRecord,
    DerivationRecord,
    Fact,
    Outcome,
    Proof,
    RunRecord,
    Statement,
    Verdict,
)

CONFIRMED, APPROXIMATE, REFUTED, UNDECIDED = Verdict


def claim(
    name: str = "one-claim",
    verdict: Verdict = CONFIRMED,
    *,
    checks: Mapping[str, Verdict | tuple[Verdict, float]] | None = None,
    controls: Mapping[str, Verdict] | None = None,
    facts: Mapping[str, float] | None = None,
    status: Proof = Proof.DERIVED,
) -> ClaimRecord:
    """Return the record of a claim with the given evidence and nothing else.

    A claim that is asked for its verdict has one check that comes out so, and a control that is rejected.
    """
    pairs = {
        key: value if isinstance(value, tuple) else (value, 0.0) for key, value in (checks or {}).items()
    }
    evidence = tuple(_exact(key, *pair) for key, pair in pairs.items()) or (check_that_is(verdict, "it"),)
    return ClaimRecord(
        id=name,
        chapter="c",
        chapter_title="C",
        title="",
        statement="",
        meaning="",
        assumptions=(),
        references=(),
        derivation=DerivationRecord(status=status, chains=(), reason=""),
        checks=evidence,
        controls=tuple(
            control_that_is(outcome, key) for key, outcome in (controls or {"never-so": REFUTED}).items()
        ),
        facts=tuple(Fact(id=key, what="", latex="", value=value) for key, value in (facts or {}).items()),
    )


def _exact(name: str, verdict: Verdict, value: float) -> Check:
    """Return a check that comes out so, if confirmed of this value."""
    return exact_check(name, value, "", "") if verdict is CONFIRMED else check_that_is(verdict, name)


def part(
    evidence: str = "verdict",
    *,
    kind: Literal["says", "prints"] = "says",
    printed: str | None = None,
    about: bool = False,
    of: str = "one-claim",
) -> PartEntry:
    """Return a part decided by ``evidence``."""
    return PartEntry(text="T", claim=of, evidence=evidence, kind=kind, printed=printed, about=about)


def decided(parts: list[PartEntry], *claims: ClaimRecord, noted: Outcome = Outcome.HOLDS) -> Statement:
    """Return the only statement of a book that has ``parts``, decided by ``claims``."""
    book = SourceBook.model_validate(
        {
            "source": [{"id": "s", "title": "T", "kind": "lesson"}],
            "statement": [
                {
                    "id": "s1",
                    "source": "s",
                    "text": "T",
                    "claim": parts[0].claim,
                    "note": "The truth.",
                    "noted": noted,
                    "part": [entry.model_dump() for entry in parts],
                }
            ],
        }
    )
    [statement] = decide(book, claims)
    return statement


@pytest.mark.parametrize(
    ("verdict", "about", "outcome"),
    [
        (CONFIRMED, False, Outcome.HOLDS),
        (APPROXIMATE, False, Outcome.WITH_CONDITIONS),
        (APPROXIMATE, True, Outcome.HOLDS),
        (REFUTED, True, Outcome.WRONG),
        (UNDECIDED, True, Outcome.OPEN),
    ],
)
def test_approximately_is_enough_only_where_the_source_says_about(
    verdict: Verdict, about: bool, outcome: Outcome
) -> None:
    """A claim within tolerance but not exact satisfies only a statement that claims no more."""
    assert decided([part(about=about)], claim(verdict=verdict)).outcome is outcome


def test_what_a_refuted_control_asserts_is_false() -> None:
    """A part may assert a claim's wrong version, in words or as something on the page that is no figure."""
    record = claim(controls={"wrong": REFUTED})
    assert decided([part("control:wrong")], record).outcome is Outcome.WRONG
    assert decided([part("control:wrong", kind="prints")], record).outcome is Outcome.MISPRINTED
    mixed = decided([part(), part("control:wrong")], record)
    assert mixed.outcome is Outcome.WITH_CONDITIONS
    assert [each.holds for each in mixed.parts] == [True, False]


def test_a_note_for_another_outcome_gives_way_to_the_reasons() -> None:
    """What was written for one outcome is not printed beside another; the outcome does not depend on it."""
    record = claim(controls={"wrong": REFUTED})
    for noted in Outcome:
        statement = decided([part(), part("control:wrong")], record, noted=noted)
        assert statement.outcome is Outcome.WITH_CONDITIONS
        if noted is Outcome.WITH_CONDITIONS:
            assert statement.note == "The truth."
        else:
            assert statement.note == (
                "By this run, the claim one-claim is confirmed. "
                "By this run, the negative control wrong of one-claim is refuted."
            )


@pytest.mark.parametrize("evidence", ["verdict", "check:c", "control:w", "fact:f"])
def test_a_failed_derivation_leaves_everything_open(evidence: str) -> None:
    """A claim whose derivation failed has no evidence, which is no mistake of the statement's."""
    kind: Literal["says", "prints"] = "prints" if evidence.startswith("fact") else "says"
    parts = [part(evidence, kind=kind, printed="1" if kind == "prints" else None)]
    statement = decided(parts, claim(status=Proof.FAILED))
    assert statement.outcome is Outcome.OPEN
    assert "derivation of one-claim failed" in statement.parts[0].reason


@pytest.mark.parametrize("evidence", ["check:none", "control:none", "fact:none"])
def test_evidence_that_a_claim_lacks_is_an_error(evidence: str) -> None:
    """The message names the statement, the claim and the id, in one line."""
    kind: Literal["says", "prints"] = "prints" if evidence.startswith("fact") else "says"
    parts = [part(evidence, kind=kind, printed="1" if kind == "prints" else None)]
    with pytest.raises(
        SourcesError, match=r"^statement s1, part 1: the claim one-claim has no \w+ 'none'; .*$"
    ):
        decided(parts, claim())


SLIPS = {
    **dict.fromkeys(
        ("v3", "v4", "v6", "n3", "n5", "n7", "n10", "b1", "b4", "a4", "a5", "a7"), Outcome.WITH_CONDITIONS
    ),
    "b3": Outcome.MISPRINTED,
    "a6": Outcome.WRONG,
}
"""All that is known not to hold as it stands; the others hold."""


def test_a_real_run_decides_every_statement_as_known(reference: RunRecord) -> None:
    """A fact or figure that was exchanged in a claim shows in the outcome of what is printed about it."""
    run = reference.model_copy(update={"statements": decide(read_sources(), reference.claims)})
    assert run.statements == reference.statements
    assert {each.id: each.outcome for each in run.statements if each.outcome is not Outcome.HOLDS} == SLIPS
    assert len(run.statements) == 46
