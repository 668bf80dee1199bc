"""The pages of the short print: what they tell at length, and what they tell an engineer."""

from verify.evidence.load import shipped
from verify.report.confirmation import Confirmation
from verify.report.pages import TOLD, advice_of, pages_of
from verify.report.run import report_of
from tests.report.test_confirmation import opening  # noqa: F401 - a fixture


def test_every_page_names_claims_of_the_catalogue() -> None:
    """Each claim stands on one page, with its figures; a run without them has no page."""
    seen = report_of(shipped())
    told = [card.claim.id for page in seen.pages for card in page.cards]
    assert set(told) == TOLD
    assert len(told) == len(TOLD)
    assert pages_of({}) == ()
    few = pages_of({"self-score": seen.cards[0]})
    assert [(page.id, len(page.cards)) for page in few] == [("limits", 1)]


def test_an_engineer_gets_formula_number_and_advice() -> None:
    """Each row rests on a claim of the run, whose number it shows; a run of other claims has none."""
    cards = {card.claim.id: card for card in report_of(shipped()).cards}
    rows = {row.card.claim.id: row for row in advice_of(cards)}
    assert len(rows) == 16
    assert rows["grouped-queries"].formula == r"\operatorname{Var}\left(q\cdot k\right) = d_k"
    assert all(row.number and row.where and row.what for row in rows.values())
    assert not list(advice_of({"score-mean": cards["score-mean"]}))


def test_the_second_page_derives_the_variance_twice(opening: Confirmation) -> None:  # noqa: F811
    """With any moments, scaled, for which factors only, and by the characteristic function."""
    assert [one.id for one in opening.further] == ["general", "scaled", "unique", "again"]
    # Every derivation that is named there is a chain of the catalogue.
    assert [len(one.chains) for one in opening.further] == [1, 2, 2, 2]
    general, *_, again = opening.further
    assert general.chains[0].lines[-1].right.startswith("d_k (")
    assert again.chains[-1].lines[-1].right == "d_k"
    assert all(line.relation for one in opening.further for chain in one.chains for line in chain.lines)
