"""What a cell's record says of it is what its sampler holds and draws.

Sizes, scales, laws and correlations are compared with the sampler, or with the components that it draws; so a
changed label and a changed drawing alone both fail.
"""

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sympy import Rational, Symbol, sympify

from tests.catalogue import EACH_QUICKLY_MADE, experiment
from tests.strategies import FALSE_ALARM
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import NORMAL, UNIFORM, Array, stream
from verify.montecarlo.experiment import cells_of, every_comparison
from verify.montecarlo.intervals import normal_quantile
from verify.montecarlo.quantities import measurement
from verify.symbolic.vocabulary import Dot, Given, Var, a, d, j, k, m, n, q

DRAWS = 40_000
"""Components drawn of each law."""

DISTRIBUTIONS = {
    "normal": (0.0, 1.0, 3.0),
    "jointly normal": (0.0, 1.0, 3.0),
    "independent normal": (0.0, 1.0, 3.0),
    "uniform": (0.0, 1.0, 1.8),
    "U(0,1)": (0.5, 1 / 12, 1.8),
    "Rademacher": (0.0, 1.0, 1.0),
    "Laplace": (0.0, 1.0, 6.0),
    "t(9)": (0.0, 1.0, 4.2),
    "centred exponential": (0.0, 1.0, 9.0),
    "normal with outliers": (0.0, 1.1, 3 * (0.999 + 0.001 * 101**2) / 1.1**2),
}
"""Mean, variance and kurtosis by name, from the textbooks."""


def number(text: str) -> float:
    """Return the number that a label writes, with a minus sign or a fraction bar."""
    return float(Fraction(text.replace("−", "-")))


def moments_of(label: str) -> tuple[float, float, float]:
    """Return mean, variance and kurtosis of the law that a label names."""
    if chance := re.fullmatch(r"1 with probability (.+), else 0", label):
        share = number(chance[1])
        spread = share * (1 - share)
        return share, spread, 1 / spread - 3
    moved = re.fullmatch(r"(?:(−?[\d/]+) ([+−]) )?(?:([\d/]+)·)?(.+)", label.partition(", ")[0])
    assert moved, label
    mean, variance, kurtosis = DISTRIBUTIONS[moved[4]]
    factor = number(moved[3] or "1") * (-1 if moved[2] == "−" else 1)
    return number(moved[1] or "0") + factor * mean, factor**2 * variance, kurtosis


def follows_drawn(drawn: Array, label: str) -> bool:
    """Return whether draws have the moments that ``label`` promises, as far as they can show."""
    drawn = np.ravel(drawn)
    if label == "Cauchy":
        # It has no moments: half of it lies within ±1, and a half of that within ±(√2 - 1).
        shares = [np.mean(np.abs(drawn) < end) for end in (1, math.sqrt(2) - 1)]
        return all(
            abs(share - p) < 5 * math.sqrt(p / len(drawn))
            for share, p in zip(shares, (0.5, 0.25), strict=True)
        )
    mean, variance, kurtosis = moments_of(label)
    z = (drawn - mean) / math.sqrt(variance)
    powers = ((z, 0.0), (z**2, 1.0), (z**4, kurtosis))
    return all(_mean_is(values, expected) for values, expected in powers)


def _mean_is(values: Array, expected: float) -> bool:
    error = values.std() / math.sqrt(len(values))
    return bool(abs(values.mean() - expected) <= normal_quantile(FALSE_ALARM) * error + 1e-6)


ROLES = {"query": "q", "key": "k", "value": "v", "upstream": "u", "scores": "s"}
"""Families by the names of settings that say which law they have."""


def written_number(label: str) -> float:
    """Return the number that a formula of roots and fractions writes."""
    text, before = label.strip("$").replace("\\left", "").replace("\\right", ""), ""
    while text != before:
        before = text
        text = re.sub(r"\\(sqrt|log)\{([^{}]*)\}", r"\1(\2)", text)
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    return float(sympify(text))


def are_given(drawn: Any, label: str) -> bool:
    """Return whether given numbers are the same in all blocks, and those that a label writes, if it does."""
    numbers = np.asarray(drawn[0], float)
    if blocks := re.fullmatch(r"(\d+) blocks \[(.*)\]", label):
        rows = [[number(entry) for entry in row.split()] for row in blocks[2].split("; ")]
        written = np.kron(np.eye(int(blocks[1])), rows)
    elif repeated := re.fullmatch(r"\((.*)\) (\d+) times", label):
        written = np.tile([number(entry) for entry in repeated[1].split(", ")], int(repeated[2]))
    elif power := re.fullmatch(r"(\d+) to the power −i/(\d+)", label):
        written = float(power[1]) ** (-np.arange(len(numbers)) / int(power[2]))
    else:
        assert label == "given numbers", label
        written = numbers
    return bool(np.all(drawn == drawn[:1]) and np.allclose(numbers, written, rtol=1e-6))


