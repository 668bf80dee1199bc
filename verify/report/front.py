"""The first pages: what is asked and answered, how it is derived, and the numbers and scenes that show it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from verify.evidence import (
    Axis,
    ChainRecord,
    Check,
    ClaimRecord,
    Figure,
    OrdinaryFit,
    PlotLayer,
    Proof,
    RunRecord,
    Verdict,
    words,
)
from verify.files import shipped_table
from verify.report.cards import Card, named, summed_up
from verify.report.tables import FigureView, drawing, sample_size, shared_settings, value_of
from verify.text import numbers
from verify.text.latex import Prose, slashed

FEW = 3
"""A report of at most this many claims shows the derivation and the figure of each on its first page."""
PLAN = shipped_table("report")
"""What the report says in words of its own, and which claims, checks and figures it shows where."""
_RATIO = "ratio"
_LOW = re.compile(r"\\left(\(|\[)((?:(?!\\left|\\right|\\sum|\\frac).)*)\\right(\)|\])")
_SUM, _SCORE = r"\sum_{i=1}^{d_{k}} q_{i} k_{i}", r"q\cdot k"
_SQUARED_MEAN = re.compile(r"(\\mathbb\{E\}\\left\[(?:(?!\\left|\\right).)*\\right\])\^\{2\}")
_ROOM = {1: 20, 2: 14, 3: 10}  # numbers of a claim on the first page, by the number of claims
_FEWEST = 3  # dimensions of a figure over them
_FINER = 30  # parts of a band that its printed ends tell apart


class KeyNumber(NamedTuple):
    """A number of the first page: what it is, and its check, of which ``link`` is the anchor."""

    link: str
    check: Check
    what: Prose


class Failure(NamedTuple):
    """What a run refutes: in a few words with its number, in full, and where the evidence is."""

    link: str
    short: Prose
    whole: Prose


class Derived(NamedTuple):
    """Derivations under one heading, each with its claim's card, and what all of them assume."""

    id: str
    title: str
    assumptions: tuple[Prose, ...]
    chains: tuple[tuple[Card, ChainRecord], ...]


class FittedLine(NamedTuple):
    """The line through a claim's measured variances; ``about`` names what, its law and how much was drawn.

    ``rows`` are its coefficients, and how far it is from the points, each with what it is and tolerates, its
    check, and where its interval has to lie.
    """

    about: Prose
    rows: tuple[tuple[Prose, Check, str], ...]


class Lead(NamedTuple):
    """A claim that the first page is about, with its derivation, its numbers and its figures there."""

    card: Card
    derived: Derived | None
    keys: tuple[KeyNumber, ...]
    figures: tuple[FigureView, ...]


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


Point = tuple[int, float, float, float, str, str]
"""Dimension, estimate, both ends of the interval, the estimate as it is printed, and the check's key."""


class LessonScene(NamedTuple):
    """A scene: its name, its claim, the figure that stands for it where nothing moves, its points by series.

    ``numbers`` are the measured values that its words name, as they are printed, by their keys.
    """

    name: str
    claim: str
    still: FigureView
    points: Mapping[str, Sequence[Point]]
    numbers: Mapping[str, str]


def is_led(record: RunRecord) -> bool:
    """Return whether a report is about the claims asked for: the usual answer needs others."""
    needed = {name for answer in PLAN["answer"] for name in answer["rests"]}
    asked = record.run.claims or record.run.own_sources or record.run.pack
    return bool(asked) and not needed <= {claim.id for claim in record.claims}


def answers(cards: Mapping[str, Card]) -> Iterator[tuple[Prose, tuple[Prose, ...]]]:
    """Yield the sentences of the usual answer, each with what of its claims this run did not confirm."""
    for answer in PLAN["answer"]:
        against: dict[str, None] = {}
        for name in answer["rests"]:
            if name not in cards:
                against["a claim is not part of this run"] = None
            elif (claim := cards[name].claim).verdict is not Verdict.CONFIRMED:
                against[f"“{claim.title}” is {claim.verdict}"] = None
        yield Prose(answer["text"]), tuple(map(Prose, against))


