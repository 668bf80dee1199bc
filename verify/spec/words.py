"""The words of a claim: what stands in braces is a slot, filled from what is derived and measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

from sympy import Symbol, sqrt

from verify.errors import ClaimError, unknown
from verify.evidence import Check, Fact, Figure
from verify.montecarlo.experiment import Comparison, Experiment
from verify.spec.figures import described
from verify.symbolic.chains import Chain
from verify.symbolic.notation import in_line
from verify.symbolic.vocabulary import a, d, d_v, j, m, mu_k, mu_q, n, s, score, sigma, squares
from verify.text.numbers import estimate, exact, supported

_SLOT = re.compile(r"(?<!\\)\$(?:[^$\\]|\\.)+\$|\{([^{}]+)\}", re.DOTALL)
"""A formula, whose braces are LaTeX's, or a slot, without braces."""

_FORM = re.compile(r"([a-z]*)(?:\.?([0-9]+)|(±))?(%)?")
"""What a number is asked for as: a part of a check, how many digits at most or its error, per cent."""

SIGNS = {"=": "=", "≤": r"\le", "≥": r"\ge", "<": "<", ">": ">", "~": r"\sim", "⇔": r"\iff"}
LATER, NOT_KNOWN = "(measured in a run)", "(not computed)"
_FORMS = ("estimate", "prediction")

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
"""What the slots of every claim may name; a claim's own symbols come first."""


def has_slot(text: str) -> bool:
    """Return whether a text has a slot to be filled."""
    return any(piece[1] for piece in _SLOT.finditer(text))


@dataclass(frozen=True)
class Words:
    """What a claim's texts are filled from; ``facts`` and ``experiment`` None where nothing is computed.

    ``checks`` are those that were measured, none before a run. An experiment may be given as the function
    that makes it, for texts that seldom need it.
    """

    claim: Any
    derivation: Any
    facts: tuple[Fact, ...] | None = None
    experiment: Experiment | Callable[[], Experiment] | None = None
    checks: Sequence[Check] = ()

    common: ClassVar[Mapping[str, Any]] = SYMBOLS

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

        filled = figure.model_copy(
            update={
                "title": self.fill(f"{named}, title", figure.title),
                "x": labelled(figure.x, "x axis"),
                "y": labelled(figure.y, "y axis"),
                "layers": tuple(labelled(layer, "label") for layer in figure.layers),
            }
        )
        return filled.model_copy(update={"alt": described(filled)})

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
        main = {"main": self.derivation.main} if self.derivation.main else {}
        known |= {name: partial(self._shown, of) for name, of in {**main, **self.derivation.others}.items()}
        if name not in known and self.facts is None:
            return NOT_KNOWN
        if name not in known:
            known |= {check: partial(self._check, check) for check in self._planned}
        if name not in known:
            raise ClaimError(unknown("slot", name, known, f"there are {', '.join(known)}"))
        return known[name](form)

    @property
    def _symbols(self) -> dict[str, Any]:
        return {**self.common, **self.claim.symbols}

    @cached_property
    def _planned(self) -> dict[str, Comparison]:
        experiment = self.experiment() if callable(self.experiment) else self.experiment
        return {check.id: check for check in (experiment.checks if experiment else ())}

    def _shown(self, of: Chain, form: str) -> str:
        """Return what a chain shows, or one of its sides: the form "start" or "end"."""
        sides = {"start": of.start, "end": of.end}
        if form and form not in sides:
            raise ClaimError(unknown("side", form, sides, "there are start and end"))
        if form:
            return f"${in_line(sides[form])}$"
        return f"${in_line(of.start)} {SIGNS[of.relation]} {in_line(of.end)}$"

    def _symbol(self, value: Any, form: str) -> str:
        if form:
            raise ClaimError("a symbol has no forms; leave the colon out")
        return f"${in_line(value)}$"

    def _check(self, name: str, form: str) -> str:
        """Return what a check has measured or compares with, or a setting of its cell."""
        planned = self._planned[name]
        settings = _settings(planned)
        if form.rstrip("=") in settings:
            return _setting(settings, form, "")
        what, *_ = _parts(form)
        if what not in _FORMS:
            known = (*_FORMS, *settings)
            raise ClaimError(unknown("form", form, known, f"there are {', '.join(known)}"))
        if what == "prediction":
            claimed = planned.prediction
            return _exactly(claimed.value, claimed.latex, form.removeprefix(what))
        measured = next((check for check in self.checks if check.id == name), None)
        return _estimate(measured, form) if measured else LATER


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


def _estimate(check: Check, form: str) -> str:
    """Return what a check has measured, with no digit that its standard error does not support."""
    _, digits, with_error, per_cent = _parts(form)
    by = 100.0 if per_cent else 1.0
    value, error = check.estimate * by, check.standard_error * by
    if not with_error:
        return supported(value, error, digits or 10) + per_cent
    low, high = check.interval
    text = estimate(value, error, (low * by, high * by)).with_error
    return f"({text}){per_cent}" if per_cent else text
