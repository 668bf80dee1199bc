"""Whether gradients vanish or explode without scaling: the typical row and the root mean square disagree."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from sympy import Expr, Float, Rational, S, sqrt

from verify.claims.gradients.shared import (
    Ratio, Relation, RowGradients, against_loops, row_gradients, softmax_over_queries,
)  # fmt: skip
from verify.former import (
    EVEN, Cell, Claim, Control, Derivation, Experiment, Fact, Figure, Findings, Quantile, Quantity, Smooth,
    assume, biased, capped, cell_of, d, fact, figure, function, integrated, line, measured, prediction,
    ratio, row_integrals, threshold, wrong,
)  # fmt: skip

TYPICAL = r"median of $\lVert dQ\rVert$, unscaled over scaled"
RMS = r"root mean square of $\lVert d{}\rVert$, unscaled over scaled"
LETTERS: dict[row_gradients.Path, str] = {"queries": "Q", "keys": "K", "values": "V"}
VALUE_D = 8

SPACING, POINTS = 1.1, 13
FAR = (1.3, 1.8, 2.7, 5.0, 20.0)


def _grid(about: float, points: int) -> tuple[float, ...]:
    """Return a grid that is fine about a place, with a few points far from it for what is not there."""
    near = SPACING ** (np.arange(points) - points // 2)
    far = np.multiply(FAR, near[-1])
    return tuple(float(one) for one in about * np.concatenate([1 / far[::-1], near, far]))


SCALED_GRID = _grid(1.15, 9)


@dataclass(frozen=True)
class Regime:
    """A number of keys and a dimension, the rows of a block, and about where the median norm lies."""

    keys: int
    d: int
    rows: int
    about: float

    @property
    def sampler(self) -> RowGradients:
        """The sampler; its grid is fine around where the median is expected."""
        grid = _grid(self.about, POINTS)
        return RowGradients(self.keys, self.d, self.rows, VALUE_D, grid, SCALED_GRID)

    @property
    def cell(self) -> Cell:
        """The cell."""
        return cell_of(f"n{self.keys}-d{self.d}", self.sampler)

    @property
    def median(self) -> Ratio:
        """The ratio of the medians of a query's gradient."""
        sampler = self.sampler
        first, scaled = (sampler.share(scaled=one) for one in (False, True))
        return Ratio(Quantile(sampler.grid, first), Quantile(SCALED_GRID, scaled))


FEW = (Regime(16, 4, 32, 1.65), Regime(16, 16, 32, 2.6), Regime(16, 64, 32, 1.65), Regime(16, 128, 32, 0.76),
       Regime(16, 256, 32, 0.19))  # fmt: skip
MANY = (Regime(128, 64, 32, 10.0), Regime(128, 256, 32, 3.35), Regime(128, 768, 32, 0.26),
        Regime(1024, 64, 16, 40.0))  # fmt: skip
DEAR = (Regime(128, 512, 32, 0.82), Regime(128, 1024, 16, 0.087), Regime(1024, 256, 16, 20.0),
        Regime(1024, 2048, 16, 0.12))  # fmt: skip
"""Only for the deep profile."""
HIGH = FEW[-1]
SMALLER_FROM = {16: 128, 128: 512, 1024: 2048}
"""From which dimension on the typical gradient is held to be the smaller one unscaled, by number of keys."""
VAST = Regime(16, 1024, 32, 0.001)
"""Where root mean squares are compared beyond the crossing, and where hardly anything typical is left."""


def derive() -> Derivation:
    """Derive the ratio where scores hardly vary, and the mean squares at any size."""
    beyond = ("where the ratio of medians crosses 1, which is only measured; root mean squares at full size "
              "are one-dimensional integrals of what is derived.")  # fmt: skip
    route, small = row_gradients.ratio_at_small_scores(), row_gradients.of_small_scores()
    return Derivation.of(route, lemmas=(small, *row_gradients.mean_squares()), beyond=beyond)


def _places(tolerance: float) -> tuple[Regime, ...]:
    if tolerance > 0.02:
        return (*FEW[1:], VAST)
    return (*FEW, VAST, *MANY, *DEAR) if tolerance < 0.005 else (*FEW, VAST, *MANY)


