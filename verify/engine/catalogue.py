"""Finds the claims, refuses duplicates and malformed files by name, and picks those asked for."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import verify.claims
from verify.claims.chapters import CHAPTERS
from verify.engine.claim_files import CORRECT, ClaimFile, claim_of, load, read
from verify.errors import (
    ClaimError,
    WorkerError,
    correction,
    unknown,
)
from verify.evidence import RESERVED
from verify.executors.workers import Task, Workers, using
from verify.files.reading import MEGABYTE, Kind, read_bytes
from verify.spec.claim import USER, Claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


_CLAIM_FILE = Kind(MEGABYTE, ClaimError, "check the path given with --claims, of a file of at most 1 MB")


@dataclass(frozen=True)
class BuiltIn:
    """A claim that comes with the tool, by its chapter and id."""

    chapter: str
    id: str


@dataclass(frozen=True, eq=False)
class Made:
    """A claim made in this process, which may hold anything and stays here."""

    claim: Claim

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.claim.id


Reference = BuiltIn | ClaimFile | Made
"""What a task names its claim by; all but a ``Made`` one can be sent to another process."""


def reference(claim: Claim | ClaimFile) -> Reference:
    """Return what names a claim; one that the tool does not come with as it is was made in this process."""
    if isinstance(claim, ClaimFile):
        return claim
    return BuiltIn(claim.chapter, claim.id) if catalogue().get(claim.id) is claim else Made(claim)


def resolve(reference: Reference) -> Claim:
    """Return the claim that is named; of a claim file, this runs the file.

    Raises:
        ClaimError: the file cannot be loaded or has no ``CLAIM``.
    """
    if isinstance(reference, Made):
        return reference.claim
    if isinstance(reference, ClaimFile):
        return load(reference.path, reference.text)
    return built_in(reference.chapter, reference.id.replace("-", "_"))


Entries = dict[str, Claim | ClaimFile]
"""Claims by id."""

Named = str | Path | Claim | ClaimFile
"""What names a claim: its id, the path of its file, or the claim itself."""

_Claim = TypeVar("_Claim", bound=Claim | ClaimFile)


def catalogue() -> dict[str, Claim]:
    """Return the claims that come with the tool by id, in the order of the report.

    Raises:
        ClaimError: one of them is malformed, or two share an id.
    """
    return _sorted(_built_in())


def catalogue_with(own: Sequence[Path | Claim | ClaimFile], workers: Workers | None = None) -> Entries:
    """Return all claims, the user's ``own`` included, as ``catalogue`` does.

    Files are loaded by ``workers``, one if None is given, never in this process.

    Raises:
        ClaimError: a file cannot be loaded or has no ``CLAIM``, a claim has no id, or two share one.
    """
    known, _ = look_up(own, workers)
    return known


def look_up(claims: Sequence[Named], workers: Workers | None = None) -> tuple[Entries, tuple[str, ...]]:
    """Return all claims, as ``catalogue_with`` does, and the ids of those named.

    Raises:
        ClaimError: as of ``catalogue_with``; that an id is unknown is for ``choose`` to say.
    """
    shipped = catalogue()
    files = [path for one in claims if (path := _path_of(one)) is not None]
    loaded = iter(_read(files, workers))
    own: list[tuple[Claim | ClaimFile, str]] = []
    names: list[str] = []
    for one in claims:
        if isinstance(one, str):
            names.append(one)
        elif isinstance(one, Claim):
            names.append(one.id)
            if shipped.get(one.id) is not one:
                own.append(_own(one))
        else:
            claim = next(loaded)
            names.append(claim.id)
            own.append((claim, str(claim.path)))
    return _sorted([*_built_in(), *own]), tuple(names)


def _path_of(claim: Named) -> Path | None:
    """Return the file of a claim of the user's own, None where it has none or an id names it."""
    return claim.path if isinstance(claim, ClaimFile) else claim if isinstance(claim, Path) else None


def _own(claim: Claim) -> tuple[Claim, str]:
    """Return a claim made by the user's own program, with its origin."""
    origin = f"Claim {claim.title!r}"
    if not claim.id:
        raise ClaimError(f"{origin}: has no id; give it one, such as Claim(id='my-claim', …)")
    return claim.placed(claim.id, USER, {}), origin


def _sorted(entries: Sequence[tuple[_Claim, str]]) -> dict[str, _Claim]:
    """Return claims by id; each comes with its origin, for messages."""
    found: dict[str, _Claim] = {}
    origins: dict[str, str] = {}
    for claim, origin in entries:
        if claim.id in RESERVED:
            raise ClaimError(f"{origin}: claim id {claim.id!r} means something else in keys; choose another")
        if claim.id in found:
            raise ClaimError(
                f"{origin}: claim id {claim.id!r} is taken by {origins[claim.id]}; choose another"
            )
        found[claim.id], origins[claim.id] = claim, origin
    order = list(CHAPTERS)

    def place(claim: _Claim) -> tuple[int, tuple[int, str]]:
        return order.index(claim.chapter), CHAPTERS[claim.chapter].place(claim.id)

    return {claim.id: claim for claim in sorted(found.values(), key=place)}


def broken(claim: Claim | Reference, error: WorkerError) -> ClaimError:
    """Return what ended the process that worked for ``claim`` as an error that names it."""
    if isinstance(claim, ClaimFile):
        return ClaimError(f"claim {claim.id}: {error}; {correction(claim.path)}")
    return ClaimError(f"claim {claim.id}: {error}; run it again, and report it if it ends so again")


def choose(claims: Mapping[str, _Claim], wanted: Iterable[str]) -> dict[str, _Claim]:
    """Return the claims asked for, in the order of the report; all of them if none is named.

    Raises:
        ClaimError: there is no claim of that id; the nearest one is suggested.
    """
    names = set(wanted)
    for name in sorted(names - set(claims)):
        raise ClaimError(unknown("claim", name, claims, "`sdpa-verify list` shows them all"))
    return {name: claim for name, claim in claims.items() if not names or name in names}


@cache
def _built_in() -> tuple[tuple[Claim, str], ...]:
    modules = pkgutil.walk_packages(verify.claims.__path__, "verify.claims.")
    names = sorted(info.name for info in modules if not info.ispkg and info.name.count(".") == 3)
    return tuple((built_in(*name.split(".")[2:]), name) for name in names)


@cache
def built_in(chapter: str, module: str) -> Claim:
    """Return the claim of one module of a chapter, one that comes with the tool."""
    name = f"verify.claims.{chapter}.{module}"
    return claim_of(importlib.import_module(name), name, Path(module), chapter)


def _read(files: Sequence[Path], workers: Workers | None) -> list[ClaimFile]:
    """Return what each file says, in their order."""
    texts = [read_bytes(path, _CLAIM_FILE) for path in files]
    given = list(zip(files, texts, strict=True))
    try:
        with using(workers or 1) as some:
            done = dict(some.run_tasks([Task(read, one, isolate=str(one[0])) for one in given]))
    except WorkerError as error:
        raise ClaimError(f"{files[error.place]}: {error}; {CORRECT}") from error
    return [replace(done[place], text=text) for place, text in enumerate(texts)]
