"""What a statement's part may have computed, without code: one module each, named as ``what`` in the file.

A computation has ``Inputs``, the record of what the file gives it, ``CLAIM``, the claim whose derivation it
evaluates, and ``compute``, from the inputs to what they make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from verify.errors import unknown
from verify.files import modules

if TYPE_CHECKING:
    from typing import Protocol

    from verify.engine.computed import Computed
    from verify.evidence import Record

    class Computation(Protocol):
        """What a module of this package offers."""

        CLAIM: str
        Inputs: type[Record]

        def compute(self, inputs: Any) -> Computed:
            """Return what the inputs make."""


def names() -> tuple[str, ...]:
    """Return the names of all computations; none is loaded."""
    return modules.names(__name__)


def computation(name: str) -> Computation:
    """Return the computation of this name."""
    return cast("Computation", modules.module(__name__, name))


def inputs_of(table: dict[str, Any]) -> tuple[str, Record]:
    """Return the name of the computation that a table asks for, and its inputs.

    Raises:
        ValueError: there is none of that name, or its inputs are not so; the text says what to correct.
    """
    given = dict(table)
    what = given.pop("what", None)
    if not isinstance(what, str) or what not in names():
        known = names()
        raise ValueError(unknown("computation", str(what), known, f"they are {', '.join(known)}"))
    try:
        return what, computation(what).Inputs.model_validate(given)
    except ValidationError as error:
        # A misspelt input is both unknown and missing: what stands there says more.
        first = min(error.errors(), key=lambda one: one["type"] == "missing")
        place = ".".join(str(one) for one in first["loc"] if not isinstance(one, int))
        said = {
            "extra_forbidden": "is no input of it; remove it or correct its spelling",
            "missing": "is missing; add it",
        }
        raise ValueError(
            f"{what} {place} {said.get(first['type'], first['msg'].removeprefix('Value error, '))}"
        ) from error
