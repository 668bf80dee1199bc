"""What opens the report: how the variances of scores are derived, and how draws confirm it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from verify.evidence import Axis, ChainRecord, Check, ClaimRecord, Figure, OrdinaryFit, PlotLayer, Verdict
from verify.evidence.words import cell_text, tolerance_text
from verify.report.cards import Card, FigureView, drawing
from verify.report.tables import Row, check_table, sample_size, shared_settings
from verify.text import numbers
from verify.text.latex import Prose, slashed

HISTOGRAMS = ("score-spread.histograms", "score-spread.scaled-histograms")
"""The figures of scores in few and in many dimensions, without and with the scale."""
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
_RATIO = "ratio"
_LOW = re.compile(r"\\left(\(|\[)((?:(?!\\left|\\right|\\sum|\\frac).)*)\\right(\)|\])")
_SUM, _SCORE = r"\sum_{i=1}^{d_{k}} q_{i} k_{i}", r"q\cdot k"
_SQUARED_MEAN = re.compile(r"(\\mathbb\{E\}\\left\[(?:(?!\\left|\\right).)*\\right\])\^\{2\}")
_FEWEST = 3  # dimensions of a figure over them
_FINER = 30  # parts of a band that its printed ends tell apart


class Derived(NamedTuple):
    """Derivations under one heading, each with its claim's card, and what all of them assume."""

    id: str
    title: str
    assumptions: tuple[Prose, ...]
    chains: tuple[tuple[Card, ChainRecord], ...]


class FittedLine(NamedTuple):
    """The line through a claim's measured variances; ``about`` names what, its law and how much was drawn.

    ``rows`` are its coefficients, and how far it is from the points, each with what it is and tolerates, its
    check as a row, and where its interval has to lie.
    """

    about: Prose
    rows: tuple[tuple[Prose, Row, str], ...]


class Opening(NamedTuple):
    """The start of the report: derivations, those of the second page, fitted lines, figures.

    ``level`` is that of each interval of the fits; ``ordinary`` is an unweighted fit, if any is on record.
    """

    derived: Derived
    further: tuple[Derived, ...]
    fits: tuple[FittedLine, ...]
    level: str
    ordinary: OrdinaryFit | None
    histograms: tuple[FigureView, ...]
    ratios: tuple[FigureView, ...]


def opening(cards: Mapping[str, Card]) -> Opening | None:
    """Return the start of the report, or None where a run lacks one of its claims or a derivation fails."""
    first = [cards[name] for name in OPENING if name in cards and cards[name].claim.derivation.status.stands]
    if len(first) < len(OPENING):
        return None
    chains = [(first[0], _main(first[0].claim))]
    for card in first[1:]:
        # The shortest way to what the claim says.
        others = [chain for chain in card.claim.derivation.chains if chain.start == _main(card.claim).start]
        chains.append((card, min(others, key=lambda chain: len(chain.lines))))
    # Of the derivations of the second page, those that a run has and that stand.
    further = []
    for key, (title, wanted) in _FURTHER.items():
        whole = [
            (cards[claim], chain)
            for claim, name in wanted
            if claim in cards and cards[claim].claim.derivation.status.stands
            for chain in cards[claim].claim.derivation.chains
            if chain.name == name
        ]
        if whole:
            further.append(_derived(key, title, whole))
    fits = [check for card in first for check in card.claim.checks if check.method == "fit"]
    figures = {view.key: view for card in cards.values() for view in card.figures}
    return Opening(
        derived=_derived("", "", chains, unfold=1),
        further=tuple(further),
        fits=tuple(_fitted(card) for card in first if any(check in fits for check in card.claim.checks)),
        level=numbers.level(min(check.level for check in fits)) if fits else "",
        ordinary=next(iter(first[0].claim.fits), None),
        histograms=tuple(figures[key] for key in HISTOGRAMS if key in figures),
        ratios=tuple(ratio_views(first)),
    )


def derived_in(card: Card) -> Derived | None:
    """Return the main derivation of a claim, line by line; None of a claim without a derivation."""
    if not card.claim.derivation.chains:
        return None
    chain = _main(card.claim)
    return Derived(card.claim.id, chain.title, card.assumptions, ((card, _as_written(chain)),))


