"""The authors' namespace: a table of all its names, what chapters share, and what claims cite."""

import ast
import inspect
import pydoc
import re
from types import ModuleType

import pytest

import verify.spec
import verify.symbolic.kernel.core as kernel
from tests.catalogue import CATALOGUE
from tests.tool import ROOT
from verify.spec import rules

NAMESPACES = (verify.spec, rules)
CLAIM_FILES = [path for path in (ROOT / "verify/claims").glob("*/*.py") if path.stem != "__init__"]


def _names(module: ModuleType) -> set[str]:
    """Return the names that a namespace imports, its own modules aside."""
    tree = ast.parse(inspect.getsource(module))
    imported = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module != "typing"]
    return {alias.asname or alias.name for one in imported for alias in one.names}


def _imported() -> dict[str, dict[str, set[str]]]:
    """Return by module of this tool and name which chapters' claims import it."""
    found: dict[str, dict[str, set[str]]] = {}
    for path in CLAIM_FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("verify."):
                for alias in node.names:
                    names = found.setdefault(node.module or "", {})
                    names.setdefault(alias.name, set()).add(path.parent.name)
    return found


@pytest.mark.parametrize("module", NAMESPACES, ids=["spec", "rules"])
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
    assert len(_names(verify.spec)) <= 150
    assert {"BlockSampler", "Estimand", "Goal", "Input", "Measured", "Sample", "Shape"} < _names(verify.spec)


def test_every_rule_of_the_kernel_can_be_imported() -> None:
    """All but the kernel's own: a chain of two, and what stands for an author's rule."""
    own = {"Chain", "Reviewed", "Same"}
    assert {kind.__name__ for kind in kernel._RULES} - own == {
        name for name in _names(rules) if getattr(rules, name) in kernel._RULES
    }


def test_what_serves_one_chapter_lies_beside_its_claims() -> None:
    """A claim shares with its chapter alone, and every name that a chapter shares serves a claim of it."""
    found = _imported()
    for module, names in found.items():
        if ".shared" in module:
            assert {one for chapters in names.values() for one in chapters} == {module.split(".")[2]}
    for path in (ROOT / "verify/claims").glob("*/shared/__init__.py"):
        module = f"verify.claims.{path.parent.parent.name}.shared"
        offered = ast.parse(path.read_text(encoding="utf-8")).body
        (listed,) = (
            one.value for one in offered if isinstance(one, ast.Assign) and "__all__" in ast.unparse(one)
        )
        assert set(ast.literal_eval(listed)) <= set(found[module])


def test_one_key_is_one_reference() -> None:
    """Two works under one key could not be told apart; a key names the year that the entry states."""
    cited = {one for claim in CATALOGUE.values() for one in claim.references}
    assert len({one.key for one in cited}) == len(cited) > 20
    dated = {one.key: one.text for one in cited if re.search(r"\d{4}$", one.key)}
    assert {key for key, text in dated.items() if key[-4:] not in text} == set()
