"""A second net, which trusts no rule: every theorem is evaluated where it claims to hold before it leaves.

``falsify`` tries both sides at corners of all domains and at seeded points. It proves nothing: what it holds
true has only not been refuted. What it refutes is false, in balls that hold both sides; integrals count in
rigorous quadrature alone, draws only beyond seven standard errors.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypedDict

from flint import acb, arb, ctx, fmpq
from flint.utils.flint_exceptions import FlintError
from sympy import Eq, Indexed, IndexedBase, Integral, S, preorder_traversal

from verify.symbolic.arithmetics import FLOATS, OutOfTime, Undefined, Unknown, fraction, rational
from verify.symbolic.balls import Scene, value, values
from verify.symbolic.kernel.core import Chain, Same, premises_of
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.layouts import Layout
from verify.symbolic.places import Outside, contains, corners, plans, scene_at


class Counterexample(Exception):  # noqa: N818  # what it is
    """A statement is false at a point where it claims to hold."""


class Falsifiable(Protocol):
    """What can be tried: a theorem, or a statement without a proof."""

    @property
    def lhs(self) -> Any:
        """The left side."""

    @property
    def relation(self) -> str:
        """One of the kernel's relations."""

    @property
    def rhs(self) -> Any:
        """The right side."""

    @property
    def hypotheses(self) -> Any:
        """Where it claims to hold."""

    @property
    def order(self) -> tuple[Any, int] | None:
        """The symbol and the power of first terms."""


@dataclass(frozen=True)
class Tried:
    """At how many points a statement held, at how many nothing could be told, and why not."""

    held: int = 0
    undecided: int = 0
    why: tuple[str, ...] = ()

    def __add__(self, other: Tried) -> Tried:
        why = tuple(sorted({*self.why, *other.why}))
        return Tried(self.held + other.held, self.undecided + other.undecided, why)


class Effort(TypedDict):
    """How much is tried: random points, and seconds of processor time at most."""

    points: int
    seconds: float


CORNERS: Effort = {"points": 20, "seconds": 1.0}
"""The corners and a few points."""

GLANCE: Effort = {"points": 20, "seconds": 0.03}
"""The same, as far as three hundredths of a second go: for every run."""

FULL: Effort = {"points": 200, "seconds": 2.0}
"""All that there is, for two seconds a statement at most."""

NOWHERE = "no point was found at which the hypotheses hold"
"""Why nothing was told of a statement whose hypotheses may contradict each other."""

_UNSOLVED = "no point was found that solves the equations among the hypotheses"

_PRECISIONS = (160, 640)
"""Bits; what the first does not tell the second is asked."""

_BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
    FlintError,
)
"""What SymPy, NumPy and FLINT raise where an expression is none that they know; such a point is undecided."""

_TINY, _LOOSE = arb("1e-25"), arb("1e-6")


def falsify(theorem: Falsifiable, points: int = 200, seed: int = 1, seconds: float = 2.0) -> Tried:
    """Return at how many points a statement held; the same for the same seed, unless time runs out.

    The ``seconds`` are of processor time, so that less is not tried where a machine is busy.

    Raises:
        Counterexample: it is false somewhere.
    """
    trial = _Trial(theorem, seed, points, time.thread_time() + seconds)
    if trial.layout.strange:
        return Tried(undecided=1, why=(f"{trial.layout.strange} is not known here",))
    try:
        {"~": trial.first_terms, "⇔": trial.equivalence}.get(theorem.relation, trial.everywhere)()
    except OutOfTime:
        trial.doubt(f"stopped after {seconds:g} s", 0)
    return trial.tried


def tried_over(theorem: Any) -> Iterator[Any]:
    """Yield a theorem and all that it rests on, each statement once."""
    seen, waiting = set(), [theorem]
    while waiting:
        one = waiting.pop(0)
        key = (one.lhs, one.relation, one.rhs, one.hypotheses, one.order)
        if key not in seen:
            seen.add(key)
            yield one
            waiting.extend(premises_of(one.rule))


def falsify_all(theorem: Any, budget: Effort = CORNERS, seed: int = 1) -> Tried:
    """Return what came of trying a theorem and all that it rests on, the cheapest first.

    What only puts others together is left out: where it is false one of these is.

    Raises:
        Counterexample: one of them is false somewhere.
    """
    apart = (one for one in tried_over(theorem) if one is theorem or not isinstance(one.rule, Chain | Same))
    every = sorted(apart, key=_cost)
    return sum((falsify(one, seed=seed, **budget) for one in every), Tried())


