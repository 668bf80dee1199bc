"""No import circle anywhere in the package, types included; few modules at its door; a test for each."""

from __future__ import annotations

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import verify

if TYPE_CHECKING:
    from collections.abc import Iterable

PACKAGE = Path(verify.__file__).parent
TESTS = Path(__file__).parent
AT_THE_DOOR = 8

TOGETHER = {
    "claims/*": "claims/test_contract.py",
    "auditing/findings": "auditing/findings/test_kinds.py",
    "citing/languages": "citing/test_languages.py",
    "citing/outcomes": "citing/test_outcomes.py",
    "engine/computations": "engine/test_computations.py",
    "export/values": "export/test_values.py",
    "report/citations": "report/test_citation.py",
}
"""Folders of one kind of thing each: what all modules of one keep to is tested together."""


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a source file below ``root``."""
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def import_graph(package: Path) -> dict[str, set[str]]:
    """Return every module of a package with those of its modules that its source names in an import."""
    sources = {module_name(path, package.parent): path for path in package.rglob("*.py")}
    return {
        name: {found for found in imported(path.read_text(encoding="utf-8"), set(sources)) if found != name}
        for name, path in sources.items()
    }


def imported(source: str, known: set[str]) -> set[str]:
    """Return the known modules that a source imports anywhere: at its head, for types, in a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            inner = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            names |= {full if full in known else str(node.module) for full in inner.values()}
    return names & known


def refuse_circles(graph: dict[str, set[str]]) -> None:
    """Raise ``CycleError``, which names the modules, where an import leads back to where it started."""
    TopologicalSorter(graph).prepare()


def test_no_import_leads_back() -> None:
    """The graph of all imports is acyclic."""
    graph = import_graph(PACKAGE)
    assert "verify.report.view" in graph["verify.report.parts"]
    refuse_circles(graph)


@pytest.mark.parametrize(
    "source",
    [
        "import pack.first",
        "from pack import first",
        "from pack.first import Thing",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.first import Thing",
        "def late():\n    from pack.first import Thing",
    ],
)
def test_a_circle_is_found_however_it_is_closed(source: str, tmp_path: Path) -> None:
    """Modules, names, types alone and imports inside a function all count."""
    package = tmp_path / "pack"
    package.mkdir()
    for name, text in {"__init__": "", "first": "from pack import second", "second": source}.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    with pytest.raises(CycleError, match="cycle"):
        refuse_circles(import_graph(package))


def test_few_modules_stand_at_the_door() -> None:
    """What does not belong to a package of its own fits on one screen."""
    names = sorted(path.stem for path in PACKAGE.glob("*.py"))
    assert len(names) <= AT_THE_DOOR, f"{len(names)} modules directly in verify/: {', '.join(names)}"


def mirrored(path: Path) -> Path:
    """Return where the tests of a module stand, the folders being the same."""
    return TESTS / path.relative_to(PACKAGE).with_name(f"test_{path.stem.strip('_')}.py")


def contract(path: Path) -> Path | None:
    """Return the test of all modules of the folder that a module is in, if these are of one kind."""
    folder = path.relative_to(PACKAGE).parent
    return next((TESTS / test for pattern, test in TOGETHER.items() if folder.match(pattern)), None)


def computes(path: Path) -> bool:
    """Return whether a module has a function; names, texts and records alone are tested by who uses them."""
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(ast.parse(path.read_text("utf-8"))))


def untested(paths: Iterable[Path]) -> list[str]:
    """Return the modules that have neither a test of their own nor one with all of their folder."""
    return [
        str(path.relative_to(PACKAGE))
        for path in sorted(paths)
        if path.stem != "__init__"
        and not mirrored(path).is_file()
        and not (contract(path) or path).is_relative_to(TESTS)
        and computes(path)
    ]


def test_every_module_has_its_test_at_the_same_place() -> None:
    """Below ``tests`` as below the package, or with all others of its kind."""
    assert untested(PACKAGE.rglob("*.py")) == []
    assert all((TESTS / test).is_file() for test in TOGETHER.values())


def test_a_module_without_a_test_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it computes nothing, or its folder has a test for all."""
    monkeypatch.setattr(sys.modules[__name__], "mirrored", lambda _: TESTS / "none.py")
    found = untested(PACKAGE.rglob("*.py"))
    assert {"__main__.py", "errors.py", "report/cards.py", "claims/chapters.py"} <= set(found)
    assert not {"version.py", "report/views/cards.py", "report/citations/bibtex.py"} & set(found)
    assert not [name for name in found if name.startswith("claims/scaling/")]
