"""Products of entries with bound indices: an algebra, and a form that names of indices do not change."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import Dummy, Idx, Indexed, IndexedBase, KroneckerDelta, S, Symbol, exp

from tests.strategies import examples, fractions
from verify.symbolic.kernel.moments import DerivationError
from verify.symbolic.kernel.terms import ROW, Families, Term, in_scores, key, softmax
from verify.symbolic.kernel.words import n, p
from verify.symbolic.softmax import scores, written_out

x, y = IndexedBase("x"), IndexedBase("y")
i, j, k = (Idx(name) for name in "ijk")
q = Symbol("q")
BOUND = tuple(Dummy(name, integer=True) for name in "uvw")
ENTRIES = [base[index] for base in (x, y) for index in (i, j)]

TERMS = st.builds(
    lambda coefficient, powers: Term(
        S(coefficient), {entry: power for entry, power in powers.items() if power}
    ),
    fractions().filter(bool),
    st.dictionaries(st.sampled_from(ENTRIES), st.integers(-3, 3)),
)


def value(term: Term) -> Any:
    """Return what a term without bound indices stands for."""
    found = term.coefficient
    for entry, power in term.powers.items():
        found *= entry**power
    return found


@examples(40)
@given(TERMS, TERMS)
def test_products_are_those_of_what_terms_stand_for(one: Term, other: Term) -> None:
    """In any order; factors that cancel are gone, and one over a power undoes it."""
    both = one.times(other)
    assert value(both) == value(one) * value(other)
    assert both == other.times(one)
    assert all(both.powers.values())
    assert one.times(one.inverse(1)) == Term()
    assert value(one.inverse(2)) == 1 / value(one) ** 2


def test_one_over_a_sum_has_no_form() -> None:
    """It is no sum of inverses."""
    with pytest.raises(DerivationError, match="one over a sum that is no total"):
        Term(powers={x[BOUND[0]]: 1}, bound={BOUND[0]: n}).inverse(1)


def test_an_index_is_put_in_everywhere() -> None:
    """Factors that become the same are one factor with both powers; those that cancel are gone."""
    term = Term(S(3), {x[i]: 2, x[j]: 1, y[i]: -1, y[j]: 1, exp(x[i]): 1, KroneckerDelta(i, j): 1})
    assert term.put(i, j) == Term(S(3), {x[j]: 3, y[j]: 0, exp(x[j]): 1})
    assert term.put(k, j) == term


def test_a_term_loses_an_index_and_what_is_named() -> None:
    """Nothing else of it changes."""
    first, second, _ = BOUND
    term = Term(S(3), {x[first]: 2, y[second]: 1}, {first: n, second: n})
    assert term.without(first, x[first]) == Term(S(3), {y[second]: 1}, {second: n})
    assert term.without(None, y[second]) == Term(S(3), {x[first]: 2}, {first: n, second: n})


@examples(60)
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1]), st.integers(0, 3), st.integers(1, 2)), min_size=1, max_size=5
    ),
    st.permutations(range(3)),
)
def test_the_form_does_not_depend_on_names(factors: list[tuple[int, int, int]], order: list[int]) -> None:
    """Bound indices may be called otherwise, and factors come in any order; a free one keeps its name."""

    def term(names: tuple[Any, ...], of: list[tuple[int, int, int]]) -> Term:
        found = Term(bound=dict.fromkeys(names[:3], n))
        for base, index, power in of:
            found = found.times(Term(powers={(x, y)[base][names[index]]: power}))
        return found

    other = tuple(Dummy(name, integer=True) for name in "abc")
    same = term((*(other[place] for place in order), i), factors[::-1])
    assert key(term((*BOUND, i), factors)) == key(same)
    changed = [(factors[0][0], factors[0][1], factors[0][2] + 1), *factors[1:]]
    assert key(term((*BOUND, i), changed)) != key(same)


@examples(40)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=5, unique=True),
    st.permutations(range(4)),
)
def test_entries_of_two_indices_have_a_form_as_well(pairs: list[tuple[int, int]], order: list[int]) -> None:
    """Round a circle all indices look alike, and still the form is one, wherever the circle is begun."""
    names = [Dummy("u", integer=True) for _ in range(4)]
    bound = dict.fromkeys(names, n)
    one = Term(powers={x[names[a], names[b]]: 1 for a, b in pairs}, bound=bound)
    same = Term(powers={x[names[order[a]], names[order[b]]]: 1 for a, b in pairs}, bound=bound)
    assert key(one) == key(same)


def test_a_circle_has_one_form() -> None:
    """However its indices are called."""
    forms = set()
    for order in permutations(range(4)):
        names = [Dummy("u", integer=True) for _ in range(4)]
        circle = [x[names[order[place]], names[order[(place + 1) % 4]]] for place in range(4)]
        forms.add(key(Term(powers=dict.fromkeys(circle, 1), bound=dict.fromkeys(names, n))))
    assert len(forms) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (x[BOUND[0]] * x[BOUND[1]], x[BOUND[0]] * x[BOUND[0]]),
        (x[BOUND[0]] * y[BOUND[0]], x[BOUND[0]] * y[BOUND[1]]),
        (x[BOUND[0]] * y[i], x[i] * y[BOUND[0]]),
        (x[i], x[j]),
        (x[BOUND[0]] * y[BOUND[1]] * x[BOUND[1]], x[BOUND[0]] * y[BOUND[1]] * x[BOUND[0]] * x[BOUND[1]]),
    ],
)
def test_terms_that_differ_have_different_forms(one: Any, other: Any) -> None:
    """Which factors share an index counts, and which is bound."""

    def form(product: Any) -> Any:
        return key(Term(powers=product.as_powers_dict(), bound=dict.fromkeys(BOUND[:2], n)))

    assert form(one) != form(other)
    assert form(one) == form(one.xreplace({BOUND[0]: BOUND[1], BOUND[1]: BOUND[0]}))


def test_sizes_of_bound_indices_are_part_of_the_form() -> None:
    """A sum over the queries is none over the keys."""
    terms = [Term(powers={x[BOUND[0]]: 1}, bound={BOUND[0]: size}) for size in (n, q)]
    assert key(terms[0]) != key(terms[1])


def test_an_index_runs_as_far_as_its_family_says() -> None:
    """To n where nothing is said."""
    families = Families(sizes={x: (q, S(3))})
    assert [families.size(x[i, j], place) for place in (0, 1)] == [q, 3]
    assert families.size(y[i], 0) == ROW.size(x[i], 0) == n


def test_probabilities_are_functions_of_scores() -> None:
    """Of three keys: exponentials that add up to 1, in whatever stands around them."""
    one, two, three = map(exp, scores(3))
    found = written_out(in_scores(p[1] + 2 * p[2] * x[1]), 3)
    assert (found - (one + 2 * two * x[1]) / (one + two + three)).equals(0)
    assert written_out(softmax(3), 3).equals(three / (one + two + three))
    assert in_scores(x[1]) == x[1]
    assert p not in {entry.base for entry in in_scores(p[i] ** 2).atoms(Indexed)}