def wrong_settings(cell: Cell) -> list[str]:
    """Return the settings that blocks of families do not keep to: sizes, laws, other values."""
    sampler: Any = cell.sampler
    # Laws with heavy tails show their fourth moment in more draws only.
    labels = " ".join(str(law.name) for _, law in sampler.laws)
    many = DRAWS * (100 if "outliers" in labels else 10 if "exponential" in labels else 1)
    blocks = max(1, many // (sampler.coordinates or many))
    draws = sampler.draws(stream(5, "settings", cell.id, 0), blocks)
    families = {str(family.label): family for family, _ in sampler.laws}
    lengths = {
        str(extent): length
        for name, family in families.items()
        for extent, length in zip(family.ranges, draws[name].shape[1:], strict=True)
    }
    rows = (2 if sampler.mirrored else 1) * lengths.get("m", 1)
    values = {str(symbol): float(value) for symbol, value in sampler.values}

    def holds(key: str, value: Any) -> bool:
        if (name := ROLES.get(key, key)) in families:
            label = str(value).removeprefix("independent ") if name == "s" else str(value)
            is_so = are_given if isinstance(families[name], Given) else follows_drawn
            return is_so(draws[name], label)
        if key in lengths and not isinstance(value, str):
            return bool(value == (rows if key == "m" else lengths[key]))
        if key == "block" and value.endswith(" pairs"):
            return bool(value == f"{rows} pairs") and "n" not in lengths
        if key == "block":
            sides = re.fullmatch(r"(\d+)(?: queries, (\d+) keys|×(\d+))", value)
            assert sides, value
            return (int(sides[1]), int(sides[2] or sides[3])) == (rows, lengths["n"])
        if key == "rows":
            return sampler.mirrored is (value == "each also with the other sign")
        stated = written_number(value) if isinstance(value, str) else float(value)
        return math.isclose(stated, values[key], rel_tol=1e-12)

    return [f"{key}: {value}" for key, value in cell.settings if key != "program" and not holds(key, value)]


def cells(name: str) -> list[Cell]:
    """Return every cell of a claim, of checks and of controls."""
    return cells_of(every_comparison(experiment(name)))


@EACH_QUICKLY_MADE
def test_settings_are_those_of_the_sampler(name: str) -> None:
    """Dimensions, sizes, scales, laws with their moments, correlations, masks."""
    assert {cell.id: wrong for cell in cells(name) if (wrong := wrong_settings(cell))} == {}


sigma = Symbol("sigma", positive=True)
SIMULATED, _ = measurement(
    "d4-half",
    {"variance": Var(sigma * Dot(q, a, k, j))},
    {q: NORMAL.moved(-1, 2), k: UNIFORM},
    {d: 4, sigma: Rational(1, 2)},
    tolerance=0.2,
    shape={m: 12, n: 8},
)


@pytest.mark.parametrize(
    "change",
    [
        {"d_k": 5},
        {"query": "−1 + 3·normal"},
        {"query": "1 + 2·normal"},
        {"key": "normal"},
        {"sigma": r"$\frac{1}{3}$"},
        {"sigma": 2},
        {"block": "8 queries, 12 keys"},
        {"rows": "each also with the other sign"},
    ],
)
def test_a_wrong_label_of_blocks_is_seen(change: dict[str, Any]) -> None:
    """One setting of a measured expression changed in the record alone."""
    settings = dict(SIMULATED.settings)
    assert settings.keys() == {"d_k", "query", "key", "sigma", "block"}
    assert wrong_settings(SIMULATED) == []
    wrong = Cell("a", tuple({**settings, **change}.items()), SIMULATED.sampler)
    assert wrong_settings(wrong) == [f"{key}: {value}" for key, value in change.items()]


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": ((m, 12), (n, 8), (d, 5))},
        {"sizes": ((m, 8), (n, 12), (d, 4))},
        {"laws": ((q, NORMAL.moved(-1, 2)), (k, NORMAL))},
        {"laws": ((q, NORMAL), (k, UNIFORM))},
        {"values": ((d, 4), (sigma, 0.75))},
        {"mirrored": True},
    ],
)
def test_wrong_blocks_are_seen(change: dict[str, Any]) -> None:
    """One field changed in the sampler alone."""
    sampler: Any = SIMULATED.sampler
    assert wrong_settings(replace(SIMULATED, sampler=replace(sampler, **change)))
