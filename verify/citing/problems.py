"""What can be wrong with a quotation, and how it is put right."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from verify.citing.values import shortened

if TYPE_CHECKING:
    from pathlib import Path

    from verify.citing.markers import Quote


class Kind(StrEnum):
    """What is wrong with a quotation; the last two are warnings, which fail nothing."""

    STALE = "stale"
    UNKNOWN = "unknown-key"
    DOUBT = "no-longer-confirmed"
    MISTYPED = "mistyped-marker"
    RAW_LINE = "raw-html-line"
    MENTION = "claim-named"


_WARNINGS = frozenset([Kind.RAW_LINE, Kind.MENTION])


@dataclass(frozen=True, slots=True)
class Problem:
    """A quotation that is not so: where it is, what is wrong, and the text that would put it right.

    ``new`` is None where only the author can; then ``what`` says how.
    """

    path: Path
    quote: Quote
    kind: Kind
    what: str
    new: str | None = None

    @property
    def fixable(self) -> bool:
        """Whether `fix` puts it right."""
        return self.new is not None

    @property
    def is_warning(self) -> bool:
        """Whether it is only said."""
        return self.kind in _WARNINGS

    def __str__(self) -> str:
        """Return one line: file, line, key, what is wrong."""
        warning = "warning: " * self.is_warning
        return f"{self.path}:{self.quote.line}: {warning}{shortened(self.quote.key)}: {self.what}"
