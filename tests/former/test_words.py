"""The words of a claim: filled from what is derived or measured, and how expressions read in a line."""

from dataclasses import replace
from typing import Any

import pytest
from sympy import Abs, Expr, Idx, IndexedBase, S, Sum, sqrt, tanh

from tests.report.builders import check
from verify.errors import ClaimError
from verify.evidence import Assumption
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.experiment import Experiment
from verify.former.cells import score_cell
from verify.former.checks import biased, fact, variances, wrong
from verify.former.claim import Claim
from verify.former.figures import figure, line, scatter
from verify.cli.explore import titled
from verify.former.words import FormerWords as Words
from verify.former.words import Notation, assumed, in_line
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.equations import Identity
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.printing import ordered
from verify.symbolic.routes import by, one_step
from verify.symbolic.scores import STANDARD, d, k, mean_route, q, score, variance_route

MEAN = mean_route(score, STANDARD).defining("the mean").called("mean")
ROOT = one_step("A root", sqrt(d**2) / sqrt(d), sqrt(d), "of it", Identity(), name="root", defines="a root")
DERIVED = Derivation.of(variance_route(2 * score, STANDARD), lemmas=(MEAN, ROOT))
CHECKS = variances(
    [score_cell(n, NORMAL, NORMAL, 0.05, scale=2) for n in (8, 64)], "variance", DERIVED.result
)
CONTROL = wrong(CHECKS[0], "squared", "it is {square}, here {value}", d.subs(d, 64))
EXPERIMENT = Experiment(CHECKS, (CONTROL, biased(CHECKS[1], 0.05)))
FACTS = (fact("share", "a share", S(1) / 8),)
FOUND = (
    check("variance-d8", 31.923, 32.0, error=0.11, cell={"d_k": 8}),
    check("variance-d64", 0.1, 0.0, error=0.11, cell={"d_k": 64}),
    check("loose", 1.0, 4.0, relation="≤"),
    check("tight", 3.0, 4.0, relation="≤"),
)


def claim(**changes: Any) -> Any:
    """Return a claim, changed so."""
    given = {
        "id": "mine",
        "title": "Scores grow",
        "statement": "{theorem}.",
        "meaning": "Much.",
        "assumptions": (Assumption(id="a", text="It is so."), Assumption(id="b", text="And so.")),
        "symbols": {"square": d**2, "inner": 2 * score, "odd": 3 * d},
    }
    return Claim(**(given | changes))


WORDS = Words(claim(), DERIVED, FACTS, EXPERIMENT, FOUND)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{theorem}", r"$\operatorname{Var}(2 q\cdot k) = 4 d_k$"),
        ("{theorem:subject}", r"$\operatorname{Var}(2 q\cdot k)$"),
        ("{theorem:result}", "$4 d_k$"),
        ("{mean}", r"$\mathbb{E}[q\cdot k] = 0$"),
        ("{root:result}", "$\\sqrt{d_k}$"),
        ("{share}, {share:2}, {share:3%}", r"$\frac{1}{8}$, 0.12, 12.5%"),
        ("{variance-d8:prediction}, {variance-d8:prediction.2}", "$32$, 32"),
        ("{variance-d8:d_k} or {variance-d8:d_k=}", "8 or $d_k = 8$"),
        ("{tightest:ratio.2}", "0.75"),
        ("{score}, {d_k}, {root_d}", r"$q\cdot k$, $d_k$, $\sqrt{d_k}$"),
        (r"1/2 of {square}, at most $\sqrt{d_k}$ {d_k}", r"1/2 of $d_k^2$, at most $\sqrt{d_k}$ $d_k$"),
    ],
)
def test_slots_are_filled(text: str, filled: str) -> None:
    """By theorems, facts, checks, settings and symbols; braces in typed formulas are LaTeX’s."""
    assert WORDS.fill("meaning", text) == filled


