"""What opens the report: how the variances of scores are derived, and how draws confirm it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from verify.evidence import (
    Axis,
    ChainRecord,
    Check,
    ClaimRecord,
    DerivationRecord,
    Figure,
    OrdinaryFit,
    PlotLayer,
    Verdict,
)
from verify.evidence.words import Badge, badge, cell_text, tolerance_text
from verify.report.cards import Card, FigureView, alone, drawing
from verify.report.tables import TableRow, check_table, sample_size, shared_settings
from verify.text import numbers
from verify.text.latex import Prose, Tex, slashed

HISTOGRAMS = ("score-spread.histograms", "score-spread.scaled-histograms")
"""The figures of scores in few and in many dimensions, without and with the scale."""

_RATIO = "ratio"
OPENING = {"score-variance": r"$q\cdot k$", "sqrt-scaling": r"$q\cdot k/\sqrt{d_k}$"}
"""The claims that are derived and confirmed at the start, with the score that each is about."""
_FURTHER = {
    "general": ("With any means and variances", (("score-variance-general", ""),)),
    "scaled": (
        "What the scale leaves",
        (("scaled-variance-general", ""), ("scaled-variance-general", "centred")),
    ),
    "unique": (
        "Only one size of the factor gives variance 1",
        (("sqrt-scaling-unique", "multiple"), ("sqrt-scaling-unique", "")),
    ),
    "again": (
        "The variance again, by another way",
        (("score-variance", "characteristic"), ("score-variance", "by-transform")),
    ),
}
"""The derivations of the second page by their ids: a title, and claims with the names of their chains."""
_LOW = re.compile(r"\\left(\(|\[)((?:(?!\\left|\\right|\\sum|\\frac).)*)\\right(\)|\])")
_SUM, _SCORE = r"\sum_{i=1}^{d_{k}} q_{i} k_{i}", r"q\cdot k"
_SQUARED_MEAN = re.compile(r"(\\mathbb\{E\}\\left\[(?:(?!\\left|\\right).)*\\right\])\^\{2\}")
_FEWEST = 3  # dimensions of a figure over them
_FINER = 30  # parts of a band that its printed ends tell apart
_SAME_EVERYWHERE = ("d_k", "block")  # settings of points that differ, or say nothing of the law


class Line(NamedTuple):
    """A line of a derivation; only the first has something before its relation."""

    left: Tex | None
    relation: str
    right: Tex
    reason: Prose


class Chain(NamedTuple):
    """A derivation from what is asked to its result; ``number`` and ``claim`` are those of its claim."""

    claim: str
    number: str
    proof: Badge
    lines: tuple[Line, ...]


class Derived(NamedTuple):
    """Derivations under one heading, and what they assume together."""

    id: str
    title: str
    assumptions: tuple[Prose, ...]
    chains: tuple[Chain, ...]


class FitRow(NamedTuple):
    """A coefficient of a fitted line, or how far the line is from the points.

    ``cells`` are its prediction, estimate, standard error and the ends of its interval, ``band`` is where
    that interval has to lie; ``alone`` is its 95% interval by itself.
    """

    what: Prose
    cells: tuple[str, ...]
    alone: str
    band: str
    verdict: Badge


class FittedLine(NamedTuple):
    """The line through a claim's measured variances; ``about`` names what, its law and how much was drawn."""

    about: Prose
    rows: tuple[FitRow, ...]


class Confirmation(NamedTuple):
    """The start of the report: assumptions and derivations, fitted lines, figures.

    ``further`` are the derivations of the second page. ``level`` is that of each interval of the fits;
    ``ordinary`` is an unweighted fit, if one is on record.
    """

    assumptions: tuple[Prose, ...]
    chains: tuple[Chain, ...]
    further: tuple[Derived, ...]
    fits: tuple[FittedLine, ...]
    level: str
    ordinary: OrdinaryFit | None
    histograms: tuple[FigureView, ...]
    ratios: tuple[FigureView, ...]


