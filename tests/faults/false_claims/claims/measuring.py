"""What is measured or said beside a true theorem, and is false."""

from typing import Any

from sympy import Eq, Range, Rational, S, Symbol, exp, oo, sqrt

from tests.faults.false_claims.shared import (
    Measuring, Pair, a, measured, measured_correlated, of_claims, of_derivations, of_experiments, of_fields,
    of_measured_parts, of_parts, spread, steps, theorem, typed,
)  # fmt: skip
from verify.claims.limits.shared import PairMoments
from verify.claims.newer import bounded_scores, sigmoid_attention, softmax_lipschitz
from verify.claims.newer.shared import SigmoidRows, entropy_lost
from verify.spec import (
    LAPLACE, NORMAL, NORMAL_MOMENTS, RADEMACHER, STANDARD, Derivation, Distribution, E, Experiment,
    NormalRows, Notation, Population, Prediction, Quantity, ScoreMoments, ScorePowers, Simulated, Smooth,
    Tolerance, Var, biased, cell_of, component, d, figure, k, kurtosis, kurtosis_route, line, prediction,
    printed, q, score, sharper, variance_route, wrong,
)  # fmt: skip
from verify.spec import measured as points
from verify.spec.rules import Evaluation, FirstTerms, Hypotheses, Identity, Replaced, Sign, Turned

PAIRS_OF_SCORES = NormalRows(2, 16, 0.25, NORMAL, ("product",))
SIGMOIDS = exp(S.Half) / (1 + exp(S.Half) / 4), 0.95
"""The bound for four standard normal scores, and less than their mean."""
LIKE = Distribution("normal", RADEMACHER.base_moments, RADEMACHER.fill)


def _rows(sampler: Any, estimand: Any, bound: Any, truth: float) -> Measuring:
    """Return the function that measures a mean over rows against a bound, 0.4 times which is no bound."""

    def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # given
        cell = cell_of("rows", sampler)
        check = Quantity("found", "a mean over rows", cell, estimand, prediction(bound), relation="≤")
        return Experiment((check,), (sharper(check, 0.4, truth),))

    return experiment


