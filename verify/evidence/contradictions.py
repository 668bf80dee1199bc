"""What a loaded record contradicts: of files, stores and clusters nothing is believed that can be worked out.

Verdicts, statements and budgets are made again, by the rules of ``judging``, from the numbers beside them.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cache

from verify.evidence.audits import AuditRecord, Finding, Judgement
from verify.evidence.claims import Band, Check, ClaimRecord, ControlRecord, DerivationRecord, Proof, Verdict
from verify.evidence.comparisons import Agreement, ComparisonRecord
from verify.evidence.judging import (
    MAX_LOOKS,
    OF_ITSELF,
    PLACES,
    WIDE,
    ErrorBudget,
    Interval,
    claim_verdict,
    judge,
    judge_exact,
    outcome_of,
)
from verify.evidence.runs import Outcome, Part, RunRecord, Settings, Statement
from verify.files.names import shipped_folder
from verify.text.numbers import as_printed, rounds_to

_DECIMAL = re.compile(r"-?\d+\.\d+(?:e[-+]\d\d?\d?)?", re.ASCII)
_CLOSE, _ROUNDING = 1e-9, 1e-15
_OWN_BANDS: dict[str, Band] = {
    "mask": (None, 0.0),
    "scale-applied": (1 - 1e-6, 1 + 1e-6),
    "scale-implied": (0.99, 1.01),
    "reconstruction": (None, 1.0),
    "overflow": (None, 1.0),
}
"""What an audit's findings are compared with."""
_BY_LEAST_REACH = {
    "numerically": Proof.AT_EXAMPLES,
    "these-values": Proof.AT_EXAMPLES,
    "reviewed": Proof.REVIEWED,
    "all-values": Proof.PROVED,
}
"""What a derivation is called by the least reach of its steps."""
_BFLOAT16 = 2.0**-8
_VECTORS = {"x", "q", "k", "v"}


def contradictions(record: RunRecord | AuditRecord | ComparisonRecord) -> Iterator[str]:
    """Return what in a record its own numbers contradict, with the place."""
    if isinstance(record, RunRecord):
        return contradictions_of_run(record)
    return _of_audit(record) if isinstance(record, AuditRecord) else _of_comparison(record)


def contradictions_of_claim(claim: ClaimRecord, chosen: Settings | None) -> Iterator[str]:
    """Yield what in a claim's record its own numbers and the run's settings contradict, with the place.

    Where the settings are not known, level and width of its checks are not judged.
    """
    for check in claim.checks:
        yield from (f"check {check.id}: {one}" for one in _of_check(check, chosen))
    for control in claim.controls:
        yield from (f"control {control.id}: {one}" for one in _of_control(control))
    for fact in claim.facts:
        wrong_value = not is_value_of(fact.latex, fact.value)
        yield from [f"fact {fact.id}: its value is not that of its formula"] * wrong_value
    yield from contradictions_of_derivation(claim.derivation)
    # A derivation that failed ends its claim before there is any evidence.
    if claim.derivation.status is Proof.FAILED and (claim.checks or claim.controls):
        yield "its derivation failed, and it has evidence"
    derived = {one.id for one in claim.checks if one.method != "exact" and one.origin == "derived"}
    if not derived <= set(claim.derivation.bound) <= {one.id for one in claim.checks}:
        yield "its derivation is bound to other checks than those whose predictions are called derived"
    proof = claim.derivation
    verdict, reason = claim_verdict(proof.status, proof.reason, claim.checks, claim.controls)
    if claim.verdict is not verdict:
        yield f"its verdict is {claim.verdict}, its checks and controls make it {verdict}"
    elif claim.reason != reason:
        yield f"its reason is not that of its verdict, {reason!r}"


def is_value_of(latex: str, value: float) -> bool:
    """Return whether a formula may have this value; of one of more than numbers that is not known."""
    if _DECIMAL.fullmatch(latex):
        written = Decimal(latex)
        half = Decimal(5).scaleb(int(written.as_tuple().exponent) - 1)
        # A tie is rounded either way, for its float lies a little beside it.
        return math.isfinite(value) and abs(Decimal(value) - written) <= half * Decimal("1.000001")
    return True


