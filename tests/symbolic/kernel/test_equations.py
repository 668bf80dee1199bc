"""Equations: what is the same, unfolded, put in, replaced, summed up is proved; what differs is refused."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import (
    Derivative, Eq, Expr, Gt, Idx, Integer, Integral, Interval, Rational,
    S, Sum, Symbol, cos, cosh, exp, expand, gamma, log, sin, sinh, sqrt, symbols, tanh,
)  # fmt: skip
from sympy import E as EULER

from tests.strategies import examples
from tests.symbolic.kernel.proving import proved, refused
from verify.symbolic.kernel.core import prove
from verify.symbolic.kernel.equations import (
    Applied, ClosedSums, Equivalent, Identity, PutIn, Replaced, Turned, Unfolded, same,
)  # fmt: skip
from verify.symbolic.kernel.hypotheses import NOTHING, Population
from verify.symbolic.kernel.limits import FirstTerms
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.signs import Sign
from verify.symbolic.kernel.words import E, n, p

a, b, c, e, h = symbols("a b c e h", positive=True)
r, y, hole = symbols("r y h_0", real=True)
low = Symbol("low", negative=True)
j = Symbol("j", integer=True, positive=True)
i = Idx("i")
MORE = Rational(101, 100)

EQUAL: tuple[tuple[Any, Any], ...] = (
    ((a + r) ** 2, a**2 + 2 * a * r + r**2),
    (1 / a - 1 / (a + 1), 1 / (a * (a + 1))),
    (1 / (1 / a + 1 / b), a * b / (a + b)),
    (sin(r) ** 2 + cos(r) ** 2, S.One),
    (sin(r + y), sin(r) * cos(y) + cos(r) * sin(y)),
    (tanh(r / 2), sinh(r) / (1 + cosh(r))),
    (log(a**2), 2 * log(a)),
    (exp(r) / (exp(r) + exp(y)), 1 / (1 + exp(y - r))),
    ((sqrt(a) + sqrt(b)) ** 2, a + b + 2 * sqrt(a) * sqrt(b)),
    (sqrt(low**2), -low),
    (gamma(a + 2) / gamma(a), a * (a + 1)),
    ((a + Rational(1, 2)) ** b * 2**b, (2 * a + 1) ** b),
    (Derivative(r**3 * exp(-r), r), (3 * r**2 - r**3) * exp(-r)),
    ((E(r) + 1) ** 2 / Sum(p[i] ** 2, (i, 1, n)), (E(r) ** 2 + 2 * E(r) + 1) / Sum(p[i] ** 2, (i, 1, n))),
)


@pytest.mark.parametrize(("before", "after"), EQUAL)
def test_an_identity_holds_and_one_per_cent_more_does_not(before: Any, after: Any) -> None:
    """By canonical forms, either way round; nothing is tried at points."""
    proved(Identity(), before, after)
    proved(Identity(), after, before)
    for wrong in (after * MORE, after + Rational(1, 10**9), -after):
        assert refused(Identity(), before, wrong).startswith("not known to be equal")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (sqrt(2), S(1414213562373095) / 10**15),
        (a ** (S(101) / 100), a),
        (log(r * y), log(r) + log(y)),
        ((r**2) ** Rational(3, 2), r**3),
        (a / (a * (b + 1) - a * b - a), S.Zero),
        (gamma(a + 2) / gamma(a), a * (a + 2)),
        ((a + Rational(1, 2)) ** b, (2 * a + 1) ** b),
        (E(r**2), E(r) ** 2),
        (Sum(p[i], (i, 1, n)), S.One),
        (Integral(exp(-a), (a, 0, 1)), 1 - exp(-1)),
        (Derivative(E(r * y), y), E(r)),
    ],
)
def test_what_is_no_identity_of_forms_is_refused(before: Any, after: Any) -> None:
    """Nor what needs another rule: means, sums, integrals and limits are not looked into."""
    refused(Identity(), before, after)


@pytest.mark.parametrize(
    ("before", "after", "allowed", "not_allowed"),
    [
        ((r**2 - 1) / (r - 1), r + 1, 2, 1),
        (r + 1, (r**2 + r) / r, 1, 0),
        (y * log(r) + log(r), (y + 1) * log(r), 1, 0),
    ],
)
def test_an_identity_holds_where_both_sides_are_defined(
    before: Any, after: Any, allowed: int, not_allowed: int
) -> None:
    """No denominator is 0, and every logarithm is of something positive; the theorem says so."""
    domain = prove(Identity(), before, after).hypotheses.domain(r)
    assert domain.contains(allowed) == True  # noqa: E712  # SymPy's truth
    assert domain.contains(not_allowed) == False  # noqa: E712


class TestUnfolded:
    """Symbols stand for what they are defined as, which the theorem says."""

    def test_definitions_are_hypotheses(self) -> None:
        """Derivatives are taken before anything is put in; another meaning gives another side."""
        found = proved(Unfolded({b: a**2}), b + 1, a**2 + 1)
        assert found.hypotheses.definitions == ((b, a**2),)
        assert refused(Unfolded({b: a**2}), b + 1, a**2 + 2) == "the sides differ"

    def test_a_definition_keeps_to_the_symbols_domain(self) -> None:
        """What may be negative is no positive symbol's meaning, and nothing is defined by itself."""
        assert "not known: r lies in" in refused(Unfolded({b: r}), b, r)
        assert refused(Unfolded({a: b, b: c}), a, c) == "b cannot be defined by itself"
        assert "cannot be defined" in refused(Unfolded({a + 1: b}), a + 1, b)


