"""The gradients of attention."""

import numpy as np

from verify.spec import NORMAL_COMPONENTS, ROUNDING, Chain, Chains, Check, Claim, Computed, Derivation
from verify.spec import Derivative, Dot, E, Expr, Family, Items, Named, Rational, S, Softmax, Sum, Symbol
from verify.spec import Threshold, Within, Wrong, a, algebra, assume, at_most, cite, d, d_v, derivative, e, i
from verify.spec import j, k, l, m, moments, n, over_keys, q, s, score, squares, symbols, u, v
from verify.spec.arrays import Array, attention_in_loops, complex_step, entries, gradients, gradients_of_loops
from verify.spec.arrays import in_single_precision, largest_difference, over_queries, probabilities, softmax

SIZES, SCALE = {"queries": 3, "keys": 4, "d_k": 5, "d_v": 2}, 0.6
# Fixed queries, keys, values and gradients at the output.
NUMBERS = np.random.default_rng(1)
MATRICES = tuple(NUMBERS.normal(size=shape) for shape in ((3, 5), (4, 5), (4, 2), (3, 2)))
# Arrays that the loss is differentiated by, as the array code and as the claim call them; and their indices.
NAMES = {"values": "V", "probabilities": "P", "scores": "S", "queries": "Q", "keys": "K"}
PLACES = dict(zip(NAMES, ((j, e), (a, j), (a, j), (a, i), (j, i)), strict=True))
c, t = symbols("c t", positive=True)
p, LENGTH = Family("P", m, n), Dot(u, a, u, a)
# The squared gradient that a query sends to all values together.
SENT = Sum(over_keys((Softmax(c * score, j) * u[a, e]) ** 2), (e, 1, d_v))


def weight(x: Expr, key: Expr = j) -> Expr:
    """Return the weight of a key among scores x, by name."""
    return Named(Symbol(f"P_{{a{key}}}"), Softmax(x, key))


def loss(weights: Expr) -> Expr:
    """Return the loss of a query whose gradients at the output are u, by name."""
    return Named(Symbol(r"\ell"), Sum(u[a, e] * over_keys(weights * v[j, e]), (e, 1, d_v)))


def of_score(x: Expr) -> Expr:
    """Return the loss's derivative by score j, from the derivatives by the weights."""
    return weight(x) * (Dot(u, a, v, j) - over_keys(weight(x.xreplace({j: l}), l) * Dot(u, a, v, l), l))


OF_SCORE = Named(Symbol("dS_{aj}"), of_score(c * score))


def derive() -> Chains:
    own, linear = Softmax(c * score, j), "the output is linear in the "
    everything = Named(Symbol(r"\ell"), Sum(loss(own).definition, (a, 1, m)))
    of_row, of_key = "each entry of the query is in the scores of its row", "each query's score of the key"
    yield Chain(Derivative(everything, q[a, i]), title="Queries, by the chain rule").through(
        (c * over_keys(OF_SCORE * k[j, i]), of_row, derivative()),
        (c * over_keys(OF_SCORE.definition * k[j, i]), "the Jacobian of softmax, put in", algebra),
    )
    for name, of, by, end, why in (
        ("probabilities", loss(p[a, j]), p[a, j], Dot(u, a, v, j), f"{linear}probabilities"),
        ("scores", loss(Softmax(s[a, j], j)), s[a, j], of_score(s[a, j]), "the Jacobian of softmax"),
        ("keys", everything, k[j, i], c * Sum(OF_SCORE * q[a, i], (a, 1, m)), of_key),
        ("values", everything, v[j, e], Sum(weight(c * score) * u[a, e], (a, 1, m)), f"{linear}values"),
    ):
        yield Chain(Derivative(of, by), name=name, title=name.capitalize()).then(end, why, derivative())
    spread, most = over_keys(own * (1 - own)), "weights are at most 1 and sum to 1"
    defines = "what one query sends to the values, squared"
    yield Chain(SENT, name="bound", title="The values of one query together", defines=defines).through(
        (LENGTH * squares(c * score), "each value gets its share of $u_a$", algebra),
        (LENGTH, most, at_most(LENGTH * spread), "≤"),
    )
    yield Chain(E(SENT) / E(LENGTH), name="share", title="In the mean square, over what comes in").through(
        (E(squares(c * score)), "the gradients are independent of the weights", moments(NORMAL_COMPONENTS)),
        (1, most, at_most(E(spread)), "≤"),
    )
    title = "Queries over t and keys times t: the same scores, but other gradients of the queries"
    grown = c * over_keys(OF_SCORE * (t * k[j, i]))
    chain = Chain(grown, name="unbounded", title=title, defines="the gradient then")
    yield chain.then(t * c * over_keys(OF_SCORE * k[j, i]), "the common factor", algebra)


