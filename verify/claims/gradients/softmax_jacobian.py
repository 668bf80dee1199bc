"""The Jacobian of softmax."""

from collections.abc import Callable

import numpy as np

from verify.claims.gradients.shared.weights import squared_norm
from verify.spec import ROUNDING, Chain, Chains, Claim, Computed, Derivation, Derivative, Expr, Family, Index
from verify.spec import Items, KroneckerDelta, Softmax, Sum, Wrong, a, algebra, assume, cite, exp, j, l, n
from verify.spec import over_keys, s, squares
from verify.spec.arrays import Array, complex_step, entries, in_single_precision, largest_difference, softmax

x, h = Family("x", n), Index("h")
p, p_l = Softmax(s[a, j], j), Softmax(s[a, l], l)
TOTAL, EQUAL = Sum(exp(s[a, h]), (h, 1, n)), KroneckerDelta(j, l)
J, ENTRY = Derivative(p, s[a, l]), p * (EQUAL - p_l)
ROWS = {keys: 2 * np.random.default_rng(keys).normal(size=keys) for keys in (2, 5, 64)}  # scores, well spread


def derive() -> Chains:
    slope = exp(s[a, j]) * EQUAL / TOTAL - exp(s[a, j]) * exp(s[a, l]) / TOTAL**2
    yield Chain(over_keys(J * x[l], l), title="By the quotient rule").through(
        (over_keys(slope * x[l], l), "quotient rule; in the sum only one term depends on a score", algebra),
        (over_keys(ENTRY * x[l], l), "each exponential over the sum is a weight", algebra),
    )
    yield Chain(over_keys(J, l), name="row-sums", title="Row sums: moving all alike changes nothing").through(
        (over_keys(ENTRY, l), "the entries, summed over a row", algebra),
        (p - p * over_keys(p_l, l), "the delta picks one term", algebra),
        (0, "weights sum to 1", algebra),
    )
    yield Chain(over_keys(Derivative(p, s[a, j])), name="trace", title="Trace").through(
        (over_keys(p * (1 - p)), "the entries of the diagonal", algebra),
        (1 - squares(s[a, j]), "weights sum to 1", algebra),
    )
    squared = over_keys(over_keys(p**2 * (EQUAL - 2 * EQUAL * p_l + p_l**2), l))
    yield Chain(over_keys(over_keys(J**2, l)), name="norm", title="Squared Frobenius norm").through(
        (squared, "the entries squared; the delta is its own square", algebra),
        (squared_norm(s[a, j]), "the delta picks one term of each inner sum", algebra),
    )


def of_row(expression: Expr, keys: int, *places: Index) -> Array:
    """Return a derived expression for the row of so many keys, at all places of its indices."""
    return entries(expression, (a, *places), {"s": ROWS[keys][None]}, {})[0]


def measured(what: str, keys: int, code: Callable[[Array], Array] = softmax) -> float:
    """Return the words for the derivatives of array code by complex steps."""
    jacobian = complex_step(code, ROWS[keys])
    if what == "entries":
        return largest_difference(jacobian, of_row(ENTRY, keys, j, l))
    if what == "row-sums":
        return largest_difference(jacobian.sum(axis=1), np.zeros(keys))
    return float(np.trace(jacobian) if what == "trace" else np.sum(jacobian**2))


def experiment(derived: Derivation) -> Items:
    constant = "the normalising sum can be taken as constant, so that only its diagonal is left"
    alone = "each weight depends on its own score only, as a logistic function would"
    halved, logistic = (lambda scores: softmax(scores / 2)), (lambda scores: 1 / (1 + np.exp(-scores)))
    total, constant_sum = np.sum(np.exp(ROWS[5])), lambda scores: np.exp(scores) / total
    labels = {name: chain.start for name, chain in derived.others.items()}
    labels["entries"] = "largest difference of an entry of $J$ from the derived one"
    by = {"scores": "normal, deviation 2, one fixed row", "by": "complex steps"}
    single = in_single_precision(softmax)
    for what, name, code, why in (
        ("entries", "a-factor-cancels", halved, "a factor on all scores cancels as a shift does"),
        ("row-sums", "constant-sum-rows", constant_sum, f"{constant}, and its rows sum to zero"),
        ("trace", "constant-sum", constant_sum, constant),
        ("norm", "logistic-each", logistic, alone),
    ):
        for keys in ROWS:
            exactly = Computed.sharing(f"{what}-n{keys}", code=measured, arguments=(what, keys))
            value = float(of_row(derived[what].end, keys)) if what in {"trace", "norm"} else 0
            yield exactly(what=labels[what], equals=value, settings={"keys": keys, **by}, allowance=ROUNDING)
        yield Wrong(name, of=f"{what}-n5", arguments=(what, 5, code), says=why)
        rounded, says = (what, 5, single), f"single precision is exact: {what.replace('-', ' ')}"
        yield Wrong(f"{what}-in-single-precision", of=f"{what}-n5", arguments=rounded, says=says)


CLAIM = Claim(
    statement="The Jacobian J of softmax has the entries {ENTRY}: along any {x} the weights change by "
    "{main:end}. Its rows sum to {row-sums:end}, its trace is {trace:end}, and its squared Frobenius norm is "
    "{norm:end}.",
    meaning="All gradients to queries and keys pass through this matrix. It vanishes when one weight is 1: a "
    "saturated row transmits no gradient. It is not a list of logistic slopes, for raising one score lowers "
    "all other weights.",
    assumptions=assume(finite_scores="The scores are finite; a masked key counts as no key."),
    references=cite("bridle1990"),
)
