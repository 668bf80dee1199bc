"""The second net: what is false is refuted, what is true is not, and each point is counted once."""

import time
from dataclasses import dataclass, replace
from typing import Any

import pytest
from flint import arb
from sympy import (
    Abs, Derivative, Eq, Function, Idx, IndexedBase, Integral, KroneckerDelta, Limit, MatrixSymbol,
    Range, Rational, S, Sum, Symbol, Trace, erf, exp, gamma, log, oo, pi, sqrt, symbols, tanh,
)  # fmt: skip

from verify.symbolic import quadrature
from verify.symbolic.arithmetics import Unknown
from verify.symbolic.falsifier import CORNERS, FULL, Counterexample, falsify, falsify_all, tried_over
from verify.symbolic.kernel.core import Chain, Reviewed, Same, prove
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Population
from verify.symbolic.kernel.words import E, M, Var, largest, n, p, s, sigma, x

pytestmark = pytest.mark.slow  # of the former core, which is no longer worked on

R = Rational


@dataclass(frozen=True)
class Candidate:
    """A statement that was not proved."""

    lhs: Any
    relation: str
    rhs: Any
    hypotheses: Hypotheses = NOTHING
    order: tuple[Any, int] | None = None


d = Symbol("d", integer=True, positive=True)
i, j = Idx("i"), Idx("j")
q, k = IndexedBase("q", real=True), IndexedBase("k", real=True)
a, c, e, m, w, y, T = symbols("a c e m w y T", positive=True)
t, z = symbols("t z", real=True)
kappa_q, kappa_k, sq, sk = symbols("kappa_q kappa_k sigma_q sigma_k", positive=True)
gamma_q, gamma_k, mu_q, mu_k = symbols("gamma_q gamma_k mu_q mu_k", real=True)
SCORE = Sum(q[i] * k[i], (i, 1, d))


def law(of_q: tuple[Any, ...], of_k: tuple[Any, ...] | None = None) -> Hypotheses:
    """Return the hypotheses of independent components of two vectors."""
    return Hypotheses(law=Population({q: of_q, k: of_k or of_q}, d))


STANDARD, LIKE_NORMAL = law((1, 0, 1)), law((1, 0, 1, 0, 3))
OF_SHAPES = law((1, 0, 1, gamma_q, kappa_q), (1, 0, 1, gamma_k, kappa_k))
GENERAL = law((1, mu_q, mu_q**2 + sq**2), (1, mu_k, mu_k**2 + sk**2))
ANY = Hypotheses(law=Population({t: None}))
ANY_LENGTH = Hypotheses(law=Population({y: None}))
SOFTMAX = exp(s[i]) / Sum(exp(s[j]), (j, 1, n))
NORMAL = Hypotheses(law=Population({s: (1, 0, sigma**2)}, None, normal=(s,)), definitions=((p[i], SOFTMAX),))
ORDERED = Hypotheses(entries=frozenset([("ordered", p)]))
BOUNDED = Hypotheses(entries=frozenset([("bounded", x, M)]))

KURTOSIS = E(SCORE**4) / E(SCORE**2) ** 2
SPREAD = Var(SCORE)
CAPPED = E((SCORE / sqrt(d)) ** 2 - c**2 * tanh(SCORE / sqrt(d) / c) ** 2)
TOTAL = log(Sum(exp(s[j]), (j, 1, n)))
SQUARES = Sum(p[i] ** 2, (i, 1, n))
ENTROPY = -Sum(p[i] * log(p[i]), (i, 1, n))
ENTRY = p[i] * (KroneckerDelta(i, j) - p[j])
FORM = Sum(x[i] * ENTRY * x[j], (i, 1, n), (j, 1, n))
NORM = Sum(x[i] ** 2, (i, 1, n))
CHI = Integral(w ** (d / 2 - 2) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2)), (w, 0, oo))
MEAN_TOTAL = Integral(
    n * w ** (d / 2 - 1) * exp(-w / 2) * exp(w / (2 * d)) / (2 ** (d / 2) * gamma(d / 2)), (w, 0, oo)
)
FROM_TWO = NOTHING.restricted(d, Range(2, oo))
NON_ZERO = Symbol("u", real=True, nonzero=True)
WHOLE = Symbol("r", integer=True)