def of_loops() -> tuple[dict[str, Array], dict[str, Array]]:
    """Return fixed arrays by their names, and the loss's derivatives by complex steps of plain loops."""
    queries, keys, values, upstream = MATRICES
    scores, units = SCALE * queries @ keys.T, np.eye(len(keys))
    weights = attention_in_loops(queries, keys, units, SCALE)
    stepped = gradients_of_loops(queries, keys, values, upstream, SCALE)
    # Scores are queries whose keys are the unit vectors.
    of_scores, _, _ = gradients_of_loops(scores, units, values, upstream, 1.0)
    of_weights = complex_step(lambda rows: np.sum(upstream * (rows @ values), axis=(-2, -1)), weights)
    arrays = {"q": queries, "k": keys, "v": values, "u": upstream, "s": scores, "P": weights}
    return arrays, dict(zip(NAMES, (stepped[2], of_weights, of_scores, *stepped[:2]), strict=True))


def experiment(derived: Derivation) -> Items:
    given, stepped = of_loops()
    ends = {name: chain.end for name, chain in derived.others.items()} | {"queries": derived.end}
    formulas = {name: entries(ends[name], place, given, {c: SCALE}) for name, place in PLACES.items()}
    queries, keys, values, upstream = MATRICES
    weights = probabilities(queries, keys, SCALE)
    coded = gradients(queries, keys, values, weights, upstream, SCALE)._asdict()
    at = SIZES | {"scale": SCALE}
    exactly = Computed.sharing(code=largest_difference, equals=0, settings=at, allowance=ROUNDING)
    sources = {"derived": ("the derived formula", formulas), "code": ("the array code", coded)}
    for name, letter in NAMES.items():
        for by, (words, entry_of) in sources.items():
            what = f"largest difference of an entry of $d{letter}$: {words} against complex steps of loops"
            yield exactly(f"{by}-{name}", what, arguments=(entry_of[name], stepped[name]))
    bounded = Check.sharing(quantity=derived["share"], shape={m: 32}, tolerance=Within(fixed=True))
    many = {d: 64, d_v: 8, n: 16, c: 1}
    for size in (8, 16, 64):
        yield bounded(f"values-d{size}", at={**many, d: size})
    # A scale at which hardly more than one key of a row counts.
    yield bounded("values-tightest", at={**many, c: 8}, off={"five-per-cent-less": 0.95})
    yield bounded("values-little-when-spread", at={**many, d: 8}, at_most=Threshold(S.Half))
    yield bounded("values-most-when-sharp", at=many, at_least=Threshold(Rational(3, 4)))
    says = "each score changes its own probability only, as a logistic function would"
    own = weights * (1 - weights) * formulas["probabilities"], stepped["scores"]
    yield Wrong("own-probability-only", of="derived-scores", arguments=own, says=says)
    of_queries, single = over_queries(given["s"]), in_single_precision(softmax)(given["s"])
    for name, of, wrong, scale, says in (
        ("scale-forwards-only", "queries", weights, 1.0, "the scale acts forwards only, not on gradients"),
        ("over-queries", "keys", of_queries, SCALE, "the softmax may run over the queries"),
        ("single-precision", "queries", single, SCALE, "single precision gives the same gradients"),
    ):
        gradient = gradients(queries, keys, values, wrong, upstream, scale)._asdict()[of]
        yield Wrong(name, of=f"code-{of}", arguments=(gradient, stepped[of]), says=says)
    says = "the gradient of the values grows with the scores without bound: in the mean square it is what "
    says += "comes from above times the scores' variance, here {value}"
    yield Wrong("value-gradient-unbounded", of="values-d64", at_least=d, says=says)


CLAIM = Claim(
    statement="For attention with queries, keys, values, the scale {c} on its scores {score}, weights {P} "
    "and a loss {loss} whose gradients at the outputs are {u}: {values}, {probabilities}, {scores}, {main} "
    "and {keys}, where {dS} is the gradient at a score. What one query sends to all values together "
    "satisfies {bound}; for the gradients of queries and keys there is no such bound.",
    meaning="Values receive the upstream gradient in shares given by the probabilities: more of it to one "
    "key when attention is sharp, but never more in all. Queries and keys receive it through the softmax's "
    "Jacobian, multiplied by the scale and by the keys or queries themselves, which nothing bounds. A sharp "
    "row thus gives the values larger gradients in the mean square than a spread one, up to the bound.",
    assumptions=assume(
        no_mask="Scores are finite; a key that a mask excludes counts as no key of that query.",
        drawn_normal="What is measured is drawn with standard normal queries, keys, values and gradients.",
    ),
    symbols={"u": u[a, e], "dS": OF_SCORE, "P": weight(c * score), "loss": loss(weight(c * score))},
    references=cite("vaswani2017", "dao2022"),
)
