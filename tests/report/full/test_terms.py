"""The index leads from terms to the claims that use them."""

from dataclasses import replace

from tests.report.records import record
from verify.report.full.terms import index
from verify.report.view import view
from verify.text.latex import Prose

CARD = view(record()).chapters[0].cards[0]


def with_text(name: str, meaning: str, title: str = "No title") -> object:
    """Return a card of this meaning."""
    return replace(CARD, id=name, title=Prose(title), statement=Prose(""), meaning=Prose(meaning))


def test_a_term_leads_to_the_claims_that_use_it() -> None:
    """Terms that nothing uses are left out; upper case does not matter."""
    found = dict(index([with_text("one", "Its entropy falls."), with_text("two", "Cauchy components")]))  # type: ignore[list-item]
    assert {term: [card.id for card in cards] for term, cards in found.items()} == {
        "Cauchy distribution": ["two"],
        "entropy": ["one"],
    }


def test_a_term_of_many_texts_leads_to_titles_alone() -> None:
    """Where more than eight claims use it, those whose titles have it are worth a page number."""
    many = [with_text(f"text-{place}", "the softmax") for place in range(9)]
    found = dict(index([*many, with_text("title", "", "What the softmax does")]))  # type: ignore[list-item]
    assert [card.id for card in found["softmax"]] == ["title"]


def test_terms_stand_in_the_order_of_the_alphabet() -> None:
    """A reader finds them where they look."""
    found = [term for term, _ in index([with_text("all", TEXT)])]  # type: ignore[list-item]
    assert found == sorted(found, key=str.casefold)
    assert len(found) > 6


TEXT = (
    "attention of a causal mask, Cauchy, correlated, entropy, heavy tails, independent rows, Jacobian, "
    "kurtosis, padding, projections, saturation, softmax, temperature, training of values"
)
