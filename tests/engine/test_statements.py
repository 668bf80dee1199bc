"""Statements are decided by the evidence of a run and by nothing else."""

import pytest

from tests.report.builders import check_that_is, control_that_is
from verify.engine.sources import PartEntry, SourceBook, read_sources
from verify.engine.statements import decide
from verify.errors import SourcesError
from verify.evidence import ClaimRecord, DerivationRecord, Outcome, Proof, RunRecord, Statement, Verdict

CONFIRMED, APPROXIMATE, REFUTED, UNDECIDED = Verdict


def claim(verdict: Verdict = CONFIRMED, status: Proof = Proof.DERIVED) -> ClaimRecord:
    """Return the record of a claim with one check that comes out so, and a wrong version that is rejected."""
    texts = dict.fromkeys(("title", "statement", "meaning"), "")
    return ClaimRecord(
        id="one-claim",
        chapter="c",
        chapter_title="C",
        **texts,
        assumptions=(),
        references=(),
        derivation=DerivationRecord(status=status, chains=(), reason=""),
        checks=(check_that_is(verdict, "it"),),
        controls=(control_that_is(REFUTED, "wrong"),),
    )


def part(evidence: str = "verdict", kind: str = "", *, about: bool = False) -> PartEntry:
    """Return a part decided by ``evidence``; a fact is a figure, and printed."""
    is_figure = evidence.startswith("fact")
    content = {"kind": kind or ("prints" if is_figure else "says"), "printed": "1" if is_figure else None}
    return PartEntry.model_validate(
        {"text": "T", "claim": "one-claim", "evidence": evidence, "about": about, **content}
    )


def decided(parts: list[PartEntry], record: ClaimRecord, noted: Outcome = Outcome.HOLDS) -> Statement:
    """Return the only statement of a book that has ``parts``, decided by a claim."""
    ids, content = {"id": "s1", "source": "s", "claim": "one-claim"}, [part.model_dump() for part in parts]
    entry = {**ids, "text": "T", "note": "The truth.", "noted": noted, "part": content}
    source = {"id": "s", "title": "T", "kind": "lesson"}
    [statement] = decide(SourceBook.model_validate({"source": [source], "statement": [entry]}), (record,))
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
    record = claim()
    assert decided([part("control:wrong")], record).outcome is Outcome.WRONG
    assert decided([part("control:wrong", kind="prints")], record).outcome is Outcome.MISPRINTED
    mixed = decided([part(), part("control:wrong")], record)
    assert mixed.outcome is Outcome.WITH_CONDITIONS
    assert [each.holds for each in mixed.parts] == [True, False]


def test_a_note_for_another_outcome_gives_way_to_the_reasons() -> None:
    """What was written for one outcome is not printed beside another; the outcome does not depend on it."""
    record = claim()
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
    statement = decided([part(evidence)], claim(status=Proof.FAILED))
    assert statement.outcome is Outcome.OPEN
    assert "derivation of one-claim failed" in statement.parts[0].reason


@pytest.mark.parametrize("evidence", ["check:none", "control:none", "fact:none"])
def test_evidence_that_a_claim_lacks_is_an_error(evidence: str) -> None:
    """The message names the statement, the claim and the id, in one line."""
    where = r"^statement s1, part 1: the claim one-claim has no \w+ 'none'; .*$"
    with pytest.raises(SourcesError, match=where):
        decided([part(evidence)], claim())


SLIPS = {
    **dict.fromkeys(
        ("v3", "v4", "v6", "n3", "n5", "n7", "n10", "b1", "b4", "b7", "a4", "a5", "a7"),
        Outcome.WITH_CONDITIONS,
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
