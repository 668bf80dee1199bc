"""J = diag(p) - ppᵀ, its row sums, its trace and its norm."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Derivative, Idx, KroneckerDelta, S, Sum, exp, log, symbols

from verify.claim import Claim
from verify.evidence import Assumption, Reference
from verify.montecarlo.attention import softmax
from verify.montecarlo.differentiate import complex_step
from verify.montecarlo.experiment import Allowance, Control, Exact, Experiment, Prediction
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.jacobian import ENTRY, FROBENIUS, SQUARES, Surplus, is_rational_zero, value
from verify.symbolic.predict import function
from verify.symbolic.softmax import i, j, n, p, s, scores, written_out

if TYPE_CHECKING:
    from verify.montecarlo.components import Array

k = Idx("k")
TOTAL = Sum(exp(s[k]), (k, 1, n))
SOFTMAX = exp(s[i]) / TOTAL
ROUNDING = Allowance(1e-12)
KEYS = (2, 5, 64)
SIZES = (2, 3, 4, 5)


def _agree_entry_by_entry(before: Any, after: Any) -> bool:
    """Differentiate by each plain score in turn, at the diagonal and beside it."""
    return all(
        is_rational_zero(_entry(before, size, *place) - _entry(after, size, *place))
        for size, place in product(SIZES, ((1, 1), (1, 2), (2, 1)))
    )


@cache
def _entry(expression: Any, keys: int, row: int, column: int) -> Any:
    """Return one entry for ``keys`` keys, as a rational function of the exponentials."""
    concrete = written_out(expression.subs({i: row, j: column}), keys)
    weights = symbols(f"w_1:{keys + 1}", positive=True)
    return concrete.xreplace(dict(zip(scores(keys), map(log, weights), strict=True)))


BY_ENTRIES = By(
    f"SymPy, differentiated for n = {SIZES[0]}…{SIZES[-1]} keys", _agree_entry_by_entry, "examples"
)


def derive() -> Derivation:
    """Differentiate by the quotient rule and by way of the logarithm."""
    start = Derivative(SOFTMAX, s[j])
    delta = KroneckerDelta(i, j)
    by_quotient = Route(
        "By the quotient rule",
        start,
        (
            Step(
                exp(s[i]) * delta / TOTAL - exp(s[i]) * exp(s[j]) / TOTAL**2,
                "Quotient rule; in the sum only term j depends on score j",
                BY_ENTRIES,
            ),
            Step(ENTRY, "Each exponential over the sum is a probability", BY_ENTRIES),
        ),
    )
    by_logarithm = Route(
        "By the logarithm",
        start,
        (
            Step(
                p[i] * Derivative(s[i] - log(TOTAL), s[j]),
                "A derivative is the value times that of its logarithm",
                BY_ENTRIES,
            ),
            Step(
                p[i] * (delta - exp(s[j]) / TOTAL),
                "The logarithm of the sum has the softmax as its gradient",
                BY_ENTRIES,
            ),
            Step(ENTRY, "Each exponential over the sum is a probability", BY_ENTRIES),
        ),
    )
    return Derivation(start, ENTRY, (by_quotient, by_logarithm), (_row_sums(), _trace(), _norm()))


def _row_sums() -> Route:
    check = Surplus(relation="=", at=((i, 1),))
    return Route(
        "Row sums: moving all scores alike changes nothing",
        Sum(ENTRY, (j, 1, n)),
        (
            Step(p[i] - p[i] * Sum(p[j], (j, 1, n)), "The delta picks one term", check),
            Step(S.Zero, "Probabilities sum to 1", check),
        ),
    )


def _trace() -> Route:
    check = Surplus(relation="=")
    diagonal = ENTRY.subs(j, i)
    return Route(
        "Trace",
        Sum(diagonal, (i, 1, n)),
        (Step(1 - SQUARES, "Probabilities sum to 1", check),),
    )


def _norm() -> Route:
    check = Surplus(relation="=")
    delta = KroneckerDelta(i, j)
    squared = p[i] ** 2 * (delta - 2 * delta * p[j] + p[j] ** 2)
    return Route(
        "Squared Frobenius norm",
        Sum(ENTRY**2, (i, 1, n), (j, 1, n)),
        (
            Step(Sum(squared, (i, 1, n), (j, 1, n)), "Squared; the delta is its own square", check),
            Step(FROBENIUS, "The delta picks one term of each inner sum", check),
        ),
    )


def _point(keys: int) -> Array:
    """Return scores of a row, spread enough for probabilities of many sizes."""
    return 2 * np.random.default_rng(keys).normal(size=keys)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # nothing is tolerated
    """Compare with derivatives of the array code by complex steps."""
    rows, trace, norm = (route.end for route in derivation.lemmas)
    checks = [check for keys in KEYS for check in _checks(keys, derivation.result, rows, trace, norm)]
    return Experiment(tuple(checks), _controls())


def _checks(keys: int, entry: Any, rows: Any, trace: Any, norm: Any) -> tuple[Exact, ...]:
    weights = softmax(_point(keys))
    found = complex_step(softmax, _point(keys))
    own, other, delta = symbols("own other delta")
    of_two = function((own, other, delta), entry.subs({KroneckerDelta(i, j): delta, p[i]: own, p[j]: other}))
    derived = of_two(weights[:, None], weights, np.eye(keys))
    off = float(np.max(np.abs(found - derived)))
    of_code = "of the array code, by complex steps"
    return (
        _exact(f"entries-n{keys}", f"largest difference of an entry of $J$ {of_code}", keys, 0.0, off),
        _exact(
            f"row-sums-n{keys}",
            f"largest row sum of $J$ {of_code}",
            keys,
            value(rows, weights),
            float(np.max(np.abs(found.sum(axis=1)))),
        ),
        _exact(
            f"trace-n{keys}", f"trace of $J$ {of_code}", keys, value(trace, weights), float(np.trace(found))
        ),
        _exact(
            f"norm-n{keys}",
            rf"$\|J\|_F^2$ {of_code}",
            keys,
            value(norm, weights),
            float(np.sum(found**2)),
        ),
    )


def _exact(name: str, label: str, keys: int, predicted: float, computed: float) -> Exact:
    settings = (("keys", keys), ("scores", "normal, deviation 2, one fixed row"))
    return Exact(name, label, settings, Prediction(predicted, f"{predicted:.6g}"), computed, ROUNDING)


def _controls() -> tuple[Control, ...]:
    weights, found = softmax(_point(5)), complex_step(softmax, _point(5))
    alone = value(Sum((p[i] * (1 - p[i])) ** 2, (i, 1, n)), weights)
    return (
        Control(
            "each probability depends on its own score only, as a logistic function would",
            _exact("logistic-each", r"$\|J\|_F^2$ of the array code", 5, alone, float(np.sum(found**2))),
        ),
        Control(
            "the normalising sum can be taken as constant, so that $J$ is diag$(p)$",
            _exact("constant-sum", "trace of $J$ of the array code", 5, 1.0, float(np.trace(found))),
        ),
    )


CLAIM = Claim(
    id="softmax-jacobian",
    order=10,
    title="The Jacobian of softmax",
    statement=(
        r"With $p = \operatorname{softmax}(s)$ the derivative of $p_i$ by $s_j$ is "
        r"$J_{ij} = p_i(\delta_{ij} - p_j)$, that is $J = \operatorname{diag}(p) - pp^{\mathsf T}$. Its rows "
        r"sum to 0, its trace is $1 - \sum p_i^2$, and $\|J\|_F^2 = \sum p_i^2 - 2\sum p_i^3 + "
        r"\left(\sum p_i^2\right)^2$."
    ),
    meaning=(
        "All gradients to queries and keys pass through this matrix. It vanishes when one probability is 1: "
        "a saturated row passes nothing back. It is not a list of logistic slopes, for raising one score "
        "lowers all other probabilities; and moving all scores alike changes nothing, so what counts is "
        "their differences, not their size."
    ),
    assumptions=(
        Assumption(id="finite-scores", text="The scores are finite; a masked key counts as no key."),
    ),
    references=(
        Reference(
            key="bridle1990",
            text="J. S. Bridle, Probabilistic Interpretation of Feedforward Classification Network Outputs, "
            "in: Neurocomputing, Springer, 1990, 227-236.",
            url="https://doi.org/10.1007/978-3-642-76153-9_28",
        ),
    ),
    derive=derive,
    experiment=experiment,
)
