"""Claims: what they are made of, and what a wrong one is told."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.montecarlo.samples import generator, sample_of
from tests.report.builders import check
from verify.errors import ClaimError
from verify.montecarlo.estimands import component
from verify.spec.claim import USER, Claim, Findings, several
from verify.spec.figures import figure, scatter

CHECKS = {
    f"variance-d{n}": check(f"variance-d{n}", n + 0.5, float(n), error=0.1, cell={"d_k": n}) for n in (64, 2)
}


FOUND = Findings(CHECKS | {"slope": check("slope", 1.0, 1.0)}, {}, {})


class TestFindings:
    """Which checks a figure draws."""

    def test_by_a_pattern_of_their_ids(self) -> None:
        """The pattern stands for whole ids, and one that finds nothing is an error."""
        assert FOUND.matching("variance-d*") == tuple(CHECKS.values())
        with pytest.raises(ClaimError, match=r"no check's id matches 'var'; the checks are variance-d64"):
            FOUND.matching("var")

    def test_what_no_check_compares_is_estimated_alike(self) -> None:
        """Its interval is that of the estimand at the check's level."""
        sample = sample_of(generator().normal(size=(400, 2)))
        found = Findings({"one": check("one", 1.0, 1.0)}, {}, {"d8": sample})
        estimands = component("mean"), component("square")
        alpha = 1 - found.checks["one"].level
        expected = [one.measure(sample, alpha) for one in estimands]
        assert found.estimated("d8", estimands, like="one") == [(one.value, one.interval) for one in expected]


def test_a_single_figure_stands_for_itself() -> None:
    """What a claim returns is several also where it is one, and stays what it is otherwise."""
    one = figure("f", "title", "alt", "y", scatter("", (1, 4), (5, 6)))
    assert several(one) == several((one,)) == (one,)
    assert several(()) == ()


WORDS: dict[str, Any] = {
    "title": "title",
    "statement": "statement",
    "meaning": "meaning",
    "assumptions": (),
    "derive": lambda: "derived",
}


def claim(**changes: Any) -> Any:
    """Return a claim with some things changed."""
    return Claim(**{**WORDS, "experiment": lambda: "measured", **changes})


@pytest.mark.parametrize("name", ["", "two-keys", "a", "x2-3"])
def test_an_id_is_a_slug_or_follows_from_the_file(name: str) -> None:
    """Where a claim has one of its own, its place in a file does not change it; the chapter is the file's."""
    placed = claim(id=name).placed("of-the-file", "scaling", {})
    assert (placed.id, placed.chapter) == (name or "of-the-file", "scaling")
    assert claim(id=name).chapter == USER
    assert (placed.title, placed.experiment("D", 0.01)) == ("title", "measured")


@pytest.mark.parametrize("name", ["Two Keys", "two_keys", "-two", "two-", "zwölf"])
def test_what_is_no_slug_is_no_id(name: str) -> None:
    """The id is named, and what one looks like."""
    with pytest.raises(ClaimError) as caught:
        claim(id=name)
    assert str(caught.value) == f"claim id {name!r}: use lower-case words joined by hyphens"


@pytest.mark.parametrize("name", ["title", "statement", "meaning"])
@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_is_refused(name: str, text: str) -> None:
    """By the claim's id, where it has one."""
    for known, start in (("", "Claim"), ("two-keys", "claim two-keys")):
        with pytest.raises(ClaimError) as caught:
            claim(id=known, **{name: text})
        assert str(caught.value) == f"{start}: its {name} is empty; write one"


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda: (), ()),
        (lambda derivation: (derivation,), ("D",)),
        (lambda tolerance: (tolerance,), (0.01,)),
        (lambda tolerance, derivation: (tolerance, derivation), (0.01, "D")),
        (lambda derivation, tolerance: (derivation, tolerance), ("D", 0.01)),
    ],
)
def test_an_experiment_is_given_what_it_names(function: Any, wanted: tuple[Any, ...]) -> None:
    """In any order; whoever calls it gives all, by place, and sees no difference."""
    made = claim(experiment=function).experiment
    assert made("D", 0.01) == wanted
    assert list(inspect.signature(made).parameters) == ["derivation", "tolerance"]
    # Placing a claim must not wrap it once more.
    assert claim(experiment=made).experiment is made


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"experiment": lambda tolerence: tolerence},
            "Claim: experiment takes 'tolerence'; did you mean 'tolerance'? it may take derivation and t",
        ),
        (
            {"facts": lambda tolerance: tolerance},
            "Claim: facts takes 'tolerance'; ",
        ),
        (
            {"id": "two-keys", "figures": lambda finding: finding},
            "claim two-keys: figures takes 'finding'; did you mean 'findings'? it may take derivation and f",
        ),
    ],
)
def test_a_parameter_that_is_not_given_is_refused(changes: dict[str, Any], message: str) -> None:
    """When the claim is made, with the nearest of those that are."""
    with pytest.raises(ClaimError) as caught:
        claim(**changes)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_facts_and_figures_may_be_left_out() -> None:
    """Then there are none."""
    made = claim()
    assert made.facts("D") == made.figures("D", FOUND) == ()


class TestPlaced:
    """A claim of a file uses the functions that the file defines under their names."""

    def test_what_is_not_named_is_found(self) -> None:
        """By its name, and wrapped as if the claim had named it; what else the file defines is not used."""
        defined = {
            "derive": lambda: "found",
            "experiment": lambda tolerance: tolerance,
            "facts": lambda derivation: derivation,
            "title": "no title",
        }
        bare = Claim(title="title", statement="statement", meaning="meaning", assumptions=())
        placed: Any = bare.placed("two-keys", "scaling", defined)
        assert (placed.derive(), placed.experiment("D", 0.01)) == ("found", 0.01)
        assert (placed.facts("D"), placed.figures("D", FOUND), placed.title) == ("D", (), "title")

    @pytest.mark.parametrize("name", ["derive", "experiment"])
    def test_what_cannot_be_left_out_is_missed(self, name: str) -> None:
        """In one line, by the claim's id."""
        defined = {"derive": lambda: "found", "experiment": lambda: "measured"}
        del defined[name]
        bare = Claim(title="title", statement="statement", meaning="meaning", assumptions=())
        with pytest.raises(ClaimError) as caught:
            bare.placed("two-keys", "scaling", defined)
        assert str(caught.value) == f"claim two-keys: it has no {name}; give it that function"

    @pytest.mark.parametrize(
        ("defined", "message"),
        [
            ({"facts": ()}, "facts is not a function; make it one"),
            ({"derive": lambda tolerance: tolerance}, "derive takes 'tolerance'; it may take nothing"),
        ],
    )
    def test_what_is_found_is_checked(self, defined: dict[str, Any], message: str) -> None:
        """Like what a claim names itself."""
        functions = {"derive": lambda: "found", "experiment": lambda: "measured", **defined}
        bare = Claim(title="title", statement="statement", meaning="meaning", assumptions=())
        with pytest.raises(ClaimError) as caught:
            bare.placed("two-keys", "scaling", functions)
        assert str(caught.value) == f"claim two-keys: {message}"


@pytest.mark.parametrize(("returned", "what"), [(None, "nothing"), (3, "an int"), ((), "a tuple")])
def test_a_derive_that_returns_no_derivation_is_the_claim_s_mistake(returned: Any, what: str) -> None:
    """Named as such, not as what is then missing of it."""
    with pytest.raises(ClaimError, match=rf"its derive returns {what}; end it with return Derivation\.of"):
        claim(derive=lambda: returned).derived()
