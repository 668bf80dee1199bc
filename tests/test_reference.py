"""The reference is what it should be; the files' forms and the values' keys are those published."""

import pytest

from tests.published import FORMS, form_of, keys_now, published_form, published_keys
from tests.reference import differences
from tests.report.builders import turned
from tests.report.records import record
from verify.engine.catalogue import catalogue
from verify.engine.runner import settings
from verify.engine.sources import packs, read_sources
from verify.engine.statements import decide
from verify.evidence import Outcome, RunRecord, Verdict
from verify.files.names import shipped_folder


def test_the_reference_is_the_default_run_of_the_whole_catalogue(reference: RunRecord) -> None:
    """With all three files, and every claim confirmed."""
    assert reference.run.settings == settings()
    assert [claim.id for claim in reference.claims] == list(catalogue())
    assert {claim.verdict for claim in reference.claims} == {Verdict.CONFIRMED}
    names = {path.name for path in shipped_folder("reference").iterdir()}
    assert names == {"results.json", "report.html", "report.pdf"}


def test_packs_are_decided_as_their_notes_say(reference: RunRecord) -> None:
    """By the same run: what is not true is noted, all else holds."""
    for name, path in packs().items():
        book = read_sources(path)
        for entry, stated in zip(book.statements, decide(book, reference.claims), strict=True):
            assert stated.outcome is (entry.noted or Outcome.HOLDS), (name, entry.id)


def test_every_difference_is_found() -> None:
    """A verdict, a digest, a claim too few, a statement's outcome."""
    run = record()
    first, *rest = run.claims
    check, *others = first.checks
    refuted = turned(check, Verdict.REFUTED)
    changed_claim = first.model_copy(update={"checks": (refuted, *others)}).sealed()
    changed = run.model_copy(update={"claims": (changed_claim, *rest)})
    verdicts = [
        f"{first.id}, claim: refuted, was confirmed",
        f"{first.id}, {check.id}: refuted, was confirmed",
    ]
    digest = f"{first.id}: another digest on the same versions"
    assert differences(changed, run) == sorted([*verdicts, digest])
    elsewhere = {**run.run.environment, "numpy": "0.1"}
    moved = changed.model_copy(update={"run": run.run.model_copy(update={"environment": elsewhere})})
    assert differences(moved, run) == sorted(verdicts)
    assert differences(run.model_copy(update={"claims": tuple(rest)}), run) == [
        f"{first.id}: in one of them only"
    ]
    stated = run.statements[0]
    parts = tuple(part.model_copy(update={"holds": None}) for part in stated.parts)
    statements = (stated.model_copy(update={"parts": parts}), *run.statements[1:])
    (line,) = differences(run.model_copy(update={"statements": statements}), run)
    assert line.startswith(f"statement {stated.id}: open, was")


@pytest.mark.parametrize("name", FORMS)
def test_the_form_of_a_file_is_the_published_one(name: str) -> None:
    """A change takes another ``schema``, and `python -m tests.published` for the release that has it."""
    assert form_of(name) == published_form(name)


def test_no_published_key_is_gone() -> None:
    """There may be more; what a document quotes can be quoted for good."""
    assert not published_keys() - keys_now()
