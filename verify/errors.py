"""Every error the tool raises for misuse or bad input; outcomes of a verification are values, not errors."""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from verify.text.escapes import one_line


class VerifyError(Exception):
    """Bad input or an impossible request; its text is one line: what, where, how to fix.

    ``exit_status`` is what the command line ends with.
    """

    exit_status = 2


class ClaimError(VerifyError):
    """A claim, or a part of it, is unknown, malformed, or its file cannot be loaded."""


class SourcesError(VerifyError):
    """The file of source statements cannot be read or is malformed."""


class RecordingError(VerifyError):
    """A recording of attention calls cannot be read or made, or its arrays do not fit each other."""


class OutputError(VerifyError):
    """Something could not be written; what was there before is untouched."""


class StoreError(VerifyError):
    """The cache of drawn chunks and derivations cannot be opened, read or written."""


class SettingsError(VerifyError):
    """A setting is outside what it may be."""


class CitationError(VerifyError):
    """There is no such value to quote, or a document's markers are malformed."""


class RenderError(VerifyError):
    """A rendering step could not be done; the results themselves are complete."""

    exit_status = 4


@contextmanager
def claim_errors(claim: str, origin: object = "") -> Iterator[None]:
    """Report whatever a claim's own code raises as a mistake in that claim, with its place in ``origin``.

    ``origin`` is the claim's file. Errors of ours that mean bad input pass, of which a ClaimError on a call
    from the file gets its place as well; no claim can say that a report could not be rendered.
    """
    try:
        yield
    except Exception as error:
        place, what = place_in(str(origin), error), what_is_wrong(error)
        where = f"claim {claim}: {place}{': ' if place else ''}"
        if isinstance(error, VerifyError) and error.exit_status == VerifyError.exit_status:
            if type(error) is not ClaimError or not origin or str(origin) in str(error):
                raise
            # What the tool says of a claim names it already.
            where, what = where if place else "", str(error)
        fix = f"correct the claim file {origin}" if origin else "correct the claim"
        raise ClaimError(f"{where}{what}; {fix}") from error


def place_in(path: str, error: BaseException) -> str:
    """Return the innermost line of a file that an error came through, as ``line 47, in figures``.

    Without the function where the file's own top is meant, and nothing where the error passed no line of it.
    """
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_code.co_filename == path:
            # A lambda or a comprehension is part of the function that it stands in.
            name = frame.f_code.co_qualname.partition(".<")[0]
            return f"line {line}" + ("" if name.startswith("<") else f", in {name}")
    return ""


def described(error: BaseException) -> str:
    """Return an error of Python's in one line: its name, and what it says, if anything."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def what_is_wrong(error: BaseException) -> str:
    """Return an error in one line; of the mistakes that validation found, the place and text of the first."""
    from pydantic import ValidationError  # noqa: PLC0415 - the command line's help does without

    if not isinstance(error, ValidationError):
        return one_line(described(error))
    first = error.errors(include_url=False, include_context=False)[0]
    place, given = ".".join(map(str, first["loc"])) or error.title, first["input"]
    # A number out of range shows what was meant; all else may be a whole document.
    shows = isinstance(given, int | float) and first["type"] != "extra_forbidden"
    place += f" {given}" if shows else ""
    return one_line(f"{place}: {first['msg'].removeprefix('Value error, ').removeprefix('Input ')}")


def unknown(what: str, name: str, known: Iterable[str], otherwise: str) -> str:
    """Return in one line that there is no ``what`` of this name, with the nearest, else what to do."""
    return f"no {what} {name!r}; " + (nearest(name, known) or otherwise)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the question whether the known name that is nearest was meant; nothing if none is near."""
    by_case, meant = {other.lower(): other for other in known}, str(name).lower()
    words = {other: re.split(r"[\W_]+", other) for other in by_case}
    # A name that it is a word of comes first, as entropy is of attention-entropy; then one that looks alike.
    whole = [other for other in by_case if meant in words[other]]
    near = difflib.get_close_matches(meant, whole or by_case, n=1, cutoff=0.0 if whole else 0.55)
    # Then one of which it begins a word; a few letters match by chance.
    starts = (other for other in by_case if any(word.startswith(meant) for word in words[other]))
    near = near or [other for other in starts if len(meant) > 3]
    return f"did you mean {by_case[near[0]]!r}?" if near else ""