FALSE = {
    # Holes of an early kernel.
    "the kurtosis of any law": Candidate(KURTOSIS, "=", 3 + 6 / d, STANDARD),
    "a cap of two": Candidate(CAPPED, "≤", 2 / c**2, LIKE_NORMAL),
    "a closed sum": Candidate(Sum((WHOLE - 1) * n, (WHOLE, 1, n)), "=", (n - 1) * n * (2 * n - 1) / 6),
    "an inverse length": Candidate(CHI, "=", 1 / (d - 2)),
    "Jensen of any sign": Candidate(E(exp(t)), "≥", exp(Abs(E(t))), ANY),
    "another fourth moment": Candidate(KURTOSIS, "=", 3 + (R(59, 10) ** 2 - 3) / d, law((1, 0, 1, 0, 6))),
    "a limit in a mean": Candidate(
        Limit(E(m * exp(-m * y)), m, oo), "=", E(Limit(m * exp(-m * y), m, oo)), ANY_LENGTH
    ),
    "the most of a logarithm": Candidate(log(NON_ZERO**2) - NON_ZERO, "≤", log(4) - 2),
    "first terms as all": Candidate(Var(SCORE / sqrt(d + e)), "=", 1 - e / d, STANDARD),
    "a cube": Candidate(a**3, "=", a**2),
    # Wrong by a few per cent.
    "a kurtosis": Candidate(KURTOSIS, "=", R(103, 100) * (3 + 6 / d), LIKE_NORMAL),
    "a variance without a mean": Candidate(SPREAD, "=", d * (sq**2 + mu_q**2) * sk**2, GENERAL),
    "a variance's sign": Candidate(
        SPREAD, "=", d * ((sq**2 + mu_q**2) * (sk**2 + mu_k**2) + mu_q**2 * mu_k**2), GENERAL
    ),
    "0.98 of a cap's bound": Candidate(CAPPED, "≤", R(98, 100) * (2 + 4 / d) / c**2, LIKE_NORMAL),
    "a Jacobian's 1.98": Candidate(
        Sum(ENTRY**2, (i, 1, n), (j, 1, n)),
        "=",
        SQUARES - R(198, 100) * Sum(p[i] ** 3, (i, 1, n)) + SQUARES**2,
    ),
    "0.98 of a Jacobian's bound": Candidate(FORM, "≤", R(98, 100) * p[1] * NORM, ORDERED),
    "a mean total's 2.02": Candidate(MEAN_TOTAL, "=", n * (1 - 1 / d) ** (-d / R(202, 100)), FROM_TWO),
    "a mean total in one dimension": Candidate(MEAN_TOTAL, "=", n * (1 - 1 / d) ** (-d / 2)),
    # Other kinds.
    "first terms": Candidate(1 / (1 + 1 / d), "~", 1 - R(102, 100) / d, order=(d, 1)),
    "one more solution": Candidate(Eq(t**2, 1), "⇔", Eq(t, 1)),
    "a derivative": Candidate(Derivative(TOTAL, s[i]), "=", R(101, 100) * p[i], replace(NORMAL, law=None)),
    "a strict one at its end": Candidate(a**2 + 1, ">", 2 * a),
    "a trace": Candidate(
        Trace(MatrixSymbol("A", d, d) * MatrixSymbol("B", d, d)),
        "=",
        Trace(MatrixSymbol("A", d, d)) * Trace(MatrixSymbol("B", d, d)),
    ),
    "entries without a bound": Candidate(Sum(p[i] * x[i], (i, 1, n)), "≤", R(98, 100) * M, BOUNDED),
    "a limit": Candidate(Limit((1 + 1 / a) ** a, a, oo), "=", R(271, 100)),
    "a largest score": Candidate(E(largest), "≤", sigma * sqrt(log(n)), NORMAL),
}
AND_DOWN = {
    "a variance's mean": Candidate(E(t**2), "=", E(t) ** 2, ANY),
    "a mean of anything": Candidate(E(t * y), "=", E(t) * E(y)),
    "the middle": Candidate(tanh(z), "≤", z),
}

