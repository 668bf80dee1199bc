"""The second net: whatever its check says, a line is evaluated where it claims to hold.

``refute`` tries both sides at corners of the domains of all symbols and at random points, in many digits; where
there is a mean, over all outcomes of small laws with the assumed moments; normal laws and integrals by
quadrature, with an error; what has too many outcomes by draws, beyond six standard errors. It proves nothing:
a line that passes has not been refuted.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from mpmath import mp
from sympy import Basic, Eq, Expr, Indexed, Integral, Product, Rational, Sum, Symbol, sympify
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from verify.errors import ClaimError
from verify.symbolic import vocabulary
from verify.symbolic.laws import NoLaw, NumericLaw, law_with
from verify.symbolic.numbers import BATCHES, MOST, NotEvaluated, Point, evaluated, holds
from verify.symbolic.vocabulary import Cov, Dot, E, Family, Index, Laws, Var

DIGITS, MORE_DIGITS, MANY_DIGITS = 30, 60, 300
"""Digits in which a line is evaluated, then once more where it seems false, and where sides seem the same."""

BUDGET = 60_000
"""How much work a line may take, in nodes of expressions; about half a second."""

POINTS = 100
"""The most points without a mean or an integral; of those with one there are fewer."""

STANDARD_ERRORS = 6.0
"""How far draws must be from what a line says."""

CHOICES = (
    (((0, 1),), ((0, 1),)),
    (((1.5, 1),), ((0, 1),)),
    (((0.25, 1.25), (-1.5, 0.5)), ((-1.5, 1),)),
    (((-0.75, 1.5), (2.0, 1.0)), ((0.5, 0.75), (1.0, 2.0))),
)
"""What is chosen of the laws of two families in turn, see ``law_with``: the first have two values, ±1."""


class Counterexample(Exception):  # noqa: N818  # what it is
    """A line is false at a point where it claims to hold; the text names the point."""


def refute(
    before: Any,
    relation: str,
    after: Any,
    laws: Laws | None,
    given: tuple[Any, ...] = (),
    budget: float = BUDGET,
) -> str:
    """Return how a line was tried, such as "12 laws, exactly" or "100 points"; "" where that could be nowhere.

    Args:
        before: The left side.
        relation: One of = ≤ < ≥ > ~ ⇔.
        after: The right side.
        laws: The laws of what is drawn. Without them means are over an arbitrary joint law; families that
            ``laws`` leave out are given numbers where they stand outside means.
        given: Conditions under which the line holds. An equation of a symbol says what it stands for.
        budget: How much work is done at most.

    Raises:
        Counterexample: it is false somewhere, or no law has the assumed moments.
    """
    trial = _Trial(sympify(before), relation, sympify(after), dict(laws or {}), given, budget)
    if trial.unknown:
        return ""
    if relation == "⇔" or isinstance(trial.before, Relational):
        return trial.equivalence()
    if relation == "~":
        return trial.leading()
    return trial.everywhere()


@dataclass
class _Trial:
    """The trying of one line."""

    before: Any
    relation: str
    after: Any
    laws: dict[Family, Any]
    given: tuple[Any, ...]
    budget: float
    random: random.Random = field(default_factory=lambda: random.Random(1))  # noqa: S311  # no secrets

    def __post_init__(self) -> None:
        meanings = {
            each.lhs: each.rhs
            for each in self.given
            if isinstance(each, Eq) and not each.lhs.is_number and not each.rhs.has(each.lhs)
        }
        self.given = tuple(
            each.xreplace(meanings) for each in self.given if getattr(each, "lhs", None) not in meanings
        )
        self.before, self.after = self.before.xreplace(meanings), self.after.xreplace(meanings)

    @property
    def sides(self) -> tuple[Any, Any]:
        """Both sides of the line."""
        return self.before, self.after

    @cached_property
    def families(self) -> set[Family]:
        """All families in the line."""
        return set().union(*map(vocabulary.families_of, self.sides))

    @cached_property
    def ranges(self) -> dict[Any, list[Index]]:
        """The free indices of the line, by the size of their range."""
        ranges: dict[Any, list[Index]] = {}
        free = set().union(*map(vocabulary.free_indices, self.sides))
        for index in sorted(free, key=str):
            size: Any = None
            for side in self.sides:
                try:
                    size = size or vocabulary.range_of(side, index)
                except ClaimError:
                    continue
            ranges.setdefault(size, []).append(index)
        return ranges

    @cached_property
    def sizes(self) -> list[Symbol]:
        """The symbols that count terms of sums, or components, keys and queries."""
        counts = set[Any]()
        for side in self.sides:
            for part in side.atoms(Sum, Product):
                counts |= {bound for limit in part.limits for bound in limit[1:]}
        for family in self.families:
            counts |= set(getattr(family, "ranges", ()))
        return sorted((symbol for symbol in set().union(*(sympify(x).free_symbols for x in counts))
                       if symbol in self.symbols), key=str)  # fmt: skip

    @cached_property
    def symbols(self) -> set[Any]:
        """All symbols of the line that have a value: no families, no indices."""
        symbols = set[Any]()
        raws = [moment for law in self.laws.values() for moment in law.raw]
        used = {size for family in self.families for size in getattr(family, "ranges", ())}
        for part in (*self.sides, *self.given, *(raws if self.families else ()), *used):
            symbols |= _free_symbols(sympify(part))
        return {symbol for symbol in symbols if not isinstance(symbol, Index)}

    @cached_property
    def unknown(self) -> bool:
        """Whether something stands in one side alone of which nothing is said, such as a name of the other."""
        if any(side.has(AppliedUndef) for side in self.sides):
            return True
        first, second = map(_free_symbols, self.sides)
        return any(not _is_said(symbol) for symbol in first ^ second if symbol in self.symbols)

    # Points.

    def points(self, wanted: int, largest: int = 4, moderate: bool = False) -> Iterator[dict[Any, Any]]:
        """Yield values of all symbols and free indices where the conditions hold, corners first."""
        others = sorted(self.symbols - set(self.sizes), key=str)
        sizes = self._sizes(largest)
        tried = itertools.count()
        corners = [self._corners(symbol, moderate) for symbol in others]
        plans = _plans(corners, wanted // 2, self.random)
        # Few corners are tried with several sizes each.
        for turn in range(min(wanted // 2, len(plans) * len(sizes))):
            plan = plans[turn % len(plans)]
            yield from self._placed(dict(zip(others, plan, strict=True)), sizes, next(tried))
        for _ in range(wanted - wanted // 2 if others else 0):
            drawn = {symbol: self._any(symbol, moderate) for symbol in others}
            yield from self._placed(drawn, sizes, next(tried))

    def _placed(
        self, values: dict[Any, Any], sizes: list[dict[Any, int]], tried: int
    ) -> Iterator[dict[Any, Any]]:
        """Yield a point with sizes and free indices, if all conditions hold there."""
        for turn in range(len(sizes)):
            at = {**values, **sizes[(tried + turn) % len(sizes)]}
            point = Point(dict(at))
            try:
                if not all(holds(condition, point) for condition in self.given):
                    continue
                for size, indices in self.ranges.items():
                    if size is not None and point.whole(size) < len(indices):
                        raise NotEvaluated
                    at.update({index: place for place, index in enumerate(indices, 1)})
            except (NotEvaluated, ArithmeticError, TypeError, ValueError):
                continue
            yield at
            return

    def _sizes(self, largest: int) -> list[dict[Any, int]]:
        """Return values of sizes, those first that differ from each other; at least one."""
        if not self.sizes:
            return [{}]
        allowed = [
            [size for size in range(low, low + largest) if _may_be(symbol, size)]
            for symbol in self.sizes
            for low in [max(1, int(np.ceil(float(self._bounds(symbol)[0] or 1))))]
        ]
        combinations = list(itertools.islice(itertools.product(*allowed), 2000))
        self.random.shuffle(combinations)
        combinations.sort(key=lambda values: (-len(set(values)), max(values) > 3))
        least = tuple(values[0] for values in allowed)
        combinations.insert(2, least)
        return [dict(zip(self.sizes, values, strict=True)) for values in dict.fromkeys(combinations)]

    def _bounds(self, symbol: Any) -> tuple[Any, Any]:
        """Return the numbers between which the conditions put a symbol, None where there is none."""
        low = high = None
        for each in self.given:
            if not isinstance(each, Relational) or isinstance(each, Eq):
                continue
            for side, other, below in ((each.lhs, each.rhs, "<"), (each.rhs, each.lhs, ">")):
                if side == symbol and other.is_number and other.is_finite:
                    if each.rel_op.startswith(below):
                        high = other if high is None else min(high, other)
                    else:
                        low = other if low is None else max(low, other)
        return low, high

    def _corners(self, symbol: Any, moderate: bool) -> list[Any]:
        low, high = self._bounds(symbol)
        if symbol.is_integer:
            values = [2, 1, 3, 0, -1, -2, 5, 10, *(() if moderate else (1000,))]
            values += [bound + step for bound in (low, high) if bound is not None for step in (0, 1, -1)]
        else:
            values = [2, 1, 0, -1, Rational(1, 2), Rational(-1, 2), 3, -2, Rational(1, 10)]
            values += [] if moderate else [Rational(1, 1000), 1000, Rational(-1, 1000), -1000, 30, -30]
            values += [
                bound + step
                for bound in (low, high)
                if bound is not None
                for step in (0, Rational(1, 1000), Rational(-1, 1000), 1, -1)
            ]
        if low is not None and high is not None and not symbol.is_integer:
            values.append((low + high) / 2)
        return [sympify(value) for value in dict.fromkeys(values) if _may_be(symbol, sympify(value))] or [
            self._any(symbol, moderate)
        ]

    def _any(self, symbol: Any, moderate: bool) -> Any:
        low, high = self._bounds(symbol)
        if symbol.is_integer:
            start = 1 if low is None else int(np.ceil(float(low)))
            start = -6 if low is None and not symbol.is_nonnegative and not symbol.is_positive else start
            return sympify(self.random.randint(start, int(high) if high is not None else start + 12))
        size = Rational(round(1024 * self.random.lognormvariate(0, 0.6 if moderate else 1.2)) + 1, 1024)
        if low is not None and high is not None:
            return low + (high - low) * Rational(self.random.randint(1, 1023), 1024)
        if low is not None or high is not None:
            return low + size if low is not None else high - size
        if symbol.is_nonnegative or symbol.is_positive:
            return size
        return -size if symbol.is_nonpositive or self.random.random() < 0.5 else size

    # A line at a point.

    def everywhere(self) -> str:
        """Try the line at every point."""
        if any(side.has(E, Var, Cov) for side in self.sides):
            return self.means()
        if any(side.has(Integral) for side in self.sides):
            return self.integrals()
        held = 0
        for values in self.points(POINTS, largest=6):
            if self.budget <= 0:
                break
            held += self.judge_exactly(Point(values, seed=held + 1, work=self.budget))
        return f"{held} point{'s' * (held != 1)}" if held else ""

    def judge_exactly(self, point: Point) -> bool:
        """Return whether the line could be told at a point in many digits.

        Raises:
            Counterexample: it is false there.
        """
        verdict, numbers = "", dict[int, Any]()
        try:
            for digits in (DIGITS, MORE_DIGITS, MANY_DIGITS):
                with mp.workdps(digits):
                    point.memo = {}
                    left, right = (evaluated(side, point) for side in self.sides)
                    numbers[digits] = abs(left - right)
                    verdict = self._compared(left, right, numbers, digits)
                if verdict != "more":
                    break
        except NotEvaluated:
            return False
        finally:
            self.budget = min(self.budget, point.work)
        if verdict == "false":
            raise Counterexample(self.told(point, left, right))
        return verdict == "holds"

    def _compared(self, left: Any, right: Any, gaps: dict[int, Any], digits: int) -> str:
        """Return "holds", "false", "more" where more digits may tell, or ""."""
        gap, scale = gaps[digits], max(abs(left), abs(right))
        same = gap <= scale * mp.mpf(10) ** (10 - DIGITS)
        if self.relation == "=":
            if same:
                return "holds"
            shrinks = digits > DIGITS and gap < gaps[DIGITS] * mp.mpf(10) ** (-DIGITS // 3)
            return "more" if digits == DIGITS else "holds" if shrinks else "false"
        if isinstance(left, mp.mpc) or isinstance(right, mp.mpc):
            return ""
        if same:
            if self.relation in "≤≥":
                return "holds"
            if digits < MANY_DIGITS:
                return "more"
            return "false" if gap <= scale * mp.mpf(10) ** (20 - MANY_DIGITS) else self._ordered(left, right)
        if self._ordered(left, right) == "holds":
            return "holds"
        if digits == DIGITS:
            return "more"
        shrinks = gap < gaps[DIGITS] * mp.mpf(10) ** (-DIGITS // 3)
        return (
            "holds" if shrinks and self.relation in "≤≥" else "more" if shrinks and digits < 300 else "false"
        )

    def _ordered(self, left: Any, right: Any) -> str:
        return "holds" if (left < right) == (self.relation in "≤<") else "false"

    def told(self, point: Point, left: Any, right: Any) -> str:
        """Return the point in words, and what both sides are there."""
        named = {
            symbol: value for symbol, value in point.values.items()
            if not isinstance(symbol, Index) and (symbol in self.symbols)
        }  # fmt: skip
        shown = [f"{symbol} = {_number(named[symbol])}" for symbol in sorted(named, key=str)]
        used = {family for family in point.laws if family in self.families}
        shown += [f"{family} in {point.laws[family]}" for family in sorted(used, key=str)]
        entries = [(key, value) for key, value in point.numbers.items() if key[0] not in point.laws]
        shown += [
            f"{key[0]}[{', '.join(map(str, key[1:]))}] = {_number(value)}" for key, value in entries[:6]
        ]
        shown += ["…"] * (len(entries) > 6)
        where = f"at {', '.join(shown)}: " if shown else ""
        return f"{where}{_number(left)} {self.relation} {_number(right)} is false"

    # Integrals and means.

    def integrals(self) -> str:
        """Try a line with integrals at points, by quadrature."""
        held = 0
        for values in self.points(24, moderate=True):
            if self.budget <= 0:
                break
            held += self.judge_in_floats(Point(values, seed=held + 1, exact=False))
        return f"{held} point{'s' * (held != 1)}, by quadrature" if held else ""

    def judge_in_floats(self, point: Point) -> bool:
        """Return whether the line could be told at a point from rules of two sizes.

        Raises:
            Counterexample: it is false there, by more than the rules differ.
        """
        values = []
        for coarse in (True, False):
            point.coarse, point.memo, point.work = coarse, {}, self.budget
            try:
                values.append([evaluated(side, point) for side in self.sides])
            except NotEvaluated:
                return False
            finally:
                self.budget = min(self.budget, point.work)
        (first, second), (left, right) = values
        if np.iscomplexobj(left) or np.iscomplexobj(right):
            return False
        if np.isinf(left) != np.isinf(right) and np.isinf(first) != np.isinf(second):
            grows = bool(left < right) == (self.relation in "≤<") and self.relation != "="
            if not grows:
                raise Counterexample(self.told(point, left, right))
            return True
        error = 10 * abs((left - right) - (first - second))
        scale = max(abs(left), abs(right))
        error += 1e-10 * scale + 1e-12 * point.magnitude
        if not np.isfinite(error):
            return False
        if self._violated(left - right, error):
            if self._is_so(point, left, right, error):
                raise Counterexample(self.told(point, left, right))
            return False
        return bool(error <= 1e-4 * scale or self._violated(right - left, error))

    def _violated(self, excess: Any, error: Any) -> bool:
        if self.relation == "=":
            return bool(abs(excess) > error)
        return bool((excess if self.relation in "≤<" else -excess) > error)

    def _is_so(self, point: Point, left: Any, right: Any, error: Any) -> bool:
        """Return whether a difference stands in more digits too, where laws are discrete and outcomes few."""
        discrete = not any(law.whole for law in point.laws.values()) and not any(
            side.has(Integral) for side in self.sides
        )
        if not discrete or point.nodes > MOST // 5:
            return bool(abs(left - right) > 100 * error)
        again = Point(point.values, point.laws, point.fixed, point.seed)
        try:
            with mp.workdps(DIGITS):
                first, second = (evaluated(side, again) for side in self.sides)
        except NotEvaluated:
            return bool(abs(left - right) > 100 * error)
        return self._violated(first - second, mp.mpf("1e-14") * max(abs(first), abs(second)))

    def means(self) -> str:
        """Try a line with means: over all outcomes, by quadrature, or by draws."""
        exact = rules = drawn = 0
        impossible, possible = "", False
        drawable = list[Point]()
        for number, values in enumerate(self.points(16, largest=3, moderate=True)):
            for choice in range(len(CHOICES)):
                if self.budget <= 0:
                    break
                try:
                    laws = self._laws(values, choice)
                except NoLaw as error:
                    impossible = str(error)
                    continue
                possible = True
                used = [law for family, law in laws.items() if family in self.families]
                point = Point(values, laws, self.fixed, seed=number + 1, exact=False)
                if self.judge_in_floats(point):
                    if any(law.whole for law in used) or any(side.has(Integral) for side in self.sides):
                        rules += 1
                    else:
                        exact += 1
                elif len(drawable) < 4:
                    drawable.append(point)
                if all(law.whole for law in used) and used:
                    break
        if impossible and not possible and self.families & set(self.laws):
            raise Counterexample(impossible)
        if not exact + rules:
            drawn = sum(map(self.judge_draws, drawable))
        tried = [(exact, "law", "exactly"), (rules, "point", "by quadrature"), (drawn, "point", "drawn")]
        return "; ".join(f"{count} {of}{'s' * (count != 1)}, {how}" for count, of, how in tried if count)

    @cached_property
    def fixed(self) -> frozenset[Family]:
        """Families without a law that stand outside means where laws are given: they are given numbers."""
        outside = set[Any]()
        for side in self.sides:
            bare = side.replace(lambda part: isinstance(part, E | Var | Cov), lambda part: Symbol("mean_"))
            outside |= vocabulary.families_of(bare)
        return frozenset(family for family in outside if self.laws and family not in self.laws)

    def _laws(self, values: dict[Any, Any], choice: int) -> dict[Family, NumericLaw]:
        """Return laws of all families at a point; moments that are symbols alone become those of the laws."""
        laws = dict[Family, NumericLaw]()
        for place, (family, law) in enumerate(sorted(self.laws.items(), key=lambda item: str(item[0]))):
            if family not in self.families:
                continue
            raw = [sympify(moment) for moment in law.raw]
            free = next((order for order, moment in enumerate(raw) if order > 2 and moment.is_Symbol), None)
            known = raw if free is None or raw[free] in values.get("assigned", ()) else raw[:free]
            point = Point(values)
            try:
                with mp.workdps(45):
                    moments = [evaluated(moment, point) for moment in known]
                    laws[family] = law_with(moments, law.whole, CHOICES[choice][place % 2])
            except NoLaw:
                listed = ", ".join(
                    f"E x{_power(order)} = {_number(x)}" for order, x in enumerate(moments) if order
                )
                raise NoLaw(f"no law has these moments: {family} with {listed}") from None
            except NotEvaluated as error:
                raise NoLaw(f"a moment of {family} has no value: {error}") from error
            if len(known) < len(raw):
                nodes, weights = laws[family].rule(1, MOST, coarse=False, exact=True)
                for order in range(len(known), len(raw)):
                    if raw[order].is_Symbol:
                        values[raw[order]] = sum(weights * nodes**order)
        return laws

    def judge_draws(self, point: Point) -> bool:
        """Return whether the line could be told from draws.

        Raises:
            Counterexample: it is false beyond six standard errors, those of the jackknife.
        """
        point.drawn, point.memo, point.entries, point.work = True, {}, {}, self.budget + 20_000
        try:
            left, right = (
                np.broadcast_to(np.asarray(evaluated(side, point), float), (BATCHES + 1,))
                for side in self.sides
            )
        except (NotEvaluated, TypeError, ValueError):
            return False
        gaps = left - right
        spread = np.sqrt((BATCHES - 1) / BATCHES * np.sum((gaps[1:] - gaps[1:].mean()) ** 2))
        error = STANDARD_ERRORS * spread + 1e-9 * max(abs(left[0]), abs(right[0]))
        if not np.isfinite(error):
            return False
        if self._violated(gaps[0], error):
            raise Counterexample(f"{self.told(point, left[0], right[0])}, drawn")
        return True

    # Equivalences and leading terms.

    def equivalence(self) -> str:
        """Try whether two propositions are true at the same points, the solutions of equations among them."""
        if not all(
            isinstance(side, Basic) and (side.is_Boolean or side.is_Relational) for side in self.sides
        ):
            return ""
        held = 0
        for values in self.points(60):
            for at in (values, *self._solutions(values)):
                point = Point(at, seed=held + 1, work=self.budget)
                try:
                    first, second = (holds(side, point) for side in self.sides)
                except (NotEvaluated, ArithmeticError, TypeError, ValueError, ClaimError):
                    continue
                finally:
                    self.budget = min(self.budget, point.work)
                if first != second:
                    told = self.told(point, 0, 0).split(": ")[0]
                    words = ("holds", "does not") if first else ("does not hold", "does")
                    raise Counterexample(f"{told}: {self.before} {words[0]}, and {self.after} {words[1]}")
                held += 1
            if self.budget <= 0:
                break
        return f"{held} point{'s' * (held != 1)}" if held else ""

    def _solutions(self, values: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
        """Yield points at which one of the equations is solved for a symbol, the others as they are."""
        for equation in self.sides:
            if not isinstance(equation, Eq):
                continue
            for symbol in sorted(_free_symbols(equation) & (self.symbols - set(self.sizes)), key=str):
                if symbol.is_integer or isinstance(values[symbol], int):
                    continue
                start = float(values[symbol])

                def gap(x: Any, symbol: Any = symbol, equation: Any = equation) -> Any:
                    point = Point({**values, symbol: x}, work=500)
                    return evaluated(equation.lhs, point) - evaluated(equation.rhs, point)

                try:
                    with mp.workdps(DIGITS):
                        root = mp.findroot(gap, start, tol=mp.mpf("1e-50"), maxsteps=30)
                    at = {**values, symbol: root}
                    if _may_be(symbol, sympify(float(root))) and all(
                        holds(each, Point(dict(at))) for each in self.given
                    ):
                        yield at
                except (NotEvaluated, ArithmeticError, TypeError, ValueError):
                    continue

    def leading(self) -> str:
        """Try whether the ratio of the sides tends to 1, as some symbol grows, or a positive one vanishes."""
        if any(side.has(E, Var, Cov, Integral) for side in self.sides):
            return ""
        held, moved, failed = 0, 0, ""
        for values in itertools.islice(self.points(20, moderate=True), 6):
            verdicts = []
            for symbol in sorted(self.symbols, key=str):
                if symbol in self.sizes:
                    continue
                for exponent in (3, -3) if symbol.is_real and not symbol.is_integer else (3,):
                    ratios = self._ratios(values, symbol, exponent)
                    if ratios:
                        verdicts.append((_tends(ratios), symbol, exponent, ratios))
            moved += bool(verdicts)
            if any(verdict == "to 1" for verdict, *_ in verdicts):
                held += 1
            elif verdicts and all(verdict == "elsewhere" for verdict, *_ in verdicts):
                _, symbol, exponent, ratios = verdicts[0]
                point = Point({key: value for key, value in values.items() if key != symbol})
                told = self.told(point, 0, 0).split(": ")[0] if len(point.values) else ""
                failed = (
                    f"{told + ', ' if told.startswith('at ') else 'at '}{symbol} = 10^{4 * exponent}: "
                    f"{_number(ratios[-1])} = 1 is false of the ratio of both sides"
                )
        if failed and not held:
            raise Counterexample(failed)
        return f"{held} point{'s' * (held != 1)}, as a symbol grows" if held else ""

    def _ratios(self, values: dict[Any, Any], symbol: Any, exponent: int) -> list[Any]:
        ratios = []
        for power in (1, 2, 3, 4):
            at = {**values, symbol: Rational(10) ** (exponent * power)}
            point = Point(at, work=self.budget)
            try:
                with mp.workdps(MORE_DIGITS):
                    if not all(holds(each, Point(dict(at))) for each in self.given):
                        return []
                    left, right = (evaluated(side, point) for side in self.sides)
                    ratios.append(left / right)
            except (NotEvaluated, ArithmeticError, TypeError, ValueError):
                return []
            finally:
                self.budget = min(self.budget, point.work)
        return ratios


def _tends(ratios: list[Any]) -> str:
    """Return where ratios tend: "to 1", "elsewhere", or "" where that is not clear."""
    off = [abs(ratio - 1) for ratio in ratios]
    if off[-1] < 1e-6 or (off[-1] < 0.05 and off[-1] < off[0] / 2):
        return "to 1"
    if off[-1] > 0.9 * off[-2] and off[-1] > 1e-4:
        return "elsewhere"
    return ""


def _free_symbols(expression: Any) -> set[Any]:
    """Return the symbols of an expression that are not bound, without names of families."""
    labels = {part.base.label for part in expression.atoms(Indexed)}
    labels |= {base.label for part in expression.atoms(Dot) for base in (part.args[0], part.args[2])}
    return {
        symbol for symbol in expression.free_symbols
        if symbol.is_Symbol and not isinstance(symbol, Indexed) and symbol not in labels
    }  # fmt: skip


def _is_said(symbol: Any) -> bool:
    """Return whether anything is assumed of a symbol."""
    return symbol.is_real is not None or symbol.is_complex is not None or isinstance(symbol, Index)


def _may_be(symbol: Any, value: Any) -> bool:
    """Return whether the assumptions of a symbol allow a value."""
    return all(
        getattr(sympify(value), f"is_{fact}") in {assumed, None}
        for fact in ("integer", "positive", "negative", "zero", "nonnegative", "nonpositive", "real", "even")
        if (assumed := getattr(symbol, f"is_{fact}")) is not None
    )


def _plans(corners: list[list[Any]], most: int, rng: random.Random) -> list[tuple[Any, ...]]:
    """Return choices of a corner for each symbol: all, or as many as are wanted."""
    total = 1
    for each in corners:
        total *= len(each)
    if total <= most:
        return list(itertools.product(*corners))
    firsts = [tuple(each[min(place, len(each) - 1)] for each in corners) for place in range(3)]
    single = [
        (*firsts[0][:place], value, *firsts[0][place + 1 :])
        for place, each in enumerate(corners)
        for value in each
    ]
    others = [tuple(map(rng.choice, corners)) for _ in range(most)]
    return list(dict.fromkeys([*firsts, *single, *others]))[:most]


def _number(value: Any) -> str:
    """Return a number in a few digits."""
    if isinstance(value, Expr):
        return str(value).replace("-", "−")
    if isinstance(value, complex | mp.mpc):
        return mp.nstr(mp.mpc(value), 6)
    return mp.nstr(mp.mpf(value), 7).removesuffix(".0").replace("-", "−")


def _power(order: int) -> str:
    return "" if order == 1 else "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(order))
