"""What a claim is: data, assumptions and references, and functions that derive, measure and draw it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any, TypeVar

from verify.errors import ClaimError, nearest
from verify.evidence import SLUG, Assumption, Check, Fact, Figure, Reference
from verify.montecarlo.blocks import Cell, Sample
from verify.montecarlo.estimands import Estimand
from verify.montecarlo.experiment import Experiment
from verify.symbolic.derivation import Derivation

_One = TypeVar("_One", Fact, Figure)
_Kind = TypeVar("_Kind")

USER = "user"
"""The chapter of claims that do not come with the tool."""


def _nothing(*_given: Any) -> Any:
    """Stand for a function that a claim does not name: no facts, no figures."""
    return ()


def several(found: _One | tuple[_One, ...]) -> tuple[_One, ...]:
    """Return what a claim's ``facts`` or ``figures`` returned as several, also where it is a single one."""
    return (found,) if isinstance(found, Fact | Figure) else found


@dataclass(frozen=True)
class Findings:
    """What a claim's figures are made from: its finished checks, its cells and their samples, by id."""

    checks: Mapping[str, Check]
    cells: Mapping[str, Cell]
    samples: Mapping[str, Sample]

    def matching(self, pattern: str) -> tuple[Check, ...]:
        """Return the checks whose ids match a ``pattern`` such as ``"variance-d*"``.

        Raises:
            ClaimError: there is none.
        """
        found = tuple(check for name, check in self.checks.items() if fnmatchcase(name, pattern))
        if not found:
            raise ClaimError(f"no check's id matches {pattern!r}; the checks are {', '.join(self.checks)}")
        return found

    def estimated(
        self, cell: str, estimands: Iterable[Estimand], like: str
    ) -> list[tuple[float, tuple[float, float]]]:
        """Return what no check compares, from a cell's sample: values and intervals, at the level of a check.

        Args:
            cell: The cell's id.
            estimands: What is estimated.
            like: The id of the check.
        """
        alpha = 1 - self.checks[like].level
        found = (one.measure(self.samples[cell], alpha) for one in estimands)
        return [(one.value, one.interval) for one in found]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One statement about attention, with everything it takes to settle it.

    What is assumed is what the main theorem's hypotheses say; ``assumptions`` are what the author states
    besides, which the page prints as not used. In ``title``, ``statement`` and ``meaning`` a slot in braces,
    such as {theorem}, is filled from what is derived and measured, or from ``symbols``, expressions by the
    names of their slots (``verify.former.words``). ``derive`` returns the
    derivation, ``experiment`` what to measure, ``facts`` exact values that a document may have printed, and
    ``figures`` what to draw; one fact or figure may stand for itself. The last three name the parameters that
    they use: ``derivation``, what ``derive`` returned; ``experiment`` also ``tolerance``, the run's relative
    tolerance; ``figures`` also ``findings``, what was found. In a claim file these functions are found by
    their names. ``id`` is permanent: that of a claim file follows from the file's name, with hyphens for
    underscores; ``chapter`` is its folder. ``authors`` are those whom a citation names. ``headline``
    is the id of the check of what the title speaks of, whose number stands beside the title in short prints;
    without it that is the number by which the first control is refuted.

    Raises:
        ClaimError: the id is not a lower-case slug, a text is empty, or a function wants something else.
    """

    id: str = ""
    chapter: str = USER
    title: str
    statement: str
    meaning: str
    assumptions: tuple[Assumption, ...] = ()
    references: tuple[Reference, ...] = ()
    authors: tuple[str, ...] = ()
    headline: str = ""
    symbols: Mapping[str, Any] = field(default_factory=dict)
    derive: Callable[[], Derivation] = _nothing
    experiment: Callable[..., Experiment] = _nothing
    facts: Callable[..., Fact | tuple[Fact, ...]] = _nothing
    figures: Callable[..., Figure | tuple[Figure, ...]] = _nothing

    def __post_init__(self) -> None:
        if self.id and not re.fullmatch(SLUG, self.id):
            raise ClaimError(f"claim id {self.id!r}: use lower-case words joined by hyphens")
        for name in ("title", "statement", "meaning"):
            if not getattr(self, name).strip():
                raise ClaimError(f"{self._named}its {name} is empty; write one")
        if not isinstance(self.authors, tuple) or not all(map(str.strip, self.authors)):
            raise ClaimError(f"{self._named}its authors are {self.authors!r}; give a tuple of names")
        for name, parameters in _PARAMETERS.items():
            object.__setattr__(self, name, self._accepting(name, parameters))

    @property
    def _named(self) -> str:
        """What a message begins with; one on a claim file begins with the file, from which the id follows."""
        return f"claim {self.id}: " if self.id else "Claim: "

    def _accepting(self, name: str, parameters: tuple[str, ...]) -> Callable[..., Any]:
        """Return one of the functions so that it takes all ``parameters`` and gets those that it names."""
        function: Callable[..., Any] = getattr(self, name)
        if not callable(function):
            raise ClaimError(f"{self._named}{name} is not a function; make it one")
        wanted = tuple(inspect.signature(function).parameters)
        if function is _nothing or wanted == parameters:
            return function
        unknown = [one for one in wanted if one not in parameters]
        if unknown:
            near = nearest(unknown[0], parameters)
            may = f"it may take {' and '.join(parameters) or 'nothing'}"
            raise ClaimError(f"{self._named}{name} takes {unknown[0]!r}; {near}{' ' if near else ''}{may}")
        places = [parameters.index(one) for one in wanted]

        def call(*given: Any) -> Any:
            return function(*(given[place] for place in places))

        call.__module__, call.__doc__ = function.__module__, function.__doc__
        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(one, inspect.Parameter.POSITIONAL_OR_KEYWORD) for one in parameters]
        )
        return call

    def derived(self) -> Derivation:
        """Return what ``derive`` returns.

        Raises:
            ClaimError: that is no derivation.
        """
        return self._of_kind(Derivation, self.derive(), "derive", "Derivation.of(…)")

    def measured_by(self, derivation: Derivation, tolerance: float) -> Experiment:
        """Return what ``experiment`` returns at a relative tolerance.

        Raises:
            ClaimError: that is no experiment.
        """
        found = self.experiment(derivation, tolerance)
        return self._of_kind(Experiment, found, "experiment", "Experiment(checks, controls)")

    def _of_kind(self, kind: type[_Kind], found: object, function: str, end: str) -> _Kind:
        """Return what a function of a foreign file has returned, whatever it promises, if it is that."""
        if not isinstance(found, kind):
            name = type(found).__name__
            what = "nothing" if found is None else f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"
            raise ClaimError(f"claim {self.id}: its {function} returns {what}; end it with return {end}")
        return found

    def placed(self, name: str, chapter: str, functions: Mapping[str, Any]) -> Claim:
        """Return this claim with its chapter, and what it does not give itself.

        Args:
            name: The id, which follows from the file's name.
            chapter: The id of the chapter.
            functions: What its file defines, if it has one, of which ``derive``, ``experiment``, ``facts``
                and ``figures`` are used.

        Raises:
            ClaimError: there is no ``derive`` or ``experiment``, or a function wants something else.
        """
        # `from verify.former import *` brings the module `figures` as well.
        own = {one: value for one, value in functions.items() if not isinstance(value, ModuleType)}
        found = {one: own[one] for one in _PARAMETERS if one in own and getattr(self, one) is _nothing}
        placed = replace(self, id=self.id or name, chapter=chapter, **found)
        for one in ("derive", "experiment"):
            if getattr(placed, one) is _nothing:
                raise ClaimError(f"{placed._named}it has no {one}; give it that function")
        return placed


_PARAMETERS: dict[str, tuple[str, ...]] = {
    "derive": (),
    "experiment": ("derivation", "tolerance"),
    "facts": ("derivation",),
    "figures": ("derivation", "findings"),
}
"""What the functions of a claim may take."""

INDEPENDENT = Assumption(id="independent", text="All components of query and key are independent.")
CENTRED = Assumption(
    id="centred", text=r"Every component has mean 0: $\mathbb{E}[q_i] = \mathbb{E}[k_i] = 0$."
)
UNIT_VARIANCE = Assumption(id="unit-variance", text="Every component has variance 1.")

STANDARD_COMPONENTS = (INDEPENDENT, CENTRED, UNIT_VARIANCE)
"""What every introduction assumes of queries and keys."""


def assume(*shared: Assumption, **own: str) -> tuple[Assumption, ...]:
    """Return a claim's assumptions: those that it shares with others, then its own.

    Args:
        *shared: Assumptions such as ``INDEPENDENT``, as they are.
        **own: Texts by id, with underscores for the hyphens of ids, as in the names of claim files.
    """
    return (*shared, *(Assumption(id=name.replace("_", "-"), text=text) for name, text in own.items()))


def cite(key: str, text: str, url: str | None = None) -> tuple[Reference]:
    """Return a claim's references where this is the only one; two are added up with ``+``.

    Args:
        key: A name for it, such as "vaswani2017".
        text: Its bibliographic text.
        url: Its address, if it has one.
    """
    return (Reference(key=key, text=text, url=url),)


HOEFFDING = cite(
    "hoeffding1948",
    "W. Hoeffding, A Class of Statistics with Asymptotically Normal Distribution, "
    "Ann. Math. Stat. 19 (1948), 293-325.",
)
STEIN = cite(
    "stein1981",
    "C. M. Stein, Estimation of the Mean of a Multivariate Normal Distribution, Ann. Statist. 9 "
    "(1981), 1135-1151: integration by parts.",
    "https://doi.org/10.1214/aos/1176345632",
)
VASWANI = cite(
    "vaswani2017",
    "A. Vaswani et al., Attention Is All You Need, NeurIPS 2017, section 3.2.1 and its footnote 4.",
    "https://arxiv.org/abs/1706.03762",
)
