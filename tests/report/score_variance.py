"""A made-up record of score-variance: confirmed, with every kind of evidence."""

from __future__ import annotations

import math

from tests.judged import judged_claim
from tests.report.builders import check, control, step
from verify.evidence import (
    Assumption,
    Axis,
    ClaimRecord,
    DerivationRecord,
    Fact,
    Figure,
    OrdinaryFit,
    PlotLayer,
    Proof,
    Reference,
    RouteRecord,
    Verdict,
)

DIMENSIONS = (1, 2, 3, 8, 64, 100, 512, 1000, 1024)


def _wiggle(place: int) -> float:
    return math.sin(2.4 * place + 0.7) * 0.0016


SCORE_VARIANCE = judged_claim(
    ClaimRecord(
        id="score-variance",
        chapter="raw_scores",
        chapter_title="Raw scores",
        title="The variance of a score is $d_k$",
        statement=r"For independent, centred components of unit variance, "
        r"$\operatorname{Var}(q \cdot k) = d_k$.",
        meaning="Every extra dimension adds one to the variance of the dot product, so typical scores grow "
        r"like $\sqrt{d_k}$. Nothing but the first two moments of the components enters.",
        assumptions=(
            Assumption(id="independent", text="all components $q_i$ and $k_i$ are independent"),
            Assumption(id="centred", text=r"$\mathbb{E}\,q_i = \mathbb{E}\,k_i = 0$"),
            Assumption(id="unit-variance", text=r"$\operatorname{Var} q_i = \operatorname{Var} k_i = 1$"),
        ),
        references=(
            Reference(
                key="vaswani2017",
                text="Vaswani et al., Attention Is All You Need, 2017, footnote 4.",
                url="https://arxiv.org/abs/1706.03762",
            ),
        ),
        verdict=Verdict.CONFIRMED,
        reason="",
        derivation=DerivationRecord(
            status=Proof.PROVED,
            subject="Var(q·k)",
            result="d",
            latex=r"\operatorname{Var}(q \cdot k) = d_k",
            routes=(
                RouteRecord(
                    title="Index-wise expectation",
                    start_latex=r"\operatorname{Var}(q \cdot k)",
                    start_plain="Var(q·k)",
                    steps=(
                        step(
                            r"q \cdot k = \sum_{i=1}^{d} q_i k_i",
                            "definition of the dot product",
                            "definition",
                        ),
                        step(
                            r"\mathbb{E}\left[q \cdot k\right] = "
                            r"\sum_{i=1}^{d} \mathbb{E}\left[q_i\right] \mathbb{E}\left[k_i\right] = 0",
                            "linearity, independence, centred components",
                            "SymPy: the difference of both sides simplifies to 0 for symbolic $d$",
                        ),
                        step(
                            r"\mathbb{E}\left[(q \cdot k)^2\right] = "
                            r"\sum_{i=1}^{d} \mathbb{E}\left[q_i^2\right] \mathbb{E}\left[k_i^2\right]"
                            r" + \sum_{i \neq j} \mathbb{E}\left[q_i\right] \mathbb{E}\left[q_j\right] "
                            r"\mathbb{E}\left[k_i\right] \mathbb{E}\left[k_j\right]"
                            r" = d \cdot 1 \cdot 1 + d\,(d-1) \cdot 0 = d",
                            "split the double sum into the diagonal and the rest",
                            "exact expansion at $d = 1, 2, 3, 4, 5$",
                            plain="E[(q·k)^2] = d",
                        ),
                        step(
                            r"\operatorname{Var}(q \cdot k) = "
                            r"\mathbb{E}\left[(q \cdot k)^2\right] - \mathbb{E}\left[q \cdot k\right]^2 = d",
                            "variance from the first two moments",
                            "SymPy: simplifies to 0",
                        ),
                    ),
                ),
                RouteRecord(
                    title="Characteristic function, Gaussian components",
                    start_latex=r"\mathbb{E}\left[e^{i t\, q_i k_i}\right]",
                    start_plain="E[exp(i t q_i k_i)]",
                    steps=(
                        step(
                            r"\varphi(t) = \mathbb{E}\left[e^{i t\, q \cdot k}\right] = "
                            r"\left(1 + t^2\right)^{-\frac{d}{2}}",
                            "Gaussian integral over $k$, then over $q$",
                            "SymPy: the integral evaluates to the right-hand side",
                        ),
                        step(
                            r"-\varphi''(0) = d",
                            "second derivative at 0",
                            "SymPy: differentiates to $d$",
                            relation="⇒",
                        ),
                    ),
                ),
            ),
            agreement="Both routes end in the same expression.",
            reason="",
        ),
        checks=(
            *(
                check(f"at-d{d}", d * (1 + _wiggle(n)), d, cell={"d_k": d, "law": "normal", "m": 64})
                for n, d in enumerate(DIMENSIONS)
            ),
            check(
                "slope",
                1.0003,
                1,
                error=0.0006,
                method="fit",
                quantity="slope of the variance in $d_k$",
                latex="1",
            ),
            check(
                "intercept",
                -0.0004,
                0,
                error=0.0011,
                scale=1,
                method="fit",
                of="the variance at $d_k = 1$",
                quantity="intercept",
                latex="0",
            ),
            check(
                "curvature",
                1.2e-9,
                0,
                error=2.1e-8,
                scale=1e-3,
                method="fit",
                of="the slope per dimension",
                quantity="quadratic term",
                latex="0",
            ),
            check(
                "exponent", 1.00008, 1, error=0.00021, method="fit", quantity="log–log exponent", latex="1"
            ),
            check(
                "lack-of-fit",
                0.0011,
                0,
                error=0.0003,
                scale=1,
                method="fit",
                of="the fitted values",
                quantity="relative lack of fit",
                latex="0",
            ),
        ),
        controls=(
            control("squared", "variance grows like $d_k^2$", 4096, 64.03),
            control("scale-off", "slope too large by twice the tolerance", 65.28, 64.03, power=0.9731),
            control("correlated", r"components equicorrelated, $\rho = 0.03$", 64, 67.71),
        ),
        fits=(
            OrdinaryFit(
                id="line",
                quantity="variance on $d_k$, unweighted",
                slope=1.0021,
                intercept=-0.31,
                r_squared=0.99997,
            ),
        ),
        facts=(
            Fact(
                id="at-512",
                what="The variance at 512 dimensions",
                latex=r"\operatorname{Var}(q \cdot k)",
                value=512,
            ),
        ),
        series=(
            Figure(
                id="line",
                title="Measured variances lie on the derived line from 1 to 1024 dimensions; "
                "scaled scores stay at one.",
                alt="Variance of a score against its dimension on logarithmic axes: "
                "nine measured points with intervals on the derived straight line; "
                "the control, the square of the dimension, lies far above.",
                x=Axis(label="dimension $d_k$", scale="log"),
                y=Axis(label="variance of the score", scale="log"),
                layers=(
                    PlotLayer(
                        kind="line",
                        role="truth",
                        label="derived: the dimension itself",
                        x=DIMENSIONS,
                        y=DIMENSIONS,
                    ),
                    PlotLayer(
                        kind="points",
                        role="measured",
                        label="measured, with simultaneous intervals",
                        x=DIMENSIONS,
                        y=tuple(d * (1 + _wiggle(n)) for n, d in enumerate(DIMENSIONS)),
                        lo=tuple(0.992 * d for d in DIMENSIONS),
                        hi=tuple(1.008 * d for d in DIMENSIONS),
                    ),
                    PlotLayer(
                        kind="line",
                        role="control",
                        label="control: its square",
                        x=DIMENSIONS,
                        y=tuple(d * d for d in DIMENSIONS),
                    ),
                    PlotLayer(
                        kind="line", role="other", label="scaled by the square root", x=DIMENSIONS, y=(1,) * 9
                    ),
                ),
            ),
        ),
    )
)
