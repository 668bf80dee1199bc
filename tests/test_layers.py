"""No import circle anywhere in the package, types included; and few modules at its door."""

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp  # what import-linter reads imports with
import pytest

import verify

PACKAGE = Path(verify.__file__).parent
AT_THE_DOOR = 8


def import_graph(package: str) -> dict[str, set[str]]:
    """Return every module of a package with those that it imports: at its head, for types, in a function."""
    graph = grimp.build_graph(package, cache_dir=None)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def test_no_import_leads_back() -> None:
    """The graph of all imports is acyclic."""
    graph = import_graph("verify")
    assert "verify.report.run" in graph["verify.report.parts"]
    TopologicalSorter(graph).prepare()


def test_a_circle_is_found_that_types_and_a_function_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both count."""
    monkeypatch.syspath_prepend(tmp_path)
    late = "def late():\n    from pack.{} import Thing"
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pack.{} import Thing"
    sources = {"__init__": "", "first": types.format("second"), "second": late.format("first")}
    (tmp_path / "pack").mkdir()
    for name, text in sources.items():
        (tmp_path / "pack" / f"{name}.py").write_text(text, encoding="utf-8")
    with pytest.raises(CycleError, match="cycle"):
        TopologicalSorter(import_graph("pack")).prepare()


def test_few_modules_stand_at_the_door() -> None:
    """What does not belong to a package of its own fits on one screen."""
    names = sorted(path.stem for path in PACKAGE.glob("*.py"))
    assert len(names) <= AT_THE_DOOR, f"{len(names)} modules directly in verify/: {', '.join(names)}"