def failures(record: RunRecord) -> Iterator[Failure]:
    """Yield what a run refutes, claim by claim: what failed, and by how much."""
    for claim in record.claims:
        if claim.derivation.status is Proof.FAILED:
            short = f"The derivation of “{claim.title}” fails"
            yield Failure(claim.id, Prose(short), Prose(words.closed(claim.derivation.reason)))
        refuted = [check for check in claim.checks if check.verdict is Verdict.REFUTED]
        if claim.verdict is Verdict.REFUTED and refuted:
            check = max(refuted, key=lambda check: check.deviation)
            wanted = numbers.beside(check.prediction, check.standard_error)
            against = {"=": "not", "≤": "above the bound", "≥": "below the bound"}[check.relation]
            short = f"{check.quantity}{words.at_settings(check)} is {value_of(check)}, {against} {wanted}"
            # How far it is off as a share of what was predicted; of zero there is none.
            if apart := numbers.apart(check.estimate, check.prediction):
                short += f": {apart}"
            whole = words.closed(summed_up(check)) if check.method != "exact" else ""
            if len(refuted) > 1:
                whole = f"{whole} {len(refuted)} checks of this claim are refuted.".strip()
            yield Failure(f"{claim.id}.{check.id}", Prose(short), Prose(words.capitalised(whole)))
    for stated in record.statements:
        if record.run.own_sources and record.fails(stated):
            short = f"Statement {stated.id} is {words.badge(stated.outcome).word}: {stated.text}"
            reasons = " ".join(words.closed(part.reason) for part in stated.parts if not part.holds)
            yield Failure(f"statement-{stated.id}", Prose(short), Prose(reasons))


def key_numbers(record: RunRecord) -> Iterator[KeyNumber]:
    """Yield the numbers of the first page: the usual, or a number of each claim that a report is about."""
    if is_led(record):
        decisive = ((claim, words.decisive_check(claim.checks)) for claim in record.claims)
        yield from (_key_number(claim, check) for claim, check in decisive if check)
        return
    checks = {f"{claim.id}.{check.id}": check for claim in record.claims for check in claim.checks}
    for key, what in PLAN["numbers"].items():
        if check := checks.get(key):
            width = words.cell_text({name: value for name, value in check.cell.items() if name == "d_k"})
            yield KeyNumber(key, check, Prose(slashed(", ".join(filter(None, [what, width])))))


def _key_number(claim: ClaimRecord, check: Check) -> KeyNumber:
    what = slashed(named(check) + words.at_settings(check))
    return KeyNumber(f"{claim.id}.{check.id}", check, Prose(what))


