"""Integrals that diverge, are elsewhere, or of something else."""

from sympy import Integral, S, exp, gamma, oo, pi, sqrt

from tests.faults.false_claims.shared import (
    InverseLengths, Pair, a, b, measured, of_claims, of_derivations, steps, w,
)  # fmt: skip
from verify.spec import component, d
from verify.spec.rules import EulerIntegrals, Identity

PAIRS: dict[str, Pair] = {
    "beta": of_derivations(
        # False: ∫w^(a-1)/(1 + w)^(a+b) dw is B(a, b + 1); true: it is B(a, b).
        lambda: steps(
            Integral(w ** (a - 1) / (1 + w) ** (a + b), (w, 0, oo)),
            (gamma(a) * gamma(b + 1) / gamma(a + b + 1), EulerIntegrals(w)),
        ),
        lambda: steps(
            Integral(w ** (a - 1) / (1 + w) ** (a + b), (w, 0, oo)),
            (gamma(a) * gamma(b) / gamma(a + b), EulerIntegrals(w)),
        ),
    ),
    "diverges": of_derivations(
        # False: ∫e^w dw is -1; true: ∫e^-w dw is 1.
        lambda: steps(Integral(exp(w), (w, 0, oo)), (S.NegativeOne, EulerIntegrals(w))),
        lambda: steps(Integral(exp(-w), (w, 0, oo)), (S.One, EulerIntegrals(w))),
    ),
    "inverse_length": of_claims(
        # False: E 1/|k|² is 1/(d - 2) for every d; for one dimension there is no mean.
        # True: it is from three dimensions on.
        lambda: {
            "experiment": measured(component("inverse"), None, InverseLengths(), n=1),
            "statement": "For every {d_k}, {theorem}.",
        },
        lambda: {
            "experiment": measured(component("inverse"), None, InverseLengths(), n=12),
            "statement": "For {d_k} above two, {theorem}.",
        },
        derive=lambda: steps(
            Integral(w ** (d / 2 - 2) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2)), (w, 0, oo)),
            (1 / (d - 2), EulerIntegrals(w)),
        ),
    ),
    "outside": of_derivations(
        # False: ∫√a² da over all numbers, for a positive a; true: ∫a² e^-a from 0 on is 2.
        lambda: steps(Integral(sqrt(a**2), (a, -oo, oo)) + 1, (1 + Integral(a, (a, -oo, oo)), Identity())),
        lambda: steps(Integral(w**2 * exp(-w), (w, 0, oo)), (S(2), EulerIntegrals(w))),
    ),
    "shifted": of_derivations(
        # False: ∫w^a e^-w dw is Γ(a); true: it is Γ(a + 1).
        lambda: steps(Integral(w**a * exp(-w), (w, 0, oo)), (gamma(a), EulerIntegrals(w))),
        lambda: steps(Integral(w**a * exp(-w), (w, 0, oo)), (gamma(a + 1), EulerIntegrals(w))),
    ),
    "twice": of_derivations(
        # False: ∫e^(-a w²) dw from 0 on is √(π/a); true: it is half of that.
        lambda: steps(Integral(exp(-a * w**2), (w, 0, oo)), (sqrt(pi / a), EulerIntegrals(w))),
        lambda: steps(Integral(exp(-a * w**2), (w, 0, oo)), (sqrt(pi / a) / 2, EulerIntegrals(w))),
    ),
}
