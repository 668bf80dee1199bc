"""What the full edition shows beyond the cards: what is printed once, numbered figures, an index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.report.views.cards import CardView, CheckTable, FigureView, FitView
    from verify.text.latex import Prose, Tex


@dataclass(frozen=True, slots=True)
class FullStep:
    """A step of a derivation; ``marks`` are the letters of its checks in the claim's legend, if it has one.

    ``link`` is the anchor of the argument that stands for several steps, else empty.
    """

    relation: Prose
    rule: Prose
    formula: Tex
    marks: str
    holds: bool
    link: str


@dataclass(frozen=True, slots=True)
class FullRoute:
    """A chain of steps; ``argument`` is the name of one that it is the first to make, else empty."""

    title: Prose
    label: str
    opening: Prose
    start: Tex
    steps: tuple[FullStep, ...]
    argument: str


@dataclass(frozen=True, slots=True)
class Numbered:
    """A figure with its number."""

    number: int
    figure: FigureView


@dataclass(frozen=True, slots=True)
class FullCard:
    """A claim; ``legend`` are the ways its steps are checked, by their letters, a lone one without a letter.

    ``measured`` and ``exact`` are its two tables of checks; ``confirmed`` and ``refuted`` whether all checks
    and all controls are, and ``power`` that of all controls, empty where they differ. The rows of ``exact``
    are ``short`` if half a page is wide enough for each.
    """

    card: CardView
    routes: tuple[FullRoute, ...]
    legend: tuple[tuple[str, Prose], ...]
    figures: tuple[Numbered, ...]
    measured: CheckTable
    exact: CheckTable
    short: bool
    confirmed: bool
    refuted: bool
    power: str


@dataclass(frozen=True, slots=True)
class FullChapter:
    """A chapter's claims."""

    id: str
    number: int
    title: Prose
    cards: tuple[FullCard, ...]


@dataclass(frozen=True, slots=True)
class FullView:
    """The claims of a run for print, their ordinary fits, and terms with the claims that use them."""

    chapters: tuple[FullChapter, ...]
    fits: tuple[tuple[CardView, FitView], ...]
    index: tuple[tuple[str, tuple[CardView, ...]], ...]

    @property
    def cards(self) -> tuple[FullCard, ...]:
        """All claims, in order."""
        return tuple(card for chapter in self.chapters for card in chapter.cards)

    @property
    def figures(self) -> tuple[Numbered, ...]:
        """All figures, in order."""
        return tuple(figure for card in self.cards for figure in card.figures)
