"""How the gradient grows from layer to layer in a stack of residual attention layers at initialisation."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from sympy import Expr, Function, IndexedBase, Rational, S, Sum, Symbol, expand, limit, oo, sqrt, symbols

from verify.claims.gradients.shared import (
    PlotLayer, LayerStack, Normalisation, Outputs, Relation, against_loops, output_name, softmax_over_queries,
)  # fmt: skip
from verify.former import (
    Array, Cell, Claim, Control, Derivation, E, Experiment, Figure, Findings, Quantity, Smooth, assume,
    biased, capped, cell_of, d, estimates, figure, function, i, j, line, n, one_step, prediction, ratio,
    threshold, wrong,
)  # fmt: skip
from verify.former.rules import Families, Induction, SumIdentity

m = Symbol("D", integer=True, positive=True)
layers, depth = Symbol("L", integer=True, positive=True), Symbol("l", integer=True, nonnegative=True)
a, b = symbols("a b", integer=True, positive=True)
g, w = IndexedBase("g"), IndexedBase("w")
Gamma, Shared = Function(r"\Gamma"), Function(r"\bar\Gamma")
"""Γ(L): the gradient's mean square at the input of L layers, over that at their output; and what of it all
tokens share."""

BACK = g[i, a] + Sum(w[a, b] * Sum(g[j, b], (j, 1, n)) / n, (b, 1, m))
"""One entry of the gradient after one layer back: the residual path, and even attention's value path."""

TOTAL, MEAN_PART = (
    Sum(g[i, a] ** 2, (i, 1, n), (a, 1, m)),
    Sum(Sum(g[j, b], (j, 1, n)) ** 2, (b, 1, m)) / n,
)


_SIZES = {g: (n, m), w: (m, m)}
_OVER_WEIGHTS = SumIdentity(Families(sizes=_SIZES, variances={w: 1 / m}), "tokens and dimensions")
"""Averages over weights, independent with mean 0 and a variance of one over their number of rows."""

_OVER_GRADIENTS = SumIdentity(Families(sizes=_SIZES, variances={g: S.One}), "tokens and dimensions")
"""Averages over a fresh gradient, whose entries are independent with mean 0 and variance 1."""


def derive() -> Derivation:
    """Derive the growth through layers of even attention, which scores of no variance lead to."""
    beyond = ("that layers with weights of their own follow each other as the recursion says, whatever "
              "gradient comes in, which is measured; and the growth with full scores and normalised tokens, "
              "which is measured against that of uniform attention.")  # fmt: skip
    layer_back = "one layer back, averaged over weights"
    total = one_step(
        "The sum of squares after one layer back",
        E(Sum(BACK**2, (i, 1, n), (a, 1, m))),
        TOTAL + MEAN_PART,
        "Weights have mean 0, and variance one over their number of rows",
        _OVER_WEIGHTS,
        defines=f"{layer_back}: the sum of squares",
    )
    mean_part = one_step(
        "The part of it that all tokens share, after one layer back",
        E(Sum(Sum(BACK, (i, 1, n)) ** 2, (a, 1, m)) / n),
        2 * MEAN_PART,
        "The value path adds to it as much as the residual path brings",
        _OVER_WEIGHTS,
        defines=f"{layer_back}: the part that tokens share",
    )
    fresh = one_step(
        "The same of a fresh gradient",
        E(TOTAL),
        n * m,
        "All entries have the variance 1",
        _OVER_GRADIENTS,
        defines="a fresh gradient: the sum of squares",
    )
    fresh_part = one_step(
        "and the part of it that all tokens share",
        E(MEAN_PART),
        m,
        "One in as many as there are tokens",
        _OVER_GRADIENTS,
        defines="a fresh gradient: the part that tokens share",
    )
    start = {Gamma(0): fresh.end / (n * m), Shared(0): fresh_part.end / (n * m)}
    now = {TOTAL: Gamma(depth), n * MEAN_PART: n * Shared(depth)}
    following = {Gamma(depth + 1): total.end.xreplace(now), Shared(depth + 1): mean_part.end.xreplace(now)}
    closed = {Gamma(depth): 1 + (2**depth - 1) / n, Shared(depth): 2**depth / n}
    route = one_step(
        "Sum of squares and shared part, layer by layer",
        Gamma(layers),
        1 + (2**layers - 1) / n,
        "Each layer has weights of its own: the shared part doubles, and the sum grows by what was shared",
        Induction(depth, start, following, closed),
    )
    return Derivation.of(route, lemmas=(total, mean_part, fresh, fresh_part), beyond=beyond)


