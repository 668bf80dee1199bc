"""The moment calculus: the value of a mean of products of dot products, for every size.

A product of sums over components is one sum over several indices, and a mean of independent components
depends only on which of these indices coincide. So each way to let them coincide is counted, with falling
factorials d(d - 1)…, and contributes a product of moments: E(q·k)⁴ is d·E q⁴ E k⁴ + 3d(d - 1)·(E q² E k²)²
where means are 0. Sums over queries and keys are counted alike, and so are means over all pairs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

from sympy import Dummy, Expr, Indexed, Integer, KroneckerDelta, Poly, PolynomialError, S, Sum, collect
from sympy import expand, factor, preorder_traversal, sympify
from sympy.polys.domains import QQ
from sympy.polys.rings import ring

from verify.errors import ClaimError
from verify.symbolic.vocabulary import Cov, Dot, E, Family, Given, Index, Law, Laws, Quantile, Var
from verify.symbolic.vocabulary import free_indices, unnamed

Entry = tuple[Family, tuple[Any, ...]]
"""A component: its family and its places, each an index or a number."""


class NotDerived(ClaimError):  # noqa: N818 - what it says is an outcome
    """No value follows from the moments that are assumed; its text says what is missing."""


class MomentMissing(NotDerived):
    """A moment is not assumed, or does not exist."""


def expected(expression: Any, laws: Laws, *, short: bool = True) -> Expr:
    """Return the value of an expression in means of polynomials of components and scores, for every size.

    What stands outside of means, such as ratios and roots, stays. Different free indices of one range are
    different places. A long value takes a while to be written in its shortest form; it is left where not
    ``short``.

    Raises:
        NotDerived: a mean is of no polynomial, or of a component whose law or moment is not given.
    """
    given = tuple(sorted(laws.items(), key=lambda item: str(item[0])))
    opened = unnamed(expression)
    for base in {part.base for part in opened.atoms(Indexed)} - set(laws):
        if not isinstance(base, Family):
            raise NotDerived(f"{base} is no family; declare it with Family({str(base)!r}, …)")
    value = _value(_apart(opened, []), given)
    return _shortest(value) if short else value


def _shortest(value: Expr) -> Expr:
    """Return a value multiplied out or in factors, whichever is shorter."""
    sizes = [1 / symbol for symbol in value.free_symbols if symbol.is_integer]
    forms = (factor(value), expand(value), collect(expand(value), sizes))
    return min(forms, key=lambda form: (form.count_ops(), len(str(form))))


def _apart(expression: Any, used: list[Index]) -> Any:
    """Return an expression whose sums have indices of their own, named in the order in which they stand."""
    if isinstance(expression, Sum):
        renamed = {}
        for index, _, _ in expression.limits:
            used.append(Index(f"{index.name}~{len(used)}"))
            renamed[index] = used[-1]
        summand = _apart(expression.function.xreplace(renamed), used)
        return Sum(summand, *((renamed[index], low, high) for index, low, high in expression.limits))
    if not expression.has(Sum):
        return expression
    return expression.func(*(_apart(part, used) for part in expression.args))


def _value(x: Any, laws: tuple[tuple[Family, Law], ...]) -> Any:
    if isinstance(x, Var | Cov):
        return expand(_value(x.definition, laws))
    if isinstance(x, Quantile):
        raise NotDerived(f"{x} does not follow from moments")
    if isinstance(x, E):
        return _mean(_value(x.args[0], laws), laws)
    if not x.has(E, Var, Cov, Quantile):
        return x
    if isinstance(x, Sum):
        return _sum_of_means(x, laws)
    return x.func(*(_value(part, laws) for part in x.args))


def _sum_of_means(x: Sum, laws: tuple[tuple[Family, Law], ...]) -> Expr:
    """Σ over i of means with i in them: it coincides with another place of its range, or with none."""
    summand, index, low, high = _outermost(x)
    if _is_short(low, high):
        written = (summand.xreplace({index: Integer(at)}) for at in range(int(low), int(high) + 1))
        return sum((_value(_apart(part, []), laws) for part in written), S.Zero)
    places = _places(summand)
    others = [place for place, size in places if size == high and place != index]
    elsewhere = _value(summand, laws)
    whole_range = low == 1 and all(size == high for place, size in places if place == index)
    if whole_range and not elsewhere.has(index):
        equal = [_value(_apart(summand.xreplace({index: place}), []), laws) for place in others]
        return (high - len(others)) * elsewhere + sum(equal, S.Zero)
    if others:
        raise NotDerived(f"the sum over {index} from {low} to {high} has means of several places")
    return Sum(elsewhere, (index, low, high))


def _outermost(x: Sum) -> tuple[Any, Any, Any, Any]:
    """What a sum sums, by its outermost index, and both ends."""
    (*before, (index, low, high)) = x.limits
    return (Sum(x.function, *before) if before else x.function), index, low, high


SHORT = 16
"""A sum between numbers of so few terms is written out."""


def _is_short(low: Any, high: Any) -> bool:
    return bool(low.is_Integer and high.is_Integer and high - low < SHORT)


def _places(x: Any) -> set[tuple[Any, Any]]:
    """The free indices and numbers that stand for places, each with the size of its range."""
    places = set()
    for part in x.atoms(Indexed):
        places |= set(zip(part.indices, part.base.ranges, strict=True))
    for part in x.atoms(Dot):
        left, first, right, second = part.args
        places |= {(first, left.ranges[0]), (second, right.ranges[0])}
    free = free_indices(x)
    return {(place, size) for place, size in places if place in free or place.is_Integer}


@lru_cache(maxsize=4096)
def _mean(x: Expr, laws: tuple[tuple[Family, Law], ...]) -> Expr:
    """E x, term by term; moments that are not given may cancel, as in all pairs less the equal ones."""
    moments = _Moments(dict(laws))
    try:
        result = expand(sum((_total(term, moments) for term in _terms(x)), S.Zero))
    except PolynomialError:
        written = re.sub(r"~\d+", "", str(E(x)))
        raise NotDerived(f"{written} is no mean of a polynomial of components and scores") from None
    if result.has(*moments.missing.values()):
        result = factor(result)
    missing = [entry for entry, symbol in moments.missing.items() if result.has(symbol)]
    if missing:
        base, order = max(missing, key=lambda entry: entry[1])
        law = moments.laws[base]
        if order < len(law.raw):
            raise MomentMissing(f"{law.words}: there is no moment of order {order}")
        raise MomentMissing(f"moment {order} of components with {law.words} is not given; assume it")
    return result


@dataclass(frozen=True)
class _Term:
    """factor · Σ over the indices in ``bound``, each with its size, of a product of entries."""

    factor: Expr = S.One
    bound: tuple[tuple[Any, Any], ...] = ()
    entries: tuple[Entry, ...] = ()
    equal: tuple[tuple[Any, Any], ...] = ()

    def __mul__(self, other: _Term) -> _Term:
        bound, entries = self.bound + other.bound, self.entries + other.entries
        return _Term(self.factor * other.factor, bound, entries, self.equal + other.equal)


_PARTS = (Dot, Sum, Indexed, KroneckerDelta)


def _is_part(x: Any) -> bool:
    """Return whether something is a factor by itself; given numbers and their sums are coefficients."""
    if isinstance(x, Sum):
        return any(map(_is_part, preorder_traversal(x.function)))
    return isinstance(x, _PARTS) and not (isinstance(x, Indexed) and isinstance(x.base, Given))


def _terms(x: Expr) -> Iterator[_Term]:
    """Multiply out: sums become sums of one product each, with an index of their own for each factor."""
    names: dict[Any, Dummy] = {}

    def opened(part: Any) -> Any:
        if _is_part(part):
            return names.setdefault(part, Dummy())
        return part.func(*map(opened, part.args)) if part.has(*_PARTS) else part

    if not any(map(_is_part, preorder_traversal(x))):
        yield _Term(x)
        return
    for powers, coefficient in Poly(opened(x), *names.values()).terms():
        factors = [list(_part(part)) for part, power in zip(names, powers, strict=True) for _ in range(power)]
        for chosen in product(*factors):
            yield math.prod(chosen, start=_Term(coefficient))


def _part(part: Any) -> Iterator[_Term]:
    if isinstance(part, Indexed):
        yield _Term(entries=((part.base, part.indices),))
    elif isinstance(part, KroneckerDelta):
        yield _Term(equal=(part.args,))
    elif isinstance(part, Dot):
        left, first, right, second = part.args
        index = Dummy("i")
        yield _Term(bound=((index, part.size),), entries=((left, (first, index)), (right, (second, index))))
    else:
        inner, index, low, high = _outermost(part)
        if _is_short(low, high):
            for number in range(int(low), int(high) + 1):
                yield from _terms(inner.xreplace({index: Integer(number)}))
            return
        own = Dummy(index.name, positive=True, integer=True)
        for term in _terms(inner.xreplace({index: own})):
            if low != 1:
                raise NotDerived(f"{part}: only sums from 1 of components and scores have a value")
            yield _Term(bound=((own, high),)) * term


def _total(term: _Term, moments: _Moments) -> Any:
    """Return factor · Σ Π entries; of a factor that depends on a place, a sum over the place is left."""
    index, size = next((pair for pair in term.bound if term.factor.has(pair[0])), (None, None))
    if index is None:
        return term.factor * moments.total(term)
    standing = {
        (place, its) for base, where in term.entries for place, its in zip(where, base.ranges, strict=True)
    }
    if term.equal:
        raise NotDerived(f"a factor depends on {index}, beside a Kronecker delta")
    if wrong := next((its for place, its in standing if place == index and its != size), None):
        raise NotDerived(f"a sum ends at {size}, and the range of its index at {wrong}")
    bound_ones = {place for place, _ in term.bound}
    others = {place for place, its in standing if its == size and (index, size) in standing} - bound_ones
    bound = tuple(pair for pair in term.bound if pair[0] != index)

    def at(place: Any) -> Any:
        """Return the mean with a place put in, which is none of the others or equal to one of them."""
        entries = _moved(term.entries, index, place)
        return _total(_Term(term.factor.xreplace({index: place}), bound, entries), moments)

    own = Index(f"{index.name}'{len(bound)}")
    apart = at(own)
    equal = (at(place) - apart.xreplace({own: place}) for place in others)
    whole = Sum(apart, (own, 1, size))
    return (whole.doit() if apart.is_polynomial(own) else whole) + sum(equal, S.Zero)


@dataclass
class _Moments:
    """Sums of products of moments, as polynomials in sizes and moments; ``names`` are their symbols there."""

    laws: Laws
    names: dict[Any, Any] = field(default_factory=dict)
    missing: dict[tuple[Family, int], Dummy] = field(default_factory=dict)
    zero: Dummy = field(default_factory=Dummy)
    """What stands for a moment that is 0 beside one that is missing: their product need not exist."""

    def total(self, term: _Term) -> Expr:
        """Return the mean of Σ Π entries."""
        bound, entries = dict(term.bound), term.entries
        # Σ over i of δ_ij f(i) is f(j); two different places are not equal.
        equal = list(term.equal)
        while equal:
            first, second = equal.pop()
            first, second = (first, second) if first in bound else (second, first)
            if first == second:
                continue
            if first not in bound:
                return S.Zero
            del bound[first]
            put = {first: second}
            equal = [(put.get(x, x), put.get(y, y)) for x, y in equal]
            entries = tuple((base, tuple(put.get(x, x) for x in places)) for base, places in entries)
        for base, places in entries:
            self._admit(base, places, bound)
        moments = [sympify(raw) for base, _ in entries for raw in self.laws[base].raw]
        values = {value for value in (*moments, *bound.values()) if not value.is_Rational} | {self.zero}
        for base, count in Counter(base for base, _ in entries).items():
            for order in range(count + 1):
                if self._raw(base, order) is None:
                    values.add(self.missing.setdefault((base, order), Dummy()))
        polynomials, *generators = ring([Dummy() for _ in values], QQ)
        self.names, self._one = dict(zip(values, generators, strict=True)), polynomials.one
        back = {generator.as_expr(): value for value, generator in self.names.items()}
        return self._sum(entries, bound).as_expr().xreplace(back)

    def _raw(self, base: Any, order: int) -> Any:
        """A moment, or None where it is not given or does not exist."""
        raw = self.laws[base].raw
        given = sympify(raw[order]) if order < len(raw) else S.NaN
        return None if given.is_finite is False or given is S.NaN else given

    def _admit(self, base: Any, places: tuple[Any, ...], bound: dict[Any, Any]) -> None:
        if base not in self.laws:
            raise NotDerived(f"no law of {base} is assumed")
        for place, size in zip(places, base.ranges, strict=True):
            if bound.get(place, size) != size:
                raise NotDerived(f"a sum ends at {bound[place]}, and the range of {base} at {size}")
            if not (place in bound or isinstance(place, Index) or place.is_Integer):
                raise NotDerived(f"{base}{list(places)}: {place} is no place")

    def in_ring(self, value: Any) -> Any:
        """Return a moment or a size as a polynomial."""
        return self.names[value] if value in self.names else self._one * QQ(value.p, value.q)

    def moments_of(self, counts: Mapping[Entry, int]) -> Any:
        """Π E x^power over different components."""
        raw = {entry: self._raw(entry[0], power) for entry, power in counts.items()}
        all_given = None not in raw.values()
        result = self._one
        for (base, places), value in raw.items():
            if value is None:
                result *= self.names[self.missing[base, counts[base, places]]]
            elif all_given or value != 0:
                result *= self.in_ring(value)
            else:
                result *= self.names[self.zero]
        return result

    def _sum(self, entries: tuple[Entry, ...], bound: dict[Any, Any]) -> Any:
        """Sum over all indices but those of the range that has most of them one by one, those at once."""
        if not bound:
            return self.moments_of(Counter(entries))
        sizes = Counter(bound.values())
        widest = max(sizes, key=lambda size: sizes[size])
        once = all(base.ranges.count(widest) <= 1 for base, _ in entries)
        rest = [index for index, size in bound.items() if size != widest or not once]
        if not rest:
            return self._at_once(entries, bound, widest)
        index, size = rest[0], bound[rest[0]]
        left = {other: its for other, its in bound.items() if other != index}
        places = {
            place
            for base, where in entries
            for place, its in zip(where, base.ranges, strict=True)
            if its == size and place not in bound
        }
        total = (self.in_ring(size) - len(places)) * self._sum(_moved(entries, index, Dummy()), left)
        for place in places:
            total += self._sum(_moved(entries, index, place), left)
        return total

    def _at_once(self, entries: tuple[Entry, ...], bound: dict[Any, Any], size: Any) -> Any:
        """Sum over all indices of one range: those that stand with the same entries are counted together."""
        standing: dict[Any, Counter[Entry]] = {index: Counter() for index in bound}
        for base, places in entries:
            at = base.ranges.index(size) if size in base.ranges else None
            where = None if at is None else places[at]
            rest = places if at is None else (*places[:at], None, *places[at + 1 :])
            standing.setdefault(where, Counter())[base, rest] += 1
        apart = self.moments_of(standing.pop(None, Counter()))
        if not apart:
            return apart
        fixed = [its for index, its in standing.items() if index not in bound]
        kinds = Counter(frozenset(standing[index].items()) for index in bound)
        free = self.in_ring(size) - len(fixed)
        return apart * _OneRange(self, tuple(dict(kind) for kind in kinds), free).total(
            fixed, tuple(kinds.values())
        )


@dataclass
class _OneRange:
    """How indices of one range coincide: ``kinds`` are what they stand with, ``free`` counts its places."""

    moments: _Moments
    kinds: tuple[dict[Entry, int], ...]
    free: Any
    known: dict[tuple[int, ...], list[Any]] = field(default_factory=dict)

    def at_one_place(self, block: tuple[int, ...], beside: Mapping[Entry, int]) -> Any:
        """The mean of what stands at one place where so many indices of each kind coincide there."""
        counts = Counter(beside)
        for kind, times in zip(self.kinds, block, strict=True):
            counts.update({entry: times * power for entry, power in kind.items() if times})
        return self.moments.moments_of(counts)

    def total(self, fixed: list[Counter[Entry]], counts: tuple[int, ...]) -> Any:
        """Some indices coincide with the first fixed place, the others do not."""
        zero, one = self.free * 0, self.free**0
        result = zero
        if not fixed:
            falling = one
            for number, value in enumerate(self.partitions(counts)):
                result += falling * value
                falling *= self.free - number
            return result
        for block in product(*(range(count + 1) for count in counts)):
            here = self.at_one_place(block, fixed[0])
            if here:
                ways = math.prod(map(math.comb, counts, block))
                result += ways * here * self.total(fixed[1:], _less(counts, block))
        return result

    def partitions(self, counts: tuple[int, ...]) -> list[Any]:
        """Sums over all ways to let these indices coincide, by the number of places."""
        if not any(counts):
            return [self.free**0]
        if counts not in self.known:
            sums = [self.free * 0] * (sum(counts) + 1)
            for block, ways in _with_first(counts):
                here = self.at_one_place(block, {})
                if here:
                    for number, value in enumerate(self.partitions(_less(counts, block)), 1):
                        sums[number] += ways * here * value
            self.known[counts] = sums
        return self.known[counts]


def _less(counts: tuple[int, ...], block: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(count - part for count, part in zip(counts, block, strict=True))


@lru_cache(maxsize=4096)
def _with_first(counts: tuple[int, ...]) -> tuple[tuple[tuple[int, ...], int], ...]:
    """The blocks that hold a certain index of the first kind, and in how many ways each."""
    first = next(kind for kind, count in enumerate(counts) if count)
    fewer = tuple(count - (kind == first) for kind, count in enumerate(counts))
    chosen = product(*(range(count + 1) for count in fewer))
    return tuple(
        (tuple(b + (kind == first) for kind, b in enumerate(block)), math.prod(map(math.comb, fewer, block)))
        for block in chosen
    )


def _moved(entries: tuple[Entry, ...], index: Any, to: Any) -> tuple[Entry, ...]:
    return tuple(
        (base, tuple(to if place == index else place for place in places)) for base, places in entries
    )
