"""Every error the tool raises for misuse or bad input; outcomes of a verification are values, not errors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class VerifyError(Exception):
    """Bad input or an impossible request; its text is one line: what, where, how to mend.

    ``exit_status`` is what the command line ends with.
    """

    exit_status = 2


class ClaimError(VerifyError):
    """A claim is unknown, malformed, or its file cannot be loaded."""


class SourcesError(VerifyError):
    """The file of source statements cannot be read or is malformed."""


class ResultsError(VerifyError):
    """A results file cannot be read, is cut short, or has another schema."""


class OutputError(VerifyError):
    """Something could not be written; what was there before is untouched."""


class SettingsError(VerifyError):
    """A setting is outside what it may be."""


class CitationError(VerifyError):
    """There is no such value to quote, or a document's markers are malformed."""


class RenderError(VerifyError):
    """A rendering step could not be done; the results themselves are complete."""

    exit_status = 4


@contextmanager
def own_code_of(claim: str) -> Iterator[None]:
    """Tell whatever a claim's own code raises as a mistake in that claim."""
    try:
        yield
    except VerifyError:
        raise
    except Exception as error:
        raise ClaimError(f"claim {claim}: {what_is_wrong(error)}; correct the claim file") from error


def what_is_wrong(error: Exception) -> str:
    """Return an error in one line; of the mistakes that validation found, the place and text of the first."""
    from pydantic import ValidationError  # noqa: PLC0415 - the command line's help does without

    if not isinstance(error, ValidationError):
        return " ".join(f"{type(error).__name__}: {error}".split())
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or error.title}: {first['msg']}"
