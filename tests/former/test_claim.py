"""Claims, their figures and the authors' namespace: what they are made of, and what a wrong one is told."""

import ast
import inspect
import math
import pydoc
import re
from types import ModuleType
from typing import Any

import pytest
from sympy import S

import verify.former
from tests.report.builders import check
from verify.errors import ClaimError
from verify.former import figures, rules
from verify.former.claim import Claim
from verify.spec.claim import Findings
from verify.former.figures import beside, expected, figure, line, measured, scatter
from verify.symbolic import kernel
from verify.symbolic.kernel.core import Rule
from verify.symbolic.scores import d

CHECKS = {
    f"variance-d{n}": check(f"variance-d{n}", n + 0.5, float(n), error=0.1, cell={"d_k": n}) for n in (64, 2)
}
FOUND = Findings(CHECKS | {"slope": check("slope", 1.0, 1.0)}, {}, {})
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


class TestPlaced:
    """A claim of a file uses the functions that the file defines under their names."""

    def test_what_is_not_named_is_found(self) -> None:
        """By its name, and wrapped as if the claim had named it; what else the file has is not used."""
        defined = {
            "derive": lambda: "found",
            "experiment": lambda tolerance: tolerance,
            "facts": lambda derivation: derivation,
            "figures": figures,
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


class TestMeasured:
    """Points with intervals."""

    @pytest.mark.parametrize(
        ("against", "message"),
        [
            ("dk", r"^check variance-d64 has no setting 'dk'; did you mean 'd_k'\?$"),
            ("T", "no setting 'T'; its settings are d_k, law$"),
            ("law", "check variance-d64: its setting 'law' is 'normal'; take one that is a number"),
        ],
    )
    def test_against_a_setting_that_there_is(self, against: str, message: str) -> None:
        """Another is refused with those that there are."""
        checks = [check("variance-d64", 64.5, 64.0, cell={"d_k": 64, "law": "normal"})]
        with pytest.raises(ClaimError, match=message):
            measured(checks, against=against)


class TestFigure:
    """Lines and points on their axes."""

    def test_what_is_measured_beside_a_line(self) -> None:
        """The line as it is given, or through what the checks compare with, in the order of their places."""
        checks = FOUND.matching("variance-d*")
        assert beside(checks, "law", d, points=5) == (line("law", d, points=5), measured(checks))
        through = expected(checks, "law")
        assert (through.kind, through.role, through.x, through.y) == (
            "line",
            "truth",
            (2.0, 64.0),
            (2.0, 64.0),
        )

    def test_a_label_stands_once(self) -> None:
        """At the first of the layers that share it."""
        points = measured(FOUND.matching("variance-d*"))
        drawn = figure("f", "F", "f", "y", line("one", d), points, line("two", 2 * d), points).layers
        assert [one.label for one in drawn] == ["one: $d_{k}$", "measured", "two: $2 d_{k}$", ""]
        assert drawn[3].y == drawn[1].y

    def test_a_line_through_given_places(self) -> None:
        """Of a function, of one number, or of a value for each place; points without intervals likewise."""
        assert line("", math.sqrt, at=(1, 4)).y == (1.0, 2.0)
        assert line("", 3, at=(1, 4)).y == (3.0, 3.0)
        assert line("", (5, 6), at=(1, 4)).y == (5.0, 6.0)
        assert line("level", S.One, over=(1, 4)).label == "level: $1$"
        dots = scatter("", (1, 4), math.sqrt)
        assert (dots.kind, dots.role, dots.y) == ("points", "measured", (1.0, 2.0))

    def test_without_anything_measured_a_line_needs_ends(self) -> None:
        """The error names the figure and says what to give."""
        with pytest.raises(ClaimError, match="figure f: it shows nothing measured; give its lines"):
            figure("f", "title", "alt", "y", line("derived", d))


NAMESPACES = (verify.former, rules)


def _names(module: ModuleType) -> set[str]:
    """Return the names that a namespace imports, its own modules aside."""
    tree = ast.parse(inspect.getsource(module))
    imported = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module != "typing"]
    return {alias.asname or alias.name for one in imported for alias in one.names}


@pytest.mark.parametrize("module", NAMESPACES, ids=["former", "rules"])
def test_help_has_one_line_for_each_name(module: ModuleType) -> None:
    """No name without a line, no line without a name, no line twice; and not the whole of every class."""
    rows = re.findall(r"^(\w+)  +\S", module.__doc__ or "", re.MULTILINE)
    assert len(rows) == len(set(rows))
    assert set(rows) == _names(module)
    (listed,) = (
        ast.literal_eval(node.value)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert sorted(listed) == sorted(rows)
    assert len(pydoc.render_doc(module).splitlines()) < 300


def test_an_author_learns_a_screenful_at_a_time() -> None:
    """The names of an own estimand, sampler or input are among them."""
    assert len(_names(verify.former)) <= 150
    assert {"BlockSampler", "Estimand", "Goal", "Input", "Measured", "Sample", "Shape"} < _names(
        verify.former
    )


def test_every_rule_of_the_kernel_can_be_imported() -> None:
    """All but the kernel's own: a chain of two, and what stands for an author's rule."""
    modules = (one for one in vars(kernel).values() if inspect.ismodule(one))
    kinds = {kind for one in modules for kind in vars(one).values() if inspect.isclass(kind)}
    written = {one.__name__ for one in kinds if issubclass(one, Rule) and "label" in vars(one)}
    assert written - {"Rule", "ByFormula"} <= _names(rules)
