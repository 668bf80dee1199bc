"""The moment calculus: the value of a mean of products of dot products, for every size.

A product of sums over components is one sum over several indices, and a mean of independent components
depends only on which of these indices coincide. So each way to let them coincide is counted, with falling
factorials d(d - 1)…, and contributes a product of moments: E(q·k)⁴ is d·E q⁴ E k⁴ + 3d(d - 1)·(E q² E k²)²
where means are 0. Sums over queries and keys are counted alike.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from sympy import Dummy, Expr, Function, Indexed, KroneckerDelta, Max, Min, Poly, PolynomialError, Pow, S
from sympy import Sum, expand, preorder_traversal, sympify
from sympy.polys.domains import QQ
from sympy.polys.rings import ring

from verify.errors import ClaimError
from verify.symbolic.vocabulary import BINDERS, Cov, Dot, E, Family, Given, Index, Law, Laws, Made, Named
from verify.symbolic.vocabulary import Quantile, Var, families_of, free_indices, range_of, unnamed

Entry = tuple[Family, tuple[Any, ...]]
"""A component: its family and its places, each an index or a number."""


class NotDerived(ClaimError):  # noqa: N818 - what it says is an outcome
    """No value follows from the moments that are assumed; its text names the missing moment or form."""


class MomentMissing(NotDerived):
    """A moment is not assumed, or does not exist."""


def expected(expression: Any, laws: Laws) -> Expr:
    """Return the value of an expression in means of polynomials of components and scores, for every size.

    Operations outside of means, such as ratios and roots, stay. Different free indices of a range are
    different places.

    Raises:
        NotDerived: a mean is of no polynomial, or of a component whose law or moment is not given.
    """
    opened = unnamed(expression)
    for base in {part.base for part in opened.atoms(Indexed)} - set(laws):
        if not isinstance(base, Family):
            raise NotDerived(f"{base} is no family; declare it with Family({str(base)!r}, …)")
    return _value(_apart(opened, []), tuple(sorted(laws.items(), key=lambda item: str(item[0]))))


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
    if not isinstance(x, Sum):
        return x.func(*(_value(part, laws) for part in x.args))
    # In a sum of means the index coincides with another place of its range, or with none.
    summand, index, low, high = _outermost(x)
    free = free_indices(summand)
    places = set()
    for part in _opened(summand).atoms(Indexed):
        at = zip(part.indices, part.base.ranges, strict=True)
        places |= {(place, size) for place, size in at if place in free or place.is_Integer}
    others = [place for place, size in places if size == high and place != index]
    elsewhere = _value(summand, laws)
    whole_range = low == 1 and all(size == high for place, size in places if place == index)
    if not whole_range or elsewhere.has(index):
        raise NotDerived(f"the sum over {index} from {low} to {high} has means of several places")
    # Means of equal indices are other numbers, as E q⁴ is not (E q²)²; these places are counted apart.
    equal = [_value(_apart(summand.xreplace({index: place}), []), laws) for place in others]
    return (high - len(others)) * elsewhere + sum(equal, S.Zero)


def _opened(x: Any) -> Any:
    """Return an expression with scores written as sums over components."""
    return x.replace(lambda part: isinstance(part, Dot), lambda part: part.definition)


def _outermost(x: Sum) -> tuple[Any, Any, Any, Any]:
    """The terms of a sum by its outermost index, and both ends."""
    (*before, (index, low, high)) = x.limits
    return (Sum(x.function, *before) if before else x.function), index, low, high


@lru_cache(maxsize=4096)
def _mean(x: Expr, laws: tuple[tuple[Family, Law], ...]) -> Expr:
    """E x, term by term."""
    if x.has(KroneckerDelta):
        raise NotDerived("a Kronecker delta in a mean; write all pairs less the equal ones")
    moments = _Moments(dict(laws))
    try:
        result = expand(sum(map(moments.total, _terms(x)), S.Zero))
    except PolynomialError:
        written = re.sub(r"~\d+", "", str(E(x)))
        raise NotDerived(f"{written} is no mean of a polynomial of components and scores") from None
    return result


class _Term(NamedTuple):
    """factor · Σ over the indices in ``bound``, each with its size, of a product of entries."""

    factor: Expr = S.One
    bound: tuple[tuple[Any, Any], ...] = ()
    entries: tuple[Entry, ...] = ()


def _is_part(x: Any) -> bool:
    """Return whether something is a factor by itself; given numbers and their sums are coefficients."""
    if isinstance(x, Sum):
        return any(map(_is_part, preorder_traversal(x.function)))
    return isinstance(x, Indexed) and not isinstance(x.base, Given)


def _terms(x: Expr) -> Iterator[_Term]:
    """Multiply out: sums become sums of single products, in which each factor has an index of its own."""
    names: dict[Any, Dummy] = {}

    def opened(part: Any) -> Any:
        if _is_part(part):
            return names.setdefault(part, Dummy())
        # Of a name without the key, the largest would be the name itself.
        if isinstance(part, BINDERS) and any(map(_is_part, preorder_traversal(part))):
            raise PolynomialError(f"{part} is of all keys at once")
        return part.func(*map(opened, part.args)) if part.has(Sum, Indexed) else part

    x = _opened(x)
    if not any(map(_is_part, preorder_traversal(x))):
        yield _Term(x)
        return
    for powers, coefficient in Poly(opened(x), *names.values()).terms():
        factors = [list(_part(part)) for part, power in zip(names, powers, strict=True) for _ in range(power)]
        for chosen in product(*factors):
            # No two of them share an index.
            each, bounds, entries = zip(_Term(coefficient), *chosen, strict=True)
            yield _Term(math.prod(each, start=S.One), sum(bounds, ()), sum(entries, ()))


def _part(part: Any) -> Iterator[_Term]:
    if isinstance(part, Indexed):
        yield _Term(entries=((part.base, part.indices),))
        return
    inner, index, low, high = _outermost(part)
    own = Dummy(index.name, positive=True, integer=True)
    if low != 1:
        raise NotDerived(f"{part}: only sums from 1 of components and scores have a value")
    for term in _terms(inner.xreplace({index: own})):
        yield term._replace(bound=((own, high), *term.bound))


def _moved(entries: tuple[Entry, ...], index: Any, to: Any) -> tuple[Entry, ...]:
    return tuple((base, tuple(to if x == index else x for x in places)) for base, places in entries)


class _Moments:
    """Sums of products of moments, as polynomials in sizes and moments; ``names`` are their symbols there."""

    def __init__(self, laws: Laws) -> None:
        self.laws = laws
        self.names: dict[Any, Any] = {}

    def total(self, term: _Term) -> Any:
        """Return factor · Σ Π entries; of a factor that depends on a place, a sum over the place is left."""
        bound, entries = dict(term.bound), term.entries
        for base, places in entries:
            if base not in self.laws:
                raise NotDerived(f"no law of {base} is assumed")
            for place, size in zip(places, base.ranges, strict=True):
                if bound.get(place, size) != size:
                    raise NotDerived(f"a sum ends at {bound[place]}, and the range of {base} at {size}")
                if not (place in bound or isinstance(place, Index) or place.is_Integer):
                    raise NotDerived(f"{base}{list(places)}: {place} is no place")
        index = next((place for place in bound if term.factor.has(place)), None)
        if index is None:
            raw = [sympify(moment) for base, _ in entries for moment in self.laws[base].raw]
            # In a ring of polynomials sums cost a fraction of SymPy's; generators stand for other values.
            values = {value for value in (*raw, *bound.values()) if not value.is_Rational}
            polynomials, *generators = ring([Dummy() for _ in values], QQ)
            self.names, self._unit = dict(zip(values, generators, strict=True)), polynomials.one
            back = {generator.as_expr(): value for value, generator in self.names.items()}
            return term.factor * self._sum(entries, bound).as_expr().xreplace(back)

        def value(place: Any) -> Any:
            """Return the mean with a place put in, a new place or a place of another index."""
            rest = tuple(pair for pair in term.bound if pair[0] != index)
            factor = term.factor.xreplace({index: place})
            return self.total(_Term(factor, rest, _moved(entries, index, place)))

        at = {pair for base, places in entries for pair in zip(places, base.ranges, strict=True)}
        size, own = bound[index], Index(f"{index.name}'{len(bound) - 1}")
        others = {place for place, its in at if its == size and (index, size) in at} - set(bound)
        apart = value(own)
        equal = (value(place) - apart.xreplace({own: place}) for place in others)
        whole = Sum(apart, (own, 1, size))
        return (whole.doit() if apart.is_polynomial(own) else whole) + sum(equal, S.Zero)

    def _in_ring(self, value: Any) -> Any:
        return self.names[value] if value in self.names else self._unit * QQ(value.p, value.q)

    def _product(self, counts: Counter[Entry]) -> Any:
        """Return Π E x^power over different components.

        Raises:
            MomentMissing: a moment is not given, or does not exist.
        """
        product = self._unit
        for (base, _), order in counts.items():
            law = self.laws[base]
            if order >= len(law.raw):
                raise MomentMissing(f"moment {order} of components with {law.words} is not given; assume it")
            value = sympify(law.raw[order])
            if value.is_finite is False or value is S.NaN:
                raise MomentMissing(f"{law.words}: there is no moment of order {order}")
            product = product * self._in_ring(value)
        return product

    def _sum(self, entries: tuple[Entry, ...], bound: dict[Any, Any]) -> Any:
        """Sum over the indices of the range that has most of them at once, over all others one by one."""
        if not bound:
            return self._product(Counter(entries))
        sizes = Counter(bound.values())
        widest = max(sizes, key=lambda size: sizes[size])
        at = [pair for base, places in entries for pair in zip(places, base.ranges, strict=True)]
        once = all(base.ranges.count(widest) <= 1 for base, _ in entries)
        once &= all(place in bound for place, its in at if its == widest)
        # Not where a family has two indices in this range, or a place in it is no index of a sum.
        rest = [index for index, size in bound.items() if size != widest or not once]
        if not rest:
            return self._at_once(entries, bound, widest)
        index, size = rest[0], bound[rest[0]]
        left = {other: its for other, its in bound.items() if other != index}
        places = {place for place, its in at if its == size and place not in bound}
        total = (self._in_ring(size) - len(places)) * self._sum(_moved(entries, index, Dummy()), left)
        for place in places:
            total += self._sum(_moved(entries, index, place), left)
        return total

    def _at_once(self, entries: tuple[Entry, ...], bound: dict[Any, Any], size: Any) -> Any:
        """Sum over all indices of a range: those that stand with the same entries are counted together."""
        standing: dict[Any, Counter[Entry]] = {index: Counter() for index in bound}
        alone: Counter[Entry] = Counter()
        for base, places in entries:
            if size in base.ranges:
                at = base.ranges.index(size)
                standing[places[at]][base, (*places[:at], None, *places[at + 1 :])] += 1
            else:
                alone[base, places] += 1
        apart = self._product(alone)
        if not apart:
            return apart
        # Indices of a kind are exchangeable: only how many of each kind coincide makes a difference.
        kinds = Counter(frozenset(standing[index].items()) for index in bound)
        total, falling = self._unit * 0, self._unit
        # So many different places can be chosen in size·(size - 1)·… ways.
        for number, value in enumerate(self._partitions(tuple(kinds), tuple(kinds.values()), {})):
            total += falling * value
            falling *= self._in_ring(size) - number
        return apart * total

    def _partitions(self, kinds: Any, counts: tuple[int, ...], known: dict[Any, list[Any]]) -> list[Any]:
        """Sums over all ways to let so many indices of each kind coincide, by the number of places."""
        if not any(counts):
            return [self._unit]
        if counts not in known:
            sums = [self._unit * 0] * (sum(counts) + 1)
            # Choose the indices that coincide with an index of the first kind that is left: as in counting
            # partitions of a set, the block of one element is chosen, and the rest is partitioned again.
            first = next(kind for kind, count in enumerate(counts) if count)
            fewer = tuple(count - (kind == first) for kind, count in enumerate(counts))
            for others in product(*(range(count, -1, -1) for count in fewer)):
                here: Counter[Entry] = Counter()
                for place, (kind, more) in enumerate(zip(kinds, others, strict=True)):
                    times = more + (place == first)
                    here.update({entry: times * power for entry, power in kind if times})
                moments = math.prod(map(math.comb, fewer, others)) * self._product(here)
                rest = tuple(count - more for count, more in zip(fewer, others, strict=True))
                for number, value in enumerate(self._partitions(kinds, rest, known) if moments else (), 1):
                    sums[number] += moments * value
            known[counts] = sums
        return known[counts]


# ---- families given inside of functions: of weights p and centred values, E(Σpv)² = E Σp² -----------------
# Families are independent. So those in softmax, a maximum or another function inside of a mean are given, as
# the entries of a matrix are; the mean over the others follows from their moments, and the result is averaged
# over the given families.


class _Over(Function):  # type: ignore[misc]  # SymPy has no types
    """A mean over the families that are given, still to be taken."""

    nargs = 1


def conditional(expression: Any, laws: Laws) -> Expr:
    """Return an expression whose means are taken over families that stand in no function, given the others.

    Raises:
        NotDerived: a mean is of no polynomial of the others, or needs a moment of theirs that is not given.
    """

    def averaged(over: Any) -> Any:
        # The families that were given are drawn again.
        bases = {part.base for part in over.args[0].atoms(Indexed) if type(part.base) is Given}
        drawn = {base: Family(base.label, *base.ranges) for base in bases}
        return E(over.args[0].replace(_is_of(bases), lambda part: drawn[part.base][part.indices]))

    written = unnamed(expression).replace(lambda x: isinstance(x, Var | Cov), lambda x: x.definition)
    marked = written.replace(lambda x: isinstance(x, E), lambda x: _given(x.args[0], laws))
    return expected(marked, laws).replace(lambda x: isinstance(x, _Over), averaged)


def _given(x: Any, laws: Laws) -> Expr:
    """Return E x, families that are given as numbers, and the mean over these marked.

    Given are those that stand in functions, those without a law, and where a program's columns are among
    them, which depend on all families, every family.
    """
    functions = {part for part in x.atoms(Function, Max, Min) if not isinstance(part, Dot | E | Named)}
    functions |= {part for part in x.atoms(Pow) if not (part.exp.is_Integer and part.exp.is_positive)}
    for of, key in (part.args for part in functions if isinstance(part, BINDERS)):
        # Put at one place, it would be another function.
        if any(place != key and range_of(of, place) == range_of(of, key) for place in free_indices(of)):
            raise NotDerived(f"{of} depends on {key} and on another place of its range")
    everything = families_of(x)
    families = set[Family]().union(*map(families_of, functions)) | (everything - set(laws))
    if any(isinstance(family, Made) for family in everything):
        families = set(everything)
    if not families:
        return E(x)

    def apart(score: Any) -> Any:
        """Return a score with a given side opened, so that what is averaged of it stands by itself."""
        left, first, right, second = score.args
        if left == right or not families >= {left, right}:
            return score.definition
        # Given on both sides it is the entry of a row: what holds of any rows holds of those of vectors.
        return Family(f"{left}{right}", left.ranges[0], right.ranges[0])[first, second]

    opened = x.replace(lambda part: isinstance(part, Dot) and not families.isdisjoint(part.args), apart)
    families |= families_of(opened) - everything
    given = {family: Given(family.label, *family.ranges) for family in families}
    return _Over(E(opened.replace(_is_of(families), lambda part: given[part.base][part.indices])))


def _is_of(families: Any) -> Any:
    return lambda part: isinstance(part, Indexed) and part.base in families
