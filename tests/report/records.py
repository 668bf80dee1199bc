"""Run records as a verification would write them, made up: one claim for every way it can end."""

from __future__ import annotations

from tests.judged import judged_claim
from tests.report.builders import check, control, step
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import (
    Assumption,
    ClaimRecord,
    DerivationRecord,
    Outcome,
    Part,
    Proof,
    Reference,
    RouteRecord,
    Run,
    RunRecord,
    Settings,
    SourceRecord,
    Statement,
    Tool,
    Verdict,
)
from verify.evidence.judging import ErrorBudget

PAIRWISE = judged_claim(
    ClaimRecord(
        id="pairwise-estimator",
        chapter="raw_scores",
        chapter_title="Raw scores",
        title="The variance over all pairs is biased low",
        statement=r"Taken over all pairs of $N$ shared vectors, the sample variance of scores "
        r"falls short of $\frac{7 d}{144}$ by the pairs’ covariance.",
        meaning="Scores that share a vector are correlated, and their "
        "common part is lost from the spread around their own mean.",
        assumptions=(Assumption(id="uniform", text=r"components are uniform on $(0, 1)$"),),
        references=(),
        verdict=Verdict.APPROXIMATE,
        reason="",
        derivation=DerivationRecord(
            status=Proof.NOT_CLAIMED,
            subject="S²",
            result="",
            latex="",
            routes=(),
            agreement="",
            reason="The bias is small and only measured here; no derivation is claimed.",
        ),
        checks=(
            check(
                "at-d32",
                1.5427,
                1.55556,
                verdict=Verdict.APPROXIMATE,
                error=0.0004,
                cell={"d": 32, "n_keys": 100},
                latex=r"\frac{7 d}{144}",
            ),
            check(
                "at-d128",
                6.1716,
                6.22222,
                verdict=Verdict.APPROXIMATE,
                error=0.0011,
                cell={"d": 128, "n_keys": 100},
                latex=r"\frac{7 d}{144}",
            ),
            check("no-more", 6.1716, 6.22222, error=0.0011, cell={"d": 128}, relation="≤"),
            check("no-less", 6.1716, 6.1, error=0.0011, cell={"d": 128}, relation="≥"),
        ),
        controls=(control("independent-pairs", "pairs counted as independent", 0.01, 0.066),),
    )
)

OVER_SCALING = judged_claim(
    ClaimRecord(
        id="over-scaling",
        chapter="scaling",
        chapter_title="Scaling",
        title="Dividing by $d_k$ keeps the variance at one",
        statement=r"$\operatorname{Var}\left(\frac{q \cdot k}{d_k}\right) = 1$ for every $d_k$.",
        meaning="A wrong reading of a formula whose radical was lost in print.",
        assumptions=(Assumption(id="independent", text="independent, centred components of unit variance"),),
        references=(Reference(key="text", text="Printed without its radical.", url=None),),
        verdict=Verdict.REFUTED,
        reason="",
        derivation=DerivationRecord(
            status=Proof.NOT_CLAIMED,
            subject="",
            result="",
            latex="",
            routes=(),
            agreement="",
            reason="There is nothing to derive: the statement is wrong.",
        ),
        checks=(
            check(
                "at-d64", 0.015622, 1, verdict=Verdict.REFUTED, error=0.000024, cell={"d_k": 64}, latex="1"
            ),
        ),
        controls=(control("root", r"dividing by $\sqrt{d_k}$", 1, 1.001, verdict="undecided", power=0.2),),
    )
)

DOUBLE_SUM = judged_claim(
    ClaimRecord(
        id="double-sum",
        chapter="scaling",
        chapter_title="Scaling",
        title="One reused pair gives $d^2$",
        statement=r"$\operatorname{Var}(q \cdot k) = d^2$, if one and the same pair is counted $d$ times.",
        meaning="The mistake of adding a variable to itself instead of to independent copies.",
        assumptions=(Assumption(id="reused", text="one pair is reused"),),
        references=(),
        verdict=Verdict.UNDECIDED,
        reason="",
        derivation=DerivationRecord(
            status=Proof.FAILED,
            subject="Var(q·k)",
            result="d^2",
            latex=r"\operatorname{Var}(d\, q_1 k_1) = d^2",
            routes=(
                RouteRecord(
                    title="Scaling rule",
                    start_latex=r"\operatorname{Var}(c X)",
                    start_plain="Var(c X)",
                    steps=(
                        step(
                            r"\operatorname{Var}(c X) = c^2 \operatorname{Var}(X)",
                            "homogeneity",
                            "SymPy: simplifies to 0",
                        ),
                        step(
                            r"d \cdot \operatorname{Var}(q_1 k_1) = d^2",
                            "substitute",
                            "SymPy: the difference is $d - d^2$",
                            holds=False,
                        ),
                    ),
                ),
            ),
            agreement="",
            reason="“Scaling rule”, step 2: does not follow",
        ),
        checks=(),
        controls=(),
    )
)

