"""The second net: whatever its check says, a line is evaluated where it claims to hold.

``refute`` tries both sides at corners of the domains of all symbols and at random points, in many digits;
where there is a mean, over all outcomes of small laws with the assumed moments; normal laws and integrals by
quadrature of two sizes, whose difference is the error; means with too many outcomes by draws, beyond six
standard errors. It proves nothing: a line that passes has not been refuted.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
from mpmath import mp
from sympy import Eq, Gt, Indexed, Integral, Rational, sign, sympify
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational

from verify.symbolic.domains import MOST_DIGITS, Domain, NoLaw, NumericLaw, law_with, symbols_of
from verify.symbolic.evaluation import MEANS_OF, Undecided, opened, parts_of, symbols_in
from verify.symbolic.numbers import BATCHES, NOTHING, Point, evaluated, holds
from verify.symbolic.signs import Signs
from verify.symbolic.vocabulary import Family, Given, Index, Indicator, Laws, definition, families_of
from verify.symbolic.vocabulary import free_indices, range_of

DIGITS = (30, 60, MOST_DIGITS)
"""Digits in which a line is evaluated, and again where it seems false there."""

BUDGET = 10_000
"""How much work a line may take, in parts of expressions; about a tenth of a second."""

POINTS, FEWER, MEANS, RATIOS, DRAWN = 60, 12, 12, 6, 4
"""The most points of a line: plain, with components or an integral, with a mean, of limits, and by draws."""

LONG, FEW, WIDER = (1024, 10**6, 10**60), 2, 16
"""Keys of long rows, whose means are integrals; points of each, and once more with so much wider scores."""

THRIFT = 4
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
        briefly: Whether a quarter of the points will do, as for a line that is decided exactly.

    Raises:
        Counterexample: it is false somewhere, or no law has the assumed moments.
    """
    return _tried_as(before, relation, after, tuple((laws or {}).items()), given, briefly)


