"""J = diag(p) - ppᵀ, its row sums, its trace and its norm."""

from collections.abc import Callable

import numpy as np
from scipy import special
from sympy import Derivative, Dummy, Idx, KroneckerDelta, S, Sum, exp, log, symbols

from verify.claims.gradients.shared import jacobian
from verify.former import (
    ROUNDING, SQUARES, Array, Claim, Control, Derivation, Exact, Experiment, Route, Step, assume, cite,
    complex_step, function, i, in_single_precision, integrated, j, largest_difference, loops, n, p,
    s, softmax,
)  # fmt: skip
from verify.former.rules import Applied, SumIdentity

Softmax = Callable[[Array], Array]
_Values = tuple[Array, dict[str, float]]
"""The entries of the derived matrix, and what is derived of them by its name."""

k = Idx("k")
TOTAL = Sum(exp(s[k]), (k, 1, n))
SOFTMAX = exp(s[i]) / TOTAL
KEYS = (2, 5, 64)
LABELS = {
    "entries": "largest difference of an entry of $J$",
    "row-sums": "largest row sum of $J$",
    "trace": "trace of $J$",
    "norm": r"$\|J\|_F^2$",
}
CHECK = SumIdentity()


def derive() -> Derivation:
    """Differentiate by the quotient rule and by way of the logarithm; then sum entries and their squares."""
    start, entry, delta = Derivative(SOFTMAX, s[j]), jacobian.ENTRY, KroneckerDelta(i, j)
    whole = Step(entry, "Each exponential over the sum is a probability", CHECK)
    by_quotient = Route.of(
        "By the quotient rule",
        start,
        Step(exp(s[i]) * delta / TOTAL - exp(s[i]) * exp(s[j]) / TOTAL**2,
             "Quotient rule; in the sum only term j depends on score j", CHECK),
        whole,
    )  # fmt: skip
    by_logarithm = Route.of(
        "By the logarithm",
        start,
        Step(p[i] * Derivative(s[i] - log(TOTAL), s[j]),
             "A derivative is the value times that of its logarithm", CHECK),
        Step(p[i] * (delta - exp(s[j]) / TOTAL), "The logarithm of the sum has the softmax as its gradient",
             CHECK),
        whole,
    )  # fmt: skip
    hole = Dummy()
    diagonal = Sum(delta * hole, (i, 1, n), (j, 1, n))
    row_sums = Route.of(
        "Row sums: moving all scores alike changes nothing",
        entry,
        Step(Sum(entry, (j, 1, n)), "Summed over a row", Applied(Sum(hole, (j, 1, n)), hole)),
        Step(p[i] - p[i] * Sum(p[j], (j, 1, n)), "The delta picks one term", CHECK),
        Step(S.Zero, "Probabilities sum to 1", CHECK), name="rows",
    )  # fmt: skip
    trace = Route.of(
        "Trace",
        entry,
        Step(diagonal.xreplace({hole: entry}), "Summed over the diagonal, which the delta picks",
             Applied(diagonal, hole)),
        Step(1 - SQUARES, "Probabilities sum to 1", CHECK), name="trace",
    )  # fmt: skip
    squared = p[i] ** 2 * (delta - 2 * delta * p[j] + p[j] ** 2)
    norm = Route.of(
        "Squared Frobenius norm",
        entry,
        Step(Sum(entry**2, (i, 1, n), (j, 1, n)), "Squared, and summed over all entries",
             Applied(Sum(hole**2, (i, 1, n), (j, 1, n)), hole)),
        Step(Sum(squared, (i, 1, n), (j, 1, n)), "Squared; the delta is its own square", CHECK),
        Step(jacobian.FROBENIUS, "The delta picks one term of each inner sum", CHECK), name="norm",
    )  # fmt: skip
    return Derivation.of(by_quotient, by_logarithm, lemmas=(row_sums, trace, norm))


def _point(keys: int) -> Array:
    """Return scores of a row, spread enough for probabilities of many sizes."""
    return 2 * np.random.default_rng(keys).normal(size=keys)


