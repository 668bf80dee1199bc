"""Without scaling, the gradient grows through the layers at initialisation, faster in wider heads."""

import numpy as np

from verify.spec import NORMAL, STANDARD, Chain, Chains, Check, Claim, Column, Derivation, E, Expr, Family
from verify.spec import Given, Index, Items, Limit, Plot, Program, Rational, S, Sum, Symbol, Threshold, Within
from verify.spec import Wrong, algebra, assume, d, exp, j, l, limit, moments, n, oo, q, sqrt
from verify.spec.arrays import Array, Draws, gradients, probabilities

# The width of a token, and how many layers there are.
D, L = (Symbol(name, integer=True, positive=True) for name in "DL")
e, f, depth = Index("e"), Index("f"), Index("l")
x, g, incoming = Family("x", n, D), Family("g", n, D), Given("g", n, D)
w_q, w_k, w_v, w = Family("w_q", L, D, d), Family("w_k", L, D, d), Family("w_v", L, D, D), Family("w", D, D)
ALL = dict.fromkeys((x, g, w_q, w_k, w_v), NORMAL)
TOKENS, WIDTH, LAYERS, MANY, WIDE = 8, 16, 6, 24, 64
POWERS = {"unscaled": 0.0, "scaled": -0.5, "over-scaled": -1.0}  # the scales, as powers of the dimension
EVEN = 1 + (2**L - 1) / n
# The growth of the norm per layer of even attention here, and in ever deeper stacks.
HERE, DEEP = Threshold((EVEN ** (1 / (2 * L))).subs({n: TOKENS, L: LAYERS})), Threshold(sqrt(2))


def derive() -> Chains:
    def back(of: Family) -> Expr:
        """Return an entry a layer back: the residual path, and even attention's value path."""
        return of[j, e] + Sum(w[e, f] * Sum(of[l, f], (l, 1, n)) / n, (f, 1, D)) / sqrt(D)

    def total(entry: Expr) -> Expr:
        return Sum(entry**2, (j, 1, n), (e, 1, D))

    def shared(entry: Expr) -> Expr:
        return Sum(Sum(entry, (j, 1, n)) ** 2, (e, 1, D)) / n

    came, weights_alone = incoming[j, e], moments({w: STANDARD[q]})
    apart = "weights have mean 0, and variance one over the width"
    squares = Chain(E(total(back(incoming))), name="adds", title="The sum of squares after one layer back")
    yield squares.then(total(came) + shared(came), apart, weights_alone)
    doubles = Chain(E(shared(back(incoming))), name="doubles", title="The part of it that all tokens share")
    brings = "the value path adds as much as the residual path brings"
    yield doubles.then(2 * shared(came), brings, weights_alone)
    share, both = "the shared part is one in as many as there are tokens", dict.fromkeys((g, w), STANDARD[q])
    fresh = Chain(E(total(back(g))) / (n * D), name="first", title="The mean square of a fresh gradient")
    yield fresh.then(1 + 1 / n, share, moments(both))
    title = "Each layer has weights of its own: it adds the shared part, and doubles that"
    defines = "the mean square at the input of $L$ layers, over that at their output"
    main = Chain(1 + Sum(2**depth / n, (depth, 0, L - 1)), title=title, defines=defines)
    yield main.then(EVEN, "a geometric series", algebra)
    ratio = Limit(EVEN.subs(L, L + 1) / EVEN, L, oo)
    deep = Chain(ratio, name="deep", title="The growth per layer in ever deeper stacks")
    yield deep.then(2, "the power of two alone is left", limit())


def unit(tokens: Array) -> Array:
    """Return tokens over their root mean square."""
    return tokens / np.sqrt((tokens**2).mean(axis=-1, keepdims=True))


