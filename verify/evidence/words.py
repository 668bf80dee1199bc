"""The words and marks for verdicts, and the sentences that say what came of a check."""

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
    """How often a verdict occurs."""

    badge: Badge
    count: int

    @property
    def word(self) -> str:
        """The badge's own, in the number that ``count`` asks for; ``holds`` is the only verb among them."""
        word = self.badge.word
        return re.sub(r"\Aholds\b", "hold", word) if self.count != 1 else word


# Members of different kinds may be equal as texts, so each kind has its own.
_BADGES: dict[type, Mapping[Any, Badge]] = {
    Verdict: {
        Verdict.CONFIRMED: Badge("check", "good", "confirmed"),
        Verdict.APPROXIMATE: Badge("about", "fair", "approximate"),
        Verdict.REFUTED: Badge("cross", "bad", "refuted"),
        Verdict.UNDECIDED: Badge("open", "idle", "undecided"),
    },
    Proof: {
        Proof.PROVED: Badge("square", "good", "proved"),
        Proof.DERIVED: Badge("check", "good", "derived"),
        Proof.CITING: Badge("eye", "good", "derived, citing"),
        Proof.FAILED: Badge("alarm", "bad", "derivation failed"),
        Proof.MEASURED: Badge("dash", "idle", "measured"),
    },
    Outcome: {
        Outcome.HOLDS: Badge("check", "good", "holds"),
        Outcome.WITH_CONDITIONS: Badge("half", "fair", "holds with conditions"),
        Outcome.MISPRINTED: Badge("unequal", "bad", "misprinted"),
        Outcome.WRONG: Badge("cross", "bad", "wrong"),
        Outcome.OPEN: Badge("open", "idle", "open"),
    },
    Judgement: {
        Judgement.CONFIRMED: Badge("check", "good", "confirmed"),
        Judgement.REFUTED: Badge("cross", "bad", "refuted"),
        Judgement.UNDECIDED: Badge("open", "idle", "undecided"),
        Judgement.WARNED: Badge("alarm", "fair", "warned"),
        Judgement.REPORTED: Badge("dash", "idle", "reported"),
    },
}
MOST_SERIOUS_FIRST = (Verdict.REFUTED, Verdict.UNDECIDED, Verdict.APPROXIMATE, Verdict.CONFIRMED)
_DIGITS = 4  # significant digits of a finding
_SMALLEST_SHARE = 0.001  # percent; a smaller deviation is not worth its digits
_GREEK = ("alpha", "beta", "delta", "gamma", "kappa", "lambda", "mu", "nu", "rho", "sigma", "tau")
_SYMBOL = re.compile(rf"([A-Za-z]|{'|'.join(_GREEK)})(?:_([A-Za-z0-9]+))?")


def badge(of: Judged) -> Badge:
    """Return how a verdict, a proof's status, a statement's outcome or an audit's judgement is shown."""
    return _BADGES[type(of)][of]


def tallies(counts: Mapping[Any, int], kinds: Iterable[Judged]) -> tuple[Tally, ...]:
    """Return how often each kind of verdict occurs, leaving out what does not."""
    return tuple(Tally(badge(kind), counts[kind]) for kind in kinds if counts[kind])


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
    return numbers.small(check.estimate) if only_rounding and check.estimate <= check.tolerance else ""


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
    comma = "," if bound and check.is_threshold else ""
    because = f", because {check.tolerance_because}" if check.tolerance_because else ""
    return Prose(f"{bound}{comma} {_allowed(check)}{because}".strip())


def predicted(of: Check | ControlRecord, error: float) -> str:
    """Return the prediction beside a measurement with this standard error, a bound with its sign."""
    value = numbers.beside(of.prediction, error)
    return value if of.relation == "=" else f"{of.relation}{numbers.GAP}{value}"


def remark(check: Check) -> str:
    """Return how close an estimate is to its bound, and what a check says of its interval.

    That is often nothing.
    """
    close = ""
    # The error of a quotient is that of the estimate in units of the bound, which is exact.
    if check.tightness is not None:
        error = check.standard_error / abs(check.prediction)
        shown = numbers.estimate(check.tightness, error, (check.tightness, check.tightness))
        quotient = shown.value + shown.times if error else numbers.exact(check.tightness, 4)
        close = f"estimate ÷ {'threshold' if check.is_threshold else 'bound'}{numbers.NO_BREAK}{quotient}"
    return "; ".join(filter(None, [close, check.reason]))


def counted_checks(measured: int, exact: int) -> str:
    """Return how many checks are measured and exact, such as ``345 measured, 110 exact``."""
    kinds = {"measured": measured, "exact": exact}
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count) or "none"