def _derived(derivation: Derivation, keys: int) -> _Values:
    """Return the entries of the derived matrix at SciPy's probabilities, and what is derived of them."""
    weights = special.softmax(_point(keys))
    own, other, delta = symbols("own other delta")
    entry = derivation.result.subs({KroneckerDelta(i, j): delta, p[i]: own, p[j]: other})
    entries = np.asarray(
        function((own, other, delta), entry, "numpy")(weights[:, None], weights, np.eye(keys)), np.float64
    )
    rows, trace, norm = (jacobian.value(route.end, weights) for route in derivation.lemmas)
    return entries, {"entries": 0.0, "row-sums": rows, "trace": trace, "norm": norm}


def _found(code: Softmax, keys: int, entries: Array) -> dict[str, float]:
    """Return the same of the derivatives of ``code`` by complex steps, without any formula."""
    jacobian = complex_step(code, _point(keys))
    return {
        "entries": largest_difference(jacobian, entries),
        "row-sums": largest_difference(jacobian.sum(axis=1), np.zeros(keys)),
        "trace": float(np.trace(jacobian)),
        "norm": float(np.sum(jacobian**2)),
    }


def _held(derived: _Values, what: str, name: str, code: Softmax, keys: int) -> Exact:
    """Return one property of the derivatives of ``code``, compared with what is ``derived``."""
    entries, expected = derived
    label = f"{LABELS[what]} of the array code, by complex steps"
    settings = ("keys", keys), ("scores", "normal, deviation 2, one fixed row")
    found = _found(code, keys, entries)[what]
    return Exact(name, label, settings, integrated(expected[what]), found, ROUNDING, code=_found)


def _constant_sum(scores: Array) -> Array:
    """Return exponentials over a sum that does not move with the scores."""
    return np.exp(scores) / np.sum(np.exp(_point(scores.shape[-1])))


def experiment(derivation: Derivation) -> Experiment:
    """Compare with derivatives of the array code by complex steps."""
    derived = {keys: _derived(derivation, keys) for keys in KEYS}
    checks = (
        _held(derived[keys], what, f"{what}-n{keys}", softmax, keys) for keys in KEYS for what in LABELS
    )
    constant = "the normalising sum can be taken as constant, so that only its diagonal is left"
    single = in_single_precision(softmax)
    wrong: tuple[tuple[str, str, Softmax, str], ...] = (
        ("entries", "a-factor-cancels", loops.of_halves, "a factor on all scores cancels as a shift does"),
        ("row-sums", "constant-sum-rows", _constant_sum, f"{constant}, and its rows sum to zero"),
        ("trace", "constant-sum", _constant_sum, constant),
        ("norm", "logistic-each", lambda scores: 1 / (1 + np.exp(-scores)),
         "each probability depends on its own score only, as a logistic function would"),
        *((what, f"{what}-in-single-precision", single, f"single precision is exact: {label}")
          for what, label in LABELS.items()),
    )  # fmt: skip
    controls = (Control(words, _held(derived[5], what, name, code, 5)) for what, name, code, words in wrong)
    return Experiment(tuple(checks), tuple(controls))


CLAIM = Claim(
    title="The Jacobian of softmax",
    statement="The Jacobian of softmax has the entries {theorem}. Its rows sum to {rows:result}, its trace "
    "is {trace:result}, and its squared Frobenius norm is {norm:result}.",
    meaning="All gradients to queries and keys pass through this matrix. It vanishes when one probability "
    "is one: a saturated row transmits no gradient. It is not a list of logistic slopes, for raising one "
    "score lowers all other probabilities; and moving all scores alike changes nothing, so what counts is "
    "their differences, not their size.",
    assumptions=assume(finite_scores="The scores are finite; a masked key counts as no key."),
    references=cite(
        "bridle1990",
        "J. S. Bridle, Probabilistic Interpretation of Feedforward Classification Network Outputs, in: "
        "Neurocomputing, Springer, 1990, 227-236.",
        "https://doi.org/10.1007/978-3-642-76153-9_28",
    ),
)
