"""The first page: what it asks and answers, and the numbers that say so or say otherwise."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from verify.evidence import Check, ClaimRecord, Proof, RunRecord, Verdict
from verify.evidence.words import (
    MOST_SERIOUS_FIRST,
    at_settings,
    badge,
    capitalised,
    cell_text,
    closed,
    decisive_check,
    predicted,
    sentence,
)
from verify.report.cards import named
from verify.report.tables import value_of
from verify.text import numbers
from verify.text.latex import Prose, slashed

TITLE = "Scaled dot-product attention: what is true, and how we know"
FEW = 3
"""A report of at most this many claims shows the derivation and the figure of each on its first page."""
_QUESTION = r"Why are scores divided by $\sqrt{d_k}$?"
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
            r"Without it, the larger of two softmax weights tends to 1 as $d_k$ grows, and their softmax "
            r"transmits less gradient. Yet not all gradients vanish: for a given number of keys the typical "
            r"one does in high dimension, while their root mean square grows."
        ),
        ("softmax-saturation", "jacobian-saturation", "vanishing-or-exploding"),
    ),
)
"""The sentences of the answer, each with the claims that it rests on."""
_KEYS = {
    "score-variance.slope": r"variance of $q\cdot k$ per dimension",
    "sqrt-scaling.level": r"variance of $q\cdot k/\sqrt{d_k}$, all widths",
    "softmax-saturation.raw-two-keys-d64": "mean of the larger of two weights, unscaled",
    "jacobian-saturation.unscaled-d64": r"two keys, mean $\lVert J\rVert^2$ of the Jacobian, unscaled",
    "vanishing-or-exploding.rms-grows": "r.m.s. of a query’s gradient, unscaled/scaled, 16 keys, $d_v$ = 8",
}
"""The checks that stand on the first page, and what they compare."""


class KeyNumber(NamedTuple):
    """A number of the first page, with its check; ``link`` is the check's anchor.

    ``interval`` is the simultaneous interval, which judges; ``tolerance`` says how far it may reach from what
    is predicted, and which way where that is a bound.
    """

    link: str
    check: Check
    what: Prose
    predicted: str
    estimate: str
    interval: str
    tolerance: str


class Failure(NamedTuple):
    """What a run refutes: in a few words with its number, in full, and where the evidence is."""

    link: str
    short: Prose
    whole: Prose


def is_led(record: RunRecord) -> bool:
    """Return whether a report is about the claims asked for: the usual answer needs others."""
    needed = {name for _, rests in _ANSWER for name in rests}
    asked = record.run.claims or record.run.own_sources or record.run.pack
    return bool(asked) and not needed <= {claim.id for claim in record.claims}


def title_of(record: RunRecord) -> Prose:
    """Return the title of the report: as given, else that of its only claim, else the usual title."""
    if given := record.run.presentation.title:
        return Prose(given)
    if not is_led(record):
        return Prose(TITLE)
    count = len(record.claims)
    if not record.run.claims:
        return Prose("Statements about attention, decided")
    return Prose(record.claims[0].title if count == 1 else f"{count} claims about attention, verified")


def question_of(record: RunRecord) -> Prose:
    """Return the question of the first page: as given, else that of its claims."""
    asked = "Is it true?" if len(record.claims) == 1 else "Are they true?"
    return Prose(record.run.presentation.question or (asked if is_led(record) else _QUESTION))


def answers(claims: Mapping[str, ClaimRecord]) -> Iterator[tuple[Prose, tuple[Prose, ...]]]:
    """Yield the sentences of the usual answer, each with what of its claims this run did not confirm."""
    for text, rests in _ANSWER:
        against: dict[str, None] = {}
        for claim in map(claims.get, rests):
            if claim is None:
                against["a claim is not part of this run"] = None
            elif claim.verdict is not Verdict.CONFIRMED:
                against[f"“{claim.title}” is {claim.verdict}"] = None
        yield Prose(text), tuple(map(Prose, against))


def failures(record: RunRecord) -> Iterator[Failure]:
    """Yield what a run refutes, claim by claim: what failed, and by how much."""
    for claim in record.claims:
        if claim.derivation.status is Proof.FAILED:
            short = f"The derivation of “{claim.title}” fails"
            yield Failure(claim.id, Prose(short), Prose(closed(claim.derivation.reason)))
        refuted = [check for check in claim.checks if check.verdict is Verdict.REFUTED]
        if claim.verdict is Verdict.REFUTED and refuted:
            check = max(refuted, key=lambda check: check.deviation)
            wanted = numbers.beside(check.prediction, check.standard_error)
            against = {
                "=": f"not {wanted}",
                "≤": f"above the bound {wanted}",
                "≥": f"below the bound {wanted}",
            }
            short = f"{check.quantity}{at_settings(check)} is {value_of(check)}, {against[check.relation]}"
            # How far it is off as a share of what was predicted; of zero there is none.
            if apart := numbers.apart(check.estimate, check.prediction):
                short += f": {apart}"
            whole = sentence(check, derived=claim.derivation.status.stands) if check.method != "exact" else ""
            if len(refuted) > 1:
                whole = f"{whole} {len(refuted)} checks of this claim are refuted.".strip()
            yield Failure(f"{claim.id}.{check.id}", Prose(short), Prose(capitalised(whole)))
    for stated in record.statements:
        if record.run.own_sources and record.fails(stated):
            short = f"Statement {stated.id} is {badge(stated.outcome).word}: {stated.text}"
            reasons = " ".join(closed(part.reason) for part in stated.parts if not part.holds)
            yield Failure(f"statement-{stated.id}", Prose(short), Prose(reasons))


def numbers_of(claim: ClaimRecord, most: int) -> tuple[KeyNumber, ...]:
    """Return the numbers of a claim that the first page prints: what failed first, then evenly chosen."""
    checks = sorted(claim.checks, key=lambda check: MOST_SERIOUS_FIRST.index(check.verdict))
    failing = [check for check in checks if check.verdict is not Verdict.CONFIRMED][:most]
    others = [check for check in checks if check.verdict is Verdict.CONFIRMED]
    room = most - len(failing)
    if len(others) > room:
        others = [others[place * (len(others) - 1) // max(room - 1, 1)] for place in range(room)]
    return tuple(_key_number(claim, check, named(check)) for check in (*failing, *others))


def key_numbers(record: RunRecord) -> Iterator[KeyNumber]:
    """Yield the numbers of the first page: the usual, or a number of each claim that a report is about."""
    if is_led(record):
        for claim in record.claims:
            if check := decisive_check(claim.checks):
                yield _key_number(claim, check, named(check))
        return
    checks = {f"{claim.id}.{check.id}": (claim, check) for claim in record.claims for check in claim.checks}
    for key, what in _KEYS.items():
        if key in checks:
            claim, check = checks[key]
            width = cell_text({name: value for name, value in check.cell.items() if name == "d_k"})
            yield _key_number(claim, check, ", ".join(filter(None, [what, width])))


def _key_number(claim: ClaimRecord, check: Check, what: str) -> KeyNumber:
    is_exact = check.method == "exact"
    measured = numbers.estimate(check.estimate, check.standard_error, check.interval)
    # A share of nothing would be nothing: beside 0 stands how far off it may be.
    room = numbers.tolerance(check.tolerance) if check.prediction else numbers.small(check.half_width)
    sign = {"=": "±", "≤": "+", "≥": "−"}[check.relation]
    return KeyNumber(
        link=f"{claim.id}.{check.id}",
        check=check,
        what=Prose(slashed(what)),
        predicted=predicted(check, check.standard_error),
        estimate=value_of(check) if is_exact else measured.with_error,
        interval="exact" if is_exact else measured.interval,
        tolerance="" if is_exact else f"{sign}{room}",
    )
