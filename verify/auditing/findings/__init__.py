"""The kinds of findings, one a module with its ``KIND``; a new module is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

from verify.errors import SettingsError, unknown

if TYPE_CHECKING:
    from verify.auditing.kinds import Kind

_ORDER = (
    "scale-applied",
    "scale-implied",
    "reconstruction",
    "overflow",
    "largest-score",
    "row-variance",
    "shift-share",
    "independence",
    "components",
    "entropy",
    "effective-keys",
    "largest-probability",
    "gradient-pass",
)
"""The order in which kinds are found and shown; those not named here come last."""


@cache
def kinds() -> tuple[Kind, ...]:
    """Return all kinds of findings in their order."""
    modules = (importlib.import_module(f"{__name__}.{one.name}") for one in pkgutil.iter_modules(__path__))
    found: list[Kind] = [module.KIND for module in modules]
    places = {name: place for place, name in enumerate(_ORDER)}
    return tuple(sorted(found, key=lambda kind: (places.get(kind.name, len(places)), kind.name)))


def kind_of(finding: str) -> Kind:
    """Return the kind that makes the findings of this name.

    Raises:
        SettingsError: there is none; the nearest name is suggested.
    """
    makers = {name: kind for kind in kinds() for name in kind.names}
    if finding in makers:
        return makers[finding]
    for kind in kinds():
        if kind.name == finding:
            raise SettingsError(f"gate {finding!r}: name one of {', '.join(kind.names)}")
    raise SettingsError("gate: " + unknown("finding", finding, makers, f"there are {', '.join(makers)}"))
