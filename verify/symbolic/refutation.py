"""The second net: whatever its check says, a line is evaluated where it claims to hold.

``refute`` tries both sides at corners of the domains of all symbols and at random points, in many digits;
where there is a mean, over all outcomes of small laws with the assumed moments; normal laws and integrals by
quadrature of two sizes, whose difference is the error; means with too many outcomes by draws, beyond six
standard errors. It proves nothing: a line that passes has not been refuted.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np
from mpmath import mp
from sympy import Derivative, Eq, Gt, I, Indexed, Integral, Product, Rational, Sum, Symbol, exp, sign, sympify
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.functions.elementary.hyperbolic import HyperbolicFunction

from verify.errors import ClaimError
from verify.symbolic.evaluation import Undecided, derived, has, put_at
from verify.symbolic.laws import NoLaw, NumericLaw, law_with
from verify.symbolic.numbers import BATCHES, NOTHING, Point, evaluated, holds
from verify.symbolic.signs import Signs
from verify.symbolic.vocabulary import (
    BINDERS,
    Cov,
    Dot,
    E,
    Family,
    Given,
    Index,
    Indicator,
    Laws,
    Var,
    definition,
)
from verify.symbolic.vocabulary import families_of, free_indices, free_symbols, range_of, unnamed

DIGITS = (30, 60, 1000)
"""Digits in which a line is evaluated, and again where it seems false there."""

BUDGET = 10_000
"""How much work a line may take, in parts of expressions; about a tenth of a second."""

POINTS, FEWER, MEANS, RATIOS, DRAWN = 60, 12, 12, 6, 4
"""The most points of a line: plain, with components or an integral, with a mean, of limits, and by draws."""

MANY, LONG, FEW = 20, (1024, 10**6, 10**60), 2
"""Sizes of rows that are drawn besides, and of long ones, whose means are integrals; points of each."""

WIDER = 16
"""How many times wider scores of long rows are spread as well."""

THRIFT = 3
"""How many times fewer points a line has that is tried briefly."""

STANDARD_ERRORS = 6.0
"""How many standard errors draws must be from a line to refute it."""

CHOICES = (
    (((0, 1),), ((0, 1),)),
    (((1.5, 1),), ((0, 1),)),
    (((0.25, 1.25), (-1.5, 0.5)), ((-1.5, 1),)),
    (((-0.75, 1.5), (2.0, 1.0)), ((0.5, 0.75), (1.0, 2.0))),
)
"""Choices that moments leave of the laws, see ``law_with``: ±1 first, then 2 and -1/2, then three values."""

ALLOWED = {"=": (0,), "≤": (-1, 0), "<": (-1,), "≥": (0, 1), ">": (1,)}
"""The signs that the left side less the right side may have."""

MEANS_OF = (E, Var, Cov)
"""What is a mean, or is made of means."""

CORNERS = tuple(map(sympify, (2, 1, 3, 0, -1, -2, "1/2", "-1/2", "1/10", 5)))
"""Values at which lines tend to fail, besides those near ends of the domain, very small and large ones."""

_FACTS = ("integer", "positive", "negative", "zero", "nonnegative", "nonpositive", "real", "even", "odd")
_law_with = cache(law_with)


class Counterexample(Exception):  # noqa: N818  # what it is
    """A line is false at a point where it claims to hold; the text names the point."""


def refute(
    before: Any,
    relation: str,
    after: Any,
    laws: Laws | None,
    given: tuple[Any, ...] = (),
    *,
    briefly: bool = False,
) -> str:
    """Return how a line was tried, such as "12 laws, exactly" or "60 points"; "" where it could not be.

    Args:
        before: The left side.
        relation: One of = ≤ < ≥ > ~ ⇔.
        after: The right side.
        laws: The laws of the families. Without them means are over an arbitrary joint law; families that
            ``laws`` leave out are given numbers if they are ``Given``, or stand outside means.
        given: Conditions under which the line holds. An equation of a symbol says what it stands for.
        briefly: Whether a third of the points will do, as for a line that is decided exactly.

    Raises:
        Counterexample: it is false somewhere, or no law has the assumed moments.
    """
    trial = _Trial((_opened(before), _opened(after)), relation, dict(laws or {}), given, briefly)
    if trial.is_unknown():
        return ""
    if relation == "⇔" or isinstance(trial.sides[0], Relational):
        return trial.equivalence()
    if relation == "~":
        return trial.leading()
    if trial.has(*MEANS_OF):
        return trial.means()
    if trial.has(Integral):
        judged = trial.judged(trial.points(FEWER // trial.thrift), trial.by_quadrature)
        return _tried(judged, "point", ", by quadrature")
    wanted = (2 * FEWER if trial.families else POINTS) // trial.thrift
    return _tried(trial.judged(trial.points(wanted, moderate=relation in "<>"), trial.in_digits))


@lru_cache(maxsize=4096)
def _opened(x: Any) -> Any:
    """Return an expression without names, and with derivatives taken."""
    return put_at(unnamed(x)).replace(lambda part: isinstance(part, Derivative), derived)


class _Trial:
    """The trying of one line.

    ``put`` are values of symbols and components that conditions say, ``given`` the other conditions on
    symbols, ``of_components`` those on components; ``sizes`` count terms of sums, or components, keys and
    queries; ``symbols`` are the others that need a value; ``ranges`` are the free indices by the size of
    their range, None for those of no family; ``rows`` are the sizes of rows that weights are of.
    """

    def __init__(
        self, sides: tuple[Any, Any], relation: str, laws: dict[Any, Any], given: Any, briefly: bool
    ) -> None:
        self.relation, self.laws, self.budget = relation, laws, float(BUDGET)
        self.thrift = THRIFT if briefly else 1
        self.random = random.Random(1)  # noqa: S311  # no secrets
        self.rows = {_range_of(*part.args) for side in sides for part in side.atoms(*BINDERS)}
        self.families: set[Family] = set().union(*map(families_of, sides))
        counts = {size for family in self.families for size in getattr(family, "ranges", ())}
        sums = (part for side in sides for part in side.atoms(Sum, Product))
        counts |= {bound for part in sums for limit in part.limits for bound in limit[1:]}
        self.sizes = [x for x in _symbols_of(counts) if not isinstance(x, Index)]
        conditions = [_opened(x) for x in given]
        named = {x.lhs: x.rhs for x in conditions if isinstance(x, Eq) and x.lhs not in self.sizes}
        rest = [x for x in conditions if not (isinstance(x, Eq) and x.lhs in named)]
        self.given = [x for x in rest if not x.has(Indexed, Dot)]
        self.of_components = [x for x in rest if x.has(Indexed, Dot)]
        self.put = {
            name: x
            for name, x in named.items()
            if (name.is_Symbol or isinstance(name, Indexed)) and not x.has(Integral, *MEANS_OF)
        }
        others = {name: x for name, x in named.items() if name not in self.put}
        self.sides = tuple(side.xreplace(others) for side in sides)
        raws = [moment for family in self.families & set(laws) for moment in laws[family].raw]
        symbols = _symbols_of([*self.sides, *self.given, *self.put.values(), *raws])
        self.symbols = [x for x in symbols if not isinstance(x, Index) and x not in {*self.sizes, *self.put}]
        self.ranges: dict[Any, list[Index]] = {}
        for index in sorted(set().union(*map(free_indices, self.sides)), key=str):
            size = _range_of(self.sides[0], index) or _range_of(self.sides[1], index)
            self.ranges.setdefault(size, []).append(index)

    def has(self, *kinds: Any) -> bool:
        """Return whether a side has a part of these kinds."""
        return any(has(side, *kinds) for side in self.sides)

    def is_unknown(self) -> bool:
        """Return whether a side has a name of which nothing is said, as where the other side defines it."""
        first, second = map(free_symbols, self.sides)
        of_laws = set(_symbols_of(x for law in self.laws.values() for x in law.raw))
        unsaid = (x for x in (first ^ second) - of_laws - set(self.put) if x.is_complex is None)
        return self.has(AppliedUndef) or any(unsaid)

    # Points.

    def points(self, wanted: int, *, moderate: bool = True, least: int = 1) -> Iterator[dict[Any, Any]]:
        """Yield values of all symbols and free indices where the conditions hold, corners first."""
        corners, sizes = [self._corners(symbol, moderate) for symbol in self.symbols], self._sizes(least)
        plans = self._plans(corners, wanted // 2)
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
                if self._allows(values):
                    yield values
                    break

    def _plans(self, corners: list[list[Any]], most: int) -> list[tuple[Any, ...]]:
        """Return choices of a corner for each symbol: all, or the first of each and random ones."""
        if math.prod(map(len, corners)) <= most:
            return list(itertools.product(*corners))
        diagonal = [tuple(values[place % len(values)] for values in corners) for place in range(3)]
        others = [tuple(map(self.random.choice, corners)) for _ in range(most)]
        return list(dict.fromkeys([*diagonal, *others]))[:most]

    def _corners(self, symbol: Any, moderate: bool) -> list[Any]:
        """Return values where lines tend to fail: small ones, those near ends of the domain, large ones."""
        small, ends = Rational(1, 1000), self._ends(symbol)
        # Where exponentials of a thousand cancel, no number of digits shows the rest.
        large = 30 if self.has(exp, HyperbolicFunction) else 1000
        extreme = () if moderate else (small, large, -small, -large)
        # Near a singular end rules of both sizes miss the same of an integral.
        near = (0, 1, -1) if self.has(Integral) else (0, 1, -1, small, -small)
        values = [*CORNERS, *extreme, sum(ends) / sympify(2), *(end + x for end in ends for x in near)]
        if self.relation == "=" and symbol.is_complex is None:
            values.append(Rational(-1, 2) + 7 * I / 2)
        inside = [x for x in dict.fromkeys(map(sympify, values)) if self._may_be(symbol, x)]
        return inside or [self._any(symbol)]

    def _any(self, symbol: Any) -> Any:
        """Return a random value of a symbol, near the ends of its domain or between them."""
        value, ends = sympify(1), self._ends(symbol) or [sympify(0)]
        for _ in range(20):
            away = Rational(round(1024 * self.random.lognormvariate(0, 1)) + 1, 1024)
            if symbol.is_integer:
                away = Rational(self.random.randint(1, 12))
            elif len(ends) > 1 and self.random.random() < 0.5:
                away = (ends[-1] - ends[0]) * Rational(self.random.randint(1, 1023), 1024)
            value = self.random.choice(ends) + self.random.choice((-1, 1)) * away
            if self._may_be(symbol, value):
                break
        return value

    def _ends(self, symbol: Any) -> list[Any]:
        """Return the numbers that conditions compare a symbol with, and 0 where its sign is known."""
        compared = [x for x in self.given if isinstance(x, Relational) and symbol in (x.lhs, x.rhs)]
        ends = {side for x in compared for side in (x.lhs, x.rhs) if side.is_number and side.is_finite}
        return sorted(ends | ({sympify(0)} if symbol.is_nonnegative or symbol.is_nonpositive else set()))

    def _may_be(self, symbol: Any, value: Any) -> bool:
        """Return whether a symbol's assumptions, and the conditions on it alone, allow a value."""
        if not _fits(symbol, value):
            return False
        alone = (x for x in self.given if x.free_symbols == {symbol} and value.is_real)
        return all(x.xreplace({symbol: value}) != False for x in alone)  # noqa: E712  # SymPy's

    def _sizes(self, at_least: int) -> list[dict[Any, int]]:
        """Return values of sizes: those first that differ from each other, but the least soon."""
        ranges = []
        for symbol in self.sizes:
            starts = [
                at_least if symbol in self.rows else 1,
                *(math.ceil(float(end)) for end in self._ends(symbol)),
            ]
            sizes = {start + further for start in starts for further in range(8)}
            allowed = [x for x in sorted(sizes) if x >= starts[0] and self._may_be(symbol, sympify(x))]
            ranges.append(allowed[:4])
        choices = list(itertools.islice(itertools.product(*ranges), 256))
        least = choices[:1]
        self.random.shuffle(choices)
        choices.sort(key=lambda sizes: (-len(set(sizes)), sum(size > 3 for size in sizes)))
        choices[2:2] = least
        return [dict(zip(self.sizes, sizes, strict=True)) for sizes in dict.fromkeys(choices)]

    def _allows(self, values: dict[Any, Any]) -> bool:
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
        except Undecided:
            return False

    def point(self, values: dict[Any, Any], seed: int, **more: Any) -> Point:
        """Return the point of these values; those of components are put in at their places."""
        components = {name: values.pop(name) for name in self.put if isinstance(name, Indexed)}
        point = Point(values, seed=seed, **more)
        for name, value in components.items():
            point.given[name.base, *map(point.whole, name.indices)] = value
        return point

    # A line at a point. Each of these returns whether the line holds there, and False where that cannot be
    # seen; they raise Counterexample where it is false.

    def judged(self, points: Iterator[dict[Any, Any]], judge: Callable[[Point], bool]) -> int:
        """Return at how many points the line holds."""
        count = 0
        for number, values in enumerate(points, 1):
            if self.budget <= 0:
                break
            count += judge(self.point(values, number))
        return count

    def in_digits(self, point: Point) -> bool:
        """Try the line at a point, in more and more digits as long as it seems false."""
        first = None
        for digits in DIGITS:
            with mp.workdps(digits):
                values = self._values(point)
                if values is None:
                    return False
                left, right = values[0]
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
        raise self.counterexample(point, left, right)

    def _values(self, point: Point) -> tuple[list[Any], list[float]] | None:
        """Return both sides at a point, and the size of terms of each; None where one has no value."""
        point.budget, point.known = self.budget, {}
        sides, magnitudes = [], []
        try:
            for side in self.sides:
                point.magnitude = 0.0
                sides.append(evaluated(side, point))
                magnitudes.append(point.magnitude)
            return (sides, magnitudes) if self._components_allowed(point) else None
        except Undecided:
            return None
        finally:
            self.budget = min(self.budget - 1, point.budget)

    def _components_allowed(self, point: Point) -> bool:
        """Return whether conditions on components hold, for all places of their indices."""
        for condition in self.of_components:
            # An expression that is never negative is positive in almost every outcome of a law without atoms.
            laws = [self.laws[family] for family in families_of(condition) if family in self.laws]
            is_positive = isinstance(condition, Gt) and condition.lts == 0 and all(law.whole for law in laws)
            if is_positive and Signs().nonnegative(condition.gts):
                continue
            bare = condition.replace(lambda part: isinstance(part, MEANS_OF), lambda _: Symbol("mean"))
            if bare.has(Indexed, Dot) and (point.laws or self.has(*MEANS_OF)):
                return False  # whether the outcomes of a law are such is not seen
            indices = sorted(free_indices(bare), key=str) if bare.has(Indexed, Dot) else []
            sizes = [range(1, point.whole(range_of(condition, index)) + 1) for index in indices]
            for places in itertools.product(*sizes):
                with point.having(places={**point.places, **dict(zip(indices, places, strict=True))}):
                    if not holds(condition, point):
                        return False
        return True

    def by_quadrature(self, point: Point) -> bool:
        """Try the line at a point, by rules of two sizes, whose difference is the error."""
        point.exact = False
        fine = self._values(point)
        if fine is None or np.all(np.isinf(fine[0])):
            return False
        (left, right), magnitudes = fine
        scale = max(abs(left), abs(right))
        rounding = NOTHING if np.isinf(scale) else NOTHING + 1e-11 * scale + 1e-12 * max(magnitudes)
        if self.is_exact(point) or np.isinf(scale):
            return self._compare(point, left, right, rounding)
        # A jump between nodes is seen by neither rule.
        point.coarse = 1
        coarse = None if self.has(Indicator, sign) else self._values(point)
        if coarse is None:
            return False
        for x, y, magnitude in zip(fine[0], coarse[0], magnitudes, strict=True):
            if abs(x - y) > 0.02 * max(abs(x), magnitude):
                return False  # two rules that miss the same are near each other by chance alone
        error = 10 * abs(left - right - coarse[0][0] + coarse[0][1]) + rounding
        try:
            return self._compare(point, left, right, error) and bool(error <= max(1e-4 * scale, 1e-6))
        except Counterexample:
            # Two rules may err alike, where something is flat but not analytic.
            point.coarse = 2
            third = self._values(point)
            if third is None or abs(left - right) < 10 * abs(left - right - third[0][0] + third[0][1]):
                return False
            raise

    def by_integrals(self, point: Point) -> bool:
        """Try the line at a point with long rows, where its means are integrals over one score."""
        point.long = True
        self.budget = max(self.budget, 100)
        values = self._values(point)
        if values is None:
            return False
        error = 1e-7 * max(*map(abs, values[0]), 1.0)
        if self.has(Integral):
            # An author's integrand may have a peak too narrow for these rules.
            point.coarse = 1
            coarse = self._values(point)
            if coarse is None or max(abs(x - y) for x, y in zip(values[0], coarse[0], strict=True)) > error:
                return False
        return self._compare(point, values[0][0], values[0][1], error)

    def by_draws(self, point: Point) -> bool:
        """Try the line at a point by draws: beyond six standard errors of the jackknife it is false."""
        point.drawn, point.exact, point.coarse = True, False, 0
        self.budget = max(self.budget, BUDGET / 2)
        values = self._values(point)
        if values is None:
            return False
        left, right = (np.broadcast_to(side, (BATCHES + 1,)) for side in values[0])
        gaps = (left - right)[1:]
        spread = np.sqrt((BATCHES - 1) / BATCHES * np.sum(np.abs(gaps - gaps.mean()) ** 2))
        error = NOTHING + STANDARD_ERRORS * spread + 1e-9 * max(abs(left[0]), abs(right[0]))
        try:
            return self._compare(point, left[0], right[0], error)
        except Counterexample as false:
            raise Counterexample(f"{false}, drawn") from None

    def _compare(self, point: Point, left: Any, right: Any, error: Any) -> bool:
        """Return whether the sides stand as they should by more than an error, or are equal within it."""
        gap = left - right
        if not np.isfinite(error) or (np.iscomplexobj(gap) and self.relation != "="):
            return False
        gap = max(gap.real, gap.imag, key=abs) if np.iscomplexobj(gap) else gap
        sign = int(np.sign(gap)) if abs(gap) > error else 0
        if sign in ALLOWED[self.relation]:
            return True
        if sign or self.is_exact(point):
            raise self.counterexample(point, left, right)
        return False

    def counterexample(self, point: Point, left: Any, right: Any) -> Counterexample:
        """Return the error that names the point and the values of both sides there."""
        says = f"{_number(left)} {self.relation} {_number(right)} is false"
        return Counterexample(f"{self.where(point)}{says}")

    def where(self, point: Point) -> str:
        """Return the point in words."""
        named = {
            x
            for x in _symbols_of(map(definition, self.sides))
            if not isinstance(x, Index) and x in point.values
        }
        shown = [f"{symbol} = {_number(point.values[symbol])}" for symbol in sorted(named, key=str)]
        drawn = sorted(self.families & set(point.laws), key=str)
        shown += [f"{family} {point.laws[family]}" for family in drawn]
        if not self.laws and self.has(*MEANS_OF) and self.families:
            shown.append("a joint law, as no laws= are given")
        given = list(point.given.items())
        shown += [f"{key[0]}{list(key[1:])} = {_number(x)}" for key, x in given[:6]]
        return f"at {', '.join(shown)}{', …' * (len(given) > 6)}: " if shown else ""

    # Means.

    def means(self) -> str:
        """Try a line with means: over all outcomes, by quadrature, or by draws."""
        bare = [
            side.replace(lambda x: isinstance(x, MEANS_OF), lambda _: Symbol("mean")) for side in self.sides
        ]
        outside = set().union(*map(families_of, bare)) if self.laws else set()
        # Given numbers, and families without a law that stand outside means where laws are given.
        fixed = frozenset((outside - set(self.laws)) | {x for x in self.families if isinstance(x, Given)})
        counts, left_open = {"exactly": 0, "by quadrature": 0}, list[Point]()
        for point in self._drawn_from(fixed, MEANS // self.thrift):
            if self.budget <= 0:
                break
            if self.by_quadrature(point):
                counts["exactly" if self.is_exact(point) else "by quadrature"] += 1
            else:
                left_open.append(point)
        if any(counts.values()):
            # A line that holds for a few keys need not hold for many.
            left_open = [*self._drawn_from(fixed, DRAWN, MANY)] if self.rows else []
        counts["drawn"] = sum(map(self.by_draws, left_open[: DRAWN // self.thrift]))
        if self.rows and self.thrift == 1:
            long = (self._drawn_from(fixed, FEW, keys, wider) for keys in LONG for wider in (1, WIDER))
            counts["in long rows"] = sum(map(self.by_integrals, itertools.chain(*long)))
        of = "law" if self.laws else "point"
        return "; ".join(_tried(count, of, f", {how}") for how, count in counts.items() if count)

    def _drawn_from(
        self, fixed: frozenset[Family], wanted: int, least: int = 1, wider: int = 1
    ) -> Iterator[Point]:
        """Yield points with laws of all families, and with positive numbers so many times ``wider``."""
        for number, values in enumerate(self.points(wanted, least=least), 1):
            if wider > 1:
                values.update({x: wider * values[x] for x in self.symbols if x.is_positive})
                if not self._allows(values):
                    continue
            # Two laws at the first points, so that each is tried soon; later one law a point.
            for choice in (CHOICES[(number - 1) % 4], CHOICES[number % 4])[: 2 if number <= 4 else 1]:
                if (laws := self._laws(values, choice)) is None:
                    break
                yield self.point(dict(values), number, laws=laws, fixed=fixed, exact=False)
                if all(law.whole for law in laws.values()):
                    break

    def is_exact(self, point: Point) -> bool:
        """Return whether means are summed over all outcomes of the laws themselves."""
        return not (point.drawn or self.has(Integral) or any(law.whole for law in point.laws.values()))

    def _laws(self, values: dict[Any, Any], choice: Any) -> dict[Family, NumericLaw] | None:
        """Return laws of all families at a point, None where its symbols give moments that no law has.

        Moments that are symbols alone, from the third on, become those of the laws.
        """
        laws = dict[Family, NumericLaw]()
        for place, family in enumerate(sorted(self.families & set(self.laws), key=str)):
            law = self.laws[family]
            if law.quantile:
                laws[family] = NumericLaw((), (), whole=True, quantile=law.quantile)
                continue
            raw = [sympify(moment) for moment in law.raw]
            free = next((order for order, x in enumerate(raw) if order > 2 and x.is_Symbol), len(raw))
            if free < len(raw) and any(raw[free] in self.laws[other].raw for other in laws):
                free = len(raw)
            try:
                moments = tuple(float(evaluated(moment, Point(values))) for moment in raw[:free])
                laws[family] = _law_with(moments, law.whole, choice[place % 2])
            except NoLaw:
                if any(moment.free_symbols for moment in raw):
                    return None
                powers = ("", "", *"²³⁴⁵⁶⁷⁸⁹")
                listed = [f"E {family}{powers[order]} = {x}" for order, x in enumerate(raw[:10]) if order]
                raise Counterexample(
                    f"no law has these moments: {', '.join(listed).replace('-', '−')}"
                ) from None
            except (Undecided, TypeError):
                return None
            if free < len(raw):
                nodes, weights = laws[family].rule()
                values.update({raw[order]: float(weights @ nodes**order) for order in range(free, len(raw))})
        return laws

    # Equivalences and leading terms.

    def equivalence(self) -> str:
        """Try whether both sides are true at the same points, the solutions of equations among them."""
        agree, in_means = 0, self.has(*MEANS_OF)
        for values in self.points(FEWER):
            for at in (values, *self._solutions(values)):
                point = self.point(at, agree + 1, budget=self.budget)
                if in_means:
                    point.laws, point.exact = self._laws(at, CHOICES[agree % 4]) or {}, False
                    if not self.is_exact(point):
                        continue
                try:
                    with mp.workdps(DIGITS[1]):
                        first, second = (holds(side, point) for side in self.sides)
                except (Undecided, TypeError):
                    continue
                finally:
                    self.budget = min(self.budget - 1, point.budget)
                if first != second:
                    true, false = self.sides if first else self.sides[::-1]
                    raise Counterexample(f"{self.where(point)}{true} holds, and {false} does not")
                agree += 1
            if self.budget <= 0:
                break
        return _tried(agree)

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
            except (Undecided, ArithmeticError, TypeError, ValueError):
                continue
            at = {**values, symbol: root}
            if self._may_be(symbol, sympify(float(root))) and self._allows(at):
                yield at

    def leading(self) -> str:
        """Try whether the ratio of both sides tends to 1 as a symbol grows; without sizes, as it vanishes."""
        points = list(itertools.islice(self.points(MEANS), RATIOS))
        ways = [(symbol, 3) for symbol in self.symbols]
        if not any(symbol.is_integer for symbol in self.symbols):
            ways += [(symbol, -3) for symbol in self.symbols if symbol.is_positive]
        if self.sides[1] == 0 != self.sides[0]:
            raise Counterexample("0 is the leading term of 0 alone")
        failed = []
        for symbol, power in ways:
            ratios = [row for values in points if (row := self._ratios(values, symbol, power))]
            near = (abs(row[-1] - 1) < max(1e-6, min(0.05, abs(row[0] - 1) / 2)) for row in ratios)
            if ratios and all(near):
                return f"{_tried(len(ratios))}, as {symbol} {'grows' if power > 0 else 'vanishes'}"
            off = [row for row in ratios if abs(row[-1] - 1) > max(1e-6, 0.9 * abs(row[-2] - 1))]
            failed += [(symbol, power, off[0][-1])] if off else []
        if failed and len(failed) == len(ways):
            symbol, power, ratio = failed[0]
            raise Counterexample(
                f"at {symbol} = 10^{4 * power}: the ratio of both sides is {_number(ratio)}, not 1"
            )
        return ""

    def _ratios(self, values: dict[Any, Any], symbol: Any, power: int) -> list[Any]:
        """Return the ratios of both sides as a symbol goes on by powers of ten."""
        ratios = []
        for further in (1, 2, 3, 4):
            at = {**values, symbol: Rational(10) ** (power * further)}
            with mp.workdps(DIGITS[1]):
                sides = self._values(self.point(at, 1)) if self._allows(at) else None
                if sides is None or sides[0][1] == 0:
                    return []
                ratios.append(sides[0][0] / sides[0][1])
        return ratios


def _symbols_of(parts: Iterable[Any]) -> list[Any]:
    """Return the free symbols of expressions, sorted."""
    return sorted(set[Any]().union(*(free_symbols(sympify(part)) for part in parts)), key=str)


def _range_of(expression: Any, index: Index) -> Any:
    try:
        return range_of(expression, index)
    except ClaimError:
        return None


@lru_cache(maxsize=8192)
def _fits(symbol: Any, value: Any) -> bool:
    """Return whether the assumptions of a symbol allow a value."""
    pairs = ((getattr(symbol, f"is_{fact}"), getattr(value, f"is_{fact}")) for fact in _FACTS)
    return all(assumed is None or is_so is None or assumed == is_so for assumed, is_so in pairs)


def _number(value: Any) -> str:
    """Return a number in a few digits."""
    with mp.workdps(15):
        shown = mp.nstr(mp.mpmathify(value), 7) if not isinstance(value, Rational) else str(value)
    return shown.removesuffix(".0").replace("-", "−")


def _tried(count: int, of: str = "point", how: str = "") -> str:
    return f"{count} {of}{'s' * (count != 1)}{how}" if count else ""
