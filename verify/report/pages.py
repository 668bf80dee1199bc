"""The pages of the short print: which claims it tells at length, and what an engineer does with some."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from verify.files.names import shipped_folder
from verify.report.cards import Card
from verify.text.latex import Prose, Tex

_PAGES = {
    "experiments": (
        "The documents’ own experiments, repeated",
        (
            *("worked-dot-products", "score-spread", "pairwise-estimator"),
            *("softmax-worked-examples", "score-variance-any-law"),
        ),
    ),
    "softmax": (
        "What becomes of the softmax",
        (
            *("softmax-saturation", "softmax-two-keys", "attention-concentration"),
            *("attention-entropy", "effective-keys"),
        ),
    ),
    "gradients": (
        "What becomes of gradients",
        (
            *("jacobian-saturation", "vanishing-or-exploding", "ignored-keys"),
            *("gradient-through-layers", "training-stability"),
        ),
    ),
    "limits": (
        "Where it stops being true",
        (
            *("correlated-components", "dependent-query-key", "self-score", "aligned-query-key"),
            *("row-variance", "heavy-tails", "causal-rows", "length-scaling", "projected-tokens"),
            "half-precision",
        ),
    ),
}
"""By its id, the title of each page and its claims; of those a run has what it has."""


TOLD = frozenset(claim for _, claims in _PAGES.values() for claim in claims)
"""The claims that the short print tells at length."""


class Page(NamedTuple):
    """A page of claims, each with its figures."""

    id: str
    title: str
    cards: tuple[Card, ...]


class Advice(NamedTuple):
    """What an engineer does about something in a program: the claim that says so, its formula and number."""

    card: Card
    where: Prose
    formula: Tex
    number: Prose
    what: Prose


@cache
def _advice() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((shipped_folder("data") / "advice.toml").read_text(encoding="utf-8"))


def pages_of(cards: Mapping[str, Card]) -> tuple[Page, ...]:
    """Return the pages for which a run has claims."""
    known = (
        Page(name, title, tuple(cards[claim] for claim in claims if claim in cards))
        for name, (title, claims) in _PAGES.items()
    )
    return tuple(page for page in known if page.cards)


def advice_of(cards: Mapping[str, Card]) -> Iterator[Advice]:
    """Yield what an engineer may rest on a run's claims."""
    for claim, told in _advice().items():
        if claim in cards:
            card = cards[claim]
            yield Advice(
                card=card,
                where=Prose(told["where"]),
                formula=Tex(card.claim.derivation.latex),
                number=card.short,
                what=Prose(told["what"]),
            )