def passed_back(draws: Draws, scale: float, *, normalised: bool = True) -> tuple[Array, Array]:
    """Return the gradient's sums of squares at the input and at the output of a stack, (blocks,) each."""
    # A layer is x + attention(x), normalised after it where that is wanted, with weights of variance one
    # over the width.
    tokens, upstream, deviation = draws["x"], draws["g"], draws["x"].shape[-1] ** -0.5
    layers = zip(*(np.moveaxis(deviation * draws[name], 1, 0) for name in ("w_q", "w_k", "w_v")), strict=True)
    passes = []
    for layer in layers:
        queries, keys, values = (tokens @ weights for weights in layer)
        weights = probabilities(queries, keys, scale)
        output = tokens + weights @ values
        passes.append((layer, (queries, keys, values), weights, output))
        tokens = unit(output) if normalised else output
    for layer, (queries, keys, values), weights, output in reversed(passes):
        if normalised:  # its part along the token is lost, the rest divided by the token's size
            root, along = np.sqrt((output**2).mean(axis=-1, keepdims=True)), unit(output)
            upstream = (upstream - along * (upstream * along).mean(axis=-1, keepdims=True)) / root
        back = gradients(queries, keys, values, weights, upstream, scale)
        of = [matrix.swapaxes(-1, -2) for matrix in layer]
        upstream = upstream + (back.queries @ of[0] + back.keys @ of[1] + back.values @ of[2])
    at_input, at_output = ((sent.astype(float) ** 2).sum(axis=(1, 2)) for sent in (upstream, draws["g"]))
    return at_input, at_output


def log_growth(draws: Draws, power: float, factor: float = 1.0) -> Array:
    """Return the logarithm of the norm's growth through a stack, at a factor of a power of the dimension."""
    at_input, at_output = passed_back(draws, factor * draws["w_q"].shape[-1] ** power)
    return np.log(at_input / at_output) / 2