def _where(wrong: Mapping[str, bool]) -> Iterator[str]:
    return (text for text, applies in wrong.items() if applies)


def _ends(band: Band) -> Interval:
    low, high = band
    return -math.inf if low is None else low, math.inf if high is None else high


def _is_point(one: Check | ControlRecord) -> bool:
    """Return whether a value was computed and nothing drawn."""
    return (one.blocks, one.draws, one.interval) == (0, 0, (one.estimate, one.estimate))


def _reaches(one: Check | ControlRecord, width: float) -> bool:
    """Return whether the band reaches this far from the prediction on each side that it has."""
    rounding = _ROUNDING * abs(one.prediction)
    sides = (abs(end - one.prediction) for end in one.band if end is not None)
    return all(math.isclose(side, width, rel_tol=_CLOSE, abs_tol=rounding) for side in sides)


def _farthest(one: Check | ControlRecord) -> float:
    return max(abs(end - one.prediction) for end in one.band if end is not None)


def _of_check(check: Check, chosen: Settings | None) -> Iterator[str]:
    if not is_value_of(check.prediction_latex.rpartition("=")[2].strip(), check.prediction):
        yield "its prediction is not the value of its formula"
    yield from _of_exact(check) if check.method == "exact" else _of_measured(check, chosen)


def _of_exact(check: Check) -> Iterator[str]:
    judged = judge_exact(check.estimate, _ends(check.band))
    yield from _where(
        {
            f"its verdict is {check.verdict}, its value makes it {judged}": check.verdict is not judged,
            "it is exact, and has draws, looks or an interval of more than its value": (
                not _is_point(check) or (check.looks, check.level) != (0, 1.0)
            ),
            "its band is not its prediction with its tolerance": not _reaches(check, check.tolerance),
        }
    )


def _of_measured(check: Check, chosen: Settings | None) -> Iterator[str]:
    judged = judge(check.interval, check.prediction, _ends(check.band))
    # Whether an interval can be relied on is not on record; without one, a check is open and says why.
    is_open = check.verdict is Verdict.UNDECIDED and check.reason
    of_itself = check.tolerance_of == OF_ITSELF
    width = abs(check.prediction) * check.tolerance if of_itself else _farthest(check) * bool(check.tolerance)
    was_looked_at = 1 <= check.looks <= MAX_LOOKS
    level, most, (low, high) = check.level, math.inf, check.interval
    if chosen and was_looked_at:
        level = 1 - ErrorBudget(chosen.false_alarm).share(check.looks)
        most = WIDE * chosen.tolerance * (1 + _CLOSE)
    size = abs(check.prediction)
    wide = _farthest(check) > most * size + _ROUNDING * size if size else check.tolerance > most
    yield from _where(
        {
            f"its verdict is {check.verdict}, its interval makes it {judged}": (
                check.verdict is not judged and not is_open
            ),
            f"it was measured with {check.blocks} blocks in {check.looks} looks": (
                not (0 < check.blocks <= check.draws and was_looked_at)
            ),
            f"its level is not that of look {check.looks} of the run's budget": (
                not math.isclose(check.level, level, rel_tol=0, abs_tol=1e-15)
            ),
            "its standard error is larger than its interval": (
                check.standard_error * (1 - _CLOSE) > high - low
            ),
            "its band is not its prediction with its tolerance": not _reaches(check, width),
            "its tolerance is wide, and it does not say why": wide and not check.tolerance_because,
        }
    )


def _of_control(control: ControlRecord) -> Iterator[str]:
    within, exact = _ends(control.band), not control.blocks
    judged = (
        judge_exact(control.estimate, within)
        if exact
        else judge(control.interval, control.prediction, within)
    )
    # As of a check: what cannot be relied on is open.
    is_open = control.verdict is Verdict.UNDECIDED and not exact
    yield from _where(
        {
            f"its verdict is {control.verdict}, its interval makes it {judged}": (
                control.verdict is not judged and not is_open
            ),
            "it has no blocks, and draws or an interval of more than its value": (
                exact and not _is_point(control)
            ),
            "it has more blocks than draws": control.blocks > control.draws,
            "its band is not its prediction with one tolerance": not _reaches(control, _farthest(control)),
        }
    )


