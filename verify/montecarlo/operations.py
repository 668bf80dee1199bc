"""The list of array operations that an expression is compiled to, and those that have to be fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from verify.montecarlo.distributions import Array

Draws = Mapping[str, Array]
"""The draws of each family by its name, shape (blocks, …ranges)."""

Program = Callable[[Draws, np.random.Generator], Mapping[str, Any]]
"""Makes columns, shape (blocks, …), of the draws: a program that is no expression, such as a training run."""


class Step(NamedTuple):
    """An operation on the results of earlier steps, and the size of its own result for one block.

    One that ``is_drawn`` takes the draws of a batch and its generator.
    """

    function: Callable[..., Any]
    operands: tuple[int, ...]
    size: int
    is_drawn: bool


@dataclass(frozen=True)
class Compiled:
    """Operations in their order, each with its place and those that are not needed after it."""

    steps: tuple[tuple[int, Step, tuple[int, ...]], ...]
    outputs: tuple[int, ...]

    @cached_property
    def peak(self) -> int:
        """Numbers that are in memory at once for one block, besides the draws."""
        sizes = {place: step.size for place, step, _ in self.steps}
        live, most = 0, 1
        for _, step, frees in self.steps:
            # While a step works, its operands and its result are both there.
            live += step.size
            most = max(most, live)
            live -= sum(sizes[place] for place in frees)
        return most

    def run(self, draws: Draws, rng: np.random.Generator) -> Any:
        """Return the outputs of a batch, shape (blocks, outputs)."""
        values: dict[int, Any] = {}
        for place, step, frees in self.steps:
            if step.is_drawn:
                values[place] = step.function(draws, rng)
            else:
                values[place] = step.function(*(values[operand] for operand in step.operands))
            for free in frees:
                del values[free]
        return np.stack([values[place] for place in self.outputs], axis=1)


# Up to this many keys are faster compared one after another, each for all rows at once, than row by row.
_FEW = 16

_SHORT = 96  # rows of up to so many keys are faster compared half by half than row by row


def largest(rows: Array) -> Array:
    """Return the largest number of each row, over the last axis."""
    if rows.shape[-1] > _SHORT:
        return np.asarray(rows.max(axis=-1))
    while rows.shape[-1] > _FEW:
        half = (rows.shape[-1] + 1) // 2
        rows = np.maximum(rows[..., :half], rows[..., -half:])
    return reduce(np.maximum, rows.transpose(-1, *range(rows.ndim - 1)))


def softmax(scores: Array) -> Array:
    """Return exp(s)/Σexp(s) over the last axis, shape of ``scores``; minus infinity is a masked key.

    The largest score is subtracted first, which changes nothing but keeps the exponentials finite.
    """
    if scores.shape[-1] > _FEW:
        probabilities: Array = scores - largest(scores)[..., None]
        np.exp(probabilities, out=probabilities)
        probabilities /= np.einsum("...j->...", probabilities)[..., None]
        return probabilities
    by_key = np.ascontiguousarray(np.moveaxis(scores, -1, 0))
    by_key = np.exp(by_key - by_key.max(axis=0))
    few: Array = np.empty_like(scores, by_key.dtype)
    np.divide(by_key, by_key.sum(axis=0), out=np.moveaxis(few, -1, 0))
    return few
