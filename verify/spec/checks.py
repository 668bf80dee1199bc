"""The items of an experiment: checks, fits, wrong versions, computed values, facts and plots.

An author yields these; ``experiment`` turns them into comparisons that are drawn and judged. They are data:
nothing here samples or evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self

from sympy import Expr, S, Symbol, sympify

from verify.errors import ClaimError
from verify.evidence import PROFILES, Fact
from verify.montecarlo.distributions import Distribution
from verify.montecarlo.experiment import EXACTLY, Allowance, Relation, Tolerance
from verify.symbolic.chains import Chain, Derivation
from verify.symbolic.notation import latex
from verify.symbolic.vocabulary import Family

At = Mapping[Symbol, Any]  # values of symbols: sizes such as ``d``, and others such as ``sigma``

ROUNDING = Allowance(1e-12)  # the rounding error that array code of numbers near 1 may have

Within = Tolerance  # as an author calls it: the band around a prediction


def of_probability(factor: float = 1.0, because: str = "") -> Within:
    """Return ``factor`` times the run's tolerance, of a probability of 1."""
    return Within(factor, 1.0, "a probability of 1", because)


def of_deviation(variance: Any, factor: float = 1.0, because: str = "") -> Within:
    """Return ``factor`` times the run's tolerance, of the standard deviation that a ``variance`` gives."""
    return Within(factor, float(variance) ** 0.5, "the standard deviation", because)


@dataclass(frozen=True)
class Threshold:
    """A number that is set before the draws, not derived: the meaning of "most", "few" or "more"."""

    value: Any


class Sharing:
    """Items that are made with arguments in common."""

    @classmethod
    def sharing(cls, *given: Any, **common: Any) -> Callable[..., Self]:
        """Return a function that makes items of this kind with these arguments, as ``functools.partial``."""
        return partial(cls, *given, **common)


