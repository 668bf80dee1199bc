"""No import circle anywhere in the package, types included; and few modules at its door."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import verify

PACKAGE = Path(verify.__file__).parent
AT_THE_DOOR = 8


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
    assert "verify.report.run" in graph["verify.report.parts"]
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
