"""With several heads it is the width of one head that sets the scale, not the model's nor a padded one."""

import math
from functools import partial

from sympy import Expr, sqrt

from verify.claims.modern.shared import entropy_lost
from verify.former import (
    NORMAL, STANDARD, Claim, Derivation, Experiment, Figure, Findings, Quantity, SoftmaxRows, beside, biased,
    cell_of, d, figure, integrated, mean_of_rows, normal, ordered, prediction, row_integrals, score,
    score_cell, variance_route, wrong,
)  # fmt: skip

WIDTH, HEADS, PADDING, KEYS = 16, 4, 16, 64
"""A head's width, heads, dimensions of zeros that a kernel adds to each, and keys of a row."""
h, e = ordered("h:b e:c", positive=True)
ROOTS = {
    "head": (d, "of the head’s width"),
    "model": (h * d, "of the model’s width, that of all heads together"),
    "heads": (h, "of the number of heads"),
    "padded": (d + e, "of a width in which dimensions of padding are counted"),
}
"""What a program may take the root of to divide scores by it."""
_lost = partial(mean_of_rows, row_integrals.mean_lost, KEYS, dimension=WIDTH)
"""The mean entropy that rows of one head lose under a scale, integrated."""
VARIANCE, LOST = r"$\operatorname{Var}(c\,q\cdot k)$", r"$\ln n - \mathbb{E}H$"


def derive() -> Derivation:
    """Derive the variance that dividing by each of these roots leaves."""
    first, *others = (
        variance_route(score / sqrt(root), STANDARD, f"Divided by the root {words}")
        for root, words in ROOTS.values()
    )
    lemmas = tuple(
        one.defining(f"the variance of scores d{one.title[1:]}").called(name)
        for name, one in zip(list(ROOTS)[1:], others, strict=True)
    )
    return Derivation.of(first, lemmas=lemmas)


def _here(expression: Expr) -> Expr:
    return expression.subs({h: HEADS, e: PADDING})


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure variance and entropy of one head's rows under each of these scales."""
    ends = (derivation.result, *(one.end for one in derivation.lemmas))
    checks, controls = [], []
    for (name, (root, words)), end in zip(ROOTS.items(), ends, strict=True):
        scale, left = _here(1 / sqrt(root)), _here(end).subs(d, WIDTH)
        of_scores = score_cell(WIDTH, NORMAL, NORMAL, tolerance, scale=scale, prefix=f"{name}-")
        cell = cell_of(f"rows-{name}", normal(16, KEYS, WIDTH), SoftmaxRows(("entropy",)), scale=scale,
                       variance=float(left))  # fmt: skip
        checks += [
            Quantity(f"variance-{name}", VARIANCE, of_scores.cell, of_scores.variance, prediction(left)),
            Quantity(f"entropy-{name}", LOST, cell, entropy_lost(KEYS), integrated(_lost(scale=scale))),
        ]
        if name != "head":
            variance, entropy = checks[-2:]
            controls += [
                wrong(variance, f"one-{name}", f"the root {words} keeps the variance at {{value}}", 1),
                wrong(entropy, f"same-{name}", f"the root {words} costs rows as little entropy as the head’s",
                      checks[1]),
            ]  # fmt: skip
    return Experiment(tuple(checks), (*controls, biased(checks[2], tolerance)))


def figures(findings: Findings) -> Figure:
    """Draw the entropy lost under each scale on the curve of all."""
    return figure(
        "entropy-of-mix-ups",
        "The wrong width costs rows their balance, or never lets them choose",
        "Mean entropy lost by rows over the variance that a scale leaves: a quarter for the model’s width, a "
        "half for the padded one, one for the head’s, four for the number of heads. All four measured points "
        "lie on the integrated curve, which rises from a tenth of a nat to one and a half.",
        "mean entropy lost, in nats",
        *beside(findings.matching("entropy-*"), "integrated",
                lambda variance: _lost(scale=math.sqrt(variance / WIDTH)), "variance", points=13),
        x="variance of the scores that the scale leaves",
    )  # fmt: skip


CLAIM = Claim(
    title="With several heads, the scale depends on the width of one head",
    headline="variance-head",
    statement="With {h} heads of {d_k} dimensions each, dividing a head’s scores by {root_d} leaves their "
    "variance at {theorem:result}, by the root of all dimensions together at {model:result}, by that of the "
    "number of heads at {heads:result}, and by that of a width with {e} zeros of padding counted in at "
    "{padded:result}.",
    meaning="A score adds one product for each dimension of its own head, so the head’s width sets the "
    "scale, however wide the model is and however a kernel pads it. No error is raised when the widths are "
    "mixed up: divided by the root of the model’s width, attention starts out nearly even, by that of the "
    "number of heads, sharp.",
    symbols={"h": h, "e": e},
)