@pytest.mark.parametrize(
    ("estimate", "error", "form", "filled"),
    [
        (1.4365, 0.031, "estimate", "1.4"),
        (1.4365, 0.031, "estimate.3", "1.4"),
        (1.4365, 0.031, "estimate.1", "1"),
        (1.4365, 0.031, "estimate±", "1.436\u00a0±\u00a00.031"),
        (1.4365, 0.031, "ratio", "0.7"),
        (1.4365, 0.031, "ratio±%", "(71.8\u00a0±\u00a01.6)%"),
        (1.4365, 0.031, "interval", "[1.281,\u00a01.598]"),
        (1.4365, 0.031, "interval.2", "[1.2,\u00a01.6]"),
        (0.38688, 0.0027, "estimate.3", "0.39"),
        (0.38688, 0.0027, "estimate.3%", "39%"),
        (0.99921, 0.00017, "estimate.4%", "99.9%"),
        (4 / 9, 0.0, "estimate.3", "0.444"),
        (0.0004, 0.002, "estimate.2", "0.00"),
    ],
)
def test_no_digit_is_printed_that_the_error_does_not_support(
    estimate: float, error: float, form: str, filled: str
) -> None:
    """The number of digits is the most; beside its error, and in its interval, a value has more."""
    words = replace(WORDS, checks=(check("variance-d8", estimate, 2.0, error=error),))
    assert words.fill("meaning", f"{{variance-d8:{form}}}") == filled


