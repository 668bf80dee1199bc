"""How the gradient grows from layer to layer in a stack of residual attention layers at initialisation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import S, limit, oo

from verify.claim import Claim, Findings
from verify.designs import biased, prediction, threshold
from verify.evidence import Assumption, Axis, Figure, Layer
from verify.montecarlo.blocks import Cell
from verify.montecarlo.estimands import Smooth, ratio
from verify.montecarlo.experiment import Control, Experiment, Quantity
from verify.montecarlo.layers import LayerStack, Normalisation
from verify.symbolic.derivation import Derivation
from verify.symbolic.predict import function
from verify.symbolic.softmax import n
from verify.symbolic.stack import even_attention, layers

if TYPE_CHECKING:
    from verify.montecarlo.components import Array

TOKENS, WIDTH, LAYERS = 8, 16, 6
D = 64
UNSCALED, SCALED, OVER_SCALED = 0, 1, 2
"""The scales 1, 1/√d and 1/d as the sampler numbers them."""

GROWTH = "growth of the gradient’s norm per layer (geometric mean)"
MEAN_SQUARE = "growth of the gradient’s mean square through the stack, scores all but 0"


def derive() -> Derivation:
    """Derive the growth through layers of even attention, which scores of no variance lead to."""
    return replace(
        even_attention(),
        beyond="the growth with full scores and normalised tokens, which is measured against that of even "
        "attention.",
    )


@dataclass(frozen=True)
class Stack:
    """A stack of the claim: its dimension of queries and keys, where it normalises, size of its weights."""

    d: int
    normalisation: Normalisation = "after"
    weight_size: float = 1.0

    @property
    def cell(self) -> Cell:
        """The stack's cell."""
        large = self.weight_size != 1
        # Larger weights are of interest at the root's scale alone.
        scales = (self.d**-0.5,) if large else (1.0, self.d**-0.5, 1 / self.d)
        name = f"{self.normalisation}-d{self.d}" + "-large" * large
        weights = f"normal, of queries and keys {self.weight_size:.4g} times as large" if large else "normal"
        settings = (
            ("d_k", self.d),
            ("layers", LAYERS),
            ("tokens", f"{TOKENS} of {WIDTH} dimensions"),
            ("normalisation", f"{self.normalisation} each layer"),
            ("weights", weights),
            ("scale", r"$1/\sqrt{d_k}$" if large else r"1, $1/\sqrt{d_k}$ and $1/d_k$"),
        )
        return Cell(name, settings, self.sampler(scales))

    def sampler(self, scales: tuple[float, ...]) -> LayerStack:
        """Return the stack's sampler."""
        return LayerStack(TOKENS, WIDTH, self.d, LAYERS, scales, self.normalisation, self.weight_size)


def growth(position: int, number: int, over: int | None = None) -> Smooth:
    """Return exp(mean logarithmic growth over ``number`` layers, per layer), or the quotient of two such."""

    def grown(mean: Array) -> Array:
        logarithm = mean[position] - (0.0 if over is None else mean[over])
        rate: Array = np.exp(logarithm / number)
        return rate

    return Smooth(grown, positive=True)


def _growth_of(scale: int, stack: Stack, over: int | None = None) -> Smooth:
    sampler = stack.sampler((1.0, 1.0, 1.0))
    under = None if over is None else sampler.log_growth(over, LAYERS)
    return growth(sampler.log_growth(scale, LAYERS), LAYERS, under)


def _even(result: Any) -> tuple[Any, Any]:
    """Return even attention's derived growth of the norm per layer: here, and in ever deeper stacks."""
    per_layer = result ** (1 / (2 * layers))
    return per_layer.subs({layers: LAYERS, n: TOKENS}), limit(per_layer.subs(n, TOKENS), layers, oo)


def _small_scores(result: Any, tolerance: float) -> tuple[Quantity, ...]:
    shapes = ((2, 8, 1), (2, 16, 2), (4, 16, 3))
    checks = []
    for tokens, width, depth in shapes[: 1 if tolerance > 0.02 else 2 if tolerance > 0.005 else 3]:
        settings = (
            ("d_k", 1),
            ("layers", depth),
            ("tokens", f"{tokens} of {width} dimensions"),
            ("normalisation", "none"),
            ("weights", "normal"),
            ("scale", "1/10000"),
        )
        name = f"small-scores-n{tokens}-l{depth}"
        cell = Cell(name, settings, LayerStack(tokens, width, 1, depth, (1e-4,), "none"))
        expected = prediction(result.subs({n: tokens, layers: depth}))
        checks.append(Quantity(name, MEAN_SQUARE, cell, ratio(1, 0), expected))
    return tuple(checks)


def _bounds(stack: Stack, result: Any, suffix: str = "") -> tuple[Quantity, ...]:
    """Return the checks that unscaled attention's gradient explodes and scaled attention's does not.

    Even attention's growth is derived, but not that full scores keep to it: here it is a yardstick.
    """
    here, deep = (threshold(one) for one in _even(result))
    wanted = (
        ("unscaled", UNSCALED, deep, "≥"),
        ("scaled", SCALED, here, "≤"),
        ("over-scaled", OVER_SCALED, here, "≤"),
    )
    return tuple(
        Quantity(
            f"{name}-growth{suffix}",
            f"{GROWTH}, {name}",
            stack.cell,
            _growth_of(scale, stack),
            bound,
            relation="≥" if relation == "≥" else "≤",
        )
        for name, scale, bound, relation in wanted
    )


