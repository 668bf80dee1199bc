"""The exact density of a score of normal components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sympy import (
    Integral,
    S,
    cos,
    exp,
    gamma,
    gammasimp,
    integrate,
    oo,
    pi,
    simplify,
    sqrt,
    symbols,
)

from verify.spec import (
    INDEPENDENT, NORMAL, NORMAL_COMPONENTS, Array, Axis, By, Cell, Claim, Control, Derivation,
    DistanceToLaw, Experiment, Figure, Findings, Layer, Ordered, Quantity, Reference, Route, ScorePairs,
    Step, Tolerance, cell_of, characteristic, d, function, prediction, runs_over, score_law,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable


DIMENSIONS = (1, 2, 4, 16, 64)
GRID = 256
"""The distribution functions are compared at so many points, of equal probability apart."""

LABEL = "largest gap between measured and exact distribution function"
ONE = Tolerance(0.5, 1.0, "a probability of 1")

f = Ordered("f(x)", "f", positive=True)


def _transforms_to(before: Any, after: Any) -> bool:
    """The cosine transform of twice the density is the characteristic function, for symbolic d."""
    positive = symbols("t", positive=True)
    transform = integrate(
        2 * cos(positive * score_law.x) * after, (score_law.x, 0, oo), meijerg=True, conds="none"
    )
    return bool(simplify(transform - before.subs(characteristic.t, positive)) == S.Zero)


def _mixes_to_score(before: Any, after: Any) -> bool:
    """A normal law of variance w has exp(-t²w/2); averaged over w, that is the score's own function."""
    (w, *_) = after.limits[0]
    positive = symbols("t", positive=True)
    weight = simplify(after.function / (exp(-(score_law.x**2) / (2 * w)) / sqrt(2 * pi * w)))
    average = integrate(exp(-(positive**2) * w / 2) * weight, (w, 0, oo), meijerg=True, conds="none")
    whole = before == f and runs_over(after, (w, 0, oo))
    return whole and bool(
        simplify(average - characteristic.OF_SCORE.subs(characteristic.t, positive)) == S.Zero
    )


def _has_all_moments(before: Any, after: Any) -> bool:
    """Every even moment of the density is that of the mixture, symbolic in n and d."""
    n = symbols("n", integer=True, nonnegative=True)
    own = integrate(2 * score_law.x ** (2 * n) * after, (score_law.x, 0, oo), meijerg=True, conds="none")
    given_variance = integrate(
        2 * score_law.x ** (2 * n) * before.function, (score_law.x, 0, oo), meijerg=True, conds="none"
    )
    of_mixture = integrate(simplify(given_variance), before.limits[0], meijerg=True, conds="none")
    return bool(gammasimp(simplify(own / of_mixture)) == S.One)


def derive() -> Derivation:
    """Derive the density from the characteristic function, and again as a mixture of normals."""
    w = symbols("w", positive=True)
    normal = exp(-(score_law.x**2) / (2 * w)) / sqrt(2 * pi * w)
    chi_square = w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
    by_transform = Route(
        "Inverting the characteristic function",
        characteristic.START,
        (
            *characteristic.STEPS,
            Step(
                score_law.DENSITY,
                "The density with this transform; a characteristic function determines its law",
                By("SymPy: its cosine transform, symbolic d", _transforms_to, "general"),
                relation="⇒",
            ),
        ),
    )
    mixture = Route(
        r"A normal law whose variance is the squared length of the query",
        f,
        (
            Step(
                Integral(normal * chi_square, (w, 0, oo)),
                "The query's squared length is chi-square; given it, the score is normal with that variance",
                By("SymPy: the mixture has the score's characteristic function", _mixes_to_score, "general"),
            ),
            Step(
                score_law.DENSITY,
                "The same moments; the tails are exponential, so the moments determine the law",
                By("SymPy: all even moments, symbolic n and d", _has_all_moments, "general"),
            ),
        ),
    )
    return Derivation(f, score_law.DENSITY, (by_transform, mixture), definitions=(characteristic.DEFINITION,))


