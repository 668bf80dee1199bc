"""A claim: its references, its functions that derive, measure and draw, and its words.

The words are texts with slots in braces, which are filled from the derivation and the measurements.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from types import ModuleType
from typing import Any, ClassVar, Self

from sympy import Basic, Symbol, sqrt

from verify.errors import ClaimError, nearest, unknown
from verify.evidence import SLUG, USER, Assumption, Check, Fact, Figure, Reference
from verify.files import shipped_table
from verify.montecarlo.blocks import Sample
from verify.montecarlo.experiment import Comparison, Experiment, Prediction
from verify.spec import figures as drawing
from verify.spec.checks import Fit, Item, Plot
from verify.spec.experiment import experiment_of
from verify.symbolic.chains import Chain, Derivation
from verify.symbolic.notation import SIGNS, in_line
from verify.symbolic.vocabulary import a, d, d_v, j, m, mu_k, mu_q, n, s, score, sigma, squares
from verify.text.numbers import estimate, exact, supported


@dataclass(frozen=True)
class Findings:
    """The material of a claim's figures: its finished checks, and the samples of its cells, by id."""

    checks: Mapping[str, Check]
    samples: Mapping[str, Sample]

    def matching(self, *patterns: str) -> tuple[Check, ...]:
        """Return the checks whose ids match any of the patterns, such as ``"variance-d*"``.

        Raises:
            ClaimError: there is none.
        """
        matching = [
            check for name, check in self.checks.items() if any(fnmatchcase(name, p) for p in patterns)
        ]
        if not matching:
            known = ", ".join(self.checks)
            raise ClaimError(f"no check's id matches {' or '.join(patterns)!r}; the checks are {known}")
        return tuple(matching)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement about attention, with everything it takes to settle it.

    ``derive`` gives the chain of the derivation, or several, of which that without a name is the main chain.
    ``experiment`` takes the derivation and yields checks, fits, wrong versions, computed values, facts and
    plots; it may also take ``tolerance``, the run's. ``figures`` takes ``derived`` and ``findings`` where a
    plot is not enough. In a claim file these functions are recognised by their names.

    In ``title``, ``statement`` and ``meaning`` a slot in braces is filled: ``{main}`` with the result of the
    main chain, ``{name}`` with that of another, ``{check-id:3}`` with an estimate, the name of an expression
    that the file defines with that, or ``symbols``, expressions by the names of their slots. A claim assumes
    all that its chains' checks assume, and the ``assumptions`` that the author states besides. Where there is
    no ``title`` it is the first line of the file. ``id`` is permanent: that of a claim file follows from the
    file's name, with hyphens for underscores; ``chapter`` is its folder. ``headline`` is the id of the check
    whose number stands beside the title in short prints.

    Raises:
        ClaimError: the id is not a lower-case slug, a text is empty, or a function wants something else.
    """

    id: str = ""
    chapter: str = USER
    title: str = ""
    statement: str
    meaning: str
    assumptions: tuple[Assumption, ...] = ()
    references: tuple[Reference, ...] = ()
    authors: tuple[str, ...] = ()
    headline: str = ""
    symbols: Mapping[str, Any] = field(default_factory=dict)
    derive: Callable[..., Any] | None = None
    experiment: Callable[..., Any] | None = None
    figures: Callable[..., Any] | None = None
    names: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """All that its file defines, by name."""

    parameters: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "derive": (),
        "experiment": ("derived", "tolerance"),
        "figures": ("derived", "findings"),
    }

    def __post_init__(self) -> None:
        if self.id and not re.fullmatch(SLUG, self.id):
            raise ClaimError(f"claim id {self.id!r}: use lower-case words joined by hyphens")
        for name in ("statement", "meaning"):
            if not getattr(self, name).strip():
                raise ClaimError(f"{self._named}its {name} is empty; write one")
        if not isinstance(self.authors, tuple) or not all(map(str.strip, self.authors)):
            raise ClaimError(f"{self._named}its authors are {self.authors!r}; give a tuple of names")
        for name, parameters in self.parameters.items():
            if (function := getattr(self, name)) is None:
                continue
            if not callable(function):
                raise ClaimError(f"{self._named}{name} is not a function; make it one")
            for other in set(inspect.signature(function).parameters) - set(parameters):
                near, may = nearest(other, parameters), f"it may take {' and '.join(parameters) or 'nothing'}"
                raise ClaimError(f"{self._named}{name} takes {other!r}; {near}{' ' * bool(near)}{may}")

    @property
    def _named(self) -> str:
        """The beginning of a message; on a claim file, it begins with the file, from which the id follows."""
        return f"claim {self.id}: " if self.id else "Claim: "

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Put that beginning before what is wrong in the claim's functions, or in what they give."""
        try:
            yield
        except ClaimError as error:
            raise ClaimError(f"{self._named}{error}") from None

    def _made_by(self, name: str, *given: Any) -> Any:
        """Call a function of the claim with the arguments that it names; nothing comes where it has none."""
        function = getattr(self, name)
        if function is None:
            return ()
        named = dict(zip(self.parameters[name], given, strict=True))
        return function(*(named[parameter] for parameter in inspect.signature(function).parameters))

    @cached_property
    def _derivation(self) -> Derivation:
        if self.derive is None:
            return Derivation((), "nothing is derived")
        with self._naming():
            return Derivation.of(self._made_by("derive"))

    def derived(self) -> Derivation:
        """Return the result of ``derive`` as a derivation; its lines are not checked yet.

        Raises:
            ClaimError: that is no chain.
        """
        return self._derivation

    @cached_property
    def _items(self) -> dict[tuple[Derivation, float], tuple[Item, ...]]:
        """The items that were made: checks, facts and plots are asked for one after another."""
        return {}

    def items(self, derivation: Derivation, tolerance: float) -> tuple[Item, ...]:
        """Return the items of ``experiment`` at a relative tolerance.

        Raises:
            ClaimError: it yields something that is no part of an experiment.
        """
        if (derivation, tolerance) not in self._items:
            with self._naming():
                made = self._made_by("experiment", derivation, tolerance)
                items = tuple(made) if isinstance(made, Iterable) else (made,)
            if others := [type(item).__name__ for item in items if not isinstance(item, Item)]:
                says = "yield Check, Fit, Wrong, Computed, fact(…) or Plot"
                raise ClaimError(f"{self._named}its experiment yields {others[0]}; {says}")
            self._items[derivation, tolerance] = items
        return self._items[derivation, tolerance]

    def measured_by(self, derivation: Derivation, tolerance: float) -> Experiment:
        """Return the experiment, ready to be drawn and judged, at a relative tolerance.

        Raises:
            ClaimError: an item does not fit.
        """
        items = self.items(derivation, tolerance)
        with self._naming():
            return experiment_of(items, derivation, tolerance)

    def exact_values(self, derivation: Derivation, tolerance: float = 0.01) -> tuple[Fact, ...]:
        """Return the claim's facts, exact values that a document may print."""
        return tuple(item for item in self.items(derivation, tolerance) if isinstance(item, Fact))

    def drawn(
        self, derivation: Derivation, findings: Findings, tolerance: float = 0.01
    ) -> tuple[Figure, ...]:
        """Return the claim's figures: its plots and those of ``figures``, else that of its first fit."""
        items = self.items(derivation, tolerance)
        plots = [drawing.plot(item, findings, self.title) for item in items if isinstance(item, Plot)]
        own = self._made_by("figures", derivation, findings)  # one figure, or several
        plots += [own] if isinstance(own, Figure) else list(own)
        if not plots and (fit := next((item for item in items if isinstance(item, Fit)), None)):
            plots.append(drawing.usual(self.title, fit, findings))
        return tuple(plots)

    def placed(self, name: str, chapter: str, functions: Mapping[str, Any]) -> Self:
        """Return this claim with its chapter, and all that it does not give itself.

        Args:
            name: The id, which follows from the file's name.
            chapter: The id of the chapter.
            functions: All that its file defines, if any: a claim's functions, its title and expressions.

        Raises:
            ClaimError: there is no title or no ``experiment``, or a function wants something else.
        """
        # An imported module ``figures`` is no function of the claim's.
        used = {
            name: functions[name]
            for name in self.parameters
            if getattr(self, name) is None and not isinstance(functions.get(name), ModuleType | None)
        }
        first = (functions.get("__doc__") or "").partition("\n")[0].removesuffix(".")
        title, names = self.title or first, self.names or functions
        placed = replace(self, id=self.id or name, chapter=chapter, title=title, names=names, **used)
        if not placed.title.strip():
            raise ClaimError(f"{placed._named}its title is empty; write one")
        if placed.experiment is None:
            raise ClaimError(f"{placed._named}it has no experiment; give it that function")
        return placed


