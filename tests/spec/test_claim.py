"""A claim: what it refuses, what its functions are given, and what is made of what they return."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sympy import Symbol

from tests.report.builders import check
from verify.errors import ClaimError
from verify.spec import STANDARD, Chain, Check, Claim, Derivation, Figure, Findings, Fit, Line, Plot, Var
from verify.spec import algebra, d, fact, figures, moments, score
from verify.spec.checks import Items
from verify.spec.claim import Words

SIZES = (2, 64)
CHECKS = {
    f"variance-d{size}": check(f"variance-d{size}", size + 0.5, float(size), error=0.1, cell={"d_k": size})
    for size in reversed(SIZES)
}
FINDINGS = Findings(CHECKS | {"slope": check("slope", 1.0, 1.0)}, {})


def derive() -> Chain:
    """Derive the variance of a score."""
    return Chain(Var(score), Line(d, "moments of the components", moments(STANDARD)))


def experiment(derived: Derivation) -> Items:
    """Measure it in two dimensions, and give one exact value."""
    for size in SIZES:
        yield Check(f"variance-d{size}", derived.start, {d: size}, equals=derived.end)
    yield fact("at-64", "the variance at 64", derived.end.subs(d, 64))


def claim(**changes: Any) -> Claim:
    """Return a claim with some things changed."""
    words = {"id": "two-keys", "title": "title", "statement": "statement", "meaning": "meaning"}
    return Claim(**{**words, "derive": derive, "experiment": experiment, **changes})


def yielding(*items: Any) -> Callable[..., Any]:
    """Return an experiment that yields these."""

    def experiment() -> Any:
        yield from items

    return experiment


@pytest.mark.parametrize("name", ["Two Keys", "two_keys", "-two", "two-", "zwölf"])
def test_what_is_no_slug_is_no_id(name: str) -> None:
    """The id is named, and what one looks like."""
    with pytest.raises(ClaimError) as caught:
        claim(id=name)
    assert str(caught.value) == f"claim id {name!r}: use lower-case words joined by hyphens"


@pytest.mark.parametrize("name", ["title", "statement", "meaning"])
def test_an_empty_text_is_refused(name: str) -> None:
    """By the claim's id, where it has one."""
    for known, start, text in (("", "Claim", ""), ("two-keys", "claim two-keys", " \n")):
        with pytest.raises(ClaimError) as caught:
            claim(id=known, **{name: text}).placed("", "scaling", {})
        assert str(caught.value) == f"{start}: its {name} is empty; write one"


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        ("derive", lambda derived: derived, "derive takes 'derived'; it may take nothing"),
        (
            "experiment",
            lambda derivation: derivation,
            "experiment takes 'derivation'; did you mean 'derived'? it may take derived and tolerance",
        ),
        ("figures", lambda checks: checks, "figures takes 'checks'; it may take derived and findings"),
        ("figures", figures, "figures is not a function; make it one"),
    ],
)
def test_one_that_wants_something_else_is_refused(function: str, given: Any, message: str) -> None:
    """With all that it may take."""
    with pytest.raises(ClaimError) as caught:
        claim(**{function: given})
    assert str(caught.value) == f"claim two-keys: {message}"


def test_what_a_file_defines_is_found_by_its_name() -> None:
    """What the claim names itself comes first, and a module of that name is no function."""
    bare = claim(id="", derive=derive, experiment=yielding()).placed(
        "from-file", "scaling", {"derive": lambda: None, "experiment": experiment, "figures": figures}
    )
    assert (bare.id, bare.chapter, bare.derived().end) == ("from-file", "scaling", d)
    assert bare.items(bare.derived(), 0.05) == ()
    file = {"__doc__": "It grows.\n\nFast.", "derive": derive, "experiment": experiment, "SQUARE": d**2}
    plain, titled = (Claim(title=title, statement="s {SQUARE}", meaning="m") for title in ("", "t"))
    titles = [claim.placed("from-file", "scaling", file).title for claim in (plain, titled)]
    assert titles == ["It grows", "t"]
    placed = plain.placed("from-file", "scaling", file)
    assert (placed.derived().end, len(placed.items(placed.derived(), 0.05))) == (d, len(SIZES) + 1)
    assert Words(placed, placed.derived()).texts()["statement"] == "s $d_k^2$"


@pytest.mark.parametrize("returned", [None, d, (), (derive(), d)])
def test_what_is_no_chain_is_refused(returned: Any) -> None:
    """Named as such, not as what is then missing of it."""
    with pytest.raises(ClaimError) as caught:
        claim(derive=lambda: returned).derived()
    says = "its derive returns no chain; end it with return Chain(start).then(…)"
    assert str(caught.value) == f"claim two-keys: {says}"


def test_a_chain_that_is_not_there_is_refused() -> None:
    """With the nearest that is."""
    other = Chain(2 * score, Line(score + score, "twice", algebra), name="kurtosis")
    derived = claim(derive=lambda: (derive(), other)).derived()
    assert (derived.start, derived["kurtosis"].start) == (Var(score), 2 * score)
    with pytest.raises(ClaimError, match="no chain 'kurtosys'; did you mean 'kurtosis'"):
        derived["kurtosys"]
    with pytest.raises(ClaimError, match="nothing is derived for the claim itself; name a chain"):
        _ = Derivation((), "it is measured").end


