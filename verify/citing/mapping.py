"""Values in Python, by their keys: for notebooks, and for what computes with them."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from verify.citing.values import by_key, lookup_in
from verify.errors import CitationError, ResultsError
from verify.evidence import RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import load_either

if TYPE_CHECKING:
    from verify.citing.value import Value


class UnknownKeyError(CitationError, KeyError):
    """There is no such value; a mapping's own methods take it for what they expect."""

    def __str__(self) -> str:
        """Return the line, without the quotation marks of a KeyError."""
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Quoted:
    """A value: as text what the report prints, as a number what was measured.

    ``doubt`` says why what rests on it has to be written again, and is empty where it may be quoted.
    """

    key: str
    text: str
    numbers: tuple[float, ...]
    doubt: str

    def __str__(self) -> str:
        """Return the text, which inline code of a notebook or of Quarto prints."""
        return self.text

    def __repr__(self) -> str:
        """Return key and text."""
        return f"<{self.key}: {self.text}>"

    def __float__(self) -> float:
        """Return the number, with all its digits.

        Raises:
            CitationError: the value is a word, or an interval of several numbers.
        """
        if len(self.numbers) != 1:
            raise CitationError(
                f"{self.key} is {self.text!r}, not one number; ask for a part, such as :estimate"
            )
        return self.numbers[0]

    def _repr_html_(self) -> str:
        return f'<span title="{html.escape(self.key)}">{html.escape(self.text)}</span>'


class Values(Mapping[str, Quoted]):
    """All values of a run or an audit; a key may ask for a form, as in ``KEY|digits=3``."""

    def __init__(self, record: RunRecord | AuditRecord) -> None:
        self._known = by_key(record)

    def __getitem__(self, key: str) -> Quoted:
        """Return the value of a key.

        Raises:
            CitationError: there is no such key, and the nearest one is suggested, or no such form.
        """
        try:
            value = lookup_in(self._known, key)
        except CitationError as error:
            raise UnknownKeyError(str(error)) from error
        return _quoted(value)

    def __iter__(self) -> Iterator[str]:
        """Return the keys, without forms."""
        return iter(self._known)

    def __len__(self) -> int:
        """Return how many values there are."""
        return len(self._known)

    def __repr__(self) -> str:
        """Return how many values there are."""
        return f"<{len(self)} values of sdpa-verify>"


def _quoted(value: Value) -> Quoted:
    return Quoted(value.key, value.text, tuple(float(one.exact) for one in value.figures), value.doubt)


def values(record: RunRecord | AuditRecord | Path | str) -> Values:
    """Return the values of a run, of an audit, or of the file of one, by the keys that documents quote.

    ``values(record)["score-variance.slope:estimate"]`` prints as the report does, and is a number for
    ``float``.

    Raises:
        ResultsError: the file cannot be read, or this is no record.
    """
    if isinstance(record, str | Path):
        return Values(load_either(Path(record)))
    if not isinstance(record, RunRecord | AuditRecord):
        raise ResultsError(
            f"{type(record).__name__}: is no record of a run or an audit; give what run returns"
        )
    return Values(record)
