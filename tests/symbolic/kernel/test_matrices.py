"""Rules of matrices: what is true for every size is proved, and what is false by little is refused."""

from typing import Any

import pytest
from sympy import (
    Derivative, Eq, Idx, IndexedBase, Integral, MatrixSymbol, Rational, S, Sum, Symbol, Trace, Tuple, cos,
    sin, symbols,
)  # fmt: skip

from verify.symbolic.kernel.core import Rule, prove
from verify.symbolic.kernel.equations import Assuming
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Refused, Vectors
from verify.symbolic.kernel.matrices import MatrixIdentity, ShapeOfProduct, VectorMoments
from verify.symbolic.kernel.words import E, MatrixShape, Var
from verify.symbolic.printing import assumptions_of, latex
from verify.symbolic.scores import KEY, MU_K, MU_Q, PRODUCT, QUERY, SIGMA_K, SIGMA_Q, d

n = Symbol("n", integer=True, positive=True)
A, B, C = (MatrixSymbol(name, d, d) for name in "ABC")
X, Y = MatrixSymbol("X", n, d), MatrixSymbol("Y", n, d)
v, w, t = (MatrixSymbol(name, d, 1) for name in "vwt")
i, j = Idx("i"), Idx("j")
a, b, c = symbols("a b c", real=True)

MEANS = (QUERY, MU_Q), (KEY, MU_K)
APART = (QUERY, QUERY, SIGMA_Q), (KEY, KEY, SIGMA_K)
INDEPENDENT = Vectors(MEANS, APART)
LINKED = Vectors(MEANS, (*APART, (QUERY, KEY, C)))
NORMAL = Vectors(MEANS, (*APART, (QUERY, KEY, C)), normal=True)
SPREAD = Trace(SIGMA_Q * SIGMA_K) + Trace(MU_Q.T * SIGMA_K * MU_Q) + Trace(MU_K.T * SIGMA_Q * MU_K)
GENERAL = SPREAD + Trace(C * C) + 2 * Trace(MU_Q.T * C.T * MU_K)


def _all(term: Any, *indices: Any) -> Sum:
    return Sum(term, *((one, 0, d - 1) for one in indices))


def _refused(rule: Rule, before: Any, after: Any, why: str, under: Hypotheses = NOTHING) -> None:
    with pytest.raises(Refused, match=why):
        prove(rule, before, after, under)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Trace(A * B), _all(A[i, j] * B[j, i], i, j)),
        (Trace(A * B * C), Trace(C * A * B)),
        (Trace(v.T * A * w), Trace(w.T * A.T * v)),
        (Trace(X.T * Y), Trace(Y * X.T)),
        (_all(cos(t[i, 0]) ** 2 + sin(t[i, 0]) ** 2, i), d),
    ],
)
def test_sums_of_entries_are_compared_for_every_size(one: Any, other: Any) -> None:
    """Traces, transposes, sums of matrices, vectors, rectangles, sines and cosines; 1% more is not."""
    assert prove(MatrixIdentity(), one, other).relation == "="
    _refused(MatrixIdentity(), one, other * Rational(101, 100), "differ")


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (Trace(A * B * C), Trace(A * C * B), "differ"),
        (Trace(A * B), Trace(A * B.T), "differ"),
        (Trace(A), _all(A[i, i], i) + A[0, 0], "differ"),
        (Sum(A[i, i], (i, 0, d)), Trace(A), "all of its values"),
        (Sum(A[i, i], (i, 1, d)), Trace(A), "from 0 on"),
        (E(Trace(A)), Trace(A), "a mean"),
    ],
)
def test_what_is_no_identity_of_entries_is_refused(one: Any, other: Any, why: str) -> None:
    """Other orders, other ranges, values of indices, inverses, means, families, and two of one name."""
    _refused(MatrixIdentity(), one, other, why)


def test_symmetry_is_a_hypothesis() -> None:
    """It is assumed where it is needed, or known of a covariance matrix, and printed."""
    rule = MatrixIdentity((A,))
    made = prove(rule, Trace(A * B), Trace(A * B.T))
    assert any("symmetric" in one for one in assumptions_of(made))
    _refused(rule, Trace(C * B), Trace(C * B.T), "differ")
    known = Hypotheses(law=INDEPENDENT)
    assert prove(MatrixIdentity(), Trace(SIGMA_Q * B), Trace(SIGMA_Q * B.T), known)
    _refused(MatrixIdentity(), Trace(C * B), Trace(C * B.T), "differ", Hypotheses(law=NORMAL))


