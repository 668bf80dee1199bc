"""The simple types of records: texts of one line, formulas whose braces pair, slugs, counts and shares."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field

from verify.text.escapes import CONTROLS, pieces

_Item = TypeVar("_Item")

# Pydantic takes a ValueError for an invalid field.


def line(text: str) -> str:
    """Return text that is one line without control characters, or raise a ValueError."""
    if control := CONTROLS.search(text):
        raise ValueError(f"holds the control character {ascii(control[0])[1:-1]}; remove it")
    return text


def formula(latex: str) -> str:
    """Return LaTeX in one line whose braces pair, or raise a ValueError."""
    depth = 0
    # What follows a backslash is no brace that pairs, and counts nothing.
    for brace in re.findall(r"\\.|[{}]", line(latex)):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        if depth < 0:
            break
    if depth:
        raise ValueError(f"has a formula with an unpaired {'{' if depth > 0 else '}'}; correct the formula")
    return latex


@lru_cache(maxsize=1024)  # four of five texts of a record stand in it before
def prose(text: str) -> str:
    """Return text in one line, with formulas between dollar signs, or raise a ValueError."""
    for piece in pieces(line(text)):
        if piece.is_formula:
            formula(piece.text)
    return text


def _code(text: str) -> str:
    line(text.replace("\n", " "))
    return text


def in_utc(text: str) -> datetime:
    """Return a date and time in ISO 8601 in UTC, or raise a ValueError; without a zone it counts as UTC."""
    moment = datetime.fromisoformat(text)
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:  # in the first and last hours that there are
        raise ValueError("is beyond the calendar") from error


def moment(text: str) -> str:
    """Return a date and time in ISO 8601 as it is, or raise a ValueError."""
    in_utc(text)
    return text


Line = Annotated[str, AfterValidator(line)]
Text = Annotated[str, AfterValidator(prose)]
Many = tuple[_Item, ...]
Named = dict[Text, _Item]
Formula = Annotated[str, AfterValidator(formula)]
Code = Annotated[str, AfterValidator(_code)]
Moment = Annotated[str, AfterValidator(moment)]
# Ids stand in keys of citations, in addresses and in names of files.
SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Slug = Annotated[str, Field(pattern=SLUG, max_length=200)]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,99}$")]
# Without quotes and angle brackets, so that it can stand in any document as it is.
Address = Annotated[str, Field(pattern=r"^https?://[!#-;=?-\[\]_a-z~]{1,2000}$")]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
# NumPy takes seeds of any length; files from elsewhere are held to this.
Seed = Annotated[int, Field(ge=0, lt=2**4096)]
Rate = Annotated[float, Field(gt=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(ge=0)]
