"""Sums over symbolically many indices multiplied out into products of entries, whatever their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, permutations, product
from typing import Any

from sympy import (
    Add,
    Derivative,
    Dummy,
    Function,
    Idx,
    Indexed,
    Integer,
    KroneckerDelta,
    Mul,
    Pow,
    S,
    Sum,
    Symbol,
    Tuple,
    exp,
    log,
)

from verify.symbolic.kernel.algebra import replaced
from verify.symbolic.kernel.gate import bound_in
from verify.symbolic.kernel.hypotheses import Hypotheses, Refused, free_symbols, has_any, parts_of
from verify.symbolic.kernel.words import E, largest, n, p, s

_THIS, _OTHER = Symbol("_", integer=True), Symbol("__", integer=True)
"""Stand for one index and for all others, where only what it looks like counts."""


_KEY, _AT = Dummy("k", integer=True), Dummy("i", integer=True)

SOFTMAX = ((_AT,), exp(s[_AT]) / Sum(exp(s[_KEY]), (_KEY, 1, n)))
"""What a probability is, by its index: an exponential over the sum of all, which has an index of its own."""


def softmax(index: Any) -> Any:
    """Return what the probability of that index is."""
    return SOFTMAX[1].xreplace({_AT: index})


def in_scores(expression: Any) -> Any:
    """Return ``expression`` with every probability as the function of the scores that it is."""
    weights = (one for one in expression.atoms(Indexed) if one.base == p)
    return expression.xreplace({one: softmax(*one.indices) for one in weights})


@dataclass(frozen=True)
class Families:
    """The families of entries in an expression: ``sizes`` of their indices, one is n where nothing is said.

    ``indices`` are the sizes of free indices, which no entry may tell. An entry of a family in ``made_of`` is
    the expression given there, in which the indices given stand for its own. Those in ``variances`` are
    averaged over in every E: they are independent, with mean 0.
    """

    sizes: Mapping[Any, tuple[Any, ...]] = field(default_factory=dict)
    indices: Mapping[Any, Any] = field(default_factory=dict)
    made_of: Mapping[Any, tuple[tuple[Any, ...], Any]] = field(default_factory=lambda: {p: SOFTMAX})
    variances: Mapping[Any, Any] = field(default_factory=dict)

    def size(self, entry: Any, place: int) -> Any:
        """Return up to where an index of an entry runs.

        Raises:
            Refused: there is no such entry.
        """
        if entry.indices[place].is_Integer and entry.indices[place] < 1:
            raise Refused(f"{entry}: there is no such entry")
        return self.sizes[entry.base][place] if entry.base in self.sizes else n

    def unfolded(self, entry: Any) -> Any:
        """Return what an entry is made of, itself if of nothing.

        Raises:
            Refused: an index of the entry would be bound there.
        """
        if entry.base not in self.made_of:
            return entry
        indices, meaning = self.made_of[entry.base]
        if len(indices) != len(entry.indices) or bound_in(meaning) & entry.free_symbols:
            raise Refused(f"an index of {entry} is bound in what it stands for")
        return meaning.xreplace(dict(zip(indices, entry.indices, strict=True)))

    def depends(self, base: Any, on: Any) -> bool:
        """Return whether what the entries of a family are made of, and these of, has a symbol or a family."""
        inside, todo = set(), {base}
        while todo:
            one = todo.pop()
            inside.add(one)
            if one in self.made_of:
                meaning = self.made_of[one][1]
                if meaning.has(on):
                    return True
                todo |= {entry.base for entry in meaning.atoms(Indexed)} - inside
        return False

    def hypotheses(self, *expressions: Any) -> Hypotheses:
        """Return what is assumed of the families that occur in expressions, and of their sizes.

        Entries that are named by number must be there.
        """
        entries = {one for side in expressions for one in side.atoms(Indexed)}
        definitions: list[tuple[Any, Any]] = []
        todo = {one.base for one in entries}
        while todo:
            base = todo.pop()
            if base in self.made_of and base not in {name for name, _ in definitions}:
                indices, meaning = self.made_of[base]
                definitions.append((base, Tuple(Tuple(*indices), meaning)))
                todo |= {one.base for one in meaning.atoms(Indexed)}
        found = Hypotheses().defining(*definitions)
        for one in entries:
            for place, index in enumerate(one.indices):
                size = self.size(one, place)
                if index.is_Integer and not getattr(size, "is_Integer", True):
                    found = found.having(size >= index)
        for one in (total for side in expressions for total in side.atoms(Sum)):
            for number, size in _picked(one):
                found = found.having(size >= number)
        return found


def _picked(total: Any) -> Iterator[tuple[Any, Any]]:
    """Yield which terms of a sum Kronecker deltas pick by number, and up to where the sum runs."""
    for index, _, size in total.limits:
        for delta in total.function.atoms(KroneckerDelta):
            if index in delta.args:
                yield from ((one, size) for one in delta.args if one.is_Integer)


ROW = Families()
"""One row: scores, their probabilities, and vectors over the keys."""


@dataclass(frozen=True)
class Term:
    """A product: a coefficient without indices, powers of entries, and the sizes of bound indices."""

    coefficient: Any = S.One
    powers: Mapping[Any, Any] = field(default_factory=dict)
    bound: Mapping[Any, Any] = field(default_factory=dict)

    def times(self, other: Term) -> Term:
        """Return the product with a term whose bound indices have other names."""
        powers = Counter(self.powers)
        powers.update(other.powers)
        return Term(
            self.coefficient * other.coefficient,
            {entry: power for entry, power in powers.items() if power},
            {**self.bound, **other.bound},
        )

    def inverse(self, power: int) -> Term:
        """Return one over a power of the term.

        Raises:
            Refused: it is a sum, and one over that no sum of inverses.
        """
        if self.bound:
            raise Refused("one over a sum that is no total has no normal form")
        return Term(self.coefficient**-power, {entry: -power * at for entry, at in self.powers.items()})

    def put(self, index: Any, other: Any) -> Term:
        """Return the term with another index in the place of one."""
        powers: Counter[Any] = Counter()
        for entry, power in self.powers.items():
            powers[entry.xreplace({index: other})] += power
        return replace(self, powers={entry: power for entry, power in powers.items() if entry != 1})

    def without(self, index: Any, *entries: Any) -> Term:
        """Return the term without a bound index and some of its factors."""
        powers = {entry: power for entry, power in self.powers.items() if entry not in entries}
        return Term(self.coefficient, powers, {one: at for one, at in self.bound.items() if one != index})


Terms = tuple[Term, ...]
"""A sum of them."""


def key(term: Term) -> Any:
    """Return the product of a term with the names of its bound indices in an order that does not vary."""
    parts = [_named(entries, bound) for entries, bound in _connected(term)]
    return tuple(_by_text(parts))


def _by_text(several: list[Any]) -> list[Any]:
    """Return them in the order of their texts, which are long to print where there is nothing to order."""
    return sorted(several, key=str) if len(several) > 1 else several


def _connected(term: Term) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
    """Return the factors of a term that share bound indices, directly or through others, with these."""
    groups: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
    for entry, power in term.powers.items():
        held = {index: size for index, size in term.bound.items() if index in free_symbols(entry)}
        joined: tuple[dict[Any, Any], dict[Any, Any]] = ({entry: power}, held)
        apart = []
        for entries, bound in groups:
            if held.keys() & bound.keys() or not (held or bound):
                joined = ({**entries, **joined[0]}, {**bound, **joined[1]})
            else:
                apart.append((entries, bound))
        groups = [*apart, joined]
    return groups


def _named(entries: Mapping[Any, Any], bound: Mapping[Any, Any]) -> Any:
    """Return factors with numbered bound indices: of all ways to number them, the first by its text."""

    def looks(index: Any) -> str:
        names = dict.fromkeys(bound, _OTHER) | {index: _THIS}
        return str(
            (bound[index], sorted((str(one.xreplace(names)), power) for one, power in entries.items()))
        )

    alike = [tuple(bound)]
    if len(bound) > 1:
        alike = [tuple(group) for _, group in groupby(sorted(bound, key=looks), key=looks)]
    found = []
    for order in product(*map(permutations, alike)):
        indices = tuple(chain.from_iterable(order))
        names = {index: Symbol(f"_{place}", integer=True) for place, index in enumerate(indices)}
        renamed = _by_text([(one.xreplace(names), power) for one, power in entries.items()])
        found.append((tuple(bound[index] for index in indices), tuple(renamed)))
    return found[0] if len(found) == 1 else min(found, key=str)


_INNER = "_in"
"""What names of indices of sums in exponents begin with."""

_ANY = Symbol("_", integer=True)
"""Stands for the index of a sum that is a symbol of its own."""

_NAMES: list[Any] = []
"""Names of bound indices. Every reader takes them from the first on, for SymPy remembers what it made."""

_HELD = (Indexed, Idx, Sum, Derivative, E, KroneckerDelta)
"""What makes an expression more than a coefficient."""

_SECOND = 2
"""The highest order of a moment that a variance gives."""


class _Total(Function):  # type: ignore[misc]  # SymPy has no types
    """The sum of an exponential over all values of ``_ANY``, up to a size."""

    nargs = 2


class Reader:
    """Multiplies an expression out into terms, whose bound indices have names of their own."""

    def __init__(self, families: Families, expression: Any, squares: Mapping[Any, Any] | None = None) -> None:
        self._families = families
        self._squares = squares or {}
        self._sizes = _sizes_of_indices(families, expression)
        self._below: dict[Any, Terms] = {}
        self._taken, self._own = 0, list[Any]()
        self.ranges: dict[Any, Any] = {}
        """Up to where free indices must run, for a sum that runs as far picks the term of one."""

    def _name(self) -> Any:
        """Return a name for a bound index that no other has in this reader."""
        if self._taken == len(_NAMES):
            _NAMES.append(Dummy(f"i{self._taken + 1}", integer=True))
        self._own.append(_NAMES[self._taken])
        self._taken += 1
        return self._own[-1]

    def terms(self, expression: Any) -> Terms:
        """Return the terms of an expression, reduced."""
        return tuple(chain.from_iterable(map(self._reduced, self._read(expression))))

    def _read(self, expression: Any) -> Terms:
        if expression.has(*_HELD) or not self._sizes.keys().isdisjoint(free_symbols(expression)):
            for kind, read in _READERS.items():
                if isinstance(expression, kind):
                    return read(self, expression)
            raise Refused(f"{expression} has no normal form")
        return (Term(expression),)

    def _added(self, expression: Any) -> Terms:
        return tuple(chain.from_iterable(map(self._read, expression.args)))

    def _multiplied(self, expression: Any) -> Terms:
        return self._product(expression.args)

    def _product(self, factors: Iterable[Any]) -> Terms:
        found: Terms = (Term(),)
        for factor in factors:
            found = tuple(one.times(other) for one, other in product(found, self._read(factor)))
        return found

    def _raised(self, expression: Any) -> Terms:
        base, power = expression.args
        if not power.is_Integer:
            raise Refused(f"{expression} has no normal form")
        if power > 0:
            return self._product([base] * int(power))
        if base not in self._below:
            self._below[base] = self.terms(base)
        if len(self._below[base]) != 1:
            raise Refused(f"{expression}: one over several terms has no normal form")
        (below,) = self._below[base]
        if any(isinstance(one, KroneckerDelta) for one in below.powers):
            raise Refused(f"{expression} is not defined where a delta is 0")
        return (below.inverse(-int(power)),)

    def _summed(self, expression: Any) -> Terms:
        names, bound = {}, {}
        for index, low, high in expression.limits:
            if low != 1 or not high.is_integer or self._moves(high, expression):
                raise Refused(f"{expression}: only sums from 1 to a whole number are covered")
            names[index] = self._name()
            bound[names[index]] = self._sizes[names[index]] = high
        inside = self.terms(expression.function.xreplace(names))
        return tuple(term.times(Term(bound=bound)) for term in inside)

    def _moves(self, size: Any, expression: Any) -> bool:
        """Return whether a size depends on an index."""
        return not free_symbols(size).isdisjoint(self._sizes.keys() | set(expression.variables))

    def _entry(self, expression: Any) -> Terms:
        meaning = self._families.unfolded(expression)
        return _opaque(expression) if meaning is expression else self.terms(self._with_own_indices(meaning))

    def _itself(self, expression: Any) -> Terms:
        """Return a delta, or an index that stands for its own value, as a factor."""
        return _opaque(expression)

    def _exponential(self, expression: Any) -> Terms:
        exponent = self._unfolded(expression.args[0])
        if isinstance(exponent, Indexed):
            return _opaque(exp(exponent))
        found = Term()
        for part in Add.make_args(exponent.expand()):
            number, rest = part.as_coeff_Mul()
            one, power = (rest, int(number)) if number.is_Integer and rest != 1 else (part, 1)
            found = found.times(Term(powers={exp(_with_alike_names(one)): power}))
        return (found,)

    def _logarithm(self, expression: Any) -> Terms:
        inside = self.terms(expression.args[0])
        if len(inside) != 1 or inside[0].bound:
            raise Refused(f"{expression}: the logarithm of a sum has no normal form")
        found: list[Terms] = [(Term(log(inside[0].coefficient)),)]
        for entry, power in inside[0].powers.items():
            one = self._read(entry.args[0]) if isinstance(entry, exp) else _opaque(log(entry))
            found.append(tuple(term.times(Term(Integer(power))) for term in one))
        return tuple(chain.from_iterable(found))

    def _differentiated(self, expression: Any) -> Terms:
        """Return a derivative: of what is written, in which a family is a constant."""
        several = {one for part in expression.atoms(Derivative) for one in part.variables}
        variables = {one.base if isinstance(one, Indexed) else one for one in several}
        for base, by in product({one.base for one in expression.expr.atoms(Indexed)}, variables):
            if self._families.depends(base, by):
                raise Refused(f"{base} depends on {by}; write it out in {expression}")
        if expression.expr.has(E) or (s in variables and expression.expr.has(p, largest)):
            raise Refused(f"{expression}: a mean is not differentiated, nor what depends on scores unseen")
        # Not by doit, which tries for a closed form of every sum.
        within = self._with_own_indices(expression.expr)
        within = within.replace(Derivative, _derivative)
        return self._read(_derivative(within, *expression.variable_count))

    def _unfolded(self, expression: Any) -> Any:
        """Return an expression in entries that are made of nothing."""
        for _ in range(len(self._families.made_of) + 1):
            meanings = {one: self._families.unfolded(one) for one in expression.atoms(Indexed)}
            new = {one: what for one, what in meanings.items() if what is not one}
            if not new:
                return expression
            own = {one: self._with_own_indices(what) for one, what in new.items()}
            expression = self._with_own_indices(expression).xreplace(own)
        raise Refused(f"{expression} stands for something made of itself")

    def _with_own_indices(self, expression: Any) -> Any:
        """Return an expression whose sums run over indices that occur nowhere else."""

        def renamed(inside: Any, *limits: Any) -> Any:
            names = {limit[0]: self._name() for limit in limits}
            named = self._with_own_indices(inside.xreplace(names))
            return Sum(named, *((names[one], *ends) for one, *ends in limits))

        return replaced(expression, Sum, renamed)

    def _averaged(self, expression: Any) -> Terms:
        found = self.terms(expression.args[0])
        for base, variance in self._families.variances.items():
            found = tuple(chain.from_iterable(_mean(term, base, variance) for term in found))
        return tuple(chain.from_iterable(map(self._reduced, found)))

    def _reduced(self, term: Term) -> Iterator[Term]:
        """Yield the term with its deltas put in, and without indices on which nothing depends any more."""
        self._refuse_other_sizes(term)
        term = self._without_squares(term)
        for delta in (one for one in term.powers if isinstance(one, KroneckerDelta)):
            if kept := self._put_in(delta, term):
                yield from self._reduced(kept)
                return
        for index, size in term.bound.items():
            holding = [entry for entry in term.powers if index in free_symbols(entry)]
            rest = term.without(index, *holding)
            if not holding:
                yield from self._reduced(rest.times(Term(size)))
                return
            if len(holding) == 1 and isinstance(holding[0], exp) and term.powers[holding[0]] == 1:
                total = _Total(holding[0].xreplace({index: _ANY}), size)
                yield from self._reduced(rest.times(Term(powers={total: 1})))
                return
        if not any(entry == 0 for entry in term.powers):
            yield term

    def _put_in(self, delta: Any, term: Term) -> Term | None:
        """Return the term with one index for both of a delta's, or None if that is so already."""
        one, other = delta.args
        if one not in term.bound:
            one, other = other, one
        rest = term.without(one, delta)
        if one in term.bound:
            self._refuse_beyond(delta, other, term.bound[one])
            return rest.put(one, other)
        gone, kept = sorted(delta.args, key=str)
        if gone.is_Integer:
            gone, kept = kept, gone
        if term.powers[delta] == 1 and not any(gone in free_symbols(entry) for entry in rest.powers):
            return None
        return rest.put(gone, kept).times(Term(powers={delta: 1}))

    def _without_squares(self, term: Term) -> Term:
        """Return a term with the squares that are known put in."""
        for entry, power in term.powers.items():
            if isinstance(entry, Indexed) and entry.base in self._squares:
                odd = {entry: power % 2} if power % 2 else {}
                known = Term(self._squares[entry.base] ** (power // 2), odd)
                term = term.without(None, entry).times(known)
        return term

    def _refuse_beyond(self, delta: Any, other: Any, size: Any) -> None:
        """Refuse that a sum up to a size picks the term of an index which is no value or runs further."""
        if other.is_Integer:
            if other < 1:
                raise Refused(f"{delta}: there is no such entry")
        elif self._sizes.get(other) != size:
            raise Refused(f"{delta}: its indices do not run over the same values")
        elif other not in self._own:
            self.ranges[other] = size

    def _refuse_other_sizes(self, term: Term) -> None:
        for entry in set().union(*(parts_of(one, Indexed) for one in term.powers)):
            for place, index in enumerate(entry.indices):
                held = free_symbols(index) & term.bound.keys()
                if held and (held != {index} or term.bound[index] != self._families.size(entry, place)):
                    raise Refused(f"{entry}: its index does not run over all of its values")


_READERS: dict[type, Callable[[Reader, Any], Terms]] = {
    exp: Reader._exponential,
    log: Reader._logarithm,
    Add: Reader._added,
    Mul: Reader._multiplied,
    Pow: Reader._raised,
    Sum: Reader._summed,
    Indexed: Reader._entry,
    KroneckerDelta: Reader._itself,
    Idx: Reader._itself,
    Symbol: Reader._itself,
    Derivative: Reader._differentiated,
    E: Reader._averaged,
}


def _derivative(expression: Any, *orders: Any) -> Any:
    """Return a derivative by some symbols or entries, each as often as is said with it."""
    for by, times in orders:
        for _ in range(int(times)):
            expression = _slope(expression, by)
    return expression


def _slope(expression: Any, by: Any) -> Any:  # noqa: PLR0911  # a case for each kind
    """Return a derivative by one symbol or entry, in less time than SymPy takes to simplify on the way."""
    moving = by.base if isinstance(by, Indexed) else by
    if not has_any(expression, [moving]):
        return S.Zero
    inside = expression.args
    if isinstance(expression, Add):
        return Add(*(_slope(one, by) for one in inside))
    if isinstance(expression, Mul):
        parts = ((at, _slope(one, by)) for at, one in enumerate(inside))
        return Add(*(Mul(*inside[:at], new, *inside[at + 1 :]) for at, new in parts if new != 0))
    if isinstance(expression, Pow) and not has_any(expression.exp, [moving]):
        return expression.exp * expression.base ** (expression.exp - 1) * _slope(expression.base, by)
    if isinstance(expression, exp):
        return expression * _slope(inside[0], by)
    if isinstance(expression, Sum) and not any(has_any(one, [moving]) for one in inside[1:]):
        return Sum(_slope(inside[0], by), *expression.limits)
    if isinstance(expression, Indexed) and isinstance(by, Indexed) and expression.base == moving:
        return Mul(*(KroneckerDelta(*both) for both in zip(expression.indices, by.indices, strict=True)))
    return expression.diff(by)


def _opaque(expression: Any) -> Terms:
    return (Term(powers={expression: 1}),)


def _with_alike_names(expression: Any) -> Any:
    """Return an expression whose sums run over indices of the same names, however they were called.

    The innermost have the first names, which occur nowhere else.
    """

    def renamed(inside: Any, *limits: Any) -> Any:
        taken = sum(str(one).startswith(_INNER) for one in inside.atoms(Symbol))
        names = {limit[0]: Symbol(f"{_INNER}{taken + at}", integer=True) for at, limit in enumerate(limits)}
        return Sum(inside.xreplace(names), *((names[one], *ends) for one, *ends in limits))

    return expression.replace(Sum, renamed)


def _mean(term: Term, base: Any, variance: Any) -> Iterator[Term]:
    """Yield the mean of a term over a family of independent entries with mean 0.

    Raises:
        Refused: the term is of more than the second order in them.
    """
    held = {entry: power for entry, power in term.powers.items() if entry.has(base)}
    if any(not isinstance(entry, Indexed) or power < 0 for entry, power in held.items()):
        raise Refused(f"nothing is said about the mean of {term.powers}")
    drawn = [entry for entry, power in held.items() for _ in range(power)]
    if len(drawn) > _SECOND:
        raise Refused(f"nothing is said about moments of {base} beyond the second")
    if not drawn:
        yield term
    if len(drawn) == _SECOND:
        found = Term(variance).times(term.without(None, *drawn))
        for pair in zip(*(entry.indices for entry in drawn), strict=True):
            delta = KroneckerDelta(*pair)
            found = found.times(Term() if delta == 1 else Term(powers={delta: 1}))
        yield found


def _sizes_of_indices(families: Families, expression: Any) -> dict[Any, Any]:
    """Return up to where free indices run, by the entries that have them; none where these disagree."""
    found: dict[Any, set[Any]] = {index: {size} for index, size in families.indices.items()}
    for entry in expression.atoms(Indexed):
        for place, index in enumerate(entry.indices):
            found.setdefault(index, set()).add(families.size(entry, place))
    return {index: sizes.pop() for index, sizes in found.items() if len(sizes) == 1}
