"""No import circle anywhere in the package, types included; and few modules at its door."""

from graphlib import TopologicalSorter
from pathlib import Path

import grimp  # what import-linter reads imports with

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
    TopologicalSorter(graph).prepare()


def test_few_modules_stand_at_the_door() -> None:
    """What does not belong to a package of its own fits on one screen."""
    names = sorted(path.stem for path in PACKAGE.glob("*.py"))
    assert len(names) <= AT_THE_DOOR, f"{len(names)} modules directly in verify/: {', '.join(names)}"
