"""Every error the tool raises for misuse or bad input; outcomes of a verification are values, not errors."""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verify.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class VerifyError(Exception):
    """Bad input or an impossible request; its text is one line: what, where, how to fix.

    ``exit_status`` is what the command line ends with.
    """

    exit_status = 2


class ClaimError(VerifyError):
    """A claim, or a part of one, is unknown, malformed, or its file cannot be loaded."""


class SourcesError(VerifyError):
    """The file of source statements cannot be read or is malformed."""


class ResultsError(VerifyError):
    """A results file cannot be read, is cut short, or has another schema."""


class RecordingError(VerifyError):
    """A recording of attention calls cannot be read or made, or its arrays do not fit each other."""


class OutputError(VerifyError):
    """Something could not be written; what was there before is untouched."""


class SettingsError(VerifyError):
    """A setting is outside what it may be."""


class CitationError(VerifyError):
    """There is no such value to quote, or a document's markers are malformed."""


class RenderError(VerifyError):
    """A rendering step could not be done; the results themselves are complete."""

    exit_status = 4


class WorkerError(VerifyError):
    """A process ended, or raised what nobody foresaw, while it worked on the task at ``place``."""

    def __init__(self, text: str, place: int = 0) -> None:
        super().__init__(text)
        self.place = place


@contextmanager
def claim_errors(claim: str, origin: object = "") -> Iterator[None]:
    """Report whatever a claim's own code raises as a mistake in that claim, and in the file ``origin``.

    Errors of ours that mean bad input pass; no claim can say that a report could not be rendered.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, VerifyError) and error.exit_status == VerifyError.exit_status:
            raise
        raise ClaimError(f"claim {claim}: {what_is_wrong(error)}; {correction(origin)}") from error


def what_is_wrong(error: BaseException) -> str:
    """Return an error in one line; of the mistakes that validation found, the place and text of the first."""
    from pydantic import ValidationError  # noqa: PLC0415 - the command line's help does without

    if not isinstance(error, ValidationError):
        return one_line(" ".join(f"{type(error).__name__}: {error}".split()))
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return one_line(f"{'.'.join(map(str, first['loc'])) or error.title}: {first['msg']}")


@contextmanager
def unforeseen() -> Iterator[None]:
    """Raise what nobody foresaw while written results are rendered as a RenderError."""
    try:
        yield
    except (VerifyError, OSError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        # Among them panics of compiled libraries, which are no Exceptions.
        raise RenderError(
            f"rendering: not foreseen: {what_is_wrong(error)}; the results are written; please report it"
        ) from error


def unknown(what: str, name: str, known: Iterable[str], otherwise: str) -> str:
    """Return in one line that there is no ``what`` of this name, with the nearest, else what to do."""
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
    return f"no {what} {name!r}; " + (f"did you mean {near[0]!r}?" if near else otherwise)


def correction(origin: object = "") -> str:
    """Return what to do about a claim's own code."""
    return f"correct the claim file {origin}" if origin else "correct the claim"
