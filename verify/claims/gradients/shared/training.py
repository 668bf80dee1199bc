"""Sampler of training runs: one head of attention learns to look up, at several scales and learning rates."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from verify.montecarlo.attention import probabilities, score_gradients
from verify.montecarlo.blocks import Settings, output_name
from verify.montecarlo.distributions import NORMAL, Array
from verify.montecarlo.inputs import bartlett_components, bartlett_setting, bartlett_vectors

LAST = 20
"""A run has succeeded if its mean loss over these last steps is below the goal."""

WINDOW = 5
"""The goal is reached at the end of the first window of this many steps with a mean loss below it."""

_MEASURES = 3  # what scales are compared by: successes, mean steps, steps at the best rate


@dataclass(frozen=True)
class Lookup:
    """The task: find, among ``keys`` random tokens, the one that a noisy query is a copy of.

    Each step draws fresh tokens of ``width`` normal components and, of every token, ``copies`` queries with
    normal noise added. The value of key j is the j-th unit vector, so the output is the attention itself;
    the loss, between 0 and 1, is half its mean squared distance from the right value.
    """

    keys: int = 4
    copies: int = 2
    width: int = 8
    noise: float = 0.3

    @property
    def queries(self) -> int:
        """Queries that one step shows."""
        return self.keys * self.copies

    def draw(
        self, rng: np.random.Generator, shape: tuple[int, ...], *, single: bool = False
    ) -> tuple[Array, Array]:
        """Return tokens, shape (*shape, keys, width), and queries, shape (*shape, queries, width)."""
        tokens = NORMAL.draw(rng, (*shape, self.keys, self.width), single=single)
        queries = np.repeat(tokens, self.copies, axis=-2)
        queries += self.noise * NORMAL.draw(rng, queries.shape, single=single)
        return tokens, queries


def losses(
    task: Lookup, weights: tuple[Array, Array], tokens: Array, queries: Array, scales: Array, rates: Array
) -> Array:
    """Return the loss at every step of gradient descent, shape (seeds, runs, steps).

    The seeds' initial ``weights`` of queries and keys have shape (seeds, runs, width, d), ``tokens`` and
    ``queries`` are the task's, shape (seeds, steps, …); run r has scale ``scales[r]`` and learning rate
    ``rates[r]``. All runs of a seed see the same data.
    """
    (seeds, runs, width, d), keys = weights[0].shape, task.keys
    # All runs of a seed side by side: one product takes its data to them all.
    of_query, of_key = (one.swapaxes(1, 2).reshape(seeds, width, runs * d) for one in weights)
    scale, wanted = scales[:, None, None], np.repeat(np.eye(keys, dtype=tokens.dtype), task.copies, axis=0)
    pace = (scales * rates / task.queries)[:, None, None]
    of_q, of_k = (np.empty((seeds, many, runs, d), tokens.dtype) for many in (task.queries, keys))
    found = np.empty((seeds, runs, tokens.shape[1]))
    for step in range(tokens.shape[1]):
        seen, asked = tokens[:, step], queries[:, step]
        q = (asked @ of_query).reshape(of_q.shape).swapaxes(1, 2)
        k = (seen @ of_key).reshape(of_k.shape).swapaxes(1, 2)
        weight = probabilities(q, k, scale)
        error = weight - wanted
        found[:, :, step] = np.einsum("srmn,srmn->sr", error, error) / (2 * task.queries)
        # The values are unit vectors: the gradient at the output is that of the probabilities.
        moves = pace * score_gradients(weight, error)
        np.matmul(moves, k, out=of_q.swapaxes(1, 2))
        np.matmul(moves.swapaxes(2, 3), q, out=of_k.swapaxes(1, 2))
        of_query -= asked.swapaxes(1, 2) @ of_q.reshape(seeds, -1, runs * d)
        of_key -= seen.swapaxes(1, 2) @ of_k.reshape(seeds, -1, runs * d)
    return found


@dataclass(frozen=True)
class TrainingRuns:
    """Blocks are seeds: one initialisation and one sequence of data, trained at every scale and rate.

    Weights start normal with variance 1/width, in the axes that they span: scores and descent know their
    inner products alone, and stay within what they span. Statistics, all between 0 and 1: for each scale and
    rate whether the run succeeds, ``success``, its steps to the goal (over ``steps``, which also stands for
    never), and its ``loss`` and ``squared-loss`` at each of the steps ``marks``; for each scale whether any
    rate succeeds, ``any-success``; and for each pair of scales how the first fares against the second in 0
    the share of rates that succeed, 1 the mean steps over all rates, and 2 the steps at the best rate of
    each: whether ``better`` (1 better, ½ equal, 0 worse), and by how much, (1 + ``difference``)/2. Names end
    in the numbers of scale and rate, or of both scales, and of mark or measure.
    """

    d: int
    scales: tuple[float, ...]
    rates: tuple[float, ...]
    steps: int
    goal: float
    marks: tuple[int, ...]
    task: Lookup = Lookup()

    order, univariate = 1, 0

    @property
    def coordinates(self) -> int:
        task = self.task
        shown = task.width * self.steps * (task.keys + task.queries)
        return shown + bartlett_components(2 * task.width, self.d)

    @property
    def scores(self) -> int:
        """Scores that one block holds, of all steps of one run."""
        return self.steps * self.task.keys * self.task.queries

    @property
    def held(self) -> int:
        task = self.task
        axes = min(self.d, 2 * task.width)
        of_run = 4 * task.width * axes + 2 * (task.keys + task.queries) * axes + self.steps
        return 2 * self.coordinates + self._runs * of_run

    @property
    def _runs(self) -> int:
        return len(self.scales) * len(self.rates)

    @property
    def settings(self) -> Settings:
        task, rates = self.task, self.rates
        copied = f"find the copied one of {task.keys} tokens of {task.width} dimensions, noise {task.noise}"
        return (
            ("d_k", self.d),
            ("task", copied),
            ("rates", f"{rates[0]:g} to {rates[-1]:g}, each {rates[1] / rates[0]:g} times the last"),
            ("steps", self.steps),
            ("success", f"mean loss of the last {LAST} steps below {self.goal}"),
            ("block", "one seed at all scales and rates"),
            *bartlett_setting(self.d, 2 * self.task.width),
        )

    @property
    def names(self) -> tuple[str, ...]:
        scales, rates = range(len(self.scales)), range(len(self.rates))
        runs, pairs = [*product(scales, rates)], product(scales, scales, range(_MEASURES))
        at_marks = [(*run, mark) for run in runs for mark in range(len(self.marks))]
        return (
            *(output_name(what, *run) for what in ("success", "steps") for run in runs),
            *(output_name(what, *one) for what in ("loss", "squared-loss") for one in at_marks),
            *(output_name("any-success", scale) for scale in scales),
            *(output_name(what, *pair) for pair in pairs for what in ("better", "difference")),
        )

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the statistics of ``count`` seeds, one row each."""
        width = self.task.width
        both = width**-0.5 * bartlett_vectors(rng, count, 2 * width, self.d)
        runs = np.repeat(both[:, None], self._runs, axis=1)
        of_query, of_key = runs[:, :, :width], runs[:, :, width:]
        tokens, queries = self.task.draw(rng, (count, self.steps), single=True)
        scales = np.repeat(self.scales, len(self.rates)).astype(tokens.dtype)
        rates = np.tile(self.rates, len(self.scales)).astype(tokens.dtype)
        found = losses(self.task, (of_query, of_key), tokens, queries, scales, rates)
        return self.statistics(found)

    def statistics(self, found: Array) -> Array:
        """Return the statistics of seeds from the losses of their runs, shape (seeds, runs, steps)."""
        count, grid = len(found), (len(found), len(self.scales), len(self.rates))
        succeeded = (found[:, :, -LAST:].mean(axis=2) < self.goal).astype(float)
        taken = steps_to(found, self.goal) / self.steps
        shares, steps = succeeded.reshape(grid), taken.reshape(grid)
        measures = (shares.mean(axis=2), -steps.mean(axis=2), -steps.min(axis=2))
        differences = [
            one[:, first] - one[:, second]
            for first in range(grid[1])
            for second in range(grid[1])
            for one in measures
        ]
        compared = [(1 + one) / 2 for gap in differences for one in (_sign(gap), gap)]
        marked = found[:, :, list(self.marks)].reshape(count, -1)
        any_rate = shares.max(axis=2)
        return np.concatenate(
            [succeeded, taken, marked, marked**2, any_rate, np.stack(compared, axis=1)], axis=1
        )


def steps_to(found: Array, goal: float) -> Array:
    """Return the steps after which the mean loss of the last few is below ``goal``, or all of them."""
    reached = sliding_window_view(found, WINDOW, axis=2).mean(axis=3) < goal
    first = reached.argmax(axis=2) + WINDOW
    return np.where(reached.any(axis=2), first, found.shape[2]).astype(float)


def _sign(differences: Array) -> Array:
    # Means of equal numbers in another order may differ in the last digit.
    return np.sign(np.round(differences, 9))
