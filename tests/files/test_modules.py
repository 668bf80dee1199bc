"""Modules found by their files."""

from __future__ import annotations

from verify.files.modules import module, names


def test_modules_are_found_by_the_names_of_their_files() -> None:
    """In order, with hyphens for underscores."""
    found = names("verify.engine.computations")
    assert list(found) == sorted(found)
    assert {"dot-product", "scale"} <= set(found)
    assert module("verify.engine.computations", "dot-product").__name__.endswith(".dot_product")
