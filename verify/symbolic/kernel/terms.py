"""Products of entries with bound indices, and a form of them that the indices' names do not change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, permutations, product
from typing import TYPE_CHECKING, Any

from sympy import Dummy, Indexed, KroneckerDelta, S, Sum, Symbol, Tuple, exp

from verify.symbolic.kernel.core import Hypotheses, Refused, bound_in, free_symbols
from verify.symbolic.kernel.words import n, p, s

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
