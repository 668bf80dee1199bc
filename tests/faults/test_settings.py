"""What a cell's record says of it is what its sampler holds and draws.

Sizes, scales, laws and correlations are compared with the sampler, or with the components that it draws; so a
changed label and a changed drawing alone both fail.
"""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from sympy import Rational, Symbol, sympify

from tests.catalogue import EACH_QUICKLY_MADE, experiment
from tests.faults.planted import changed
from tests.montecarlo.samples import score_matrices
from tests.strategies import FALSE_ALARM
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import NORMAL, UNIFORM, Array, Distribution, stream
from verify.montecarlo.experiment import cells_of, every_comparison
from verify.montecarlo.inputs import Linked, ProjectedTokens
from verify.montecarlo.intervals import normal_quantile
from verify.montecarlo.quantities import Simulation, measurement
from verify.montecarlo.statistics import OtherTokens, PairMoments, Reduced
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

INITIALISATIONS: dict[str, Callable[[int, int], float]] = {
    "Xavier, one matrix a head": lambda width, d: 2 / (width + d),
    "Xavier, one matrix for all heads": lambda width, _: 2 / (width + width),
    "Xavier, queries, keys and values in one matrix": lambda width, _: 2 / (width + 3 * width),
    "He": lambda width, _: 2 / width,
    "uniform on ±1/√D, a common default of linear layers": lambda width, _: 1 / (3 * width),
}
"""Variance of a projection's entries by the widths of tokens and of a head, as libraries document it."""


def number(text: str) -> float:
    """Return the number that a label writes, with ½, a minus sign or a fraction bar."""
    return float(Fraction(text.replace("−", "-").replace("½", "1/2").replace("$", "")))


def denominator(text: str, d: int) -> float:
    """Return what a formula divides by, in ``d`` dimensions: a number, or a power of the dimension."""
    if times := re.fullmatch(r"(\d+) (\\sqrt.+)", text):
        return number(times[1]) * denominator(times[2], d)
    if root := re.fullmatch(r"\\sqrt(?:\[(\d+)\])?\{d_k(?: \+ (\d+))?\}", text):
        return float((d + int(root[2] or 0)) ** (1 / int(root[1] or 2)))
    if power := re.fullmatch(r"d_k\^\{\\frac\{(\d+)\}\{(\d+)\}\}", text):
        return float(d ** (int(power[1]) / int(power[2])))
    return float(d) if text == "d_k" else number(text)


def scale_of(text: str, d: int) -> float:
    """Return the scale that a label writes, in ``d`` dimensions."""
    plain = text.replace("$", "").replace("−", "-").replace("d_{k}", "d_k").replace("- ", "-")
    if fraction := re.fullmatch(r"(-?)\\frac\{([\d.]+)\}\{(.+)\}", plain):
        return float(f"{fraction[1]}1") * number(fraction[2]) / denominator(fraction[3], d)
    if power := re.fullmatch(r"d_k\^\{(-?[\d/]+)\}", plain):
        return float(d ** number(power[1]))
    if over := re.fullmatch(r"(-?[\d.]+)/(\\sqrt\{d_k\}|d_k)", plain):
        return number(over[1]) / (d if over[2] == "d_k" else d**0.5)
    return denominator(plain, d)


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


def dimension(sampler: Any) -> int:
    """Return the dimension of the sampler's queries and keys."""
    return int(sampler.input.shape.d if isinstance(sampler, Reduced) else sampler.d)


class Drawn:
    """All that a cell draws by: the fields of its sampler, or of its input and its statistic."""

    def __init__(self, cell: Cell) -> None:
        self.sampler: Any = cell.sampler

    @property
    def kind(self) -> str:
        """The class of the sampler or statistic."""
        return type(self.parts[-1]).__name__

    @property
    def parts(self) -> tuple[Any, ...]:
        """The sampler, or its input and its statistic."""
        both = isinstance(self.sampler, Reduced)
        return (self.sampler.input, self.sampler.statistic) if both else (self.sampler,)

    def __getattr__(self, name: str) -> Any:
        """Return a field of whichever part has it; numbers of queries and keys under one name each."""
        names = {"queries": ("m", "queries"), "keys": ("n", "keys", "m"), "length": ("n",), "vectors": ("m",)}
        for one in names.get(name, (name,)):
            for part in self.parts:
                if hasattr(part, one):
                    return getattr(part, one)
        raise AttributeError(name)


@cache
def follows(distribution: Distribution, label: str) -> bool:
    """Return whether a law's draws have the moments that ``label`` promises, as far as they can show."""
    return follows_drawn(distribution.draw(stream(5, "settings", label, 0), (DRAWS,)), label)


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


# --- one rule for each setting ------------------------------------------------------------------------