class TestReplaced:
    """A part is replaced by what was shown of it."""

    def test_by_an_equation_anywhere(self) -> None:
        """Under a mean too; what is not there is not replaced, and the rest stays as it is."""
        square = proved(Identity(), (a + 1) ** 2, a**2 + 2 * a + 1)
        whole = E(y * (a + 1) ** 2) / (a + 1) ** 2
        proved(Replaced(square), whole, E(y * square.rhs) / square.rhs)
        assert "does not stand in it" in refused(Replaced(square), b, b)
        assert "not this with the part replaced" in refused(Replaced(square), whole, 2 * whole)

    def test_by_a_bound_where_the_whole_moves_one_way(self) -> None:
        """Up or down, by the sign of its slope; what falls turns the relation round."""
        known = prove(Turned(prove(Sign(), S.Zero, b), a), S.Zero, a + b)
        assert (known.lhs, known.relation, known.rhs) == (a, "≤", a + b)
        proved(Replaced(known), a**2 + c, (a + b) ** 2 + c, relation="≤")
        proved(Replaced(known), c / a, c / (a + b), relation="≥")
        assert "not known to move one way" in refused(Replaced(known), (a - 1) ** 2, (a + b - 1) ** 2)
        assert "stands under a mean" in refused(Replaced(known), E(a * y), E((a + b) * y))

    def test_not_under_a_sum_over_what_is_restricted(self) -> None:
        """What holds for some values of a bound name holds not for the sum over all."""
        known = prove(Identity(), (r**2 - b**2) / (r - b), r + b)
        whole = Integral(known.lhs, (r, 1, 2))
        assert "for some values of r only" in refused(Replaced(known), whole, Integral(known.rhs, (r, 1, 2)))


class TestPutIn:
    """What holds for all values holds for some."""

    KNOWN = prove(Sign(), S.Zero, (r - a) ** 2)

    def test_values_on_both_sides(self) -> None:
        """All at once, so that two symbols may change places; the relation stays."""
        turned = proved(Identity(), (r + y) ** 2 / a, (r**2 + 2 * r * y + y**2) / a)
        found = proved(PutIn({r: y, y: 2 * r}, turned), S.Zero, (y**2 + 4 * r * y + 4 * r**2) / a)
        assert found.lhs == (y + 2 * r) ** 2 / a
        bound = proved(PutIn({a: b + 1}, self.KNOWN), S.Zero, (r - b - 1) ** 2, relation="≤")
        assert bound.lhs == 0
        assert "with these values it is" in refused(PutIn({a: b}, self.KNOWN), S.Zero, (r + b) ** 2)

    @pytest.mark.parametrize("value", [S.ImaginaryUnit, 1 / r, Symbol("z")])
    def test_values_outside_a_domain(self, value: Any) -> None:
        """A positive symbol is not put at what may be something else."""
        assert "lies in Interval.open(0, oo)" in refused(
            PutIn({a: value}, self.KNOWN), S.Zero, (r - value) ** 2
        )

    def test_a_domain_may_be_made_a_condition(self) -> None:
        """Where a value is real and not known to be positive, that it is becomes a hypothesis."""
        assert refused(PutIn({a: -b}, self.KNOWN), S.Zero, (r + b) ** 2) == "a condition is false"
        found = prove(PutIn({a: b - c}, self.KNOWN), S.Zero, (r - b + c) ** 2)
        assert found.hypotheses.conditions == {Gt(b - c, 0)}

    def test_only_symbols_of_any_law_become_random_ones(self) -> None:
        """A component with a law of its own keeps it, and a constant does not become random."""
        mean = prove(Evaluation(Population({r: (1, 0, 1)}), assumed=True), E(r**2 * a), a)
        assert refused(PutIn({r: y}, mean), S.Zero, a) == "r has a law of its own"
        assert refused(PutIn({a: r**2 + 1}, mean), S.Zero, r**2 + 1) == "r**2 + 1 is random, and a is not"
        assert "no symbol" in refused(PutIn({r**2: a}, mean), S.Zero, a)


