"""The gradients of attention with respect to values, probabilities, scores, queries and keys."""

from functools import partial

import numpy as np
from sympy import Derivative, Expr, Mul, Rational, S, Sum, Symbol, symbols

from verify.spec import NORMAL_COMPONENTS, ROUNDING, Allowance, Chain, Check, Claim, Computed, Derivation, Dot
from verify.spec import E, Family, Figure, Findings, Items, Line, Named, Softmax, Threshold, Within, Wrong, a
from verify.spec import algebra, assume, at_most, cite, d, d_v, derivative, e, figures as draw, i, j, k, l, m
from verify.spec import moments, n, over_components, over_keys, q, s, score, squares, u, v
from verify.spec.arrays import Array, complex_step, entries, gradients, in_single_precision
from verify.spec.arrays import largest_difference, loops, probabilities, softmax

SCALE, FACTOR = 0.6, 100
DIMENSIONS, KEYS, ROWS, VALUES = (8, 16, 64), 16, 32, 8
SHARP = 8
"""A scale, in the highest dimension, at which hardly more than one key of a row counts."""

NAMES = {"values": "V", "probabilities": "P", "scores": "S", "queries": "Q", "keys": "K"}
"""What the loss is differentiated by, as the array code and as the claim call it."""

c, t = symbols("c t", positive=True)
p, LENGTH = Family("P", m, n), Dot(u, a, u, a)


def weight(x: Expr, key: Expr = j) -> Expr:
    """Return the weight of a key among scores x, by name."""
    return Named(Symbol(f"P_{{a{key}}}"), Softmax(x, key))


def loss(weights: Expr) -> Expr:
    """Return the loss whose gradients at the outputs are u, of one query, by name."""
    return Named(Symbol(r"\ell"), Sum(u[a, e] * over_keys(weights * v[j, e]), (e, 1, d_v)))


def of_score(x: Expr) -> Expr:
    """Return the loss's derivative by score j, from the derivatives by the weights."""
    other = weight(x.xreplace({j: l}), l)
    return weight(x) * (Dot(u, a, v, j) - over_keys(other * Dot(u, a, v, l), l))


OF_SCORE = Named(Symbol("dS_{aj}"), of_score(c * score))
SENT = Sum(over_keys((Softmax(c * score, j) * u[a, e]) ** 2), (e, 1, d_v))
"""What one query sends to all values together, squared."""


def derive() -> tuple[Chain, ...]:
    """Derive the gradient of the queries by the chain rule, and the others beside it."""
    everything = Named(Symbol(r"\ell"), Sum(loss(Softmax(c * score, j)).definition, (a, 1, m)))
    of_row, of_key = "each entry of the query is in the scores of its row", "each query's score of the key"
    linear = "the output is linear in the {}"
    queries = (
        Chain(Derivative(everything, q[a, i]), title="Queries, by the chain rule")
        .then(c * over_keys(OF_SCORE * k[j, i]), of_row, derivative())
        .then(c * over_keys(OF_SCORE.definition * k[j, i]), "the Jacobian of softmax, put in", algebra)
    )
    probability = Line(Dot(u, a, v, j), linear.format("probabilities"), derivative())
    jacobian = Line(of_score(s[a, j]), "the Jacobian of softmax", derivative())
    to_values = Line(Sum(weight(c * score) * u[a, e], (a, 1, m)), linear.format("values"), derivative())
    to_keys = Line(c * Sum(OF_SCORE * q[a, i], (a, 1, m)), of_key, derivative())

    def single(name: str, by: Expr, line: Line, of: Expr = everything) -> Chain:
        return Chain(Derivative(of, by), line, name=name, title=name.capitalize())

    return (
        queries,
        single("probabilities", p[a, j], probability, loss(p[a, j])),
        single("scores", s[a, j], jacobian, loss(Softmax(s[a, j], j))),
        single("keys", k[j, i], to_keys),
        single("values", v[j, e], to_values),
        *bounds(),
    )


def bounds() -> tuple[Chain, ...]:
    """Derive that what values receive is bounded, and that what queries receive is not."""
    spread = over_keys(Softmax(c * score, j) * (1 - Softmax(c * score, j)))
    bound = (
        Chain(
            SENT,
            name="bound",
            title="The values of one query together",
            defines="what one query sends to the values, squared",
        )
        .then(LENGTH * squares(c * score), "each value gets its share of $u_a$", algebra)
        .then(LENGTH, "weights are at most 1 and sum to 1", at_most(LENGTH * spread), "≤")
    )
    share = (
        Chain(E(SENT) / E(LENGTH), name="share", title="In the mean square, over what comes from above")
        .then(
            E(squares(c * score)), "the gradients are independent of the weights", moments(NORMAL_COMPONENTS)
        )
        .then(1, "weights are at most 1 and sum to 1", at_most(E(spread)), "≤")
    )
    moved = over_components(Mul(q[a, i] / t, t * k[j, i], evaluate=False))
    same = Chain(
        c * moved,
        name="same-scores",
        title="Queries over t and keys times t: the same scores, so the same probabilities",
        defines="a score of changed vectors",
    ).then(c * score, "the factors cancel", algebra)
    unbounded = Chain(
        c * over_keys(OF_SCORE * (t * k[j, i])),
        name="unbounded",
        title="But t times the gradient of the queries, for any t",
        defines="the gradient of the queries with changed keys",
    ).then(t * c * over_keys(OF_SCORE * k[j, i]), "the common factor", algebra)
    return bound, share, same, unbounded


