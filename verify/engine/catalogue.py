"""Finds the claims, refuses duplicates and malformed files by name, and picks those asked for.

A claim comes with the tool, from a file of the user's own, whose functions run in other processes only, or
from a program that uses this one.
"""

import ast
import builtins
import hashlib
import importlib
import pkgutil
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pydantic import ValidationError

import verify.claims
from verify.claims.chapters import CHAPTERS
from verify.errors import (
    ClaimError,
    VerifyError,
    WorkerError,
    correction,
    described,
    place_in,
    unknown,
    what_is_wrong,
)
from verify.evidence import RESERVED, SLUG
from verify.executors.workers import Task, Workers, using
from verify.files.reading import MEGABYTE, InputKind, read_bytes
from verify.spec.claim import USER, Claim
from verify.spec.words import titled

_CLAIM_FILE = InputKind(MEGABYTE, ClaimError, "give --claims the path of a Python file of at most 1 MB")


CORRECT = "correct the claim file"
"""Ends a message that begins with the file."""


Beside = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, kw_only=True)
class ClaimFile:
    """What the claim in a file of the user's own says; its functions run in other processes only.

    ``text`` is the file's, as it was when it was read: a run goes by that, whatever becomes of the file.
    ``beside`` are the names and texts of the modules in the same folder that it imports.
    """

    path: Path
    text: bytes = field(repr=False)
    beside: Beside = field(repr=False, default=())
    id: str
    title: str
    statement: str
    meaning: str
    chapter: str = USER

    @property
    def module(self) -> str:
        """The name of the module that the file makes, a function of its name and texts."""
        return _module_name(self.path, self.text, self.beside)


@dataclass(frozen=True)
class BuiltIn:
    """A claim that comes with the tool, by its chapter and id."""

    chapter: str
    id: str


@dataclass(frozen=True, eq=False)
class InMemoryClaim:
    """A claim made in this process, which may hold anything and stays here."""

    claim: Claim

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.claim.id


ClaimReference = BuiltIn | ClaimFile | InMemoryClaim
"""What a task names its claim by; all but an ``InMemoryClaim`` can be sent to another process."""


def reference(claim: Claim | ClaimFile) -> ClaimReference:
    """Return what names a claim: in memory, unless it is a file or comes with the tool as it is."""
    if isinstance(claim, ClaimFile):
        return claim
    return BuiltIn(claim.chapter, claim.id) if catalogue().get(claim.id) is claim else InMemoryClaim(claim)


def resolve(reference: ClaimReference) -> Claim:
    """Return the claim that is named; of a claim file, this runs the file.

    Raises:
        ClaimError: the file cannot be loaded or has no ``CLAIM``.
    """
    if isinstance(reference, InMemoryClaim):
        return reference.claim
    if isinstance(reference, ClaimFile):
        return load(reference.path, reference.text, reference.beside)
    return built_in(reference.chapter, reference.id.replace("-", "_"))


Entries = dict[str, Claim | ClaimFile]
"""Claims by id."""

ClaimSpecifier = str | Path | Claim | ClaimFile
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


def look_up(
    claims: Sequence[ClaimSpecifier], workers: Workers | None = None
) -> tuple[Entries, tuple[str, ...]]:
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
                origin = f"Claim {one.title!r}"
                if not one.id:
                    raise ClaimError(f"{origin}: has no id; give it one, such as Claim(id='my-claim', …)")
                own.append((one.placed(one.id, USER, {}), origin))
        else:
            claim = next(loaded)
            names.append(claim.id)
            own.append((claim, str(claim.path)))
    return _sorted([*_built_in(), *own]), tuple(names)


def _path_of(claim: ClaimSpecifier) -> Path | None:
    """Return the file of a claim of the user's own, None where it has none or an id names it."""
    return claim.path if isinstance(claim, ClaimFile) else claim if isinstance(claim, Path) else None


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


def broken(claim: Claim | ClaimReference, error: WorkerError) -> ClaimError:
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


def shipped(name: str) -> Claim | None:
    """Return the claim of that id that comes with the tool, None if there is none, without loading others."""
    if not re.fullmatch(SLUG, name):
        return None
    found = [*Path(verify.claims.__path__[0]).glob(f"*/{name.replace('-', '_')}.py")]
    return built_in(found[0].parent.name, found[0].stem) if len(found) == 1 else None


