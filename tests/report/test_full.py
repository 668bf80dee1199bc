"""What the full edition says once: shared arguments, ways of checking, settings, figures' numbers."""

import re
from collections.abc import Sequence

import pytest
from markupsafe import Markup

from tests.report.builders import line
from tests.report.golden import Spelled
from tests.report.records import SCORE_VARIANCE, record
from verify.evidence import ClaimRecord, ChainRecord, RunRecord
from verify.evidence.load import shipped
from verify.report.formulas import Formula, Formulas
from verify.report.full import Argument, FullEdition, full_edition, shared_arguments
from verify.report.run import report_of
from verify.report.typeset import render

SPLIT = ("definition", "indices apart", "independence", "moments")


def chain(rules: Sequence[str], *, fails: int | None = None) -> ChainRecord:
    """Return a chain of these rules, of which one may fail."""
    lines = tuple(line("x", rule, "SymPy", holds=place != fails) for place, rule in enumerate(rules))
    return ChainRecord(title="Index by index", start="x", lines=lines, shows="x")


def claims(*rules: Sequence[str]) -> list[ClaimRecord]:
    """Return a claim with a single chain for each of some lists of rules."""
    return [
        SCORE_VARIANCE.model_copy(
            update={
                "id": f"claim-{place}",
                "derivation": SCORE_VARIANCE.derivation.model_copy(update={"chains": (chain(one),)}),
            }
        )
        for place, one in enumerate(rules)
    ]


def test_what_four_claims_share_gets_a_name() -> None:
    """The longest run that saves most is argument A, made by the first claim that has it."""
    found = shared_arguments(claims(("other",) * 3, SPLIT, SPLIT, (*SPLIT, "collecting"), SPLIT))
    assert found == (Argument("A", tuple(("=", rule) for rule in SPLIT), "claim-1", 0),)


def edition(some: Sequence[ClaimRecord]) -> FullEdition:
    """Return the full edition of a run of these claims."""
    return full_edition(report_of(record(*some)))


def test_the_first_makes_the_argument_and_the_others_cite_it() -> None:
    """The first shows all its steps under the argument's name, another one that leads there, and its own."""
    cards = edition(claims(SPLIT, (*SPLIT, "collecting"), SPLIT, SPLIT)).cards
    (made,), (cited,) = cards[0].chains, cards[1].chains
    assert (made.argument, len(made.lines)) == ("A", 4)
    assert cited.argument == ""
    assert [one.line.because for one in cited.lines] == ["Argument A of 1.1, for this score", "collecting"]
    assert [one.link for one in cited.lines] == ["argument-A", ""]
    # A lone way of checking is said once for all steps.
    assert cards[0].legend == (("", "SymPy"),)


@pytest.fixture(scope="module")
def full() -> FullEdition:
    """Return the full edition of the made-up run."""
    return full_edition(report_of(record()))


def test_every_claim_is_there_and_figures_are_numbered(full: FullEdition, run: RunRecord) -> None:
    """Figures have the numbers of their claims, in that order, and are drawn at half the width."""
    assert [one.card.claim.id for one in full.cards] == [claim.id for claim in run.claims]
    numbers = [one.card.number for one in full.cards for _ in one.card.claim.series]
    figures = [figure for one in full.cards for figure in one.figures]
    assert [one.number for one in figures] == numbers
    keys = [f"half.{claim.id}.{figure.id}" for claim in run.claims for figure in claim.series]
    assert [one.key for one in figures] == keys


def test_checks_stand_in_two_tables_none_twice(full: FullEdition, run: RunRecord) -> None:
    """Exact checks have a table of their own, without columns that they leave empty."""
    for shown, claim in zip(full.cards, run.claims, strict=True):
        tables = (shown.measured, shown.exact)
        rows = [[row for group in table.groups for row in group.rows] for table in tables]
        exact = [f"{claim.id}.{check.id}" for check in claim.checks if check.method == "exact"]
        assert [row.anchor for row in rows[1]] == exact
        assert len(rows[0]) + len(rows[1]) == len(claim.checks)
        assert all(row.cells[3].text for row in rows[0])
        assert not any(row.cells[3].text or row.sample for row in rows[1])


def test_the_sheet_prints_verdicts_that_differ_and_counts_those_that_do_not() -> None:
    """A column of verdicts is there for the claim that is not wholly confirmed, and only for it."""
    run = record()
    seen = report_of(run)
    page = render("report-full.pdf.j2", seen, Formulas(), Spelled(), full=full_edition(seen))
    cards = dict(re.findall(r'<article class="card" id="([^"]+)"(.*?)</article>', page, flags=re.DOTALL))
    assert list(cards) == [claim.id for claim in run.claims]
    assert "Verdict</th>" in cards["pairwise-estimator"]
    confirmed = cards[SCORE_VARIANCE.id]
    assert "Verdict</th>" not in confirmed
    assert "Checks, all confirmed." in confirmed
    assert confirmed.count("(narrowest margin)") == 1
    assert "(narrowest margin)" not in cards["pairwise-estimator"]
    for check in SCORE_VARIANCE.checks:
        assert f'id="{SCORE_VARIANCE.id}.{check.id}"' in confirmed
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'\bid="([^"]+)"', page))


class Styled(Spelled):
    """Spells a formula's style out."""

    def formula(self, formula: Formula, style: str, latex: str) -> Markup:  # noqa: ARG002
        """Return the style."""
        return Markup("⟨{}⟩").format(style)


@pytest.mark.slow
def test_each_step_is_as_wide_as_its_formula() -> None:
    """Steps stand in lines: the widest, E[(…)(…)] of sums, is 40 em wide and fits on the page."""
    whole = shipped()
    claims = tuple(one for one in whole.claims if one.id in {"correlated-components", "dependent-query-key"})
    seen = report_of(whole.model_copy(update={"claims": claims, "statements": ()}))
    full = full_edition(seen)
    page = render("report-full.pdf.j2", seen, Formulas(), Styled(), full=full)
    rooms = re.findall(r'<li style="width:([\d.]+)em">(?:(?!</li>).)*⟨width:([\d.]+)em;min-width', page)
    assert len(rooms) == sum(1 + len(chain.lines) for one in full.cards for chain in one.chains)
    assert all(float(formula) < float(room) for room, formula in rooms)
    assert 40 < max(float(room) for room, _ in rooms) < 188 / 25.4 * 72 / 7.6  # 188 mm, in em of 7.6 points
