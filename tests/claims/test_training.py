"""The sampler of training runs: steps equal those of numerical differentiation, statistics those of loops."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from verify.claims.gradients.shared.training import LAST, WINDOW, Lookup, TrainingRuns, losses, steps_to

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array

TASK = Lookup(keys=3, copies=2, width=2, noise=0.5)


def loss(of_query: Array, of_key: Array, tokens: Array, queries: Array, scale: float) -> float:
    """Return the loss of one step, query by query; queries come in the order of the tokens they copy."""
    total = 0.0
    for place, query in enumerate(queries):
        weights = [math.exp(scale * float((query @ of_query) @ (token @ of_key))) for token in tokens]
        for key, weight in enumerate(weights):
            wanted = float(key == place // TASK.copies)
            total += (weight / math.fsum(weights) - wanted) ** 2
    return total / (2 * len(queries))


def slope(which: int, weights: list[Array], tokens: Array, queries: Array, scale: float) -> Array:
    """Return the loss's gradient with respect to one of the weights, by central differences."""
    found = np.zeros_like(weights[which])
    for place in np.ndindex(found.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = [one.copy() for one in weights]
            moved[which][place] += step
            ends.append(loss(moved[0], moved[1], tokens, queries, scale))
        found[place] = (ends[0] - ends[1]) / 2e-6
    return found


def test_descent_by_differences() -> None:
    """Losses of several runs over several steps equal those of descent along the numerical gradient."""
    rng = np.random.default_rng(1)
    seeds, d, steps = 2, 3, 4
    scales, rates = np.array([1.0, 0.5, 0.5]), np.array([0.5, 0.5, 2.0])
    start = [rng.standard_normal((seeds, 1, TASK.width, d)) for _ in range(2)]
    tokens, queries = TASK.draw(rng, (seeds, steps))
    first, second = (np.repeat(one, 3, axis=1) for one in start)
    found = losses(TASK, (first, second), tokens, queries, scales, rates)
    assert found.shape == (seeds, 3, steps)
    assert np.array_equal(first, np.repeat(start[0], 3, axis=1)), "the initial weights are not changed"
    for seed in range(seeds):
        for run in range(3):
            weights = [one[seed, 0] for one in start]
            for step in range(steps):
                seen = tokens[seed, step], queries[seed, step]
                expected = loss(weights[0], weights[1], *seen, scales[run])
                assert math.isclose(found[seed, run, step], expected, rel_tol=1e-6)
                slopes = [slope(which, weights, *seen, scales[run]) for which in (0, 1)]
                weights = [w - rates[run] * one for w, one in zip(weights, slopes, strict=True)]


def test_training_in_own_axes_is_the_same() -> None:
    """Weights of 50 dimensions, written in the axes of what they span, lose as much at every step."""
    rng = np.random.default_rng(3)
    full = rng.standard_normal((2, 2 * TASK.width, 50))
    tokens, queries = TASK.draw(rng, (2, 6))
    own: Array = np.linalg.cholesky(full @ full.swapaxes(1, 2)).astype(np.float64)
    assert own.shape == (2, 2 * TASK.width, 2 * TASK.width)
    found = [
        losses(
            TASK, (one[:, None, : TASK.width], one[:, None, TASK.width :]), tokens, queries, *np.ones((2, 1))
        )
        for one in (full, own)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def test_queries_are_noisy_copies() -> None:
    """Queries without noise are the tokens; noise is normal about them, of the stated size."""
    tokens, queries = Lookup(3, 2, 2, noise=0.0).draw(np.random.default_rng(2), (4,))
    assert np.array_equal(queries, np.repeat(tokens, 2, axis=1))
    tokens, queries = TASK.draw(np.random.default_rng(2), (3000,))
    noise = queries - np.repeat(tokens, 2, axis=1)
    assert abs(noise.std() - TASK.noise) < 0.01
    assert abs(np.mean(noise * np.repeat(tokens, 2, axis=1))) < 0.01


def test_steps_to_the_goal() -> None:
    """The first step whose last few losses have a mean below the goal, or all steps where none has."""
    rng = np.random.default_rng(3)
    found = rng.random((4, 3, 40)) * np.linspace(1.2, 0.2, 40)
    found[0, 0] = 1.0
    taken = steps_to(found, 0.3)
    for seed in range(4):
        for run in range(3):
            ends = [end for end in range(WINDOW, 41) if np.mean(found[seed, run, end - WINDOW : end]) < 0.3]
            assert taken[seed, run] == (ends[0] if ends else 40)
    assert taken[0, 0] == 40


@pytest.fixture(scope="module")
def runs() -> TrainingRuns:
    """Return a small sampler."""
    return TrainingRuns(3, (1.0, 0.5, 0.1), (0.5, 4.0), 30, 0.3, (0, 12, 29), TASK)


def _value_of(names: tuple[str, ...], values: Array, seed: int, name: str) -> float:
    return float(values[seed, names.index(name)])


def test_statistics_by_loops(runs: TrainingRuns) -> None:
    """Every statistic, under the name its method gives, from losses made up at random."""
    rng = np.random.default_rng(4)
    found = rng.random((5, 6, 30)) * np.linspace(1.0, 0.4, 30)
    found[2] = found[2, 0]  # a seed in which all runs are equal
    values = runs.statistics(found)
    assert values.min() >= 0
    assert values.max() <= 1
    taken = steps_to(found, 0.3) / 30
    value_of = partial(_value_of, runs.names, values)
    for seed in range(5):
        measures: list[tuple[float, float, float]] = []
        for scale in range(3):
            own = [2 * scale, 2 * scale + 1]
            good = [float(np.mean(found[seed, run, -LAST:]) < 0.3) for run in own]
            assert value_of(seed, runs.any_success(scale)) == max(good)
            measures.append((sum(good) / 2, -taken[seed, own].mean(), -taken[seed, own].min()))
            for rate, run in enumerate(own):
                assert value_of(seed, runs.success(scale, rate)) == good[rate]
                assert value_of(seed, runs.steps_taken(scale, rate)) == taken[seed, run]
                for mark, step in enumerate(runs.marks):
                    value = found[seed, run, step]
                    assert value_of(seed, runs.loss(scale, rate, mark)) == value
                    assert value_of(seed, runs.squared_loss(scale, rate, mark)) == value**2
        for one in range(3):
            for other in range(3):
                for measure in range(3):
                    gap = measures[one][measure] - measures[other][measure]
                    better = 0.5 if abs(gap) < 1e-9 else float(gap > 0)
                    assert value_of(seed, runs.better(one, other, measure)) == better
                    half = value_of(seed, runs.difference(one, other, measure))
                    assert math.isclose(half, (1 + gap) / 2)
    assert values.shape == (5, len(set(runs.names)))


def test_scales_and_rates_are_paired(runs: TrainingRuns) -> None:
    """All runs of a seed see the same start and data: equal scales and rates give equal runs."""
    twice = TrainingRuns(3, (0.5, 0.5), (1.0, 1.0), 20, 0.3, (0, 19), TASK)
    values = twice.sample(np.random.default_rng(5), 6)
    for measure in range(3):
        assert np.all(values[:, twice.names.index(twice.better(0, 1, measure))] == 0.5)
    for mark in range(2):
        columns = [
            values[:, twice.names.index(twice.loss(scale, rate, mark))] for scale in (0, 1) for rate in (0, 1)
        ]
        assert all(np.array_equal(columns[0], one) for one in columns[1:])
    assert runs.sample(np.random.default_rng(5), 2).shape == (2, len(runs.names))


def test_a_scale_is_a_choice_of_weights_and_rate() -> None:
    """Training at scale c is unscaled training from weights times √c at the rate c·η; at η it is not."""
    rng = np.random.default_rng(6)
    start = [rng.standard_normal((3, 1, TASK.width, 5)) for _ in range(2)]
    tokens, queries = TASK.draw(rng, (3, 25))
    scale, rate = 0.3, np.array([2.0])

    def run(factor: float, scale: float, rate: Array) -> Array:
        weights = factor * start[0], factor * start[1]
        return losses(TASK, weights, tokens, queries, np.array([scale]), rate)

    scaled = run(1.0, scale, rate)
    assert np.allclose(scaled, run(math.sqrt(scale), 1.0, scale * rate), rtol=1e-9)
    assert not np.allclose(scaled, run(math.sqrt(scale), 1.0, rate), rtol=1e-2)
    assert not np.allclose(scaled, run(scale, 1.0, scale * rate), rtol=1e-2)


def test_settings_are_what_is_trained(runs: TrainingRuns) -> None:
    """The task, the rates and their ratio, the steps, and when a run has succeeded."""
    assert "4 axes" in str(dict(replace(runs, d=5).settings)["drawn in"])
    assert dict(runs.settings) == {
        "d_k": 3,
        "task": "find the copied one of 3 tokens of 2 dimensions, noise 0.5",
        "rates": "0.5 to 4, each 8 times the last",
        "steps": 30,
        "success": f"mean loss of the last {LAST} steps below 0.3",
        "block": "one seed at all scales and rates",
    }