def test_something_else_is_refused() -> None:
    """By its kind, also where it is returned, not yielded, and where nothing is."""
    for wanting in (yielding(Check("x", Var(score), {d: 2}, equals=d), d), lambda: [d], lambda: d):
        with pytest.raises(ClaimError) as caught:
            claim(experiment=wanting).items(Derivation((), "nothing"), 0.05)
        says = "its experiment yields Symbol; yield Check, Fit, Wrong, Computed, fact(…) or Plot"
        assert str(caught.value) == f"claim two-keys: {says}"
    with pytest.raises(ClaimError, match="its experiment yields NoneType; yield Check"):
        claim(experiment=lambda: None).items(Derivation((), "nothing"), 0.05)
    # What does not fit is the claim's mistake, too.
    item = Fit("y*", over=d, law=d)
    with pytest.raises(ClaimError, match=r"^claim two-keys: fit over 'y\*': 0 checks match"):
        claim(experiment=yielding(item)).measured_by(claim().derived(), 0.05)


def test_checks_are_found_by_a_pattern_of_their_ids() -> None:
    """The pattern stands for whole ids, and one that finds nothing is an error."""
    assert FINDINGS.matching("variance-d*") == tuple(CHECKS.values())
    with pytest.raises(ClaimError, match=r"no check's id matches 'var'; the checks are variance-d64"):
        FINDINGS.matching("var")


PLOT = Plot("growth", "variance-d*", d, curves={"derived": d}, wrong={"root": d**0.5})


def drawn(*items: Any, **more: Any) -> tuple[Figure, ...]:
    """Return the figures of an experiment with these items besides its checks."""

    def with_more(derived: Derivation) -> Items:
        yield from experiment(derived)
        yield from items

    own = claim(experiment=with_more, **more)
    return own.drawn(own.derived(), FINDINGS)


def test_a_plot_has_points_and_curves() -> None:
    """Points in the order of their places, curves from the first to the last."""
    (figure,) = drawn(PLOT)
    points, line, root = figure.layers
    assert [layer.role for layer in figure.layers] == ["measured", "truth", "control"]
    assert [layer.label for layer in figure.layers] == ["measured", "derived", "root"]
    assert (points.x, points.y) == ((2.0, 64.0), (2.5, 64.5))
    assert (line.x[0], line.x[-1]) == pytest.approx(SIZES)
    assert line.y == pytest.approx(line.x)
    assert (root.y[0], root.y[-1]) == pytest.approx((2**0.5, 8))
    assert (figure.x.label, figure.y.label) == ("dimension $d_k$", CHECKS["variance-d2"].quantity)
    (own,) = drawn(replace(PLOT, title="It grows"))
    assert (figure.title, own.title) == ("title", "It grows")


def test_a_plot_tells_kinds_apart_and_shows_values_otherwise() -> None:
    """A line joins what checks are compared with; curves may have ends of their own, or the plot's."""
    plain = replace(PLOT, patterns={"two keys": "variance-d*"}, curves={}, wrong={"short": (1, (2, 8))})
    other = replace(PLOT, span=(1, 128), bounds={"above": lambda at: 2 * at}, x="size")
    halved = replace(PLOT, as_drawn=lambda place, value: value / place, y="share", linear="y")
    first, second, third = drawn(plain, other, halved)
    points, joined, wrong = first.layers
    assert (points.label, joined.y, wrong.x) == ("two keys", (2.0, 64.0), (2.0, 8.0))
    assert second.layers[2].role == "other"
    assert second.layers[2].y[::8] == pytest.approx((2, 16 * 2**0.5, 256))
    assert (second.x.label, third.y.label, third.layers[0].y) == ("size", "share", (1.25, 64.5 / 64))


def test_the_first_fit_is_drawn_where_there_is_no_plot() -> None:
    """What a claim draws itself is drawn in its place, and beside plots."""
    fit = Fit("variance-d*", over=d, law=d)
    (usual,) = drawn(fit)
    assert {layer.role for layer in usual.layers} == {"truth", "measured"}
    assert drawn(Fit("variance-d*", over=d, law=d * Symbol("n")))[0].layers[-1].label == "derived"
    own = usual.model_copy(update={"id": "own"})
    assert [figure.id for figure in drawn(fit, figures=lambda: own)] == ["own"]
    assert [figure.id for figure in drawn(fit, PLOT, figures=lambda: [own])] == ["growth", "own"]
    assert drawn() == ()


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ("dk", r"^check variance-d64 has no setting 'dk'; did you mean 'd_k'\?$"),
        ("T", "no setting 'T'; its settings are d_k, law$"),
        ("law", "check variance-d64: its setting 'law' is 'normal'; take one that is a number"),
    ],
)
def test_an_axis_is_a_setting_that_is_a_number(over: str, message: str) -> None:
    """Another is refused with those that there are."""
    of = {"variance-d64": check("variance-d64", 64.5, 64.0, cell={"d_k": 64, "law": "normal"})}
    with pytest.raises(ClaimError, match=message):
        figures.plot(replace(PLOT, over=Symbol(over)), Findings(of, {}), "title")


def test_words_stand_in_for_a_figure() -> None:
    """They say how each layer runs, in the order of the places, and how far where it turns."""
    layers = (
        figures.layer("line", "falls", (1, 2, 4), (3, 2, 1), "truth"),
        figures.layer("line", "$d_k^2$", (1, 2, 4), (1, 1.01, 1), "other"),
        figures.layer("points", "turns", (1, 2, 4), (4, 2, 3), "measured"),
        figures.layer("points", "", (1, 2, 4, 5), (4, 2, 6, 5), "measured"),
    )
    drawn = figures.figure("f", "F", *layers, x=d, y="share of scores", linear="y")
    assert drawn.alt == (
        "Share of scores, against dimension d_k, from 1 to 5, which is logarithmic. "
        "Falls: from 3 to 1. d_k²: level at 1. Turns: from 4 to 3, between 2 and 4. "
        "Measured: from 4 to 5, between 2 and 6."
    )