def assume(**texts: str) -> tuple[Assumption, ...]:
    """Return a claim's assumptions beside those of its chains.

    Args:
        **texts: Texts by id, with underscores for the hyphens of ids, as in the names of claim files.
    """
    return tuple(Assumption(id=name.replace("_", "-"), text=text) for name, text in texts.items())


def cite(*sources: str | Reference) -> tuple[Reference, ...]:
    """Return a claim's references: keys of ``data/references.toml``, or a ``Reference`` of the author's own.

    Raises:
        ClaimError: there is no such key.

    Example:
        >>> cite("vaswani2017", Reference(key="mine2026", text="A. Author, My Paper, 2026."))
    """
    known = bibliography()
    for key in (source for source in sources if isinstance(source, str) and source not in known):
        raise ClaimError(unknown("reference", key, known, "give a Reference(key=…, text=…, url=…)"))
    return tuple(known[source] if isinstance(source, str) else source for source in sources)


@cache
def bibliography() -> Mapping[str, Reference]:
    """Read the references of the claims that are shipped, by key."""
    return {key: Reference(key=key, **entry) for key, entry in shipped_table("references").items()}


# A formula, whose braces are LaTeX's, or a slot, without braces.
_SLOT = re.compile(r"(?<!\\)\$(?:[^$\\]|\\.)+\$|\{([^{}]+)\}", re.DOTALL)
# The form of a number: a part of a check; its error, or how many digits at most and per cent.
_FORM = re.compile(r"([a-z]*)(?:(±)|(?:\.?([0-9]+))?(%)?)")
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

    claim: Claim
    derivation: Derivation
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
        controls = [
            replace(each, what=self.fill(f"control {each.comparison.id}", each.what, each.comparison))
            for each in experiment.controls
        ]
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
        return filled.model_copy(update={"alt": drawing.described(filled)})

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
        """Return the text for a slot; where a name means several things, the last of these counts."""
        name, _, form = slot.partition(":")
        of_control = {"cell": _settings(own), "value": own.prediction} if own else {}
        facts = {fact.id: fact for fact in self.facts or ()}
        main = {"main": self.derivation.main} if self.derivation.main else {}
        said = {**of_control, **SYMBOLS, **self.claim.symbols, **facts, **self.derivation.others, **main}
        # Last come names of the claim's file, which are whatever it imports.
        meant = said.get(name, self.claim.names.get(name))
        if name in said or isinstance(meant, Basic):
            return _text(meant, form)
        if self.facts is None:
            return "(not computed)"
        if name in self._planned:
            return self._check(self._planned[name], form)
        known = [*self._planned, *said]
        raise ClaimError(unknown("slot", name, known, f"there are {', '.join(known)}"))

    @cached_property
    def _planned(self) -> dict[str, Comparison]:
        experiment = self.experiment() if callable(self.experiment) else self.experiment
        return {check.id: check for check in (experiment.checks if experiment else ())}

    def _check(self, planned: Comparison, form: str) -> str:
        """Return the estimate or the prediction of a check, or a setting of its cell."""
        settings = _settings(planned)
        if form.rstrip("=") in settings:
            return _text(settings, form)
        what, digits, error, per_cent = _parts(form)
        if what == "prediction":
            return _text(planned.prediction, form.removeprefix(what))
        if what != "estimate":
            known = ("estimate", "prediction", *settings)
            raise ClaimError(unknown("form", form, known, f"there are {', '.join(known)}"))
        check = next((check for check in self.checks if check.id == planned.id), None)
        if check is None:
            return "(measured in a run)"
        if error:
            return estimate(check.estimate, check.standard_error, check.interval).with_error
        by = 100.0 if per_cent else 1.0  # no digit that the standard error does not support
        return supported(check.estimate * by, check.standard_error * by, digits or 10) + per_cent