def after(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Layers whose scores are not even, normalised after each: even attention's growth is a yardstick."""
    return {scale: log_growth(draws, power) for scale, power in POWERS.items()}


def deeper(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """The same layers without scaling alone: even attention's growth in ever deeper stacks is a yardstick."""
    return {"deeper": log_growth(draws, 0.0)}


def large(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Layers with weights of queries and keys the root of eight times as large, beside that yardstick."""
    return {"large": log_growth(draws, -0.5, factor=8)}  # scores, with which both go, are 8 times as large


def hardly_varying(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Layers as derived, whose scores are all but 0: the gradient's sums of squares at input and output."""
    at_input, at_output = passed_back(draws, 1e-4, normalised=False)
    return {"input-square": at_input, "output-square": at_output}


def experiment(derived: Derivation, tolerance: float) -> Items:
    def growth(program: Program, name: str) -> Expr:
        return exp(E(Column(program, name)) / L)

    def stack(size: int, layers: int = LAYERS, tokens: int = TOKENS, width: int = WIDTH) -> dict[Symbol, int]:
        return {d: size, L: layers, n: tokens, D: width}

    yield Check("one-layer", derived["first"], {n: 4, D: 8}, laws={g: NORMAL, w: NORMAL})
    unity, fine, near = Threshold(S.One), tolerance < 0.02, Within(fixed=True)
    rate = Check.sharing(laws=ALL, tolerance=near)
    unscaled, scaled, over = (growth(after, scale) for scale in POWERS)
    yield rate("unscaled-growth", unscaled, stack(WIDE), at_least=DEEP)
    yield rate("scaled-growth", scaled, stack(WIDE), at_most=HERE)
    yield rate("over-scaled-growth", over, stack(WIDE), at_most=unity)
    for size in (16, 8) if fine else (16,):
        yield rate(f"unscaled-growth-d{size}-at-least", unscaled, stack(size), at_least=HERE)
        yield rate(f"unscaled-growth-d{size}", unscaled, stack(size), at_most=DEEP)
    if fine:
        yield rate("unscaled-growth-d4", unscaled, stack(4), at_most=HERE)
        yield rate("unscaled-growth-d32", unscaled, stack(32), at_least=DEEP)
    for size in (WIDTH, WIDE):
        yield rate(f"grows-more-unscaled-d{size}", unscaled / scaled, stack(size), at_least=unity)
    many, tenfold = growth(deeper, "deeper"), Threshold(S(10) ** Rational(1, MANY))
    yield rate("tenfold-over-many-layers", many, stack(WIDE, MANY), at_least=tenfold)
    grown = E(Column(hardly_varying, "input-square")) / E(Column(hardly_varying, "output-square"))
    for width, layers, biased in ((8, 1, "biased-prediction"), (16, 2, False))[: 1 + fine]:
        at, name = stack(1, layers, 2, width), f"small-scores-n2-l{layers}"
        yield Check(name, grown, at, equals=derived.end, laws=ALL, control=biased)
    says = "scaling bounds the gradient as clipping does, even with weights the root of eight times as large"
    clipped, at = growth(large, "large"), stack(WIDTH)
    yield Wrong("bounds-like-clipping", clipped, at, at_most=HERE, laws=ALL, tolerance=near, says=says)
    yield Wrong("vanishes-through-layers", of="unscaled-growth", at_most=unity, says="the gradient vanishes")
    says = "without scaling the norm grows by {value} a layer where {d_k} is the width"
    yield Wrong("root-of-two-at-the-width", of="unscaled-growth-d16", at_least=DEEP, says=says)
    yield Wrong("scaled-stays", of="scaled-growth", at_most=unity, says="with scaling it does not grow")
    says = "without scaling the norm grows by {value} a layer in deep stacks, too"
    yield Wrong("keeps-its-rate", of="tenfold-over-many-layers", at_least=DEEP, says=says)
    says = "divided by {d_k} the norm grows half as much as with uniform attention"
    half = Threshold((1 + HERE.value) / 2)
    yield Wrong("over-scaled-keeps-the-norm", of="over-scaled-growth", at_least=half, says=says)
    says = "the value path doubles the mean square in every layer, however many tokens there are"
    yield Wrong("doubles-in-every-layer", of="small-scores-n2-l1", equals=S(2), says=says)
    # All that is measured without scaling, but for what repeats a point: those "-at-least".
    checks, words = "unscaled-growt*[h0-9]", "growth of the norm per layer, unscaled"
    curves = {"uniform attention, not normalised": HERE.value}
    bounds = {"deep stacks: {unscaled-growth:prediction}": DEEP.value}
    yield Plot("growth-by-dimension", checks, d, curves=curves, bounds=bounds, y=words)


CLAIM = Claim(
    headline="unscaled-growth",
    statement="In a stack of {L} residual attention layers over {n} tokens whose scores hardly vary, without "
    "normalisation, the gradient’s mean square grows by {main:end}. With full scores, {unscaled-growth:n} "
    "tokens of {unscaled-growth:D} dimensions normalised after each of {unscaled-growth:L} layers, the "
    "unscaled norm grows by less than uniform attention’s rate, {scaled-growth:prediction.3} a layer, where "
    "{d_k} is a quarter of the width, and by more where {d_k} is half or all of it. Where {d_k} is two or "
    "four times the width, it grows by more than {unscaled-growth:prediction} a layer, the most that uniform "
    "attention reaches in ever deeper stacks. At {unscaled-growth:d_k=} it grows less than with uniform "
    "attention if scores are divided by {root_d}, and not at all if by {d_k}; over "
    "{tenfold-over-many-layers:L} layers it grows unscaled more than tenfold, but by less than "
    "{unscaled-growth:prediction} a layer.",
    meaning="The statement that gradients accumulate without scaling is right for a network at its start, "
    "where undecided rows send back undamped gradients, and each layer adds some. By how much depends on the "
    "dimension of queries and keys against the width of the model: heads are mostly narrower than the model, "
    "and there the growth is slower than here at twice the width. Scaling is not like clipping, which bounds "
    "every gradient at every step: once its weights have grown, scaled attention passes uniform attention’s "
    "rate. Measured on small stacks of attention alone, without the other layers of a transformer.",
    assumptions=assume(
        initialisation="Weights are independent normal, of variance one over their number of rows.",
        tokens="Tokens and the gradient at the output are standard normal and independent.",
        values="Values keep the width of the tokens; one head a layer, no output projection besides.",
    ),
)