TOKENS, WIDTH, LAYERS, MANY = 8, 16, 6, 24
D = 64
SCALES = {"unscaled": S.One, "scaled": 1 / sqrt(d), "over-scaled": 1 / d}
"""The scales in the order in which the sampler numbers them."""

LEAST_BATCH = 64
"""Stacks of a batch at least."""

TINY, TENFOLD = Rational(1, 10_000), S(10) ** Rational(1, MANY)
"""A scale at which scores hardly vary; the growth per layer that comes to ten times over many layers."""

GROWTH = "growth of the gradient’s norm per layer (geometric mean)"
FINE, DEEP = 0.02, 0.005
"""Tolerances below which more is measured."""

PER_LAYER = "growth of the gradient’s root mean square per layer, scores all but 0"
MEAN_SQUARE = "growth of the gradient’s mean square through the stack, scores all but 0"


@dataclass(frozen=True)
class Stack:
    """A stack of the claim: dimension of queries and keys, where it normalises, size of weights, depth."""

    d: int
    normalisation: Normalisation = "after"
    weight_size: float = 1.0
    layers: int = LAYERS

    @property
    def scales(self) -> list[str]:
        """The names of its scales; larger weights are of interest at the root's alone, depth without it."""
        if self.layers != LAYERS:
            return ["unscaled"]
        return list(SCALES) if self.weight_size == 1 else ["scaled"]

    @property
    def sampler(self) -> LayerStack:
        """The sampler."""
        scales = tuple(float(SCALES[name].subs(d, self.d)) for name in self.scales)
        return LayerStack(TOKENS, WIDTH, self.d, self.layers, scales, self.normalisation, self.weight_size)

    @property
    def cell(self) -> Cell:
        """The cell."""
        name = f"{self.normalisation}-d{self.d}" + "-large" * (self.weight_size != 1)
        name += f"-l{self.layers}" * (self.layers != LAYERS)
        cell = cell_of(name, self.sampler, scale=tuple(SCALES[name] for name in self.scales))
        # Each layer of a batch takes its own calls of NumPy, which many stacks at once share.
        least = LEAST_BATCH * self.sampler.coordinates
        return replace(cell, batch_coordinates=max(cell.batch_coordinates, least))

    def log_growth(self, scale: str, depth: int | None = None) -> str:
        """Return the name of the logarithmic growth over all or some layers at the scale of that name."""
        return output_name("log-growth", self.scales.index(scale), depth or self.layers)


def growth(name: str, number: int, over: str | None = None) -> Smooth:
    """Return exp(mean logarithmic growth over ``number`` layers, per layer), or the quotient of two such."""

    def grown(mean: Outputs) -> Array:
        return np.exp((mean[name] - (mean[over] if over else 0.0)) / number)

    return Smooth(grown, positive=True)


def _per_layer(result: Expr) -> Expr:
    """Return even attention's derived growth of the norm per layer."""
    return result ** (1 / (2 * layers))


@cache  # two sets of checks ask for it
def _even(result: Expr) -> tuple[Expr, Expr]:
    """Return it here, and in ever deeper stacks."""
    power = Symbol("power", positive=True)
    now, ahead = (
        expand(result.subs({n: TOKENS, layers: layers + more})).xreplace({2**layers: power})
        for more in (0, 1)
    )
    # Where the quotient of one layer has a limit, the growth per layer has the same one.
    deep = sqrt(limit(ahead / now, power, oo))
    return _per_layer(result).subs({n: TOKENS, layers: LAYERS}), deep


