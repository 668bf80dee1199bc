"""The first page: what it asks and answers, the numbers that say so or say otherwise, and the lesson."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from verify.evidence import Check, ClaimRecord, Proof, RunRecord, Verdict
from verify.evidence.words import (
    Badge,
    at_settings,
    badge,
    capitalised,
    cell_text,
    closed,
    decisive_check,
    predicted,
    sentence,
)
from verify.report.cards import Card, FigureView, alone, named, value_of
from verify.report.tables import sample_size
from verify.text import numbers
from verify.text.latex import Prose, slashed

TITLE = "Scaled dot-product attention: what is true, and how we know"
FEW = 3
"""A report of at most this many claims shows the derivation and the figure of each on its first page."""

_QUESTION = r"Why are scores divided by $\sqrt{d_k}$?"
_TIMES = 2  # from which on a quotient says more than percent
_MOST = 8  # numbers of a claim on the first page
_SERIOUS = (Verdict.REFUTED, Verdict.UNDECIDED, Verdict.APPROXIMATE, Verdict.CONFIRMED)
_ANSWER = (
    (
        (
            r"If the components of a query $q$ and a key $k$ are independent with mean 0 and variance 1, "
            r"each of the $d_k$ dimensions adds 1 to the variance of the score $q\cdot k$. Dividing by "
            r"$\sqrt{d_k}$ restores variance 1 at every width, and only $\pm1/\sqrt{d_k}$ does."
        ),
        ("score-variance", "sqrt-scaling-unique"),
    ),
    (
        (
            r"Without it, the larger of two softmax weights tends to 1 as $d_k$ grows, and the softmax "
            r"transmits less gradient. Yet not all gradients vanish: the typical one does, while their root "
            r"mean square grows."
        ),
        ("softmax-saturation", "jacobian-saturation", "vanishing-or-exploding"),
    ),
)
"""The sentences of the answer, each with the claims that it rests on."""
_KEYS = {
    "score-variance.slope": r"variance of $q\cdot k$ per dimension",
    "sqrt-scaling.level": r"variance of $q\cdot k/\sqrt{d_k}$, all widths",
    "softmax-saturation.raw-two-keys-d64": "larger of two weights, unscaled",
    "jacobian-saturation.unscaled-d64": r"mean $\lVert J\rVert^2$, two keys, unscaled",
    "vanishing-or-exploding.rms-grows": "r.m.s. gradient, unscaled/scaled",
}
"""The checks that stand on the first page, and what they compare."""


class KeyNumber(NamedTuple):
    """A measured number of the first page; ``link`` is the anchor of its check.

    ``alone`` is its 95% interval by itself, ``interval`` the simultaneous one, which judges; ``tolerance`` is
    that of the check, ``sample`` its blocks and draws.
    """

    link: str
    what: Prose
    predicted: str
    estimate: str
    alone: str
    interval: str
    tolerance: str
    sample: str
    verdict: Badge


class Failure(NamedTuple):
    """What a run found to be false: in a few words with its number, in full, and where the evidence is."""

    link: str
    short: Prose
    whole: Prose


def is_led(record: RunRecord) -> bool:
    """Return whether a report is about the claims asked for: the usual answer needs others."""
    needed = {name for _, rests in _ANSWER for name in rests}
    asked = record.run.claims or record.run.own_sources or record.run.pack
    return bool(asked) and not needed <= {claim.id for claim in record.claims}


def title_of(record: RunRecord) -> Prose:
    """Return the title of the report: the one given, else that of its only claim, else the usual one."""
    if given := record.run.presentation.title:
        return Prose(given)
    if not is_led(record):
        return Prose(TITLE)
    count = len(record.claims)
    if not record.run.claims:
        return Prose("Statements about attention, decided")
    return Prose(record.claims[0].title if count == 1 else f"{count} claims about attention, verified")


def question_of(record: RunRecord) -> Prose:
    """Return the question of the first page: the one given, else that of its claims."""
    asked = "Is it true?" if len(record.claims) == 1 else "Are they true?"
    return Prose(record.run.presentation.question or (asked if is_led(record) else _QUESTION))


def answers(claims: Mapping[str, ClaimRecord]) -> tuple[tuple[Prose, tuple[Prose, ...]], ...]:
    """Return the sentences of the usual answer, each with what of its claims this run did not confirm."""
    return tuple((Prose(text), _against(claims.get(name) for name in rests)) for text, rests in _ANSWER)


def failures(record: RunRecord) -> tuple[Failure, ...]:
    """Return what a run found to be false, claim by claim: what failed, and by how much."""
    return tuple(_failures(record))


def _failures(record: RunRecord) -> Iterator[Failure]:
    for claim in record.claims:
        check = decisive_check(claim.checks) or next(iter(claim.checks), None)
        refuted = [one for one in claim.checks if one.verdict is Verdict.REFUTED]
        if check is None or check.verdict is not Verdict.REFUTED:
            check = next(iter(refuted), None)
        if claim.derivation.status is Proof.FAILED:
            whole = closed(claim.derivation.reason)
            yield Failure(claim.id, Prose(f"The derivation of “{claim.title}” fails"), Prose(whole))
        if check is not None and claim.verdict is Verdict.REFUTED:
            found = f"{check.quantity}{at_settings(check)} is {value_of(check)}, {_by_how_much(check)}"
            derived = claim.derivation.status.stands
            whole = "" if check.method == "exact" else sentence(check, derived=derived)
            more = f" {len(refuted)} checks of this claim are refuted." if len(refuted) > 1 else ""
            yield Failure(
                f"{claim.id}.{check.id}", Prose(found), Prose(capitalised(f"{whole}{more}".strip()))
            )
    for one in record.statements:
        if record.run.own_sources and record.fails(one):
            reasons = " ".join(closed(part.reason) for part in one.parts if not part.holds)
            what = f"Statement {one.id} is {badge(one.outcome).word}: {one.text}"
            yield Failure(f"statement-{one.id}", Prose(what), Prose(reasons))


def _by_how_much(check: Check) -> str:
    """Return what was predicted, and how far the estimate is from it: as a share of it, but for zero."""
    wanted = numbers.beside(check.prediction, check.standard_error)
    named = {"=": f"not {wanted}", "≤": f"above the bound {wanted}", "≥": f"below the bound {wanted}"}
    if not check.prediction:
        return named[check.relation]
    share = check.estimate / check.prediction
    if share >= _TIMES:
        return f"{named[check.relation]}: {numbers.exact(share, 3)} times as large"
    return f"{named[check.relation]}: off by {numbers.exact(100 * abs(share - 1), 2)}%"


def numbers_of(claim: ClaimRecord, most: int = _MOST) -> tuple[KeyNumber, ...]:
    """Return the numbers of a claim that the first page prints: what failed first, then evenly chosen."""
    checks = sorted(claim.checks, key=lambda one: _SERIOUS.index(one.verdict))
    failing = [one for one in checks if one.verdict is not Verdict.CONFIRMED][:most]
    others = [one for one in checks if one.verdict is Verdict.CONFIRMED]
    room = most - len(failing)
    if len(others) > room:
        others = [others[place * (len(others) - 1) // max(room - 1, 1)] for place in range(room)]
    return tuple(_key_number(claim, one, named(one)) for one in (*failing, *others))


def _key_number(claim: ClaimRecord, check: Check, what: str) -> KeyNumber:
    exact = check.method == "exact"
    found = numbers.estimate(check.estimate, check.standard_error, check.interval)
    return KeyNumber(
        link=f"{claim.id}.{check.id}",
        what=Prose(slashed(what)),
        predicted=predicted(check, check.standard_error),
        estimate=value_of(check) if exact else found.with_error,
        alone="" if exact else alone(check),
        interval="exact" if exact else found.interval,
        tolerance=_tolerance(check),
        sample=sample_size(check),
        verdict=badge(check.verdict),
    )


def _tolerance(check: Check) -> str:
    """Return how far the interval may reach from what is predicted, and which way where that is a bound."""
    sign = {"=": "±", "≤": "+", "≥": "−"}[check.relation]
    return f"{sign}{numbers.percent(check.tolerance)}" if check.method != "exact" else ""


def key_numbers(record: RunRecord) -> tuple[KeyNumber, ...]:
    """Return the numbers of the first page: the usual ones, or one of each claim that a report is about."""
    if is_led(record):
        decisive = ((one, decisive_check(one.checks)) for one in record.claims)
        found = ((one, check) for one, check in decisive if check is not None)
        return tuple(_key_number(one, check, named(check)) for one, check in found)
    return tuple(_usual_numbers({claim.id: claim for claim in record.claims}))


def _against(claims: Iterable[ClaimRecord | None]) -> tuple[Prose, ...]:
    """Return what of the claims that a sentence rests on this run did not confirm."""
    against = (
        f"“{claim.title}” is {claim.verdict}" if claim else "a claim is not part of this run"
        for claim in claims
        if claim is None or claim.verdict is not Verdict.CONFIRMED
    )
    return tuple(Prose(one) for one in dict.fromkeys(against))


def _usual_numbers(claims: Mapping[str, ClaimRecord]) -> Iterator[KeyNumber]:
    for key, what in _KEYS.items():
        name, _, wanted = key.partition(".")
        for check in claims[name].checks if name in claims else ():
            if check.id == wanted:
                width = cell_text({name: value for name, value in check.cell.items() if name == "d_k"})
                yield _key_number(claims[name], check, ", ".join(filter(None, [what, width])))


Point = tuple[int, float, float, float, str, str]
"""Dimension, estimate, both ends of the interval, the estimate as it is printed, and the check's key."""


