"""No import circle anywhere in the package, types and imports in functions included."""

from graphlib import TopologicalSorter

import grimp  # what import-linter reads imports with


def test_no_import_leads_back() -> None:
    """The graph of all imports is acyclic."""
    graph = grimp.build_graph("verify", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imports).prepare()
