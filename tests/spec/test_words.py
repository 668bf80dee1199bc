"""The words of a claim: slots, filled from what is derived and measured."""

from dataclasses import replace
from typing import Any

import pytest

from tests.report.builders import check
from verify.errors import ClaimError
from verify.spec import STANDARD, Chain, Check, Claim, Derivation, E, Threshold, Var, Wrong, algebra, d, fact
from verify.spec import figures, moments, score
from verify.spec.checks import Items
from verify.spec.claim import Words

CHECKS = (
    check("variance-d8", 31.923, 32.0, error=0.11, cell={"d_k": 8}),
    check("variance-d64", 0.1, 0.0, error=0.11, cell={"d_k": 64}),
    check("loose", 1.0, 4.0, relation="≤"),
    check("tight", 3.0, 4.0, relation="≤"),
)


def derive() -> tuple[Chain, ...]:
    """Derive a variance, a mean, and a bound."""
    why, bound = ("moments of the components", moments(STANDARD)), Chain(Var(score), name="bound")
    return (
        Chain(Var(2 * score)).then(4 * d, *why),
        Chain(E(score), name="mean").then(0, *why),
        bound.through((d, *why), (2 * d, "it is twice as large", algebra, "≤")),
    )


def experiment(derived: Derivation) -> Items:
    """Measure the variance in two dimensions."""
    for size in (8, 64):
        yield Check(f"variance-d{size}", derived.start, {d: size}, equals=derived.end)
    for name in ("loose", "tight"):
        yield Check(name, derived["bound"].start, {d: 2}, at_most=derived["bound"].end)
    yield fact("share", "a share", d.subs(d, 8) ** -1)
    yield Wrong("squared", derived.start, {d: 8}, equals=d**2, says="it is {square}, here {value}")
    yield Wrong("little", derived.start, {d: 64}, at_most=Threshold(9), says="at most {value} at {cell:d_k=}")


def claim(**changes: Any) -> Claim:
    """Return a claim, changed so."""
    words: dict[str, Any] = {"title": "Scores grow", "statement": "{main}.", "meaning": "Much."}
    functions = {"derive": derive, "experiment": experiment, "symbols": {"square": d**2}}
    return Claim(id="mine", **(words | functions | changes))


MINE = claim()
DERIVED = MINE.derived()
EXPERIMENT = MINE.measured_by(DERIVED, 0.05)
WORDS = Words(MINE, DERIVED, MINE.exact_values(DERIVED), EXPERIMENT, CHECKS)
CONTROLS = {control.comparison.id: control for control in EXPERIMENT.controls}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{main}", r"$\operatorname{Var}(2 q\cdot k) = 4 d_k$"),
        ("{main:start} and {main:end}", r"$\operatorname{Var}(2 q\cdot k)$ and $4 d_k$"),
        ("{mean}", r"$\mathbb{E}[q\cdot k] = 0$"),
        ("{bound}, {bound:end}", r"$\operatorname{Var}(q\cdot k) \le 2 d_k$, $2 d_k$"),
        ("{share}, {share:2}, {share:3%}", r"$\frac{1}{8}$, 0.12, 12.5%"),
        ("{variance-d8:estimate}, {variance-d8:estimate.1}", "32, 30"),
        ("{variance-d8:prediction}, {variance-d8:prediction.2}", "$32$, 32"),
        ("{variance-d8:d_k} or {variance-d8:d_k=}", "8 or $d_k = 8$"),
        ("{score}, {scaled_score}", r"$q\cdot k$, $q\cdot k/\sqrt{d_k}$"),
        (r"1/2 of {square}, at most $\sqrt{d_k}$ {d_k}", r"1/2 of $d_k^2$, at most $\sqrt{d_k}$ $d_k$"),
    ],
)
def test_slots_are_filled(text: str, filled: str) -> None:
    """By chains, facts, checks, settings and symbols; braces in typed formulas are LaTeX's."""
    assert WORDS.fill("meaning", text) == filled


