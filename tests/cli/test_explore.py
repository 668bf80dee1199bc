"""The catalogue on a terminal: complete, and free of LaTeX."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.catalogue import CATALOGUE, EACH_QUICKLY_MADE, derivation
from tests.tool import ROOT, Ended
from verify.claims.chapters import CHAPTERS
from verify.cli.explore import listing, page, shown
from verify.cli.main import kept_list
from verify.symbolic.derivation import ExaminedDerivation
from verify.symbolic.kernel.core import Reach
from verify.symbolic.routes import Followed, Step, TakenStep
from verify.text.latex import plain


def test_every_claim_is_listed_under_its_chapter() -> None:
    """A line each, in the order of the report, a blank line between chapters."""
    lines = listing(CATALOGUE).splitlines()
    heads = [line for line in lines if line and not line.startswith(" ")]
    used = {claim.chapter for claim in CATALOGUE.values()}
    assert heads == [chapter.title for name, chapter in CHAPTERS.items() if name in used]
    assert [line.split()[0] for line in lines if line.startswith(" ")] == list(CATALOGUE)
    assert lines.count("") == len(heads) - 1


def test_the_list_is_made_once() -> None:
    """It is kept for the sources that it was made of: a later process prints it without SymPy."""
    assert kept_list() == listing(CATALOGUE)
    code = "import sys; from verify.cli.main import kept_list; print(kept_list(), 'sympy' in sys.modules)"
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert again.stdout == f"{listing(CATALOGUE)} False\n"


@EACH_QUICKLY_MADE
def test_a_claim_is_shown_with_every_step(name: str) -> None:
    """Statement, meaning, assumptions and all steps with how each was checked; no LaTeX is left."""
    claim, derived = CATALOGUE[name], derivation(name)
    routes = (*derived.lemmas, *derived.routes)
    # The kernel takes the steps with the claim, and below.
    held = tuple(Followed(route, tuple(map(_as_taken, route.steps)), None) for route in routes)
    text = page(claim, derived, ExaminedDerivation(held, "", "proved", "every step holds"))
    assert text.startswith(f"{name} — ")
    assert CHAPTERS[claim.chapter].title in text
    assert not set("\\$") & set(text)
    assert all(line == line.rstrip() for line in text.splitlines())
    for route in routes:
        assert f"Derivation: {plain(route.title)}" in text
        assert all(f"✓ {plain(step.rule.label)}" in text for step in route.steps)
    assert "\nProved: every step holds" in text
    assert ("Beyond the derivation: " in text) == bool(derived.beyond)


def _as_taken(step: Step) -> TakenStep:
    return TakenStep(step, step.relation, Reach.ALL_VALUES)


@pytest.mark.parametrize("name", ["over-scaling", "softmax-identities", "worked-dot-products"])
def test_the_steps_of_what_is_shown_are_checked(name: str) -> None:
    """The last paragraph says what the checks come to."""
    text, proved = shown(CATALOGUE[name])
    endings = {
        "proved": "Proved",
        "reviewed": "Reviewed, not proved",
        "checked-at-examples": "Derivation checked at examples",
        "in-part": "Derived in part",
    }
    assert proved
    assert f"\n{endings[derivation(name).examine().status]}: " in text


def test_a_wrong_step_is_marked(tool: Callable[..., Ended], claim_file: Callable[..., Path]) -> None:
    """A derivation that does not hold is shown all the same, with the step that fails."""
    right = "Derivation.of(variance_route(2 * score, STANDARD))"
    path = claim_file(
        (right, "Derivation.of(replace(variance_route(2 * score, STANDARD), start=score))"),
        ("from verify.spec import", "from dataclasses import replace\nfrom verify.spec import"),
    )
    ended = tool("show", "doubled-keys", "--claims", path)
    assert ended.status == 1
    assert "FAILED: “Index by index”, step 1: does not follow (" in ended.out
    assert "✗ " in ended.out