def contradictions_of_derivation(proof: DerivationRecord) -> Iterator[str]:
    """Yield what the steps of a derivation say against its status."""
    steps = [step for route in proof.routes for step in route.steps]
    reaches = {step.reach for step in steps}
    derived = next((status for reach, status in _BY_LEAST_REACH.items() if reach in reaches), None)
    status = derived and Proof.IN_PART if proof.beyond else derived
    if proof.status is not Proof.FAILED and (
        proof.status is not (status if proof.agreement else Proof.NOT_CLAIMED)
        or not all(route.steps for route in proof.routes)
        or not all(step.holds for step in steps)
    ):
        yield f"its derivation is called {proof.status}, and its steps say otherwise"


def contradictions_of_run(record: RunRecord) -> Iterator[str]:
    """Yield what in a run's record its own numbers contradict, with the place."""
    chosen, budget = record.run.settings, ErrorBudget(record.run.settings.false_alarm)
    for claim in record.claims:
        yield from (f"claim {claim.id}: {one}" for one in contradictions_of_claim(claim, chosen))
    checks, controls = record.measured_checks, sum(len(claim.controls) for claim in record.claims)
    if checks > PLACES or record.run.budget != budget.record(checks, controls):
        yield "its error budget is not that of its checks and settings"
    claims = {claim.id: claim for claim in record.claims}
    missing = [name for name in record.run.claims if name not in claims]
    yield from (f"claim {name} was asked for, and is missing" for name in missing)
    for statement in record.statements:
        wrong = (*_of_statement(statement, claims), *_of_note(statement, own=record.run.own_sources))
        yield from (f"statement {statement.id}: {one}" for one in wrong)


def _of_audit(record: AuditRecord) -> Iterator[str]:
    """Yield what in an audit's record its own numbers contradict, with the place."""
    for layer in record.layers:
        for one in layer.findings:
            own = _OWN_BANDS.get(one.kind)
            if own and (one.band or one.judgement is Judgement.CONFIRMED):
                known = layer.intention.origin != "unknown"
                wrong = _of_finding(one, own, known=known)
                yield from (f"layer {layer.id}: finding {one.id}: {text}" for text in wrong)
    yield from _of_unseen(record)


def _of_unseen(record: AuditRecord) -> Iterator[str]:
    """Yield what contradicts the reasons for which something was not seen: there is a line for each."""
    said = {*record.unseen, *record.settings.allow_unseen}
    silent = any(one.rows_compared + one.rows_without_key < one.rows for one in record.layers)
    coarse = any(
        one.kind == "reconstruction" and one.judgement is Judgement.WARNED for one in record.findings
    )
    others = len(record.left_out) - silent - coarse
    yield from _where(
        {
            "rows were not compared, and no output is called unseen": silent and "output" not in said,
            "outputs agree to less than they hold, and no precision is called unseen": (
                coarse and "precision" not in said
            ),
            "something was left out, and nothing is called unseen": (
                others > 0 and not said & {"calls", "rows", "unrecorded"}
            ),
        }
    )


def _of_finding(one: Finding, band: Band, *, known: bool) -> Iterator[str]:
    """Yield what is wrong with a finding; ``known`` says whether what was intended is."""
    low, high = (one.estimate if end is None else end for end in one.interval)
    # A size has an upper limit alone.
    least, most = _ends(band if one.kind.startswith("scale-") else (None, band[1]))
    inside = low is not None and high is not None and least <= low and high <= most
    apart = low is not None and high is not None and (high < least or low > most)
    rounded = one.kind == "scale-applied" and math.isclose(low or 0, 1, rel_tol=_BFLOAT16)
    warnable = inside or one.kind == "overflow" or rounded
    yield from _where(
        {
            "its band is not that of its kind": one.band != band,
            "it is confirmed, and does not lie in its band": (
                one.judgement is Judgement.CONFIRMED and not inside
            ),
            "it lies outside its band, and is only warned of": (
                one.judgement is Judgement.WARNED and not warnable
            ),
            "it lies outside its band, and is called undecided": (
                one.judgement is Judgement.UNDECIDED and apart and known and one.kind != "overflow"
            ),
        }
    )