TRUE = {
    "a kurtosis": Candidate(KURTOSIS, "=", 3 + (kappa_q * kappa_k - 3) / d, OF_SHAPES),
    "a variance": Candidate(SPREAD, "=", d, STANDARD),
    "a general variance": Candidate(
        Var(SCORE), "=", d * ((sq**2 + mu_q**2) * (sk**2 + mu_k**2) - mu_q**2 * mu_k**2), GENERAL
    ),
    "a cap": Candidate(CAPPED, "≤", (2 + 4 / d) / c**2, LIKE_NORMAL),
    "a closed sum": Candidate(Sum((WHOLE - 1) * n, (WHOLE, 1, n)), "=", (n - 1) * n**2 / 2),
    "an inverse length": Candidate(CHI, "=", 1 / (d - 2), NOTHING.restricted(d, Range(3, oo))),
    "Jensen": Candidate(E(exp(t)), "≥", exp(E(t)), ANY),
    "a limit": Candidate(Limit(1 + 1 / a, a, oo), "=", S.One),
    "one half": Candidate(2 * a * (1 - a), "≤", S.Half),
    "a Jacobian": Candidate(
        Sum(ENTRY**2, (i, 1, n), (j, 1, n)), "=", SQUARES - 2 * Sum(p[i] ** 3, (i, 1, n)) + SQUARES**2
    ),
    "a Jacobian's bound": Candidate(FORM, "≤", p[1] * NORM, ORDERED),
    "a mean total": Candidate(MEAN_TOTAL, "=", n * (1 - 1 / d) ** (-d / 2), FROM_TWO),
    "first terms": Candidate(1 / (1 + 1 / d), "~", 1 - 1 / d, order=(d, 1)),
    "the same solutions": Candidate(Eq(a**2, 4), "⇔", Eq(a, 2)),
    "a derivative": Candidate(Derivative(TOTAL, s[i]), "=", p[i], replace(NORMAL, law=None)),
    "bounded entries": Candidate(Sum(p[i] * x[i], (i, 1, n)), "≤", M, BOUNDED),
    "a mean of anything": Candidate(E(t + 2 * y), "=", E(t) + 2 * E(y)),
    "Gauss's integral": Candidate(Integral(exp(-a * z**2), (z, -oo, oo)), "=", sqrt(pi / a)),
    "an error function": Candidate(Integral(exp(-(z**2)), (z, 0, a)), "=", sqrt(pi) * erf(a) / 2),
}
BY_DRAWS = {
    "an entropy": Candidate(E(ENTROPY), "≥", log(n) - sigma**2 / 2, NORMAL),
    "by parts": Candidate(E(ENTROPY), "=", E(TOTAL) - sigma**2 * (1 - E(SQUARES)), NORMAL),
    "a total": Candidate(E(TOTAL), "≥", log(n) + sigma**2 * (1 - E(SQUARES)) / 2, NORMAL),
    "a largest score": Candidate(E(largest), "≤", sigma * sqrt(2 * log(n)), NORMAL),
}


@pytest.mark.parametrize("name", sorted({*FALSE, *AND_DOWN}))
def test_what_is_false_is_refuted(name: str) -> None:
    """Holes of an early kernel, what is wrong by a few per cent, and other kinds; all in full."""
    with pytest.raises(Counterexample, match=r"false at|does not, at"):
        falsify({**FALSE, **AND_DOWN}[name], **FULL)


@pytest.mark.parametrize("name", sorted(TRUE))
def test_what_is_true_holds(name: str) -> None:
    """At the corners and at some points, nearly all of which are decided."""
    tried = falsify(TRUE[name], **CORNERS)
    assert tried.held > 20 * tried.undecided
    assert tried.held or not tried.why