def _roots(path: str, sampler: RowGradients) -> Smooth:
    """Return the ratio of root mean squares on one path."""
    return ratio(sampler.mean_square(path, scaled=False), sampler.mean_square(path, scaled=True), 0.5)


def _rms(name: str, path: row_gradients.Path, place: Regime, tolerance: float) -> Quantity:
    """Return the comparison of that with the one integrated from what is derived."""
    expected = row_gradients.ratio_of_roots(path, place.keys, place.d)
    label, roots = RMS.format(LETTERS[path]), _roots(path, place.sampler)
    band = capped(10.0, tolerance, "in high dimension it hangs on rare rows") if place == HIGH else EVEN
    return Quantity(name, label, place.cell, roots, integrated(expected), band)


def _typical(name: str, place: Regime, relation: Relation, bound: Expr = S.One) -> Quantity:
    return Quantity(name, TYPICAL, place.cell, place.median, threshold(bound), relation=relation)


def _small(dimension: int, result: Expr) -> Quantity:
    """Return the comparison of the ratio of root mean squares with its limit, where scores hardly vary."""
    sampler = RowGradients(16, dimension, 32, VALUE_D, query_size=0.001 / dimension**0.5)
    name, expected = f"small-scores-d{dimension}", prediction(result.subs(d, dimension))
    return Quantity(name, RMS.format("Q"), cell_of(name, sampler), _roots("queries", sampler), expected)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure medians and root mean squares on both sides of the crossing, and the limit of small scores."""
    places = {place.cell.id: place for place in _places(tolerance)}
    checks = {
        path: _rms("rms-grows" + f"-{path}" * (path != "queries"), path, HIGH, tolerance) for path in LETTERS
    }
    others: dict[str, Quantity] = {}
    for name, place in places.items():
        if place == VAST:
            continue
        smaller = place.d >= SMALLER_FROM[place.keys]
        side: tuple[str, Relation] = ("below", "≤") if smaller else ("above", "≥")
        others[name] = _typical(f"median-{side[0]}-1-{name}", place, side[1])
        if place.keys == HIGH.keys and place.d in {16, 64}:
            of_place = {path: f"rms-{path}-d{place.d}" for path in LETTERS}
            others |= {one: _rms(one, path, place, tolerance) for path, one in of_place.items()}
    vanishes = _typical("median-vanishes", VAST, "≤", Rational(1, 200))
    small = (_small(n, derivation.result) for n in (16, 64))
    controls = _controls(
        places["n16-d16"], checks["queries"], checks["keys"], others["rms-values-d16"], tolerance
    )
    return Experiment((vanishes, *checks.values(), *others.values(), *small, against_loops()), controls)


def _controls(
    few: Regime, grows: Quantity, keys: Quantity, values: Quantity, tolerance: float
) -> tuple[Control, ...]:
    of_rms = Rational(row_gradients.ratio_of_roots("queries", few.keys, few.d)).limit_denominator(1000)
    false: tuple[tuple[str, Regime, Relation, Expr, str], ...] = (
        ("vanishes-in-every-dimension", few, "≤", S.One,
         "the typical gradient is smaller without scaling in every dimension, such as {cell:d_k}"),
        ("typical-as-rms", few, "≥", of_rms, "the typical gradient grows as the root mean square does"),
        ("typical-explodes", HIGH, "≥", S.One,
         "the typical gradient explodes: without scaling it is larger in high dimension, too"),
        ("less-than-a-tenth", HIGH, "≤", Rational(1, 10),
         "in {cell:d_k} dimensions less than a tenth of the typical gradient is left"),
        ("less-than-a-ten-thousandth", VAST, "≤", Rational(1, 10_000),
         "in {cell:d_k} dimensions less than a ten thousandth of the typical gradient is left"),
    )  # fmt: skip
    vanish = "gradients vanish in the root mean square, too: without scaling it is smaller"
    at_limit = "at full size, too, the ratio of root mean squares is the root of the dimension"
    return (
        wrong(grows, "rms-vanishes", vanish, threshold(S.One), truth=None, relation="≤"),
        wrong(keys, "keys-keep-to-the-limit", f"{at_limit}, for keys", sqrt(S(HIGH.d)), truth=None),
        wrong(grows, "keeps-to-the-limit", at_limit, sqrt(S(HIGH.d)), truth=None),
        *(Control(words, _typical(*claimed)) for *claimed, words in false),
        softmax_over_queries(),
        biased(values, tolerance),
    )


def facts() -> tuple[Fact, ...]:
    """Return the ratios of root mean squares in 16, 64 and 256 dimensions."""
    return tuple(
        fact(f"ratio-{path}-d{dimension}", rf"{RMS.format(LETTERS[path])}: 16 keys, $d_k = {dimension}$",
             Float(row_gradients.ratio_of_roots(path, 16, dimension), 6))
        for path, dimension in product(LETTERS, (16, 64, 256))
    )  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw both ratios over the dimension: the root mean square rises where the median falls below 1."""
    dimensions, ends = [4 * 2**power for power in range(9)], (4, 1024)
    checks = findings.checks.values()
    keys = HIGH.keys
    medians = [one for one in checks if one.quantity == TYPICAL and one.cell["keys"] == keys]
    roots = [
        row_gradients.ratio_of_roots("queries", keys, one, within=row_integrals.ON_PAPER)
        for one in dimensions
    ]
    full = [one for one in checks if one.quantity == RMS.format("Q") and "small" not in one.id]
    return figure(
        "two-answers",
        "Without scaling the typical gradient dies while the root mean square grows",
        "Ratio of the query gradient's norm without scaling to that with it. The root mean square rises "
        "steadily with the dimension, as derived; the median rises first, then falls below one, for "
        "sixteen keys between {median-above-1-n16-d64:d_k} and {median-below-1-n16-d128:d_k} dimensions.",
        f"a query’s gradient, unscaled over scaled, ${HIGH.keys}$ keys",
        line("no difference", 1.0, "control", at=ends),
        line("limit: {theorem:result}", function((d,), derivation.result), over=ends),
        # The points of the root mean square have its line's colour: both are the second of their kind.
        measured(medians, "median, measured"),
        line("root mean square", roots, at=dimensions),
        measured(full, "measured"),
    )


