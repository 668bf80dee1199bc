"""Attacks on the kernel itself: none makes a theorem of what is false, and none changes one."""

# ruff: noqa: E501, PT012  (one attack on one line reads better; some attacks are of two steps)

import ast
import copy
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import pytest
from sympy import (
    Abs, Add, ConditionSet, Derivative, Dummy, Eq, FiniteSet, Float, Function, Idx, IndexedBase, Integral,
    Interval, KroneckerDelta, Limit, Mul, Pow, Range, Rational, S, Sum, Symbol, Trace, binomial, cbrt, cos,
    cosh, erf, exp, log, oo, pi, sign, sin, sqrt, symbols, tan,
)  # fmt: skip
from sympy.matrices.expressions import MatrixSymbol

import verify
from verify.symbolic.kernel import RULES, terms
from verify.symbolic.kernel.calculus import AtItsLeast, AtItsMost, Compared, FromZero, Jensen, Rising
from verify.symbolic.kernel.core import (
    Chain, Conclusion, Reach, Reviewed, Rule, Same, Theorem, chained, is_theorem, prove, replayed, rule,
)  # fmt: skip
from verify.symbolic.kernel.entries import FamilyPutIn, Induction
from verify.symbolic.kernel.equations import (
    Applied, Assuming, ClosedSums, Equivalent, Identity, PutIn, Replaced, Turned, Unfolded, same,
)  # fmt: skip
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Population, Refused, Vectors
from verify.symbolic.kernel.integrals import EulerIntegrals, Integrated, Primitive, Substituted
from verify.symbolic.kernel.laws import (
    AlikeTerms, AlongAndAcross, DensityGiven, NormalGiven, chi_square_density, density, normal_density,
)  # fmt: skip
from verify.symbolic.kernel.limits import (
    AboutTheMean, AtLimit, Between, CentralLimit, FirstTerms, TimesPositive,
)  # fmt: skip
from verify.symbolic.kernel.matrices import MatrixIdentity, VectorMoments, WhichCoincide
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.normal import NORMAL_SCORES, ByParts, LargestScore, OneOfAll, OverQueries
from verify.symbolic.kernel.signs import Sign
from verify.symbolic.kernel.special_integrals import Exchanged, GaussIntegrals, SplitAt
from verify.symbolic.kernel.sums import SumIdentity, Surplus
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.transforms import SCORES, DensityByTransform, Moments, Multiplied, OverNormal
from verify.symbolic.kernel.words import E, M, OrderedBase, Var, largest, n, p, s, sigma, x
from verify.symbolic.scores import NORMAL_VECTORS, STANDARD, d, k, q, score
from verify.symbolic.softmax import i, j

a, b, c, e = symbols("a b c e", positive=True)
r, y = symbols("r y", real=True)
h = Symbol("h", real=True)
whole = Symbol("j", integer=True, positive=True)
OBLONG = MatrixSymbol("A", 2, 3)
w = Symbol("w", positive=True)
complex_, c_i = Symbol("z"), IndexedBase("c")
size_1, i_2 = Symbol("N", integer=True, positive=True), Idx("l")


class EqualsAll(Symbol):  # type: ignore[misc]  # SymPy has no types
    """A symbol that claims to equal everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class EqualsAllNames(str):
    """A name that claims to equal every name."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("lying")


class EqualsOne(Symbol):  # type: ignore[misc]
    """A symbol that claims to equal 1, and to differ by 0 from everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(S.One)

    def __sub__(self, _other: object) -> Any:
        return S.Zero

    def xreplace(self, _rule: Any) -> Any:
        """Return itself, whatever is put in."""
        return self


class Liar(Function):  # type: ignore[misc]
    """A function that lies about its sign."""

    nargs = 1

    def _eval_is_positive(self) -> bool:
        return True


class Vanishing(Symbol):  # type: ignore[misc]
    """A symbol for which whatever is put in turns out 0."""

    def _eval_subs(self, _old: Any, _new: Any) -> Any:
        return S.Zero


class FakeTheorem:
    """Something with all attributes of a theorem."""

    lhs, relation, rhs, hypotheses, reach, order = S.One, "=", S(2), NOTHING, Reach.ALL_VALUES, None


class FakeNumber(Float):  # type: ignore[misc]
    """A number of a kind of its own."""


@dataclass(frozen=True)
class Anything(Rule):
    """A rule of an author's that takes whatever it is given."""

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:  # noqa: ARG002
        """Return the equation."""
        return Conclusion()


class EqualsRule(type):
    """A class that claims to be a rule of the kernel's."""

    def __hash__(cls) -> int:
        return hash(Same)

    def __eq__(cls, other: object) -> bool:
        return True


@dataclass(frozen=True)
class FakeRule(Rule, metaclass=EqualsRule):
    """Whatever is asked."""

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:  # noqa: ARG002
        """Return the equation."""
        return Conclusion()


class EqualsWord(type(cos)):  # type: ignore[misc]
    """A class that claims to be a function the kernel knows."""

    def __hash__(cls) -> int:
        return hash(cos)

    def __eq__(cls, other: object) -> bool:
        return True


class LyingWord(Function, metaclass=EqualsWord):  # type: ignore[misc]
    """Positive, it says."""

    def _eval_is_positive(self) -> bool:
        return True


class LooserIdentity(Identity):
    """A kernel's rule, made looser."""

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:  # noqa: ARG002
        """Return the equation."""
        return Conclusion()


def _general() -> Theorem:
    return prove(Identity(), (a + 1) ** 2, a**2 + 2 * a + 1)


def _positive() -> Theorem:
    return prove(Sign(strict=True), S.Zero, a)


def _transform() -> Theorem:
    """Return the characteristic function of a standard normal number."""
    at, law = S.ImaginaryUnit * r, Population({y: (1, 0, 1)}, normal=(y,))
    whole_line = Integral(exp(at * h) * normal_density(h, a), (h, -oo, oo))
    known = prove(GaussIntegrals(h), whole_line, exp(-(r**2) * a / 2))
    return prove(NormalGiven(law, y, y, known, a), E(exp(at * y)), exp(-(r**2) / 2))


def _under_names_of_readers() -> Theorem | None:
    """Return a sum of products as a product, by one of the names that bound indices are given."""
    prove(SumIdentity(), 2 * Sum(x[i], (i, 1, n)), Sum(2 * x[i], (i, 1, n)))
    for name in tuple(terms._NAMES):
        with suppress(Refused):
            return prove(SumIdentity(), Sum(x[i], (i, 1, n)) * s[name], Sum(x[i] * s[i], (i, 1, n)))
    raise Refused("under no name")


def _square() -> Theorem:
    return prove(Sign(), S.Zero, (r - 1) ** 2)


def _forged() -> Theorem:
    theorem: Theorem = object.__new__(Theorem)
    for name in ("lhs", "rhs"):
        object.__setattr__(theorem, name, S.One)
    return theorem


def _edited() -> Theorem:
    theorem = _general()
    object.__setattr__(theorem, "rhs", 2 * a)
    return theorem


def _more() -> Theorem:
    return prove(Turned(prove(Sign(), S.Zero, a), y), S.Zero, y + a)


def _defined() -> Theorem:
    return prove(Unfolded({b: a**2}), b, a**2)


def _product() -> Theorem:
    return prove(Evaluation(Population({a: None, b: None})), E(a * b), E(a) * E(b))


FROM_ZERO = Hypotheses().restricted(r, Interval(0, oo))
TWIN = Dummy("a", positive=True)
ALIEN = type("Alien", (Symbol,), {"__module__": "sympy.core.relational"})("alien")
NOTHING_OVER_NOTHING = ((r + 1) ** 2 - r**2 - 2 * r - 1) / ((r + y) ** 2 - r**2 - 2 * r * y - y**2)

SQUARED = Population({y: (1, 0, 1)})
VECTOR = MatrixSymbol("X", d, 1)
NOTHING_OVER_ITSELF = Mul(complex_**2 + 1, 1 / (complex_**2 + 1), evaluate=False)
m, size, f = Symbol("m", integer=True), Symbol("k", integer=True, nonnegative=True), Function("f")


m_0 = Symbol("l", integer=True, nonnegative=True)


def _constant(value: Any, under: Hypotheses) -> Theorem:
    """Return that what starts at a value and stays the same is that value."""
    return prove(Induction(m_0, {f(0): value}, {f(m_0 + 1): f(m_0)}, {f(m_0): value}), f(size), value, under)


INFINITE = Integral(1 / w, (w, 0, 1))
VECTORS = tuple(MatrixSymbol(name, d, 1) for name in "XYZ")
COVARIANCE = MatrixSymbol("C", d, d)


def _covariances(*given: tuple[int, int, Any]) -> Theorem:
    """Return a mean of vectors with these covariances, by their places."""
    found = tuple((VECTORS[one], VECTORS[other], value) for one, other, value in given)
    vectors = dict.fromkeys(one for *pair, _ in found for one in pair)
    law = Vectors(tuple((one, 0) for one in vectors), found)
    (one, other, value), *_ = reversed(found)
    mean = Trace(value) if value == COVARIANCE else d * value
    return prove(VectorMoments(law), E(Trace(one.T * other)), mean)


