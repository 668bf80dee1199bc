"""Questions: what is derived for them, what is measured, and what becomes of mistakes."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from sympy import Expr, Rational, log, sqrt

from verify.engine import asking
from verify.engine.asking import LAWS, Answer, Question, ask, assumed, called, law_named
from verify.errors import VerifyError
from verify.evidence import Check, Proof, Verdict
from verify.montecarlo.estimands import WITH_ROUNDING
from verify.spec.claim import Claim
from verify.symbolic.bounds import at_least
from verify.symbolic.chains import Chain, Line
from verify.symbolic.checks import moments
from verify.symbolic.grammar import QuestionError
from verify.symbolic.vocabulary import NORMAL_LAW, STANDARD, UNIT, E, Softmax, Var, d, j, n, over_keys, score
from verify.symbolic.vocabulary import squares

SMALL: dict[str, Any] = {"dimensions": (4, 16), "tolerance": 0.05, "workers": 1}
"""Where the number of draws does not matter."""


@pytest.fixture(scope="module")
def variance() -> Answer:
    """The answer to the usual question."""
    return ask("Var(q·k)", **SMALL)


@pytest.fixture(scope="module")
def largest() -> Answer:
    """The answer to a question of which nothing is derived."""
    return ask("E(max(p))", keys=(4,), **SMALL)


Ask = Callable[..., Question]


@pytest.fixture
def question(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return how to ask what is derived, and measure nothing."""
    monkeypatch.setattr(asking, "_measured", lambda *_: None)
    return lambda text, **options: ask(text, **options).question


def fits_of(answer: Answer) -> dict[str, Check]:
    """Return the fits of an answer by their ids."""
    return {check.id: check for check in answer.evidence.checks if check.method == "fit"}


def test_usual_question_is_answered_by_its_claim(variance: Answer) -> None:
    """The variance of a score is that of the catalogue's claim; it is an ordinary run that confirms it."""
    assert variance.claim == "score-variance"
    assert variance.formula == d
    assert variance.verdict is Verdict.CONFIRMED
    assert variance.exit_status == 0
    claim = variance.evidence
    assert claim.derivation.status is Proof.DERIVED
    drawn = [check for check in claim.checks if check.method == "monte-carlo"]
    assert [(check.id, check.prediction, check.origin) for check in drawn] == [
        ("d4", 4, "derived"),
        ("d16", 16, "derived"),
    ]
    assert {check.verdict for check in claim.checks} == {Verdict.CONFIRMED}
    assert {name: fit.prediction for name, fit in fits_of(variance).items()} == {
        "slope": 1,
        "intercept": 0,
        "exponent": 1,
    }
    assert {control.verdict for control in claim.controls} == {Verdict.REFUTED}
    assert ask("Var(q·k)", seed=1, **SMALL).evidence.digest != claim.digest


def test_answer_shows_itself_in_a_notebook(variance: Answer) -> None:
    """A notebook gets its text, a terminal too, and a figure the points on their curve."""
    assert "Derived for every d_k" in repr(variance)
    assert "Derived for every d_k" in variance._repr_html_()
    axes = variance.evidence.plot()
    assert axes.get_legend_handles_labels()[1] == ["measured", "$d_k$"]


def test_what_is_not_derived_is_measured_twice(largest: Answer) -> None:
    """Two samples from different streams, each to the tolerance, are compared; nothing else is judged."""
    assert largest.formula is None
    assert largest.verdict is None
    assert "the samples agree" in str(largest)
    assert largest.exit_status == 3
    assert largest.evidence.derivation.status is Proof.MEASURED
    assert largest.evidence.verdict is Verdict.CONFIRMED
    for check in largest.evidence.checks:
        low, high = check.interval
        assert high - low <= 2.5 * 0.05 * check.estimate
        assert check.prediction != check.estimate


@pytest.mark.parametrize("text", ["E(q·k/(1+|q·k|))", pytest.param("P(q·k > 100)", marks=pytest.mark.slow)])
def test_what_may_be_0_is_told_by_a_deviation(text: str) -> None:
    """A share of itself could be told from 0 by no sample: it went on drawing for hours."""
    answer = ask(text, **{**SMALL, "dimensions": (4,)})
    assert "the samples agree" in str(answer)
    (check,) = answer.evidence.checks
    assert check.tolerance_of == "a block's deviation"


def test_several_numbers_of_keys_are_rows_and_alone_a_line() -> None:
    """With several numbers of keys there is a row for each pair; in a single dimension, a fit over keys."""
    both = ask("E(sum((q·k)^2))", keys=(2, 8), **SMALL)
    assert both.formula == d * n
    assert [check.id for check in both.evidence.checks] == ["d4-n2", "d16-n2", "d4-n8", "d16-n8"]
    assert both.verdict is Verdict.CONFIRMED
    over_keys = ask("E(sum((q·k)^2))", keys=(2, 8), **{**SMALL, "dimensions": (4,)})
    assert fits_of(over_keys)["slope"].prediction == 4


