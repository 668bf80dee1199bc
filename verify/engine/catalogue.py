"""Finds the claims, refuses duplicates and malformed files by name, and picks those asked for.

A claim comes with the tool, from a file of the user's own, which is imported, or from a program that uses
the tool. It is known by an `Entry`, which loads the claim when it is needed.
"""

import ast
import hashlib
import importlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

import verify.claims
from verify.claims.chapters import CHAPTERS, ORDER
from verify.errors import ClaimError, VerifyError, nearest, place_in, what_is_wrong
from verify.evidence import RESERVED, SLUG, USER
from verify.evidence.load import meant, numbers
from verify.files import MEGABYTE, InputKind, read_bytes
from verify.spec.claim import Claim

_CLAIM_FILE = InputKind(MEGABYTE, ClaimError, "give --claims the path of a Python file of at most 1 MB")
_CORRECT = "correct the claim file"

Beside = tuple[tuple[str, bytes], ...]
"""Names and texts of modules in the folder of a claim file."""


@dataclass(frozen=True)
class Entry:
    """A claim by where it comes from: shipped with the tool, from a file of the user's, or from a program.

    A shipped claim is known by its chapter and id. Of a claim file, ``origin`` is the path, ``text`` what was
    read, which goes with it to workers, and ``beside`` the modules in its folder that it imports: its entries
    in the store depend on them. A claim that was ``made`` in this process may hold anything, and stays here.
    """

    id: str
    chapter: str
    origin: Path | None = None
    text: bytes = field(default=b"", repr=False)
    beside: Beside = field(default=(), repr=False)
    made: Claim | None = field(default=None, repr=False, compare=False)

    @property
    def claim(self) -> Claim:
        """The claim itself, loaded once in each process; that of a file by running the file."""
        if self.made is not None:
            return self.made
        if self not in _LOADED:
            if self.origin is None:
                module = importlib.import_module(str(self))
                _LOADED[self] = _claim_of(module, str(self), Path(self.id), self.chapter)
            else:
                _LOADED[self], _ = _run(self.origin, self.text)
        return _LOADED[self]

    def __str__(self) -> str:
        if self.made is not None:
            return f"Claim {self.made.title!r}"
        return str(self.origin or f"verify.claims.{self.chapter}.{self.id.replace('-', '_')}")


_LOADED: dict[Entry, Claim] = {}

ClaimSpecifier = str | Path | Claim | Entry
"""A name of a claim: its id, the path of its file, or the claim itself."""


@cache
def shipped() -> dict[str, Entry]:
    """Return the claims that come with the tool by id, in the order of the report; none is loaded."""
    paths = sorted(Path(verify.claims.__path__[0]).glob("*/*.py"))
    claims = [path for path in paths if path.stem != "__init__"]
    return _in_order([Entry(path.stem.replace("_", "-"), path.parent.name) for path in claims])


@cache
def catalogue() -> dict[str, Claim]:
    """Return the claims themselves that come with the tool."""
    return {name: entry.claim for name, entry in shipped().items()}


def look_up(claims: Sequence[ClaimSpecifier]) -> tuple[dict[str, Entry], tuple[str, ...]]:
    """Return all claims by id, in the order of the report, and the ids of those named, by id or number.

    Raises:
        ClaimError: a file cannot be loaded or has no ``CLAIM``, a claim has no id, or two share an id; that
            an id is unknown is for ``choose`` to say.
    """
    entries: list[Entry] = [*shipped().values()]
    names: list[str] = []
    for given in claims:
        if isinstance(given, str):
            names.append(given)
            continue
        if isinstance(given, Path):
            entry = read(given)
        elif isinstance(given, Entry):
            entry = given
        elif not given.id:
            raise ClaimError(
                f"Claim {given.title!r}: has no id; give it one, such as Claim(id='my-claim', …)"
            )
        elif (ships := shipped().get(given.id)) and ships.claim is given:
            entry = ships
        else:
            entry = Entry(given.id, USER, made=given.placed(given.id, USER, {}))
        # Claims made here may be of one id by mistake, which is said below.
        if entry.made or entry not in entries:
            entries.append(entry)
        names.append(entry.id)
    known = _in_order(entries)
    by_number = {number: name for name, number in numbers(known, known).items()}
    return known, tuple(by_number.get(name, name) for name in names)


