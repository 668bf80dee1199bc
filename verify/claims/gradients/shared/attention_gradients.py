"""Routes to the gradients of attention, and to what bounds them or does not."""

from sympy import Mul, Sum

from verify.symbolic.attention import (
    DIFFERENTIATED, DK, DP, DQ, DS, DV, G, K, P, Q, V, a, b, c, d_v, h, j, k, m,
)  # fmt: skip
from verify.symbolic.kernel.equations import Identity
from verify.symbolic.kernel.sums import SumIdentity, Surplus
from verify.symbolic.kernel.words import Ordered, n, p
from verify.symbolic.routes import Route, Step, one_step
from verify.symbolic.scores import d
from verify.symbolic.softmax import SQUARES, i

t = Ordered("t", "b", positive=True)
g = Ordered("|g|", "z", positive=True)
"""The factor by which keys grow while queries shrink; the length of the gradient at one query's output."""

OF_PROBABILITIES = Sum(G[a, b] * V[j, b], (b, 1, d_v))
INNER = Sum(P[a, k] * DP[a, k], (k, 1, n))
OF_SCORES = P[a, j] * (DP[a, j] - INNER)
OF_QUERIES = c * Sum(DS[a, j] * K[j, h], (j, 1, n))
OF_KEYS = c * Sum(DS[a, j] * Q[a, h], (a, 1, m))
OF_VALUES = Sum(P[a, j] * G[a, b], (a, 1, m))


def of_queries() -> Route:
    """Return the gradient of the queries by the chain rule."""
    check = DIFFERENTIATED
    return Route.of(
        "Queries, by the chain rule",
        DQ[a, h],
        Step(OF_QUERIES, "Score $(a, j)$ is $c\\sum_l Q_{a,l}K_{j,l}$", check),
        Step(
            c * Sum(OF_SCORES * K[j, h], (j, 1, n)),
            "The Jacobian of softmax, applied to what reaches the probabilities",
            check,
        ),
    )


def of_single_matrices() -> tuple[Route, Route, Route, Route]:
    """Return the gradients of probabilities, scores, keys and values, each in one step."""

    def single(title: str, one: str, start: object, end: object, rule: str) -> Route:
        route = one_step(title, start, end, rule, DIFFERENTIATED)
        return route.defining(f"the loss’s derivative by one {one}")

    linear, each = (
        "The output is linear in the ",
        "The same for the keys: each gets something from every query",
    )
    return (
        single("Probabilities", "probability", DP[a, j], OF_PROBABILITIES, linear + "probabilities"),
        single("Scores", "score", DS[a, j], OF_SCORES, "The Jacobian of softmax"),
        single("Keys", "entry of a key", DK[j, h], OF_KEYS, each),
        single("Values", "entry of a value", DV[j, b], OF_VALUES, linear + "values"),
    )


def bounded_values() -> Route:
    """Return that one query sends no more to all values together than it gets."""
    surplus = g**2 * Sum(p[i] * (1 - p[i]), (i, 1, n))
    return Route.of(
        "The values of one query together: $dv_j = p_jg$",
        Sum((p[i] * g) ** 2, (i, 1, n)),
        Step(g**2 * SQUARES, "The common factor", SumIdentity()),
        Step(g**2, "Probabilities are at most 1 and sum to 1", Surplus(surplus)),
        defines="what one query sends to the values, squared",
    )


def same_scores() -> Route:
    """Return that a factor on the keys and its inverse on the queries leave the scores as they are."""
    return one_step(
        "Queries over t and keys times t: the same scores, so the same probabilities",
        c * Sum(Mul(Q[a, h] / t, t * K[j, h], evaluate=False), (h, 1, d)),
        c * Sum(Q[a, h] * K[j, h], (h, 1, d)),
        "The factors cancel",
        Identity(),
        defines="a score of changed vectors",
    )


def unbounded_queries() -> Route:
    """Return that the same factor multiplies the gradient of the queries."""
    start = OF_QUERIES.xreplace({K[j, h]: t * K[j, h]})
    return one_step(
        "But t times the gradient of the queries, for any t",
        start,
        t * OF_QUERIES,
        "The common factor",
        DIFFERENTIATED,
        defines="the gradient of the queries with changed keys",
    )
