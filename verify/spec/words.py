"""The words of a claim: texts with slots in braces, filled from its derivation and its measurements."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sympy import Basic, Symbol, sqrt

from verify.errors import ClaimError, unknown
from verify.evidence import Check, Fact, Figure
from verify.montecarlo.experiment import Comparison, Experiment, Prediction
from verify.spec.figures import described
from verify.symbolic.chains import Chain
from verify.symbolic.notation import SIGNS, in_line
from verify.symbolic.vocabulary import a, d, d_v, j, m, mu_k, mu_q, n, s, score, sigma, squares
from verify.text.numbers import estimate, exact, supported

# A formula, whose braces are LaTeX's, or a slot, without braces.
_SLOT = re.compile(r"(?<!\\)\$(?:[^$\\]|\\.)+\$|\{([^{}]+)\}", re.DOTALL)
# The form of a number: a part of a check, how many digits at most or its error, per cent.
_FORM = re.compile(r"([a-z]*)(?:\.?([0-9]+)|(±))?(%)?")
# Symbols that the slots of every claim may name; a claim's own symbols come first.
SYMBOLS: Mapping[str, Any] = {
    "d_k": d,
    "root_d": sqrt(d),
    "q": Symbol("q"),
    "k": Symbol("k"),
    "score": score,
    "scaled_score": score / sqrt(d),
    "squares": squares(s[a, j]),
    **{str(symbol): symbol for symbol in (n, m, d_v, sigma, mu_q, mu_k)},
}


@dataclass(frozen=True)
class Words:
    """The sources of a claim's texts; ``facts`` and ``experiment`` None where nothing is computed.

    ``checks`` are those that were measured, none before a run. An experiment may be given as the function
    that makes it, for texts that seldom need it. Every method raises a ``ClaimError`` where a slot names
    something unknown.
    """

    claim: Any
    derivation: Any
    facts: tuple[Fact, ...] | None = None
    experiment: Experiment | Callable[[], Experiment] | None = None
    checks: Sequence[Check] = ()

    def texts(self) -> dict[str, str]:
        """Return title, statement and meaning, filled; a title's slots have to be known before a run."""
        before = replace(self, facts=(), experiment=None, checks=())
        texts = {name: self.fill(name, getattr(self.claim, name)) for name in ("statement", "meaning")}
        return {"title": before.fill("title", self.claim.title), **texts}

    def spoken(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the controls' words filled."""
        controls = []
        for control in experiment.controls:
            where = f"control {control.comparison.id}"
            controls.append(replace(control, what=self.fill(where, control.what, control.comparison)))
        return replace(experiment, controls=tuple(controls))

    def drawn(self, figure: Figure) -> Figure:
        """Return a figure with its texts filled."""

        def labelled(part: Any, what: str) -> Any:
            return part.model_copy(update={"label": self.fill(f"figure {figure.id}, {what}", part.label)})

        texts = {
            "title": self.fill(f"figure {figure.id}, title", figure.title),
            "x": labelled(figure.x, "x axis"),
            "y": labelled(figure.y, "y axis"),
            "layers": tuple(labelled(layer, "label") for layer in figure.layers),
        }
        filled = figure.model_copy(update=texts)
        return filled.model_copy(update={"alt": described(filled)})

    def fill(self, where: str, text: str, own: Comparison | None = None) -> str:
        """Return a text with its slots filled; ``own`` is the comparison of a control."""

        def filled(piece: re.Match[str]) -> str:
            if piece[1] is None:
                return piece[0]
            try:
                return self._slot(piece[1], own)
            except ClaimError as error:
                raise ClaimError(f"claim {self.claim.id}: its {where} has {piece[0]}: {error}") from None

        return _SLOT.sub(filled, text)

    def _slot(self, slot: str, own: Comparison | None) -> str:
        """Return the text for a slot; where a name means several things, the first of these counts."""
        name, _, form = slot.partition(":")
        main = {"main": self.derivation.main} if self.derivation.main else {}
        defined = {name: value for name, value in self.claim.names.items() if isinstance(value, Basic)}
        tables: list[tuple[Callable[[Any, str], str], Mapping[str, Any]]] = [
            (_shown, {**self.derivation.others, **main}),
            (_exactly, {fact.id: fact for fact in self.facts or ()}),
            (_symbol, {**SYMBOLS, **self.claim.symbols}),
            (_setting, {"cell": _settings(own)} if own else {}),
            (_exactly, {"value": own.prediction} if own else {}),
            (_symbol, defined),
        ]
        for text, table in tables:
            if name in table:
                return text(table[name], form)
        if self.facts is None:
            return "(not computed)"
        if name in self._planned:
            return self._check(self._planned[name], form)
        known = [*self._planned, *(name for _, table in tables[:-1] for name in table)]
        raise ClaimError(unknown("slot", name, known, f"there are {', '.join(known)}"))

    @cached_property
    def _planned(self) -> dict[str, Comparison]:
        experiment = self.experiment() if callable(self.experiment) else self.experiment
        return {check.id: check for check in (experiment.checks if experiment else ())}

    def _check(self, planned: Comparison, form: str) -> str:
        """Return the estimate or the prediction of a check, or a setting of its cell."""
        settings = _settings(planned)
        if form.rstrip("=") in settings:
            return _setting(settings, form)
        what, digits, with_error, per_cent = _parts(form)
        if what == "prediction":
            return _exactly(planned.prediction, form.removeprefix(what))
        if what != "estimate":
            known = ("estimate", "prediction", *settings)
            raise ClaimError(unknown("form", form, known, f"there are {', '.join(known)}"))
        check = next((check for check in self.checks if check.id == planned.id), None)
        if check is None:
            return "(measured in a run)"
        by = 100.0 if per_cent else 1.0
        value, error = check.estimate * by, check.standard_error * by
        if not with_error:  # no digit that the standard error does not support
            return supported(value, error, digits or 10) + per_cent
        low, high = check.interval
        text = estimate(value, error, (low * by, high * by)).with_error
        return f"({text}){per_cent}" if per_cent else text


def _shown(of: Chain, form: str) -> str:
    """Return the result of a chain, or a side of it: the form "start" or "end"."""
    sides = {"start": in_line(of.start), "end": in_line(of.end)}
    if form and form not in sides:
        raise ClaimError(unknown("side", form, sides, "there are start and end"))
    return f"${sides[form]}$" if form else f"${sides['start']} {SIGNS[of.relation]} {sides['end']}$"


def _parts(form: str) -> tuple[str, int, str, str]:
    """Return the parts of a form such as "estimate.2%": name, digits, 0 for all that are known, and signs."""
    parts = _FORM.fullmatch(form)
    what, digits, error, per_cent = parts.groups(default="") if parts else (form, "", "", "")
    return what, int(digits or 0), error, per_cent


def _settings(comparison: Comparison) -> dict[str, Any]:
    return dict(getattr(getattr(comparison, "cell", comparison), "settings", ()))


def _symbol(value: Any, form: str) -> str:
    if form:
        raise ClaimError("a symbol has no forms; leave the colon out")
    return f"${in_line(value)}$"


def _setting(settings: Mapping[str, Any], form: str) -> str:
    """Return a setting, after its name and a sign of equality where the form ends in that sign."""
    name = form.rstrip("=")
    if name not in settings:
        raise ClaimError(unknown("setting", name, settings, f"its settings are {', '.join(settings)}"))
    value = settings[name]
    shown = value if isinstance(value, str) else exact(float(value), 15)
    return f"${in_line(Symbol(name))} = {shown.strip('$')}$" if form != name else shown


def _exactly(number: Fact | Prediction, form: str) -> str:
    """Return an exact number as it is written, or as a decimal with a number of digits."""
    what, digits, error, per_cent = _parts(form)
    if what or error:
        raise ClaimError(f"it has no form {form!r}; give a number of digits, such as :3, or nothing")
    if not form:
        return f"${number.latex}$"
    return exact(number.value * (100 if per_cent else 1), digits or 3) + per_cent