def leads(cards: Mapping[str, Card]) -> Iterator[Lead]:
    """Yield the few claims that a report is about, as the first page has them, what is refuted first."""
    ratio = {view.key.partition(".")[0]: view for view in ratio_views(tuple(cards.values()))}
    for card in sorted(cards.values(), key=lambda card: card.claim.verdict is not Verdict.REFUTED):
        claim, derived = card.claim, None
        if claim.derivation.chains:
            chain = _main(claim)
            derived = Derived(claim.id, chain.title, card.assumptions, ((card, _as_written(chain)),))
        # As many numbers as there is room for: what failed first, then evenly chosen.
        most = _ROOM[len(cards)]
        checks = sorted(claim.checks, key=lambda check: words.MOST_SERIOUS_FIRST.index(check.verdict))
        failing = [check for check in checks if check.verdict is not Verdict.CONFIRMED][:most]
        others = [check for check in checks if check.verdict is Verdict.CONFIRMED]
        room = most - len(failing)
        if len(others) > room:
            others = [others[place * (len(others) - 1) // max(room - 1, 1)] for place in range(room)]
        keys = tuple(_key_number(claim, check) for check in (*failing, *others))
        figures = card.figures[: 2 if len(cards) == 1 else 1]
        yield Lead(card, derived, keys, (*figures, *(ratio[name] for name in ratio if name == claim.id)))


def opening(cards: Mapping[str, Card]) -> Opening | None:
    """Return the start of the report, or None where a run lacks one of its claims or a derivation fails."""
    standing = {name: card for name, card in cards.items() if card.claim.derivation.status.stands}
    first = [standing[name] for name in PLAN["opening"] if name in standing]
    if len(first) < len(PLAN["opening"]):
        return None
    chains = [(first[0], _main(first[0].claim))]
    for card in first[1:]:
        # The shortest way to what the claim says, from the same start.
        others = [chain for chain in card.claim.derivation.chains if chain.start == _main(card.claim).start]
        chains.append((card, min(others, key=lambda chain: len(chain.lines))))
    # Of the derivations of the second page, those that a run has and that stand.
    further = []
    for key, wanted in PLAN["derivations"].items():
        whole = [
            (standing[claim], chain)
            for claim, name in wanted["chains"]
            if claim in standing
            for chain in standing[claim].claim.derivation.chains
            if chain.name == name
        ]
        if whole:
            further.append(_derived(key, wanted["title"], whole))
    fits = [check for card in first for check in card.claim.checks if check.method == "fit"]
    figures = {view.key: view for card in cards.values() for view in card.figures}
    return Opening(
        derived=_derived("", "", chains, unfold=1),
        further=tuple(further),
        fits=tuple(_fitted(card) for card in first if any(check in fits for check in card.claim.checks)),
        level=numbers.level(min(check.level for check in fits)) if fits else "",
        ordinary=next(iter(first[0].claim.fits), None),
        histograms=tuple(figures[key] for key in PLAN["histograms"] if key in figures),
        ratios=tuple(ratio_views(first)),
    )


def _derived(name: str, title: str, chains: Sequence[tuple[Card, ChainRecord]], unfold: int = 0) -> Derived:
    """Return chains under a heading; the first ``unfold`` of them say that a score is a sum, and go on so."""
    assumed = [chain.assumptions for _, chain in chains]
    shared = (Prose(text) for text in assumed[0] if all(text in of for of in assumed))
    written = (
        (card, _as_written(chain, unfolds=place < unfold)) for place, (card, chain) in enumerate(chains)
    )
    return Derived(name, title, tuple(shared), tuple(written))


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
    law = words.cell_text(settings, without=("d_k", "block"))
    # One law for both sides is that of their components.
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
    for check in checks:
        tolerance = words.tolerance_text(check.model_copy(update={"tolerance_because": ""}))
        band = [end for end in check.band if end is not None]
        ends = [numbers.beside(end, (max(band) - min(band)) / _FINER) for end in band]
        rows.append(
            (Prose(f"{check.quantity.rpartition(' of ')[0]} ({tolerance})"), check, " to ".join(ends))
        )
    return FittedLine(Prose(about), tuple(rows))


def ratio_views(cards: Sequence[Card]) -> Iterator[FigureView]:
    """Yield the figures of measured over derived values of claims, as they are printed."""
    numbered = {card.claim.id: card.number for card in cards}
    for key, figure in ratios({card.claim.id: card.claim for card in cards}).items():
        yield drawing(key, figure, f"{numbered[key.partition('.')[0]]}, as a ratio")


def ratios(claims: Mapping[str, ClaimRecord]) -> dict[str, Figure]:
    """Return the figures of measured over derived values by key, of claims measured in several dimensions."""
    return {
        f"{name}.{_RATIO}": _ratio(claim)
        for name, claim in claims.items()
        if len({check.cell["d_k"] for check in _points(claim)}) >= _FEWEST
    }


def _ratio(claim: ClaimRecord) -> Figure:
    """Draw each estimate over its prediction, with its interval, before the band of what is tolerated.

    On an axis of powers of ten neither an interval nor a tolerance of 1% can be seen. What the controls
    predict that move a value just too far stands beside.
    """
    points, score = _points(claim), PLAN["opening"].get(claim.id, "")
    what, of = ("variance", f" of {score}") if score else ("value", "")
    places = tuple(float(check.cell["d_k"]) for check in points)
    share = numbers.percent(points[0].tolerance)
    holds = all(check.verdict is Verdict.CONFIRMED for check in points)
    # Of the band and of what is measured, each a middle with its two ends.
    tolerated = zip(*((1.0, 1 - check.tolerance, 1 + check.tolerance) for check in points), strict=True)
    shares = [[end / check.prediction for end in (check.estimate, *check.interval)] for check in points]
    layers = [
        PlotLayer(kind=kind, role=role, label=label, x=places, y=y, lo=low, hi=high)
        for kind, role, label, (y, low, high) in (
            ("band", "truth", f"derived, ±{share}", tolerated),
            ("points", "measured", "measured", zip(*shares, strict=True)),
        )
    ]
    # Off by twice a tolerance is the usual control of a check in its setting; further off is that of another
    # quantity there.
    too_far = {
        float(check.cell["d_k"]): control.prediction / check.prediction
        for control in claim.controls
        for check in points
        if control.is_near_miss
        and control.cell == check.cell
        and 1 < abs(control.prediction / check.prediction - 1) / check.tolerance < 3
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


def scenes(cards: Mapping[str, Card]) -> Iterator[LessonScene]:
    """Yield the scenes that the page draws: of claims that were confirmed, with all that their words name."""
    for name, plan in PLAN["scenes"].items():
        card = cards.get(plan["claim"])
        stills = [view for view in card.figures if view.key == plan["figure"]] if card else []
        if card is None or not stills or card.claim.verdict is not Verdict.CONFIRMED:
            continue
        checks = {check.id: check for check in card.claim.checks}
        points: dict[str, list[Point]] = {series: [] for series in plan["drawn"]}
        for series, patterns in plan["drawn"].items():
            for check in checks.values():
                if "d_k" in check.cell and any(fnmatchcase(check.id, pattern) for pattern in patterns):
                    value, low, high = (float(f"{end:.5g}") for end in (check.estimate, *check.interval))
                    key = f"{card.claim.id}.{check.id}"
                    points[series].append((int(check.cell["d_k"]), value, low, high, value_of(check), key))
        if checks.keys() >= set(plan["named"]):
            said = {f"{card.claim.id}.{check}": value_of(checks[check]) for check in plan["named"]}
            yield LessonScene(name, card.claim.id, stills[0], points, said)
