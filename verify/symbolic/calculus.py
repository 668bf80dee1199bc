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
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count, product
from typing import Any, NamedTuple

from sympy import Add, Dummy, Expr, Function, Indexed, KroneckerDelta, Max, Min, Poly, PolynomialError, Pow
from sympy import S, Sum, expand, symbols, sympify
from sympy.polys.domains import ZZ
from sympy.polys.rings import ring

from verify.errors import ClaimError
from verify.symbolic.vocabulary import BINDERS, Cov, Dot, E, Family, Given, Index, Law, Laws, Made, Named
from verify.symbolic.vocabulary import Quantile, Var, families_of, free_indices, range_of, unnamed

Families = frozenset[Family]
Entry = tuple[Family, tuple[Any, ...]]
"""A component: its family and its places, each an index or a number."""


class NotDerived(ClaimError):  # noqa: N818 - what it says is an outcome
    """No value follows from the moments that are assumed; its text names the missing moment or form."""


class MomentMissing(NotDerived):
    """A moment is not assumed, or does not exist."""


def expected(expression: Any, laws: Laws, *, partly: bool = False) -> Expr:
    """Return the value of an expression in means of polynomials of components and scores, for every size.

    Operations outside of means, such as ratios and roots, stay. Different free indices of a range are
    different places.

    Args:
        expression: What has the value.
        laws: The laws of the families, which are independent of each other.
        partly: Whether families that stand in functions, such as softmax, are given, as the entries of a
            matrix are: the mean over the others is put in, and that over the given ones left, as in
            E(Σpv)² = E Σp².

    Raises:
        NotDerived: a mean is of no polynomial, or of a component whose law or moment is not given.
    """
    opened = unnamed(expression)
    for base in {part.base for part in opened.atoms(Indexed)} - set(laws):
        if not isinstance(base, Family):
            raise NotDerived(f"{base} is no family; declare it with Family({str(base)!r}, …)")
    by_name, numbers = tuple(sorted(laws.items(), key=lambda item: str(item[0]))), count()

    # Each sum gets indices of its own, the innermost first, so that places can be put in for them.
    def with_own_indices(part: Any) -> Any:
        return part.xreplace({x: Index(f"{x.name}~{next(numbers)}") for x, _, _ in part.limits})

    return _value(opened.replace(lambda part: isinstance(part, Sum), with_own_indices), by_name, partly)


def _value(x: Any, laws: tuple[tuple[Family, Law], ...], partly: bool) -> Any:
    if isinstance(x, Var | Cov):
        return _value(x.definition, laws, partly)
    if isinstance(x, Quantile):
        raise NotDerived(f"{x} does not follow from moments")
    if isinstance(x, E):
        inside, given = _value(x.args[0], laws, partly), Families()
        if partly:
            inside, given = _given(inside, dict(laws))
        mean = _mean(inside, laws, given)
        # Families are independent: the mean over the given ones is taken last.
        return E(mean) if given else mean
    if not x.has(E, Var, Cov, Quantile):
        return x
    if not isinstance(x, Sum):
        return x.func(*(_value(part, laws, partly) for part in x.args))
    # A sum of means, such as Σ E q_j² or Σ (E q_j)².
    summand, index, low, high = _outermost(x)
    free = free_indices(summand)
    entries = ((part.base, part.indices) for part in _opened(summand).atoms(Indexed))
    places = {(place, size) for place, size in _places(entries) if place in free or place.is_Integer}
    if low != 1 or not all(size == high for place, size in places if place == index):
        raise NotDerived(f"the sum over {index} from {low} to {high} has means of several places")
    return _summed(lambda place: _value(summand.xreplace({index: place}), laws, partly), index, high, places)


def _summed(value: Callable[[Any], Any], index: Index, size: Any, places: set[tuple[Any, Any]]) -> Any:
    """Return the sum of a mean over an index, of which the other ``places`` in its range are counted apart.

    Means of equal places are other numbers, as E q⁴ is not (E q²)².
    """
    elsewhere, others = value(index), {place for place, its in places if its == size} - {index}
    equal = (value(place) - elsewhere.xreplace({index: place}) for place in others)
    whole = Sum(elsewhere, (index, 1, size)) if elsewhere.has(index) else size * elsewhere
    return (whole.doit() if elsewhere.is_polynomial(index) else whole) + Add(*equal)