def _scales(cell: Cell, label: str) -> bool:
    d = dimension(cell.sampler) - BESIDE.get(Drawn(cell).kind, 0)
    stated = [scale_of(part, d) for part in re.split(r", | and ", label)]
    held = _held_scales(Drawn(cell))
    return held is None or np.allclose(stated, held, rtol=1e-12)


def _held_scales(sampler: Drawn) -> list[float] | None:
    """Return the scales of a sampler; None where points of a grid take its part, with their own test."""
    if hasattr(sampler, "scales"):
        return list(sampler.scales)
    if hasattr(sampler, "scale"):
        return [float(sampler.scale)]
    if sampler.kind == "BothScales":
        return [1.0, float(sampler.d) ** -0.5]
    assert sampler.kind == "PairShares", sampler.kind
    return None


def _distribution_of(*names: str) -> Callable[[Cell, str], bool]:
    def rule(cell: Cell, label: str) -> bool:
        distributions = [getattr(Drawn(cell), name, None) for name in names]
        # Samplers without a law of their own draw normal components.
        return all(follows(distribution or NORMAL, label) for distribution in distributions) and _correlated(
            cell, label
        )

    return rule


def _values(cell: Cell, label: str) -> bool:
    distribution = getattr(Drawn(cell), "values", None)
    return label == "the keys" if distribution is None else follows(distribution, label)


def _components(cell: Cell, label: str) -> bool:
    sampler = Drawn(cell)
    names = [name for name in ("distribution", "query", "key") if hasattr(sampler, name)]
    return _distribution_of(*(names or ["distribution"]))(cell, label)


def _correlated(cell: Cell, label: str) -> bool:
    stated = re.search(r"ρ = ([\d.]+)", label)
    held = getattr(Drawn(cell), "correlation", 0.0)
    return float(stated[1]) == held if stated else held == 0.0 or "correlation" in dict(cell.settings)


def _key(cell: Cell, label: str) -> bool:
    sampler = Drawn(cell)
    if label == "the query itself":
        half = len(sampler.mixing) // 2
        return bool(sampler.mixing[:half] == sampler.mixing[half:])
    return _distribution_of("key")(cell, label)


def _written(label: str) -> Array:
    """Return the matrix that a label writes, rows apart by semicolons."""
    rows = label.strip("[]").split(";")
    return np.array([[number(x) for x in row.split()] for row in rows])


def _covariance(first: int, second: int) -> Callable[[Cell, str], bool]:
    """Return the rule for the covariance of queries (0) or keys (1) with queries or keys."""

    def rule(cell: Cell, label: str) -> bool:
        drawn = Drawn(cell).draw(stream(5, "settings", "covariance", 0), 4000, columns=False)
        expected = _written(label)
        one, other = (drawn[place].reshape(-1, len(expected)) for place in (first, second))
        products = (one - one.mean(axis=0))[:, :, None] * (other - other.mean(axis=0))[:, None, :]
        places = np.ndindex(*expected.shape)
        return all(_mean_is(products[:, a, b], float(expected[a, b])) for a, b in places)

    return rule


def _query(cell: Cell, label: str) -> bool:
    sampler = Drawn(cell)
    if size := re.search(r"raw scores have deviation ([\d.]+)", label):
        return math.isclose(sampler.query_size * sampler.d**0.5, float(size[1]))
    return _distribution_of("query")(cell, label) and getattr(sampler, "query_size", 1.0) == 1.0


def _row_scores(cell: Cell, label: str) -> bool:
    sampler = Drawn(cell)
    deviation = re.search(r"deviation (\d+)", label)
    named = deviation is None or sampler.deviation == float(deviation[1])
    law = "Rademacher" if label.endswith("Rademacher") else "normal"
    return bool(named and follows(sampler.distribution, law))


def _initialisation(cell: Cell, label: str) -> bool:
    sampler = Drawn(cell)
    drawn = float(sampler.distribution.variance * sampler.variance)
    return math.isclose(drawn, INITIALISATIONS[label](sampler.width, sampler.d), rel_tol=1e-9)


def _field(*names: str) -> Callable[[Cell, Any], bool]:
    def rule(cell: Cell, value: Any) -> bool:
        held = [getattr(Drawn(cell), name) for name in names if hasattr(Drawn(cell), name)]
        return held == [value]

    return rule


def _variance(cell: Cell, value: float) -> bool:
    """The variance that a scale leaves of standard components."""
    return math.isclose(float(Drawn(cell).scale) ** 2 * dimension(cell.sampler), value, rel_tol=1e-12)


BESIDE: dict[str, int] = {}
"""Components of a vector that are not a query's or a key's, by the statistic that uses them otherwise."""