def _cost(one: Any) -> int:
    dear = {E: 50, Var: 50, Integral: 20}
    return sum(dear.get(type(node), 1) for side in (one.lhs, one.rhs) for node in preorder_traversal(side))


class _Trial:
    """The trying of one statement."""

    def __init__(self, statement: Falsifiable, seed: int, points: int, deadline: float) -> None:
        self.statement, self.points, self.deadline = statement, points, deadline
        self.random = random.Random(seed)  # noqa: S311  # no secrets
        sides = (statement.lhs, statement.rhs)
        self.layout = Layout(sides, statement.hypotheses)
        self.tried = Tried()
        everything = (*sides, *self.layout.definitions.values())
        normal = self.layout.law.normal if self.layout.law else ()
        self.normal = any(isinstance(one, IndexedBase) for one in normal)
        self.has_integral = any(one.has(Integral) for one in everything)

    def doubt(self, why: str, times: int = 1) -> None:
        """Count a point at which nothing could be told."""
        self.tried += Tried(undecided=times, why=(why,))

    def scenes(self) -> Iterator[Scene]:
        """Yield the points at which the hypotheses hold."""
        found = outside = 0
        try:
            share = 3 if self.normal else 2 if self.layout.law else 1
            wanted = max(40, self.points * 3 // 2) // share, self.points // share
            for plan in plans(self.layout, *wanted, self.random):
                try:
                    yield self.scene(dict(zip(self.layout.symbols, plan, strict=True)))
                    found += 1
                except Outside:
                    outside += 1
                except Unknown as error:
                    self.doubt(str(error))
        except Unknown as error:
            self.doubt(str(error))
        if outside and not found:
            equations = (one for one in self.statement.hypotheses.conditions if isinstance(one, Eq))
            self.doubt(_UNSOLVED if any(one.has(Indexed, E) for one in equations) else NOWHERE)

    def scene(self, plan: dict[Any, Any]) -> Scene:
        """Return the point of these values."""
        if time.thread_time() > self.deadline:
            raise OutOfTime
        budget = min(2_000_000, 125 * max(self.points, 10) ** 2)
        try:
            with ctx.workprec(_PRECISIONS[0]):
                return scene_at(self.layout, plan, self.random, deadline=self.deadline, budget=budget)
        except _BROKEN as error:
            raise Unknown(f"{type(error).__name__}: {error}") from error

    def everywhere(self) -> None:
        """Try the statement at every point."""
        for at in self.scenes():
            self.judge(at)

    def judge(self, at: Scene) -> None:
        """Try the statement at one point.

        Raises:
            Counterexample: it is false there.
        """
        verdict = self.verdict(at)
        if verdict == _FALSE and self.needs_proof(at):
            verdict = self.verdict(at.having({}, rigorous=True, memo={}, seed=8, budget=4 * at.budget))
            if verdict not in {_FALSE, _HELD}:
                verdict = f"false by a first look alone; {verdict}"
        if verdict == _FALSE:
            raise Counterexample(self.told(at))
        if verdict == _HELD:
            self.tried += Tried(held=1)
        else:
            self.doubt(verdict)

    def needs_proof(self, at: Scene) -> bool:
        """Return whether a refutation may rest on a first look or on draws."""
        return self.has_integral or any(getattr(law, "kind", "") != "points" for law in at.laws.values())

    def verdict(self, at: Scene) -> str:
        """Return what both sides at a point tell."""
        verdict = ""
        for bits in _PRECISIONS:
            looked = at if bits == _PRECISIONS[0] else at.having({}, rigorous=True, memo={})
            try:
                with ctx.workprec(bits):
                    left, right = self.sides(looked)
                    verdict = _compared(self.statement.relation, left, right)
            except Unknown as error:
                verdict = str(error)
            if verdict in {_FALSE, _HELD} or self.normal:
                break
        return verdict

    def sides(self, at: Scene) -> tuple[Any, Any]:
        """Return the values of both sides; None for what has no value there.

        Raises:
            Unknown: one cannot be evaluated, and the other is not undefined.
        """
        got: list[Any] = []
        for side in (self.statement.lhs, self.statement.rhs):
            try:
                got.append(values(side, at))
            except Undefined:
                got.append(None)
            except FloatingPointError as error:
                raise Unknown("draws that overflow") from error
            except _BROKEN as error:
                raise Unknown(f"{type(error).__name__}: {error}") from error
        return got[0], got[1]

    def told(self, at: Scene) -> str:
        """Return that the statement is false, where, and what both sides are there."""
        one = self.statement
        with ctx.workprec(_PRECISIONS[0]):
            try:
                sides = [_shown(side) for side in self.sides(at)]
            except (Unknown, Undefined):
                sides = ["?", "?"]
        said = f"{_short(one.lhs)} {one.relation} {_short(one.rhs)} is false at {self.where(at)}"
        return f"{said}: {sides[0]} {one.relation} {sides[1]}"

    def where(self, at: Scene) -> str:
        """Return a point in words."""
        named = {one: x for one, x in at.values.items() if getattr(one, "is_Symbol", False)}
        said = [f"{one} = {x}" for one, x in sorted(named.items(), key=lambda item: str(item[0]))]
        said += [f"{one} = {at.values[one]}" for one in self.layout.free_indices if one not in named]
        said += [f"{base}{list(place)} = {_shown([x])}" for (base, *place), x in at.entries.items()]
        said += [f"{one} with the law {law}" for one, law in at.laws.items()]
        return ", ".join(said) or "every point"

    # First terms, and equivalences.

    def first_terms(self) -> None:
        """Try whether the remainder falls faster than one over the power of the symbol that grows."""
        if self.statement.order is None:
            self.doubt("first terms in nothing")
            return
        large, power = self.statement.order
        for at in self.scenes():
            try:
                with ctx.workprec(_PRECISIONS[1]):
                    sizes = [
                        self.remainder(at.moved({large: 10**exponent}), 10**exponent, power)
                        for exponent in (3, 6, 9)
                    ]
            except (Unknown, Undefined) as error:
                self.doubt(str(error) or "no value")
                continue
            self.judge_order(sizes, at)

    def remainder(self, at: Scene, large: int, power: Any) -> Any:
        """Return the difference of the sides, times a power of what grows."""
        times = value(S(power), at)
        return abs(value(self.statement.lhs, at) - value(self.statement.rhs, at)) * arb(large) ** times

    def judge_order(self, sizes: list[Any], at: Scene) -> None:
        """Tell from three remainders whether they vanish."""
        first, second, third = sizes
        if third < _TINY or third < first / 2:
            self.tried += Tried(held=1)
        elif third > second * arb("0.9"):
            large, power = self.statement.order or ("", 0)
            said = ", ".join(one.str(6, radius=False) for one in sizes)
            one = self.statement
            raise Counterexample(
                f"{_short(one.lhs)} ~ {_short(one.rhs)} is false at {self.where(at)}: times {large}^{power} "
                f"the difference is {said} at 10^3, 10^6, 10^9"
            )
        else:
            self.doubt("a remainder that falls slowly")

    def equivalence(self) -> None:
        """Try whether two equations hold at the same points, at those where either is solved among others."""
        pairs = ((self.statement.lhs, self.statement.rhs), (self.statement.rhs, self.statement.lhs))
        for at in self.scenes():
            try:
                for one, other in pairs:
                    self.same_truth(one, other, at)
                    for solved in self.solutions(one, at):
                        self.same_truth(one, other, solved)
            except (Unknown, Undefined) as error:
                self.doubt(str(error) or "no value")

    def same_truth(self, one: Any, other: Any, at: Scene) -> None:
        """Count a point at which both equations are true, or both false.

        Raises:
            Counterexample: one is true, the other false.
        """
        with ctx.workprec(_PRECISIONS[0]):
            first, second = _gap(one, at), _gap(other, at)
        holds = first.contains(0) and first.rad() < _LOOSE
        if holds and not second.contains(0):
            raise Counterexample(f"{one} holds, and {other} does not, at {self.where(at)}")
        also = second.contains(0) and second.rad() < _LOOSE
        if holds == also:
            self.tried += Tried(held=1)
        elif not (also and not first.contains(0)):
            self.doubt("the balls are too wide")

    def solutions(self, equation: Any, at: Scene) -> Iterator[Scene]:
        """Yield points at which an equation holds: between two corners of a symbol where its sides cross."""
        for one in self.layout.symbols:
            if not self.layout.moves(one) or not equation.has(one):
                continue
            places = sorted(
                {fraction(x) for x in corners(self.layout.domain(one))}, key=lambda x: float(FLOATS.lift(x))
            )
            for low, high in pairwise(places):
                found = _crossing(equation, one, low, high, at)
                if found is not None and contains(self.layout.domain(one), _as_rational(found)):
                    yield at.having({one: found})
                    break


_HELD, _FALSE = "held", "false"


def _compared(relation: str, left: Any, right: Any) -> str:
    """Return whether a relation holds between two sides, is false, or why that is open."""
    if left is None or right is None:
        return "neither side has a value" if left is right else _FALSE
    if len(left) != len(right):
        return _FALSE
    verdicts = [_of_two(relation, a, b) for a, b in zip(left, right, strict=True)]
    for one in verdicts:
        if one == _FALSE:
            return one
    return next((one for one in verdicts if one != _HELD), _HELD)


def _of_two(relation: str, left: Any, right: Any) -> str:
    if _is_infinite(left) or _is_infinite(right):
        return _of_infinite(relation, left, right)
    gap = right - left
    if not gap.is_finite():
        return "not finite in this arithmetic"
    if isinstance(gap, acb) and not gap.imag.contains(0):
        return _FALSE if relation == "=" else "complex values"
    gap = _real(gap)
    if _WRONG[relation](gap):
        return _FALSE
    return _of_true(relation, gap, 1 + abs(_real(left)))


def _of_true(relation: str, gap: Any, scale: Any) -> str:
    """Return whether what is not surely false surely holds, or as far as balls of no size tell."""
    tiny = gap.rad() < _TINY * scale
    if relation == "=":
        return _HELD if gap.rad() < _LOOSE * scale else "the balls are too wide"
    if _RIGHT[relation](gap) or (relation in "≤≥" and tiny):
        return _HELD
    return "equal as far as balls tell" if tiny else "the balls are too wide"


_WRONG: dict[str, Callable[[Any], bool]] = {
    "=": lambda gap: not gap.contains(0), "≤": lambda gap: gap < 0, "≥": lambda gap: gap > 0,
    "<": lambda gap: gap <= 0, ">": lambda gap: gap >= 0,
}  # fmt: skip
_RIGHT: dict[str, Callable[[Any], bool]] = {
    "≤": lambda gap: gap >= 0, "≥": lambda gap: gap <= 0, "<": lambda gap: gap > 0, ">": lambda gap: gap < 0,
}  # fmt: skip


def _is_infinite(one: Any) -> bool:
    return isinstance(one, arb) and not one.is_finite() and not one.is_nan() and bool(one > 10**9)


def _of_infinite(relation: str, left: Any, right: Any) -> str:
    if _is_infinite(left) and _is_infinite(right):
        return "both sides grow without end"
    finite = right if _is_infinite(left) else left
    if not finite.is_finite():
        return "not finite in this arithmetic"
    if relation == "=":
        return _FALSE
    return _HELD if (relation in "≤<") == _is_infinite(right) else _FALSE


def _real(one: Any) -> Any:
    return one.real if isinstance(one, acb) else one


def _gap(equation: Any, at: Scene) -> Any:
    return _real(value(equation.lhs, at) - value(equation.rhs, at))


def _crossing(equation: Any, symbol: Any, low: Any, high: Any, at: Scene) -> Any:
    """Return a number close to where the sides cross, exact where that is a fraction found on the way."""
    with ctx.workprec(_PRECISIONS[0]):
        try:
            ends = [_gap(equation, at.having({symbol: one})) for one in (low, high)]
            if not (ends[0] * ends[1] < 0):
                return next((x for x, gap in zip((low, high), ends, strict=True) if gap == 0), None)
            for _ in range(80):
                middle = (low + high) / 2
                gap = _gap(equation, at.having({symbol: middle}))
                if gap == 0:
                    return middle
                low, high = (middle, high) if gap * ends[0] > 0 else (low, middle)
        except (Unknown, Undefined):
            return None
    return arb(low).union(arb(high))


def _as_rational(one: Any) -> Any:
    return rational(one if isinstance(one, fmpq) else one.mid().fmpq())


def _short(side: Any) -> str:
    said = str(side)
    return said if len(said) <= 120 else said[:117] + "…"


def _shown(side: Any) -> str:
    if side is None:
        return "no value"
    return ", ".join(map(_number, side))


def _number(one: Any) -> str:
    """Return a number in a few digits, with its radius where fewer are known."""
    if isinstance(one, (int, fmpq)):
        return str(one)
    known = one.rad() <= arb("1e-7") * abs(one)
    return str(one.str(8, radius=False) if known or isinstance(one, acb) else one.str(8))