def test_shapes_of_products() -> None:
    """Inner sizes agree, and transposes turn."""
    prove(ShapeOfProduct(), MatrixShape(X * A * Y.T), Tuple(n, n))
    prove(ShapeOfProduct(), MatrixShape(X.T + 2 * Y.T), Tuple(d, n))
    _refused(ShapeOfProduct(), MatrixShape(X * A), Tuple(d, n), "the shape is")
    _refused(ShapeOfProduct(), X[0, 0], Tuple(n, d), "no shape")


@pytest.mark.parametrize(
    ("law", "one", "other"),
    [
        (INDEPENDENT, E(PRODUCT), Trace(MU_Q.T * MU_K)),
        (INDEPENDENT, Var(PRODUCT), SPREAD),
        (INDEPENDENT, E(Trace(QUERY.T * B * QUERY)), Trace(B * SIGMA_Q) + Trace(MU_Q.T * B * MU_Q)),
        (LINKED, E(PRODUCT), Trace(C) + Trace(MU_Q.T * MU_K)),
        (NORMAL, Var(PRODUCT), GENERAL),
        (Vectors(((v, 0),), ((v, v, a**2),), normal=True), Var(Trace(v.T * v)), 2 * d * a**4),
        (Vectors(((v, 0), (w, 0)), ((v, w, a), (v, v, 1), (w, w, 1))), E(Trace(v.T * w)), d * a),
    ],
)
def test_moments_of_random_vectors(law: Vectors, one: Any, other: Any) -> None:
    """Independent ones by two moments, normal ones by all pairings; a per cent more is refused."""
    assert prove(VectorMoments(law), one, other).hypotheses.law == law
    _refused(VectorMoments(law), one, other * Rational(101, 100), "the means differ")


@pytest.mark.parametrize(
    ("law", "one", "other", "why"),
    [
        (LINKED, Var(PRODUCT), GENERAL, "beyond two"),
        (NORMAL, Var(PRODUCT), SPREAD, "differ"),
        (NORMAL, Var(PRODUCT), GENERAL.subs(Trace(C * C), Trace(C * C.T)), "differ"),
        (INDEPENDENT, E(PRODUCT) + PRODUCT, PRODUCT + Trace(MU_Q.T * MU_K), "outside every mean"),
        (INDEPENDENT, E(cos(QUERY[i, 0])), S.One, "no product"),
        (Vectors(((v, 0),), ()), E(v[i, 0] ** 2), S.Zero, "nothing is assumed"),
    ],
)
def test_what_is_not_known_of_random_vectors_is_refused(law: Any, one: Any, other: Any, why: str) -> None:
    """Higher moments of unknown laws, wrong transposes, what is random outside, and laws that do not fit."""
    _refused(VectorMoments(law), one, other, why)


def test_random_vectors_are_printed() -> None:
    """Scores without a trace, and every part of the law."""
    assert latex(Var(PRODUCT**2)) == r"\operatorname{Var}\left(\left(q^{\mathsf T} k\right)^{2}\right)"
    words = " ".join(assumptions_of(prove(VectorMoments(NORMAL), Var(PRODUCT), GENERAL)))
    for part in (
        "random vectors of $d_{k}$",
        "jointly normal",
        r"covariance matrix $\Sigma_{q}$",
        "$C_{i,j}$",
    ):
        assert part in words
    assert "$q$ and $k$ are independent." in assumptions_of(
        prove(VectorMoments(INDEPENDENT), Var(PRODUCT), SPREAD)
    )


def test_what_is_assumed_is_put_in() -> None:
    """Sums of constants become what they are assumed to be, which the page prints."""
    x = IndexedBase("x")
    length = Sum(x[i] ** 2, (i, 1, d))
    made = prove(Assuming((Eq(length, d),)), a * length + length, a * d + d)
    assert made.hypotheses.conditions == {Eq(length, d)}
    _refused(Assuming((Eq(length, d),)), a * length, a * d + 1, "is not this")
    _refused(Assuming((Eq(length, d),)), a + d, a + d, "does not stand")
    _refused(Assuming((Eq(b, 2 * a),)), Derivative(a * b, a), 4 * a, "derivative")
    _refused(Assuming((Eq(b, 2 * a),)), Integral(b, (a, 0, 1)), Integral(2 * a, (a, 0, 1)), "integral")
    _refused(Assuming((Eq(b, 2),)), E(b), S(2), "under a mean")
    _refused(Assuming((Eq(x[i], 3),)), Sum(x[i], (i, 1, d)), Sum(3, (i, 1, d)), "bound")
