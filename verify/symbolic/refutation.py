"""The second net: whatever its check says, a line is evaluated where it claims to hold.

``refute`` tries both sides at corners of the domains of all symbols and at random points, in many digits;
where there is a mean, over all outcomes of small laws with the assumed moments; normal laws and integrals by
quadrature of two sizes, whose difference is the error; what has too many outcomes by draws, beyond six
standard errors. It proves nothing: a line that passes has not been refuted.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
from mpmath import mp
from sympy import Eq, Gt, I, Indexed, Integral, Ne, Product, Rational, Sum, Symbol, exp, sign, sympify
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.functions.elementary.hyperbolic import HyperbolicFunction

from verify.errors import ClaimError
from verify.symbolic import vocabulary
from verify.symbolic.laws import NoLaw, NumericLaw, law_with
from verify.symbolic.numbers import BATCHES, NotEvaluated, Point, evaluated, holds
from verify.symbolic.points import put_at
from verify.symbolic.signs import Signs
from verify.symbolic.vocabulary import BINDERS, Cov, Dot, E, Family, Index, Indicator, Laws, Var, free_symbols
from verify.symbolic.vocabulary import unnamed

DIGITS = (30, 60, 1000)
"""Digits in which a line is evaluated, and again where it seems false there."""

BUDGET = 60_000
"""How much work a line may take, in nodes of expressions; about half a second."""

POINTS, FEWER, MEANS, FEW = 60, 12, 12, 2
"""The most points of a line, of one with components or an integral, of one with a mean, and in long rows."""

MANY = 20
"""Sizes of rows that are drawn besides."""

LONG = (1024, 10**6, 10**60)
"""Sizes of rows of normal scores whose means are integrals over one score."""

WIDER = 16
"""How many times wider their scores are spread as well."""

STANDARD_ERRORS = 6.0
"""How far draws must be from what a line says."""

CHOICES = (
    (((0, 1),), ((0, 1),)),
    (((1.5, 1),), ((0, 1),)),
    (((0.25, 1.25), (-1.5, 0.5)), ((-1.5, 1),)),
    (((-0.75, 1.5), (2.0, 1.0)), ((0.5, 0.75), (1.0, 2.0))),
)
"""What is chosen of the laws of families, see ``law_with``: ±1 first, then 2 and -1/2, then three values."""

ALLOWED = {"=": (0,), "≤": (-1, 0), "<": (-1,), "≥": (0, 1), ">": (1,)}
"""The signs that the left side less the right one may have."""


class Counterexample(Exception):  # noqa: N818  # what it is
    """A line is false at a point where it claims to hold; the text names the point."""


def refute(
    before: Any,
    relation: str,
    after: Any,
    laws: Laws | None,
    given: tuple[Any, ...] = (),
    budget: int = BUDGET,
) -> str:
    """Return how a line was tried, such as "12 laws, exactly" or "60 points"; "" where it could not be.

    Args:
        before: The left side.
        relation: One of = ≤ < ≥ > ~ ⇔.
        after: The right side.
        laws: The laws of what is drawn. Without them means are over an arbitrary joint law; families that
            ``laws`` leave out are given numbers if they are ``Given``, or stand outside means.
        given: Conditions under which the line holds. An equation of a symbol says what it stands for.
        budget: How much work is done at most.

    Raises:
        Counterexample: it is false somewhere, or no law has the assumed moments.
    """
    sides = put_at(unnamed(before)), put_at(unnamed(after))
    trial = _Trial(sides[0], relation, sides[1], dict(laws or {}), tuple(map(unnamed, given)), budget)
    if trial.is_unknown:
        return ""
    if relation == "⇔" or isinstance(trial.before, Relational):
        return trial.equivalence()
    if relation == "~":
        return trial.leading()
    if any(side.has(E, Var, Cov) for side in trial.sides):
        return trial.means()
    if any(side.has(Integral) for side in trial.sides):
        return _tried(trial.held(trial.points(FEWER), trial.by_quadrature), "point", ", by quadrature")
    points = 2 * FEWER if trial.families else POINTS
    return _tried(trial.held(trial.points(points, moderate=relation in "<>"), trial.in_digits))


def _tried(count: int, of: str = "point", how: str = "") -> str:
    return f"{count} {of}{'s' * (count != 1)}{how}" if count else ""


@dataclass
class _Trial:
    """The trying of one line."""

    before: Any
    relation: str
    after: Any
    laws: dict[Family, Any]
    given: tuple[Any, ...]
    budget: float
    put: dict[Any, Any] = field(default_factory=dict)
    of_components: tuple[Any, ...] = ()
    touched: dict[Any, tuple[list[Any], set[Any]]] = field(default_factory=dict)
    random: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311  # no secrets

    def __post_init__(self) -> None:
        equations = [each for each in self.given if isinstance(each, Eq) and each.lhs not in self.sizes]
        named = {each.lhs: each.rhs for each in equations}
        rest = [sympify(each) for each in self.given if each not in equations]
        self.given = tuple(each for each in rest if not each.has(Indexed, Dot))
        self.of_components = tuple(each for each in rest if each.has(Indexed, Dot))
        atoms = [name for name in named if name.is_Symbol or isinstance(name, Indexed)]
        self.put = {name: named[name] for name in atoms if not named[name].has(Integral, E, Var, Cov)}
        others = {name: x for name, x in named.items() if name not in self.put}
        self.before, self.after = self.before.xreplace(others), self.after.xreplace(others)

    @property
    def sides(self) -> tuple[Any, Any]:
        """Both sides of the line."""
        return self.before, self.after

    @cached_property
    def families(self) -> set[Family]:
        """All families in the line."""
        return set().union(*map(vocabulary.families_of, self.sides))

    @cached_property
    def symbols(self) -> list[Symbol]:
        """All symbols that need a value, those of laws among them, but for indices and sizes."""
        raws = (self.laws[family].raw for family in self.families & set(self.laws))
        everything = [*self.sides, *self.given, *self.put.values(), *itertools.chain(*raws)]
        known = {*self.sizes, *self.put}
        free = set[Any]().union(*(free_symbols(sympify(each)) for each in everything)) - known
        return sorted((symbol for symbol in free if not isinstance(symbol, Index)), key=str)

    @cached_property
    def sizes(self) -> list[Symbol]:
        """The symbols that count terms of sums, or components, keys and queries."""
        counts = {size for family in self.families for size in getattr(family, "ranges", ())}
        for part in set[Any]().union(*(side.atoms(Sum, Product) for side in self.sides)):
            counts |= {bound for limit in part.limits for bound in limit[1:]}
        free = set[Any]().union(*(free_symbols(sympify(count)) for count in counts))
        return sorted((x for x in free if not isinstance(x, Index)), key=str)

    @cached_property
    def rows(self) -> set[Any]:
        """The sizes of rows that weights, entropies and the like are of."""
        parts = set[Any]().union(*(side.atoms(*BINDERS) for side in self.sides))
        return {_range_of(*part.args) for part in parts}

    @cached_property
    def ranges(self) -> dict[Any, list[Index]]:
        """The free indices of the line, by the size of their range; None for those of no family."""
        ranges: dict[Any, list[Index]] = {}
        for index in sorted(set().union(*map(vocabulary.free_indices, self.sides)), key=str):
            size = _range_of(self.before, index) or _range_of(self.after, index)
            ranges.setdefault(size, []).append(index)
        return ranges

    @cached_property
    def is_unknown(self) -> bool:
        """Whether one side has a name of which nothing is said, as of what the other side defines."""
        first, second = map(free_symbols, self.sides)
        said = set[Any]().union(*(sympify(x).free_symbols for law in self.laws.values() for x in law.raw))
        unsaid = (x for x in (first ^ second) - said - set(self.put) if x.is_complex is None)
        return any(side.has(AppliedUndef) for side in self.sides) or any(unsaid)

    # Points.

    def points(self, wanted: int, moderate: bool = True, least: int = 1) -> Iterator[dict[Any, Any]]:
        """Yield values of all symbols and free indices where the conditions hold, corners first."""
        corners, sizes = [self._corners(symbol, moderate) for symbol in self.symbols], self._sizes(least)
        plans = _plans(corners, wanted // 2, self.random)
        for turn in range(wanted):
            if turn < min(wanted // 2, len(plans) * len(sizes)):
                plan = plans[turn % len(plans)]
            elif self.symbols:
                plan = tuple(self._any(symbol) for symbol in self.symbols)
            else:
                return
            for further in range(len(sizes)):
                size = sizes[(turn + further) % len(sizes)]
                values = {**dict(zip(self.symbols, plan, strict=True)), **size}
                if self._holds(values):
                    yield values
                    break

    def point(self, values: dict[Any, Any], seed: int, **more: Any) -> Point:
        """Return the point of these values; those of components are put in at their places."""
        point = Point(values, seed=seed, touched=self.touched, **more)
        for name in self.put:
            if isinstance(name, Indexed):
                point.components[name.base, *map(point.whole, name.indices)] = values.pop(name)
        return point

    def _holds(self, values: dict[Any, Any]) -> bool:
        """Return whether all conditions hold; free indices are put in, which are different places."""
        try:
            for size, indices in self.ranges.items():
                free = [index for index in indices if index not in self.put]
                taken = {self.put[index] for index in indices if index in self.put}
                places = [place for place in range(1, len(indices) + 1) if place not in taken]
                if size is not None and Point(values).whole(size) < len({*places[: len(free)], *taken}):
                    return False
                values.update(dict(zip(free, places, strict=False)))
            for name, x in self.put.items():
                with mp.workdps(DIGITS[-1]):
                    values[name] = x if x.is_Rational else evaluated(x, Point(values))
            return all(holds(condition, Point(values)) for condition in self.given)
        except NotEvaluated:
            return False

    def _sizes(self, at_least: int) -> list[dict[Any, int]]:
        """Return values of sizes: those first that differ from each other, but the least soon."""
        ranges = []
        for symbol in self.sizes:
            low, high = self._bounds(symbol)
            low = max(at_least if symbol in self.rows else 1, math.ceil(low or 1))
            allowed = (size for size in range(low, low + 4) if high is None or size <= high)
            ranges.append([size for size in allowed if _may_be(symbol, size)])
        combinations = list(itertools.islice(itertools.product(*ranges), 256))
        least = combinations[:1]
        self.random.shuffle(combinations)
        combinations.sort(key=lambda sizes: (-len(set(sizes)), sum(size > 3 for size in sizes)))
        combinations[2:2] = least
        return [dict(zip(self.sizes, sizes, strict=True)) for sizes in dict.fromkeys(combinations)]

    def _bounds(self, symbol: Any) -> tuple[Any, Any]:
        """Return the numbers between which the conditions put a symbol, None where there is none."""
        low, high = (0 if symbol.is_nonnegative else None), (0 if symbol.is_nonpositive else None)
        for each in (
            each for each in self.given if isinstance(each, Relational) and not isinstance(each, Ne)
        ):
            for side, other, less in ((each.lhs, each.rhs, "<"), (each.rhs, each.lhs, ">")):
                if side == symbol and other.is_number and other.is_finite:
                    if less in each.rel_op or isinstance(each, Eq):
                        high = other if high is None else min(high, other)
                    if less not in each.rel_op:
                        low = other if low is None else max(low, other)
        return low, high

    def _corners(self, symbol: Any, moderate: bool) -> list[Any]:
        """Return values where lines tend to fail: small ones, those near ends of the domain, large ones."""
        small = Rational(1, 1000)
        values: list[Any] = [2, 1, 3, 0, -1, -2, Rational(1, 2), Rational(-1, 2), Rational(1, 10), 5]
        # Where exponentials of a thousand cancel, no number of digits tells what is left.
        large = 30 if any(side.has(exp, HyperbolicFunction) for side in self.sides) else 1000
        values += [] if moderate else [small, large, -small, -large]
        ends = [end for end in self._bounds(symbol) if end is not None]
        # Near a singular end rules of both sizes miss the same of an integral.
        near = (0, 1, -1) if any(side.has(Integral) for side in self.sides) else (0, 1, -1, small, -small)
        values += [sum(ends) / sympify(2), *(end + x for end in ends for x in near)]
        if self.relation == "=" and symbol.is_complex is None:
            values.append(Rational(-1, 2) + 7 * I / 2)
        low, high = self._bounds(symbol)
        inside = (
            x
            for x in dict.fromkeys(map(sympify, values))
            if x.is_real is False or ((low is None or x >= low) and (high is None or x <= high))
        )
        return [x for x in inside if _may_be(symbol, x)] or [self._any(symbol)]

    def _any(self, symbol: Any) -> Any:
        """Return a random value between a symbol's bounds."""
        low, high = self._bounds(symbol)
        away = Rational(round(1024 * self.random.lognormvariate(0, 1)) + 1, 1024)
        if symbol.is_integer:
            away = Rational(self.random.randint(1, 12))
        if low is not None and high is not None:
            value = low + (high - low) * Rational(self.random.randint(1, 1023), 1024)
            return sympify(round(value)) if symbol.is_integer else value
        if low is None and high is None:
            return away * self.random.choice((-1, 1))
        return low + away if low is not None else high - away

    def held(self, points: Iterator[dict[Any, Any]], judge: Any) -> int:
        """Return at how many points the line held."""
        count = 0
        for number, values in enumerate(points, 1):
            if self.budget <= 0:
                break
            count += judge(self.point(values, number))
        return count

    # A line at a point.

    def in_digits(self, point: Point) -> bool:
        """Return whether the line holds at a point, False where that is not told.

        Raises:
            Counterexample: it is false there, in however many digits.
        """
        first = None
        for digits in DIGITS:
            with mp.workdps(digits):
                values = self._values(point)
                if values is None:
                    return False
                left, right = values
                gap = left - right
                first = abs(gap) if first is None else first
                tiny = max(abs(left), abs(right), 1) * mp.mpf(10) ** (-digits // 2)
                vanishes = digits > DIGITS[0] and abs(gap) <= first * mp.mpf(10) ** (-DIGITS[0] // 2)
                is_complex = isinstance(gap, mp.mpc)
                if is_complex and self.relation != "=":
                    return False
                sign = 0 if vanishes or abs(gap) <= tiny else 1 if is_complex or gap > 0 else -1
            if sign in ALLOWED[self.relation]:
                return True
        raise Counterexample(self.told(point, left, right))

    def _values(self, point: Point) -> tuple[Any, Any] | None:
        """Return both sides at a point, None where one has none; the point notes the size of terms."""
        point.work, point.memo = self.budget, {}
        sides, magnitudes = [], []
        try:
            for side in self.sides:
                point.magnitude = 0.0
                sides.append(evaluated(side, point))
                magnitudes.append(point.magnitude)
            point.magnitudes = (magnitudes[0], magnitudes[1])
            return (sides[0], sides[1]) if self._components_allowed(point) else None
        except NotEvaluated:
            return None
        finally:
            self.budget = min(self.budget - 1, point.work)

    def _components_allowed(self, point: Point) -> bool:
        """Return whether conditions on components hold, for all places of their indices."""
        for condition in self.of_components:
            if self._is_almost_sure(condition):
                continue
            bare = condition.replace(lambda part: isinstance(part, E), lambda _: Symbol("mean"))
            if not bare.has(Indexed, Dot):
                if not holds(condition, point):
                    return False
                continue
            if point.laws or any(side.has(E, Var, Cov) for side in self.sides):
                return False  # whether the outcomes of a law are such is not seen
            indices = sorted(vocabulary.free_indices(condition), key=str)
            sizes = [range(1, point.whole(vocabulary.range_of(condition, index)) + 1) for index in indices]
            for places in itertools.product(*sizes):
                with point.having(dict(zip(indices, places, strict=True))):
                    if not holds(condition, point):
                        return False
        return True

    def _is_almost_sure(self, condition: Any) -> bool:
        """Return whether what is positive by a condition is never negative, and 0 in no outcome that is met.

        These are outcomes of a law without atoms, or any numbers where no law is assumed.
        """
        laws = [self.laws[family] for family in vocabulary.families_of(condition) if family in self.laws]
        is_positive = isinstance(condition, Gt) and condition.lts == 0
        return is_positive and all(law.whole for law in laws) and Signs().nonnegative(condition.gts)

    def by_quadrature(self, point: Point) -> bool:
        """Return whether the line holds at a point, by rules of two sizes; False where they do not tell.

        Raises:
            Counterexample: it is false there, by more than the rules differ.
        """
        point.exact = False
        fine = self._values(point)
        if fine is None or np.all(np.isinf(fine)):
            return False
        (left, right), scale, magnitudes = fine, max(map(abs, fine)), point.magnitudes
        rounding = 0.0 if np.isinf(scale) else 1e-11 * scale + 1e-12 * max(magnitudes)
        if self.is_exact(point) or np.isinf(scale):
            return self._is_so(point, left, right, rounding)
        # A jump between nodes is seen by neither rule.
        jumps = any(side.has(Indicator, sign) for side in self.sides)
        point.coarse = 1
        coarse = None if jumps else self._values(point)
        if coarse is None:
            return False
        for x, y, magnitude in zip(fine, coarse, magnitudes, strict=True):
            if abs(x - y) > 0.02 * max(abs(x), magnitude):
                return False  # two rules that miss the same are near each other by chance alone
        error = 10 * abs(left - right - coarse[0] + coarse[1]) + rounding
        try:
            return self._is_so(point, left, right, error) and bool(error <= max(1e-4 * scale, 1e-6))
        except Counterexample:
            # Two rules may err alike, where something is flat but not analytic.
            point.coarse = 2
            third = self._values(point)
            if third is None or abs(left - right) < 10 * abs(left - right - third[0] + third[1]):
                return False
            raise

    def _is_so(self, point: Point, left: Any, right: Any, error: Any) -> bool:
        """Return whether the sides stand as they should by more than an error, or are equal within it.

        Raises:
            Counterexample: they stand otherwise by more than that.
        """
        gap = left - right
        if not np.isfinite(error):
            return False
        if np.iscomplexobj(gap):
            if self.relation != "=":
                return False
            gap = max(gap.real, gap.imag, key=abs)
        sign = int(np.sign(gap)) if abs(gap) > error else 0
        if sign in ALLOWED[self.relation]:
            return True
        if sign or self.is_exact(point):
            raise Counterexample(self.told(point, left, right))
        return False

    def told(self, point: Point, left: Any, right: Any) -> str:
        """Return the point in words, and what both sides are there."""
        return f"{self.where(point)}{_number(left)} {self.relation} {_number(right)} is false"

    def where(self, point: Point) -> str:
        """Return the point in words."""
        named = sorted((x for x in point.used if not isinstance(x, Index) and x in point.values), key=str)
        shown = [f"{symbol} = {_number(point.values[symbol])}" for symbol in named]
        drawn = sorted(self.families & set(point.laws), key=str)
        shown += [f"{family} {point.laws[family]}" for family in drawn]
        if not self.laws and any(side.has(E, Var, Cov) for side in self.sides) and self.families:
            shown.append("a joint law, as no laws= are given")
        given = [(key, x) for key, x in point.components.items() if np.ndim(x) == 0]
        shown += [f"{key[0]}{list(key[1:])} = {_number(x)}" for key, x in given[:6]]
        return f"at {', '.join(shown)}{', …' * (len(given) > 6)}: " if shown else ""

    # Means.

    def means(self) -> str:
        """Try a line with means: over all outcomes, by quadrature, or by draws."""
        counts, untold = {"exactly": 0, "by quadrature": 0, "drawn": 0}, list[Point]()
        for point in self._drawn_from(MEANS):
            if self.budget <= 0:
                break
            if self.by_quadrature(point):
                counts["exactly" if self.is_exact(point) else "by quadrature"] += 1
            else:
                untold.append(point)
        if any(counts.values()):
            # What holds for a few keys need not for many.
            untold = [*self._drawn_from(4, MANY)] if self.rows else []
        counts["drawn"] = sum(map(self.by_draws, untold[:4]))
        if self.rows:
            long = (self._drawn_from(FEW, keys, wider) for keys in LONG for wider in (1, WIDER))
            counts["in long rows"] = sum(map(self.by_integrals, itertools.chain(*long)))
        of = "law" if self.laws else "point"
        return "; ".join(_tried(count, of, f", {how}") for how, count in counts.items() if count)

    def _drawn_from(self, wanted: int, least: int = 1, wider: int = 1) -> Iterator[Point]:
        """Yield points with laws of all families, and with positive numbers so many times ``wider``."""
        for number, values in enumerate(self.points(wanted, least=least), 1):
            if wider > 1:
                values.update({x: wider * values[x] for x in self.symbols if x.is_positive})
                if not self._holds(values):
                    continue
            # Two laws at the first points, so that each is tried soon; then one.
            for choice in (CHOICES[(number - 1) % 4], CHOICES[number % 4])[: 2 if number <= 4 else 1]:
                if (laws := self._laws(values, choice)) is None:
                    break
                yield self.point(dict(values), number, laws=laws, fixed=self.fixed)
                if all(law.whole for law in laws.values()):
                    break

    @cached_property
    def fixed(self) -> frozenset[Family]:
        """Given numbers, and families without a law that stand outside means where laws are given."""
        bare = (
            side.replace(lambda part: isinstance(part, E | Var | Cov), lambda _: Symbol("mean"))
            for side in self.sides
        )
        outside = set().union(*map(vocabulary.families_of, bare)) if self.laws else set()
        given = {family for family in self.families if isinstance(family, vocabulary.Given)}
        return frozenset((outside - set(self.laws)) | given)

    def is_exact(self, point: Point) -> bool:
        """Return whether means are summed over all outcomes of the laws themselves."""
        inexact = point.drawn or any(side.has(Integral) for side in self.sides)
        return not inexact and not any(law.whole for law in point.laws.values())

    def _laws(self, values: dict[Any, Any], choice: Any) -> dict[Family, NumericLaw] | None:
        """Return laws of all families at a point, None where its symbols give moments that no law has.

        Moments that are symbols alone, the third or a higher one, become those of the laws.

        Raises:
            Counterexample: moments that are numbers are those of no law.
        """
        laws = dict[Family, NumericLaw]()
        for place, family in enumerate(sorted(self.families & set(self.laws), key=str)):
            law = self.laws[family]
            raw = [sympify(moment) for moment in law.raw]
            free = next((order for order, x in enumerate(raw) if order > 2 and x.is_Symbol), len(raw))
            if free < len(raw) and any(raw[free] in self.laws[other].raw for other in laws):
                free = len(raw)
            try:
                moments = tuple(float(evaluated(moment, Point(values))) for moment in raw[:free])
                laws[family] = (
                    NumericLaw((), (), whole=True, quantile=law.quantile)
                    if law.quantile
                    else _law_with(moments, law.whole, choice[place % 2])
                )
            except NoLaw:
                if any(moment.free_symbols for moment in raw):
                    return None
                listed = ", ".join(f"E {family}{_power(order)} = {x}" for order, x in enumerate(raw) if order)
                raise Counterexample(f"no law has these moments: {listed.replace('-', '−')}") from None
            except (NotEvaluated, TypeError):
                return None
            if free < len(raw):
                nodes, weights = laws[family].rule()
                values.update({raw[order]: float(weights @ nodes**order) for order in range(free, len(raw))})
        return laws

    def by_integrals(self, point: Point) -> bool:
        """Return whether the line holds at a point with long rows, where its means are such integrals.

        Raises:
            Counterexample: it is false there.
        """
        point.long, point.exact = True, False
        self.budget = max(self.budget, 100)
        values = self._values(point)
        if values is None:
            return False
        error = 1e-7 * max(*map(abs, values), 1.0)
        if any(side.has(Integral) for side in self.sides):
            # What the author integrates may have a peak too narrow for these rules.
            point.coarse = 1
            coarse = self._values(point)
            if coarse is None or max(abs(x - y) for x, y in zip(values, coarse, strict=True)) > error:
                return False
        return self._is_so(point, *values, error)

    def by_draws(self, point: Point) -> bool:
        """Return whether the line holds at a point as far as draws tell.

        Raises:
            Counterexample: it is false beyond six standard errors, those of the jackknife.
        """
        point.drawn, point.exact, point.coarse = True, False, 0
        self.budget = max(self.budget, BUDGET / 5)
        values = self._values(point)
        if values is None:
            return False
        left, right = (np.broadcast_to(side, (BATCHES + 1,)) for side in values)
        gaps = (left - right)[1:]
        spread = np.sqrt((BATCHES - 1) / BATCHES * np.sum(np.abs(gaps - gaps.mean()) ** 2))
        error = STANDARD_ERRORS * spread + 1e-9 * max(abs(left[0]), abs(right[0]))
        try:
            return self._is_so(point, left[0], right[0], error)
        except Counterexample as found:
            raise Counterexample(f"{found}, drawn") from None

    # Equivalences and leading terms.

    def equivalence(self) -> str:
        """Try whether both sides are true at the same points, the solutions of equations among them."""
        held, in_means = 0, any(side.has(E, Var, Cov) for side in self.sides)
        for values in self.points(FEWER):
            for at in (values, *self._solutions(values)):
                point = self.point(at, held + 1, work=self.budget)
                if in_means:
                    point.laws, point.exact = self._laws(at, CHOICES[held % 4]) or {}, False
                    if not self.is_exact(point):
                        continue
                try:
                    with mp.workdps(DIGITS[1]):
                        first, second = (holds(side, point) for side in self.sides)
                except (NotEvaluated, TypeError):
                    continue
                finally:
                    self.budget = min(self.budget - 1, point.work)
                if first != second:
                    true, false = self.sides if first else self.sides[::-1]
                    raise Counterexample(f"{self.where(point)}{true} holds, and {false} does not")
                held += 1
            if self.budget <= 0:
                break
        return _tried(held)

    def _solutions(self, values: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
        """Yield points at which an equation is solved for a symbol, the others as they are."""
        for equation, symbol in itertools.product(self.sides, self.symbols):
            if not isinstance(equation, Eq) or symbol.is_integer or not equation.has(symbol):
                continue

            def gap(x: Any, symbol: Any = symbol, equation: Any = equation) -> Any:
                point = Point({**values, symbol: x})
                self.budget -= 20
                return evaluated(equation.lhs, point) - evaluated(equation.rhs, point)

            try:
                with mp.workdps(DIGITS[1]):
                    root = mp.findroot(gap, mp.mpmathify(values[symbol]), maxsteps=20)
            except (NotEvaluated, ArithmeticError, TypeError, ValueError):
                continue
            at = {**values, symbol: root}
            if _may_be(symbol, sympify(float(root))) and self._holds(at):
                yield at

    def leading(self) -> str:
        """Try whether the ratio of both sides tends to 1 as a symbol grows; without sizes, as it vanishes."""
        points = list(itertools.islice(self.points(MEANS), 6))
        ways = [(symbol, 3) for symbol in self.symbols]
        if not any(symbol.is_integer for symbol in self.symbols):
            ways += [(symbol, -3) for symbol in self.symbols if symbol.is_positive]
        if self.after == 0 != self.before:
            raise Counterexample("0 is the leading term of 0 alone")
        failed = []
        for symbol, power in ways:
            ratios = [each for values in points if (each := self._ratios(values, symbol, power))]
            near = (abs(each[-1] - 1) < max(1e-6, min(0.05, abs(each[0] - 1) / 2)) for each in ratios)
            if ratios and all(near):
                return f"{_tried(len(ratios))}, as {symbol} {'grows' if power > 0 else 'vanishes'}"
            off = [each for each in ratios if abs(each[-1] - 1) > max(1e-6, 0.9 * abs(each[-2] - 1))]
            failed += [(symbol, power, off[0][-1])] if off else []
        if failed and len(failed) == len(ways):
            symbol, power, ratio = failed[0]
            told = f"at {symbol} = 10^{4 * power}: the ratio of both sides is {_number(ratio)}, not 1"
            raise Counterexample(told)
        return ""

    def _ratios(self, values: dict[Any, Any], symbol: Any, power: int) -> list[Any]:
        """Return the ratios of both sides as a symbol goes on by powers of ten."""
        ratios = []
        for further in (1, 2, 3, 4):
            at = {**values, symbol: Rational(10) ** (power * further)}
            with mp.workdps(DIGITS[1]):
                sides = self._values(self.point(at, 1)) if self._holds(at) else None
                if sides is None or sides[1] == 0:
                    return []
                ratios.append(sides[0] / sides[1])
        return ratios


_law_with = cache(law_with)


def _range_of(expression: Any, index: Index) -> Any:
    try:
        return vocabulary.range_of(expression, index)
    except ClaimError:
        return None


def _may_be(symbol: Any, value: Any) -> bool:
    """Return whether the assumptions of a symbol allow a value."""
    facts = ("integer", "positive", "negative", "zero", "nonnegative", "nonpositive", "real", "even", "odd")
    number = sympify(value)
    pairs = ((getattr(symbol, f"is_{fact}"), getattr(number, f"is_{fact}")) for fact in facts)
    return all(assumed is None or is_so is None or assumed == is_so for assumed, is_so in pairs)


def _plans(corners: list[list[Any]], most: int, rng: random.Random) -> list[tuple[Any, ...]]:
    """Return choices of a corner for each symbol: all, or each corner of each, and random ones."""
    if np.prod([len(each) for each in corners]) <= most:
        return list(itertools.product(*corners))
    diagonal = [tuple(each[place % len(each)] for each in corners) for place in range(3)]
    first = diagonal[0]
    single = [(*first[:at], x, *first[at + 1 :]) for at, each in enumerate(corners) for x in each]
    others = [tuple(map(rng.choice, corners)) for _ in range(most)]
    return list(dict.fromkeys([*diagonal, *single[: most // 2], *others]))[:most]


def _number(value: Any) -> str:
    """Return a number in a few digits."""
    with mp.workdps(15):
        shown = mp.nstr(mp.mpmathify(value), 7) if not isinstance(value, Rational) else str(value)
    return shown.removesuffix(".0").replace("-", "−")


def _power(order: int) -> str:
    return "" if order == 1 else str(order).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