BINDING: dict[str, Pair] = {
    "called_normal": of_experiments(
        # False: a distribution that is called normal is one; true: a normal one.
        lambda: spread(query=LIKE, key=LIKE),
        derive=lambda: steps(
            Var(score),
            (d, Evaluation(Population({q: (1, 0, 1), k: (1, 0, 1)}, d, normal=(q, k)), assumed=True)),
        ),
    ),
    "correlated": of_claims(
        # False: the theorem for independent components speaks of correlated ones.
        # True: of independent ones.
        lambda: {"title": "Correlated components", "experiment": measured_correlated},
        lambda: {"title": "The variance of a score", "experiment": spread()},
    ),
    "law_of_more": of_experiments(
        # False: a theorem for normal components speaks of random signs; true: of normal components.
        lambda: spread(query=RADEMACHER, key=RADEMACHER),
        derive=lambda: steps(
            Var(score), (d, Evaluation(Population({q: (1, 0, 1, 0, 3), k: (1, 0, 1, 0, 3)}, d), assumed=True))
        ),
    ),
    "mean_for_variance": of_experiments(
        # False: a quarter of the mean square is measured, and the variance derived.
        # True: their variance is measured.
        lambda: measured(component("square", 0.25, positive=True), S.One, ScoreMoments()),
    ),
    "mean_square": of_experiments(
        # False: the mean square of scores with a mean is measured; the theorem is about their variance.
        # True: their variance is 3 d.
        lambda: measured(
            component("square", positive=True),
            d * (d + 3),
            ScoreMoments(),
            query=NORMAL.moved(1, 1),
            key=NORMAL.moved(1, 1),
        ),
        lambda: spread(query=NORMAL.moved(1, 1), key=NORMAL.moved(1, 1)),
        derive=lambda: Derivation.of(variance_route(score, Population({q: (1, 1, 2), k: (1, 1, 2)}, d))),
    ),
    "only_large": of_experiments(
        # False: a theorem for many dimensions speaks of four; true: of 64.
        spread,
        lambda: spread(n=64),
        derive=lambda: steps(
            Var(score),
            (d, Evaluation(STANDARD, assumed=True)),
            under=Hypotheses().restricted(d, Range(64, oo)),
        ),
    ),
    "other_law": of_experiments(
        # False: the kurtosis of normal components is that of Laplace's; true: of normal components.
        lambda: measured(kurtosis(), None, ScorePowers((2, 4)), query=LAPLACE, key=LAPLACE, n=16),
        lambda: measured(kurtosis(), None, ScorePowers((2, 4)), n=16),
        derive=lambda: Derivation.of(kurtosis_route(Population({q: NORMAL_MOMENTS, k: NORMAL_MOMENTS}, d))),
    ),
    "other_relation": of_claims(
        # False: a lower bound is derived, and an upper one measured; true: the value is derived.
        lambda: {
            "title": "A bound on the mean square",
            "derive": lambda: steps(
                E(score**2),
                (d, Evaluation(STANDARD, assumed=True)),
                (d / 2, Replaced(theorem(S.Zero, (d / 2, Sign()), (d / 2, Turned(start=d))))),
            ),
            "experiment": measured(
                component("square", positive=True),
                5 * S.One,
                ScoreMoments(),
                relation="≤",
                controls=lambda check, tolerance: (sharper(check, 0.5),),
            ),
        },
        lambda: {
            "title": "The mean square",
            "derive": lambda: steps(E(score**2), (d, Evaluation(STANDARD, assumed=True))),
            "experiment": measured(component("square", positive=True), None, ScoreMoments()),
        },
    ),
    "padded": of_derivations(
        # False: the variance of a padded score is exactly 1 - 1/d; these are first terms of d/(d + 1).
        # True: it is d/(d + e).
        lambda: steps(
            Var(score / sqrt(d + 1)),
            (d / (d + 1), Evaluation(STANDARD, assumed=True)),
            (1 - 1 / d, FirstTerms(d, 1)),
        ),
        lambda: steps(Var(score / sqrt(d + 1)), (d / (d + 1), Evaluation(STANDARD, assumed=True))),
        experiment=spread(scale=1 / sqrt(d + 1), n=64),
    ),
    # False: what is measured is at a scale 1% larger than what is derived; true: at the same scale.
    "scale": of_measured_parts(
        lambda part: spread(scale=part),
        Rational(505, 1000),
        S.Half,
        derive=lambda: Derivation.of(variance_route(score / 2, STANDARD)),
    ),
    # False: the bound for scores of deviation 1 is about rows of deviation 0.98; true: of 1.
    "sigmoids": of_measured_parts(
        lambda part: _rows(part, component("total"), *SIGMOIDS),
        SigmoidRows(4, 0.98),
        SigmoidRows(4),
        derive=sigmoid_attention.derive,
    ),
    "some_weight": of_experiments(
        # False: what bounds a row of the Jacobian is about one entry of it; true: about the row.
        lambda: _rows(PAIRS_OF_SCORES, component("product"), S.Half, 0.242),
        lambda: _rows(
            PAIRS_OF_SCORES, Smooth(lambda mean: 2 * mean["product"], positive=True), S.Half, 0.485
        ),
        derive=softmax_lipschitz.derive,
    ),
    "unbounded": of_experiments(
        # False: what holds of scores within a range is about normal ones; true: about scores of two levels.
        lambda: _rows(NormalRows(4, 16, 1.0, NORMAL, ("entropy",)), entropy_lost(4), S.Half, 0.35),
        lambda: _rows(NormalRows(4, 16, 1.0, RADEMACHER, ("entropy",)), entropy_lost(4), S.Half, 0.28),
        derive=bounded_scores.derive,
    ),
}
"""What is measured is something else than what is derived."""
CONTROL: dict[str, Pair] = {
    "excused": of_experiments(
        # False: an excuse, and a control; true: a control through the same code.
        lambda: spread(
            uncontrolled="none is needed", controls=lambda check, tolerance: (biased(check, tolerance),)
        ),
    ),
    "near": of_experiments(
        # False: a control that is wrong by less than can be seen; true: a control through the same code.
        lambda: spread(
            controls=lambda check, tolerance: (wrong(check, "near", "it is a little more", 4.02),)
        ),
    ),
    "none": of_experiments(
        # False: no control; true: a control through the same code.
        lambda: spread(controls=lambda check, tolerance: ()),
    ),
    "other_estimand": of_experiments(
        # False: a control of the mean square only; true: a control through the same code.
        lambda: spread(
            controls=lambda check, tolerance: (
                wrong(check, "double", "it is double", 8.0, estimand=component("square")),
            )
        ),
    ),
    "other_relation": of_experiments(
        # False: a control of a bound; true: a control through the same code.
        lambda: spread(
            controls=lambda check, tolerance: (wrong(check, "half", "it is at most half", 2.0, relation="≤"),)
        ),
    ),
    "other_statistic": of_experiments(
        # False: a control of another statistic; true: a control through the same code.
        lambda: spread(
            controls=lambda check, tolerance: (
                wrong(
                    check,
                    "double",
                    "it is double",
                    8.0,
                    cell=cell_of("pairs", Simulated(NORMAL, NORMAL, 8, 8, 4), PairMoments()),
                ),
            )
        ),
    ),
    "right": of_experiments(
        # False: a control that is right; true: a control through the same code.
        lambda: spread(controls=lambda check, tolerance: (wrong(check, "same", "it is the same", check),)),
    ),
}
"""A check has no control, or one that shows nothing."""
TOLERANCE: dict[str, Pair] = {
    "blank_name": of_experiments(
        # False: a scale whose name is blank; true: a scale that is named.
        lambda: spread(13 * d / 10, tolerance=Tolerance(1.0, 40.0, " ")),
        lambda: spread(tolerance=Tolerance(1.0, 4.0, "the variance of a score")),
    ),
    "blank": of_experiments(
        # False: a reason that is blank; true: the run's tolerance.
        lambda: spread(13 * d / 10, tolerance=Tolerance(10.0, because=" ")),
        lambda: spread(tolerance=Tolerance()),
    ),
    # False: a tolerance without end; true: the run's tolerance.
    "infinite": of_measured_parts(lambda part: spread(tolerance=part), Tolerance(float("inf")), Tolerance()),
    "large_scale": of_experiments(
        # False: a scale that is named, and far larger than what is measured; true: twice the tolerance.
        lambda: spread(13 * d / 10, tolerance=Tolerance(1.0, 40.0, "the variance of a larger score")),
        lambda: spread(tolerance=Tolerance(2.0)),
    ),
    "ten_times": of_experiments(
        # False: the variance is 1.3 d, within ten times the tolerance; true: the run's tolerance.
        lambda: spread(13 * d / 10, tolerance=Tolerance(10.0)),
        lambda: spread(tolerance=Tolerance()),
    ),
    "unnamed": of_experiments(
        # False: a scale without a name; true: the run's tolerance.
        lambda: spread(13 * d / 10, tolerance=Tolerance(1.0, 40.0)),
        lambda: spread(tolerance=Tolerance()),
    ),
}
"""A tolerance that lets a wrong value pass."""


