"""How large the Jacobian of softmax can be, and that it does not simply fall as scores grow."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import (
    Rational,
    S,
    log,
)

from verify.claim import Claim, Findings
from verify.designs import fact, prediction
from verify.evidence import Assumption, Axis, Fact, Figure, Layer, Reference
from verify.montecarlo.attention import softmax
from verify.montecarlo.differentiate import complex_step
from verify.montecarlo.experiment import Allowance, Control, Exact, Experiment
from verify.montecarlo.search import largest_ratio, spectral_norms
from verify.symbolic.derivation import Derivation
from verify.symbolic.jacobian import FORM, LENGTH
from verify.symbolic.jacobian_bounds import (
    by_largest,
    by_row_sums,
    from_below,
    never_above_half,
    one_ahead,
    t,
)
from verify.symbolic.predict import function
from verify.symbolic.softmax import n, p

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.montecarlo.components import Array

    Bound = Callable[[Array], Array]

SIZES = (2, 3, 8)
ROUNDING = Allowance(1e-10)
"""What eigenvalues of matrices near 0 lose."""


def derive() -> Derivation:
    """Bound xᵀJx from above for every x, and from below by choosing x."""
    upper = by_row_sums()
    lemmas = (by_largest(), never_above_half(), *from_below(), one_ahead())
    return Derivation(FORM, upper.end, (upper,), lemmas, "≤")


@cache  # so that equal expressions give the same function, and the search finds its own result again
def _bound(expression: Any, keys: int) -> Bound:
    """Return a function of the two largest probabilities for rows of sorted ones, shape (rows, keys)."""
    of_two = function((p[1], p[2]), expression.subs(n, keys), "numpy")
    return lambda weights: np.broadcast_to(of_two(weights[:, 0], weights[:, 1]), len(weights))


def _bounds(derivation: Derivation) -> dict[str, tuple[Any, bool, str]]:
    """Return every derived bound by name: the expression, whether it is an upper one, and in words."""
    largest, half, first, second, _ = (route.end for route in derivation.lemmas)
    return {
        "rows": (derivation.result / LENGTH, True, r"$\|J\|_2$ over $2p_1(1-p_1)$"),
        "largest": (largest / LENGTH, True, r"$\|J\|_2$ over $p_1$"),
        "half": (half, True, r"$\|J\|_2$ over $\frac12$"),
        "first": (first, False, r"$\frac{n}{n-1}p_1(1-p_1)$ over $\|J\|_2$"),
        "second": (second, False, r"$p_2$ over $\|J\|_2$"),
    }


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # nothing is tolerated
    """Search for rows that break a bound; compare the norm for one key ahead with the derived one."""
    checks = []
    for name, (bound, upper, words) in _bounds(derivation).items():
        for keys in SIZES:
            sides = (spectral_norms, _bound(bound, keys))
            found = largest_ratio(*(sides if upper else sides[::-1]), keys)
            checks.append(_search(f"{name}-n{keys}", f"largest found: {words}", keys, S.One, found))
    ahead = _ahead(derivation)
    for keys in (3, 128):
        for name, lead in (("none", S.One), ("most", S(keys - 1)), ("far", S(keys - 1) ** 2)):
            checks.append(
                Exact(
                    f"one-ahead-n{keys}-{name}",
                    r"$\|J\|_2$ of the array code, one key ahead by $\ln t$",
                    (("keys", keys), ("t", int(lead))),
                    prediction(ahead.subs({n: keys, t: lead})),
                    _norm_ahead(keys, float(log(lead))),
                    ROUNDING,
                )
            )
    return Experiment(tuple(checks), _controls(derivation))


def _search(name: str, label: str, keys: int, bound: Any, found: float) -> Exact:
    settings = (("keys", keys), ("rows", "searched by differential evolution"))
    return Exact(name, label, settings, prediction(bound), found, ROUNDING, "≤")


def _ahead(derivation: Derivation) -> Any:
    """Return the derived norm for one key ahead of n - 1 equal ones."""
    return derivation.lemmas[-1].steps[0].expression


def _norm_ahead(keys: int, lead: float) -> float:
    """Return the spectral norm of the array code's Jacobian where the first score leads."""
    row = np.zeros(keys)
    row[0] = lead
    return float(np.linalg.norm(complex_step(softmax, row), 2))