CLAIM = Claim(
    title="Without scaling, the typical gradient vanishes in high dimension while the root mean square grows",
    headline="median-vanishes",
    statement="Compare the norm of one query’s gradient at unit scale with that at the scale of one over "
    "{root_d}, for standard normal components. Where scores hardly vary, the ratio is {theorem:result} in "
    "the limit. At full size the ratio of root mean squares rises with the dimension, for sixteen keys and "
    "{rms-queries-d16:d_k=}, {rms-queries-d64:d_k} and {rms-grows:d_k} to {ratio-queries-d16:3}, "
    "{ratio-queries-d64:3} and {ratio-queries-d256:3} for queries, nearly the same for keys, and "
    "{ratio-values-d16:3}, {ratio-values-d64:3} and {ratio-values-d256:3} for values; that of medians starts "
    "above one and falls below it: for sixteen keys between {median-above-1-n16-d64:d_k} and "
    "{median-below-1-n16-d128:d_k} dimensions, for eight times as many keys between {rms-grows:d_k} and "
    "three times as many dimensions; for a thousand keys it is still above one in {rms-queries-d64:d_k}. "
    "With sixteen keys it is less than half a per cent in {median-vanishes:d_k} dimensions.",
    meaning="“Gradients vanish” and “gradients explode” are both half true. Most rows saturate and send "
    "almost nothing back, but the rare row that is still undecided between two keys sends back a gradient "
    "that lacks the damping factor, and it dominates every mean square. In low dimension, or with many "
    "keys, even the typical gradient is larger without scaling. Say which norm, which statistic and which "
    "path is meant. All this is at initialisation: trained weights are not independent.",
    assumptions=assume(upstream="Values and the gradient at the output are standard normal and independent."),
)