def _settings(comparison: Comparison) -> Mapping[str, Any]:
    return dict(getattr(getattr(comparison, "cell", comparison), "settings", ()))


def _parts(form: str) -> tuple[str, int, str, str]:
    """Return the parts of a form such as "estimate.2%": name, digits, 0 for all that are known, and signs."""
    parts = _FORM.fullmatch(form)
    what, error, digits, per_cent = parts.groups(default="") if parts else (form, "", "", "")
    return what, int(digits or 0), error, per_cent


def _text(meant: Any, form: str) -> str:
    """Return a chain, an exact number, one of several settings or an expression as text, in a form."""
    if isinstance(meant, Chain):  # or a side of it
        sides = {"start": in_line(meant.start), "end": in_line(meant.end)}
        if form and form not in sides:
            raise ClaimError(unknown("side", form, sides, "there are start and end"))
        return f"${sides[form]}$" if form else f"${sides['start']} {SIGNS[meant.relation]} {sides['end']}$"
    if isinstance(meant, Fact | Prediction):  # as it is written, or as a decimal
        what, digits, error, per_cent = _parts(form)
        if what or error:
            raise ClaimError(f"it has no form {form!r}; give a number of digits, such as :3, or nothing")
        decimal = exact(meant.value * (100 if per_cent else 1), digits or 3) + per_cent
        return decimal if form else f"${meant.latex}$"
    if isinstance(meant, Mapping):  # after its name where the form ends in a sign of equality
        name = form.rstrip("=")
        if name not in meant:
            raise ClaimError(unknown("setting", name, meant, f"its settings are {', '.join(meant)}"))
        value = meant[name] if isinstance(meant[name], str) else exact(float(meant[name]), 15)
        return f"${in_line(Symbol(name))} = {value.strip('$')}$" if form != name else value
    if form:
        raise ClaimError("a symbol has no forms; leave the colon out")
    return f"${in_line(meant)}$"
