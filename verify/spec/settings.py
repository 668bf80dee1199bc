"""The settings of cells, by which checks are ordered, drawn and named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.errors import ClaimError, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping


def setting_of(check: str, settings: Mapping[str, float | str], name: str) -> float | str:
    """Return one of the settings of a check's cell by its name; ``check`` is the check's id.

    Raises:
        ClaimError: there is none of this name.
    """
    if name not in settings:
        otherwise = f"its settings are {', '.join(settings)}"
        raise ClaimError(f"check {check} has {unknown('setting', name, settings, otherwise)}")
    return settings[name]


def place_of(check: str, settings: Mapping[str, float | str], against: str) -> float:
    """Return the place of a check ``against`` a setting of its cell.

    Raises:
        ClaimError: there is none of this name, or it is no number.
    """
    found = setting_of(check, settings, against)
    try:
        return float(found)
    except ValueError:
        raise ClaimError(
            f"check {check}: its setting {against!r} is {found!r}; take one that is a number"
        ) from None


def named_by(template: str, cell: str, settings: Mapping[str, float | str]) -> str:
    """Return an id with a cell's settings in the place of their names in braces, {cell} being its own id.

    Raises:
        ClaimError: there is none of a name, or the braces do not fit.
    """
    try:
        return template.format(cell=cell, **settings)
    except KeyError as error:
        otherwise = f"its settings are {', '.join(settings)}"
        missing = unknown("setting", str(error.args[0]), settings, otherwise)
        raise ClaimError(f"id {template!r}: cell {cell} has {missing}") from None
    except (ValueError, IndexError):
        raise ClaimError(f"id {template!r}: write settings of the cell as {{name}}") from None
