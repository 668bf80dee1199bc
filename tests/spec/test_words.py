"""The words of a claim: filled from what is derived or found; what may be typed in them, how it reads."""

import re
import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy import (
    Abs, Eq, Expr, Function, Idx, IndexedBase, MatrixSymbol, NumberSymbol, S, Sum, Symbol, sqrt, tanh,
)  # fmt: skip

from tests.report.builders import check
from verify.errors import ClaimError
from verify.evidence import Assumption
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import variance
from verify.montecarlo.experiment import Experiment, Quantity
from verify.montecarlo.inputs import Simulated
from verify.montecarlo.statistics import ScoreMoments
from verify.spec.cells import cell_of, score_cell
from verify.spec.checks import biased, fact, prediction, variances, wrong
from verify.spec.claim import Claim
from verify.spec.figures import figure, line, scatter
from verify.spec.notation import Notation, in_line, printed, refuse_typed, refuse_values
from verify.spec.words import Words, titled
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
        ("{variance-d8:estimate}", "31.92"),
        ("{variance-d8:estimate.2}", "32"),
        ("{variance-d8:ratio}", "0.9976"),
        ("{variance-d8:ratio.2%}", "100%"),
        ("{variance-d8:prediction.2}", "32"),
        ("{variance-d8:d_k} or {variance-d8:d_k=}", "8 or $d_k = 8$"),
        ("{tightest:ratio.2}", "0.75"),
        ("{score}, {d_k}, {root_d}", r"$q\cdot k$, $d_k$, $\sqrt{d_k}$"),
        ("{square} of two keys in bfloat16", "$d_k^2$ of two keys in bfloat16"),
    ],
)
def test_slots_are_filled(text: str, filled: str) -> None:
    """By theorems, facts, checks and settings, and by symbols."""
    assert WORDS.fill("meaning", text) == filled


def test_an_interval_is_printed_as_everywhere() -> None:
    """Rounded outwards, to the digit that the error allows."""
    assert WORDS.fill("meaning", "{variance-d8:interval}").startswith("[")


