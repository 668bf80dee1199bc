"""Modules found by their files."""

from __future__ import annotations

import sys

from verify.files.modules import module, names


def test_names_are_those_of_the_files_and_nothing_is_loaded() -> None:
    """With hyphens, in order; the package itself is all that is imported."""
    sys.modules.pop("verify.report.citations.csl_json", None)
    found = names("verify.report.citations")
    assert list(found) == sorted(found)
    assert {"csl-json", "text"} <= set(found)
    assert "verify.report.citations.csl_json" not in sys.modules


def test_a_module_is_had_by_its_name() -> None:
    """Whose file has underscores."""
    assert module("verify.report.citations", "csl-json").__name__ == "verify.report.citations.csl_json"
