r"""The scale that a program applied, read off what came out: argmin over c of ‖softmax(c·QKᵀ + B)V - O‖².

By Gauss-Newton in float64, from several starts. A model of what rounding does to the output, number by
number, gives the residual to expect and the standard error of the scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from verify.auditing.blocks import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from verify.auditing.blocks import Floats, Head

    Model = Callable[[float], tuple[Floats, Floats]]

ROUNDINGS = 2.0
"""How many times what roundings at their bounds add up to a residual may be: some 4.7 standard deviations.

An audit has thousands of residuals, and where scores are large a few weights make up the whole of one.
"""

_ALIKE = 4.0
"""Rows that differ by this multiple of their rounding share half the variance of their errors."""
_MEAN_SQUARE = 0.18
"""Mean square of a relative rounding error over its bound, for mantissas uniform in the logarithm."""
_SINGLE = 2.0**-24

_ITERATIONS = 30
_HALVINGS = 12
_CONVERGED = 1e-8
_BEST = 4
_GRID = np.geomspace(0.003, 300, 24)
_FEWEST_DF = 5.0
_OWN_NOISE = 4 * np.finfo(float).eps
"""Relative error of a slope computed here, of sums over many keys in double precision."""
_LINEAR = 1.0
"""Variance of a score's rounding, in rows that tell of the scale, up to which weights follow it linearly."""


@dataclass(frozen=True)
class Rounding:
    """What the rounding of a program's own arithmetic does to the output of a head.

    Rounded are the inputs, where a program casts them; the scaled score, up to three times, with bias and
    soft-cap; the weights; and the output. Sums in single precision lose more the longer they are. Roundings
    count as independent, each with its bound for a standard deviation. ``of_scores`` are the variances of the
    scores, [rows, keys], and ``of_outputs`` those of what comes after, [rows, d_v]. A value
    that gets more weight draws the output away from ``centre``, the output where weights add up to 1, else 0.
    """

    head: Head
    scale: float
    weights: Floats
    output: Floats
    centre: Floats
    of_scores: Floats
    of_outputs: Floats

    @classmethod
    def of(cls, head: Head, scale: float, weights: Floats | None = None) -> Rounding:
        """Return it for a head with this scale; its weights are the softmax over the keys, or ``weights``."""
        is_own = weights is None
        weights = head.weights(scale) if weights is None else weights
        output = weights @ head.value
        centre = output if is_own and head.weighting.is_softmax else np.zeros_like(output)
        single = head.unit <= _SINGLE
        width, keys = (head.query.shape[1], len(head.key)) if single else (0, 1)
        terms = scale**2 * (head.query**2 @ (head.key**2).T)
        added = np.where(np.isfinite(head.added), head.added, 0.0)
        of_scores = 3 * ((scale * head.products) ** 2 + added**2) + (2 + width / 2) * terms
        of_outputs = 2 * (weights**2 @ head.value**2) + keys * output**2
        return cls(head, scale, weights, output, centre, head.unit**2 * of_scores, head.unit**2 * of_outputs)

    @property
    def size_of_terms(self) -> float:
        """The norm of the terms, all taken as positive, that a slope is the sum of."""
        head = self.head
        lengths = np.linalg.norm(head.query, axis=1)[:, None] * np.linalg.norm(head.key, axis=1)
        return float(np.linalg.norm((self.weights * lengths) @ np.abs(head.value)))

    @property
    def total(self) -> float:
        """The expected square of the norm of all errors."""
        # An error of a score moves the output by weight·(value - centre).
        moved = self.weights**2 * self.of_scores
        value, centre = self.head.value, self.centre
        through = (
            moved @ value**2 - 2 * centre * (moved @ value) + centre**2 * moved.sum(axis=1, keepdims=True)
        )
        return float(np.maximum(through, 0).sum() + self.of_outputs.sum())

    def along(self, slope: Floats) -> float:
        """Return the variance of the errors' inner product with ``slope``."""
        return float(
            (self._through_scores(slope) ** 2 * self.of_scores).sum() + (slope**2 * self.of_outputs).sum()
        )

    def shared_along(self, slope: Floats) -> float:
        """Return the part of the variance that comes from rows with the same errors.

        Rows share the errors of their scores, or of their outputs, as far as these differ by less than
        rounding.
        """
        scores = self.weights * (self.scale * self.head.products)
        through = self._through_scores(slope) * np.sqrt(self.of_scores)
        return _MEAN_SQUARE * (
            _covariance(through, scores, self.weights**2 * self.of_scores)
            + _covariance(slope * np.sqrt(self.of_outputs), self.output, self.of_outputs)
        )

    def bias_along(self, slope: Floats) -> float:
        """Return the size of the mean error's inner product with ``slope``, from the scores' noise.

        Where ε_j has variance σ_j², E[O(s + ε)] - O(s) is ½Σ_j σ_j²·∂²O/∂s_j², and the derivative is
        p_j(1 - 2p_j)(v_j - O).
        """
        moved = self.weights * (1 - 2 * self.weights) * self.of_scores * _MEAN_SQUARE / 2
        mean = moved @ self.head.value - moved.sum(axis=1, keepdims=True) * self.output
        return abs(float(np.vdot(slope, mean)))

    def _through_scores(self, slope: Floats) -> Floats:
        """Return by how much an error of each score moves the inner product, [rows, keys]."""
        inner = slope @ self.head.value.T - (slope * self.output).sum(axis=1, keepdims=True)
        return self.weights * inner

    def least_along(self, slope: Floats) -> float:
        """Return the same from the rounding of the output alone: no program has less."""
        return _MEAN_SQUARE * self.head.unit**2 * float(((slope * self.output) ** 2).sum())


