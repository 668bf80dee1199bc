"""The words and marks for verdicts, and the phrases that say what came of a check."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any, NamedTuple

from verify.evidence.audits import Finding, Judgement, LayerRecord
from verify.evidence.claims import Check, ControlRecord, Setting
from verify.evidence.judging import Outcome, Proof, Verdict, ends_of
from verify.text import numbers
from verify.text.latex import Prose, slashed

Judged = Verdict | Proof | Outcome | Judgement


class Badge(NamedTuple):
    """A verdict as shown: ``mark`` names its drawn sign, ``tone`` its colour, ``word`` what is read."""

    mark: str
    tone: str
    word: str


@dataclass(frozen=True)
class Tally:
    """How often a verdict occurs, and its word in the number that this asks for."""

    badge: Badge
    count: int
    word: str


# Verdicts and judgements of one name have one badge.
_BADGES: Mapping[str, Badge] = {
    Verdict.CONFIRMED: Badge("check", "good", "confirmed"),
    Verdict.APPROXIMATE: Badge("about", "fair", "approximate"),
    Verdict.REFUTED: Badge("cross", "bad", "refuted"),
    Verdict.UNDECIDED: Badge("open", "idle", "undecided"),
    Judgement.WARNED: Badge("alarm", "fair", "warned"),
    Judgement.REPORTED: Badge("dash", "idle", "reported"),
    Proof.PROVED: Badge("square", "good", "proved"),
    Proof.DERIVED: Badge("check", "good", "derived"),
    Proof.CITING: Badge("eye", "good", "derived, citing"),
    Proof.FAILED: Badge("alarm", "bad", "derivation failed"),
    Proof.MEASURED: Badge("dash", "idle", "measured"),
    Outcome.HOLDS: Badge("check", "good", "holds"),
    Outcome.WITH_CONDITIONS: Badge("half", "fair", "holds with conditions"),
    Outcome.MISPRINTED: Badge("unequal", "bad", "misprinted"),
    Outcome.WRONG: Badge("cross", "bad", "wrong"),
    Outcome.OPEN: Badge("open", "idle", "open"),
}
MOST_SERIOUS_FIRST = (Verdict.REFUTED, Verdict.UNDECIDED, Verdict.APPROXIMATE, Verdict.CONFIRMED)
_DIGITS = 4  # significant digits of a finding
_GREEK = ("alpha", "beta", "delta", "gamma", "kappa", "lambda", "mu", "nu", "rho", "sigma", "tau")
_SYMBOL = re.compile(rf"([A-Za-z]|{'|'.join(_GREEK)})(?:_([A-Za-z0-9]+))?")


def badge(of: Judged) -> Badge:
    """Return how a verdict, a proof's status, a statement's outcome or an audit's judgement is shown."""
    return _BADGES[of]


def tallies(counts: Mapping[Any, int], kinds: Iterable[Judged]) -> tuple[Tally, ...]:
    """Return how often each kind of verdict occurs, leaving out what does not."""
    tallied = []
    for shown, count in ((badge(kind), counts[kind]) for kind in kinds if counts[kind]):
        # The only verb among the words.
        word = shown.word if count == 1 else re.sub(r"\Aholds\b", "hold", shown.word)
        tallied.append(Tally(shown, count, word))
    return tuple(tallied)


def closed(text: str) -> str:
    """Return a sentence with its full stop."""
    return text if not text or text.endswith((".", "!", "?")) else text + "."


def capitalised(text: str) -> str:
    """Return a sentence with a capital, unless it starts with a name or a sign rather than a word."""
    first = text.partition(" ")[0].rstrip(",:;")
    return text[:1].upper() + text[1:] if first.isalpha() else text


def control_badge(verdict: Verdict) -> Badge:
    """Return how a control is shown: a refuted control is in order, anything else is an alarm."""
    if verdict is Verdict.REFUTED:
        return Badge("check", "good", "rejected, as required")
    return Badge("alarm", "bad", f"{badge(verdict).word}, but must be rejected")


def cell_text(cell: Mapping[str, Setting], without: Sequence[str] = ()) -> Prose:
    """Return a cell's settings as ``$d_k$ = 64, law normal``, leaving out some keys."""
    texts = []
    for key, value in ((key, value) for key, value in cell.items() if key not in without):
        shown, symbol = numbers.setting(value).replace(r"\log", r"\ln"), _SYMBOL.fullmatch(key)
        if symbol is None or not _is_number(value):
            texts.append(f"{key.replace('_', ' ')} {slashed(shown)}")
            continue
        # A name such as d_k or sigma_q is set as a formula, an index of several letters upright.
        base, index = symbol[1], symbol[2] or ""
        base = "\\" + base if base in _GREEK else base
        upright = rf"\mathrm{{{index}}}" if len(index) > 1 else index
        formula = f"${base}_{{{upright}}}$" if index else f"${base}$"
        texts.append(f"{formula}{numbers.NO_BREAK}={numbers.NO_BREAK}{shown}")
    return Prose(", ".join(texts))


def _is_number(value: Setting) -> bool:
    return not isinstance(value, str) or value.startswith("$")


def at_settings(check: Check) -> str:
    """Return the settings of a check that are numbers as `` ($d_k$ = 64)``, without those of points."""
    # A fit's settings are where its points lie, which its label says.
    numeric = {
        key: value
        for key, value in check.cell.items()
        if check.method != "fit" and _is_number(value) and key not in {"point", "points"}
    }
    return f" ({cell_text(numeric)})" if numeric else ""


