"""The values have no part in the scores' variance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import S

from verify.spec import (
    EXPONENTIAL, LAPLACE, NORMAL, STANDARD, STANDARD_COMPONENTS, Assumption, Cell, Claim, Control,
    Definition, Derivation, Distribution, E, Expansion, Experiment, Ordered, Population, Quantity, Route,
    ScoresBesideValues, Step, Var, biased, block_variances, capped, covariance, d, k, prediction, q, score,
    variance, variance_route,
)  # fmt: skip


D, SIDE = 64, 32
VALUES = {1: EXPONENTIAL, 64: NORMAL, 512: LAPLACE}
"""The values' dimensions, and the law of their components in each."""

LABEL = r"$\operatorname{Var}(q\cdot k)$"
_STANDARD = (S.One, S.Zero, S.One)
v = Ordered("v", "v", real=True)
BESIDE = Population({q: _STANDARD, k: _STANDARD, v: _STANDARD}, d)


def derive() -> Derivation:
    """Derive the variance, in which no value occurs, and its covariance with a squared value."""
    route = variance_route(score, STANDARD, "The score: no value occurs in it")
    together = E(score**2 * v**2) - E(score**2) * E(v**2)
    lemma = Route(
        "Covariance of a squared score and a squared value component",
        together,
        (Step(S.Zero, "Values are independent of queries and keys", Expansion(BESIDE)),),
    )
    covariance = Definition(E(v**2 * score**2) - E(v**2) * E(score**2), "the covariance of the two squares")
    return Derivation(Var(score), route.end, (route,), lemmas=(lemma,), definitions=(covariance,))


def _cell(width: int) -> Cell:
    return _beside(f"values-{width}", width, VALUES[width])


def _beside(name: str, width: int, distribution: Distribution | None) -> Cell:
    """Return the cell of scores with values of that width and law; without a law, they are the keys."""
    settings = (
        ("d_k", D),
        ("d_v", width),
        ("query, key", NORMAL.name),
        ("values", distribution.name if distribution else "the keys"),
        ("block", f"{SIDE}×{SIDE}"),
    )
    return Cell(name, settings, ScoresBesideValues(D, width, SIDE, NORMAL, distribution))


def _variance(width: int, name: str, expected: Any) -> Quantity:
    moments = tuple((NORMAL.mean, NORMAL.variance, 0, NORMAL.kurtosis) for _ in range(2))
    relative = block_variances.square_variance(D, SIDE, *moments) / D**2
    return Quantity(name, LABEL, _cell(width), variance(block_variance=relative), prediction(expected))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Draw values of three widths beside the scores; measure variance and covariance."""
    level = derivation.result.subs(d, D)
    checks = tuple(_variance(width, f"variance-dv{width}", level) for width in VALUES)
    none = Quantity(
        "covariance",
        "covariance of a squared score and the mean square of its value's components",
        _cell(64),
        covariance("product", "square", "value-square"),
        prediction(derivation.lemmas[0].end),
        replace(capped(1.0, tolerance), scale=float(level), of="the variance of a score"),
    )
    controls = (
        Control(
            "wider values make larger scores: the variance is $d_v$",
            _variance(512, "values-change-the-variance", S(512)),
            truth=float(level),
        ),
        Control(
            "the values come from the same projection as the keys",
            replace(none, id="values-are-the-keys", cell=_beside("keys-as-values", D, None)),
            truth=2.0,  # (d(d + 2) - d²)/d
        ),
        biased(checks[0], tolerance),
    )
    return Experiment((*checks, none), controls)


CLAIM = Claim(
    title="The values have no part in the scores",
    statement=r"$\operatorname{Var}(q\cdot k) = d_k$ whatever the values' law and dimension $d_v$; scores "
    "and values are independent where their projections are.",
    meaning="The variance of a score comes from the dimension of queries and keys alone. Values are averaged "
    "with the weights afterwards; their dimension may differ from $d_k$ and calls for no scale.",
    assumptions=(
        *STANDARD_COMPONENTS,
        Assumption(id="values", text="Values are independent of queries and keys."),
    ),
    derive=derive,
    experiment=experiment,
)