def _figure(words: str) -> Any:
    """Return the function that draws what is derived and what is measured, with words for reading aloud."""
    return lambda derivation, findings: figure(
        "line", "A line", words, "variance", line("derived", derivation.result),
        points(findings.matching("found")),
    )  # fmt: skip


WORDS: dict[str, Pair] = {
    # False: a relation in a figure's text for reading aloud; true: none.
    "alt": of_fields(
        "figures", _figure("The variance is = 3 d on all points."), _figure("The variance lies on the line.")
    ),
    # False: a number in a control's words; true: a slot.
    "control": of_measured_parts(
        lambda part: spread(
            controls=lambda check, tolerance: (wrong(check, "thrice", part, 3 * d.subs(d, 4)),)
        ),
        "the variance is 12",
        "the variance is {value}",
    ),
    # False: a fraction as a sign of its own; true: none.
    "fraction": of_fields("statement", "It is ½ of what is expected; {theorem}.", "{theorem}."),
    # False: a sign of relation; true: none.
    "greater": of_fields(
        "statement", "The variance {theorem:result} ≥ that of any other; {theorem}.", "{theorem}."
    ),
    # False: a symbol that is nowhere derived; true: one that is.
    "hidden_expression": of_fields(
        "symbols", {"own": 3 * d}, {"own": d}, statement="It is {own}; {theorem}."
    ),
    "hidden_number": of_claims(
        # False: a symbol hides a number; true: it names the dimension.
        lambda: {"statement": "Of {own}, {theorem}.", "symbols": {"own": Notation("3 d_k", d)}},
        lambda: {"statement": "In {own}, {theorem}.", "symbols": {"own": d}},
    ),
    "hidden_relation": of_claims(
        # False: a symbol hides a relation; true: a theorem says it.
        lambda: {"statement": "{same}.", "symbols": {"same": Notation("\\operatorname{Var} = 3 d_k", score)}},
        lambda: {"statement": "Of {own}, {theorem}.", "symbols": {"own": Notation("q^\\top k", score)}},
    ),
    "in_a_title": of_claims(
        # False: the title has a formula that is nowhere derived; true: one that is.
        lambda: {"title": "The variance of a score is {own}", "symbols": {"own": 3 * d}},
        lambda: {"title": "The variance of a score is {d_k}"},
        statement="{theorem}.",
    ),
    "label": of_experiments(
        # False: the label of a check says more than what it estimates; true: it names what is estimated.
        lambda: spread(label="$\\operatorname{Var}(q\\cdot k) = 3 d_k$"),
    ),
    # False: what is equal is called less; true: at most.
    "less": of_fields(
        "statement",
        "The variance is less than {theorem:result}.",
        "The variance is at most {theorem:result}.",
    ),
    # False: a multiple, in words, of what is derived; true: what is derived.
    "multiple": of_fields(
        "statement", "The variance is three times {theorem:result}.", "The variance is {theorem:result}."
    ),
    # False: the name of a symbol is a number; true: it is a name.
    "number_name": of_parts(
        lambda part: steps((part + 1) ** 2, (1 + part**2 + 2 * part, Identity())),
        Symbol("3"),
        a,
        statement="{theorem}.",
    ),
    # False: the dimension is written as the number of keys; true: as itself.
    "other_name": of_claims(
        lambda: {"symbols": {"own": Notation("n", d)}},
        lambda: {"symbols": {"own": d}},
        statement="{theorem}.",
    ),
    "prediction_number": of_experiments(
        # False: another number is typed for the value that is compared with; true: it is derived.
        lambda: lambda derivation, tolerance: typed(derivation, tolerance, Prediction(4.0, "3")),
    ),
    "prediction": of_experiments(
        # False: a formula is typed for the value that is compared with; true: it is derived.
        lambda: lambda derivation, tolerance: typed(derivation, tolerance, Prediction(4.0, "3 d_k")),
    ),
    # False: the author marks text as printed by the tool; true: a slot.
    "printed": of_fields("statement", f"{printed('$= 3 d_k$')}; {{theorem}}.", "{theorem}."),
    "relation_symbol": of_claims(
        # False: a symbol is a relation of SymPy's; true: an expression.
        lambda: {"statement": "It is {own}.", "symbols": {"own": Eq(Var(score), 3 * d, evaluate=False)}},
        lambda: {"statement": "Of {own}, {theorem}.", "symbols": {"own": Var(score)}},
    ),
    # False: the name of a symbol is a relation; true: it is a name.
    "theorem_name": of_parts(
        lambda part: steps((part + 1) ** 2, (1 + part**2 + 2 * part, Identity())),
        Symbol("x = 3"),
        a,
        statement="{theorem}.",
    ),
    # False: a number in the title; true: none.
    "title": of_fields(
        "title",
        "Scores spread 3 times as far as components",
        "Scores spread farther than components",
        statement="{theorem}.",
    ),
    # False: a number is typed in words for reading aloud; true: a slot.
    "typed_plainly": of_fields(
        "statement",
        "For every head, the variance is 3 times the dimension; {theorem}.",
        "For every head, {theorem}.",
    ),
    # False: a multiple in words, and nothing that is derived; true: what is derived.
    "twice": of_fields("statement", "The variance is twice {d_k}.", "The variance is {theorem:result}."),
    # False: a formula is typed over the derivation of another; true: a slot.
    "typed": of_fields("statement", "The variance is $= 3 d_k$.", "The variance is {theorem:result}."),
}
"""Words say what is not derived."""