class TestApplied:
    """The same is done to both sides."""

    SQUARE = prove(Identity(), (a + 1) ** 2, a**2 + 2 * a + 1)
    BOUND = prove(Turned(prove(Sign(), S.Zero, r**2), a), S.Zero, a + r**2)

    def test_anything_to_an_equation(self) -> None:
        """Derivatives, sums, integrals and means over what it holds for all values of."""
        for context in (h**2, Derivative(h, a), Integral(h, (a, 0, 1)), Sum(h * j, (j, 1, n))):
            given, found = (context.xreplace({h: side}) for side in (self.SQUARE.lhs, self.SQUARE.rhs))
            assert proved(Applied(context, h, self.SQUARE), S.Zero, found).lhs == given
        assert "done to the other side" in refused(Applied(h**2, h, self.SQUARE), S.Zero, 2 * self.SQUARE.rhs)

    def test_to_a_bound_what_moves_one_way(self) -> None:
        """A mean or a sum of it, or what rises or falls with it; a square may do either."""
        proved(Applied(E(h), h, self.BOUND), S.Zero, E(self.BOUND.rhs), relation="≤")
        proved(Applied(exp(-h), h, self.BOUND), S.Zero, exp(-self.BOUND.rhs), relation="≥")
        assert "moves one way" not in refused(Applied(E(h * a), h, self.BOUND), S.Zero, E(self.BOUND.rhs * a))
        assert "not known to move one way" in refused(
            Applied((hole - 1) ** 2, hole, self.BOUND), S.Zero, (self.BOUND.rhs - 1) ** 2
        )
        assert "≤ does not pass" in refused(
            Applied(Derivative(h, a), h, self.BOUND), S.Zero, Derivative(self.BOUND.rhs, a)
        )

    def test_not_over_what_it_holds_for_in_part(self) -> None:
        """Nor in a context whose symbol the theorem has already."""
        some = prove(Identity(), (r**2 - 1) / (r - 1), r + 1)
        assert "some values of r only" in refused(
            Applied(Integral(h, (r, 0, 2)), h, some), S.Zero, Integral(r + 1, (r, 0, 2))
        )
        assert "some values of r only" in refused(Applied(E(h), h, some), S.Zero, E(r + 1))
        assert "a symbol of its own" in refused(Applied(a**2, a, self.SQUARE), S.Zero, self.SQUARE.rhs**2)


def test_sides_are_moved_over() -> None:
    """The same difference, or the other way round; nothing else."""
    known = prove(Sign(), S.Zero, (r - 1) ** 2)
    assert proved(Turned(known), S.Zero, S.Zero, relation="≥").lhs == known.rhs
    assert proved(Turned(known, 2 * r), S.Zero, r**2 + 1, relation="≤").lhs == 2 * r
    assert proved(Turned(known, r**2 + 1), S.Zero, 2 * r, relation="≥")
    assert refused(Turned(known, 2 * r), S.Zero, r**2) == "the sides differ by something else"
    terms = prove(FirstTerms(a, 1), a / (a + e), 1 - e / a)
    assert refused(Turned(terms), S.Zero, terms.lhs) == "~ has no other side"


CUBES, SQUARES = Sum(j**3, (j, 1, n)), Sum(j**2, (j, 1, n))
OF_SQUARES = n * (n + 1) * (2 * n + 1) / 6