@dataclass(frozen=True)
class Compared(Sharing):
    """The common part of checks and wrong versions: a quantity, at values of its symbols, and its prediction.

    In place of the quantity stands a chain that starts with it, or the derivation for its main chain. Exactly
    one of ``equals``, ``at_most`` and ``at_least`` is given: an expression in the symbols of ``at``, a float
    that was integrated, or a ``Threshold``. ``tolerance`` is a band, or a factor of the run's tolerance.
    ``laws`` are those of families that are not standard normal; ``shape`` are array sizes where the engine's
    own choice of them is not wanted.
    """

    id: str
    quantity: Any = None
    at: At = field(default_factory=dict, hash=False)
    _: KW_ONLY
    equals: Any = None
    at_most: Any = None
    at_least: Any = None
    laws: Mapping[Family, Distribution] = field(default_factory=dict, hash=False)
    tolerance: Within | float = 1.0
    shape: Mapping[Symbol, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if isinstance(self.quantity, Chain | Derivation):
            object.__setattr__(self, "quantity", self.quantity.start)
        for symbol, value in (*self.at.items(), *self.shape.items()):
            if not isinstance(symbol, Symbol):
                says = f"{symbol!r} is given a value, and is no symbol; give a symbol, as in {{d: 8}}"
                raise ClaimError(f"check {self.id}: {says}")
            number = sympify(value) if symbol.is_integer else S.One
            if not number.is_Integer or (symbol.is_positive and number < 1):
                least = " from 1 on" * bool(symbol.is_positive)
                raise ClaimError(f"check {self.id}: {symbol} is {value}; give a whole number{least}")
        for family, law in self.laws.items() if isinstance(self.laws, Mapping) else [(self.laws, None)]:
            for part, kind, words in ((family, Family, "family"), (law, Distribution, "law")):
                if not isinstance(part, kind):
                    says = f"{getattr(part, 'name', part)!r} is no {words}; give laws by families"
                    raise ClaimError(f"check {self.id}: {says}, as in laws={{q: LAPLACE, k: LAPLACE}}")

    def within(self, run: float = PROFILES["standard"]) -> Within:
        """Return the band around the prediction at a run's tolerance."""
        band = self.tolerance if isinstance(self.tolerance, Within) else Within(self.tolerance)
        factor = band.factor * min(1.0, PROFILES["standard"] / run) if band.fixed else band.factor
        return replace(band, factor=factor, scale=None if band.scale is None else float(band.scale))

    @property
    def compared(self) -> list[tuple[Relation, Any]]:
        """The relations that are given, each with its value; exactly one where all is well."""
        sides: dict[Relation, Any] = {"=": self.equals, "≤": self.at_most, "≥": self.at_least}
        return [(relation, value) for relation, value in sides.items() if value is not None]

    @property
    def relation(self) -> Relation:
        """The relation of the quantity to its prediction."""
        return self.compared[0][0] if self.compared else "≥"

    @property
    def predicted(self) -> Any:
        """The value that it is compared with, whatever the relation."""
        if len(self.compared) != 1:
            raise ClaimError(f"check {self.id}: give one of equals=, at_most= and at_least=")
        return self.compared[0][1]


@dataclass(frozen=True)
class Check(Compared):
    """A comparison of a measured quantity with its prediction.

    A check of a chain compares its start with its end, as they are related, unless another prediction is
    given. ``control`` says that this check, and not the middle check of its quantity, gets the control that
    the engine adds, with a prediction off by twice the tolerance; or by which id. For a bound, ``sharper`` is
    the factor of its constant that is false, which becomes its control, and ``sharper_truth`` the quantity's
    value, where neither a check of it nor an integral over rows gives that. ``off`` are wrong versions whose
    prediction is off by a factor, by their ids.

    Example:
        >>> Check("variance-d64", Var(score), {d: 64}, equals=d)
    """

    control: bool | str = False
    sharper: float = 0.0
    sharper_truth: float | None = None
    off: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        of_chain = isinstance(self.quantity, Chain | Derivation) and not self.compared
        if of_chain and (side := _SIDES.get(self.quantity.relation)):
            object.__setattr__(self, side, self.quantity.end)
        super().__post_init__()


_SIDES = {"=": "equals", "≤": "at_most", "<": "at_most", "≥": "at_least", ">": "at_least"}
"""The argument of a check that a chain's end is given as, by the chain's relation."""


@dataclass(frozen=True)
class Wrong(Compared):
    """A wrong version of the claim, which must come out refuted; in words, ``says``, or in formulas.

    ``of`` is the id of a check, fit or computed value that it changes, under the same laws and values;
    without it, it stands by itself. A computed value's code gets other ``arguments``, at the settings ``at``;
    with a prediction of its own, the value is compared with that. The true value is derived where a check of
    the same quantity at the same setting predicts it.
    """

    says: str = ""
    of: str = ""
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Fit:
    """A weighted fit through the checks whose ids match a pattern, over the values of one symbol.

    ``law`` is the derived expression in that symbol, from which the coefficients follow: slope, intercept and
    curvature of a line, or its level where it has no slope; the exponent of a power; and the lack of fit, or
    ``only`` those that are named. ``prefix`` stands before the ids.

    Example:
        >>> Fit("variance-d*", over=d, law=d)
    """

    pattern: str
    over: Symbol
    law: Any
    only: tuple[str, ...] = ()
    prefix: str = ""
    control: bool = True


@dataclass(frozen=True)
class Computed(Sharing):
    """A comparison of the result of ``code(*arguments)`` with a prediction; nothing is drawn.

    ``what`` names the result, in words or as an expression; ``off`` is as in a ``Check``.
    """

    id: str
    what: Any
    code: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    equals: Any = None
    at_most: Any = None
    at_least: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    allowance: Allowance = EXACTLY
    off: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Plot(Sharing):
    """A figure of checks over the values of a symbol, beside curves.

    ``patterns`` are those of the checks' ids; by labels, where several kinds are distinguished. ``curves``
    are derived, ``bounds`` limit the values, and ``wrong`` curves are those of wrong versions: by their
    labels, expressions in the symbol, and others that have values in ``at``, or functions of its value;
    means over rows of normal scores are integrated. They run from the first check to the last, over the
    ``span``, or over ends of their own, ``(y, (1, 8))``; without ``curves``, a line joins the predictions.
    ``title``, ``x`` and ``y`` are needed where the claim's title, the symbol and the quantity will not do;
    ``linear`` are the axes that are not logarithmic; ``as_drawn`` turns a place and a measured value into the
    value shown. Without any Plot, a claim's first fit is drawn.
    """

    id: str
    patterns: str | tuple[str, ...] | Mapping[str, str | tuple[str, ...]]
    over: Symbol
    title: str = ""
    _: KW_ONLY
    curves: Mapping[str, Any] = field(default_factory=dict, hash=False)
    wrong: Mapping[str, Any] = field(default_factory=dict, hash=False)
    bounds: Mapping[str, Any] = field(default_factory=dict, hash=False)
    at: At = field(default_factory=dict, hash=False)
    span: tuple[float, float] | None = None
    as_drawn: Callable[[float, float], float] = lambda _, value: value
    x: str = ""
    y: str = ""
    linear: Literal["", "x", "y", "xy"] = ""


Item = Check | Wrong | Fit | Computed | Fact | Plot  # an item that an experiment may yield

Chains = Iterator[Chain]  # the result of a ``derive`` that yields several chains

Items = Iterator[Item]  # the result of an ``experiment``, which yields items


def fact(name: str, what: str, value: Any) -> Fact:
    """Return an exact value of the claim as a fact that a document may print.

    Raises:
        ClaimError: symbols are left in it.
    """
    refuse_symbols(f"fact {name}", value)
    return Fact(id=name, what=what, latex=latex(value), value=float(value))


def refuse_symbols(name: str, value: Any) -> None:
    """Refuse an expression that is not a number yet."""
    if isinstance(value, Expr) and value.free_symbols:
        left = ", ".join(sorted(map(str, value.free_symbols)))
        raise ClaimError(f"{name}: {value} is no number yet; give {left} a value in at={{…}}")