def _controls(derivation: Derivation) -> tuple[Control, ...]:
    entry, tighter = _bound(p[1] * (1 - p[1]), 3), _bound(derivation.result / LENGTH * Rational(9, 10), 3)
    ahead = _ahead(derivation).subs(n, 3)
    return (
        Control(
            "the norm never exceeds the largest slope of the logistic function, a quarter",
            _search(
                "a-quarter",
                r"largest $\|J\|_2$ found",
                3,
                Rational(1, 4),
                largest_ratio(spectral_norms, _bound(S.One, 3), 3),
            ),
        ),
        Control(
            "the norm is at most the largest entry, $p_1(1-p_1)$",
            _search(
                "largest-entry",
                r"$\|J\|_2$ over $p_1(1-p_1)$",
                3,
                S.One,
                largest_ratio(spectral_norms, entry, 3),
            ),
        ),
        Control(
            "the bound by the sums of rows holds with a tenth less",
            _search(
                "a-tenth-less",
                r"$\|J\|_2$ over nine tenths",
                3,
                S.One,
                largest_ratio(spectral_norms, tighter, 3),
            ),
        ),
        Control(
            "larger scores always make the Jacobian smaller",
            Exact(
                "falls-with-the-scores",
                r"$\|J\|_2$ of the array code at the scores $(\ln 2, 0, 0)$, against equal scores",
                (("keys", 3), ("t", 2)),
                prediction(ahead.subs(t, 1)),
                _norm_ahead(3, float(log(2))),
                ROUNDING,
                "≤",
            ),
        ),
    )


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the counterexample's three norms, and what 128 keys pass at most with one ahead."""
    ahead = _ahead(derivation)
    times = ((1, "equal scores"), (2, r"scores $(\ln 2, 0, 0)$"), (4, r"scores $(2\ln 2, 0, 0)$"))
    return (
        *(
            fact(f"norm-t{lead}", rf"$\|J\|_2$ for {words}", ahead.subs({n: 3, t: lead}))
            for lead, words in times
        ),
        fact("norm-n128", "the same for 128 keys, one ahead by ln 127", ahead.subs({n: 128, t: 127})),
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:  # noqa: ARG001  # nothing drawn
    """Draw the norm against the lead of one key, for few and for many keys."""
    leads, points = np.linspace(0, 10, 101), np.linspace(0, 10, 11)
    layers = []
    for keys in (2, 16, 128):
        of_lead = function((t,), _ahead(derivation).subs(n, keys), "numpy")
        values = np.asarray(of_lead(np.exp(leads)))
        layers.append(
            Layer(
                kind="line",
                role="truth",
                label=f"{keys} keys",
                x=tuple(leads.tolist()),
                y=tuple(values.tolist()),
            )
        )
        layers.append(
            Layer(
                kind="points",
                role="measured",
                label="",
                x=tuple(points.tolist()),
                y=tuple(_norm_ahead(keys, float(lead)) for lead in points),
            )
        )
    return (
        Figure(
            id="lead",
            title="With many keys, larger scores first open the softmax and only then close it",
            alt="Norm of the softmax Jacobian against the lead of one key over all others, for 2, 16 and "
            "128 keys: with two keys it only falls; with more it starts near zero, rises to just above a "
            "quarter where the lead is the logarithm of the number of keys, and falls again.",
            x=Axis(label="lead of one score over all others"),
            y=Axis(label=r"$\|J\|_2$"),
            layers=tuple(layers),
        ),
    )


CLAIM = Claim(
    id="jacobian-bounds",
    order=20,
    title="How much a softmax row can pass on",
    statement=(
        r"Let $p_1 \ge p_2 \ge \dots$ be the probabilities of a row of $n \ge 2$ keys in falling order. The "
        r"largest eigenvalue of $J = \operatorname{diag}(p) - pp^{\mathsf T}$, its norm $\|J\|_2$, satisfies "
        r"$\max\left(p_2, \frac{n}{n-1}p_1(1-p_1)\right) \le \|J\|_2 \le \min\left(p_1, 2p_1(1-p_1)\right) "
        r"\le \frac12$. It is not monotone in the temperature: for the scores $(0,0,0)$, $(\ln 2, 0, 0)$ and "
        r"$(2\ln 2, 0, 0)$ it is $\frac13$, $\frac38$ and $\frac13$."
    ),
    meaning=(
        "A row passes a gradient on only as far as its largest probability is neither near 0 nor near 1: "
        "a row that is spread over very many keys is as closed as a saturated one. So making scores smaller "
        "does not always let more gradient through; with many keys a uniform row passes almost nothing, and "
        "some spread of the scores is needed. The bounds concern one row; what reaches queries and keys is "
        "multiplied by these, and by the scale."
    ),
    assumptions=(
        Assumption(id="two-keys", text="There are at least two keys, and their scores are finite."),
        Assumption(
            id="symmetric",
            text=r"$J$ is symmetric and $x^{\mathsf T}Jx$ is a variance, so its norm is the largest "
            r"$x^{\mathsf T}Jx$ with $|x| = 1$.",
        ),
    ),
    references=(
        Reference(
            key="storn1997",
            text="R. Storn and K. Price, Differential Evolution, J. Global Optimization 11 (1997), 341-359: "
            "the search for rows that break the bounds.",
            url="https://doi.org/10.1023/A:1008202821328",
        ),
    ),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