@pytest.mark.parametrize(
    ("where", "text", "message"),
    [
        ("statement", "{therem}", "{therem}: no slot 'therem'; did you mean 'theorem'?"),
        ("statement", "{theorem:reslt}", "{theorem:reslt}: no side 'reslt'; did you mean 'result'?"),
        ("meaning", "{square:2}", "{square:2}: a symbol has no forms; leave the colon out"),
        (
            "meaning",
            "{share:digits}",
            "{share:digits}: it has no form 'digits'; give a number of digits, such as :3, or nothing",
        ),
        (
            "meaning",
            "{variance-d8:estimat}",
            "{variance-d8:estimat}: no form 'estimat'; did you mean 'estimate'?",
        ),
        (
            "meaning",
            "{variance-d64:ratio}",
            "{variance-d64:ratio}: its prediction is 0, so there is no ratio; take the estimate",
        ),
        ("control squared", "{cell:d}", "{cell:d}: no setting 'd'; did you mean 'd_k'?"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(where: str, text: str, message: str) -> None:
    """With the nearest there is, or what to do."""
    with pytest.raises(ClaimError) as refused:
        WORDS.fill(where, text, CONTROL.comparison)
    assert str(refused.value) == f"claim mine: its {where} has {message}"


def test_a_control_speaks_of_its_own_cell() -> None:
    """And of what it claims."""
    said, at64 = WORDS.spoken(EXPERIMENT).controls
    assert said.what == "it is $d_k^2$, here $64$"
    assert at64.what == "the value at $d_{k}$\u00a0=\u00a064 is larger by twice the tolerance"
    own = WORDS.fill("control", "{cell:d_k=} and {query} and {d_k}, {value:2}", CONTROL.comparison)
    assert own == "$d_k = 8$ and normal and $d_k$, 64"


def test_a_figure_is_filled_everywhere() -> None:
    """A mistake in one of its texts is named by its place."""
    drawn = figure(
        "f", "{theorem}", "Of {share:1} to {mean:result}", "over {score}",
        line("derived {square}", d, over=(1, 2)), scatter("at {variance-d8:d_k}", (1, 2), (1, 2)),
    )  # fmt: skip
    filled = WORDS.drawn(drawn)
    assert (filled.title, filled.alt) == (r"$\operatorname{Var}(2 q\cdot k) = 4 d_k$", "Of 0.1 to 0")
    assert (filled.x.label, filled.y.label) == ("dimension $d_k$", r"over $q\cdot k$")
    assert [one.label for one in filled.layers] == ["derived $d_k^2$: $d_{k}$", "at 8"]
    with pytest.raises(ClaimError, match=r"claim mine: its figure f, alt has \{odds\}: no slot 'odds'"):
        WORDS.drawn(drawn.model_copy(update={"alt": "It is {odds}."}))


def test_what_is_not_measured_yet_is_said_to_be() -> None:
    """Before a run, and where a derivation failed; what a title names has to be known before."""
    text = "{variance-d8:estimate}, {variance-d8:d_k}"
    assert replace(WORDS, checks=()).fill("meaning", text) == "(measured in a run), 8"
    assert Words(claim(), DERIVED).fill("meaning", text) == "(not computed), (not computed)"
    made = replace(WORDS, experiment=lambda: EXPERIMENT, checks=())
    assert made.fill("meaning", text) == "(measured in a run), 8"
    with pytest.raises(ClaimError, match=r"its title has \{share\}: no slot 'share'"):
        replace(WORDS, claim=claim(title="{share}")).said()


def test_a_title_is_filled_without_a_run() -> None:
    """From the theorem and from symbols."""
    named = claim(title="Scores have {theorem:result}", derive=lambda: DERIVED)
    assert titled(named) == "Scores have $4 d_k$"
    assert titled(claim()) == "Scores grow"
    assert replace(WORDS, claim=named).said()["title"] == titled(named)


def test_a_notation_is_explained_beside_the_assumptions() -> None:
    """Where the theorem has its expression; it is printed as it is written, with the brackets it needs."""
    own = claim(symbols={"own": Notation(r"x\cdot y", score)})
    theorem = DERIVED.theorem()
    assert theorem
    assert assumed(own, theorem)[-1].startswith(r"$x\cdot y$ is written for $\sum")
    assert replace(WORDS, claim=own).fill("meaning", "{own}, {theorem:subject}") == (
        r"$x\cdot y$, $\operatorname{Var}(2 x\cdot y)$"
    )


def test_a_lemma_may_be_a_bound() -> None:
    """The relation is that of the whole chain."""
    bound = one_step("b", E(score), 2 * d, "r", by("read")(lambda *_: True), name="b")
    bound = replace(bound, steps=(replace(bound.steps[0], relation="≤"),))
    derived = replace(DERIVED, lemmas=(bound,))
    words = replace(WORDS, derivation=derived)
    assert words.fill("meaning", "{b}") == r"$\mathbb{E}[q\cdot k] \le 2 d_k$"


c, s = ordered("c", positive=True), ordered("s", real=True)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Var(score), r"\operatorname{Var}(q\cdot k)"),
        (Var(2 * score), r"\operatorname{Var}(2 q\cdot k)"),
        (Var(score / sqrt(d)), r"\operatorname{Var}(q\cdot k/\sqrt{d_k})"),
        (E(score**4), r"\mathbb{E}[(q\cdot k)^4]"),
        (E(score.subs(q, k)), r"\mathbb{E}[|k|^2]"),
        (3 - 2 / d, r"3 - 2/d_k"),
        (3 - c / (2 * s), r"3 - c/(2 s)"),
        (c * tanh(s / c), r"c \tanh(s/c)"),
        (
            c * (1 - Sum(IndexedBase("q")[Idx("i")], (Idx("i"), 1, d))) ** 2,
            r"c \left(1 - \sum_{i=1}^{d_k} q_i\right)^2",
        ),
        (E(Abs(score)), r"\mathbb{E}[|q\cdot k|]"),
        (d**12, r"d_k^{12}"),
        (1 / score, r"1/(q\cdot k)"),
        (c / score, r"c/(q\cdot k)"),
    ],
)
def test_expressions_fit_into_a_line(expression: Expr, text: str) -> None:
    """The score is q·k, short fractions have a stroke, and brackets the usual size."""
    assert in_line(expression) == text
