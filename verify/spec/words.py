"""The words of a claim: formulas and numbers in them are slots, filled from what is derived and found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NoReturn

from sympy import Symbol, sympify

from verify.errors import ClaimError, unknown
from verify.evidence import Check, Fact, Figure
from verify.montecarlo.experiment import Comparison, Experiment, Prediction
from verify.spec.claim import Claim
from verify.spec.notation import PIECE, SYMBOLS, Notation, expression_of, in_line, is_formula, refuse_typed
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.core import Theorem
from verify.symbolic.printing import assumptions_of, latex
from verify.text.numbers import estimate, exact

_NUMBERED = re.compile(r"(.*?)(?:\.?([0-9]+))?(%)?", re.DOTALL)
_NUMBER = re.compile(r"\$([0-9.]+)\$")
_SIGNS = {"=": "=", "≤": r"\le", "≥": r"\ge", "<": "<", ">": ">", "~": r"\sim", "⇔": r"\iff"}
_LATER, _NOT_KNOWN = "(measured in a run)", "(not computed)"
_FORMS = ("estimate", "interval", "prediction", "ratio")
_STATED = ("title", "statement")
_MULTIPLE = re.compile(
    r"\b(twice|thrice|double|half|halves|thirds?|quarters?|times|per ?cent)( (of|the|as))* $", re.I
)
"""A multiple in words, right before what it is of."""
_BOUND = re.compile(r"\b(at most|at least|less than|more than) $", re.I)
_ALLOWED = {"at most": "=≤<", "at least": "=≥>", "less than": "<", "more than": ">"}
"""With which relations of a theorem its result may be called so."""


def titled(claim: Claim) -> str:
    """Return a claim's title, filled; only one with slots needs the derivation for that.

    Raises:
        ClaimError: it names something else than theorems and symbols.
    """
    if not PIECE.search(claim.title):
        return str(claim.title)  # an author's own kind of text means nothing to another process
    return Words(claim, claim.derived(), ()).fill("title", claim.title)


def assumed(claim: Claim, theorem: Theorem) -> tuple[str, ...]:
    """Return what a claim's theorem assumes, and what its own notations in the theorem are written for."""
    sides = [sympify(one) for one in (theorem.lhs, theorem.rhs)]
    written = (
        f"${one.latex}$ is written for ${latex(one.expression)}$."
        for one in claim.symbols.values()
        if isinstance(one, Notation) and any(side.has(one.expression) for side in sides)
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

    def found(self, checks: tuple[Check, ...]) -> Words:
        """Return the same with the checks that were measured."""
        return replace(self, checks=checks)

    def said(self) -> dict[str, str]:
        """Return title, statement and meaning, filled.

        Raises:
            ClaimError: one types a formula, or names something unknown.
        """
        texts = {one: self.fill(one, getattr(self.claim, one)) for one in ("statement", "meaning")}
        self._refuse_unfilled()
        # What a title names has to be known before a run.
        before = replace(self, facts=(), experiment=None, checks=())
        return {"title": before.fill("title", self.claim.title), **texts}

    def _refuse_unfilled(self) -> None:
        """Refuse a statement in which nothing is derived or found: it would be words alone.

        Raises:
            ClaimError: its slots, if it has any, give symbols or assumptions.
        """
        slots = {one[2].partition(":")[0] for one in PIECE.finditer(self.claim.statement) if one[2]}
        chains = {one.name for one in self.derivation.chains}
        if slots <= (self._symbols.keys() - chains) | {"assumptions"}:
            raise ClaimError(
                f"claim {self.claim.id}: its statement says nothing that is derived or found; put a slot "
                "there, such as {theorem}, or a fact or check by its name"
            )

    def spoken(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the controls' words filled.

        Raises:
            ClaimError: as in ``said``.
        """
        controls = (
            replace(one, what=self.fill(f"control {one.comparison.id}", one.what, one.comparison))
            for one in experiment.controls
        )
        return replace(experiment, controls=tuple(controls))

    def drawn(self, figure: Figure) -> Figure:
        """Return a figure with its texts filled.

        Raises:
            ClaimError: as in ``said``.
        """
        named = f"figure {figure.id}"

        def labelled(one: Any, what: str) -> Any:
            return one.model_copy(update={"label": self.fill(f"{named}, {what}", one.label)})

        return figure.model_copy(
            update={
                "title": self.fill(f"{named}, title", figure.title),
                # It is read aloud: a number is no formula there.
                "alt": _NUMBER.sub(r"\1", self.fill(f"{named}, alt", figure.alt)),
                "x": labelled(figure.x, "x axis"),
                "y": labelled(figure.y, "y axis"),
                "layers": tuple(labelled(one, "label") for one in figure.layers),
            }
        )

    def fill(self, where: str, text: str, own: Comparison | None = None) -> str:
        """Return a text with its slots filled; ``own`` is the comparison of a control.

        Raises:
            ClaimError: as in ``said``.
        """
        refuse_typed(self.claim.id, where, text)
        return PIECE.sub(lambda one: one[1] or self._slot(where, one, own), text)

    def _slot(self, where: str, piece: re.Match[str], own: Comparison | None) -> str:
        slot, before = piece[2] or "", re.sub(r"[\s(“‘\"]+", " ", piece.string[: piece.start()])
        name, _, form = slot.partition(":")
        known = self._derived(own, where)
        known |= {one: partial(self._theorem, one, before) for one in self._chains}
        if name not in known:
            if self.facts is None:
                return _NOT_KNOWN
            known |= {one: partial(self._check, one) for one in (*self._planned, "tightest")}
        try:
            return known[name](form) if name in known else _refuse_slot(name, known)
        except ClaimError as error:
            raise ClaimError(f"claim {self.claim.id}: its {where} has {{{slot}}}: {error}") from None

    def _derived(self, own: Comparison | None, where: str) -> dict[str, Callable[[str], str]]:
        """Return what gives the text of a form by the names of slots; what comes last goes first."""
        known: dict[str, Callable[[str], str]] = {}
        if own:
            settings = _settings(own)
            known |= {one: partial(_own_setting, settings, one) for one in settings}
            known["cell"] = partial(_setting, settings)
            known["value"] = partial(_claimed, own.prediction)
        for name, value in self._symbols.items():
            known[name] = partial(self._symbol, value, is_bound=where in _STATED)
        known |= {one.id: partial(_fact, one) for one in self.facts or ()}
        known["assumptions"] = lambda _: self._assumptions()
        return known

    @property
    def _symbols(self) -> dict[str, Any]:
        return {**SYMBOLS, **self.claim.symbols}

    @cached_property
    def _planned(self) -> dict[str, Comparison]:
        experiment = self.experiment() if callable(self.experiment) else self.experiment
        return {one.id: one for one in (experiment.checks if experiment else ())}

    def _latex(self, expression: Any) -> str:
        return in_line(expression, self._symbols)

    @property
    def _chains(self) -> list[str]:
        """Names of the slots of theorems."""
        return [*(one.name for one in self.derivation.chains if one.name), "theorem"]

    def _theorem(self, name: str, before: str, form: str) -> str:
        """Return a theorem or one of its sides; the words ``before`` it may not make another of it."""
        if multiple := _MULTIPLE.search(before):
            raise ClaimError(f"“{multiple[0].strip()}” is no part of what is derived; derive it")
        found = self.derivation.theorem("" if name == "theorem" else name)
        if found is None:
            return _NOT_KNOWN
        called = _BOUND.search(before)
        if form and called and found.relation not in _ALLOWED[called[1].lower()]:
            raise ClaimError(f"“{called[1]}” is not what is derived, which has {found.relation}")
        sides = {"subject": found.lhs, "result": found.rhs}
        if form and form not in sides:
            raise ClaimError(unknown("side", form, sides, "there are subject and result"))
        if form:
            return f"${self._latex(sides[form])}$"
        return f"${self._latex(found.lhs)} {_SIGNS[found.relation]} {self._latex(found.rhs)}$"

    def _assumptions(self) -> str:
        found = self.derivation.theorem()
        return " ".join(assumed(self.claim, found)) if found else _NOT_KNOWN

    def _symbol(self, value: Any, form: str, *, is_bound: bool) -> str:
        if form:
            raise ClaimError("a symbol has no forms; leave the colon out")
        expression = expression_of(value)
        own = any(value is one for one in self.claim.symbols.values())
        is_written = isinstance(value, Notation)
        if is_bound and own and (expression.args or is_written) and not self._occurs(expression, is_written):
            raise ClaimError("it occurs nowhere in the derivation; state what is derived, such as {theorem}")
        return f"${value.latex if is_written else self._latex(value)}$"

    def _occurs(self, expression: Any, is_written: bool) -> bool:
        """Return whether it stands in a chain; what is written otherwise, at an end, where that is said."""
        stood = [(one.start, *(step.expression for step in one.steps)) for one in self.derivation.chains]
        return any(
            sympify(one).has(expression)
            for chain in stood
            for one in ((chain[0], chain[-1]) if is_written else chain)
        )

    def _check(self, name: str, form: str) -> str:
        """Return what a check found or compares with, or a setting of its cell."""
        settings = _settings(self._planned[name]) if name in self._planned else {}
        if form.rstrip("=") in settings:
            return _setting(settings, form)
        what, digits, per_cent = _parts(form)
        if what not in _FORMS:
            known = (*_FORMS, *settings)
            raise ClaimError(unknown("form", what, known, f"there are {', '.join(known)}"))
        if what == "prediction" and name in self._planned:
            compared = self._planned[name].prediction
            return _predicted(compared.value, compared.latex, digits, per_cent)
        if name == "tightest":
            found = [one for one in self.checks if one.tightness is not None]
            if self.checks and not found:
                raise ClaimError("no check has a bound; name a check")
            found.sort(key=lambda one: abs(1 - (one.tightness or 0)))
        else:
            found = [one for one in self.checks if one.id == name]
        return _of_check(found[0], what, digits, per_cent) if found else _LATER


def _refuse_slot(name: str, known: Iterable[str]) -> NoReturn:
    raise ClaimError(unknown("slot", name, known, f"there are {', '.join(known)}"))


def _parts(form: str) -> tuple[str, int, str]:
    """Return what a form such as "estimate.2%" asks for, its digits, 0 for all known ones, and its sign."""
    parts = _NUMBERED.fullmatch(form)
    what, digits, per_cent = parts.groups() if parts else (form, None, None)
    return what, int(digits or 0), per_cent or ""


def _settings(comparison: Comparison) -> dict[str, Any]:
    return dict(getattr(getattr(comparison, "cell", comparison), "settings", ()))


def _setting(settings: Mapping[str, Any], form: str) -> str:
    """Return a setting, after its name and a sign of equality where the form ends in one."""
    name = form.rstrip("=")
    if name not in settings:
        raise ClaimError(unknown("setting", name, settings, f"its settings are {', '.join(settings)}"))
    value = settings[name]
    if isinstance(value, str) and any(is_formula(sign) and not sign.isdigit() for sign in value):
        raise ClaimError(f"the setting {name!r} is {value!r}, which is a formula; name another")
    shown = value if isinstance(value, str) else exact(float(value), 15)
    if not form.endswith("="):
        return shown
    return f"${in_line(Symbol(name))} = {shown.strip('$')}$"


def _own_setting(settings: Mapping[str, Any], name: str, form: str) -> str:
    return _setting(settings, name + form)


def _fact(fact: Fact, form: str) -> str:
    """Return a fact exactly, or as a decimal with a number of digits."""
    what, digits, per_cent = _parts(form)
    if what:
        raise ClaimError(f"a fact has no form {what!r}; give a number of digits, such as :3, or nothing")
    if not form:
        return f"${fact.latex}$"
    return exact(fact.value * (100 if per_cent else 1), digits or 3) + per_cent


def _claimed(claimed: Prediction, form: str) -> str:
    what, digits, per_cent = _parts(form)
    if what:
        raise ClaimError(f"a value has no form {what!r}; give a number of digits, such as :3, or nothing")
    return _predicted(claimed.value, claimed.latex, digits, per_cent)


def _predicted(value: float, latex: str, digits: int, per_cent: str) -> str:
    """Return what is compared with: exactly, unless digits or per cent are asked for."""
    if not (digits or per_cent):
        return f"${latex}$"
    return exact(value * (100 if per_cent else 1), digits or 3) + per_cent


def _of_check(check: Check, what: str, digits: int, per_cent: str) -> str:
    """Return a check's estimate, interval, prediction or ratio of the two, with the digits that are known."""
    if what == "prediction":
        return _predicted(check.prediction, check.prediction_latex, digits, per_cent)
    by = (100.0 if per_cent else 1.0) / (check.prediction if what == "ratio" else 1.0)
    if digits and what != "interval":
        return exact(check.estimate * by, digits) + per_cent
    low, high = sorted(end * by for end in check.interval)
    shown = estimate(check.estimate * by, check.standard_error * abs(by), (low, high))
    return (shown.interval if what == "interval" else shown.alone) + per_cent