def _opened(x: Any) -> Any:
    """Return an expression with scores written as sums over components."""
    return x.replace(lambda part: isinstance(part, Dot), lambda part: part.definition)


def _outermost(x: Sum) -> tuple[Any, Any, Any, Any]:
    """The terms of a sum by its outermost index, and both ends."""
    (*before, (index, low, high)) = x.limits
    return (Sum(x.function, *before) if before else x.function), index, low, high


def _places(entries: Any) -> set[tuple[Any, Any]]:
    """Return the places of entries, each with the size of its range."""
    return {pair for base, places in entries for pair in zip(places, base.ranges, strict=True)}


@lru_cache(maxsize=4096)
def _mean(x: Expr, laws: tuple[tuple[Family, Law], ...], given: Families) -> Expr:
    """E x over all families but the given ones, term by term."""
    if x.has(KroneckerDelta):
        raise NotDerived("a Kronecker delta in a mean; write all pairs less the equal ones")
    try:
        return expand(Add(*(_total(term, dict(laws)) for term in _terms(_opened(x), given))))
    except PolynomialError:
        raise NotDerived(no_polynomial(E(x))) from None


def no_polynomial(mean: Any) -> str:
    """Return that a mean has no value, its sums with indices as an author has them."""
    written = re.sub(r"~\d+('\d+)?", "", str(mean))
    return f"{written} is no mean of a polynomial of components and scores"


class _Term(NamedTuple):
    """factor · Σ over the indices in ``bound``, each with its size, of a product of entries."""

    factor: Expr = S.One
    bound: tuple[tuple[Any, Any], ...] = ()
    entries: tuple[Entry, ...] = ()


def _terms(x: Expr, given: Families) -> Iterator[_Term]:
    """Multiply out: sums become sums of single products, in which each factor has an index of its own."""
    names: dict[Any, Dummy] = {}

    def opened(part: Any) -> Any:
        # Given numbers and their functions are coefficients, as a mean is.
        drawn = (family for family in families_of(part) - given if not isinstance(family, Given))
        if isinstance(part, E) or not any(drawn):
            return part
        if isinstance(part, Indexed | Sum):
            return names.setdefault(part, Dummy())
        # Of a name without the key, the largest would be the name itself.
        if isinstance(part, BINDERS):
            raise PolynomialError(f"{part} is of all keys at once")
        return part.func(*map(opened, part.args))

    polynomial = opened(x)
    products = Poly(polynomial, *names.values()).terms() if names else [((), polynomial)]
    for powers, coefficient in products:
        factors = []
        for part, power in zip(names, powers, strict=True):
            factors += [list(_part(part, given)) for _ in range(power)]
        for chosen in product(*factors):
            each, bounds, entries = zip(_Term(coefficient), *chosen, strict=True)
            yield _Term(math.prod(each, start=S.One), sum(bounds, ()), sum(entries, ()))


def _part(part: Any, given: Families) -> Iterator[_Term]:
    if isinstance(part, Indexed):
        yield _Term(entries=((part.base, part.indices),))
        return
    inner, index, low, high = _outermost(part)
    own = Dummy(index.name, positive=True, integer=True)
    if low != 1:
        raise NotDerived(f"{part}: only sums from 1 of components and scores have a value")
    for term in _terms(inner.xreplace({index: own}), given):
        yield term._replace(bound=((own, high), *term.bound))


def _total(term: _Term, laws: Laws) -> Any:
    """Return factor · Σ Π entries; of a factor that depends on a place, a sum over the place is left."""
    bound, entries = dict(term.bound), term.entries
    for base, places in entries:
        if base not in laws:
            raise NotDerived(f"no law of {base} is assumed")
        for place, size in zip(places, base.ranges, strict=True):
            if bound.get(place, size) != size:
                raise NotDerived(f"a sum ends at {bound[place]}, and the range of {base} at {size}")
            if not (place in bound or isinstance(place, Index) or place.is_Integer):
                raise NotDerived(f"{base}{list(places)}: {place} is no place")
    index = next((place for place in bound if term.factor.has(place)), None)
    if index is None:
        return term.factor * _coinciding(entries, bound, laws)

    def value(to: Any) -> Any:
        rest = tuple(pair for pair in term.bound if pair[0] != index)
        moved = ((base, tuple(to if x == index else x for x in places)) for base, places in entries)
        return _total(_Term(term.factor.xreplace({index: to}), rest, tuple(moved)), laws)

    free = {(place, size) for place, size in _places(entries) if place not in bound}
    return _summed(value, Index(f"{index.name}'{len(bound) - 1}"), bound[index], free)


