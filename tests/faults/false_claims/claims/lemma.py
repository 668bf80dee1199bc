"""A lemma is used for something that it does not say."""

from dataclasses import replace
from typing import Any

from sympy import Derivative, Eq, Interval, S, oo

from tests.faults.false_claims.shared import Pair, a, b, c, of_derivations, r, route, steps, theorem
from verify.spec import STANDARD, Derivation, E, Population, Route, Step, Var, d, score, variance_route
from verify.spec.rules import (
    Assuming, Evaluation, Hypotheses, Identity, Jensen, PutIn, Replaced, Rising, Sign, Unfolded,
)  # fmt: skip


class Borrowed(Route):
    """A chain that gives another's theorem for its own."""

    def followed(self) -> Any:
        """Return what the chain of the variance has come to, under this chain's steps."""
        return replace(variance_route(score, STANDARD).followed(), route=self)


PAIRS: dict[str, Pair] = {
    "assumed": of_derivations(
        # False: what is never so is assumed, that a³ = a²; true: that b is a³.
        lambda: steps(a**3, (a**2, Assuming((Eq(a**3, a**2),)))),
        lambda: steps(b + 1, (a**3 + 1, Assuming((Eq(b, a**3),)))),
    ),
    "captured_slope": of_derivations(
        # False: what holds for b holds for a: the derivative of a² is a; true: it holds for c.
        lambda: steps(Derivative(a * b, a), (b, Identity()), (a, PutIn({b: a}))),
        lambda: steps(Derivative(a * b, a), (b, Identity()), (c, PutIn({b: c}))),
    ),
    "curvature_of_another": of_derivations(
        # False: E r³ ≥ (E r)³ for all r, by the curvature of r⁴; true: E r⁴ ≥ (E r)⁴.
        lambda: steps(E(r**3), (E(r) ** 3, Jensen(r, "≥", theorem(S.Zero, (12 * r**2, Sign()))))),
        lambda: steps(E(r**4), (E(r) ** 4, Jensen(r, "≥", theorem(S.Zero, (12 * r**2, Sign()))))),
    ),
    "defined_number": of_derivations(
        # False: b stands for a², and 5 is put in for b; true: b stands for a².
        lambda: steps(b, (a**2, Unfolded({b: a**2})), (a**2, PutIn({b: S(5)}))),
        lambda: steps(b + 1, (a**2 + 1, Unfolded({b: a**2}))),
    ),
    "defined_slope": of_derivations(
        # False: the derivative of a b by a is that of a³ where b stands for a².
        # True: the derivative of a³ is 3a².
        lambda: steps(
            Derivative(a * b, a), (Derivative(a**3, a), Replaced(theorem(b, (a**2, Unfolded({b: a**2})))))
        ),
        lambda: steps(Derivative(a**3, a), (3 * a**2, Identity())),
    ),
    "of_another_kind": of_derivations(
        # False: a chain of its author's own kind shows 3 d, and gives the theorem of another; true: of d.
        lambda: Derivation.of(
            Borrowed.of("By what is derived", Var(score), Step(3 * d, "So it is", Evaluation(STANDARD)))
        ),
        lambda: Derivation.of(variance_route(score, STANDARD)),
    ),
    "other_end": of_derivations(
        # False: the variance is d, and by another route 2 d; true: both routes end in d.
        lambda: Derivation.of(
            route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
            route(Var(score) + Var(score), (2 * d, Evaluation(STANDARD, assumed=True))),
        ),
        lambda: Derivation.of(
            route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
            route(
                Var(score),
                (E(score**2) - E(score) ** 2, Evaluation(STANDARD)),
                (d, Evaluation(STANDARD, assumed=True)),
            ),
        ),
    ),
    "other_part": of_derivations(
        # False: a lemma about E Z² is put in for E Z; true: it is put in for what it is about.
        lambda: steps(
            E(a) + 1,
            (
                E(b) + 1,
                Replaced(theorem(E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))))),
            ),
        ),
        lambda: steps(
            E(a * b) + 1,
            (
                E(a) * E(b) + 1,
                Replaced(theorem(E(a * b), (E(a) * E(b), Evaluation(Population({a: None, b: None}))))),
            ),
        ),
    ),
    "slope_elsewhere": of_derivations(
        # False: 1 ≤ (r - 1)² for r ≥ 0, by a slope known from 1 on; true: 0 ≤ (r - 1)² for r ≥ 1.
        lambda: steps(
            S.One,
            (
                (r - 1) ** 2,
                Rising(
                    r,
                    theorem(S.Zero, (2 * (r - 1), Sign()), under=Hypotheses().restricted(r, Interval(1, oo))),
                ),
            ),
            under=Hypotheses().restricted(r, Interval(0, oo)),
        ),
        lambda: steps(
            S.Zero,
            (
                (r - 1) ** 2,
                Rising(
                    r,
                    theorem(S.Zero, (2 * (r - 1), Sign()), under=Hypotheses().restricted(r, Interval(1, oo))),
                ),
            ),
            under=Hypotheses().restricted(r, Interval(1, oo)),
        ),
    ),
    "starts_nowhere": of_derivations(
        # False: the variance is 4 d, for that of twice the score is; true: the lemma says what it is about.
        lambda: Derivation.of(
            route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
            lemmas=(route(Var(2 * score), (4 * d, Evaluation(STANDARD, assumed=True))),),
        ),
        lambda: Derivation.of(
            route(Var(score), (d, Evaluation(STANDARD, assumed=True))),
            lemmas=(
                route(Var(2 * score), (4 * d, Evaluation(STANDARD, assumed=True))).defining(
                    "the variance of twice a score"
                ),
            ),
        ),
    ),
}