def rounding_error(check: Check) -> str:
    """Return the size of what an exact check finds in place of 0 and allows for; empty for any other."""
    only_rounding = check.method == "exact" and check.prediction == 0 != check.estimate
    return numbers.small(check.estimate) if only_rounding and abs(check.estimate) <= check.tolerance else ""


def tolerance_text(check: Check, *, with_kind: bool = True) -> Prose:
    """Return the tolerance, such as ``±1% of the prediction``; of an exact check, how much for what.

    That is such as ``to 1×10⁻¹² for rounding``. ``with_kind`` says before it what kind of bound or threshold
    it is around.
    """
    kind = {"derived": "bound", "computed": "threshold, computed", "set": "threshold, not derived"}
    side = {"=": "", "≤": "upper ", "≥": "lower "}[check.relation]
    bound = side + kind[check.origin] if with_kind and (side or check.is_threshold) else ""
    if check.tolerance == 0:
        return Prose(bound or "exact")
    if check.method == "exact":
        allowed = f"to {numbers.small(check.tolerance)} for {check.tolerance_of}"
        return Prose(", ".join(filter(None, [bound, allowed])))
    sign = {"=": "±", "≤": "+", "≥": numbers.MINUS}[check.relation]
    of = check.tolerance_of
    if check.is_threshold:
        of = of.replace("the prediction", "the threshold")
    comma = "," if bound and check.is_threshold else ""
    because = f", because {check.tolerance_because}" if check.tolerance_because else ""
    return Prose(f"{bound}{comma} {sign}{numbers.tolerance(check.tolerance)} of {of}{because}".strip())


def predicted(of: Check | ControlRecord, error: float) -> str:
    """Return the prediction beside a measurement with this standard error, a bound with its sign."""
    value = numbers.beside(of.prediction, error)
    return value if of.relation == "=" else f"{of.relation}{numbers.GAP}{value}"


def remark(check: Check) -> str:
    """Return how close an estimate is to its bound, and what a check says of its interval; often nothing."""
    close = ""
    if check.tightness is not None:
        # The error of a quotient is that of the estimate in units of the bound, which is exact.
        error = check.standard_error / abs(check.prediction)
        shown = numbers.estimate(check.tightness, error, (check.tightness, check.tightness))
        quotient = shown.value + shown.times if error else numbers.exact(check.tightness, 4)
        close = f"estimate ÷ {'threshold' if check.is_threshold else 'bound'}{numbers.NO_BREAK}{quotient}"
    return "; ".join(filter(None, [close, check.reason]))


def interval95(check: Check) -> tuple[float, float]:
    """Return the 95% interval of a check by itself: 1.96 standard errors to either side."""
    # As other papers print it, without the correction for the number of checks.
    half = 1.96 * check.standard_error
    return check.estimate - half, check.estimate + half


def decisive_check(checks: Sequence[Check]) -> Check | None:
    """Return the check nearest to another verdict among those with the most serious verdict, or None."""

    def order(check: Check) -> tuple[int, float]:
        least, most = ends_of(check.band)
        # How far the interval stays from the edge of the band, of which an open side is infinitely far; a
        # refuted interval lies outside by what is asked for.
        inside = min(most - check.interval[1], check.interval[0] - least) / (check.half_width or math.inf)
        outside = check.verdict is Verdict.REFUTED
        return MOST_SERIOUS_FIRST.index(check.verdict), -inside if outside else inside

    measured = (check for check in checks if check.method != "exact")
    return min(measured, key=order, default=None)


def most_serious(findings: Iterable[Finding]) -> Judgement:
    """Return the most serious judgement of those that decide; if none does, they are only reported."""
    deciding = {finding.judgement for finding in findings}
    order = (Judgement.REFUTED, Judgement.UNDECIDED, Judgement.WARNED, Judgement.CONFIRMED)
    return next((judgement for judgement in order if judgement in deciding), Judgement.REPORTED)


def shape_of(layer: LayerRecord) -> str:
    """Return heads and widths, such as ``12 heads (keys 4), d_k 64``."""
    keys = f" ({numbers.count(layer.key_heads)} for keys)" if layer.key_heads != layer.heads else ""
    values = f", $d_v$ = {numbers.count(layer.d_v)}" if layer.d_v not in {None, layer.d_k} else ""
    return f"{numbers.counted(layer.heads, 'head')}{keys}, $d_k$ = {numbers.count(layer.d_k)}{values}"


def figures(finding: Finding) -> tuple[str, str, str, str]:
    """Return a finding's estimate, standard error and the ends of its interval, to four digits.

    The ends are rounded outwards, and an open one is infinite. What there is not is empty.
    """
    if finding.estimate is None:
        return "", "", "", ""
    value = numbers.exact(finding.estimate, _DIGITS)
    error = numbers.small(finding.standard_error) if finding.standard_error else ""
    low, high = finding.interval
    if low is None and high is None:
        return value, error, "", ""
    lower = f"{numbers.MINUS}∞" if low is None else numbers.exact(low, _DIGITS, ROUND_FLOOR)
    return value, error, lower, "∞" if high is None else numbers.exact(high, _DIGITS, ROUND_CEILING)
