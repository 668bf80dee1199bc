"""Modules that are registered by being there: each file of a package is one choice, named after the file."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def names(package: str) -> tuple[str, ...]:
    """Return the names of a package's modules in order, with hyphens for underscores; none is loaded."""
    found = pkgutil.iter_modules(importlib.import_module(package).__path__)
    return tuple(sorted(one.name.replace("_", "-") for one in found))


def module(package: str, name: str) -> ModuleType:
    """Return the module of a package that has this name."""
    return importlib.import_module(f"{package}.{name.replace('-', '_')}")
