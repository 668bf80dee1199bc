"""The forms of a citation: one module each, named as ``cite --format`` takes it, with a ``render``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.files import modules

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.report.citation import Citation


def names() -> tuple[str, ...]:
    """Return the names that ``cite --format`` takes; no form is loaded."""
    return modules.names(__name__)


def form(name: str) -> Callable[[Citation], str]:
    """Return the function that writes a citation in the form of this name."""
    render: Callable[[Citation], str] = modules.module(__name__, name).render
    return render