def _allowed(check: Check) -> str:
    sign = {"=": "±", "≤": "+", "≥": numbers.MINUS}[check.relation]
    of = check.tolerance_of
    if check.is_threshold:
        of = of.replace("the prediction", "the threshold")
    return f"{sign}{numbers.tolerance(check.tolerance)} of {of}"


def interval95(check: Check) -> tuple[float, float]:
    """Return the 95% interval of a check by itself: 1.96 standard errors to either side."""
    # As other papers print it, without the correction for the number of checks.
    half = 1.96 * check.standard_error
    return check.estimate - half, check.estimate + half


def decisive_check(checks: Sequence[Check]) -> Check | None:
    """Return the check nearest to another verdict among those with the most serious verdict, or None."""
    measured = [check for check in checks if check.method != "exact"]

    def margin(check: Check) -> float:
        """Return how far the interval stays from the edge of the band, as a share of its half-width."""
        if check.half_width == 0:
            return 0.0
        # An open side is infinitely far; a refuted interval lies outside by what is asked for.
        least, most = ends_of(check.band)
        inside = min(most - check.interval[1], check.interval[0] - least) / check.half_width
        return -inside if check.verdict is Verdict.REFUTED else inside

    order = MOST_SERIOUS_FIRST.index
    return min(measured, key=lambda check: (order(check.verdict), margin(check)), default=None)


def largest_deviation(checks: Sequence[Check]) -> str:
    """Return the largest deviation from a prediction beside its tolerance, such as ``0.21% of ±1%``.

    A claim with exact checks alone gives ``exact``, and a claim whose measured checks are all bounds
    ``bounds only``.
    """
    shares = [
        (check.deviation, check.tolerance)
        for check in checks
        if check.method != "exact" and check.relation == "=" and check.half_width > 0
    ]
    if not checks:
        return ""
    if not shares:
        return "exact" if all(check.method == "exact" for check in checks) else "bounds only"
    # In half-widths of its band, times the tolerance: the deviation in the unit that the tolerance is in.
    share, tolerance = max(shares)
    percent = 100 * share * tolerance
    worst = f"{numbers.exact(percent, 2)}%" if percent >= _SMALLEST_SHARE else f"below {_SMALLEST_SHARE}%"
    return f"{worst} of{numbers.NO_BREAK}±{numbers.tolerance(tolerance)}"


def sentence(check: Check, *, derived: bool) -> Prose:
    """Return one sentence that holds all of a measured check: value, interval, level, band, prediction.

    Only where the claim is ``derived`` its prediction is called so.
    """
    shown = numbers.estimate(check.estimate, check.standard_error, check.interval)
    name = ("derived" if derived else "predicted") + ("" if check.relation == "=" else " bound")
    if check.is_threshold:
        name = "threshold"
    wanted = f"the {name} {numbers.beside(check.prediction, check.standard_error)}"
    allowed = _allowed(check)
    if check.relation == "=":
        around = f"{allowed} around {wanted}"
        if check.tolerance_of == "the prediction":
            around = f"{wanted} ±{numbers.NO_BREAK}{numbers.tolerance(check.tolerance)}"
        place = {
            Verdict.CONFIRMED: f"lies within {allowed} and contains {wanted}",
            Verdict.APPROXIMATE: f"lies within {around}, but leaves that value itself out",
            Verdict.REFUTED: f"lies wholly outside {around}",
            Verdict.UNDECIDED: f"is neither within nor outside {around}",
        }[check.verdict]
    else:
        within, beyond = ("below", "above") if check.relation == "≤" else ("above", "below")
        allowance = f"{wanted} with its allowance of {allowed}"
        place = {
            Verdict.CONFIRMED: f"stays {within} {allowance}",
            Verdict.REFUTED: f"lies wholly {beyond} {wanted}",
            Verdict.UNDECIDED: f"lies neither wholly {within} nor wholly {beyond} {allowance}",
        }[check.verdict]
    where = cell_text(check.cell)
    at = f" at {where}" if where else ""
    wide = f"; the tolerance is wide because {check.tolerance_because}" if check.tolerance_because else ""
    return Prose(
        f"{check.quantity}{at}: {shown.with_error}, simultaneous interval {shown.interval} at level "
        f"{numbers.level(check.level)}; it {place}{wide}."
    )


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
    low, high = finding.interval
    is_open = low is None and high is None
    error = numbers.small(finding.standard_error) if finding.standard_error else ""
    lower = f"{numbers.MINUS}∞" if low is None else numbers.exact(low, _DIGITS, ROUND_FLOOR)
    upper = "∞" if high is None else numbers.exact(high, _DIGITS, ROUND_CEILING)
    return numbers.exact(finding.estimate, _DIGITS), error, lower * (not is_open), upper * (not is_open)