def test_what_vanishes_is_confirmed_within_a_deviation() -> None:
    """A mean of 0 is confirmed, with a tolerance of the standard deviation instead of itself."""
    answer = ask("E(q·k)", **SMALL)
    assert answer.formula == 0
    assert answer.verdict is Verdict.CONFIRMED
    assert not fits_of(answer)


def test_formula_of_the_asker_is_decided() -> None:
    """A wrong formula is refuted though another is derived; a right one for the underived is confirmed."""
    wrong = ask("Var(q·k)", against="d_k^2/4", **SMALL)
    assert wrong.formula == d
    assert wrong.verdict is Verdict.REFUTED
    verdicts = [wrong.evidence.check(name).verdict for name in ("d4", "d16")]
    assert verdicts == [Verdict.CONFIRMED, Verdict.REFUTED]
    assert wrong.exit_status == 1
    assert "Formula to be decided: Var(q·k) = d_k²/4" in str(wrong)
    right = ask("P(q·k > 0)", against="1/2", **SMALL)
    assert right.verdict is Verdict.CONFIRMED
    assert right.formula is None


DERIVED = [
    ("Var(q·k)", "exponential(1, 1)", 3 * d),
    ("kurtosis(q·k)", "laplace", 3 + 33 / d),
    ("skewness(q·k)", "exponential", 4 / sqrt(d)),
    ("E((q·k)^6)", "normal", 15 * d * (d + 2) * (d + 4)),
    ("Cov(q·k_j^2, q·k_l^2)", "normal", 2 * d),
    ("sqrt(Var(q·k))", "normal", sqrt(d)),
    ("E(|k|^2)", "t(9)", d),
]


@pytest.mark.parametrize(
    ("text", "law", "formula"),
    [pytest.param(*case, marks=[pytest.mark.slow] * (place > 1)) for place, case in enumerate(DERIVED)],
)
def test_formulas_are_derived_for_every_dimension(question: Ask, text: str, law: str, formula: Expr) -> None:
    """Moments give a formula for every dimension, from as few of them as it takes, and no line is refuted."""
    asked = question(text, law=law)
    assert asked.formula is not None
    assert ((asked.formula - formula).simplify(), asked.derivation.problem) == (0, "")


def test_bound_of_the_catalogue_answers_where_nothing_is_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that bounds the quantity answers where no equation does."""
    weight = Softmax(score, j)
    excess = E(over_keys((weight - 1 / n) ** 2))
    line = Line(1 / n, "no sum of squares is less", at_least(excess), "≥")
    bound = Claim(
        id="squares-at-least",
        title="The squared weights add up to at least one n-th",
        statement="{main}.",
        meaning="So it is.",
        derive=lambda: Chain(E(squares(score)), line),
    )
    monkeypatch.setattr(asking, "catalogue", lambda: {bound.id: bound})
    answer = ask("E(sum(p^2))", keys=(4,), **SMALL)
    assert answer.claim == "squares-at-least"
    assert answer.question.relation == "≥"
    assert answer.formula == 1 / n
    assert answer.verdict is Verdict.CONFIRMED
    assert "Derived for every n: E[Σ_j p_j²] ≥ 1/n" in str(answer)


def test_derivation_that_fails_is_shown_and_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that fails is marked, and the last line says so."""
    wrong = Chain(Var(score)).then(2 * d, "every square has mean 2", moments(STANDARD))
    words: dict[str, Any] = {"title": "Wrong", "statement": "{main}.", "meaning": "It is not so."}
    claim = Claim(id="wrong", derive=lambda: wrong, **words)
    monkeypatch.setattr(asking, "catalogue", lambda: {claim.id: claim})
    answer = ask("Var(q·k)", **SMALL)
    assert answer.exit_status == 1
    assert "every square has mean 2 (✗ " in str(answer)
    assert "\n\nUndecided: the derivation failed, so nothing was drawn: " in str(answer)


def test_claim_answers_only_under_its_laws(question: Ask) -> None:
    """A claim on components of mean 0 and variance 1 does not answer for others."""
    general = question("Var(q·k)", law="uniform(0, 1)")
    assert general.claim is None
    assert general.formula == 7 * d / 144
    assert question("Var(q·k)", query_law="laplace").claim is not None
    assert question("Var(q·k)", query_law="normal(0, 2)", key_law="rademacher").formula == 4 * d


def test_any_chain_of_a_claim_answers_where_its_conditions_hold(question: Ask) -> None:
    """Not only that of its statement; where its laws or sizes are others, the claim is named, no more."""
    cosine = question("Var(q·k/(|q|*|k|))")
    assert cosine.formula == 1 / d
    other = question("Var(q·k/(|q|*|k|))", law="laplace")
    assert other.formula is None
    assert other.sentences(str)[1] == "Claims that speak of it: query-key-normalisation."
    assert question("E(1/|q|^2)", dimensions=(3,)).formula == 1 / (d - 2)
    assert question("E(1/|q|^2)", dimensions=(2, 3)).formula is None