def _equally_probable(density: Callable[[float], float], dimension: int) -> Array:
    """Return positive points about equally probable apart, by interpolating the distribution function."""
    fine = np.geomspace(1e-4, 12.0, 400) * np.sqrt(dimension)
    wanted = 0.5 + np.arange(1, GRID // 2) / GRID
    points: Array = np.interp(wanted, score_law.distribution(density, fine), fine)
    return points


def _cell(dimension: int, positive: Array) -> Cell:
    grid = np.concatenate([-positive[::-1], [0.0], positive])
    sampler = ScorePairs(dimension, 64, NORMAL, NORMAL, tuple(float(v) for v in grid))
    return cell_of(f"pairs-d{dimension}", sampler)


def _both_sides(upper: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in np.concatenate([1 - upper[::-1], [0.5], upper]))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Compare the distribution of independent scores with the integral of the derived density."""
    checks, laws = [], {}
    for n in DIMENSIONS:
        of_n = function((score_law.x,), derivation.result.subs(d, n), "scipy")
        points = _equally_probable(of_n, n)
        laws[n] = (points, _both_sides(score_law.distribution(of_n, points)))
        distance = DistanceToLaw(laws[n][1])
        cell = _cell(n, points)
        checks.append(Quantity(f"distance-d{n}", LABEL, cell, distance, prediction(S.Zero), ONE))
    one, two = checks[0], checks[1]
    normal = DistanceToLaw(_both_sides(stats.norm.cdf(laws[1][0])))
    of_three = function((score_law.x,), derivation.result.subs(d, 3), "scipy")
    other = DistanceToLaw(_both_sides(score_law.distribution(of_three, laws[2][0])))
    last = DIMENSIONS[-1]
    stretch = 1 + 5 * tolerance
    of_last = function((score_law.x,), derivation.result.subs(d, last), "scipy")
    stretched = DistanceToLaw(_both_sides(score_law.distribution(of_last, laws[last][0] / stretch)))
    controls = (
        Control(
            "a score of one dimension is normal, with variance 1",
            Quantity("normal-law", LABEL, one.cell, normal, prediction(S.Zero), ONE),
        ),
        Control(
            "a score of two dimensions has the law of three",
            Quantity("next-dimension", LABEL, two.cell, other, prediction(S.Zero), ONE),
        ),
        Control(
            f"scores of {last} dimensions are larger by {stretch - 1:.0%}",
            Quantity("stretched", LABEL, checks[-1].cell, stretched, prediction(S.Zero), ONE),
        ),
    )
    return Experiment(tuple(checks), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the measured densities of q·k/√d at three dimensions and the derived ones through them."""
    density = function((score_law.x, d), derivation.result, "scipy")
    layers = []
    for n in (1, 4, 64):
        cell = findings.cells[f"pairs-d{n}"]
        edges = np.asarray(cell.sampler.grid) / np.sqrt(n)  # type: ignore[attr-defined]  # these are score pairs
        heights = np.diff(findings.samples[f"pairs-d{n}"].mean) / np.diff(edges)
        coarse = slice(None, None, 8)
        middle = ((edges[1:] + edges[:-1]) / 2)[coarse]
        layers.append(
            Layer(
                kind="points",
                role="measured",
                label="",
                x=tuple(float(v) for v in middle),
                y=tuple(float(v) for v in heights[coarse]),
            )
        )
        curve = np.linspace(-3, 3, 121)
        values = [float(np.sqrt(n) * density(max(abs(v), 1e-3) * np.sqrt(n), n)) for v in curve]
        layers.append(
            Layer(kind="line", role="truth", label=f"$d_k = {n}$", x=tuple(curve.tolist()), y=tuple(values))
        )
    return (
        Figure(
            id="densities",
            title="Scores of few dimensions are sharply peaked, those of many nearly normal",
            alt="Measured densities of q·k over the square root of d at 1, 4 and 64 dimensions, on the "
            "derived curves: an infinite peak at zero for one dimension, close to the normal bell for 64.",
            x=Axis(label=r"$q\cdot k/\sqrt{d_k}$"),
            y=Axis(label="density"),
            layers=tuple(layers),
        ),
    )


CLAIM = Claim(
    title="The exact law of a score",
    statement=r"For independent standard normal components, $q\cdot k$ has the density $f(x) = "
    r"|x|^{(d_k-1)/2} K_{(d_k-1)/2}(|x|) \big/ \left(\sqrt{\pi}\,\Gamma(d_k/2)\,2^{(d_k-1)/2}\right)$.",
    meaning="A score is not normal, even when its components are: in one dimension its density has an "
    "infinite peak at 0 and heavier tails, in two it is the Laplace density, and only slowly does it "
    "approach the bell. Intervals made for normal data therefore do not hold for scores of few dimensions.",
    assumptions=(
        INDEPENDENT,
        NORMAL_COMPONENTS,
    ),
    references=(
        Reference(
            key="dlmf",
            text="NIST Digital Library of Mathematical Functions, 10.32.11 (Basset's integral).",
            url="https://dlmf.nist.gov/10.32",
        ),
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
