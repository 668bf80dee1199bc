"""What a statement's part may have computed, without code: one module each, named as ``what`` in the file.

A computation has ``Inputs``, the record of what the file gives it, ``CLAIM``, the claim whose derivation it
evaluates, and ``compute``, from the inputs to what they make.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from verify.errors import unknown
from verify.files import modules

if TYPE_CHECKING:
    from typing import Protocol

    from pydantic_core import ErrorDetails

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
        # What may be a whole number or another is best called a number.
        first = min(error.errors(), key=lambda one: (one["type"] == "missing", one["loc"][-1:] == ("int",)))
        place = str(first["loc"][0]) if first["loc"] else ""
        raise ValueError(" ".join(filter(None, (what, place, _said(first))))) from error


_SAID = {
    "extra_forbidden": "is no input of it; remove it or correct its spelling",
    "missing": "is missing; add it",
    "greater_than_equal": "is {input}; give at least {ge}",
    "greater_than": "is {input}; give more than {gt}",
    "less_than_equal": "is {input}; give at most {le}",
    "literal_error": "is {input}; give {expected}",
    "int_type": "is {input}; give a whole number",
    "float_type": "is {input}; give a number",
    "bool_type": "is {input}; give true or false",
    "tuple_type": "is {input}; give numbers in square brackets",
    "too_short": "is empty; give at least {min_length} number",
    "too_long": "has {actual_length} numbers; give at most {max_length}",
}


def _said(mistake: ErrorDetails) -> str:
    """Return what is wrong with an input, and what to give instead."""
    kind, context = mistake["type"], mistake.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    return _SAID.get(kind, "is {input}; correct it").format(input=reprlib.repr(mistake["input"]), **context)
