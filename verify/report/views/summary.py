"""What the short editions show of a run: a question with its answer, key numbers, where the claims stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.evidence.words import Badge
    from verify.report.views.cards import FigureView
    from verify.text.latex import Prose, Tex


@dataclass(frozen=True, slots=True)
class AnswerView:
    """A sentence of the answer; ``against`` are the claims that this run did not confirm, if any."""

    text: Prose
    against: tuple[Prose, ...]


@dataclass(frozen=True, slots=True)
class KeyView:
    """A measured number with its prediction and interval; ``link`` is the anchor of its check."""

    link: str
    what: Prose
    predicted: str
    estimate: str
    interval: str
    verdict: Badge


@dataclass(frozen=True, slots=True)
class LimitView:
    """A claim about an assumption that is broken, and what then holds instead."""

    id: str
    number: str
    title: Prose
    result: Prose
    statement: Prose


@dataclass(frozen=True, slots=True)
class SummaryView:
    """What fits on one page of a run, and the notation of all of it.

    ``notation`` are symbols with their meaning; ``definition`` is that of attention. ``figures`` are drawn at
    half the width of the text.
    """

    answer: tuple[AnswerView, ...]
    keys: tuple[KeyView, ...]
    figures: tuple[FigureView, ...]
    limits: tuple[LimitView, ...]
    notation: tuple[tuple[Prose, Prose], ...]
    definition: Tex