def _covariance(moved: Floats, rounded: Floats, variances: Floats) -> float:
    """Return the sum of products of different rows of ``moved``, as far as ``rounded`` is alike in them."""
    centred = rounded - rounded.mean(axis=0)
    squares = (centred**2).sum(axis=1)
    apart = np.maximum(np.add.outer(squares, squares) - 2 * centred @ centred.T, 0.0)
    noise = np.add.outer(variances.sum(axis=1), variances.sum(axis=1)) * _ALIKE**2
    alike = np.divide(noise, noise + apart, out=np.zeros_like(noise), where=noise > 0)
    np.fill_diagonal(alike, 0.0)
    return max(0.0, float((alike * (moved @ moved.T)).sum()))


@dataclass(frozen=True)
class Implied:
    """The scale that explains an output best.

    ``standard_error`` is infinite where the output does not depend on the scale; ``df`` are its degrees of
    freedom, infinite where it comes from the model of rounding alone. ``bias`` is how far the rounding of
    scores may move the scale to one side: noise of scores flattens their softmax. ``residual`` is ‖O - Ô‖
    over ‖O‖, and ``rounding`` what rounding may leave of it. ``spread`` is the standard deviation of the
    scaled scores inside a row, over the keys it sees.
    """

    scale: float
    standard_error: float
    df: float
    bias: float
    residual: float
    rounding: float
    spread: float
    rows: int

    @property
    def fits(self) -> bool:
        """Whether attention with this scale gives the output, up to rounding."""
        return self.residual <= self.rounding

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval of the scale at this level; the whole line where nothing is known."""
        return student_interval(self.scale, self.standard_error, self.df, level, self.bias)


def student_interval(value: float, error: float, df: float, level: float, bias: float) -> tuple[float, float]:
    """Return Student's interval of a value that may be off by ``bias`` besides.

    It is the whole line where the standard error is infinite.
    """
    if not math.isfinite(error):
        return -math.inf, math.inf
    half = float(-special.stdtrit(df, (1 - level) / 2)) * error + bias
    return value - half, value + half


def implied_scale(head: Head, starts: Iterable[float] = ()) -> Implied:
    """Return the scale that reproduces the head's output best.

    ``starts`` are the likely scales; where none leads to a residual of the size of rounding, a grid of both
    signs over all sizes of scores is searched. A head needs at least one row.
    """
    likely = _best(head, starts)
    if likely is not None and likely.fits:
        return likely
    found = [one for one in (likely, _best(head, _promising(head))) if one is not None]
    return min(found, key=lambda one: one.residual) if found else assess(head, 1.0)


def _best(head: Head, starts: Iterable[float]) -> Implied | None:
    best: Implied | None = None
    for start in starts:
        found = assess(head, fitted(head.attended, head.output, start))
        if best is None or found.residual < best.residual:
            best = found
        if best.fits:
            break
    return best


def fitted(model: Model, target: Floats, start: float, iterations: int = _ITERATIONS) -> float:
    """Return the scale to which Gauss-Newton with halved steps comes from ``start``.

    ``model`` gives the output at a scale and its derivative by it.
    """
    scale = start
    output, slope = model(scale)
    error = target - output
    for _ in range(iterations):
        steepness = float(np.vdot(slope, slope))
        if steepness == 0 or not math.isfinite(steepness):
            return scale
        step = float(np.vdot(slope, error)) / steepness
        for _halving in range(_HALVINGS):
            output, slope = model(scale + step)
            left = target - output
            if np.vdot(left, left) <= np.vdot(error, error):
                break
            step /= 2
        else:
            return scale
        scale, error = scale + step, left
        if abs(step) <= _CONVERGED * abs(scale):
            return scale
    return scale


def assess(head: Head, scale: float) -> Implied:
    """Return how well a scale explains the head's output, and how well the output determines it."""
    output, slope = head.attended(scale)
    error = head.output - output
    rounding = Rounding.of(head, scale)
    size = max(head.size, np.finfo(float).tiny)
    standard_error, df = _standard_error(rounding, slope, error)
    return Implied(
        scale=scale,
        standard_error=standard_error,
        df=df,
        bias=rounding.bias_along(slope) / float(np.vdot(slope, slope))
        if math.isfinite(standard_error)
        else 0.0,
        residual=float(np.linalg.norm(error)) / size,
        rounding=ROUNDINGS * math.sqrt(rounding.total) / size,
        spread=abs(scale) * _deviation_in_rows(head),
        rows=len(head.output),
    )