def _small_scores(result: Expr, tolerance: float) -> list[Quantity]:
    shapes, checks = ((2, 8, 1), (2, 16, 2), (4, 16, 3)), []
    for tokens, width, depth in shapes[: 1 if tolerance > FINE else 2 if tolerance > DEEP else 3]:
        name = f"small-scores-n{tokens}-l{depth}"
        cell = cell_of(name, LayerStack(tokens, width, 1, depth, (float(TINY),), "none"), scale=TINY)
        in_all, each = (one.subs({n: tokens, layers: depth}) for one in (result, _per_layer(result)))
        squares = (output_name("input-square", 0), "output-square")
        root = ratio(*squares, 1 / (2 * depth))
        checks.append(Quantity(name, MEAN_SQUARE, cell, ratio(*squares), prediction(in_all)))
        checks.append(Quantity(f"{name}-per-layer", PER_LAYER, cell, root, prediction(each)))
    return checks


def _rate(tolerance: float, name: str, stack: Stack, scale: str, relation: Relation, bound: Expr) -> Quantity:
    """Return the comparison of the growth at a scale, or of its quotient with that at another, with a bound.

    Even attention's growth is derived, but not that full scores keep to it: as a bound it is a yardstick.
    """
    of, _, over = scale.partition(" over ")
    estimand = growth(stack.log_growth(of), stack.layers, stack.log_growth(over) if over else None)
    band = capped(1.0, tolerance)
    return Quantity(name, f"{GROWTH}, {scale}", stack.cell, estimand, threshold(bound), band, relation)


def _full_scores(result: Expr, tolerance: float) -> list[Quantity]:
    """Return the checks at three scales in one dimension, and at scale 1 from a quarter of the width on."""
    here, deep = _even(result)
    wanted: list[tuple[str, int, str, Relation, Expr]] = [
        ("unscaled-growth", D, "unscaled", "≥", deep),
        ("scaled-growth", D, "scaled", "≤", here),
        ("scaled-growth-at-least", D, "scaled", "≥", S.One),
        ("over-scaled-growth", D, "over-scaled", "≤", S.One),
        ("unscaled-growth-d16-at-least", WIDTH, "unscaled", "≥", here),
        ("unscaled-growth-d16", WIDTH, "unscaled", "≤", deep),
    ]
    if tolerance < FINE:
        wanted += [
            ("unscaled-growth-d4", 4, "unscaled", "≤", here),
            ("unscaled-growth-d8-at-least", 8, "unscaled", "≥", here),
            ("unscaled-growth-d8", 8, "unscaled", "≤", deep),
            ("unscaled-growth-d32", 32, "unscaled", "≥", deep),
        ]
    wanted += [(f"grows-more-unscaled-d{n}", n, "unscaled over scaled", "≥", S.One) for n in (WIDTH, D)]
    many = _rate(tolerance, "tenfold-over-many-layers", Stack(D, layers=MANY), "unscaled", "≥", TENFOLD)
    return [*(_rate(tolerance, name, Stack(n), *claimed) for name, n, *claimed in wanted), many]


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the growth per layer at three scales, and the derived law where scores hardly vary."""
    result = derivation.result
    small = _small_scores(result, tolerance)
    checks = [*_full_scores(result, tolerance), *small]
    if tolerance < DEEP:
        before, (here, deep) = Stack(D, "before"), _even(result)
        checks += [
            _rate(tolerance, "unscaled-growth-normalised-before", before, "unscaled", "≥", deep),
            _rate(tolerance, "scaled-growth-normalised-before", before, "scaled", "≤", here),
        ]
    return Experiment((*checks, against_loops()), _controls(result, small[0], tolerance))


def _controls(result: Expr, small: Quantity, tolerance: float) -> tuple[Control, ...]:
    (here, deep), large = _even(result), Stack(16, weight_size=8**0.5)
    false: tuple[tuple[str, Stack, str, Relation, Expr, str], ...] = (
        ("bounds-like-clipping", large, "scaled", "≤", here,
         "scaling bounds the gradient as clipping does, even with weights the root of eight times as large"),
        ("vanishes-through-layers", Stack(D), "unscaled", "≤", S.One,
         "without scaling the gradient vanishes on its way through the layers"),
        ("root-of-two-at-the-width", Stack(WIDTH), "unscaled", "≥", deep,
         "without scaling the norm grows by {value} a layer where {d_k} is the width"),
        ("scaled-stays", Stack(D), "scaled", "≤", S.One, "with scaling the gradient does not grow at all"),
        ("doubles-at-four-widths", Stack(D), "unscaled", "≥", S(2),
         "without scaling the norm doubles in every layer where {d_k} is four times the width"),
        ("keeps-its-rate", Stack(D, layers=MANY), "unscaled", "≥", deep,
         "without scaling the norm grows by {value} a layer in deep stacks, too"),
        ("over-scaled-keeps-the-norm", Stack(D), "over-scaled", "≥", (1 + here) / 2,
         "divided by {d_k} the norm grows half as much as with uniform attention"),
    )  # fmt: skip
    return (
        *(Control(words, _rate(tolerance, *claimed)) for *claimed, words in false),
        wrong(small, "doubles-in-every-layer",
              "the value path doubles the mean square in every layer, however many tokens there are", S(2)),
        softmax_over_queries(),
        biased(small, tolerance),
    )  # fmt: skip


def _path(findings: Findings, scale: str, label: str) -> PlotLayer:
    """Return the measured growth after each layer, with intervals at the level of the checks."""
    depths, drawn = range(1, LAYERS + 1), Stack(D)
    grown = (growth(drawn.log_growth(scale, depth), 1) for depth in depths)
    found = findings.estimated(drawn.cell.id, grown, like="unscaled-growth")
    return estimates(label, depths, found, "measured" if scale == "scaled" else "other")


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the gradient's growth over the layers at each scale, and that of even attention."""
    law = function((layers,), (derivation.result.subs(n, TOKENS)) ** S.Half)
    return figure(
        "growth-by-layer",
        "Without scaling the gradient grows from layer to layer",
        "Growth of the gradient's norm on its way back, in {unscaled-growth:d_k} dimensions, four times "
        "the width of the tokens. Unscaled it rises by about half or more in each of the six layers; over "
        "the root by a factor of {scaled-growth:estimate.3} a layer; over the dimension it ends below one.",
        "norm of the gradient, in units of that at the output",
        line("uniform attention, not normalised (derived)", law, at=range(1, LAYERS + 1)),
        _path(findings, "unscaled", "unscaled"),
        _path(findings, "scaled", "over {root_d}"),
        _path(findings, "over-scaled", "over {d_k}"),
        x="layers passed on the way back",
        x_scale="linear",
    )