class _Plan(NamedTuple):
    """What a scene needs of its claim: its figure, the checks that its words name, and those it draws.

    The latter by the name of their series and the starts of their ids; those of 16 keys where keys differ.
    """

    claim: str
    figure: str
    named: tuple[str, ...]
    drawn: Mapping[str, tuple[str, ...]]


_PLANS = {
    "variance": _Plan(
        "score-variance",
        "variance-line",
        ("variance-d64", "variance-d512", "variance-d1024", "slope"),
        {"variance": ("variance-d",)},
    ),
    "softmax": _Plan(
        "attention-concentration",
        "freezing",
        ("raw-n16-d64", "raw-n256-d64", "scaled-n16-d64"),
        {f"{side}-n{n}": (f"{side}-n{n}-d",) for side in ("raw", "scaled") for n in (16, 256)},
    ),
    "gradient": _Plan(
        "vanishing-or-exploding",
        "two-answers",
        (
            "median-above-1-n16-d16",
            "median-below-1-n16-d128",
            "median-vanishes",
            "rms-queries-d16",
            "rms-queries-d64",
            "rms-grows",
        ),
        {
            "median": ("median-above-1-n16-d", "median-below-1-n16-d", "median-vanishes"),
            "rms": ("rms-queries-d", "rms-grows"),
        },
    ),
}
_OTHER_QUANTITIES = ("rms-grows-keys", "rms-grows-values")