def _standard_error(rounding: Rounding, slope: Floats, error: Floats) -> tuple[float, float]:
    """Return the standard error of a scale and its degrees of freedom.

    An error of one score moves a whole row of the output, so rows are what is independent. Where no few of
    them settle the scale, their own errors say how far it may be off, at least by the rounding of the output:
    the jackknife's variance, with as many degrees of freedom as there are rows of equal weight (R. M. Bell
    and D. F. McCaffrey, Bias reduction in standard errors for linear regression with multi-stage samples,
    Survey Methodology 28, 2002). Else the model of rounding says it. Rows that are alike are rounded alike,
    which their differences do not show; the model says what that adds.
    """
    by_row = (slope**2).sum(axis=1)
    steepness = float(by_row.sum())
    if math.sqrt(steepness) <= _OWN_NOISE * rounding.size_of_terms:
        return math.inf, math.inf
    of_scores = (rounding.weights * rounding.of_scores).sum(axis=1)
    if float(by_row @ of_scores) > _LINEAR * steepness:
        return math.inf, math.inf
    leverage = by_row / steepness
    df = 1 / float(leverage @ leverage) - 1
    if df < _FEWEST_DF:
        return math.sqrt(rounding.along(slope) + rounding.shared_along(slope)) / steepness, math.inf
    left = (slope * error).sum(axis=1) / (1 - leverage)
    variance = max(float(left @ left), rounding.least_along(slope)) + rounding.shared_along(slope)
    return math.sqrt(variance) / steepness, df


def _promising(head: Head) -> list[float]:
    """Return the scales of a grid, of either sign, with the least residuals."""
    spread = _deviation_in_rows(head)
    if spread == 0:
        return []
    scales = np.concatenate([_GRID, -_GRID]) / spread
    residuals = [float(np.linalg.norm(head.output - head.attend(float(scale)))) for scale in scales]
    return [float(scales[place]) for place in np.argsort(residuals)[:_BEST]]


def _deviation_in_rows(head: Head) -> float:
    """Return the standard deviation of the unscaled products inside a row, over the keys it sees."""
    seen = head.added > HIDDEN
    count = seen.sum(axis=1, keepdims=True)
    mean = np.where(seen, head.products, 0).sum(axis=1, keepdims=True) / count
    squares = np.where(seen, (head.products - mean) ** 2, 0).sum(axis=1, keepdims=True) / count
    return math.sqrt(float(squares.mean()))
