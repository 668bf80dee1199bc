"""What stored values depend on: the code that computes them, and all that it is given.

A key is a SHA-256 over everything that a value depends on. What cannot be known, such as a module of the
user's own that a claim file imports or a table that it reads, makes a value one that is not stored.
"""

import ast
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from verify.engine.catalogue import BuiltIn, ClaimFile, ClaimReference
from verify.engine.sources import Wanted
from verify.evidence import Settings
from verify.version import __version__

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of this package."""

_LIBRARIES = {"numpy", "scipy", "sympy", "mpmath"}
_DRAWING = ("montecarlo", "executors/machine.py")
_DERIVING = (*_DRAWING, "symbolic", "spec", "evidence", "engine/evaluate.py", "text", "errors.py")
_SETTLING = (*_DERIVING, "engine", "claims/chapters.py")

_PARTS = ("verify.spec", "verify.symbolic", "verify.montecarlo", "verify.evidence", "verify.text")
"""What a claim file may import of this tool and be stored: its code is in the keys."""

_PURE = {
    *("__future__", "abc", "bisect", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal"),
    *("enum", "fractions", "functools", "heapq", "itertools", "math", "numbers", "operator", "re"),
    *("statistics", "string", "textwrap", "types", "typing", "warnings"),
}
"""Python's own modules that give a program nothing but what stands in it."""

_REACHING_OUT = {
    *("open", "exec", "eval", "compile", "__import__", "__file__", "load", "loadtxt", "genfromtxt"),
    *("fromfile", "fromregex", "memmap", "DataSource", "io", "datasets", "ctypeslib"),
}
"""Names by which a program gets at other files and modules."""


@cache
def code(*parts: str) -> str:
    """Return a digest of the source of parts of this package: folders and files."""
    digest = hashlib.sha256()
    for part in parts:
        place = PACKAGE / part
        for path in sorted(place.rglob("*.py")) if place.is_dir() else (place,):
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def arithmetic() -> dict[str, str]:
    """Return what decides the last digits of sums: versions, and the instructions that compute them."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in ("numpy", "scipy")},
        "machine": platform.machine(),
        "level of -O": str(sys.flags.optimize),
        # Logarithms and exponentials come from there.
        "C library": " ".join((platform.system(), *platform.libc_ver())),
        "instructions": " ".join([*simd.get("baseline", ()), *simd.get("found", ())]),
        "linear algebra": " ".join(
            sorted(
                f"{one['internal_api']} {one['version']} {one.get('architecture', '')}"
                for one in threadpool_info()
                if one["user_api"] == "blas"
            )
        ),
    }


@cache
def made_by() -> dict[str, str]:
    """Return what another machine has to have in common with this one for its results to be the same."""
    tool = {"sdpa-verify": f"{__version__} ({code('.')[:12]})", "sympy": version("sympy")}
    return {**tool, **arithmetic()}


def derivation_key(claim: ClaimReference) -> bytes | None:
    """Return the key of a claim's checked derivation, None where it is not stored."""
    source = _source(claim)
    return None if source is None else _key("derivation", source, code(*_DERIVING), _computed_with())


def settled_key(claim: ClaimReference, settings: Settings, wanted: Iterable[Wanted]) -> bytes | None:
    """Return the key of a settled claim's whole record, None where it is not stored."""
    source = _source(claim)
    if source is None:
        return None
    evidence = [one.evidence for one in wanted]
    given = (claim.id, settings.model_dump(mode="json"), evidence)
    return _key("claim", source, code(*_SETTLING), _computed_with(), given)


def _computed_with() -> dict[str, str]:
    """Return what a claim's own code computes with, besides this tool's code."""
    return {"sympy": made_by()["sympy"], "mpmath": _mpmath(), **arithmetic()}


@cache
def _mpmath() -> str:
    return version("mpmath")


def cell_code(claim: ClaimReference, pickled: bytes, modules: Iterable[str]) -> str:
    """Return a digest of a cell and of the code that draws it, empty where it is not stored.

    ``pickled`` is the cell with its input and statistic, ``modules`` are those that it refers to.
    """
    source: tuple[object, ...] = ()
    for module in modules:
        name = module.partition(".")[0]
        if module == "verify.montecarlo" or module.startswith("verify.montecarlo."):
            continue
        if name == "verify" or (isinstance(claim, ClaimFile) and name == claim.module):
            found = _source(claim)
            if found is None:
                return ""
            source = found, code(*_DERIVING), _computed_with()
        elif name not in {"numpy", "scipy"} | sys.stdlib_module_names:
            return ""
    if not pickled:
        return ""
    return _key(source, pickled.hex(), code(*_DRAWING), arithmetic()).hex()


def chunk_key(drawn_by: str, seed: int, claim: str, cell: str, start: int, stop: int) -> bytes:
    """Return the key of the sums of a chunk's batches from ``start``, its first one, up to ``stop``."""
    return _key("chunk", drawn_by, str(seed), claim, cell, start, stop)


def _key(*parts: object) -> bytes:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


def _source(claim: ClaimReference) -> str | None:
    """Return a digest of a claim's source, None where that is not all it depends on."""
    if isinstance(claim, BuiltIn):
        chapter = f"claims/{claim.chapter}"
        shared = [f"{chapter}/shared"] if (PACKAGE / chapter / "shared").exists() else []
        return code(f"{chapter}/{claim.id.replace('-', '_')}.py", *shared)
    if isinstance(claim, ClaimFile):
        beside = [name for name, _ in claim.beside]
        if all(_is_self_contained(text, beside) for text in (claim.text, *(one for _, one in claim.beside))):
            return hashlib.sha256(repr((claim.text, claim.beside)).encode()).hexdigest()
    return None


def _is_self_contained(text: bytes, beside: Sequence[str]) -> bool:
    """Return whether all that a text needs is in it, ``beside`` it, in this tool and its libraries."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return False
    known = (module in beside or _is_known(module) for module in _imported(nodes))
    return not _names(nodes) & _REACHING_OUT and all(known)


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that a program reads, those of attributes and of what it imports among them."""
    names = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names |= set(node.name.split("."))
    return names


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the modules that a program imports, and what it imports from the tool itself as a module."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from [f"verify.{one.name}" for one in node.names] if module == "verify" else [module]


def _is_known(module: str) -> bool:
    if module.partition(".")[0] in _LIBRARIES | _PURE:
        return True
    return any(f"{module}.".startswith(f"{part}.") for part in _PARTS)


def _state() -> dict[str, tuple[int, int]]:
    """Return when each file of the code was changed, and its size."""

    def fail(error: OSError) -> None:
        raise error

    found: dict[str, tuple[int, int]] = {}
    for folder, _, names in os.walk(PACKAGE, onerror=fail):
        for path in (os.path.join(folder, name) for name in names if name.endswith(".py")):  # noqa: PTH118 - of 400
            state = os.stat(path)  # noqa: PTH116 - in a third of the time
            found[path] = state.st_mtime_ns, state.st_size
    return found


_LOADED = _state()


def is_as_loaded() -> bool:
    """Return whether no file of the code was changed since this module was imported.

    Otherwise what is computed here, or in a process begun later, may be the work of other code than the files
    now hold.

    Raises:
        OSError: that cannot be told, as where no more files may be open.
    """
    try:
        return _state() == _LOADED
    except FileNotFoundError:
        # A file went while its folder was read.
        return False