class LessonScene(NamedTuple):
    """A scene: its name, its claim, the figure that stands for it where nothing moves, its points by series.

    ``numbers`` are the measured values that its words name, as they are printed, by their keys.
    """

    name: str
    claim: str
    still: FigureView
    points: Mapping[str, tuple[Point, ...]]
    numbers: Mapping[str, str]


STILLS = tuple(f"{plan.claim}.{plan.figure}" for plan in _PLANS.values())
"""The figures that stand for the scenes where nothing moves."""


def scenes(cards: Mapping[str, Card]) -> Iterator[LessonScene]:
    """Yield the scenes whose claim the run confirmed, with all that their words name."""
    for name, plan in _PLANS.items():
        if plan.claim not in cards or cards[plan.claim].claim.verdict is not Verdict.CONFIRMED:
            continue
        claim = cards[plan.claim].claim
        checks = {check.id: check for check in claim.checks}
        stills = [one for one in cards[plan.claim].figures if one.key == f"{claim.id}.{plan.figure}"]
        if not stills or not checks.keys() >= set(plan.named):
            continue
        yield LessonScene(
            name,
            claim.id,
            stills[0],
            {series: tuple(_points(claim, starts)) for series, starts in plan.drawn.items()},
            {f"{claim.id}.{one}": _printed(checks[one]) for one in plan.named},
        )


def _points(claim: ClaimRecord, starts: Sequence[str]) -> Iterator[Point]:
    for check in claim.checks:
        width = check.cell.get("d_k")
        wanted = check.id.startswith(tuple(starts)) and check.id not in _OTHER_QUANTITIES
        if wanted and isinstance(width, int):
            value, low, high = (float(f"{one:.5g}") for one in (check.estimate, *check.interval))
            yield width, value, low, high, _printed(check), f"{claim.id}.{check.id}"


def _printed(check: Check) -> str:
    return numbers.estimate(check.estimate, check.standard_error, check.interval).alone
