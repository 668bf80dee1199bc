"""The words of a claim: what stands in braces is a slot, filled from what is derived and measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from sympy import Symbol, fraction, sqrt, sympify
from sympy.printing.precedence import PRECEDENCE

from verify.errors import ClaimError, unknown
from verify.evidence import Check, Fact, Figure
from verify.montecarlo.experiment import Comparison, Experiment
from verify.former.claim import Claim
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.core import Theorem
from verify.symbolic.printing import _Latex, assumptions_of, latex
from verify.symbolic.scores import d, k, q, score
from verify.text.numbers import estimate, exact, last_place, place_of, supported

_SLOT = re.compile(r"(?<!\\)\$(?:[^$\\]|\\.)+\$|\{([^{}]+)\}", re.DOTALL)
"""A formula, whose braces are LaTeX's, or a slot, without braces."""

_FORM = re.compile(r"([a-z]*)(?:\.?([0-9]+)|(±))?(%)?")
"""What a number is asked for as: a part of a check, how many digits at most or its error, per cent."""

_NUMBER = re.compile(r"\$([0-9.]+)\$")
_SIGNS = {"=": "=", "≤": r"\le", "≥": r"\ge", "<": "<", ">": ">", "~": r"\sim", "⇔": r"\iff"}
_LATER, _NOT_KNOWN = "(measured in a run)", "(not computed)"
_FORMS = ("estimate", "interval", "prediction", "ratio")
_BRACKETS = re.compile(r"\\left([(\[])((?:(?!\\(?:left|right|frac|sum|int|prod)).)*)\\right([)\]])")


class _InLine(_Latex):
    """Prints short fractions with a stroke."""

    _printed: ClassVar[dict[Any, Any]] = {}

    def _print_Mul(self, expr: Any) -> str:  # noqa: N802
        text: str = super()._print_Mul(expr)
        over, _, under = text.rpartition(" / ")
        if not over:
            return text
        # What is below a stroke ends with its first factor, unless brackets say otherwise.
        below = fraction(self._without_signs(expr), exact=True)[1]
        is_product = below.is_Mul and under == super()._print_Mul(below)
        is_product |= isinstance(below, _InlineText) and below.precedence < PRECEDENCE["Atom"]
        return f"{over} / ({under})" if is_product else text

    def _needs_mul_brackets(self, expr: Any, **place: bool) -> bool:
        # Powers and functions of sums have brackets of their own.
        return not (expr.is_Pow or expr.is_Function) and super()._needs_mul_brackets(expr, **place)


_IN_LINE = _InLine({"mul_symbol": None, "ln_notation": True, "fold_short_frac": True})


class _InlineText(Symbol):  # type: ignore[misc]  # SymPy has no types
    @property
    def precedence(self) -> int:
        """What SymPy sets brackets by: those of a product, unless it is a single name."""
        is_name = not re.search(r"\\cdot|\\times|[-+/^\d]", self.name)
        return int(PRECEDENCE["Atom" if is_name else "Mul"])

    def _latex(self, _printer: Any) -> str:
        return str(self.name)


@dataclass(frozen=True)
class Notation:
    """How a claim writes an expression where that is not how SymPy prints it, as LaTeX without dollar signs.

    It is written so in the claim's theorems, too.
    """

    latex: str
    expression: Any

    @property
    def symbol(self) -> Symbol:
        """The symbol that stands for the expression in print; a power of it gets what brackets it needs."""
        return _InlineText(self.latex)


SYMBOLS: Mapping[str, Any] = {
    "d_k": d,
    "root_d": sqrt(d),
    "q": Symbol("q"),
    "k": Symbol("k"),
    "score": Notation(r"q\cdot k", score),
    "scaled_score": Notation(r"q\cdot k/\sqrt{d_k}", score / sqrt(d)),
    "squared_length": Notation("|k|^2", score.subs(q, k)),
}
"""What the slots of every claim may name; a claim's own symbols come first."""


def in_line(expression: Any, symbols: Mapping[str, Any] = SYMBOLS) -> str:
    """Return an expression's LaTeX for a line of text: short fractions with a stroke, brackets of usual size.

    What ``symbols`` have a notation for is written in that.
    """
    notations = [own for own in symbols.values() if isinstance(own, Notation)]
    written = {own.expression: own.symbol for own in notations}
    text = str(_IN_LINE.doprint(sympify(expression).xreplace(written)))
    text = re.sub(r"([_^])\{(\w)\}", r"\1\2", text.replace(" / ", "/").replace(r" \right", r"\right"))
    text = re.sub(r"\\left\|\{([^{}]*)\}\\right\|", r"|\1|", text)
    while (shorter := _BRACKETS.sub(r"\1\2\3", text)) != text:
        text = shorter
    return re.sub(r"\{(\([^{}()]*\))\}", r"\1", text)