def _derived(name: str, title: str, chains: Sequence[tuple[Card, ChainRecord]], unfold: int = 0) -> Derived:
    """Return chains under a heading; the first ``unfold`` of them say that a score is a sum, and go on so."""
    shared = [
        text for text in chains[0][1].assumptions if all(text in chain.assumptions for _, chain in chains)
    ]
    written = (
        (card, _as_written(chain, unfolds=place < unfold)) for place, (card, chain) in enumerate(chains)
    )
    return Derived(name, title, tuple(map(Prose, shared)), tuple(written))


def _main(claim: ClaimRecord) -> ChainRecord:
    return claim.derivation.main or claim.derivation.chains[0]


def _as_written(chain: ChainRecord, *, unfolds: bool = False) -> ChainRecord:
    """Return a chain as it is written by hand: scores for their sums unless it ``unfolds``, low brackets."""

    def written(latex: str, *, short: bool = not unfolds) -> str:
        latex = latex.replace(_SUM, _SCORE) if short else latex
        latex = _SQUARED_MEAN.sub(r"\\left(\1\\right)^{2}", latex)
        while (lower := _LOW.sub(r"\1\2\3", latex)) != latex:
            latex = lower
        return latex

    lines = [line.model_copy(update={"latex": written(line.latex)}) for line in chain.lines]
    if unfolds and _SUM in chain.start:
        sum_ = {"latex": written(chain.start), "because": "A score is a sum over components", "relation": "="}
        lines.insert(0, chain.lines[0].model_copy(update=sum_))
    return chain.model_copy(update={"start": written(chain.start, short=True), "lines": tuple(lines)})


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
    checks = [check for check in card.claim.checks if check.method == "fit"]
    points = _points(card.claim)
    settings = shared_settings(points)
    law = cell_text(settings, without=("d_k", "block"))
    if settings.get("query") == settings.get("key") is not None and len(settings) == 2:
        law = Prose(f"{settings['key']} components")
    dimensions = [check.cell["d_k"] for check in points]
    reach = f"{len(points)} dimensions from {min(dimensions)} to {max(dimensions)}" if points else ""
    # Each coefficient is judged when it is decided, some on larger samples than others.
    by_size = sorted(checks, key=lambda check: check.blocks)
    sizes = dict.fromkeys(sample_size(check) for check in (by_size[0], by_size[-1]))
    drawn = " to ".join(f"{size.replace('/', 'blocks,')} draws" for size in sizes)
    about = (
        f"{slashed(checks[0].quantity.rpartition(' of ')[2])}: {'; '.join(filter(None, [law, reach, drawn]))}"
    )
    rows = []
    for row in (row for group in check_table(checks)[0] for row in group.rows):
        tolerance = tolerance_text(row.check.model_copy(update={"tolerance_because": ""}))
        band = [end for end in row.check.band if end is not None]
        ends = [numbers.beside(end, (max(band) - min(band)) / _FINER) for end in band]
        what = f"{row.check.quantity.rpartition(' of ')[0]} ({tolerance})"
        rows.append((Prose(what), row, " to ".join(ends)))
    return FittedLine(Prose(about), tuple(rows))


def ratio_views(cards: Sequence[Card]) -> Iterator[FigureView]:
    """Yield the figures of measured over derived values of claims, as they are printed."""
    numbered = {card.claim.id: card.number for card in cards}
    for key, figure in ratios({card.claim.id: card.claim for card in cards}).items():
        yield drawing(key, figure, f"{numbered[key.partition('.')[0]]}, as a ratio")


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
    layers = [band, measured]
    too_far = {
        float(control.cell["d_k"]): control.prediction / derived[control.cell["d_k"]]
        for control in claim.controls
        if control.is_near_miss and control.cell.get("d_k") in derived
    }
    if too_far:
        first = next(iter(too_far.values()))
        label = f"wrong: {numbers.percent(abs(first - 1))} {'more' if first > 1 else 'less'}"
        layers.append(
            PlotLayer(kind="points", role="control", label=label, x=tuple(too_far), y=tuple(too_far.values()))
        )
    return Figure(
        id=_RATIO,
        title=f"Within {share} of the derived {what}" if holds else f"Beside the derived {what}",
        alt=f"Measured over derived {what}{of}, with intervals, from {places[0]:g} to {places[-1]:g} "
        "dimensions, before the band of what is tolerated around 1.",
        x=Axis(label="dimension $d_k$", scale="log"),
        y=Axis(label=f"{what}{of}, measured over derived"),
        layers=tuple(layers),
    )