def confirmation(cards: Mapping[str, Card]) -> Confirmation | None:
    """Return the start of the report, or None where a run lacks one of its claims or a derivation fails."""
    opening = [cards[name] for name in OPENING if name in cards]
    derivations = [card.claim.derivation for card in opening]
    derived = [each for each in derivations if each.status.stands]
    if len(derived) < len(OPENING):
        return None
    chains = [_shown(each, whole=place == 0) for place, each in enumerate(derived)]
    fits = tuple(_fitted(card) for card in opening if _fits(card.claim))
    levels = [check.level for card in opening for check in _fits(card.claim)]
    figures = {view.key: view for card in cards.values() for view in card.figures}
    assumptions = dict.fromkeys(text for chain in chains for text in chain.assumptions)
    return Confirmation(
        assumptions=tuple(map(Prose, assumptions)),
        chains=tuple(
            _numbered(card, chain, unfolds=place == 0)
            for place, (card, chain) in enumerate(zip(opening, chains, strict=True))
        ),
        further=tuple(_further(cards)),
        fits=fits,
        level=numbers.level(min(levels)) if levels else "",
        ordinary=next(iter(opening[0].claim.fits), None),
        histograms=tuple(figures[key] for key in HISTOGRAMS if key in figures),
        ratios=tuple(ratio_views(opening)),
    )


def ratio_views(cards: Sequence[Card]) -> Iterator[FigureView]:
    """Yield the figures of measured over derived values of claims, as they are printed."""
    numbered = {card.claim.id: card.number for card in cards}
    for key, figure in ratios({card.claim.id: card.claim for card in cards}).items():
        yield drawing(key, figure)._replace(number=f"{numbered[key.partition('.')[0]]}, as a ratio")


def _further(cards: Mapping[str, Card]) -> Iterator[Derived]:
    """Yield the derivations of the second page that a run has and that stand."""
    for key, (title, wanted) in _FURTHER.items():
        found = [
            (cards[claim], chain)
            for claim, name in wanted
            if claim in cards and cards[claim].claim.derivation.status.stands
            for chain in cards[claim].claim.derivation.chains
            if chain.name == name
        ]
        if found:
            assumed = dict.fromkeys(text for _, chain in found for text in chain.assumptions)
            chains = (_numbered(card, chain, unfolds=False) for card, chain in found)
            yield Derived(key, title, tuple(map(Prose, assumed)), tuple(chains))


def derived_in(card: Card) -> Derived | None:
    """Return the main derivation of a claim, line by line; None of a claim without one."""
    claim = card.claim
    if not claim.derivation.chains:
        return None
    chain = _shown(claim.derivation, whole=True)
    return Derived(claim.id, chain.title, card.assumptions, (_numbered(card, chain, unfolds=False),))


def _numbered(card: Card, chain: ChainRecord, *, unfolds: bool) -> Chain:
    """Return a chain with its claim's number, and with its own grade, which may be less than the claim's."""
    proof = badge(card.claim.derivation.grade(chain))
    return Chain(card.claim.id, card.number, proof, tuple(_lines(chain, unfolds=unfolds)))


def _shown(derivation: DerivationRecord, *, whole: bool) -> ChainRecord:
    """Return the chain of what a claim says, or the shortest that shows it unless the ``whole`` is wanted."""
    main = derivation.main or derivation.chains[0]
    same = [chain for chain in derivation.chains if chain.start == main.start]
    return main if whole else min(same, key=lambda chain: len(chain.lines))


def _lines(chain: ChainRecord, *, unfolds: bool) -> Iterator[Line]:
    """Yield the lines of a chain from a score, which stands for its sum.

    A chain that ``unfolds`` says so in its first line, and goes on with the sum.
    """
    start = chain.start.replace(_SUM, _SCORE)
    left: Tex | None = _as_written(start)
    if unfolds and start != chain.start:
        yield Line(left, "=", _as_written(chain.start), Prose("A score is a sum over components"))
        left = None
    for step in chain.lines:
        latex = step.latex if unfolds else step.latex.replace(_SUM, _SCORE)
        yield Line(left, step.relation, _as_written(latex), Prose(step.because))
        left = None


def _as_written(latex: str) -> Tex:
    """Return a formula as it is written by hand: squared means in parentheses, brackets as high as needed."""
    latex = _SQUARED_MEAN.sub(r"\\left(\1\\right)^{2}", latex)
    while (lower := _LOW.sub(r"\1\2\3", latex)) != latex:
        latex = lower
    return Tex(latex)


def _fits(claim: ClaimRecord) -> tuple[Check, ...]:
    return tuple(check for check in claim.checks if check.method == "fit")