def titled(claim: Claim) -> str:
    """Return a claim's title, filled; only one with slots needs the derivation for that.

    Raises:
        ClaimError: it names something else than theorems and symbols.
    """
    if not any(piece[1] for piece in _SLOT.finditer(claim.title)):
        return claim.title
    return Words(claim, claim.derived(), ()).fill("title", claim.title)


def assumed(claim: Claim, theorem: Theorem) -> tuple[str, ...]:
    """Return what a claim's theorem assumes, and what its own notations in the theorem are written for."""
    sides = [sympify(side) for side in (theorem.lhs, theorem.rhs)]
    written = (
        f"${own.latex}$ is written for ${latex(own.expression)}$."
        for own in claim.symbols.values()
        if isinstance(own, Notation) and any(side.has(own.expression) for side in sides)
    )
    return (*assumptions_of(theorem), *written)


@dataclass(frozen=True)
class Words:
    """What a claim's texts are filled from; ``facts`` and ``experiment`` None where nothing is computed.

    ``checks`` are those that were measured, none before a run. An experiment may be given as the function
    that makes it, for texts that seldom need it.
    """

    claim: Claim
    derivation: Derivation
    facts: tuple[Fact, ...] | None = None
    experiment: Experiment | Callable[[], Experiment] | None = None
    checks: tuple[Check, ...] = ()

    def said(self) -> dict[str, str]:
        """Return title, statement and meaning, filled.

        Raises:
            ClaimError: a slot names something unknown.
        """
        texts = {name: self.fill(name, getattr(self.claim, name)) for name in ("statement", "meaning")}
        # What a title names has to be known before a run.
        before = replace(self, facts=(), experiment=None, checks=())
        return {"title": before.fill("title", self.claim.title), **texts}

    def spoken(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the controls' words filled.

        Raises:
            ClaimError: as in ``said``.
        """
        controls = []
        for control in experiment.controls:
            own = control.comparison
            what = self.fill(f"control {own.id}", control.what, own)
            controls.append(replace(control, what=what))
        return replace(experiment, controls=tuple(controls))

    def drawn(self, figure: Figure) -> Figure:
        """Return a figure with its texts filled.

        Raises:
            ClaimError: as in ``said``.
        """
        named = f"figure {figure.id}"

        def labelled(part: Any, what: str) -> Any:
            return part.model_copy(update={"label": self.fill(f"{named}, {what}", part.label)})

        return figure.model_copy(
            update={
                "title": self.fill(f"{named}, title", figure.title),
                # It is read aloud: a number is no formula there.
                "alt": _NUMBER.sub(r"\1", self.fill(f"{named}, alt", figure.alt)),
                "x": labelled(figure.x, "x axis"),
                "y": labelled(figure.y, "y axis"),
                "layers": tuple(labelled(layer, "label") for layer in figure.layers),
            }
        )

    def fill(self, where: str, text: str, own: Comparison | None = None) -> str:
        """Return a text with its slots filled; ``own`` is the comparison of a control.

        Raises:
            ClaimError: as in ``said``.
        """

        def filled(piece: re.Match[str]) -> str:
            if piece[1] is None:
                return piece[0]
            try:
                return self._slot(piece[1], own)
            except ClaimError as error:
                raise ClaimError(f"claim {self.claim.id}: its {where} has {piece[0]}: {error}") from None

        return _SLOT.sub(filled, text)

    def _slot(self, slot: str, own: Comparison | None) -> str:
        name, _, form = slot.partition(":")
        # Where a name means several things, the last of these counts.
        known: dict[str, Callable[[str], str]] = {}
        if own:
            settings, claimed = _settings(own), own.prediction
            known |= {setting: partial(_setting, settings, setting) for setting in settings}
            known["cell"] = partial(_setting, settings, "")
            known["value"] = partial(_exactly, claimed.value, claimed.latex)
        known |= {symbol: partial(self._symbol, value) for symbol, value in self._symbols.items()}
        known |= {fact.id: partial(_exactly, fact.value, fact.latex) for fact in self.facts or ()}
        known["assumptions"] = lambda _: self._assumptions()
        chains = [chain.name for chain in self.derivation.chains if chain.name]
        known |= {chain: partial(self._theorem, chain) for chain in chains}
        known["theorem"] = partial(self._theorem, "")
        if name not in known and self.facts is None:
            return _NOT_KNOWN
        if name not in known:
            known |= {check: partial(self._check, check) for check in (*self._planned, "tightest")}
        if name not in known:
            raise ClaimError(unknown("slot", name, known, f"there are {', '.join(known)}"))
        return known[name](form)

    @property
    def _symbols(self) -> dict[str, Any]:
        return {**SYMBOLS, **self.claim.symbols}

    @cached_property
    def _planned(self) -> dict[str, Comparison]:
        experiment = self.experiment() if callable(self.experiment) else self.experiment
        return {check.id: check for check in (experiment.checks if experiment else ())}

    def _theorem(self, chain: str, form: str) -> str:
        """Return a theorem, or one of its sides."""
        theorem = self.derivation.theorem(chain)
        if theorem is None:
            return _NOT_KNOWN
        sides = {"subject": theorem.lhs, "result": theorem.rhs}
        if form and form not in sides:
            raise ClaimError(unknown("side", form, sides, "there are subject and result"))
        if form:
            return f"${in_line(sides[form], self._symbols)}$"
        left, right = (in_line(side, self._symbols) for side in sides.values())
        return f"${left} {_SIGNS[theorem.relation]} {right}$"

    def _assumptions(self) -> str:
        theorem = self.derivation.theorem()
        return " ".join(assumed(self.claim, theorem)) if theorem else _NOT_KNOWN

    def _symbol(self, value: Any, form: str) -> str:
        if form:
            raise ClaimError("a symbol has no forms; leave the colon out")
        return f"${value.latex if isinstance(value, Notation) else in_line(value, self._symbols)}$"

    def _check(self, name: str, form: str) -> str:
        """Return what a check has measured or compares with, or a setting of its cell."""
        settings = _settings(self._planned[name]) if name in self._planned else {}
        if form.rstrip("=") in settings:
            return _setting(settings, form, "")
        what, *_ = _parts(form)
        if what not in _FORMS:
            known = (*_FORMS, *settings)
            raise ClaimError(unknown("form", form, known, f"there are {', '.join(known)}"))
        if what == "prediction" and name in self._planned:
            claimed = self._planned[name].prediction
            return _exactly(claimed.value, claimed.latex, form.removeprefix(what))
        if name == "tightest":
            bounds = [check for check in self.checks if check.tightness is not None]
            if self.checks and not bounds:
                raise ClaimError("no check has a bound; name a check")
            checks = sorted(bounds, key=lambda check: abs(1 - (check.tightness or 0)))
        else:
            checks = [check for check in self.checks if check.id == name]
        return _of_check(checks[0], form) if checks else _LATER


def _parts(form: str) -> tuple[str, int, str, str]:
    """Return what a form such as "estimate.2%" asks for, its digits, 0 for all that are known, its signs."""
    parts = _FORM.fullmatch(form)
    what, digits, error, per_cent = parts.groups(default="") if parts else (form, "", "", "")
    return what, int(digits or 0), error, per_cent


def _settings(comparison: Comparison) -> dict[str, Any]:
    return dict(getattr(getattr(comparison, "cell", comparison), "settings", ()))


def _setting(settings: Mapping[str, Any], name: str, form: str) -> str:
    """Return a setting, after its name and a sign of equality where the form ends in one."""
    asked = name + form
    key = asked.rstrip("=")
    if key not in settings:
        raise ClaimError(unknown("setting", key, settings, f"its settings are {', '.join(settings)}"))
    value = settings[key]
    shown = value if isinstance(value, str) else exact(float(value), 15)
    return f"${in_line(Symbol(key))} = {shown.strip('$')}$" if asked != key else shown


def _exactly(value: float, latex: str, form: str) -> str:
    """Return an exact number as it is written, or as a decimal with a number of digits."""
    what, digits, error, per_cent = _parts(form)
    if what or error:
        raise ClaimError(f"it has no form {form!r}; give a number of digits, such as :3, or nothing")
    if not form:
        return f"${latex}$"
    return exact(value * (100 if per_cent else 1), digits or 3) + per_cent


def _of_check(check: Check, form: str) -> str:
    """Return a check's estimate, its ratio to the prediction, its interval, or what is predicted.

    What is measured has no digit that its standard error does not support, whatever the form asks for.
    """
    what, digits, with_error, per_cent = _parts(form)
    if what == "prediction":
        return _exactly(check.prediction, check.prediction_latex, form.removeprefix(what))
    if what == "ratio" and check.prediction == 0:
        raise ClaimError("its prediction is 0, so there is no ratio; take the estimate")
    by = (100.0 if per_cent else 1.0) / (check.prediction if what == "ratio" else 1.0)
    value, error = check.estimate * by, check.standard_error * abs(by)
    low, high = sorted(end * by for end in check.interval)
    if what == "interval":
        place = max(last_place(error), place_of(value, digits)) if digits and error else None
        return estimate(value, error, (low, high), place).interval + per_cent
    if not with_error:
        return supported(value, error, digits or 10) + per_cent
    text = estimate(value, error, (low, high)).with_error
    return f"({text}){per_cent}" if per_cent else text