def of_loops() -> tuple[dict[str, Array], dict[str, Array]]:
    """Return fixed arrays by their names, and the loss's derivatives by complex steps of plain loops."""
    queries, keys, values, upstream = loops.drawn()
    scores, units = SCALE * queries @ keys.T, np.eye(len(keys))
    weights = loops.attention_in_loops(queries, keys, units, SCALE)
    stepped = loops.gradients_of_loops(queries, keys, values, upstream, SCALE)
    # Scores are queries whose keys are the unit vectors.
    of_scores, _, _ = loops.gradients_of_loops(scores, units, values, upstream, 1.0)
    of_weights = complex_step(lambda rows: np.sum(upstream * (rows @ values), axis=(-2, -1)), weights)
    arrays = {"q": queries, "k": keys, "v": values, "u": upstream, "s": scores, "P": weights}
    return arrays, dict(zip(NAMES, (stepped[2], of_weights, of_scores, *stepped[:2]), strict=True))


def coded(weights: Array, factor: float = SCALE) -> dict[str, Array]:
    """Return the gradients that the array code's own formulas give, from these weights and this factor."""
    queries, keys, values, upstream = loops.drawn()
    back = gradients(queries, keys, values, weights, upstream, factor)
    return {name: getattr(back, name) for name in NAMES}


def distance(name: str, gradient: Array) -> float:
    """Return the largest difference of an entry of a gradient against complex steps of loops."""
    return largest_difference(gradient, of_loops()[1][name])


def growth(name: str, queries: float, keys: float) -> float:
    """Return the norm of a gradient with queries and keys multiplied by factors, over what it was."""
    given, stepped = of_loops()
    moved = queries * given["q"], keys * given["k"]
    back = gradients(*moved, given["v"], probabilities(*moved, SCALE), given["u"], SCALE)
    return float(np.linalg.norm(getattr(back, name)) / np.linalg.norm(stepped[name]))


def share_of_one(weights: Array) -> float:
    """Return what the array code's first query sends to all values, ‖dV‖², over |u|²."""
    queries, keys, values, upstream = loops.drawn()
    back = gradients(queries[:1], keys, values, weights[:1], upstream[:1], SCALE)
    return float(np.sum(back.values**2) / np.sum(upstream[0] ** 2))


PLACES = {"values": (j, e), "probabilities": (a, j), "scores": (a, j), "queries": (a, i), "keys": (j, i)}
"""The indices of each gradient's entries."""


def derived_entries(derived: Derivation) -> dict[str, Array]:
    """Return what the derived expressions are at the fixed arrays."""
    chains = {name: derived if name == "queries" else derived[name] for name in NAMES}
    given = of_loops()[0]
    return {name: entries(chains[name].end, PLACES[name], given, {c: SCALE}) for name in NAMES}


def experiment(derived: Derivation) -> Items:
    """Differentiate plain loops by complex steps; measure what reaches the values as scores grow."""
    given, formulas = of_loops()[0], derived_entries(derived)
    weights = probabilities(given["q"], given["k"], SCALE)
    code, where = coded(weights), {"scale": SCALE}
    sizes = {**dict(zip(("queries", "keys", "d_k", "d_v"), loops.SHAPE, strict=True)), **where}
    exactly = partial(Computed, equals=0, settings=sizes, allowance=ROUNDING)
    for name, letter in NAMES.items():
        what = f"largest difference of an entry of $d{letter}$: {{}} against complex steps of loops"
        by_formula, by_code = (name, formulas[name]), (name, code[name])
        yield exactly(f"derived-{name}", what.format("the derived formula"), distance, by_formula)
        yield exactly(f"code-{name}", what.format("the array code"), distance, by_code)
    grown = derived["unbounded"].end / derived["unbounded"].end.subs(t, 1)
    for name, times in (("queries", grown.subs(t, FACTOR)), ("values", S.One)):
        factors = rf"queries times $1/{FACTOR}$ and keys times ${FACTOR}$"
        what = rf"$\|d{NAMES[name]}\|$ with {factors}, over what it was"
        by, rounding = (name, 1 / FACTOR, FACTOR), Allowance(FACTOR * ROUNDING.size)
        yield Computed(f"{name}-times-t", what, growth, by, equals=times, settings=where, allowance=rounding)
    shares = entries(derived["bound"].lines[0].expression / LENGTH, (a,), given, {c: SCALE})
    what, settings = (
        r"$\|dV\|^2$ of one query of the array code over $|u|^2$",
        {"keys": loops.SHAPE[1], **where},
    )
    first = float(shares[0])
    yield Computed(
        "values-of-one-query",
        what,
        share_of_one,
        (weights,),
        equals=first,
        settings=settings,
        allowance=ROUNDING,
    )

    bounded = partial(Check, shape={m: ROWS}, tolerance=Within(fixed=True))
    share = derived["share"]
    at = {size: {d: size, d_v: VALUES, n: KEYS, c: 1} for size in DIMENSIONS}
    for size in DIMENSIONS:
        yield bounded(f"values-d{size}", share.start, at[size], at_most=share.end)
    few, many = (at[DIMENSIONS[place]] for place in (0, -1))
    yield bounded("values-tightest", share.start, {**many, c: SHARP}, at_most=share.end)
    yield bounded("values-little-when-spread", share.start, few, at_most=Threshold(S.Half))
    yield bounded("values-most-when-sharp", share.start, many, at_least=Threshold(Rational(3, 4)))
    yield from wrong_versions(given, formulas)