def _compared(stack: Stack) -> Quantity:
    return Quantity(
        f"grows-more-unscaled-d{stack.d}",
        f"{GROWTH}, unscaled over scaled",
        stack.cell,
        _growth_of(UNSCALED, stack, over=SCALED),
        threshold(S.One),
        relation="≥",
    )


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the growth per layer at three scales, and the derived law where scores hardly vary."""
    result = derivation.result
    main = Stack(D)
    compared = (main,) if tolerance > 0.02 else (Stack(16), main)
    small = _small_scores(result, tolerance)
    checks = [*_bounds(main, result), *(_compared(one) for one in compared), *small]
    if tolerance < 0.005:
        checks += [*_bounds(Stack(D, "before"), result, "-normalised-before"), _compared(Stack(4))]
    large = Stack(16, weight_size=8**0.5)
    controls = (
        Control(
            r"scaling bounds the gradient as clipping does, whatever the weights: those of queries and keys "
            r"$\sqrt{8}$ times as large",
            Quantity(
                "bounds-like-clipping",
                f"{GROWTH}, scaled",
                large.cell,
                growth(large.sampler((1.0,)).log_growth(0, LAYERS), LAYERS),
                threshold(_even(result)[0]),
                relation="≤",
            ),
        ),
        Control(
            "without scaling the gradient vanishes on its way through the layers",
            Quantity(
                "vanishes-through-layers",
                f"{GROWTH}, unscaled",
                main.cell,
                _growth_of(UNSCALED, main),
                threshold(S.One),
                relation="≤",
            ),
        ),
        Control(
            "the value path doubles the mean square in every layer, however many tokens there are",
            Quantity("doubles-in-every-layer", MEAN_SQUARE, small[0].cell, ratio(1, 0), prediction(S(2))),
            truth=small[0].prediction.value,
        ),
        biased(small[0], tolerance),
    )
    return Experiment(tuple(checks), controls)


def _path(findings: Findings, scale: int, label: str) -> Layer:
    """Return the measured growth after each layer, with intervals at the level of the checks."""
    stack = Stack(D)
    sampler, sample = stack.sampler((1.0, 1.0, 1.0)), findings.samples[stack.cell.id]
    alpha = 1 - findings.checks["unscaled-growth"].level
    depths = range(1, LAYERS + 1)
    points = [growth(sampler.log_growth(scale, depth), 1).measure(sample, alpha) for depth in depths]
    return Layer(
        kind="points",
        role="measured" if scale == SCALED else "other",
        label=label,
        x=tuple(float(depth) for depth in depths),
        y=tuple(one.value for one in points),
        lo=tuple(one.interval[0] for one in points),
        hi=tuple(one.interval[1] for one in points),
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the gradient's growth over the layers at each scale, and that of even attention."""
    law = function((layers,), (derivation.result.subs(n, TOKENS)) ** S.Half)
    depths = tuple(float(depth) for depth in range(1, LAYERS + 1))
    even = Layer(
        kind="line",
        role="truth",
        label="even attention, not normalised (derived)",
        x=depths,
        y=tuple(law(depth) for depth in depths),
    )
    return (
        Figure(
            id="growth-by-layer",
            title="Without scaling the gradient grows from layer to layer",
            alt="Growth of the gradient's norm over one to six layers on its way back, for 64-dimensional "
            "queries and keys. Unscaled it rises by more than half in every layer; scaled by the root, or by "
            "the dimension itself, it stays near one.",
            x=Axis(label="layers passed on the way back"),
            y=Axis(label="norm of the gradient, in units of that at the output", scale="log"),
            layers=(
                even,
                _path(findings, UNSCALED, "unscaled"),
                _path(findings, SCALED, r"over $\sqrt{d_k}$"),
                _path(findings, OVER_SCALED, "over $d_k$"),
            ),
        ),
    )


CLAIM = Claim(
    id="gradient-through-layers",
    order=70,
    title="Without scaling the gradient explodes through a stack of layers at initialisation",
    statement=(
        "In a stack of $L$ residual attention layers over $n$ tokens whose scores hardly vary, without "
        r"normalisation, the gradient’s mean square grows by $1 + (2^L - 1)/n$. With full scores, tokens "
        "normalised after every layer, $n = 8$, $L = 6$ and $d_k = 64$, the norm grows by more than "
        r"$\sqrt{2}$ a layer at scale 1, the most that even attention reaches in ever deeper stacks; at "
        r"$1/\sqrt{d_k}$ and $1/d_k$ it grows by less than even attention’s own rate."
    ),
    meaning=(
        "The text that says gradients accumulate and explode without scaling is right for a network at its "
        "start, where rows that are not yet decided send back undamped gradients, and each layer adds some. "
        "Scaling prevents it there. It is not like clipping, though: clipping bounds every gradient at every "
        "step, and scaled attention whose weights have grown behaves exactly as unscaled attention did. "
        "Measured on small stacks of attention alone, without the other layers of a transformer."
    ),
    assumptions=(
        Assumption(
            id="initialisation",
            text="Weights are independent normal with mean 0 and variance one over their number of rows.",
        ),
        Assumption(
            id="tokens", text="Tokens and the gradient at the output are standard normal and independent."
        ),
        Assumption(
            id="values",
            text="Values keep the width of the tokens; one head a layer, no output projection besides.",
        ),
    ),
    references=(),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