CLAIM = Claim(
    title="Without scaling, the gradient grows through the layers at initialisation, faster in wider heads",
    statement="In a stack of {L} residual attention layers over {n} tokens whose scores hardly vary, without "
    "normalisation, the gradient’s mean square grows by {theorem:result}. With full scores, tokens "
    "({unscaled-growth:tokens}) normalised after each of {unscaled-growth:layers} layers, the unscaled "
    "norm grows by less than uniform attention’s rate, {scaled-growth:prediction.3} a layer, where {d_k} is "
    "a quarter of the width, and by more where {d_k} is half or all of it. Where {d_k} is two or four times "
    "the width, it grows by more than {unscaled-growth:prediction} a layer, the most that uniform attention "
    "reaches in ever deeper stacks. At {unscaled-growth:d_k=} it grows less than with uniform attention if "
    "scores are divided by {root_d}, and not at all if by {d_k}; over {tenfold-over-many-layers:layers} "
    "layers it grows unscaled more than tenfold, but by less than {unscaled-growth:prediction} a layer.",
    meaning="The statement that gradients accumulate without scaling is right for a network at its start, "
    "where undecided rows send back undamped gradients, and each layer adds some. By how "
    "much depends on the dimension of queries and keys against the width of the model: heads are mostly "
    "narrower than the model, and there the growth is slower than here at twice the width. It depends on "
    "the depth, too: over four times as many layers the norm grows by less per layer. With scaling it grows "
    "over six layers by less than with uniform attention. That is not like clipping, which bounds every "
    "gradient at every step: once its weights have grown, scaled attention passes that rate again. Measured "
    "on small stacks of attention alone, without the other layers of a transformer.",
    symbols={"L": layers, "n": n},
    assumptions=assume(
        initialisation="Weights are independent normal with mean 0 and variance one over their number of "
        "rows.",
        tokens="Tokens and the gradient at the output are standard normal and independent.",
        values="Values keep the width of the tokens; one head a layer, no output projection besides.",
    ),
)
