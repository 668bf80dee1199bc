"""What texts and numbers of a record may hold: a results file may be anybody's, whatever its seal says."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, FailFast, Field
from pydantic_core import PydanticCustomError

from verify.evidence.formulas import formula
from verify.text.escapes import CONTROLS, pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 20_000
_MOST = 1000
_AT_HAND = 1024
"""Texts that need not be looked at again: four of five in a record stand there before."""
_Item = TypeVar("_Item")


def line(text: str) -> str:
    """Return plain text as it is.

    Raises:
        PydanticCustomError: it is too long, or has more than one line or other control characters.
    """
    if len(text) > _LONGEST:
        raise PydanticCustomError("long", "has more than {most} characters; shorten it", {"most": _LONGEST})
    if found := CONTROLS.search(text):
        sign = found[0].encode("unicode_escape").decode("ascii")
        raise PydanticCustomError("control", "holds the control character {sign}; remove it", {"sign": sign})
    return text


@lru_cache(maxsize=_AT_HAND)
def prose(text: str) -> str:
    """Return text that may hold formulas between dollar signs as it is.

    Raises:
        PydanticCustomError: `line` or `formula` refuses it.
    """
    for piece in pieces(line(text)):
        if piece.is_formula:
            formula(piece.text)
    return text


def code(text: str) -> str:
    """Return plain text in any number of lines as it is.

    Raises:
        PydanticCustomError: `line` refuses one of them.
    """
    line(text.replace("\n", " "))
    return text


def in_utc(text: str) -> datetime:
    """Return a date and time in ISO 8601 in UTC; one without a zone counts as UTC.

    Raises:
        ValueError: it is none, or out of range in UTC.
    """
    given = datetime.fromisoformat(text)
    try:
        return (given if given.tzinfo else given.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is out of range in UTC") from error


def few(data: object) -> object:
    """Return what is given as it is; of millions of names each would be a mistake to keep in mind.

    Raises:
        PydanticCustomError: it has more names than any part of a record.
    """
    if isinstance(data, dict) and len(data) > _MOST:
        raise PydanticCustomError("many", "has more than {most} names; remove some", {"most": _MOST})
    return data


def moment(text: str) -> str:
    """Return a date and time in ISO 8601 as it is.

    Raises:
        ValueError: `in_utc` refuses it.
    """
    in_utc(text)
    return text


def refuse(mistakes: Iterable[tuple[bool, str]]) -> None:
    """Refuse what parts of a record say together: the first of the pairs (is it so?, what is wrong).

    Raises:
        PydanticCustomError: something is wrong.
    """
    for is_wrong, what in mistakes:
        if is_wrong:
            raise PydanticCustomError("nonsense", "{what}", {"what": what})


def refuse_repeated(names: Iterable[str], of: str) -> None:
    """Refuse a name that is given twice.

    Raises:
        PydanticCustomError: one is.
    """
    seen: set[str] = set()
    for name in names:
        refuse([(name in seen, f"{name} is the name of two {of}")])
        seen.add(name)


Line = Annotated[str, AfterValidator(line)]
Text = Annotated[str, AfterValidator(prose)]
Many = Annotated[tuple[_Item, ...], FailFast()]
"""Any number of items; where one is wrong, the next are not looked at."""
Named = Annotated[dict[Text, _Item], BeforeValidator(few)]
"""A few items by their names."""
Formula = Annotated[str, AfterValidator(formula)]
Code = Annotated[str, AfterValidator(code)]
Moment = Annotated[str, AfterValidator(moment)]
SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Slug = Annotated[str, Field(pattern=SLUG, max_length=200)]
Chapter = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,100}$")]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
Version = Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,99}$")]
Address = Annotated[str, Field(pattern=r"^https?://[!#-;=?-\[\]_a-z~]{1,2000}$")]
Evidence = Annotated[str, Field(pattern=r"^(verdict|(check|control|fact|compute):[a-z0-9]+(-[a-z0-9]+)*)$")]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Trials = Annotated[int, Field(gt=0, le=2**63 - 1)]
Seed = Annotated[int, Field(ge=0, lt=2**4096)]
Rate = Annotated[float, Field(gt=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(ge=0)]
