"""The core: how relations compose, what hypotheses come to together, how far a whole reaches."""

import operator
from itertools import product
from typing import Any

import pytest
from sympy import (
    Eq, FiniteSet, Gt, Integral, Interval, Limit, Ne, Range, S, Sum, Symbol, oo, symbols,
)  # fmt: skip

from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.core import (
    Chain, Reach, Reviewed, Same, Theorem, chained, premises_of, prove,
)  # fmt: skip
from verify.symbolic.kernel.equations import Identity, PutIn, Replaced
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Population, Refused, assumed
from verify.symbolic.kernel.limits import FirstTerms
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.scores import GENERAL, STANDARD, d, k, q, score

a, b, c, e = symbols("a b c e", positive=True)
r, y = symbols("r y", real=True)
count = Symbol("m", integer=True, positive=True)

HOLDS = {"=": operator.eq, "≤": operator.le, "<": operator.lt, "≥": operator.ge, ">": operator.gt}
STRONGEST_FIRST = "=<>≤≥"
SHORT, LONG = 1 - e / a, a / (a + e)


def from_to(relation: str, before: Any, after: Any) -> Theorem:
    """Return a theorem of that relation."""
    if relation == "~":
        return prove(FirstTerms(a, 1), before, after)
    return prove(Reviewed("its author says so", relation), before, after)


def follows(first: str, second: str) -> str | None:
    """Return the strongest relation that x R y and y R' z leave between x and z, by all small numbers."""
    triples = [
        (one, three)
        for one, two, three in product(range(3), repeat=3)
        if HOLDS[first](one, two) and HOLDS[second](two, three)
    ]
    return next((one for one in STRONGEST_FIRST if all(HOLDS[one](*pair) for pair in triples)), None)


@pytest.mark.parametrize(("first", "second"), tuple(product("=≤<≥>~⇔", repeat=2)))
def test_the_table_of_relations(first: str, second: str) -> None:
    """Of two comparisons what holds for all numbers; first terms and equivalences go with few others."""
    if first in HOLDS and second in HOLDS:
        expected = follows(first, second)
    else:
        kinds = {first, second}
        expected = "~" if kinds <= {"=", "~"} else "⇔" if kinds == {"⇔"} else None
    one, other = from_to(first, LONG, SHORT), from_to(second, SHORT, SHORT)
    if expected is None:
        with pytest.raises(Refused, match=f"nothing follows from {first} and {second} in one chain"):
            chained(one, other)
    else:
        whole = chained(one, other)
        assert (whole.lhs, whole.relation, whole.rhs) == (LONG, expected, SHORT)


def test_a_chain_has_no_gap() -> None:
    """The second theorem begins where the first ends."""
    one, other = proved(Identity(), a * (a + 1), a**2 + a), proved(Identity(), b * (b + 1), b**2 + b)
    assert "the chain breaks" in refused(Chain(one, other), one.lhs, other.rhs)


def test_nothing_but_itself_is_the_same() -> None:
    """An equation of a proposition with itself is an equivalence."""
    assert proved(Same(), a, a).relation == "="
    assert proved(Same(), Eq(a, b), Eq(a, b), relation="⇔")
    assert refused(Same(), a * (a + 1), a**2 + a) == "two different expressions"


@pytest.mark.parametrize(
    ("symbol", "domain"),
    [
        (a, Interval.open(0, oo)),
        (r, S.Reals),
        (count, Range(1, oo)),
        (Symbol("z", nonnegative=True), Interval(0, oo)),
        (Symbol("z", negative=True), Interval.open(-oo, 0)),
        (Symbol("z", integer=True), S.Integers),
        (Symbol("z", integer=True, nonnegative=True), Range(0, oo)),
        (Symbol("z", real=True, nonzero=True), S.Reals - FiniteSet(0)),
        (Symbol("z"), S.Complexes),
    ],
)
def test_what_a_symbol_assumes_is_its_domain(symbol: Any, domain: Any) -> None:
    """Assumptions are hypotheses like all others."""
    assert assumed(symbol) == domain
    assert NOTHING.domain(symbol) == domain


