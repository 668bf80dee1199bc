"""The reference is what it should be; the files' forms and the values' keys are those published."""

import pytest

from tests.published import FORMS, form_of, keys_now, published, published_keys
from verify.engine.catalogue import catalogue
from verify.engine.runner import settings
from verify.engine.statements import packs, read_sources
from verify.engine.statements import decide
from verify.evidence import Outcome, RunRecord, Verdict
from verify.files import shipped_folder


def test_the_reference_is_the_default_run_of_the_whole_catalogue(reference: RunRecord) -> None:
    """With all three files, and every claim confirmed; its titles, which `list` prints, are those of now."""
    assert reference.run.settings == settings()
    titles = {claim.id: claim.title for claim in reference.claims}
    assert list(titles) == list(catalogue())
    typed = {name: claim.title for name, claim in catalogue().items() if "{" not in claim.title}
    assert typed.items() <= titles.items()
    assert {claim.verdict for claim in reference.claims} == {Verdict.CONFIRMED}
    names = {path.name for path in shipped_folder("reference").iterdir()}
    assert names == {"results.json", "report.html", "report.pdf"}


def test_packs_are_decided_as_their_notes_say(reference: RunRecord) -> None:
    """By the same run: what is not true is noted, all else holds."""
    for name, path in packs().items():
        book = read_sources(path)
        for entry, stated in zip(book.statements, decide(book, reference.claims), strict=True):
            assert stated.outcome is (entry.noted or Outcome.HOLDS), (name, entry.id)


@pytest.mark.parametrize("name", FORMS)
def test_the_form_of_a_file_is_the_published_one(name: str) -> None:
    """A change takes another ``schema``, and `python -m tests.published` for the release that has it."""
    assert form_of(name) == published(name)


def test_no_published_key_is_gone() -> None:
    """There may be more; what a document quotes can be quoted for good."""
    assert not published_keys() - keys_now()