def numbers(claims: Mapping[str, _Claim], chosen: Iterable[str]) -> dict[str, str]:
    """Return the numbers of the ``chosen`` ones of all ``claims`` by id: chapter and place, such as ``1.2``.

    Where all of them are the user's own they have no chapter, and are counted from 1.
    """
    if all(claims[name].chapter == USER for name in chosen):
        return {name: str(place) for place, name in enumerate(chosen, 1)}
    found: dict[str, str] = {}
    for number, (_, some) in enumerate(groupby(claims, lambda name: claims[name].chapter), 1):
        found |= {name: f"{number}.{place}" for place, name in enumerate(some, 1)}
    return {name: found[name] for name in chosen}


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
    for path in files:
        if path.is_dir():
            raise ClaimError(f"{path}: is a folder; give one claim file, and --claims again for each more")
    texts = [read_bytes(path, _CLAIM_FILE) for path in files]
    given = [(path, text, _beside(path, text)) for path, text in zip(files, texts, strict=True)]
    try:
        with using(workers or 1) as some:
            done = dict(some.run_tasks([Task(read, one, str(one[0])) for one in given]))
    except WorkerError as error:
        raise ClaimError(f"{files[error.place]}: {error}; {CORRECT}") from error
    return [replace(done[place], text=text, beside=beside) for place, (_, text, beside) in enumerate(given)]


_NEVER_BESIDE = sys.stdlib_module_names | {"verify", "numpy", "scipy", "sympy", "mpmath"}


def _beside(path: Path, text: bytes) -> Beside:
    """Return the modules in the folder of a claim file that it imports, and those that these import."""
    found: dict[str, bytes] = {}
    waiting = [text]
    while waiting:
        for name in imported(waiting.pop()):
            place = path.with_name(f"{name}.py")
            if name not in found.keys() | _NEVER_BESIDE and place.is_file():
                found[name] = read_bytes(place, _CLAIM_FILE)
                waiting.append(found[name])
    return tuple(sorted(found.items()))


def imported(text: bytes) -> set[str]:
    """Return the names of the modules that a program imports, up to their first dots."""
    modules: set[str] = set()
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    return modules


def read(path: Path, text: bytes, beside: Beside = ()) -> ClaimFile:
    """Return what a claim file of this text says; this runs the file.

    Raises:
        ClaimError: it cannot be loaded or has no ``CLAIM``.
    """
    claim = load(path, text, beside)
    return ClaimFile(
        path=path,
        text=text,
        id=str(claim.id),
        title=titled(claim),
        statement=str(claim.statement),
        meaning=str(claim.meaning),
    )


@cache
def load(path: Path, text: bytes, beside: Beside = ()) -> Claim:
    """Return the claim of a file of the user's own; this runs its text, whatever it does.

    It, and its functions later, import the modules ``beside`` it as they were when they were read.

    Raises:
        ClaimError: it cannot be loaded or has no ``CLAIM``.
    """
    if path.suffix != ".py":
        raise ClaimError(f"{path}: not a Python file; a claim file ends in .py")
    name = _module_name(path, text, beside)
    try:
        module = _executed(name, path, text, _importing(path, name, dict(beside)))
    except BaseException as error:
        raise ClaimError(f"{path}:{_mistake(path, error)}; {CORRECT}") from error
    return claim_of(module, str(path), path, USER)


def _module_name(path: Path, text: bytes, beside: Beside) -> str:
    digest = hashlib.sha256(repr((path.stem, text, beside)).encode()).hexdigest()
    return f"user_claim_{digest[:16]}"


def _executed(name: str, path: Path, text: bytes, importing: Callable[..., ModuleType]) -> ModuleType:
    """Return the module that a text makes, which imports by a function of its own."""
    module = ModuleType(name)
    vars(module).update(__file__=str(path), __builtins__={**vars(builtins), "__import__": importing})
    # A dataclass looks its own module up there, and so does a pickle.
    sys.modules[name] = module
    try:
        exec(compile(text, str(path), "exec"), vars(module))  # noqa: S102 - that is what a claim file is for
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _importing(path: Path, module: str, texts: Mapping[str, bytes]) -> Callable[..., ModuleType]:
    """Return how a claim file of this path and ``module`` imports, and the modules beside it do.

    Their names for all others begin with that of its module: others may have modules of the same names.
    """
    lock = threading.RLock()

    def importing(name: str, *given: Any, **named: Any) -> ModuleType:
        first, _, inner = name.partition(".")
        if first not in texts or any(given[3:]):  # which is relative
            return __import__(name, *given, **named)
        if inner:
            raise ModuleNotFoundError(f"No module named {name!r}; {first!r} is not a package")
        full = f"{module}.{name}"
        with lock:
            return sys.modules.get(full) or _executed(
                full, path.with_name(f"{name}.py"), texts[name], importing
            )

    return importing


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
            f"{origin}: the file's name gives the claim's id, my_claim.py my-claim; "
            "rename it to lower-case words joined by underscores"
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