@pytest.mark.parametrize(
    ("estimate", "error", "form", "filled"),
    [
        (1.4365, 0.031, "estimate", "1.4"),
        (1.4365, 0.031, "estimate.3", "1.4"),
        (1.4365, 0.031, "estimate.1", "1"),
        (1.4365, 0.031, "estimate±", "1.436\u00a0±\u00a00.031"),
        (0.38688, 0.0027, "estimate.3%", "39%"),
        (0.99921, 0.00017, "estimate.4%", "99.9%"),
        (4 / 9, 0.0, "estimate.3", "0.444"),
        (0.0004, 0.002, "estimate.2", "0.00"),
    ],
)
def test_no_digit_is_printed_that_the_error_does_not_support(
    estimate: float, error: float, form: str, filled: str
) -> None:
    """The number of digits is the most; beside its error a value has more."""
    words = replace(WORDS, checks=(check("variance-d8", estimate, 2.0, error=error),))
    assert words.fill("meaning", f"{{variance-d8:{form}}}") == filled


@pytest.mark.parametrize(
    ("where", "text", "message"),
    [
        ("statement", "{sqare}", "no slot 'sqare'; did you mean 'square'?"),
        ("statement", "{main:strat}", "no side 'strat'; did you mean 'start'?"),
        ("meaning", "{square:2}", "a symbol has no forms; leave the colon out"),
        ("meaning", "{share:two}", "it has no form 'two'; give a number of digits, such as :3, or nothing"),
        ("meaning", "{variance-d8:estimat}", "no form 'estimat'; did you mean 'estimate'?"),
        ("control squared", "{cell:d}", "no setting 'd'; did you mean 'd_k'?"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(where: str, text: str, message: str) -> None:
    """With the nearest there is, or what to do."""
    with pytest.raises(ClaimError) as refused:
        WORDS.fill(where, text, CONTROLS["squared"].comparison)
    assert str(refused.value) == f"claim mine: its {where} has {text}: {message}"


def test_a_control_speaks_of_its_own_cell() -> None:
    """And of what it claims."""
    said = {control.comparison.id: control.what for control in WORDS.spoken(EXPERIMENT).controls}
    assert said["squared"] == "it is $d_k^2$, here $64$"
    assert said["little"] == "at most $9$ at $d_k = 64$"
    own = WORDS.fill("control", "{cell:d_k=} and {d_k}, {value:2}", CONTROLS["squared"].comparison)
    assert own == "$d_k = 8$ and $d_k$, 64"


def test_a_figure_is_filled_everywhere() -> None:
    """A mistake in one of its texts is named by its place."""
    layers = (
        figures.layer("line", "derived {square}", (1, 2), (1, 2), "truth"),
        figures.layer("line", "at {variance-d8:d_k}", (1, 2), (1, 2), "truth"),
    )
    drawn = figures.figure("f", "{main}", *layers, x=d, y="over {score}")
    filled = WORDS.drawn(drawn)
    assert filled.title == r"$\operatorname{Var}(2 q\cdot k) = 4 d_k$"
    assert filled.alt.startswith("Over q·k, against dimension ")
    assert [layer.label for layer in filled.layers] == ["derived $d_k^2$", "at 8"]
    with pytest.raises(ClaimError, match=r"claim mine: its figure f, title has \{odds\}: no slot 'odds'"):
        WORDS.drawn(drawn.model_copy(update={"title": "It is {odds}."}))


def test_what_is_not_measured_yet_is_said_to_be() -> None:
    """Before a run, and where a derivation failed; an experiment may be made when a slot asks for it."""
    text = "{variance-d8:estimate}, {variance-d8:d_k}"
    assert replace(WORDS, checks=()).fill("meaning", text) == "(measured in a run), 8"
    assert Words(MINE, DERIVED).fill("meaning", text) == "(not computed), (not computed)"
    made = replace(WORDS, experiment=lambda: EXPERIMENT, checks=())
    assert made.fill("meaning", text) == "(measured in a run), 8"


def test_a_title_is_filled_without_a_run() -> None:
    """From chains and symbols; what only a run knows is refused."""
    named = claim(title="Scores have {main:end}")
    assert Words(named, DERIVED, ()).fill("title", named.title) == "Scores have $4 d_k$"
    assert replace(WORDS, claim=named).texts()["title"] == "Scores have $4 d_k$"
    with pytest.raises(ClaimError, match=r"its title has \{share\}: no slot 'share'"):
        replace(WORDS, claim=claim(title="{share}")).texts()
