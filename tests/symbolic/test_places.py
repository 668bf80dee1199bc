"""What of a statement is free or random, where it is tried."""

import random
from typing import Any

import pytest
from flint import fmpq
from sympy import E as E1
from sympy import (
    FiniteSet, Idx, Interval, Range, S, Sum, Symbol, oo, pi,
    sqrt,
)  # fmt: skip

from verify.symbolic.arithmetics import fraction
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses
from verify.symbolic.kernel.words import M, n, p, x
from verify.symbolic.layouts import Layout
from verify.symbolic.places import Outside, contains, corners, plans, scene_at, somewhere

pytestmark = pytest.mark.slow  # of the former core, which is no longer worked on

i = Idx("i")
a, c = Symbol("a", positive=True), Symbol("c", positive=True)
DOMAINS = [
    S.Reals, S.Integers, S.Reals - FiniteSet(0), Interval(0, oo), Interval.open(0, 1), Interval(-oo, 2),
    Range(1, oo),
    Range(3, oo), FiniteSet(1, 2), Interval(E1, oo), Interval.open(-pi, sqrt(2)),
]  # fmt: skip


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_corners_and_random_points_lie_in_the_domain(domain: Any) -> None:
    """And there are several."""
    rng = random.Random(1)  # noqa: S311
    found = [*corners(domain), *(somewhere(domain, rng) for _ in range(20))]
    assert len(corners(domain)) >= 2
    assert all(contains(domain, one) and domain.contains(one) == True for one in found)  # noqa: E712
    assert all(fraction(one) for one in found if one)


def test_every_corner_of_each_symbol_is_tried() -> None:
    """By turns where there are too many together."""
    layout = Layout((a, c), NOTHING)
    rng = random.Random(1)  # noqa: S311
    few = list(plans(layout, 12, 3, rng))
    assert len(few) == 15
    assert {one[0] for one in few[:12]} == {one[1] for one in few[:12]} == set(corners(layout.domain(a)))
    assert len(list(plans(layout, 300, 0, rng))) == len(corners(layout.domain(a))) ** 2


def at(hypotheses: Hypotheses, *sides: Any, seed: int = 1, **plan: int) -> Any:
    """Return a point with these values of symbols by name."""
    layout = Layout(sides, hypotheses)
    put = {one: S(plan.get(str(one), 3)) for one in layout.symbols}
    return scene_at(layout, put, random.Random(seed))  # noqa: S311


def test_probabilities_are_positive_ordered_and_add_up() -> None:
    """Entries of other families are bounded if they are said to be."""
    given = Hypotheses(entries=frozenset([("ordered", p), ("bounded", x, M)]))
    for seed in range(20):
        found = at(given, Sum(p[i] * x[i], (i, 1, n)), M, seed=seed, n=3).entries
        weights = [found[p, key] for key in (1, 2, 3)]
        assert sum(weights, fmpq(0)) == 1
        assert weights[0] >= weights[1] >= weights[2] > 0
        assert all(abs(found[x, key]) <= 3 for key in (1, 2, 3))


def test_points_that_break_a_condition_are_outside() -> None:
    """Strictly, where it is strict."""
    assert at(NOTHING.having(a < c), a, c, a=1, c=2)
    with pytest.raises(Outside):
        at(NOTHING.having(a < c), a, c, a=2, c=2)