def _in_order(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return entries by id in the order of the report."""
    by_id: dict[str, Entry] = {}
    for entry in entries:
        where = f"{entry}: claim id {entry.id!r}"
        if entry.id in RESERVED:
            raise ClaimError(f"{where} means something else in keys; choose another")
        if entry.id in by_id:
            raise ClaimError(f"{where} is taken by {by_id[entry.id]}; choose another")
        by_id[entry.id] = entry
    chapters = list(CHAPTERS)

    def place(entry: Entry) -> tuple[int, int, str]:
        # A claim without a place comes last in its chapter; those of the user's own are in the last chapter.
        known = ORDER.index(entry.id) if entry.id in ORDER else len(ORDER)
        return chapters.index(entry.chapter), known, entry.id

    return {entry.id: entry for entry in sorted(entries, key=place)}


def choose(claims: Mapping[str, Entry], wanted: Iterable[str]) -> dict[str, Entry]:
    """Return the claims asked for, in the order of the report; all of them if none is named.

    Raises:
        ClaimError: there is no claim of that id; those that are known by such a word, or the nearest, are
            suggested.
    """
    names = set(wanted)
    for name in sorted(names - set(claims)):
        if name.endswith(".py"):
            raise ClaimError(f"{name}: is a file, and no claim's id; give it with --claims {name}")
        near = meant(name, claims) or nearest(name, claims) or "`sdpa-verify list` shows them all"
        raise ClaimError(f"no claim {name!r}; {near}")
    return {name: claim for name, claim in claims.items() if not names or name in names}


# --- files of the user's own ---


def read(path: Path) -> Entry:
    """Return a claim file of the user's own as it is now; this runs it.

    Raises:
        ClaimError: it cannot be loaded or has no ``CLAIM``.
    """
    if path.is_dir():
        raise ClaimError(f"{path}: is a folder; give one claim file, and --claims again for each more")
    text = read_bytes(path, _CLAIM_FILE)
    claim, beside = _run(path, text)
    entry = Entry(claim.id, USER, path, text, beside)
    _LOADED[entry] = claim
    return entry


_BESIDE: set[str] = set()  # names of modules that were imported from beside a claim file


def _run(path: Path, text: bytes) -> tuple[Claim, Beside]:
    """Return the claim of a file, and the modules in its folder that it imports at its top."""
    if path.suffix != ".py":
        raise ClaimError(f"{path}: not a Python file; a claim file ends in .py")
    # Modules beside two claim files may have the same name, and may have been edited.
    for other in _BESIDE:
        sys.modules.pop(other, None)
    # The same in every process: pickles refer to it.
    name = f"user_claim_{hashlib.sha256(path.stem.encode() + text).hexdigest()[:16]}"
    module, before, folder = ModuleType(name), set(sys.modules), path.resolve().parent
    vars(module)["__file__"] = str(path)
    # A dataclass looks its own module up there, and so does a pickle.
    sys.modules[name] = module
    # Behind all others: a statistics.py beside it does not take the place of Python's. That of a program in
    # the same folder stays where it is.
    added = [str(folder)] if str(folder) not in sys.path else []
    sys.path += added
    sys.dont_write_bytecode, writes = True, sys.dont_write_bytecode
    importlib.invalidate_caches()
    try:
        exec(compile(text, str(path), "exec"), vars(module))  # noqa: S102 - that is what a claim file is for
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[name]
        place, what = place_in(str(path), error), what_is_wrong(error)
        if isinstance(error, SyntaxError) and error.filename == str(path):
            place, what = f"line {error.lineno}", str(error.msg)
        elif isinstance(error, VerifyError):
            what = str(error)
        raise ClaimError(f"{path}: {place}{': ' if place else ''}{what}; {_CORRECT}") from error
    finally:
        for entry in added:
            sys.path.remove(entry)
        sys.dont_write_bytecode = writes
        imported = sys.modules.keys() - before - {name}
        files = {other: getattr(sys.modules[other], "__file__", None) for other in imported}
        beside = {other: Path(file) for other, file in files.items() if file and Path(file).parent == folder}
        _BESIDE.update(beside)
    texts = sorted((other, file.read_bytes()) for other, file in beside.items())
    return _claim_of(module, str(path), path, USER), tuple(texts)


def _claim_of(module: ModuleType, origin: str, path: Path, chapter: str) -> Claim:
    """Return the claim that a module defines, by its file's name and its chapter; errors name ``origin``."""
    claim, name = getattr(module, "CLAIM", None), path.stem.replace("_", "-")
    if not isinstance(claim, Claim):
        raise ClaimError(f"{origin}: defines no CLAIM; end the file with CLAIM = Claim(title=…, …)")
    if not claim.id and not re.fullmatch(SLUG, name):
        raise ClaimError(
            f"{origin}: the file's name gives the claim's id, my_claim.py my-claim; "
            "rename it to lower-case words joined by underscores"
        )
    defined = dict(vars(module))
    if sys.flags.optimize > 1 and not claim.title:
        # Python has dropped the docstring, of which the title is the first line.
        defined["__doc__"] = ast.get_docstring(ast.parse(Path(str(module.__file__)).read_bytes()))
    try:
        return claim.placed(name, chapter, defined)
    except ClaimError as error:
        raise ClaimError(f"{origin}: {error}; {_CORRECT}") from error