def _assumed_covariance(*given: Any, named: str = "ABCUVW") -> Theorem:
    """Return the covariance of vectors whose covariances are matrices, entries of which are assumed."""
    names = [MatrixSymbol(one, 1, 1) for one in named]
    vectors = [MatrixSymbol(one, 1, 1) for one in "xyz"]
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)]
    covariances = tuple(
        (vectors[one], vectors[other], name) for (one, other), name in zip(pairs, names, strict=True)
    )
    law = Vectors(tuple((one, 0) for one in vectors), covariances)
    under = Hypotheses(law=law)
    left = Add(*(one[0, 0] for one in names))
    conditions = tuple(Eq(names[place][0, 0], value(names[0][0, 0])) for place, value in given)
    right = left.xreplace({one.lhs: one.rhs for one in conditions})
    return prove(Assuming(conditions), left, right, under)


NARROW_EVEN, BELOW, BELOW_0, NOT_0 = (
    Symbol("u", **one) for one in (
        {"even": True}, {"nonpositive": True}, {"integer": True, "negative": True}, {"integer": True, "zero": False})
)  # fmt: skip
FROM_0_ON = Symbol("v", nonnegative=True)
RANDOM_C = Population({a: None, b: None})
ALIKE = Population({a: None, b: None}, alike=((a, b),))


def _variance(of: Any) -> Theorem:
    return prove(Evaluation(Population({y: (1, 0, of)}), assumed=True), E(y**2), of)


def _constant_that_is_random() -> Theorem:
    """Return that E b(b + 1) is E b·E(b + 1), as b + 1 was a constant in one part."""
    known = prove(Evaluation(Population({a: None})), E(a * c), E(a) * E(c))
    parts = (
        prove(Unfolded({c: b + 1}), E(b * (b + 1)), E(b * c)),
        prove(PutIn({a: b}, known), S.Zero, E(b) * E(c)),
        prove(Unfolded({c: b + 1}), E(b) * E(c), E(b) * E(b + 1)),
        prove(Evaluation(Population({b: (1, 1, 3)}), assumed=True), E(b) * E(b + 1), S(2)),
    )
    return reduce(chained, parts)


def _with_less_of_a_law() -> Theorem:
    """Return the transform of a sum of products with one random number, as if that were a constant."""
    both, given = Population({q: (1, 0, 1), y: (1, 0, 1)}, d, normal=(q, y)), exp(-(r**2) * y**2 / 2)
    at = S.ImaginaryUnit * r
    whole_line = Integral(exp(at * h) * normal_density(h, a), (h, -oo, oo))
    transform = prove(GaussIntegrals(h), whole_line, exp(-(r**2) * a / 2))
    known = prove(NormalGiven(both, q, y * q[i], transform, a), E(exp(at * y * q[i])), E(given))
    return prove(Multiplied(Population({q: (1, 0, 1)}, d, normal=(q,)), i, known), S.Zero, E(given) ** d)


def _positive_where(factor: Any, under: Hypotheses = FROM_ZERO) -> Theorem:
    """Return that something is not negative, as it is assumed to be positive."""
    return prove(TimesPositive(factor, prove(Sign(), S.Zero, S.One, under)), S.Zero, factor)


def _on_a_diagonal() -> Theorem:
    """Return that r - y is not negative, as y is r."""
    return chained(
        prove(Sign(), S.Zero, S.Zero, FROM_ZERO), prove(Unfolded({y: r}), S.Zero, r - y, FROM_ZERO)
    )


def _from_one_on(start: Any) -> Theorem:
    """Return that what is the same from 1 on has the value that it starts with there."""
    return prove(Induction(m_0, {f(1): start}, {f(m_0 + 1): f(m_0)}, {f(m_0): start}), f(size + 1), start)


NORMAL_Y = Population({y: (1, 0, 1)}, normal=(y,))


def _wave(mean: Any, variance: Any) -> Theorem:
    """Return the characteristic function of a normal number."""
    law, at = Population({y: (1, mean, mean**2 + variance)}, normal=(y,)), S.ImaginaryUnit * r
    over = Integral(exp(at * h) * normal_density(h - mean, variance), (h, -oo, oo))
    known = prove(OverNormal(law, y, h), E(exp(at * y)), over)
    return chained(known, prove(GaussIntegrals(h), over, exp(at * mean - r**2 * variance / 2)))


def _density_at_its_factor() -> Theorem:
    """Return the density of a·y at a."""
    at, wave = S.ImaginaryUnit * r * a, exp(-(r**2) * a**2 / 2)
    whole_line = Integral(exp(at * h) * normal_density(h, c), (h, -oo, oo))
    known = prove(GaussIntegrals(h), whole_line, exp(-(r**2) * a**2 * c / 2))
    of = prove(NormalGiven(NORMAL_Y, y, y, known, c), E(exp(at * y)), wave)
    from_0 = Integral(2 * cos(r * w) * normal_density(w, a**2), (w, 0, oo))
    transform = prove(GaussIntegrals(w), from_0, wave)
    return prove(DensityByTransform(of, transform), density(a * y, a), normal_density(a, a**2))


def _bare(theorem: Theorem) -> Theorem:
    """Return a theorem whose hypotheses were taken away."""
    object.__setattr__(theorem.hypotheses, "domains", ())
    return theorem


def _changed_law() -> Theorem:
    """Return a moment of a law that was another."""
    law = Population({y: (1, 0, 1)})
    prove(Evaluation(law, assumed=True), E(y**2), S.One)
    object.__setattr__(law, "laws", ((y, (S.One, S.Zero, S(7))),))
    return prove(Evaluation(law, assumed=True), E(y**2), S.One)


def _of_any_size(base: Any, under: Hypotheses) -> Theorem:
    """Return that a square over a number goes to 0 as that grows, by bounds."""
    parts = (Compared("≥"), S.Zero), (Compared("≤"), y**2 / base)
    low, high = (prove(rule, y**2 / (2 * base), side, under) for rule, side in parts)
    return prove(Between(base, low, high), S.Zero, S.Zero)


def _averaged_where(factor: Any, law: Population = SQUARED) -> Theorem:
    """Return that the mean of what is assumed to be positive is so."""
    known = _positive_where(factor, Hypotheses(law=law))
    return prove(Applied(E(h), h, known), S.Zero, E(factor))


def _called(name: str) -> Theorem:
    """Return that a function of this name is 1 all over."""
    g = Function(name)
    return prove(Induction(m_0, {g(0): S.One}, {g(m_0 + 1): g(m_0)}, {g(m_0): S.One}), g(size), S.One)


