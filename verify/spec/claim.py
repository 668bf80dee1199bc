"""A claim: its words and references, and functions that derive, measure and draw it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from types import ModuleType
from typing import Any, ClassVar, Self

from verify.errors import ClaimError, nearest, unknown
from verify.evidence import SLUG, USER, Assumption, Check, Fact, Figure, Reference
from verify.files.names import shipped_table
from verify.montecarlo.blocks import Cell, Sample
from verify.montecarlo.experiment import Experiment
from verify.spec import figures as drawing
from verify.spec.checks import Fit, Item, Plot
from verify.spec.experiment import experiment_of
from verify.spec.words import Words
from verify.symbolic.chains import Derivation


@dataclass(frozen=True)
class Findings:
    """The material of a claim's figures: its finished checks, its cells and their samples, by id."""

    checks: Mapping[str, Check]
    cells: Mapping[str, Cell]
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

    def _made_by(self, name: str, *given: Any) -> Any:
        """Call a function of the claim with the arguments that it names; nothing comes where it has none."""
        function = getattr(self, name)
        if function is None:
            return ()
        named = dict(zip(self.parameters[name], given, strict=True))
        return function(*(named[parameter] for parameter in inspect.signature(function).parameters))

    @cached_property
    def _made(self) -> dict[Any, Any]:
        """What was made once: derivation, checks, facts and plots are asked for one after another."""
        return {}

    def derived(self) -> Derivation:
        """Return the result of ``derive`` as a derivation; its lines are not checked yet.

        Raises:
            ClaimError: that is no chain.
        """
        if self.derive is None:
            return Derivation((), "nothing is derived")
        if "derivation" not in self._made:
            try:
                self._made["derivation"] = Derivation.of(self._made_by("derive"))
            except ClaimError as error:
                raise ClaimError(f"claim {self.id}: {error}") from None
        derivation: Derivation = self._made["derivation"]
        return derivation

    def items(self, derivation: Derivation, tolerance: float) -> tuple[Item, ...]:
        """Return the items of ``experiment`` at a relative tolerance.

        Raises:
            ClaimError: it yields something that is no part of an experiment.
        """
        if (derivation, tolerance) not in self._made:
            made = self._made_by("experiment", derivation, tolerance)
            items = tuple(made) if isinstance(made, Iterable) else (made,)
            for item in items:
                if not isinstance(item, Item):
                    says = "yield Check, Fit, Wrong, Computed, fact(…) or Plot"
                    raise ClaimError(f"claim {self.id}: its experiment yields {type(item).__name__}; {says}")
            self._made[derivation, tolerance] = items
        known: tuple[Item, ...] = self._made[derivation, tolerance]
        return known

    def measured_by(self, derivation: Derivation, tolerance: float) -> Experiment:
        """Return the experiment, ready to be drawn and judged, at a relative tolerance.

        Raises:
            ClaimError: an item does not fit.
        """
        items = self.items(derivation, tolerance)
        try:
            return experiment_of(items, derivation, tolerance)
        except ClaimError as error:
            raise ClaimError(f"claim {self.id}: {error}") from None

    def exact_values(self, derivation: Derivation, tolerance: float = 0.01) -> tuple[Fact, ...]:
        """Return the claim's facts, exact values that a document may print."""
        return tuple(item for item in self.items(derivation, tolerance) if isinstance(item, Fact))

    def drawn(
        self, derivation: Derivation, findings: Findings, tolerance: float = 0.01
    ) -> tuple[Figure, ...]:
        """Return the claim's figures: its plots and those of ``figures``, else that of its first fit."""
        items = self.items(derivation, tolerance)
        plots = [drawing.plot(item, findings, self.title) for item in items if isinstance(item, Plot)]
        own = self._made_by("figures", derivation, findings)
        plots += [own] if isinstance(own, Figure) else list(own)
        fits = [item for item in items if isinstance(item, Fit)]
        if not plots and fits:
            plots.append(drawing.usual(self.title, fits[0], findings))
        return tuple(plots)

    def words(self, derivation: Derivation, *given: Any) -> Words:
        """Return the words of the claim: with its derivation, and further arguments of ``Words``."""
        return Words(self, derivation, *given)

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