@lru_cache(maxsize=1024)  # for chains have lines in common
@np.errstate(all="ignore")
def _tried_as(before: Any, relation: str, after: Any, laws: Any, given: Any, briefly: bool) -> str:
    sides = opened(before), opened(after)
    relation = "⇔" if isinstance(sides[0], Relational) else relation
    trial = _Trial(sides, relation, dict(laws), given, briefly)
    domain = trial.domain
    # Of a name that stands on one side only nothing is said, as where the other side defines it.
    unsaid = (symbols_in(trial.sides[0]) ^ symbols_in(trial.sides[1])) - set(domain.put)
    unsaid -= set(symbols_of(x for law in trial.laws.values() for x in law.raw))
    if domain.has(AppliedUndef) or any(x.is_complex is None for x in unsaid):
        return ""
    if relation == "⇔":
        return trial.equivalence()
    if relation == "~":
        return trial.leading()
    if domain.has(*MEANS_OF):
        return trial.means()
    judge, wanted = trial.in_digits, 2 * FEWER if domain.families else POINTS
    if domain.has(Integral):
        judge, wanted = trial.by_quadrature, FEWER
    points = enumerate(domain.points(wanted // trial.thrift), 1)
    return _in_words(trial.seen(judge, (trial.point(values, number) for number, values in points)))


class _Trial:
    """The trying of one line: its sides, the laws of its families, and the work that may still be done."""

    def __init__(
        self, sides: tuple[Any, Any], relation: str, laws: dict[Any, Any], given: Any, briefly: bool
    ) -> None:
        self.relation, self.laws, self.budget = relation, laws, float(BUDGET)
        self.thrift = THRIFT if briefly else 1
        self.domain = Domain(sides, relation, laws, [opened(x) for x in given])
        self.sides = self.domain.sides
        # Given numbers, and families without a law that stand outside means where laws are given.
        self.fixed = frozenset(family for family in self.domain.families if isinstance(family, Given))
        if laws:
            self.fixed |= frozenset().union(*map(_outside_means, self.sides)) - set(laws)
        # Conditions on components, whether those stand outside of means, and their free indices.
        self.of_components = list[tuple[Any, bool, list[Index]]]()
        for condition in self.domain.of_components:
            # An expression that is never negative is positive in almost every outcome of a law without atoms.
            whole = all(laws[family].whole for family in families_of(condition) if family in laws)
            is_positive = isinstance(condition, Gt) and condition.lts == 0 and whole
            if not (is_positive and Signs().nonnegative(condition.gts)):
                indices = sorted(free_indices(condition), key=str)
                self.of_components.append((condition, bool(_outside_means(condition)), indices))

    def point(self, values: dict[Any, Any], seed: int, laws: Any = None) -> Point:
        """Return the point of these values; those of components are put in at their places."""
        components = {name: values.pop(name) for name in self.domain.put if isinstance(name, Indexed)}
        point = Point(values, laws, self.fixed, seed)
        for name, value in components.items():
            point.given[name.base, *map(point.whole, name.indices)] = value
        return point

    def seen(self, judge: Callable[[Point], str], points: Iterable[Point]) -> Counter[str]:
        """Return at how many points the line is seen to hold, by the words for how that is seen.

        A judge returns these words where the line holds, raises Undecided where that cannot be seen, and
        Counterexample where it is false.
        """
        counts = Counter[str]()
        for point in points:
            if self.budget <= 0:
                break
            with suppress(Undecided):
                counts[judge(point)] += 1
        return counts

    def in_digits(self, point: Point) -> str:
        """Try the line at a point, in more and more digits as long as it seems false."""
        for digits in DIGITS:
            with mp.workdps(digits):
                (left, right), _ = self._values(point)
                tiny = max(abs(left), abs(right), 1) * mp.mpf(10) ** (-digits // 2)
                try:
                    self._compare(point, left, right, tiny)
                except (Counterexample, Undecided):
                    if digits == DIGITS[-1]:
                        raise
                else:
                    break
        return ""

    def by_quadrature(self, point: Point) -> str:
        """Try the line at a point: over all outcomes, or by rules of two sizes."""
        (left, right), magnitudes = self._values(point, exact=False)
        scale = max(abs(left), abs(right))
        if np.isinf(left) and np.isinf(right):
            raise Undecided("both sides are infinite")
        error = NOTHING if np.isinf(scale) else NOTHING + 1e-9 * scale + 1e-12 * max(magnitudes)
        if self.is_exact(point):
            self._compare(point, left, right, error)
            return "exactly"
        if self.domain.has(Indicator, sign):
            raise Undecided("a jump between nodes is seen by neither rule")
        if np.isfinite(scale):
            coarse, _ = self._values(point, exact=False, coarse=True)
            # Two rules that miss the same of a side are near each other by chance alone.
            for x, y, magnitude in zip((left, right), coarse, magnitudes, strict=True):
                if abs(x - y) > 0.02 * max(abs(x), magnitude):
                    raise Undecided("the rules are far from each other")
            error += 10 * abs(left - right - coarse[0] + coarse[1])
        self._compare(point, left, right, error)
        if not error <= max(1e-4 * scale, 1e-6):
            raise Undecided("the rules are not near enough to each other to show that it holds")
        return "by quadrature"

    def by_integrals(self, point: Point) -> str:
        """Try the line at a point with long rows, where its means are integrals over one score."""
        (left, right), _ = self._values(point, exact=False, long=True)
        self._compare(point, left, right, 1e-7 * max(abs(left), abs(right), 1.0))
        return "in long rows"

    def by_draws(self, point: Point) -> str:
        """Try the line at a point by draws: beyond six standard errors of the jackknife it is false."""
        sides, _ = self._values(point, exact=False, drawn=True)
        left, right = (np.broadcast_to(side, (BATCHES + 1,)) for side in sides)
        # Without one of B batches a mean moves by 1/(B - 1) of how far that batch is off: hence the factor.
        gaps = (left - right)[1:]
        spread = np.sqrt((BATCHES - 1) / BATCHES * np.sum(np.abs(gaps - gaps.mean()) ** 2))
        error = NOTHING + STANDARD_ERRORS * spread + 1e-9 * max(abs(left[0]), abs(right[0]))
        try:
            self._compare(point, left[0], right[0], error)
        except Counterexample as false:
            raise Counterexample(f"{false}, drawn") from None
        return "drawn"

    def _values(self, point: Point, **how: Any) -> tuple[list[Any], list[float]]:
        """Return both sides at a point, their values or whether they hold, and the size of terms of each.

        Raises:
            Undecided: a side has no value, or conditions on components fail or are not seen to hold.
        """
        point.__dict__.update(how, budget=self.budget, known={})
        sides, magnitudes = [], []
        try:
            for side in self.sides:
                point.magnitude = 0.0
                sides.append(holds(side, point) if self.relation == "⇔" else evaluated(side, point))
                magnitudes.append(point.magnitude)
            for condition, is_outside, indices in self.of_components:
                if is_outside and (point.laws or self.domain.has(*MEANS_OF)):
                    raise Undecided("whether all outcomes of a law are such is not seen")
                sizes = [range(1, point.whole(range_of(condition, index)) + 1) for index in indices]
                for places in itertools.product(*sizes):
                    with point.having(places={**point.places, **dict(zip(indices, places, strict=True))}):
                        if not holds(condition, point):
                            raise Undecided("a condition on components fails")
            return sides, magnitudes
        finally:
            self.budget = min(self.budget - 1, point.budget)

    def _compare(self, point: Point, left: Any, right: Any, error: Any) -> None:
        """Return where the sides stand as they should by more than an error, or are equal within it.

        Raises:
            Undecided: that is not seen.
            Counterexample: they stand otherwise.
        """
        gap = left - right
        is_known = abs(gap) >= 0 and error < np.inf
        if not is_known or (gap.imag and self.relation != "="):
            raise Undecided("they cannot be compared")
        gap = max(gap.real, gap.imag, key=abs)
        computed = 0 if gap == 0 else 1 if gap > 0 else -1
        seen, allowed = 0 if abs(gap) <= error else computed, ALLOWED[self.relation]
        if seen in allowed:
            return
        # Of a strict bound that rounding may have made an equation nothing is said.
        if seen or (self.is_exact(point) and computed not in allowed):
            raise self.counterexample(point, f"{_number(left)} {self.relation} {_number(right)} is false")
        raise Undecided("they are too near each other")

    def counterexample(self, point: Point, says: str) -> Counterexample:
        """Return the error that names a point and says what is false there."""
        symbols = set(symbols_of(map(definition, self.sides))) & set(point.values)
        named = sorted((x for x in symbols if not isinstance(x, Index)), key=str)
        shown = [f"{symbol} = {_number(point.values[symbol])}" for symbol in named]
        drawn = sorted(self.domain.families & set(point.laws), key=str)
        shown += [f"{family} {point.laws[family]}" for family in drawn]
        if not self.laws and self.domain.has(*MEANS_OF) and self.domain.families:
            shown.append("a joint law, as no laws= are given")
        given = list(point.given.items())
        shown += [f"{key[0]}{list(key[1:])} = {_number(x)}" for key, x in given[:6]]
        at = f"at {', '.join(shown)}{', …' * (len(given) > 6)}: " if shown else ""
        return Counterexample(f"{at}{says}")

    # Means.

    def means(self) -> str:
        """Try a line with means: over all outcomes or by quadrature, else by draws; also in long rows."""
        counts = self.seen(self.by_quadrature, self._drawn(self.domain.points(MEANS // self.thrift)))
        if not counts:
            self.budget = max(self.budget, BUDGET / 2)
            points = self._drawn(self.domain.points(MEANS // self.thrift))
            counts = self.seen(self.by_draws, itertools.islice(points, DRAWN // self.thrift))
        # A line that holds for a few keys need not hold for many. An integral of an author's may have a peak
        # there that is too narrow for our nodes.
        if self.domain.rows and self.thrift == 1 and not self.domain.has(Integral):
            self.budget = max(self.budget, BUDGET / 10)
            counts += self.seen(self.by_integrals, self._drawn(self._long_rows()))
        return _in_words(counts, "law" if self.laws else "point")

    def _long_rows(self) -> Iterator[dict[Any, Any]]:
        """Yield points with very many keys, and with their scores spread more widely as well."""
        for values, keys, wider in itertools.product(self.domain.points(FEW), LONG, (1, WIDER)):
            at = {**values, **dict.fromkeys(self.domain.rows & set(self.domain.sizes), keys)}
            at.update({x: wider * values[x] for x in self.domain.symbols if x.is_positive})
            if self.domain.allows(at):
                yield at

    def _drawn(self, points: Iterable[dict[Any, Any]]) -> Iterator[Point]:
        """Yield points with laws of all families but those that are fixed."""
        for number, values in enumerate(points, 1):
            laws = self._laws(values, CHOICES[(number - 1) % len(CHOICES)])
            if laws is not None:
                yield self.point(values, number, laws)

    def is_exact(self, point: Point) -> bool:
        """Return whether means are summed over all outcomes of the laws themselves."""
        is_whole = any(law.whole for law in point.laws.values())
        return not (point.drawn or is_whole or self.domain.has(Integral))

    def _laws(self, values: dict[Any, Any], choice: Any) -> dict[Family, NumericLaw] | None:
        """Return laws of all families at a point, None where its symbols give moments that no law has.

        Moments that are symbols alone, from the third on, become those of the laws.
        """
        laws = dict[Family, NumericLaw]()
        for place, family in enumerate(sorted(self.domain.families & set(self.laws), key=str)):
            law = self.laws[family]
            if law.quantile:
                laws[family] = NumericLaw((), (), whole=True, quantile=law.quantile)
                continue
            raw = [sympify(moment) for moment in law.raw]
            free = next((order for order, x in enumerate(raw) if order > 2 and x.is_Symbol), len(raw))
            if free < len(raw) and any(raw[free] in self.laws[other].raw for other in laws):
                free = len(raw)
            try:
                moments = (x if x.is_Rational else evaluated(x, Point(values)) for x in raw[:free])
                laws[family] = law_with(tuple(map(float, moments)), law.whole, choice[place % 2])
            except NoLaw:
                if any(moment.free_symbols for moment in raw):
                    return None
                signs = ("", *"²³⁴⁵⁶⁷⁸⁹")
                listed = [f"E {family}{sign} = {x}" for sign, x in zip(signs, raw[1:], strict=False)]
                which = ", ".join(listed).replace("-", "−")
                raise Counterexample(f"no law has these moments: {which}") from None
            except (Undecided, TypeError):
                return None
            if free < len(raw):
                nodes, weights = laws[family].rule()
                values.update({raw[order]: float(weights @ nodes**order) for order in range(free, len(raw))})
        return laws

    # Equivalences and leading terms.

    def equivalence(self) -> str:
        """Try whether both sides are true at the same points, the solutions of equations among them."""

        def judge(point: Point) -> str:
            exact = not self.domain.has(*MEANS_OF)
            if not exact:
                point.laws = self._laws(point.values, CHOICES[point.seed % len(CHOICES)]) or {}
                if not self.is_exact(point):
                    raise Undecided("whether an equation holds is not seen within an error")
            with mp.workdps(DIGITS[1]):
                (first, second), _ = self._values(point, exact=exact)
            if first != second:
                true, false = self.sides if first else self.sides[::-1]
                raise self.counterexample(point, f"{true} holds, and {false} does not")
            return ""

        points = (at for values in self.domain.points(FEWER) for at in (values, *self._solutions(values)))
        return _in_words(self.seen(judge, map(self.point, points, itertools.count(1))))

    def _solutions(self, values: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
        """Yield points at which an equation is solved for a symbol, the others as they are."""
        for equation, symbol in itertools.product(self.sides, self.domain.symbols):
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
            if self.domain.may_be(symbol, sympify(float(root))) and self.domain.allows(at):
                yield at

    def leading(self) -> str:
        """Try whether the ratio of both sides tends to 1 as a symbol grows; without sizes, as it vanishes."""
        if self.sides[1] == 0 != self.sides[0]:
            raise Counterexample("0 is the leading term of 0 alone")
        points, symbols = list(itertools.islice(self.domain.points(MEANS), RATIOS)), self.domain.symbols
        ways = [(symbol, 3) for symbol in symbols]
        if not any(symbol.is_integer for symbol in symbols):
            ways += [(symbol, -3) for symbol in symbols if symbol.is_positive]
        failed = []
        for symbol, power in ways:
            # Ratios as the symbol goes on by powers of ten, from each point where they all have a value.
            rows = []
            for values in points:
                ahead = [{**values, symbol: Rational(10) ** (power * further)} for further in (1, 2, 3, 4)]
                with suppress(Undecided, ZeroDivisionError), mp.workdps(DIGITS[1]):
                    if all(map(self.domain.allows, ahead)):
                        sides = [self._values(self.point(at, 1))[0] for at in ahead]
                        rows.append([left / right for left, right in sides])
            # The last ratio is at 1, or within a twentieth and at half of the first one's distance.
            near = (abs(row[-1] - 1) < max(1e-6, min(0.05, abs(row[0] - 1) / 2)) for row in rows)
            if rows and all(near):
                words = _in_words(Counter({"": len(rows)}))
                return f"{words}, as {symbol} {'grows' if power > 0 else 'vanishes'}"
            off = [row for row in rows if abs(row[-1] - 1) > max(1e-6, 0.9 * abs(row[-2] - 1))]
            failed += [(symbol, power, off[0][-1])] if off else []
        # It may hold as one symbol grows, and need not as another does: it is false where it holds for none.
        if failed and len(failed) == len(ways):
            symbol, power, ratio = failed[0]
            says = f"the ratio of both sides is {_number(ratio)}, not 1"
            raise Counterexample(f"at {symbol} = 10^{4 * power}: {says}")
        return ""


def _outside_means(x: Any) -> frozenset[Family]:
    """Return the families of which components stand outside of means."""
    means = [part for part in parts_of(x) if isinstance(part, MEANS_OF)]
    return families_of(x.xreplace(dict.fromkeys(means, sympify(0))) if means else x)


def _number(value: Any) -> str:
    """Return a number in a few digits."""
    with mp.workdps(15):
        shown = mp.nstr(mp.mpmathify(value), 7) if not isinstance(value, Rational) else str(value)
    return shown.removesuffix(".0").replace("-", "−")


def _in_words(counts: Counter[str], of: str = "point") -> str:
    """Return such as "4 laws, exactly; 8 laws, in long rows"."""
    each = ((f"{count} {of}{'s' * (count != 1)}", how) for how, count in counts.items())
    return "; ".join(f"{many}, {how}" if how else many for many, how in each)