def wrong_versions(given: dict[str, Array], formulas: dict[str, Array]) -> Items:
    """Yield gradients that are wrong, and bounds that do not hold."""
    weights = given["P"]
    single = in_single_precision(softmax)(given["s"])
    logistic = weights * (1 - weights) * formulas["probabilities"]
    unscaled, over_queries = coded(weights, 1.0)["queries"], coded(loops.over_queries(given["s"]))["keys"]
    says = "each score changes its own probability only, as a logistic function would"
    yield Wrong("own-probability-only", of="derived-scores", computed=distance("scores", logistic), says=says)
    says = "the scale acts forwards only, and the gradient of the queries is without it"
    yield Wrong("scale-forwards-only", of="code-queries", computed=distance("queries", unscaled), says=says)
    says = "the softmax may run over the queries instead of the keys"
    yield Wrong("over-queries", of="code-keys", computed=distance("keys", over_queries), says=says)
    says, rounded = "weights of single precision give the same gradients", coded(single)["queries"]
    yield Wrong("single-precision", of="code-queries", computed=distance("queries", rounded), says=says)
    says = "one query's values get the sum of squares of any weights"
    yield Wrong("any-weights", of="values-of-one-query", computed=share_of_one(single), says=says)
    for name, says in (
        ("queries", "the gradient of the queries grows with the keys, whatever becomes of the scores"),
        ("values", "the gradient of the values is the same whatever becomes of the scores"),
    ):
        alone = growth(name, 1.0, FACTOR)
        yield Wrong(f"{name}-by-keys-alone", of=f"{name}-times-t", computed=alone, says=says)
    says = "the gradient of the values grows with the scores without bound: in the mean square it is what "
    says += "comes from above times the scores' variance, here {value}"
    yield Wrong("value-gradient-unbounded", of="values-d64", at_least=d, says=says)
    says = "what reaches the values stays five per cent below what comes from above"
    yield Wrong("five-per-cent-less", of="values-tightest", at_most=Rational(95, 100), says=says)


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw what reaches the values, against the dimension, below its bound."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    return draw.figure(
        "values",
        "From one query, values receive at most the gradient of its output",
        "Mean squared gradient of the values over that of the output, unscaled, against the dimension: it "
        "rises as the scores grow, but stays below its bound of one, while the variance of the scores grows "
        "to {values-d64:d_k}.",
        draw.curve("bound: {values-tightest:prediction}", derived["share"].end, span, many=2),
        draw.curve("variance of the scores", d, span, "control"),
        draw.measured(findings.matching("values-d*"), d),
        x=d,
        y="squared gradient of the values over that of the output",
    )


CLAIM = Claim(
    title="The gradients of attention",
    statement="For attention with queries, keys, values, the scale {c} on its scores {score}, weights {P} "
    "and a loss {loss} whose gradients at the outputs are {u}: {values}, {probabilities}, {scores}, {main} "
    "and {keys}, where {dS} is the gradient at a score. What one query sends to all values together "
    "satisfies {bound}; for the gradients of queries and keys there is no such bound.",
    meaning="Scores reach the gradients in two ways. Values receive the upstream gradient in shares given "
    "by the probabilities: more of it to one key when attention is sharp, but never more in all. Queries "
    "and keys receive it through the softmax's Jacobian, multiplied by the scale and by the keys or queries "
    "themselves, which nothing bounds. A sharp row thus gives the values larger gradients in the mean "
    "square than a spread one, up to the bound.",
    assumptions=assume(
        no_mask="Scores are finite; a key that a mask excludes counts as no key of that query.",
        drawn_normal="What is measured is drawn with standard normal queries, keys, values and gradients.",
    ),
    symbols={"c": c, "u": u[a, e], "dS": OF_SCORE, "P": weight(c * score)}
    | {"loss": loss(weight(c * score))},
    references=cite("vaswani2017", "dao2022"),
)
