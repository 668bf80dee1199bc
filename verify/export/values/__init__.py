"""The forms in which ``export`` writes values: one module each, named as ``--format`` takes it.

A form has ``SUFFIX``, that of its files, and ``export``, from a run or an audit and the
values chosen to a file's text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from verify.files import modules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.citing.value import Value
    from verify.citing.values import Evidence


class Form(Protocol):
    """What a module of this package offers."""

    SUFFIX: str

    def export(self, record: Evidence, chosen: Iterable[Value]) -> str:
        """Return the text of a file with the values chosen."""


def names() -> tuple[str, ...]:
    """Return the names of all forms; none is loaded."""
    return modules.names(__name__)


def form(name: str) -> Form:
    """Return the form of this name."""
    return cast("Form", modules.module(__name__, name))