@pytest.mark.parametrize("name", sorted(BY_DRAWS))
def test_draws_refute_nothing_true(name: str) -> None:
    """They leave open what their noise hides, and say so."""
    tried = falsify(BY_DRAWS[name], **CORNERS)
    assert tried.held + tried.undecided > 10
    assert tried.why


def test_an_integral_is_refuted_in_rigorous_quadrature_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the first look says that a statement is false, it held or is undecided."""
    gauss = TRUE["Gauss's integral"]
    monkeypatch.setattr(quadrature, "_first_look", lambda *_: arb(17))
    assert falsify(gauss, **CORNERS).held

    def unresolved(*_: Any) -> Any:
        raise Unknown("an integral that is not resolved")

    monkeypatch.setattr(quadrature, "_rigorous", unresolved)
    tried = falsify(gauss, **CORNERS)
    assert tried.held == 0
    assert tried.why == ("false by a first look alone; an integral that is not resolved",)


def test_time_is_limited() -> None:
    """What is slow stops, and says so."""
    start = time.process_time()
    tried = falsify(BY_DRAWS["by parts"], seconds=0.3)
    assert time.process_time() - start < 3
    assert "stopped after 0.3 s" in tried.why


def test_what_cannot_be_evaluated_is_undecided() -> None:
    """With the reason, and without an error."""
    f = Function("f")
    tried = falsify(Candidate(f(a), "=", f(a) + 0 * a), points=3)
    assert (tried.held, bool(tried.undecided)) == (0, True)
    assert tried.why == ("f f(a)",)
    odd = falsify(Candidate(Derivative(E(a * t), a), "=", E(t), ANY), points=3)
    assert odd.held == 0
    assert odd.why


def test_hypotheses_that_are_not_understood_leave_it_undecided() -> None:
    """For then no point is surely one where they hold."""
    flat = Hypotheses(entries=frozenset([("flat", p)]))
    assert falsify(Candidate(p[1], "≤", S.Half, flat)).why == ("the property flat is not known here",)


def test_conditions_and_domains_filter_points() -> None:
    """A statement is tried only where its hypotheses hold; where there is no point, it says so."""
    bare = Candidate(a, "≤", c)
    with pytest.raises(Counterexample):
        falsify(bare)
    assert falsify(replace(bare, hypotheses=NOTHING.having(a < c))).held
    assert falsify(replace(bare, hypotheses=NOTHING.having(Eq(a, c)))).held
    nowhere = Hypotheses(conditions=frozenset([a < c, c < a]))
    assert falsify(replace(bare, hypotheses=nowhere)).why == (
        "no point was found at which the hypotheses hold",
    )


def test_a_side_without_a_value_is_a_counterexample() -> None:
    """Unless neither side has one, for then nothing is said."""
    with pytest.raises(Counterexample, match="no value"):
        falsify(Candidate(1 / t**2, ">", -Abs(t)))
    tried = falsify(Candidate(log(t**2), "=", 2 * log(Abs(t))))
    assert tried.held > tried.undecided > 0
    assert tried.why == ("neither side has a value",)


def test_a_theorem_is_tried_with_all_that_it_rests_on() -> None:
    """Each statement once, whatever it is used for."""
    first = prove(Reviewed("squares"), a**2, a * a)
    second = prove(Same(), a**2, a**2)
    both = prove(Chain(first, second), a**2, a**2)
    assert list(tried_over(both)) == [both]
    wrong = prove(Reviewed("a slip"), a**2, a**2 + R(1, 50))
    whole = prove(Chain(both, wrong), a**2, a**2 + R(1, 50))
    assert [str(one) for one in tried_over(whole)] == [str(whole), str(both)]
    assert falsify_all(both).held == falsify(both, **CORNERS).held
    with pytest.raises(Counterexample, match="is false at a = "):
        falsify_all(whole)
