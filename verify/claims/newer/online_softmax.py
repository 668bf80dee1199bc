"""Any reference gives the same weights; where it lags by t at most, partial sums stay below n·eᵗ."""

from dataclasses import replace

from sympy import Expr, Rational, S, Sum, exp, log

from verify.claims.newer.shared import M, OnlineRows, distance_from_softmax, largest_partial_sum, x
from verify.former import (
    ROUNDING, Allowance, Claim, Derivation, Experiment, Fact, Figure, Route, Step, Tolerance, cell_of, cite,
    computed, fact, figure, i, j, line, n, one_step, ordered, over_cells, p, prediction, ratio, s, scatter,
    threshold, wrong,
)  # fmt: skip
from verify.former.rules import PutIn, SumIdentity, Surplus

t, r = ordered("t", positive=True), ordered("r", real=True)
LAG = 8 * log(2)
"""The published threshold, 8 in powers of two."""
SPREADS, THRESHOLDS = (1.0, 3.0), (1, 2, 4)
LABEL = "mean squared error of outputs, lagging reference over maximum"


def derive() -> Derivation:
    """Derive that a reference cancels, and how large a partial sum becomes where it lags."""
    grown = Route.of(
        "Exponentials $M + x_j$ from 0 to $2M$", Sum(M + x[j], (j, 1, n)),
        Step(2 * n * M, "Each is at most $2M$", Surplus(Sum(M - x[j], (j, 1, n)), bounded=True)),
        Step(n * exp(t), "No score exceeds the reference by more than $t$", PutIn({M: exp(t) / 2})),
        defines="a partial sum of the exponentials of scores less the reference",
    )  # fmt: skip
    shifted = exp(s[1] - r) / Sum(exp(s[i] - r), (i, 1, n))
    cancels = one_step("With any reference r", shifted, p[1], "Its exponential cancels", SumIdentity(),
                       defines="a weight by scores less a reference", name="cancels")  # fmt: skip
    return Derivation.of(grown, lemmas=(cancels,))


def experiment(derivation: Derivation) -> Experiment:
    """Compute partial sums and weights of one pass, and measure what a lag costs in few bits."""
    where: dict[str, int | float | str] = {"n": 64, "scores": "one at the reference, all others t above it"}
    reached = {
        one: computed(f"sum-t{one}", "largest partial sum", {**where, "t": one}, 1 + 63 * exp(one),
                      largest_partial_sum, 64, float(one),
                      allowance=Allowance(1e-9, "what sums of a few thousand lose"))
        for one in THRESHOLDS
    }  # fmt: skip
    bounds = {one: replace(check, id=f"bound-t{one}", relation="≤",
                           prediction=prediction(_bound(derivation, one)))
              for one, check in reached.items()}  # fmt: skip
    label = "largest distance of one-pass weights from softmax"
    same = computed("same-weights", label, {"t": 2}, S.Zero, distance_from_softmax, 2.0, allowance=ROUNDING)
    rows = {one: cell_of(f"s{one:g}", OnlineRows(64, float(LAG), one)) for one in SPREADS}
    cost = over_cells(
        "cost-{cell}", LABEL, rows, ratio("lagging", "at-zero"), threshold(2), Tolerance(1.0), "≤"
    )
    return Experiment((*reached.values(), *bounds.values(), same, *cost.values()), (
        wrong(bounds[2], "one-key-less", "the bound for two keys fewer holds as well", 62 * exp(2)),
        wrong(bounds[2], "against-the-last", "it is enough that no score exceeds the maximum so far by more "
                                             "than that",
              computed=largest_partial_sum(64, 2.0, last=True)),
        wrong(reached[2], "smaller-lag", "a lag smaller by a hundredth gives the same sum",
              1 + 63 * exp(2 * Rational(99, 100))),
        wrong(same, "in-single-precision", "single precision is exact",
              computed=distance_from_softmax(2.0, single=True)),
        wrong(cost[1.0], "no-cost", "in few bits a lagging reference costs nothing", threshold(1)),
        wrong(cost[3.0], "little-cost", "at the larger spread the error grows by two fifths at most",
              threshold(Rational(7, 5))),
    ))  # fmt: skip


def _bound(derivation: Derivation, lag: int) -> Expr:
    return derivation.result.subs({n: 64, t: lag})


def facts() -> tuple[Fact, ...]:
    """Return the bound at the published threshold."""
    return (fact("published-lag", "largest exponential over the reference, 8 in powers of two", exp(LAG)),)


def figures(derivation: Derivation) -> Figure:
    """Draw the largest partial sum over the lag, and its bound."""
    return figure(
        "sums",
        "A partial sum is at most the number of keys times the exponential of the lag",
        "Largest partial sum over the allowed lag, for rows whose scores all lie that far above the "
        "first: points that nearly touch a rising line, the bound.",
        "largest partial sum", line("bound: {theorem:result}", derivation.result.subs(n, 64), over=(0.5, 6)),
        scatter("computed", THRESHOLDS, [largest_partial_sum(64, float(one)) for one in THRESHOLDS]),
        x="lag {t}", x_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="One-pass softmax may let its reference lag, within a bound",
    statement="Subtracting any reference {r} from all scores leaves the weights unchanged: {cancels}. While "
    "no score exceeds the stored reference by more than {t}, every partial sum of {n} exponentials is at "
    "most {theorem:result}.",
    meaning="One-pass attention keeps a running maximum and rescales its sums whenever that maximum rises. "
    "Most of these corrections can be omitted, since exactness does not need them; the bound says how far a "
    "sum can grow meanwhile, and single precision has room for it. What counts is the distance from the "
    "stored reference: if scores are compared with the maximum so far instead, a slow rise goes unnoticed "
    "and sums grow without bound. In low precision it is not quite free: with exponentials rounded to "
    "bfloat16, the largest one is exact if the reference is the maximum, and is rounded like all others if "
    "the reference lags. At the published threshold and with {cost-s1:n} keys, the mean squared error is "
    "{cost-s1:estimate±} times as large for scores of {cost-s1:sigma=}, and {cost-s3:estimate±} times for "
    "{cost-s3:sigma=}.",
    symbols={"r": r, "t": t, "n": n},
    references=(
        *cite(
            "milakov2018",
            "M. Milakov and N. Gimelshein, Online Normalizer Calculation for Softmax, 2018.",
            "https://arxiv.org/abs/1805.02867",
        ),
        *cite(
            "dao2022",
            "T. Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness, "
            "NeurIPS 2022.",
            "https://arxiv.org/abs/2205.14135",
        ),
        *cite(
            "zadouri2026",
            "T. Zadouri et al., FlashAttention-4: Algorithm and Kernel Pipelining Co-Design for Asymmetric "
            "Hardware Scaling, 2026.",
            "https://arxiv.org/abs/2603.05451",
        ),
    ),
)