@pytest.mark.parametrize(
    ("where", "text", "message"),
    [
        ("statement", "{therem}", "{therem}: no slot 'therem'; did you mean 'theorem'?"),
        ("statement", "{theorem:reslt}", "{theorem:reslt}: no side 'reslt'; did you mean 'result'?"),
        (
            "statement",
            "{theorem:subject} is {odd}",
            "{odd}: it occurs nowhere in the derivation; state what is derived, such as {theorem}",
        ),
        ("meaning", "{square:2}", "{square:2}: a symbol has no forms; leave the colon out"),
        (
            "meaning",
            "{share:digits}",
            "{share:digits}: a fact has no form 'digits'; give a number of digits, such as :3, or nothing",
        ),
        (
            "meaning",
            "{variance-d8:estimat}",
            "{variance-d8:estimat}: no form 'estimat'; did you mean 'estimate'?",
        ),
        ("meaning", "half of {root}", "{root}: “half of” is no part of what is derived; derive it"),
        (
            "meaning",
            "less than {theorem:result}",
            "{theorem:result}: “less than” is not what is derived, which has =",
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
    """And of what it claims; what the tool prints of a control stays as it is."""
    said, at64 = WORDS.spoken(EXPERIMENT).controls
    assert said.what == "it is $d_k^2$, here $64$"
    assert at64.what == "the value at $d_{k}$\u00a0=\u00a064 is larger by twice the tolerance"
    own = WORDS.fill("control", "{cell:d_k=} and {query} and {d_k}, {value:2}", CONTROL.comparison)
    assert own == "$d_k = 8$ and normal and $d_k$, 64"


def test_a_figure_is_filled_everywhere() -> None:
    """Its formulas from expressions stay; a typed one is refused, by its place."""
    drawn = figure(
        "f", "{theorem}", "Of {share:1} to {mean:result}", "over {score}",
        line("derived {square}", d, over=(1, 2)), scatter("at {variance-d8:d_k}", (1, 2), (1, 2)),
    )  # fmt: skip
    filled = WORDS.drawn(drawn)
    assert (filled.title, filled.alt) == (r"$\operatorname{Var}(2 q\cdot k) = 4 d_k$", "Of 0.1 to 0")
    assert (filled.x.label, filled.y.label) == ("dimension $d_k$", r"over $q\cdot k$")
    assert [one.label for one in filled.layers] == ["derived $d_k^2$: $d_{k}$", "at 8"]
    typed = drawn.model_copy(update={"alt": "It is 3."})
    with pytest.raises(ClaimError, match=r"claim mine: its figure f, alt types “3\.”; put a slot there"):
        WORDS.drawn(typed)


def test_what_is_not_measured_yet_is_said_to_be() -> None:
    """Before a run, and where a derivation failed; what a title names has to be known before."""
    text = "{variance-d8:estimate}, {variance-d8:d_k}"
    assert WORDS.found(()).fill("meaning", text) == "(measured in a run), 8"
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


def test_the_hole_is_closed() -> None:
    """A claim of the user's own that types another formula than it derives is refused where it is loaded."""
    typed = claim(statement=r"It is $\operatorname{Var}(2 q\cdot k) = 3d_k$.", derive=lambda: DERIVED,
                  experiment=lambda: EXPERIMENT)  # fmt: skip
    with pytest.raises(ClaimError) as refused:
        typed.placed("mine", "user", {})
    assert str(refused.value) == (
        r"claim mine: its statement types “$\operatorname{Var}(2 q\cdot k) = 3d_k$”; put a slot there, such "
        "as {theorem}, or a fact, check or symbol by its name"
    )


def test_a_lemma_may_be_a_bound() -> None:
    """The relation is that of the whole chain."""
    bound = one_step("b", E(score), 2 * d, "r", by("read")(lambda *_: True), name="b")
    bound = replace(bound, steps=(replace(bound.steps[0], relation="≤"),))
    derived = replace(DERIVED, lemmas=(bound,))
    words = replace(WORDS, derivation=derived)
    assert words.fill("meaning", "{b}") == r"$\mathbb{E}[q\cdot k] \le 2 d_k$"
    assert words.fill("meaning", "at most {b:result}") == "at most $2 d_k$"
    with pytest.raises(ClaimError, match="“at least” is not what is derived, which has ≤"):
        words.fill("meaning", "at least {b:result}")


SIGNS = "=<>≤≥≈~∼≠≡≪⇒→∝$\\^{}+0123456789²½Ⅳ٣"
TYPED = st.text(string.ascii_letters + " ,.;:·ᵀ'“”-%()/äö")
SLOTS = st.sampled_from(("{theorem}", "{exact-variance-d64:3}", printed("$d_k = 64$")))


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (r"For any law, $\operatorname{Var} = 3d_k$.", r"$\operatorname{Var} = 3d_k$"),
        ("components with mean 0 and more", "0"),
        ("the variance is 3d, always", "3d,"),
        ("variance = d", "="),
        ("a cap of {c} takes d² of it", "d²"),
        ("at most ½ of {c}2", "½"),
        ("{bits}2 of them", "{bits}2"),
        ("an open $d", "$d"),
        ("it is \u268c twelve", "\u268c"),
        ("a brace { alone", "{"),
        ("an empty slot {}", "{}"),
        ("about 2e3 or GPT-2", "2e3"),
    ],
)
def test_what_is_typed_is_refused_in_one_line(text: str, piece: str) -> None:
    """The line quotes the formula or the word, and says what to put there."""
    with pytest.raises(ClaimError) as refused:
        refuse_typed("mine", "statement", text)
    assert str(refused.value) == (
        f"claim mine: its statement types “{piece}”; put a slot there, such as {{theorem}}, or a fact, check "
        "or symbol by its name"
    )


BESIDE = (
    "{t}{d_k}", "{t}/{d_k}", "{d_k}({root_d}) for all", "{t} {d_k}", "({t}) ({d_k})", "-{t}", "– {t}",
    "{t} - {d_k}", "{t} * {d_k}", "{t} · {d_k}", "{t} x {d_k}", "d{t}", "n {t}", "{t} n", "{t}-d", "{t}ⁿ",
    "{t}!", "{t}'", "{t}%", "{t}(n)", "{t}\u0338", "\u202e{t}", "\u200b{t}", "‹ {t}", "{t}_n",
)  # fmt: skip


@pytest.mark.parametrize("text", BESIDE)
def test_a_slot_is_no_part_of_a_formula(text: str) -> None:
    """Beside it stand words and punctuation alone."""
    with pytest.raises(ClaimError, match=r"its statement (reads as a formula|types) "):
        refuse_typed("mine", "statement", f"It is {text.replace('t}', 'theorem}')}.")


@pytest.mark.parametrize(
    "text",
    [
        "Two keys halve it, and four make it a quarter.",
        "bfloat16, float32 and E4M3 round q·k",
        "{theorem} for {d_k}, of QKᵀ",
        "“{theorem}”, a row's {d_k} (of {q}); {k}: {root_d}-fold",
        f"the value at {printed('$d_k = 64$')}",
    ],
)
def test_words_names_and_slots_pass(text: str) -> None:
    """A digit within a name is none of a number, and what the tool prints is not typed."""
    refuse_typed("mine", "statement", text)


@given(TYPED, SLOTS, st.sampled_from(SIGNS), SLOTS, TYPED)
def test_no_number_and_no_relation_ever_passes(
    before: str, slot: str, sign: str, other: str, after: str
) -> None:
    """Whatever words and slots stand around it, unless a digit goes on with a name."""
    refuse_typed("mine", "meaning", f"of {slot}, and {other} are {before}")
    for text in (f"{before} {sign}{after}", f"{slot}{sign}{other}{before}", f"{before}{slot}{sign} {after}"):
        with pytest.raises(ClaimError, match="its meaning types"):
            refuse_typed("mine", "meaning", text)


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


@pytest.mark.parametrize(
    ("latex", "expression", "wrong"),
    [
        (r"S = d_k", Var(score), "the relation ="),
        (r"S \leq d_k", Var(score), r"the relation \leq"),
        (r"S \to d_k", Var(score), r"the relation \to"),
        ("1.5 d_k", d, "the decimal 1.5"),
        ("3d_k", 4 * d, "other numbers than its expression"),
        ("d_k", 4 * d, "other numbers than its expression"),
        ("d_k", d**2, "a name of a symbol"),
        ("$d_k$", d, "a dollar sign"),
    ],
)
def test_a_notation_is_what_an_expression_is_called(latex: str, expression: Any, wrong: str) -> None:
    """And says nothing else of it."""
    with pytest.raises(ClaimError) as refused:
        Notation(latex, expression)
    text = f"notation {latex!r} holds {wrong}; write what the expression alone is called"
    assert str(refused.value) == text


@pytest.mark.parametrize(
    "latex",
    [
        "-d_k", "d_k + d_k",
        "half d_k", r"\text{half of }d_k", r"\operatorname{half} d_k", r"\neg d_k", r"\pm d_k",
        "½ d_k", "d_k!", r"d_k\%", r"\mathrel{d_k}", ": d_k", r"\cancel{d_k}",
    ],
)  # fmt: skip
def test_a_notation_has_no_words_and_no_sign_of_its_own(latex: str) -> None:
    """Only what is written for products, roots, powers and lengths."""
    with pytest.raises(ClaimError, match="which is no sign of a product, a root, a power or a length"):
        Notation(latex, d)


def test_a_notation_stands_where_it_is_explained() -> None:
    """A statement has none that no theorem has, for only beside theorems it is said what it is."""
    (step,) = {one for one in DERIVED.routes[0].steps[2].expression.atoms(E) if str(one) == "E(q[i])"}
    own = claim(statement="{theorem}, or {own}.", symbols={"own": Notation(r"d_k\cdot d_k", step)})
    with pytest.raises(ClaimError, match=r"\{own\}: it occurs nowhere in the derivation"):
        replace(WORDS, claim=own).said()


class _Liar(Symbol):  # type: ignore[misc]  # SymPy has no types
    def _latex(self, _printer: Any) -> str:
        return "2 d_k"


class _Three(NumberSymbol):  # type: ignore[misc]  # SymPy has no types
    def __float__(self) -> float:
        return 3.0

    def _latex(self, _printer: Any) -> str:
        return r"\operatorname{two}"


def test_what_prints_itself_is_refused() -> None:
    """As a symbol, a prediction, a fact and a line."""
    with pytest.raises(ClaimError, match="_Liar is no word of the kernel"):
        refuse_values("", {"own": _Liar("x")})
    for made in (prediction, lambda value: fact("own", "a fact", value)):
        with pytest.raises(ClaimError, match="_Three is no word of the kernel"):
            made(_Three())
    with pytest.raises(ClaimError, match="_Three is no word of the kernel"):
        line("a line", d * _Three())


@pytest.mark.parametrize(
    ("settings", "slot", "message"),
    [
        ({"note": "$= 3 d_k$"}, "{at:note}", "the setting 'note' is '$= 3 d_k$', which is a formula"),
        ({"3 d_k": 7}, "{at:3 d_k=}", "3 d_k is no name of a symbol"),
    ],
)
def test_a_setting_is_no_formula(settings: dict[str, Any], slot: str, message: str) -> None:
    """Neither in its name nor in its value."""
    cell = cell_of("at", Simulated(NORMAL, NORMAL, 4, 4, 8), ScoreMoments(), **settings)
    one = Quantity("at", "a variance", cell, variance(), prediction(d.subs(d, 8)))
    words = replace(WORDS, experiment=Experiment((one,), ()), checks=())
    with pytest.raises(ClaimError, match=re.escape(message)):
        words.fill("meaning", f"It is {slot}.")


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        (
            "four",
            S(4),
            "4: it is no expression with symbols in it; take numbers from facts, checks or settings",
        ),
        ("four", 4, "4: it is no expression with symbols in it; take numbers from facts, checks or settings"),
        ("law", Eq(c, d), "Eq(c, d_k): it is a relation; take it from a theorem"),
        (
            "double",
            Symbol("2d_k"),
            "2d_k: 2d_k is no name of a symbol; name it by a letter, with an index or an accent",
        ),
        (
            "double",
            MatrixSymbol("2d_k", 1, 1)[0, 0],
            "2d_k[0, 0]: 2d_k is no name of a symbol; name it by a letter, with an index or an accent",
        ),
        (
            "double",
            Function("2d_k")(c),
            "2d_k(c): 2d_k is no name of a symbol; name it by a letter, with an index or an accent",
        ),
        ("theorem", d, "d_k: that name means something else; choose another"),
        ("my-d", d, "d_k: that name means something else; choose another"),
    ],
)
def test_a_symbol_is_no_number_and_no_relation(name: str, value: object, wrong: str) -> None:
    """Each is refused in one line."""
    with pytest.raises(ClaimError) as refused:
        refuse_values("claim mine: ", {name: value})
    assert str(refused.value) == f"claim mine: symbol {name!r} is {wrong}"


def test_symbols_and_definitions_pass() -> None:
    """Wrong versions, too."""
    refuse_values("", {"cap": c, "square": d**2, "score": Notation(r"q\cdot k", score)})
