"""Statements and their parts as a file of sources has them, each key checked for itself."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StrictBool
from pydantic_core import PydanticCustomError

from verify.engine import computations
from verify.evidence import Outcome, Record, Slug
from verify.evidence.texts import prose

_EVIDENCE = re.compile(r"verdict|(?:check|control|fact):[a-z0-9]+(?:-[a-z0-9]+)*")
_FIGURE = re.compile(r"-?[0-9]+(?:\.[0-9]+)?%?")


def is_figure(text: str) -> bool:
    """Return whether ``text`` is a decimal number as printed, such as ``"0.880"`` or ``"26.89%"``."""
    return _FIGURE.fullmatch(text) is not None


def _prose(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("empty", "must not be empty; write what it should say")
    if text.count("$") % 2:
        raise PydanticCustomError("dollar", "has a dollar sign without its partner; put LaTeX between two")
    # A text in several lines of the file is one line here.
    return prose(" ".join(text.split()))


def _evidence(text: str) -> str:
    if not _EVIDENCE.fullmatch(text):
        forms = '"verdict", "check:ID", "control:ID" or "fact:ID"'
        raise PydanticCustomError("evidence", f"is not a kind of evidence; write {forms}")
    return text


def _printed(text: str) -> str:
    if not is_figure(text):
        raise PydanticCustomError("printed", 'is not a decimal number; write it as in "0.880" or "26.89%"')
    return text


Prose = Annotated[str, AfterValidator(_prose)]


class PartEntry(Record):
    """One thing a statement says, as the file has it; ``about`` when the source itself says "about".

    ``kind`` "prints" is for what stands on the page: a figure, a formula, a line of code, an axis. Either
    the ``evidence`` of a ``claim`` decides it, or what it has computed. ``given`` are the numbers of its
    text that nothing decides.
    """

    text: Prose
    claim: Slug | None = None
    evidence: Annotated[str, AfterValidator(_evidence)] | None = None
    compute: dict[str, Any] | None = None
    kind: Literal["says", "prints"]
    printed: Annotated[str, AfterValidator(_printed)] | None = None
    about: StrictBool = False
    given: tuple[str, ...] = ()

    @property
    def evidence_kind(self) -> str:
        """What decides this part: ``"verdict"``, ``"check"``, ``"control"``, ``"fact"`` or ``"compute"``."""
        return "compute" if self.compute is not None else (self.evidence or "").partition(":")[0]

    @property
    def evidence_id(self) -> str:
        """The id of the check, control or fact, or the computation's name; empty for a verdict."""
        if self.compute is not None:
            return str(self.compute.get("what", ""))
        return (self.evidence or "").partition(":")[2]

    @property
    def evidence_claim(self) -> str:
        """The claim that decides this part, or whose derivation is evaluated."""
        return computations.computation(self.evidence_id).CLAIM if self.compute else self.claim or ""


class StatementEntry(Record):
    """A statement as the file has it; ``claim`` is the claim that mainly decides it, if one does.

    ``note`` was written for the outcome ``noted``; a run that decides otherwise, and one without a note,
    gives its own reasons. ``given`` are the numbers of its text that no part decides.
    """

    id: Slug
    source: str
    text: Prose
    claim: Slug | None = None
    note: Prose | None = None
    noted: Outcome | None = None
    given: tuple[str, ...] = ()
    parts: tuple[PartEntry, ...] = Field(alias="part")
