"""Claims in files of the user's own: what one says, and what is wrong with one, by its line."""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import dataclass, field, fields
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from pydantic import ValidationError

from verify.errors import ClaimError, VerifyError, described, place_in, unknown, what_is_wrong
from verify.evidence import SLUG
from verify.spec.claim import USER, Claim
from verify.spec.words import titled

if TYPE_CHECKING:
    from pathlib import Path

CORRECT = "correct the claim file"
"""Ends a message that begins with the file."""


@dataclass(frozen=True, kw_only=True)
class ClaimFile:
    """What the claim in a file of the user's own says; its functions run in other processes only.

    ``text`` is the file's, as it was when it was read: a run goes by that, whatever becomes of the file.
    """

    path: Path
    text: bytes = field(repr=False)
    id: str
    title: str
    statement: str
    meaning: str
    chapter: str = USER

    @property
    def module(self) -> str:
        """The name of the module that the file makes, a function of its name and text."""
        return _module_name(self.path, self.text)


def read(path: Path, text: bytes) -> ClaimFile:
    """Return what a claim file of this text says; this runs the file.

    Raises:
        ClaimError: it cannot be loaded or has no ``CLAIM``.
    """
    claim = load(path, text)
    return ClaimFile(
        path=path,
        text=text,
        id=str(claim.id),
        title=titled(claim),
        statement=str(claim.statement),
        meaning=str(claim.meaning),
    )


@cache
def load(path: Path, text: bytes) -> Claim:
    """Return the claim of a file of the user's own; this runs its text, whatever it does.

    Raises:
        ClaimError: it cannot be loaded or has no ``CLAIM``.
    """
    if path.suffix != ".py":
        raise ClaimError(f"{path}: not a Python file; a claim file ends in .py")
    name = _module_name(path, text)
    module = ModuleType(name)
    module.__file__ = str(path)
    # A dataclass looks its own module up there, and so does a pickle.
    sys.modules[name] = module
    try:
        exec(compile(text, str(path), "exec"), vars(module))  # noqa: S102 - that is what a claim file is for
    except BaseException as error:
        del sys.modules[name]
        raise ClaimError(f"{path}:{_mistake(path, error)}; {CORRECT}") from error
    return claim_of(module, str(path), path, USER)


def _module_name(path: Path, text: bytes) -> str:
    digest = hashlib.sha256(path.stem.encode() + b"\0" + text).hexdigest()
    return f"user_claim_{digest[:16]}"


def claim_of(module: ModuleType, origin: str, path: Path, chapter: str) -> Claim:
    """Return the claim that a module defines, by its file's name and its chapter.

    Raises:
        ClaimError: it defines none, its name is no id, or its functions do not fit; ``origin`` names it.
    """
    claim = getattr(module, "CLAIM", None)
    if not isinstance(claim, Claim):
        raise ClaimError(f"{origin}: defines no CLAIM; end the file with CLAIM = Claim(title=…, …)")
    name = path.stem.replace("_", "-")
    if not claim.id and not re.fullmatch(SLUG, name):
        raise ClaimError(
            f"{origin}: a claim's id is its file's name, in lower-case words joined by underscores; rename it"
        )
    try:
        return claim.placed(name, chapter, vars(module))
    except ClaimError as error:
        raise ClaimError(f"{origin}: {error}; {CORRECT}") from error


def _mistake(path: Path, error: BaseException) -> str:
    """Return what went wrong and in which line of the file, the innermost one."""
    place = place_in(str(path), error)
    what = described(error)
    if isinstance(error, SyntaxError) and error.filename == str(path):
        place, what = f"line {error.lineno}", error.msg
    elif isinstance(error, ValidationError):
        what = f"{error.title} {what_is_wrong(error)}"
    elif isinstance(error, VerifyError):
        what = str(error)
    elif isinstance(error, ImportError | TypeError):
        what = _with_nearest(what)
    return f" {place}: {what}" if place else f" {what}"


def _with_nearest(what: str) -> str:
    """Return a complaint of Python's; where no such name can be imported or given, with the nearest."""
    if found := re.search(r"cannot import name '(\w+)' from '([\w.]+)'", what):
        # What Python says in brackets is a path of this machine.
        name, module = found.groups()
        otherwise = f"`help({module})` lists them"
        return f"ImportError: {module} has {unknown('name', name, dir(sys.modules.get(module)), otherwise)}"
    if found := re.search(r"Claim\.__init__\(\) got an unexpected keyword argument '(\w+)'", what):
        names = [one.name for one in fields(Claim)]
        return f"TypeError: Claim has {unknown('field', found[1], names, 'it has ' + ', '.join(names))}"
    return what