SQRT_SCALING = judged_claim(
    ClaimRecord(
        id="sqrt-scaling",
        chapter="scaling",
        chapter_title="Scaling",
        title=r"Dividing by $\sqrt{d_k}$ keeps the variance at one",
        statement=r"$\operatorname{Var}\left(\frac{q \cdot k}{\sqrt{d_k}}\right) = 1$ for every $d_k$.",
        meaning="The scale of the scores no longer depends on the dimension.",
        assumptions=(Assumption(id="independent", text="independent, centred components of unit variance"),),
        references=(),
        verdict=Verdict.UNDECIDED,
        reason="",
        derivation=DerivationRecord(
            status=Proof.PROVED,
            subject="Var(q·k/√d)",
            result="1",
            latex=r"\operatorname{Var}\left(\frac{q \cdot k}{\sqrt{d}}\right) = 1",
            routes=(
                RouteRecord(
                    title="Scaling rule",
                    start_latex=r"\operatorname{Var}(c X)",
                    start_plain="Var(c X)",
                    steps=(
                        step(
                            r"\left(\frac{1}{\sqrt{d}}\right)^2 \cdot d = 1",
                            "substitute",
                            "SymPy: simplifies to 0",
                        ),
                        step("2", "one is below two", "evaluated at 40 digits", relation="≤"),
                    ),
                ),
            ),
            agreement="",
            reason="",
        ),
        checks=(
            check(
                "exact-512",
                0,
                0,
                error=0,
                method="exact",
                quantity="exact at $d_k = 512$",
                scale=0,
                tolerance=0,
            ).model_copy(update={"blocks": 0, "draws": 0, "level": 1.0}),
            check(
                "t9-d64",
                1.0021,
                1,
                verdict=Verdict.UNDECIDED,
                reason="the blocks are too skewed for an interval at this level; "
                "about 9,000 of them would do",
                error=0.0031,
                cell={"d_k": 64, "law": "Student t, 9 degrees of freedom"},
                latex="1",
            ),
        ),
        controls=(),
    )
)

CLAIMS = (SCORE_VARIANCE, PAIRWISE, SQRT_SCALING, OVER_SCALING, DOUBLE_SUM)

SOURCES = (
    SourceRecord(id="v", title="A video on attention", kind="video transcript", author=None),
    SourceRecord(id="b", title="A blog on scaling", kind="article", author="B. Author"),
)


def _statement(name: str, outcome: Outcome, text: str, **more: object) -> Statement:
    base: dict[str, object] = {"claim": None, "printed": None, "computed": None, "note": "", "parts": ()}
    return Statement.model_validate(
        {"id": name, "source": name[0], "text": text, "outcome": outcome, **base, **more}
    )


_SOFTMAX = Part(
    text=r"$\operatorname{softmax}(7, 5)$ is given",
    claim="sqrt-scaling",
    evidence="compute:softmax",
    kind="prints",
    printed="0.880, 0.120",
    computed="0.8808, 0.1192",
    holds=False,
    reason="0.8808 rounds to 0.881.",
)


def _says(claim: str, evidence: str, text: str, reason: str, *, holds: bool | None = True) -> Part:
    return Part(
        text=text,
        claim=claim,
        evidence=evidence,
        kind="says",
        printed=None,
        computed=None,
        holds=holds,
        reason=reason,
    )


STATEMENTS = (
    _statement(
        "v1",
        Outcome.HOLDS,
        "The variance of raw scores grows linearly in $d_k$.",
        claim="score-variance",
        note="For independent, centred components.",
        parts=(_says("score-variance", "check:slope", "it grows linearly", "the slope is one"),),
    ),
    _statement(
        "v3",
        Outcome.WITH_CONDITIONS,
        "Gradients vanish.",
        claim="score-variance",
        parts=(
            _says("score-variance", "check:at-d64", "the typical row", "the median falls"),
            _says("score-variance", "control:squared", "every row", "", holds=False),
        ),
    ),
    _statement(
        "v4",
        Outcome.WRONG,
        "Dividing by $d_k$ keeps the variance constant.",
        claim="over-scaling",
        parts=(_says("over-scaling", "verdict", "it stays constant", "it falls", holds=False),),
    ),
    _statement(
        "b3",
        Outcome.MISPRINTED,
        r"With $d_k = 4$, $\operatorname{softmax}(7, 5)$ is given.",
        claim="sqrt-scaling",
        printed="0.880, 0.120",
        computed="0.881, 0.119",
        parts=(_SOFTMAX,),
    ),
    _statement(
        "b6",
        Outcome.OPEN,
        "Gradients accumulate across layers.",
        claim="gradient-through-layers",
        note="Its claim is not part of this run.",
        parts=(_says("gradient-through-layers", "verdict", "they accumulate", "", holds=None),),
    ),
)


def record(*claims: ClaimRecord, statements: tuple[Statement, ...] = STATEMENTS) -> RunRecord:
    """Return a run of these claims, of all the made-up claims if none is given."""
    chosen = claims or CLAIMS
    return RunRecord(
        tool=Tool(version="0.1.0"),
        run=Run(
            settings=Settings(),
            budget=ErrorBudget(Settings().false_alarm).record(
                sum(one.measured_checks for one in chosen), sum(len(one.controls) for one in chosen)
            ),
            environment={"python": "3.11.7", "numpy": "2.4.6", "sympy": "1.14.0", "machine": "x86_64"},
            created="2026-11-20T23:30:00+00:00",
            elapsed_s=9.7,
            phases_s={"derive": 2.1, "measure": 7.1},
        ),
        claims=chosen,
        sources=SOURCES,
        statements=statements,
    ).sealed()