ATTACKS: dict[str, Callable[[], Any]] = {
    # the maker
    "a theorem made by its class": lambda: Theorem(S.One, "=", S(2)),
    "a subclass of the theorem": lambda: type("Mine", (Theorem,), {}),
    "a rule of an author's": lambda: prove(Anything(), S.One, S(2)),
    "a subclass of a rule": lambda: prove(LooserIdentity(), S.One, S(2)),
    "a rule registered late": lambda: rule(Anything),
    "a theorem from nothing as a premise": lambda: chained(_forged(), _forged()),
    "an object like a theorem as a premise": lambda: prove(Chain(FakeTheorem(), FakeTheorem()), S.One, S(2)),  # type: ignore[arg-type]
    "an edited theorem as a premise": lambda: chained(_edited(), prove(Same(), 2 * a, 2 * a)),
    "an edited theorem replayed": lambda: replayed(_edited()),
    "a theorem changed": lambda: setattr(_general(), "rhs", a),
    "a chain with other ends": lambda: prove(Chain(_general(), _general()), a, a),
    # the vocabulary
    "a symbol that equals everything": lambda: prove(Same(), EqualsAll("z"), S(2)),
    "a function that lies about its sign": lambda: prove(Sign(), S.Zero, Liar(r)),
    "a function assumed positive": lambda: prove(Sign(), S.Zero, Function("f", positive=True)(r)),
    "a symbol that vanishes": lambda: prove(Identity(), Vanishing("z", positive=True) + 1, S.One),
    "a number of another kind": lambda: prove(Identity(), FakeNumber("1.5"), Rational(3, 2)),
    "a decimal number": lambda: prove(Identity(), Float("0.1") * 3, Float("0.3")),
    "two symbols of one name": lambda: prove(Same(), a + Symbol("a", real=True), a + Symbol("a", real=True)),
    "not a number": lambda: prove(Identity(), S.NaN, S.NaN),
    "infinity less itself": lambda: prove(Identity(), Add(oo, -oo, evaluate=False), S.Zero),
    # names
    "a bound name put in": lambda: prove(
        PutIn({a: whole}, prove(ClosedSums(), Sum(a, (whole, 1, n)), a * n)), S.Zero, whole * n),
    "a bound name as what is put in for": lambda: prove(
        PutIn({whole: a}, prove(ClosedSums(), Sum(whole, (whole, 1, n)), n * (n + 1) / 2)), S.Zero, n * (n + 1) / 2),
    "a hole that is there already": lambda: prove(Applied(a**2, a, _general()), S.Zero, a**2),
    "a definition by itself": lambda: prove(Unfolded({a: a + 1}), a, a + 1),
    "a definition outside the domain": lambda: prove(Unfolded({a: -b**2 - 1}), a, -b**2 - 1),
    "a hole that what stands there is not in": lambda: prove(
        Applied(a**2, a, prove(Turned(prove(Sign(), S.Zero, S(4)), S(-3)), S.Zero, S.One)), S.Zero, S.One),
    "a constant defined as what is random": lambda: chained(
        prove(Evaluation(SQUARED, assumed=True), E(a * y**2), E(a)),
        prove(Unfolded({a: y**2 + 1}), E(a), E(y**2 + 1), Hypotheses(law=SQUARED))),
    "a mean of the entries, and the entries": lambda: prove(SumIdentity(), p[1], E(p[1])),
    "a mean of what is defined, and that": lambda: prove(
        SumIdentity(), exp(s[1]) / Sum(exp(s[i]), (i, 1, n)), E(p[1])),
    "a bound of a mean by what is averaged": lambda: prove(
        Surplus(S.Zero), E(Sum(p[i] ** 2, (i, 1, n))), Sum(p[i] ** 2, (i, 1, n))),
    "a bound by what is averaged": lambda: prove(FromZero(r), E(log(cosh(r))), r**2 / 2),
    "a random symbol defined": lambda: prove(
        Unfolded({y: r}), E(y), E(r), Hypotheses(law=SQUARED)),
    # relations
    "≤ then ≥": lambda: chained(_square(), prove(Turned(_square(), (r - 1) ** 2), S.Zero, S.Zero)),
    "first terms then =": lambda: chained(
        prove(FirstTerms(a, 1), a / (a + e), 1 - e / a), prove(Turned(prove(Sign(), S.Zero, e / a), 1 - e / a), S.Zero, S.One)),
    "first terms for all values": lambda: prove(
        PutIn({a: e}, prove(FirstTerms(a, 1), a / (a + e), 1 - e / a)), S.Zero, S.Zero),
    "first terms of what is bounded": lambda: prove(
        FirstTerms(a, 1), a / (a + e), 1 - e / a, Hypotheses().restricted(a, Interval.open(0, 5))),
    "a bound by a relation of no kind": lambda: prove(Surplus(Sum(p[i] ** 2, (i, 1, n)), "="), S.Zero, S.One),
    "an equation times what may be 0": lambda: prove(Equivalent(r), Eq(r**2, 0, evaluate=False), Eq(r, 0, evaluate=False)),
    # domains
    "the root of a square": lambda: prove(Identity(), sqrt(r**2), r),
    "the logarithm of a product": lambda: prove(Identity(), log(r * y), log(r) + log(y)),
    "a power of a power": lambda: prove(Identity(), Pow(Pow(r, 2), Rational(1, 2)), r),
    "a mean taken for positive": lambda: prove(Jensen(r, "≥"), E(exp(r)), exp(Abs(E(r)))),
    "concave on two pieces": lambda: prove(
        AtItsMost(Symbol("t", real=True, nonzero=True), S(2)), log(Symbol("t", real=True, nonzero=True) ** 2), log(S(4))),
    "least of what may be less": lambda: prove(AtItsLeast(r, S.Zero), -r, S.Zero),
    "a polynomial positive on whole numbers only": lambda: prove(Sign(strict=True), S.Zero, 2 * (r - Rational(3, 2)) ** 2 - Rational(1, 2)),
    "an even bound for an odd function": lambda: prove(FromZero(r), r, r**2),
    # exchanges and laws
    "a limit inside a mean": lambda: prove(Identity(), Limit(E(a * exp(-a * b)), a, oo), E(Limit(a * exp(-a * b), a, oo))),
    "a mean that is replaced by anything": lambda: prove(PutIn({E(a): n}, prove(Jensen(a), E(a / (a + b)), E(a) / (E(a) + b))), S.Zero, n / (n + b)),
    "a random symbol put in for one that is not": lambda: prove(
        PutIn({b: a}, prove(Jensen(a), E(a / (a + b)), E(a) / (E(a) + b))), S.Zero, E(a) / (E(a) + a)),
    "what is random outside a mean": lambda: prove(
        Applied(b + largest, b, prove(Evaluation(STANDARD, assumed=True), Var(score), d)), S.Zero, d + q[1]),
    "two laws of one component": lambda: Hypotheses(law=STANDARD).merged(
        Hypotheses(law=Population({q: (1, 0, 2), k: (1, 0, 1)}, d))),
    "a moment that is not assumed": lambda: prove(Evaluation(STANDARD, assumed=True), E(score**4), 3 * d**2 + 6 * d),
    "one pair of entries reused": lambda: prove(Evaluation(STANDARD, assumed=True), Var(score), d**2),
    "a field that is not tame": lambda: prove(
        ByParts(exp(s[j] ** 2)), E(Sum(s[j] * exp(s[j] ** 2), (j, 1, n))), S.Zero),
    # sums and integrals
    "a size in the summand": lambda: prove(
        ClosedSums(), Sum((whole - 1) * n, (whole, 1, n)), (n - 1) * n * (2 * n - 1) / 6),
    "a sum that starts elsewhere": lambda: prove(SumIdentity(), Sum(p[i], (i, 0, n)), S.One),
    "an integral that does not converge": lambda: prove(
        EulerIntegrals(w), Integral(exp(w), (w, 0, oo)), -S.One),
    "a square that is not real": lambda: prove(Sign(), S.Zero, (S.ImaginaryUnit * r) ** 2 * a + 0),
    "a surplus of complex squares": lambda: prove(
        Surplus((S.ImaginaryUnit * Sum(p[i] * x[i], (i, 1, n))) ** 2), Sum(p[i] * x[i], (i, 1, n)) ** 2, S.Zero),
    "a bound under a derivative": lambda: prove(
        Applied(Derivative(h * r, r), h, _square()), S.Zero, Derivative((r - 1) ** 2 * r, r)),
    "a bound replaced where it does not move one way": lambda: prove(
        Replaced(prove(Turned(prove(Sign(), S.Zero, S.One), r), S.Zero, r + 1)), r**2, (r + 1) ** 2),
    "an integral over values that its variable does not have": lambda: prove(
        Same(), Integral(sqrt(a**2), (a, -oo, oo)), Integral(sqrt(a**2), (a, -oo, oo))),
    "a strict sign at a closed end": lambda: prove(
        Sign(strict=True), S.Zero, 1 - r, Hypotheses().restricted(r, Interval(0, 1))),
    "a derivative by a whole number": lambda: prove(
        Applied(Derivative(h * whole, whole), h, _general()), S.Zero, Derivative((a**2 + 2 * a + 1) * whole, whole)),
    "a bound replaced under a derivative": lambda: prove(
        Replaced(prove(Turned(_square(), r**2), S.Zero, (r - 1) ** 2 + r**2)), Derivative(r**2, r), 4 * r - 2),
    "a family of another name": lambda: prove(
        PutIn({q.label: Symbol("w")}, prove(Evaluation(STANDARD, assumed=True), E(q[i] ** 2), S.One)), S.Zero, S.One),
    "a condition on a bound name": lambda: prove(
        Same(), Integral(1 / r, (r, -1, 1)), Integral(1 / r, (r, -1, 1)), Hypotheses().restricted(r, Interval.open(0, oo))),
    # poles, ends and sides on which a slope or a curvature says nothing
    "moved over a pole": lambda: prove(Replaced(_more()), -1 / y, -1 / (y + a)),
    "least beyond a pole": lambda: prove(AtItsLeast(a, S.Zero), 1 / (a - 1), S.NegativeOne),
    "rising over a pole": lambda: prove(Rising(r), S.One, -1 / (r - 1), FROM_ZERO),
    "rising over the poles of the tangent": lambda: prove(Rising(r), S.Zero, tan(r), FROM_ZERO),
    "convex on two sides of a pole": lambda: prove(Jensen(r, "≥"), E(1 / r**2), 1 / E(r) ** 2),
    "concave on two sides of a pole": lambda: prove(AtItsMost(r, S(2)), log(r**2) - r, log(S(4)) - 2),
    "flat but for a point": lambda: prove(AtItsMost(r, S.Zero), KroneckerDelta(r, 1), S.Zero),
    "moved to the other side of 0": lambda: prove(
        Replaced(prove(Turned(prove(Turned(prove(Sign(), S.Zero, a + b), -b), S.Zero, a)), S.Zero, -b)), a**2, b**2),
    "a hole that is positive where the sides are not": lambda: prove(Applied(w**2, w, _more()), S.Zero, (y + a) ** 2),
    # what stands for something else
    "a derivative by what is put in": lambda: prove(PutIn({b: a}, prove(Identity(), Derivative(a * b, a), b)), S.Zero, a),
    "a value for what is defined": lambda: prove(PutIn({b: S(5)}, _defined()), S.Zero, a**2),
    "a definition that a sum binds": lambda: prove(
        Replaced(prove(Unfolded({b: whole}), b, whole)), Sum(b, (whole, 1, n)), Sum(whole, (whole, 1, n))),
    "a definition that is random": lambda: chained(
        prove(Turned(prove(Evaluation(Population({a: (1, 2, 5)})), E(b), b)), S.Zero, E(b)),
        prove(Unfolded({b: a}), E(b), E(a), Hypotheses(law=Population({a: (1, 2, 5)})))),
    "a definition that is random elsewhere": lambda: chained(
        prove(Turned(prove(Evaluation(Population({c: (1, 2, 5)})), E(b * c), b * E(c))), S.Zero, E(b * c)),
        prove(Unfolded({b: a}), E(b * c), E(a * c), Hypotheses(law=Population({a: (1, 2, 5)})))),
    "a definition under a derivative": lambda: prove(Replaced(_defined()), Derivative(a * b, a), Derivative(a**3, a)),
    "a value for the largest score": lambda: prove(
        PutIn({largest: S(5)}, prove(LargestScore(), E(largest), sigma * sqrt(2 * log(n)))), S.Zero, sigma * sqrt(2 * log(n))),
    "a name that is a relation": lambda: prove(Same(), 2 * Symbol("x = 3"), 2 * Symbol("x = 3")),
    "a name with a rarer relation": lambda: prove(Same(), 2 * Symbol(r"V \lt 3"), 2 * Symbol(r"V \lt 3")),
    "a name with a slanted relation": lambda: prove(Same(), 2 * Symbol(r"V \leqslant 3"), 2 * Symbol(r"V \leqslant 3")),
    "a name that is a number": lambda: prove(Same(), Symbol("3"), Symbol("3")),
    "a twin that prints alike": lambda: prove(Same(), a + TWIN, a + TWIN),
    "a word that says it is a relation of SymPy's": lambda: prove(Same(), ALIEN, ALIEN),
    # laws
    "a constant without a law, random with one": lambda: chained(
        prove(SumIdentity(), r, E(r)), prove(Evaluation(Population({r: (1, 0, 1)}), assumed=True), E(r), S.Zero)),
    "a probability taken for a constant": lambda: prove(
        Evaluation(NORMAL_SCORES, assumed=True), E(p[1] * s[1]), S.Zero),
    "a mean of what is not averaged": lambda: prove(SumIdentity(), p[1], E(p[1])),
    "the largest score taken for a constant": lambda: prove(
        Evaluation(NORMAL_SCORES, assumed=True), E(largest), largest),
    "a probability put in for a constant": lambda: prove(
        PutIn({r: p[1]}, prove(Evaluation(NORMAL_SCORES, assumed=True), E(r * s[1]), S.Zero)), S.Zero, S.Zero),
    "an integral that runs backwards out of a domain": lambda: prove(
        Same(), Integral(a, (a, 1, -1)), Integral(a, (a, 1, -1))),
    "a derivative of an integral taken for one": lambda: prove(
        Primitive(y, a * y**2 / 2), Derivative(Integral(a * y, (y, 0, 1)), a), S.Zero),
    "infinity taken for a number": lambda: prove(
        Substituted(a, b, b**2), Integral(1 / a, (a, 1, oo)), Integral(2 / b, (b, 1, oo))),
    "one random symbol for two": lambda: prove(PutIn({a: b}, _product()), S.Zero, E(b) ** 2),
    "two random symbols for one": lambda: prove(PutIn({a: c, b: c}, _product()), S.Zero, E(c) ** 2),
    "two random symbols for one, in turn": lambda: chained(
        prove(PutIn({b: c}, prove(PutIn({a: c}, _product()), S.Zero, E(c) * E(b))), S.Zero, E(c) ** 2),
        prove(Evaluation(Population({c: (1, 0, 1)}), assumed=True), E(c) ** 2, S.Zero)),
    "a law that there is not": lambda: prove(
        Evaluation(Population({q: (1, 0, -1), k: (1, 0, 1)}, d), assumed=True), Var(score), -d),
    "a fourth moment that there is not": lambda: prove(
        Evaluation(Population({c: (1, 0, 1, 0, S.Half)}), assumed=True), E(c**4), S.Half),
    "a mean outside the domain": lambda: prove(
        Jensen(a), E(log(a)), log(E(a)), Hypotheses(law=Population({a: (1, -2, 5)}))),
    "weights that differ from term to term": lambda: prove(
        Evaluation(STANDARD, assumed=True), Var(Sum(c_i[i] * q[i] * k[i], (i, 1, d))), d * c_i[i] ** 2),
    # divided by 0
    "sums divided by 0": lambda: prove(
        SumIdentity(), (Sum(p[i], (i, 1, n)) - 1) / (Sum(p[j], (j, 1, n)) - 1), S(7)),
    "a surplus divided by 0": lambda: prove(
        Surplus(S.Zero), (Sum(p[i], (i, 1, n)) - 1) / (Sum(p[j], (j, 1, n)) - 1), S(7)),
    "what is divided by 0 as a definition": lambda: prove(Unfolded({b: c}), NOTHING_OVER_NOTHING, S(7)),
    "what is divided by 0 done to both sides": lambda: prove(
        Applied(h, h, prove(Same(), S(7), S(7))), S.Zero, NOTHING_OVER_NOTHING),
    # powers and terms
    "the root of a complex square": lambda: prove(Identity(), sqrt(complex_**2), complex_),
    "the cube root of a cube": lambda: prove(Identity(), cbrt(r**3), r),
    "the root of a complex exponential": lambda: prove(Identity(), sqrt(exp(complex_)), exp(complex_ / 2)),
    "first terms that are none": lambda: prove(FirstTerms(d, 0), 1 / d, S.Zero),
    "first terms of a negative order": lambda: prove(FirstTerms(a, -1), a / (a + e), S.Zero),
    # first terms, orders and laws
    "first terms of what grows as well": lambda: prove(
        FirstTerms(a, 1), a / (a + e), 1 - e / a, Hypotheses(definitions=((e, a**2),))),
    "first terms where something grows as well": lambda: prove(
        FirstTerms(a, 1), a / (a + e), 1 - e / a, Hypotheses(conditions=frozenset([Eq(e, a**2)]))),
    "first terms, bounded later": lambda: chained(
        prove(FirstTerms(a, 1), a / (a + e), 1 - e / a),
        prove(Same(), 1 - e / a, 1 - e / a, Hypotheses().restricted(a, Interval.open(0, 5)))),
    "first terms of a probability": lambda: prove(FirstTerms(n, 1), p[1] / (p[1] + 1 / n), 1 - 1 / (n * p[1])),
    "first terms of any function": lambda: prove(FirstTerms(a, 0), f(1 / a), f(0)),
    "an order of complex numbers": lambda: prove(Compared("<"), complex_, complex_ + 1),
    "an imaginary number's variance": lambda: prove(
        Evaluation(STANDARD, assumed=True), Var(S.ImaginaryUnit * q[1]), S.NegativeOne),
    "two entries that may be one": lambda: prove(
        PutIn({size: S.One}, prove(Evaluation(STANDARD, assumed=True), E(q[1] * q[size]), S.Zero)), S.Zero, S.Zero),
    "a constant that is an entry": lambda: prove(
        Evaluation(STANDARD, assumed=True), E(y * q[1]), S.Zero, Hypotheses(definitions=((y, q[1]),))),
    "a constant that is an entry, by sums": lambda: prove(
        SumIdentity(Families(variances={x: S.One})), E(y * x[1]), S.Zero, Hypotheses(definitions=((y, x[1]),))),
    "a constant that is a term": lambda: prove(
        AlikeTerms(STANDARD, i), E(Sum(y * q[i], (i, 1, d))), d * E(y * q[i]), Hypotheses(definitions=((y, q[1]),))),
    "probabilities taken for constants by sums": lambda: prove(
        SumIdentity(Families(variances={s: S.One}, made_of={})), E(s[1] * p[1]), S.Zero),
    "an entry before the first": lambda: prove(Surplus(p[0]), S.Zero, p[0]),
    "different laws of what is alike": lambda: prove(
        Evaluation(Population({q: (1, 0, 1), k: (1, 0, 2)}, d, alike=((q, k),)), assumed=True), E(q[1] ** 2), S.One),
    "a fourth moment that no normal number has": lambda: prove(
        Evaluation(Population({y: (1, 0, 1, 0, 7)}, normal=(y,)), assumed=True), E(y**4), S(7)),
    "a negative variance of a vector": lambda: prove(
        VectorMoments(Vectors(((VECTOR, 0),), ((VECTOR, VECTOR, -1),))), E(Trace(VECTOR.T * VECTOR)), -d),
    "a delta of indices from 0 and from 1": lambda: prove(
        VectorMoments(Vectors(((VECTOR, 0),), ((VECTOR, VECTOR, 1),))), E(VECTOR[size, 0] * VECTOR[0, 0]), KroneckerDelta(size, 1)),
    "moments by what moves unseen": lambda: prove(
        Moments(E(y**2), chained(_transform(), prove(Unfolded({h: r}), exp(-(r**2) / 2), exp(-h * r / 2)))), S.Zero, -(h**2) / 4),
    # poles, and what stands for something else
    "a value at a pole": lambda: prove(
        PutIn({r: pi / 2}, prove(Identity(), cos(r) * tan(r), sin(r))), S.Zero, S.One),
    "a value at a complex pole": lambda: prove(
        PutIn({complex_: S.ImaginaryUnit}, prove(Identity(), NOTHING_OVER_ITSELF, S.One)), S.Zero, S.One),
    "a binomial coefficient of a negative number": lambda: prove(
        PutIn({m: S.NegativeOne}, prove(Identity(), binomial(m, m), S.One)), S.Zero, S.One),
    "a family put in for a constant, differentiated by": lambda: prove(
        FamilyPutIn({c_i: ((i,), r)}, prove(Identity(), Derivative(c_i[1] * r, r), c_i[1])), S.Zero, r),
    "a recursion from what is differentiated by": lambda: chained(
        prove(Identity(), Derivative(f(size) * r, r), f(size)), _constant(r, NOTHING)),
    "a recursion from what is random": lambda: chained(
        prove(Turned(prove(Evaluation(SQUARED, assumed=True), E(f(size) * y), S.Zero)), S.Zero, E(f(size) * y)),
        prove(Replaced(_constant(y, Hypotheses(law=SQUARED))), E(f(size) * y), E(y**2))),
    # names and hypotheses that lie
    "a name that equals every name": lambda: prove(Same(), Symbol(EqualsAllNames("lying")), Symbol("lying")),
    "a family's name that equals every name": lambda: prove(
        Same(), IndexedBase(Symbol(EqualsAllNames("lying")))[1], IndexedBase("lying")[1]),
    "a function's name that equals every name": lambda: prove(
        Same(), Function(EqualsAllNames("lying"))(r), Function("lying")(r)),
    "a domain of what equals everything": lambda: prove(
        Same(), r, r, Hypotheses(domains=((EqualsAll("z"), Interval.open(0, oo)),))),
    "a domain that holds what equals everything": lambda: prove(
        Same(), r, r, Hypotheses(domains=((r, FiniteSet(EqualsAll("z"))),))),
    "a condition that equals everything": lambda: prove(
        Same(), r, r, Hypotheses(conditions=frozenset([EqualsAll("z")]))),
    "a law of what equals everything": lambda: prove(
        Evaluation(Population({EqualsAll("z"): (1, 0, 1)}), assumed=True), E(r), S.Zero),
    # families that are not what they are called
    "a family called as the probabilities are": lambda: prove(PutIn({a: IndexedBase("p")[1]}, _positive()), S.Zero, IndexedBase("p")[1]),
    "a family called P": lambda: prove(PutIn({a: IndexedBase("P")[1]}, _positive()), S.Zero, IndexedBase("P")[1]),
    "probabilities that are negative": lambda: prove(
        SumIdentity(Families(made_of={p: ((i,), -exp(x[i]))})), p[1], -exp(x[1])),
    "the largest score defined": lambda: prove(Unfolded({largest: S(5)}), largest - s[1], 5 - s[1]),
    "what is defined by itself, assumed": lambda: prove(Same(), a, a, Hypotheses(definitions=((a, a + 1),))),
    "a definition by an entry that is differentiated by": lambda: chained(
        prove(Identity(), Derivative(y * s[1], s[1]), y), prove(Unfolded({y: s[whole]}), y, s[whole])),
    "a definition by a probability, under a score": lambda: chained(
        prove(Identity(), Derivative(y * s[1], s[1]), y), prove(Unfolded({y: p[1]}), y, p[1])),
    "one value of an entry, differentiated": lambda: prove(
        Replaced(prove(Assuming((Eq(s[whole], 1),)), s[whole], S.One)), Derivative(s[whole] * r, s[1]), Derivative(r, s[1])),
    "one value of a probability, differentiated by a score": lambda: prove(
        Replaced(prove(Assuming((Eq(p[1], S.Half),)), p[1], S.Half)), Derivative(p[1] * r, s[1]), Derivative(r / 2, s[1])),
    # integrals
    "an infinite integral less another": lambda: prove(
        SplitAt(y, S.One), Integral(1, (y, 0, oo)), Integral(1, (y, 0, 1)) + Integral(1, (y, 1, oo))),
    "an integral cut at no real number": lambda: prove(
        SplitAt(y, S.ImaginaryUnit), Integral(exp(-y**2), (y, -oo, oo)),
        Integral(exp(-y**2), (y, -oo, S.ImaginaryUnit)) + Integral(exp(-y**2), (y, S.ImaginaryUnit, oo))),
    "an integral that may not converge in a mean": lambda: prove(
        EulerIntegrals(w), E(Integral(exp(-r * w), (w, 0, oo))), E(1 / r)),
    "an integral that may not converge in a variance": lambda: prove(
        GaussIntegrals(y), Var(Integral(exp(-r * y**2), (y, -oo, oo))), Var(sqrt(pi) * sqrt(1 / r))),
    "integrals that do not converge in a sum": lambda: prove(
        EulerIntegrals(w), Sum(Integral(exp(-i * w), (w, 0, oo)), (i, -3, 3)), Sum(1 / i, (i, -3, 3))),
    "a condition on a bound index": lambda: prove(
        Same(), Sum(1 / i, (i, -3, 3)), Sum(1 / i, (i, -3, 3)), Hypotheses(conditions=frozenset([i > 0]))),
    "an integral over any complex numbers": lambda: prove(
        Same(), Integral(complex_, (complex_, 0, 1)), Integral(complex_, (complex_, 0, 1))),
    "a negative third moment of a positive number": lambda: prove(
        Evaluation(Population({c: (1, 1, 2, -5)}), assumed=True), E(c**3), S(-5)),
    # names and classes of the kernel's own
    "a class that equals a rule": lambda: prove(FakeRule(), r, r + 1),
    "a class that equals a function": lambda: prove(Sign(strict=True), S.Zero, LyingWord(r)),
    "the name of a bound index in a normal form": lambda: prove(
        SumIdentity(Families(sizes={x: (n, n)})), Sum(x[i, Symbol("_0", integer=True)], (i, 1, n)), Sum(x[i, i], (i, 1, n))),
    "the name of the index of a total": lambda: prove(
        SumIdentity(), Sum(exp(x[i] * s[Symbol("_", integer=True)]), (i, 1, n)), Sum(exp(x[i] * s[i]), (i, 1, n))),
    "the name that a reader gives an index": _under_names_of_readers,
    "a negative variance with a name": lambda: prove(
        Evaluation(Population({r: (1, 0, -a)}), assumed=True), E(r**2), -a),
    # sums that run backwards, integrals that do not converge, variances of what is complex
    "a sum that runs backwards": lambda: prove(Sign(), S.Zero, Sum(whole, (whole, 5, 2))),
    "a sum that runs backwards, replaced": lambda: prove(Same(), Sum(whole, (whole, 3, 1)), Sum(whole, (whole, 3, 1))),
    "a sum to what is no whole number": lambda: prove(Same(), Sum(whole, (whole, 1, a)), Sum(whole, (whole, 1, a))),
    "a sum without end": lambda: prove(Sign(), S.Zero, Sum(whole, (whole, 1, oo))),
    "a sum that may run backwards under another": lambda: prove(
        Sign(), S.Zero, Sum(Sum(a, (j, i, 3)), (i, 1, n))),
    "an integral that is infinite, compared": lambda: prove(Compared("<"), INFINITE, INFINITE + 1),
    "an integral that is infinite, put in": lambda: prove(
        PutIn({r: INFINITE}, prove(Identity(), (r + 1) ** 2 - r**2 - 2 * r, S.One)), S.Zero, S.One),
    "an integral that is infinite, times a number": lambda: prove(
        Identity(), Integral(a / w, (w, 0, 1)) + 1, 1 + Integral(a / w, (w, 0, 1)) * (r / r)),
    "an integral that swings": lambda: prove(Identity(), Integral(cos(y), (y, 0, oo)) * r, r * Integral(cos(y), (y, 0, oo))),
    "an integral over a pole": lambda: prove(
        Identity(), Integral(1 / y**2, (y, -1, 1)) * r, r * Integral(1 / y**2, (y, -1, 1))),
    "a variance times a complex number": lambda: prove(Evaluation(STANDARD, assumed=True), Var(complex_ * q[1]), complex_**2),
    "a variance times any function": lambda: prove(Evaluation(STANDARD, assumed=True), Var(f(r) * q[1]), f(r) ** 2),
    "a variance times a complex number, by sums": lambda: prove(
        SumIdentity(Families(variances={x: S.One})), Var(complex_ * x[1]), complex_**2),
    "a variance times a negative root": lambda: prove(
        PutIn({r: S(-2)}, prove(Evaluation(STANDARD, assumed=True), Var(sqrt(r) * q[1]), r)), S.Zero, S(-2)),
    # hypotheses that are never true
    "a mean of 1 that is 2": lambda: prove(Evaluation(Population({y: (2, 0, 2)}), assumed=True), E(y**2), S(2)),
    "a recursion that divides by 0": lambda: prove(
        Induction(m_0, {f(0): S.Zero}, {f(m_0 + 1): f(m_0) / (m_0 - 3)}, {f(m_0): S.Zero}), f(size), S.Zero),
    "a definition outside what a symbol is assumed to be": lambda: prove(
        Sign(), S.Zero, a, Hypotheses(definitions=((a, -b),))),
    "a definition of a number": lambda: prove(Same(), a, a, Hypotheses(definitions=((S.One, S(2)),))),
    "a domain of a number": lambda: prove(Same(), a, a, Hypotheses(domains=((S(2), Interval(0, 1)),))),
    **{f"the domain {about}": partial(prove, Sign(), S.Zero, one, Hypotheses(domains=((one, domain),)))
       for about, one, domain in (
        ("of whole numbers downwards", whole, Range(5, -oo, -1)), ("of every other whole number", whole, Range(10, 0, -2)),
        ("up to a symbol", r, Interval(0, a)), ("without a number", whole, Range(3, 3)),
        ("outside what is assumed", a, FiniteSet(-1)), ("of a set by a condition", r, ConditionSet(r, r**2 > 3)))},
    **{f"the law on {domain} of moments {moments}": partial(
            prove, Evaluation(Population({r: moments}), assumed=True), E(r**2), S(moments[2]), NOTHING.restricted(r, domain))
       for domain, moments in (
        (S.Reals, (1, 0, 0, 0, 1)), (S.Reals, (1, 0, 0, 0, -1)), (S.Reals, (1, 0, 1, 1, 1)), (S.Reals, (1, 0, 1, 0, 1, 0, 2)),
        (Interval(-1, 1), (1, 0, 4)), (Interval(1, oo), (1, 1, 2)), (Interval(0, oo), (1, 1, 2, 3)),
        (Interval(-oo, 0), (1, 1, 2)), (Range(0, 3), (1, 1, 9)))},
    "a symmetric matrix that is not square": lambda: prove(
        MatrixIdentity((OBLONG,)), OBLONG[0, 1], OBLONG[1, 0]),
    "one law of what is in different domains": lambda: prove(
        Evaluation(Population({r: (1, 0, 1), y: (1, 0, 1)}, alike=((r, y),)), assumed=True), E(r), S.Zero,
        NOTHING.restricted(r, Interval(-5, oo))),
    "a mean that is random": lambda: prove(
        Evaluation(Population({r: (1, y, 2), y: (1, 0, 1)}), assumed=True), E(r * y), S.Zero),
    "a normal law of what is positive": lambda: prove(
        Evaluation(Population({a: (1, 1, 2)}, normal=(a,)), assumed=True), E(a), S.One),
    "a condition that is false": lambda: prove(Same(), a, a, Hypotheses(conditions=frozenset([S.false]))),
    **{f"the assumption {one}": partial(prove, Assuming((one,)), one.lhs, one.rhs) for one in (
        Eq(S.Zero, 1, evaluate=False), Eq(pi, 3, evaluate=False), Eq(a * b, -1, evaluate=False),
        Eq(exp(r), -1, evaluate=False), Eq(r**2 + y**2, -1, evaluate=False), Eq(n, S.Half, evaluate=False))},
    **{f"the contradiction {about}": partial(prove, Assuming(given), Add(*(one.lhs for one in given)), Add(*(one.rhs for one in given)))
       for about, given in {
        "of a square": (Eq(x[1]**2, -1),),
        "of two values": (Eq(x[1], 1, evaluate=False), Eq(x[2], 2)),
        "of a power": (Eq(a**3, a**2),),
        "of a mean": (Eq(E(r), E(r**2) + 1),),
        "of a variance": (Eq(Var(r), -1),),
        "with a domain": (Eq(a, -b, evaluate=False),),
        "with an order": (Eq(p[1], 2),),
    }.items()},
    # names that read as others
    "a name that is printed as another": lambda: prove(
        Identity(), (Symbol("d_{k}") + 1) * d, Symbol("d_{k}") * d + d),
    "a name with something unseen": lambda: prove(Same(), Symbol("a\u200b"), Symbol("a\u200b")),
    "a name that looks like a mean": lambda: prove(Same(), Symbol(r"\operatorname{Var}(q)"), Symbol(r"\operatorname{Var}(q)")),
    **{f"a name that is an expression, {name}": partial(prove, Same(), Symbol(name), Symbol(name)) for name in (
        "d_k^2", "d_k__2", "d_k*2", "d_k 2", "d+1", "d!", "pi", "ln", r"\frac{d}{2}", r"\sqrt d", r"\,2d", r"x_{a}2d_{b}",
        r"\hat{2d}", "|2d|")},
    "a matrix whose name is an expression": lambda: prove(Same(), *[MatrixSymbol("2W", 2, 2)] * 2),
    "a function called as a logarithm": lambda: prove(Same(), Function("ln")(r), Function("ln")(r)),
    "a function called as a variance": lambda: prove(Same(), Function("Var")(r), Function("Var")(r)),
    # covariances that no vectors have
    "a covariance assumed beyond what both vary": lambda: _assumed_covariance((3, lambda own: 2 * own)),
    "a covariance assumed times any number": lambda: _assumed_covariance((3, lambda own: r * own)),
    "no covariance assumed of two that are a third": lambda: _assumed_covariance((3, lambda own: 0 * own), named="AAACAA"),
    "a variance assumed": lambda: _assumed_covariance((1, lambda own: -own)),
    "three covariances assumed, each against each": lambda: _assumed_covariance(
        *((place, lambda own: -own) for place in (3, 4, 5))),
    **{f"covariances {about}": partial(_covariances, *given) for about, given in {
        "beyond both variances": ((0, 0, 1), (1, 1, 1), (0, 1, 2)),
        "with what does not vary": ((0, 0, 0), (1, 1, 1), (0, 1, 1)),
        "three, each against each": ((0, 0, 1), (1, 1, 1), (2, 2, 1), (0, 1, -1), (1, 2, -1), (0, 2, -1)),
        "in a ring, some not given": ((0, 0, 1), (1, 1, 1), (2, 2, 1), (0, 1, Rational(9, 10)), (1, 2, -1)),
        "beside what is not given": ((0, 1, 2),),
        "by a number beside a matrix": ((0, 0, COVARIANCE), (1, 1, COVARIANCE), (0, 1, 2)),
        "by a complex number": ((0, 0, S.ImaginaryUnit),),
        "by what may be complex": ((0, 0, complex_),),
        "below 0 with a name": ((0, 0, -a),),
        "beyond both variances with names": ((0, 0, a), (1, 1, a), (0, 1, a + b)),
    }.items()},
    # symbols that assume more than a domain says, and names that print alike
    "a number that is even": lambda: prove(PutIn({NARROW_EVEN: S(3)}, prove(Sign(), S.Zero, r**NARROW_EVEN)), S.Zero, r**3),
    "a number that is not positive": lambda: prove(PutIn({BELOW: S(5)}, prove(Sign(), S.Zero, -BELOW)), S.Zero, S(-5)),
    "a negative whole number": lambda: prove(PutIn({BELOW_0: S(5)}, prove(Sign(), S.Zero, -BELOW_0)), S.Zero, S(-5)),
    "a whole number that is not 0": lambda: prove(
        PutIn({NOT_0: S.Zero}, prove(Sign(strict=True), S.Zero, NOT_0**2)), S.Zero, S.Zero),
    "a family with a shape beside that without": lambda: prove(
        Evaluation(Population({c_i: (1, 0, 1)}), assumed=True), E(c_i[1] * IndexedBase("c", shape=(5,))[1]), S.Zero),
    "an index with a range beside that without": lambda: prove(
        SumIdentity(), Sum(x[i], (Idx("i", (1, 3)), 1, n)), n * x[i]),
    "an index called as a number": lambda: prove(SumIdentity(), Sum(whole, (Idx(whole), 1, n)), n * whole),
    # what is random in a law, and a constant to a rule
    "a random number beside the law of a rule": lambda: prove(
        Evaluation(Population({q: (1, 0, 1)}, d), assumed=True), E(r**2 * q[1]**2), E(r * q[1]**2) ** 2,
        Hypotheses(law=Population({r: (1, 0, 1)}))),
    "a transform with less of its law": _with_less_of_a_law,
    "a random number that becomes a function of another, by a definition": lambda: prove(
        PutIn({a: c}, prove(Evaluation(RANDOM_C), E(a * b), E(a) * E(b), Hypotheses(definitions=((c, b**2),)))), S.Zero, E(c) * E(b)),
    "a constant that is random by a definition": _constant_that_is_random,
    # names in a law
    "a variance by what a sum binds": lambda: prove(
        Applied(Sum(h, (whole, 1, n)), h, _variance(whole)), S.Zero, Sum(whole, (whole, 1, n))),
    "a variance integrated over": lambda: prove(Integrated(a, 0, 1, (), _variance(a)), S.Zero, Integral(a, (a, 0, 1))),
    "a variance differentiated by": lambda: prove(Applied(Derivative(h * a, a), h, _variance(a)), S.Zero, 2 * a),
    "a variance by a family that is put in": lambda: prove(
        FamilyPutIn({c_i: ((i,), S(2))}, _variance(c_i[1] ** 2)), S.Zero, S(4)),
    "scores put in beside the largest": lambda: prove(
        FamilyPutIn({s: ((i,), S.Zero)}, prove(OneOfAll(), largest**2, Sum(s[i] ** 2, (i, 1, n)))), S.Zero, Sum(0, (i, 1, n))),
    "a number of keys put in beside the largest": lambda: prove(
        PutIn({n: S.One}, prove(LargestScore(), E(largest), sigma * sqrt(2 * log(n)))), S.Zero, S.Zero),
    "a sum over numbers of keys beside the largest": lambda: prove(
        Applied(Sum(h, (n, 1, size)), h, prove(LargestScore(), E(largest), sigma * sqrt(2 * log(n)))),
        S.Zero, Sum(sigma * sqrt(2 * log(n)), (n, 1, size))),
    # slopes and curvatures along what is not the whole domain
    "convex by a curvature on two pieces": lambda: prove(
        Jensen(r, "≥", _positive_where(r**2 - b, NOTHING)), E(r**4 / 12 - b * r**2 / 2), E(r) ** 4 / 12 - b * E(r) ** 2 / 2),
    "rising by a slope on two pieces": lambda: prove(
        Rising(r, _positive_where((r - 1) * (r - b))), S.Zero, r**3 / 3 - (1 + b) * r**2 / 2 + b * r, FROM_ZERO),
    "rising by a slope where something else is the variable": lambda: prove(
        Rising(r, _on_a_diagonal()), S.Zero, r**2 / 2 - y * r, FROM_ZERO),
    "concave on two pieces by a condition": lambda: prove(
        AtItsMost(r, 1 + sqrt(1 + b)), log(r**2 - b) - r, log((1 + sqrt(1 + b)) ** 2 - b) - 1 - sqrt(1 + b),
        Hypotheses(conditions=frozenset([r**2 - b > 0]))),
    # single values, and orders
    "first terms that are others at one value": lambda: prove(FirstTerms(a, 1), r / (r * a + b), 1 / a),
    "a power of what may be 0 whose exponent falls to 0": lambda: chained(
        prove(Same(), S.One, S.One, NOTHING.restricted(FROM_0_ON, Interval(0, 0))),
        prove(Turned(prove(AtLimit(), Limit(FROM_0_ON**a, a, 0, "+"), S.One)), S.Zero, Limit(FROM_0_ON**a, a, 0, "+"))),
    "sums in another order whose ends name each other": lambda: prove(
        Exchanged(), Sum(Sum(a, (j, 1, i**2)), (i, 1, n)), Sum(Sum(a, (i, 1, n)), (j, 1, i**2))),
    "a side of an equation that depends on what is differentiated by": lambda: prove(
        Equivalent(sides=prove(Turned(prove(Unfolded({b: a**2}), b, a**2)), S.Zero, b)),
        Eq(Derivative(a**2, a), 1, evaluate=False), Eq(S.Zero, 1, evaluate=False)),
    "a side of an equation at one entry": lambda: prove(
        Equivalent(sides=prove(Assuming((Eq(s[whole], 1),)), s[whole], S.One)),
        Eq(Derivative(s[whole] * r, s[1]), 1, evaluate=False), Eq(Derivative(r, s[1]), 1, evaluate=False)),
    "the logarithm of a turn": lambda: prove(
        SumIdentity(), log(exp(2 * pi * S.ImaginaryUnit * i * x[1])), 2 * pi * S.ImaginaryUnit * i * x[1]),
    # a variable that stands for something
    "a large number that is 5": lambda: chained(
        prove(FirstTerms(a, 1), a / (a + e), 1 - e / a), prove(Unfolded({a: S(5)}), 1 - e / a, 1 - e / 5)),
    "a limit as a number grows that is 5": lambda: prove(
        Between(a, prove(Sign(), S.Zero, S.One), chained(
            prove(Compared("≤"), S.One, S.One), prove(Unfolded({a: S(5)}), S.One, 5 / a))), S.Zero, S.Zero),
    "a sum over what is 3": lambda: prove(
        Applied(Sum(h, (whole, 1, n)), h, prove(Unfolded({whole: S(3)}), whole, S(3))), S.Zero, Sum(3, (whole, 1, n))),
    "rising along what is 5": lambda: prove(
        Rising(r, chained(prove(Sign(), S.Zero, S.Zero, FROM_ZERO), prove(Unfolded({r: S(5)}), S.Zero, 5 - r, FROM_ZERO))),
        S.Zero, 5 * r - r**2 / 2, FROM_ZERO),
    # the largest score and indices, taken for constants
    "the largest score differentiated by a score": lambda: prove(
        SumIdentity(), Derivative(largest * s[1], s[1]), largest),
    "probabilities that are made of nothing, differentiated by a score": lambda: prove(
        SumIdentity(Families(made_of={})), Derivative(p[1] * s[1], s[1]), p[1]),
    "probabilities with a law of their own": lambda: prove(
        Evaluation(Population({p: (1, 5, 26)}), assumed=True), E(p[1]), S(5)),
    "the largest score with a law of its own": lambda: prove(
        Evaluation(Population({largest: (1, 0, 1)}), assumed=True), E(largest), S.Zero),
    "a field with the largest score": lambda: prove(
        ByParts(-(sigma**2) * largest), E(Sum(s[j] * largest, (j, 1, n))), S.Zero),
    "a field that is made of scores": lambda: prove(
        ByParts(-(sigma**2) * y), E(Sum(s[j] * y, (j, 1, n))), S.Zero, Hypotheses(definitions=((y, s[1]),))),
    "an index of entries that is a number": lambda: prove(
        VectorMoments(Vectors(((VECTOR, 0),), ((VECTOR, VECTOR, 1),))), E((i - 1) * VECTOR[i, 0] * VECTOR[0, 0]), S.Zero),
    # a variable that a law or a place depends on, that stands for something, or entries of two vectors
    "moments by what the mean depends on": lambda: prove(Moments(E(y), _wave(r, S.One)), S.Zero, S.Zero),
    "moments by what the variance depends on": lambda: prove(Moments(E(y**4), _wave(S.Zero, r**2 + 1)), S.Zero, S(-9)),
    "moments by what stands for something": lambda: prove(
        Moments(E(y), chained(_wave(S.Zero, S.One), prove(Unfolded({r: b}), exp(-(r**2) / 2), exp(-b * r / 2)))),
        S.Zero, S.ImaginaryUnit * b / 2),
    "a variance that is 5": lambda: prove(
        NormalGiven(NORMAL_Y, y, y, chained(
            prove(GaussIntegrals(h), Integral(exp(r * h) * normal_density(h, w), (h, -oo, oo)), exp(r**2 * w / 2)),
            prove(Unfolded({w: S(5)}), exp(r**2 * w / 2), exp(r**2 * 5 / 2))), w), E(exp(r * y)), exp(r**2 * 5 / 2)),
    "a standard deviation of scores that is 5": lambda: prove(
        OverQueries(Sum(q[i] ** 2, (i, 1, d)), k, S.One, chained(
            prove(Evaluation(SCORES, assumed=True), E(s[1] ** 2), sigma**2, Hypotheses(law=NORMAL_SCORES)),
            prove(Unfolded({sigma: S(5)}), sigma**2, S(25)))), S.Zero, E(S(25))),
    "a density at what the number depends on": _density_at_its_factor,
    "a density given others at what the number depends on": lambda: prove(
        DensityGiven(NORMAL_Y, y, a * y), density(a * y, a), E(normal_density(a, a**2))),
    "one vector along, and another across": lambda: prove(
        AlongAndAcross(NORMAL_VECTORS, k, Sum(q[i] * k[1, i], (i, 1, d)), w, e),
        E(exp(-Sum(q[i] * k[1, i], (i, 1, d)) ** 2 / Sum(q[i] ** 2, (i, 1, d)) - Sum(k[2, i] ** 2, (i, 1, d)))),
        Integral(exp(-2 * w**2 - e) * 2 * normal_density(w, 1) * chi_square_density(e, d - 1), (w, 0, oo), (e, 0, oo))),
    "two vectors by one letter": lambda: prove(
        WhichCoincide(Population(dict.fromkeys((x, q), (1, 0, 1)), d, alike=((x, q),)), x, size_1, (q, q)),
        E(Sum(x[i, i_2] * x[j, i_2], (i, 1, size_1), (j, 1, size_1))), size_1**2 * E(q[i_2] ** 2)),
    "an imaginary mean cube": lambda: prove(
        Evaluation(Population({c_i: (1, 0, 1, S.ImaginaryUnit)}), assumed=True), E(c_i[1] ** 3), S.ImaginaryUnit),
    "the chance to be below the largest of as many": lambda: prove(
        CentralLimit(Population({q: (1, 0, 1)}, n)),
        Limit(E((1 + sign(largest - Sum(q[i], (i, 1, n)) / sqrt(n))) / 2), n, oo), (1 + erf(largest / sqrt(2))) / 2),
    "first terms beside the largest of as many": lambda: prove(
        AboutTheMean(Population({q: (1, 0, 1, 0, 3, 0, 15, 0, 105)}, n, normal=(q,)), Sum(q[i] ** 2, (i, 1, n)), w),
        largest * E(exp(-Sum(q[i] ** 2, (i, 1, n)) / n)), largest * exp(-1) * (1 + 1 / n)),
    # hypotheses that contradict each other
    "a normal number that is bounded": lambda: chained(
        prove(Evaluation(Population({x: (1, 0, a)}, normal=(x,)), assumed=True), a, E(x[1] ** 2)),
        prove(Applied(E(h), h, prove(Surplus((M - x[1]) * (M + x[1]), bounded=True), x[1] ** 2, M**2)), S.Zero, E(M**2))),
    "an index beyond where it runs": lambda: chained(
        prove(SumIdentity(), Sum(x[i] * KroneckerDelta(i, whole), (i, 1, n)), x[whole]),
        prove(Assuming((Eq(whole, n + 1, evaluate=False),)), x[whole], x[n + 1])),
    "an equation against an inequality": lambda: chained(
        _positive_where(a - b), prove(Assuming((Eq(b, a + 1, evaluate=False),)), a - b, S.NegativeOne)),
    "two recursions of one function": lambda: chained(
        prove(Turned(prove(PutIn({size: size + 1}, _constant(S(3), NOTHING)), S.Zero, S(3))), S.Zero, f(size + 1)),
        _from_one_on(S(5))),
    # what is set behind the back of a theorem, or of its law
    "hypotheses taken away from a premise": lambda: prove(PutIn({r: S(-5)}, _bare(_positive_where(r, NOTHING))), S.Zero, S(-5)),
    "a law changed after its moments were found": _changed_law,
    # what depends on a number that grows
    "first terms in what the law has a moment of": lambda: chained(
        prove(FirstTerms(a, 1), E(y**2) * a / (a + 1), E(y**2) * (1 - 1 / a)),
        prove(Evaluation(Population({y: (1, 0, a)}), assumed=True), E(y**2) * (1 - 1 / a), a - 1)),
    "first terms in a bound of entries": lambda: prove(
        FirstTerms(M, 1), x[1] * M / (M + 1), x[1] - x[1] / M, Hypotheses(entries=frozenset([("bounded", x, M)]))),
    "the largest of many scores, by another name": lambda: _of_any_size(n, Hypotheses(definitions=((y, largest),))),
    "a probability among many, by another name": lambda: chained(
        prove(FirstTerms(n, 1), y * n**2 / (n + 1), y * n - y + y / n),
        prove(Unfolded({y: p[1]}), y * n - y + y / n, p[1] * n - p[1] + p[1] / n)),
    # hypotheses that deny each other
    "a random number above another for sure": lambda: chained(
        _averaged_where(y - a), prove(Evaluation(SQUARED, assumed=True), E(y - a), -a)),
    "a random number with larger moments than its bound": lambda: chained(
        prove(Evaluation(Population({x: (1, 0, 5)}), assumed=True), S(5), E(x[1] ** 2)),
        prove(Applied(E(h), h, prove(PutIn({M: S.One}, prove(
            Surplus((M - x[1]) * (M + x[1]), bounded=True), x[1] ** 2, M**2)), S.Zero, S.One)), S.Zero, E(S.One))),
    "probabilities of random scores in order": lambda: prove(
        Surplus((p[1] - p[2]) * p[2], ordered=True), E(p[2] ** 2), E(p[1] * p[2]), Hypotheses(law=NORMAL_SCORES)),
    "a variance below 0 by a domain": lambda: reduce(chained, (
        prove(Sign(), S.Zero, E(y**2)), prove(Evaluation(Population({y: (1, 0, r)}), assumed=True), E(y**2), r),
        prove(Compared("≤"), r, S(-1), NOTHING.restricted(r, Interval(-oo, -1))))),
    "a number outside its domain by a definition": lambda: chained(
        prove(Sign(), S.Zero, r - 5, NOTHING.restricted(r, Interval(5, oo))), prove(Unfolded({r: S(2)}), r - 5, S(-3))),
    "a number less than another by a definition": lambda: chained(
        _positive_where(r - y, NOTHING), prove(Unfolded({r: y - 1}), r - y, S.NegativeOne)),
    "a mean below 0 of what is positive": lambda: reduce(chained, (
        prove(Sign(), S.Zero, E(a)), prove(Evaluation(Population({a: (1, r)}), assumed=True), E(a), r),
        prove(Compared("≤"), r, S(-1), NOTHING.restricted(r, Interval(-oo, -1))))),
    "the largest score below one": lambda: prove(Assuming((Eq(largest, s[1] - 1, evaluate=False),)), largest, s[1] - 1),
    "a score above the largest": lambda: prove(Assuming((Eq(s[2], largest + 1, evaluate=False),)), s[2], largest + 1),
    "more than twice what is alike": lambda: chained(
        _averaged_where(a - 2 * b, ALIKE), prove(Evaluation(ALIKE), E(a - 2 * b), -E(b))),
    "each of two is more than the other": lambda: chained(
        _positive_where(a - b, NOTHING), prove(Same(), a - b, a - b, Hypotheses(conditions=frozenset([b - a > 0])))),
    # what prints alike
    "two kinds of families of one name": lambda: prove(
        Evaluation(Population({c_i: (1, 0, 1)}), assumed=True), E(c_i[1] * OrderedBase(c_i.label)[1]), S.Zero),
    "a number called as an entry": lambda: prove(
        Evaluation(Population({c_i: (1, 0, 1)}), assumed=True), E(c_i[1] * Symbol("c_1", real=True)), S.Zero),
    "a number called as a term of a sum": lambda: prove(
        ClosedSums(), Sum(Symbol("x_j", real=True), (whole, 1, n)), n * Symbol("x_j", real=True)),
    "a number called as a function of an index": lambda: prove(
        ClosedSums(), Sum(Symbol("f(j)", real=True), (whole, 1, n)), n * Symbol("f(j)", real=True)),
    "a number called as a function that is differentiated": lambda: prove(
        Identity(), Derivative(Symbol("f(r)", real=True) * r, r), Symbol("f(r)", real=True)),
    "a function called as the gamma function": lambda: _called("Gamma"),
    "a function called as one of Bessel's": lambda: _called("K_1"),
    "a function called as a largest": lambda: _called("max"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_makes_a_theorem(attack: str) -> None:
    """Each is refused, in a line."""
    with pytest.raises((Refused, TypeError, AttributeError)) as caught:
        made = ATTACKS[attack]()
        if isinstance(made, Theorem) and not is_theorem(made):
            raise Refused("not a theorem of this process")
    assert str(caught.value)


def test_what_is_asked_outside_of_a_theorem_is_not_remembered_inside() -> None:
    """An answer about an object that lies is none about what it claims to equal."""
    assert same(EqualsOne("k"), S(2))
    with pytest.raises(Refused):
        prove(Identity(), S.One, S(2))


def test_a_pickled_theorem_is_proved_again() -> None:
    """What is loaded is what its rule makes of its premises, however it was written."""
    theorem = chained(_general(), prove(Identity(), a**2 + 2 * a + 1, (1 + a) ** 2))
    loaded = pickle.loads(pickle.dumps(theorem))  # noqa: S301  # our own
    assert is_theorem(loaded)
    assert (loaded.lhs, loaded.relation, loaded.rhs) == (theorem.lhs, theorem.relation, theorem.rhs)


def test_a_copy_is_proved_again() -> None:
    """A copy is a theorem of its own."""
    assert is_theorem(copy.deepcopy(_general()))


def test_a_forged_theorem_is_none() -> None:
    """Nor is one whose sides were changed behind its back."""
    assert not is_theorem(_forged())
    assert not is_theorem(_edited())
    assert not is_theorem(FakeTheorem())


def test_covariances_and_sums_hold_where_they_are_possible() -> None:
    """What is not decided is a hypothesis: a variance by a symbol, the end of a sum, what a root is of."""
    assert _covariances((0, 0, r)).hypotheses.domain(r) == Interval(0, oo)
    both = _covariances((0, 0, a), (1, 1, b), (0, 1, r))
    assert both.hypotheses.conditions == {a * b - r**2 >= 0}
    assert _covariances((0, 0, 1), (1, 1, 1), (0, 1, -1)).hypotheses.conditions == frozenset()
    squares = prove(Sign(), S.Zero, Sum(x[i] ** 2, (i, 5, n)))
    assert squares.hypotheses.domain(n).inf == 4
    spread = prove(Evaluation(STANDARD, assumed=True), Var(sqrt(1 - r**2) * q[1]), 1 - r**2)
    assert spread.hypotheses.domain(r) == Interval(-1, 1)


def test_only_the_kernel_makes_theorems() -> None:
    """No other module of ours names the seal or the maker's parts, and the kernel imports nothing of ours."""
    package = Path(verify.__file__).parent
    kernel = package / "symbolic" / "kernel"
    for path in package.rglob("*.py"):
        text = path.read_text("utf-8")
        if path.is_relative_to(kernel):
            imports = [
                one.module or "" for one in ast.walk(ast.parse(text)) if isinstance(one, ast.ImportFrom)
            ]
            assert all(
                one.startswith("verify.symbolic.kernel") for one in imports if one.startswith("verify")
            ), path
        elif "_made" in text:
            names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
            assert "_made" not in names, path
        assert path.is_relative_to(kernel) or "object.__new__(Theorem)" not in text


def test_every_rule_is_a_frozen_record_of_the_kernel() -> None:
    """A rule that could change after it was applied could not be replayed."""
    for kind in RULES:
        assert kind.__module__.startswith("verify.symbolic.kernel.")
        assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
        assert kind.__doc__


def test_reviewed_stays_below_proved() -> None:
    """Whatever is made of a reviewed theorem is reviewed at most."""
    given = prove(Reviewed("its author says so"), a, b)
    assert given.reach is Reach.REVIEWED
    assert chained(given, prove(Identity(), b, b * 1)).reach is Reach.REVIEWED
    assert prove(Replaced(given), a + 1, b + 1).reach is Reach.REVIEWED
    assert prove(PutIn({a: c}, given), S.Zero, b).reach is Reach.REVIEWED


def test_conditions_stay() -> None:
    """A division is right only where its denominator is not 0, and the theorem says so."""
    theorem = prove(Identity(), (r**2 - 1) / (r - 1), r + 1)
    assert not theorem.hypotheses.domain(r).contains(1)


def test_the_chain_keeps_all_hypotheses() -> None:
    """What either premise assumes, the conclusion assumes."""
    first = prove(Identity(), (r**2 - 1) / (r - 1), r + 1)
    second = prove(Identity(), r + 1, (r**2 + r) / r)
    domain = chained(first, second).hypotheses.domain(r)
    assert not domain.contains(0)
    assert not domain.contains(1)


def test_a_rule_is_not_changed_by_replacing_its_fields() -> None:
    """A premise that is exchanged makes another theorem, or none."""
    first = _general()
    other = prove(Same(), a, a)
    chain: Any = chained(first, prove(Same(), first.rhs, first.rhs)).rule
    with pytest.raises(Refused):
        prove(replace(chain, first=other), first.lhs, first.rhs)
