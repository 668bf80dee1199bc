"""The forms in which ``check-docs`` says what it found: one module each, named as ``--format`` takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.files import modules

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.citing.checked import Checked


def names() -> tuple[str, ...]:
    """Return the names that ``check-docs --format`` takes; no form is loaded."""
    return modules.names(__name__)


def form(name: str) -> Callable[[Checked], str]:
    """Return the function that writes what was found in the form of this name."""
    render: Callable[[Checked], str] = modules.module(__name__, name).render
    return render