@pytest.mark.parametrize(
    ("before", "closed"),
    [
        (CUBES, n**2 * (n + 1) ** 2 / 4),
        (Sum(exp(-a * j), (j, 1, n)), (1 - exp(-a * n)) / (exp(a) - 1)),
        (Sum(EULER**j, (j, 1, n)), (EULER ** (n + 1) - EULER) / (EULER - 1)),
    ],
)
def test_a_sum_in_closed_form(before: Any, closed: Any) -> None:
    """By the first value and the next term: a constant or a factor more is noticed."""
    proved(ClosedSums(), before, closed)
    for wrong in (closed + 1, closed * MORE, closed.subs(n, n + 1)):
        assert refused(ClosedSums(), before, wrong).startswith("the induction fails")


def test_sums_inside_an_expression() -> None:
    """Each by its own induction; the size stands in the limit alone, and a sum has one index."""
    proved(ClosedSums({SQUARES: OF_SQUARES}), c / SQUARES, c / OF_SQUARES)
    assert "with the closed forms" in refused(
        ClosedSums({SQUARES: OF_SQUARES}), c / SQUARES, 2 * c / OF_SQUARES
    )
    assert "induction fails" in refused(
        ClosedSums({SQUARES: 2 * OF_SQUARES}), c / SQUARES, c / OF_SQUARES / 2
    )
    assert "stands in the summand" in refused(ClosedSums(), Sum(j * n, (j, 1, n)), n**2 * (n + 1) / 2)
    assert "no sum over one index" in refused(ClosedSums(), n, n)
    whole = Symbol("N", integer=True)
    assert "must be a whole number from 1 on" in refused(
        ClosedSums(), Sum(j, (j, 1, whole)), whole * (whole + 1) / 2
    )


def test_first_terms_are_all_up_to_an_order() -> None:
    """None may be left out, changed, or from beyond it; the rest is smaller."""
    before, two = tanh(1 / c), 1 / c - 1 / (3 * c**3)
    for order, terms in ((4, two), (5, two + 2 / (15 * c**5))):
        assert proved(FirstTerms(c, order), before, terms, relation="~").order == (c, order)
    for order, wrong in ((4, 1 / c), (4, two + 2 / (15 * c**5)), (5, two), (4, two * MORE)):
        assert refused(FirstTerms(c, order), before, wrong).startswith("the first terms are")
    small = NOTHING.restricted(c, Interval.open(0, 1))
    assert refused(FirstTerms(c, 4), before, two, small) == "c is bounded"


def _equation(left: Any, right: Any = S.Zero) -> Any:
    return Eq(left, right, evaluate=False)


class TestEquivalent:
    """Two equations with one set of solutions."""

    def test_a_factor_that_is_never_0(self) -> None:
        """A number, a positive symbol, or what surely has a sign; one that may be 0 adds solutions."""
        proved(Equivalent(a), _equation(a * r, a * y), _equation(r, y), relation="⇔")
        proved(Equivalent(r**2 + 1), _equation(r**3 + r), _equation(r), relation="⇔")
        assert refused(Equivalent(r), _equation(r**2), _equation(r)) == "not known to differ from 0: r"
        assert "more than a factor" in refused(Equivalent(a), _equation(a * r), _equation(r - 1))
        assert refused(Equivalent(), r, r) == "an equivalence is of two equations"


ATOMS = (a, r, y, Integer(2), Rational(-1, 2), exp(r), 1 + a)


@st.composite
def expressions(draw: st.DrawFn) -> Expr:
    """Return a small expression."""
    found: Any = draw(st.sampled_from(ATOMS))
    for kind, other in draw(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(ATOMS)), max_size=4)):
        found = (found + other, found * other, found ** (2 if other.is_positive else -1))[kind]
    return found


@examples(40)
@given(expressions(), expressions())
def test_what_is_the_same_has_the_same_values(one: Any, other: Any) -> None:
    """At exact points where both are defined; multiplied out an expression is the same."""
    assert same(one, expand(one))
    if same(one, other):
        for at, of_r, of_y in product((S.One, Rational(1, 3)), (S(2), Rational(-3, 5)), (S(-1), S(5))):
            gap = (one - other).subs({a: at, r: of_r, y: of_y})
            assert not gap.is_finite or abs(gap.evalf(30)) < 1e-20
