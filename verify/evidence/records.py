"""What all records have in common: they are frozen, fingerprinted, and shown in a line.

What follows from the rest of a record is computed whenever it is read. It is written to files for other
programs, and on loading ignored.
"""

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, computed_field, model_validator

from verify.errors import ClaimError, unknown

if TYPE_CHECKING:
    computed_property = property  # to type checkers it is nothing else
else:
    computed_property = computed_field

_Part = TypeVar("_Part", bound=Any)


class Record(BaseModel):
    """Base of all records: frozen, and unknown fields are errors."""

    # Validators are built at first use, since most commands use few kinds of records.
    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False, defer_build=True
    )

    in_short: ClassVar[tuple[str, ...]] = ()
    """The fields that its text shows, where all of them would fill pages."""

    @model_validator(mode="before")
    @classmethod
    def _without_computed(cls, data: object) -> object:
        """Leave out what is computed, whatever a file says of it."""
        if not isinstance(data, dict):
            return data
        # A verdict in a file is for other programs; whoever reads it here has it judged anew.
        return {name: value for name, value in data.items() if name not in cls.model_computed_fields}

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        shown = [(name, getattr(self, name)) for name in self.in_short]
        # Of a verdict, its word.
        shown = [(name, str(value) if isinstance(value, StrEnum) else value) for name, value in shown]
        return shown or super().__repr_args__()


def by_id(parts: Sequence[_Part], name: str, where: str, what: str) -> _Part:
    """Return that of ``parts`` whose id is ``name``; ``where`` and ``what`` are for the message.

    Raises:
        ClaimError: there is none; the nearest is suggested.
    """
    named = {part.id: part for part in parts}
    if name not in named:
        known = f"the {what}s are {', '.join(named)}" if 0 < len(named) <= 8 else f"there are {len(named)}"
        raise ClaimError(where + unknown(what, name, named, known))
    return named[name]


def fingerprint(content: Any) -> str:
    """Return the SHA-256, in hexadecimal, of a record's content as canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # Halves of characters may stand in what a file says of computed fields, which nobody has checked.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def seal_of(content: Mapping[str, Any]) -> str:
    """Return the digest of all that a file holds, but for the digest itself."""
    return fingerprint({name: value for name, value in content.items() if name != "seal"})


class Sealed(Record):
    """A record that fills a file, whose last field ``seal`` is a digest of all the rest."""

    def sealed(self) -> Self:
        """Return this record with its seal set."""
        # Over what a file would hold, verdicts included, so that other programs can check it by its text.
        return self.model_copy(update={"seal": seal_of(self.model_dump(mode="json", by_alias=True))})

    def to_json(self) -> str:
        """Return the JSON text of this record, ending with a newline."""
        return self.model_dump_json(by_alias=True, indent=1) + "\n"


_DIGITS, _MORE = 10, 3
_TOGETHER = {
    "checks": ("prediction", "estimate", "standard_error", "interval", "band"),
    "controls": ("prediction", "estimate", "interval", "band"),
    "fits": ("slope", "intercept"),
}
"""The numbers of a finding that are in one unit, and come out of each other by sums and differences."""


def digest_of(claim: Record) -> str:
    """Return the SHA-256, in hexadecimal, of a claim's evidence and words as canonical JSON.

    Verdicts and all else that is computed from them are left out. Numbers are rounded, so that it is the same
    whatever libraries computed them: another version of NumPy or SciPy adds in another order, and differs in
    the last of sixteen digits. Each counts with ten significant digits: of itself or, where numbers belong
    together as those of a check or of a layer of a figure do, of the largest of them, since what is left of a
    difference has the rounding errors of what was subtracted. Where an exact check allows for rounding errors
    in place of 0, what is below its tolerance counts as 0.
    """
    # A round trip takes no computed fields.
    content = claim.model_dump(mode="json", round_trip=True, exclude={"digest"})
    groups = [(finding, names) for kind, names in _TOGETHER.items() for finding in content[kind]]
    for layer in (layer for figure in content["series"] for layer in figure["layers"]):
        groups += [(layer, ("x",)), (layer, ("y", "lo", "hi"))]
    for part, names in groups:
        numbers = [part[name] if isinstance(part[name], list) else [part[name]] for name in names]
        sizes = [abs(number) for number in itertools.chain(*numbers) if number is not None]
        place = _place(max(sizes, default=0.0))
        if part.get("method") == "exact" and part["prediction"] == 0 and part["tolerance"]:
            place = min(place, _place(part["tolerance"]) - _DIGITS + 1)
        part.update({name: _rounded(part[name], place) for name in names})
    return fingerprint(_rounded(content))


def _place(number: float) -> int:
    """Return the decimal place of the tenth digit of a number, as it is once it is rounded to that."""
    return _DIGITS - 1 - int(f"{number:.{_DIGITS - 1}e}".partition("e")[2])


def _rounded(value: Any, place: int | None = None) -> Any:
    """Return a value of JSON with its fractions rounded to a decimal place, by default each to its own."""
    if isinstance(value, dict):
        return {name: _rounded(item, place) for name, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item, place) for item in value]
    if not isinstance(value, float):
        return value
    at = _place(value) if place is None else place
    try:
        # To three digits more first, as numbers like 1/32768 = 3.0517578125e-05 lie just between two of ten
        # digits. Zero has no sign here.
        return round(round(value, at + _MORE), at) + 0.0
    except OverflowError:  # of the largest doubles, rounded up
        return value