RULES: dict[str, Callable[[Cell, Any], bool]] = {
    "d_k": lambda cell, value: dimension(cell.sampler) - BESIDE.get(Drawn(cell).kind, 0) == value,
    "d_v": _field("d_v", "value_d"),
    "n": _field("keys"),
    "keys": _field("keys"),
    "vectors": _field("vectors"),
    "layers": _field("layers"),
    "steps": _field("steps"),
    "token width": _field("width"),
    "value dimensions": _field("value_d"),
    "sigma": lambda cell, value: math.isclose(
        getattr(Drawn(cell), "deviation", math.nan), value, rel_tol=1e-3
    ),
    "scale": lambda cell, value: _scales(cell, str(value)),
    "query": _query,
    "key": _key,
    "query, key": _distribution_of("query", "key"),
    "values": lambda cell, label: _values(cell, str(label)),
    "key, value, upstream": _distribution_of("distribution"),
    "query, key, value, upstream": _distribution_of("distribution"),
    "components": _components,
    "entries": _distribution_of("distribution"),
    "scores": _row_scores,
    "correlation": _field("correlation"),
    "error of an entry": _field("error"),
    "variance": _variance,
    "Cov(q, k)": _covariance(0, 1),
    "Cov(q)": _covariance(0, 0),
    "Cov(k)": _covariance(1, 1),
    "initialisation": _initialisation,
    "heads": _field("queries"),
    "c": _field("cap"),
    "b": _field("sink"),
    "lambda": _field("factor"),
    "beta": _field("factor"),
    "t": _field("threshold"),
    "bits": _field("bits"),
    "format": _field("format"),
}
"""Settings of the claims, each with the rule that holds it against the sampler; others are not looked at."""


def wrong_settings(cell: Cell) -> list[str]:
    """Return the settings of a cell that its sampler does not keep to."""
    if isinstance(cell.sampler, Simulation):
        return wrong_of_blocks(cell, cell.sampler)
    return [f"{key}: {value}" for key, value in cell.settings if key in RULES and not RULES[key](cell, value)]


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


def wrong_of_blocks(cell: Cell, sampler: Simulation) -> list[str]:
    """Return the settings that blocks of families do not keep to: sizes, laws, other values."""
    # Of rare numbers it takes many until a fourth moment shows.
    many = DRAWS * (100 if any("outliers" in law.name for _, law in sampler.laws) else 1)
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


def _matrices(settings: dict[str, Any], **others: Any) -> Cell:
    distribution = NORMAL.moved(-1, 2)
    return Cell("a", tuple(settings.items()), score_matrices(4, 8, distribution, UNIFORM, 0.5, **others))


RIGHT = {
    "d_k": 4,
    "query": "−1 + 2·normal",
    "key": "uniform",
    "scale": r"$\frac{1}{\sqrt{d_{k}}}$",
}


@pytest.mark.parametrize(
    "change",
    [
        {"d_k": 5},
        {"query": "−1 + 3·normal"},
        {"query": "1 + 2·normal"},
        {"query": "1/2 + normal"},
        {"key": "normal"},
        {"key": "Laplace"},
        {"scale": "1"},
        {"scale": "$1/d_k$"},
        {"scale": r"$\frac{1}{\sqrt[4]{d_{k}}}$"},
        {"scale": r"$\frac{1}{d_{k}^{\frac{3}{4}}}$"},
        {"scale": r"$- \frac{1}{\sqrt{d_{k}}}$"},
        {"query": "normal, ρ = 0.5"},
    ],
)
def test_a_wrong_label_is_seen(change: dict[str, Any]) -> None:
    """One setting changed in the record alone."""
    assert wrong_settings(_matrices(RIGHT)) == []
    assert len(wrong_settings(_matrices({**RIGHT, **change}))) == 1


def test_a_wrong_drawing_is_seen() -> None:
    """One number changed in the sampler alone."""
    cell = _matrices(RIGHT)
    for field, value in (
        ("d", 5),
        ("scale", 0.25),
        ("correlation", 0.1),
        ("query", NORMAL),
        ("key", NORMAL),
    ):
        other = changed(cell.sampler, field, partial(_instead, value))
        assert wrong_settings(Cell("a", cell.settings, other)), field


def _instead(value: Any, _: Any) -> Any:
    return value


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


def test_other_labels_are_held_against_what_they_name() -> None:
    """A covariance and its transpose, and the variances of two initialisations."""
    mixing = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.5, -1.0, 1.0, 0.0), (2.0, 0.5, 0.0, 1.0))
    linked = Reduced(Linked(2, 4, NORMAL, mixing, (0.0,) * 4), PairMoments())
    for label, right in (("[0.5 2; −1 0.5]", True), ("[0.5 −1; 2 0.5]", False)):
        assert (not wrong_settings(Cell("a", (("Cov(q, k)", label),), linked))) == right
    tokens = Reduced(ProjectedTokens(128, 32, 4, NORMAL, Fraction(2, 128)), OtherTokens())
    for label in INITIALISATIONS:
        assert (not wrong_settings(Cell("a", (("initialisation", label),), tokens))) == (label == "He")