def test_bound_of_what_is_missing_answers_for_the_rest(question: Ask) -> None:
    """Mean entropy lacks at most half a nat of ln n, squares of weights little of 1: so say their claims."""
    entropy = question("E(H_scaled)")
    assert (entropy.formula, entropy.relation) == (log(n) - Rational(1, 2), "≥")
    assert entropy.claim is not None
    assert entropy.claim.id == "attention-entropy"
    assert entropy.derivation.problem == ""
    assert question("E(-H_scaled)").formula is None
    squares = question("E(sum(p^2))")
    assert squares.formula == 1 - sqrt(2) * sqrt(log(n)) / sqrt(d - 2)
    assert squares.sentences(str)[-1].endswith(r"as the dimension passes $2 \ln n$.")


def test_mean_weight_is_derived_by_symmetry(question: Ask) -> None:
    """Whatever the law and the scale of scores; of laws without a variance no chain speaks."""
    for text in ("E(p)", "E(p_scaled)"):
        weight = question(text, law="uniform(0, 1)")
        assert weight.formula == 1 / n
        assert weight.derivation.problem == ""
    assert question("E(p)", law="cauchy").formula is None


def test_one_vector_alone_can_be_asked_about() -> None:
    """Its length is measured, twice, and nothing is derived."""
    answer = ask("E(|k|)", dimensions=(4, 16, 64), tolerance=0.05, workers=1)
    assert answer.formula is None
    assert "Measured only, twice: the samples agree." in str(answer)


def test_laws_are_read_as_they_are_called() -> None:
    """Every law is read by the name that it is printed with."""
    for name in (*LAWS, "laplace(1, 3)", "uniform(-1, 1/2)", "t(5)", "exponential(1, 1)", "normal(0.5, 2)"):
        assert law_named(called(law_named(name))) == law_named(name)
    assert assumed(law_named("laplace"), 2) == UNIT
    assert assumed(law_named("normal"), 16) is NORMAL_LAW


BAD: list[tuple[dict[str, Any], str]] = [
    ({"text": "Var(q·k)", "law": "gauss"}, "no such law"),
    ({"text": "Var(q·k)", "law": "t(2)"}, "degrees of freedom, from 3 on"),
    ({"text": "Var(q·k)", "law": "normal(0, x)"}, "mean and its deviation, above 0"),
    ({"text": "Var(q·k)", "law": "normal(0, 0)"}, "deviation, above 0"),
    ({"text": "Var(q·k)", "law": "uniform(1, 0)"}, "its ends in order"),
    ({"text": "kurtosis(q·k)", "law": "t(4)"}, "have no moment of order 4"),
    ({"text": "E(q·k)", "key_law": "cauchy"}, "have no moment of order 1"),
    ({"text": "Var(q·k)", "dimensions": ()}, "at least one number"),
    ({"text": "Var(q·k)", "dimensions": (4.5,)}, "--dimensions 4.5: give whole numbers from 1"),
    ({"text": "Var(q·k)", "keys": (4,)}, "depends on how many keys"),
    (
        {"text": "E(max(p))", "dimensions": (10**7,), "keys": (10**7,)},
        "a block takes .* GB; make it smaller: give smaller --dim",
    ),
    ({"text": "Var(q·k)", "tolerance": 2.0}, "tolerance 2.0: should be less than 1"),
    ({"text": "E(d_k)"}, "nothing in it is random"),
    ({"text": "E(exp(q·k))", "dimensions": (4096,)}, "not finite in some draw"),
    ({"text": "E(sqrt(q·k))", "against": "d_k", "dimensions": (4,)}, "not finite in some draw"),
]


@pytest.mark.parametrize(("given_", "problem"), BAD)
def test_mistakes_are_said_in_a_line(given_: dict[str, Any], problem: str) -> None:
    """What cannot be asked is refused before anything is drawn, in one line that says how to correct it."""
    with warnings.catch_warnings(), pytest.raises(VerifyError, match=problem) as caught:
        ask(**given_)
    line, *marked = str(caught.value).split("\n")
    assert bool(marked) is isinstance(caught.value, QuestionError)
    assert line


@pytest.mark.parametrize(("asked", "value"), [("E(sum(p))", "1"), ("E(softmax(q·k))", "1/n")])
def test_what_holds_in_every_row_is_confirmed_up_to_rounding(asked: str, value: str) -> None:
    """More blocks do not average rounding out, so it must not exclude the exact value."""
    answer = ask(asked, against=value, dimensions=[4, 64], workers=1)
    assert answer.verdict is Verdict.CONFIRMED
    assert {check.basis for check in answer.evidence.checks[:2]} == {WITH_ROUNDING}
    assert ask(asked, against=f"1.00001*{value}", dimensions=[64], workers=1).verdict is Verdict.APPROXIMATE