def _coinciding(entries: tuple[Entry, ...], bound: dict[Any, Any], laws: Laws) -> Expr:
    """Return the sum over bound indices of the mean of a product of entries.

    One index after the other stands at a place of its own, or where others of its range stand: the same
    entries come together in so many ways.

    Raises:
        MomentMissing: a moment is not given, or does not exist.
    """
    bases = list(dict.fromkeys(base for base, _ in entries))
    raw = [sympify(moment) for base in bases for moment in laws[base].raw]
    # In a ring of polynomials sums cost a fraction of SymPy's; generators stand for all but whole numbers.
    values = list(dict.fromkeys(x for x in (*raw, *bound.values()) if not x.is_Integer))
    polynomials, *generators = ring(symbols(f"x:{len(values)}"), ZZ)
    inside = dict(zip(values, generators, strict=True))
    # Numbers stand for places, and from -2 down for indices that have no place yet.
    places = [place for place, _ in _places(entries) if place not in bound]
    code = {x: number for number, x in enumerate(dict.fromkeys(places))}
    code |= {index: -number for number, index in enumerate(bound, 2)}
    states = {tuple((bases.index(base), tuple(code[x] for x in at)) for base, at in entries): polynomials.one}
    for index, size in bound.items():
        further: dict[Any, Any] = {}
        for state, ways in states.items():
            pairs = {pair for base, at in state for pair in zip(at, bases[base].ranges, strict=True)}
            taken = {place for place, its in pairs if its == size and place >= 0}
            apart = (inside.get(size, size) - len(taken)) * ways
            for place, number in (*((place, ways) for place in taken), (len(code), apart)):
                moved = ((base, tuple(place if x == code[index] else x for x in at)) for base, at in state)
                same = _numbered(tuple(moved))
                further[same] = further.get(same, 0) + number
        states = further
    # Many states have the same moments.
    products: dict[Any, Any] = {}
    for state, ways in states.items():
        powers = tuple(sorted((base, power) for (base, _), power in Counter(state).items()))
        products[powers] = products.get(powers, 0) + ways
    total = polynomials.zero
    for powers, ways in products.items():
        moments = [_moment(laws[bases[base]], power) for base, power in powers]
        factors = [ways, *(inside.get(moment, moment) for moment in moments)]
        total += math.prod(map(polynomials, factors)) if all(factors) else 0
    return total.as_expr(*values)


def _moment(law: Law, order: int) -> Any:
    if order >= len(law.raw):
        raise MomentMissing(f"moment {order} of components with {law.words} is not given; assume it")
    value = sympify(law.raw[order])
    if value.is_finite is False or value is S.NaN:
        raise MomentMissing(f"{law.words}: there is no moment of order {order}")
    return value


def _numbered(entries: Any) -> Any:
    """Return entries with places numbered by what stands there, whatever came first."""
    stands: dict[int, list[Any]] = {}
    for base, at in entries:
        for place in at:
            if place >= 0:
                stands.setdefault(place, []).append((base, tuple(-1 if x == place else x for x in at)))
    order = sorted(stands, key=lambda place: sorted(stands[place]))
    number = {place: rank for rank, place in enumerate(order)}
    return tuple(sorted((base, tuple(number.get(x, x) for x in at)) for base, at in entries))


def _given(x: Any, laws: Laws) -> tuple[Any, Families]:
    """Return an expression, and the families of it that are given in a mean of it.

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
    given = Families().union(*map(families_of, functions)) | (everything - set(laws))
    given = Families(family for family in given if not isinstance(family, Given))
    if any(isinstance(family, Made) for family in everything):
        given = everything

    def row(score: Any) -> Any:
        """Given on both sides it is the entry of a row: what holds of any rows holds of those of vectors."""
        left, first, right, second = score.args
        return Family(f"{left}{right}", left.ranges[0], right.ranges[0])[first, second]

    x = x.replace(lambda x: isinstance(x, Dot) and x.args[0] != x.args[2] and given >= {*x.args[::2]}, row)
    return x, given | (families_of(x) - everything)