def _of_comparison(record: ComparisonRecord) -> Iterator[str]:
    """Yield what contradicts that vectors and masks are the same, or follow from what parted before."""
    has_parted = False
    for layer in record.layers:
        has_parted = has_parted or bool(layer.of(Agreement.DIFFERS))
        for part in layer.parts:
            is_same, size = part.outcome is Agreement.SAME, part.size or 0.0
            most = {"mask": 0.0}.get(part.name, part.allowed if part.name in _VECTORS else None)
            wrong = {
                "it differs by more than rounding, and is called the same": (
                    is_same and most is not None and size > most
                ),
                "it is called the same, and heads or rows of it differ": is_same
                and part.heads + part.rows != (),
                "it is said to follow, and nothing parted before": (
                    part.outcome is Agreement.FOLLOWS and not has_parted
                ),
            }
            yield from (f"layer {layer.id}: {part.name}: {text}" for text in _where(wrong))


def _of_statement(statement: Statement, claims: Mapping[str, ClaimRecord]) -> Iterator[str]:
    if not statement.parts:
        yield "it has no parts"
    exactly = {True}
    for number, part in enumerate(statement.parts, 1):
        verdict, possible = decided(part, claims)
        if part.holds not in possible:
            yield f"part {number}: its evidence is {verdict or 'missing'}, which does not go with its outcome"
        if verdict is Verdict.APPROXIMATE:
            # Unless the source says no more than "about", which is not on record.
            exactly.add(False)
    outcomes = [outcome_of(statement.parts, exactly=one) for one in exactly]
    if statement.outcome not in outcomes:
        yield f"its outcome is {statement.outcome}, its parts make it {outcomes[0]}"


def _of_note(statement: Statement, *, own: bool) -> Iterator[str]:
    """Yield what contradicts that a statement is known to be false: only those that ship are."""
    false = statement.outcome in {Outcome.MISPRINTED, Outcome.WRONG} and statement.noted is statement.outcome
    if false and not own and (statement.source, statement.id, statement.outcome) not in _noted():
        yield f"it is called known to be {statement.outcome}; of the sources that ship, none has it so"


@cache
def _noted() -> set[tuple[str, str, str | None]]:
    """Return source, id and known outcome of the statements that ship."""
    data = shipped_folder("data")
    books = (
        tomllib.loads(path.read_text(encoding="utf-8"))
        for path in (data / "sources.toml", *data.glob("packs/*.toml"))
    )
    return {(one["source"], one["id"], one.get("noted")) for book in books for one in book["statement"]}


def decided(part: Part, claims: Mapping[str, ClaimRecord]) -> tuple[Verdict | None, set[bool | None]]:
    """Return the verdict that decides a part, and what it lets the part be: held, not, or open (None).

    The verdict is None, and nothing possible, where the claim has no such evidence. Of what is computed, the
    value is not on record: only a figure that agrees with it has to hold.
    """
    claim = claims.get(part.claim)
    if part.evidence.startswith("compute:"):
        agrees = part.printed is not None and part.computed == part.printed
        return Verdict.CONFIRMED, {True} if agrees else {True, False}
    if claim is None or claim.derivation.status is Proof.FAILED:
        return Verdict.UNDECIDED, {None}
    found: dict[str, tuple[Verdict | None, float | None]] = {"verdict": (claim.verdict, None)}
    found |= {f"check:{one.id}": (one.verdict, one.prediction) for one in claim.checks}
    found |= {f"control:{one.id}": (one.verdict, None) for one in claim.controls}
    found |= {f"fact:{one.id}": (Verdict.CONFIRMED, one.value) for one in claim.facts}
    verdict, figure = found.get(part.evidence, (None, None))
    possible: set[bool | None] = set()
    if verdict is None:
        pass
    elif part.printed is None or figure is None:
        possible = {None if verdict is Verdict.UNDECIDED else verdict is not Verdict.REFUTED}
    elif verdict in {Verdict.UNDECIDED, Verdict.REFUTED}:
        possible = {None}
    else:
        with suppress(ValueError):  # what is printed is no figure
            if part.computed == as_printed(figure, part.printed):
                possible = {rounds_to(figure, part.printed, about=about) for about in (False, True)}
    return verdict, possible