class TestHypotheses:
    """What is assumed is gathered, and what contradicts itself is refused."""

    def test_domains_meet(self) -> None:
        """What both allow is left, in whatever order; nothing left is no hypothesis."""
        low, high = NOTHING.restricted(r, Interval(0, 2)), NOTHING.restricted(r, Interval(1, 5))
        assert low.merged(high).domain(r) == high.merged(low).domain(r) == Interval(1, 2)
        assert NOTHING.restricted(a, Interval(-1, 1)).domain(a) == Interval.Lopen(0, 1)
        assert NOTHING.restricted(a, S.Reals) == NOTHING
        with pytest.raises(Refused, match="no value of r is left"):
            low.merged(NOTHING.restricted(r, Interval.open(2, 3)))

    def test_conditions(self) -> None:
        """One in a single symbol cuts its domain, one in several is kept, a false one is refused."""
        assert NOTHING.having(S.true) == NOTHING
        assert NOTHING.having(Gt(r - 1, 0)).domain(r) == Interval.open(1, oo)
        assert NOTHING.having(Ne(r, 0)).domain(r) == S.Reals - FiniteSet(0)
        assert NOTHING.having(Gt(r - y, 0)).conditions == {Gt(r - y, 0)}
        with pytest.raises(Refused, match="a condition is false"):
            NOTHING.having(S.false)

    def test_a_symbol_stands_for_one_thing(self) -> None:
        """Two definitions that agree are one; two that do not are refused."""
        one = NOTHING.defining((c, a + b))
        assert one.merged(one) == one
        assert one.merged(NOTHING.defining((e, a))).definitions == ((c, a + b), (e, a))
        with pytest.raises(Refused, match="c stands for two things"):
            one.merged(NOTHING.defining((c, a)))

    def test_laws(self) -> None:
        """Each component has what either side assumes of it, which must agree."""
        any_q, of_b = Population({q: None}, d), Population({b: (1, 0, 1)}, normal=(b,))
        both = Hypotheses(law=any_q).merged(Hypotheses(law=STANDARD)).merged(Hypotheses(law=of_b)).law
        assert isinstance(both, Population)
        assert both.moments == {**STANDARD.moments, b: (1, 0, 1)}
        assert (both.dimension, both.normal) == (d, (b,))
        assert both.of_any_law().moments == dict.fromkeys((q, k, b))
        with pytest.raises(Refused, match="two laws of q"):
            Hypotheses(law=STANDARD).merged(Hypotheses(law=GENERAL))
        with pytest.raises(Refused, match="two dimensions"):
            any_q.with_laws_of(Population({k: None}, count))
        with pytest.raises(Refused, match="moment of order 3 of q"):
            STANDARD.moment(q, 3)


class TestReach:
    """A whole reaches no further than the least of its parts."""

    def test_of_a_chain(self) -> None:
        """Numbers below a review, and a review below a proof."""
        parts = {
            Reach.ALL_VALUES: prove(Same(), a, a),
            Reach.REVIEWED: prove(Reviewed("read"), a, a),
            Reach.NUMERICALLY: prove(Reviewed("tried", numerically=True), a, a),
        }
        for one, other in product(parts, repeat=2):
            assert chained(parts[one], parts[other]).reach == min(one, other)
            assert prove(Replaced(parts[one]), a + b, a + b).reach == one
            assert prove(PutIn({a: b}, parts[one]), S.Zero, b).reach == one


class TestHypothesesOfTheWhole:
    """What a premise assumes, its conclusion assumes."""

    def test_what_is_random_is_so_everywhere(self) -> None:
        """A law may not make random what another part took for a constant."""
        of_a, of_b = (
            prove(Same(), E(a * b), E(a * b), Hypotheses(law=Population({one: None}))) for one in (a, b)
        )
        assert chained(of_a, of_a)
        with pytest.raises(Refused, match="b is random in one part, and a constant in another"):
            chained(of_a, of_b)


@pytest.mark.parametrize(
    ("side", "under", "words"),
    [
        (a + Symbol("a"), NOTHING, "two symbols print as a"),
        (Sum(count, (count, 1, d)) + count, NOTHING, "a name is bound and free: m"),
        (Limit(1 / a, a, oo) * a, NOTHING, "a name is bound and free: a"),
        (Integral(r, (r, 0, 1)), NOTHING.having(Gt(r - b, 0)), "a name is bound and free: r"),
        (Integral(a, (a, -1, 1)), NOTHING, "a runs from -1 to 1, and is assumed to be in"),
        (Sum(count, (count, 0, d)), NOTHING, "m runs from 0 to d_k"),
        (E(score) + q[1], Hypotheses(law=STANDARD), "q is random, and stands outside every mean"),
    ],
)
def test_the_gate(side: Any, under: Hypotheses, words: str) -> None:
    """What could be read in two ways is no side of a theorem."""
    assert words in refused(Same(), side, side, under)


def test_a_theorem_is_printed_with_its_reach() -> None:
    """And rests on what its rule was given."""
    mean = prove(Evaluation(STANDARD, assumed=True), Var(score), d)
    assert repr(mean) == "⊢ Var(Sum(q[i]*k[i], (i, 1, d_k))) = d_k  [all_values]"
    assert list(premises_of(prove(Replaced(mean), Var(score) / d, S.One).rule)) == [mean]


def test_what_sympy_raises_is_a_refusal_in_one_line() -> None:
    """An object that is no expression fails by itself."""
    assert refused(Identity(), a, "b").startswith("could not be checked (")
    assert refused(PutIn({a: 2}, None), a, a).startswith("could not be checked (AttributeError: ")
