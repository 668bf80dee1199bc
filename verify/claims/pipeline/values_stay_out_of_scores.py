"""The values have no part in the scores' variance."""

from dataclasses import replace

from sympy import S

from verify.claims.pipeline.shared import ScoresBesideValues
from verify.former import (
    E, EXPONENTIAL, LAPLACE, NORMAL, STANDARD, Cell, Claim, Derivation, Distribution, Experiment, Figure,
    Findings, Ordered, Population, Quantity, biased, capped, cell_of, covariance, d, figure, line, measured,
    one_step, prediction, q, score, variance_of_scores, variance_route, wrong,
)  # fmt: skip
from verify.former.rules import Evaluation

D, SIDE = 64, 32
VALUES = {1: EXPONENTIAL, 64: NORMAL, 512: LAPLACE}
"""The values' dimensions, and the law of their components in each."""

LABEL = r"$\operatorname{Var}(q\cdot k)$"
v = Ordered("v", "v", real=True)
BESIDE = Population({**STANDARD.moments, v: STANDARD.moments[q]}, d)


def derive() -> Derivation:
    """Derive the variance, in which no value occurs, and its covariance with a squared value."""
    lemma = one_step("Covariance of a squared score and a squared value component",
                     E(score**2 * v**2) - E(score**2) * E(v**2), S.Zero,
                     "Values are independent of queries and keys", Evaluation(BESIDE),
                     defines="the covariance of the two squares", name="covariance-of-squares")  # fmt: skip
    route = variance_route(score, STANDARD, "The score: no value occurs in it")
    return Derivation.of(route, lemmas=(lemma,))


def _cell(name: str, width: int, law: Distribution | None) -> Cell:
    """Return the cell of scores with values of that width and law; without a law, they are the keys."""
    return cell_of(name, ScoresBesideValues(D, width, SIDE, NORMAL, law))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Draw values of three widths beside the scores; measure variance and covariance."""
    level = prediction(derivation.result.subs(d, D))
    cells = {width: _cell(f"values-{width}", width, law) for width, law in VALUES.items()}
    estimand = variance_of_scores(D, SIDE, NORMAL, NORMAL)
    checks = tuple(Quantity(f"variance-dv{n}", LABEL, cells[n], estimand, level) for n in VALUES)
    label = "covariance of a squared score and the mean square of its value's components"
    of_both, zero = covariance("product", "square", "value-square"), prediction(derivation.lemmas[0].end)
    band = replace(capped(1.0, tolerance), scale=level.value, of="the variance of a score")
    none = Quantity("covariance", label, cells[64], of_both, zero, band)
    return Experiment((*checks, none), (
        wrong(checks[-1], "values-change-the-variance",
              "wider values make larger scores: the variance is their dimension, {value}", 512),
        wrong(none, "values-are-the-keys", "the values come from the same projection as the keys",
              cell=_cell("keys-as-values", D, None), truth=2.0),  # (d(d + 2) - d²)/d
        biased(checks[0], tolerance),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the level line over the dimension of the values."""
    ends = min(VALUES), max(VALUES)
    return figure(
        "level",
        "Wider values do not widen the scores",
        "Measured variances of scores in {variance-dv1:d_k} dimensions, beside values of one dimension to "
        "{variance-dv512:d_v}, lie on one level; a variance equal to the values’ dimension would rise.",
        "variance of {score}",
        line("derived: {variance-dv1:d_k=}", float(derivation.result.subs(d, D)), at=ends),
        line("wrong: the values’ dimension", ends, "control", at=ends),
        measured(findings.matching("variance-dv*"), against="d_v"),
        x="dimension of the values $d_v$",
    )


CLAIM = Claim(
    title="The values have no part in the scores",
    statement="{theorem} whatever the values' law and dimension; where values are independent of queries and "
    "keys, squared scores and values are uncorrelated.",
    meaning="The variance of a score comes from the dimension of queries and keys alone. Values are averaged "
    "with the weights afterwards; their dimension may differ from {d_k} and calls for no scale.",
)