def _points(claim: ClaimRecord) -> tuple[Check, ...]:
    """Return the values of the first quantity measured, by dimension: a claim's lines go through them."""
    return tuple(
        check
        for check in claim.checks
        if check.quantity == claim.checks[0].quantity
        and (check.method, check.relation) == ("monte-carlo", "=")
        and isinstance(check.cell.get("d_k"), int)
        and check.prediction > 0
    )


def _fitted(card: Card) -> FittedLine:
    checks = _fits(card.claim)
    fit, points = checks[0], _points(card.claim)
    settings = shared_settings(points)
    law = cell_text(settings, without=_SAME_EVERYWHERE)
    if settings.get("query") == settings.get("key") is not None and len(settings) == 2:
        law = Prose(f"{settings['key']} components")
    dimensions = [check.cell["d_k"] for check in points]
    reach = f"{len(points)} dimensions from {min(dimensions)} to {max(dimensions)}" if points else ""
    drawn = f"{sample_size(fit).replace('/', 'blocks,')} draws"
    quantity = slashed(fit.quantity.rpartition(" of ")[2])
    about = f"{quantity}: {'; '.join(filter(None, [law, reach, drawn]))}"
    rows = [row for group in check_table(card.claim.id, checks).groups for row in group.rows]
    return FittedLine(
        about=Prose(about),
        rows=tuple(_fit_row(check, row) for check, row in zip(checks, rows, strict=True)),
    )


def _fit_row(check: Check, row: TableRow) -> FitRow:
    tolerance = tolerance_text(check.model_copy(update={"tolerance_because": ""}))
    band = [end for end in check.band if end is not None]
    shown = [numbers.beside(end, (max(band) - min(band)) / _FINER) for end in band]
    what = check.quantity.rpartition(" of ")[0]
    return FitRow(Prose(f"{what} ({tolerance})"), row.cells, alone(check), " to ".join(shown), row.verdict)


def ratios(claims: Mapping[str, ClaimRecord]) -> dict[str, Figure]:
    """Return the figures of measured over derived values by key, of claims measured in several dimensions."""
    return {
        f"{name}.{_RATIO}": _ratio(claim) for name, claim in claims.items() if len(_points(claim)) >= _FEWEST
    }


def _ratio(claim: ClaimRecord) -> Figure:
    """Draw each estimate over its prediction, with its interval, before the band of what is tolerated.

    On an axis of powers of ten neither an interval nor a tolerance of 1% can be seen. What the controls
    predict that move a value just too far stands beside.
    """
    points, score = _points(claim), OPENING.get(claim.id, "")
    what, of = ("variance", f" of {score}") if score else ("value", "")
    derived = {check.cell["d_k"]: check.prediction for check in points}
    places = tuple(float(check.cell["d_k"]) for check in points)
    share = numbers.percent(points[0].tolerance)
    holds = all(check.verdict is Verdict.CONFIRMED for check in points)
    band = PlotLayer(
        kind="band",
        role="truth",
        label=f"derived, ±{share}",
        x=places,
        y=(1.0,) * len(places),
        lo=tuple(1 - check.tolerance for check in points),
        hi=tuple(1 + check.tolerance for check in points),
    )
    measured = PlotLayer(
        kind="points",
        role="measured",
        label="measured",
        x=places,
        y=tuple(check.estimate / check.prediction for check in points),
        lo=tuple(check.interval[0] / check.prediction for check in points),
        hi=tuple(check.interval[1] / check.prediction for check in points),
    )
    too_far = {
        float(control.cell["d_k"]): control.prediction / derived[control.cell["d_k"]]
        for control in claim.controls
        if control.is_near_miss and control.cell.get("d_k") in derived
    }
    wrong = PlotLayer(
        kind="points",
        role="control",
        label="".join(
            f"wrong: {numbers.percent(abs(ratio - 1))} {'more' if ratio > 1 else 'less'}"
            for ratio in [*too_far.values()][:1]
        ),
        x=tuple(too_far),
        y=tuple(too_far.values()),
    )
    return Figure(
        id=_RATIO,
        title=f"Within {share} of the derived {what}" if holds else f"Beside the derived {what}",
        alt=f"Measured over derived {what}{of}, with intervals, from {places[0]:g} to {places[-1]:g} "
        "dimensions, before the band of what is tolerated around 1.",
        x=Axis(label="dimension $d_k$", scale="log"),
        y=Axis(label=f"{what}{of}, measured over derived"),
        layers=(band, measured, wrong) if too_far else (band, measured),
    )
