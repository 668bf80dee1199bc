"""What stored values depend on: the code that computes them, and all that it is given.

A key is a SHA-256 over everything that a value depends on. What cannot be known, such as a module of the
user's own that a claim file imports, makes a value one that is not stored.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_info

from verify.engine.catalogue import BuiltIn
from verify.engine.claim_files import ClaimFile
from verify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.engine.catalogue import Reference
    from verify.engine.sources import Wanted
    from verify.evidence import Settings

_PACKAGE = Path(__file__).resolve().parents[1]
_LIBRARIES = {"numpy", "scipy", "sympy", "mpmath"}
_DRAWING = ("montecarlo",)
_SETTLING = ("montecarlo", "symbolic", "spec", "evidence", "engine", "claims/chapters.py", "errors.py")
_DERIVING = ("montecarlo", "symbolic", "spec", "evidence", "engine/evaluate.py")


@cache
def code(*parts: str) -> str:
    """Return a digest of the source of parts of this package: folders and files."""
    digest = hashlib.sha256()
    for part in parts:
        place = _PACKAGE / part
        for path in sorted(place.rglob("*.py")) if place.is_dir() else (place,):
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def arithmetic() -> dict[str, str]:
    """Return what decides the last digits of sums: versions, and the instructions that compute them."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in ("numpy", "scipy")},
        "machine": platform.machine(),
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


def derivation_key(claim: Reference) -> bytes | None:
    """Return the key of a claim's checked derivation, None where it is not stored."""
    source = _source(claim)
    if source is None:
        return None
    return _key("derivation", source, code(*_DERIVING), made_by()["sympy"], version("mpmath"), arithmetic())


def settled_key(claim: Reference, settings: Settings, wanted: Iterable[Wanted]) -> bytes | None:
    """Return the key of a settled claim's whole record, None where it is not stored."""
    source = _source(claim)
    if source is None:
        return None
    evidence = [one.evidence for one in wanted]
    given = (claim.id, settings.model_dump(mode="json"), evidence)
    return _key("claim", source, code(*_SETTLING), made_by()["sympy"], version("mpmath"), arithmetic(), given)


def cell_code(claim: Reference, pickled: bytes, modules: Iterable[str]) -> str:
    """Return a digest of a cell and of the code that draws it, empty where it is not stored.

    ``pickled`` is the cell with its input and statistic, ``modules`` are those that it refers to.
    """
    source = ""
    for module in modules:
        name = module.partition(".")[0]
        if module == "verify.montecarlo" or module.startswith("verify.montecarlo."):
            continue
        if name == "verify" or (isinstance(claim, ClaimFile) and module == claim.module):
            found = _source(claim)
            if found is None:
                return ""
            source = found + code(*_DERIVING)
        elif name not in _LIBRARIES | sys.stdlib_module_names:
            return ""
    if not pickled:
        return ""
    return _key(source, pickled.hex(), code(*_DRAWING), arithmetic()).hex()


def chunk_key(drawn_by: str, seed: int, claim: str, cell: str, start: int, stop: int) -> bytes:
    """Return the key of the sums of a chunk's batches from ``start``, its first one, up to ``stop``."""
    return _key("chunk", drawn_by, str(seed), claim, cell, start, stop)


def _key(*parts: object) -> bytes:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


def _source(claim: Reference) -> str | None:
    """Return a digest of a claim's source, None where that is not all it depends on."""
    if isinstance(claim, BuiltIn):
        return code(f"claims/{claim.chapter}/{claim.id.replace('-', '_')}.py")
    if isinstance(claim, ClaimFile) and _is_self_contained(claim.text):
        return hashlib.sha256(claim.text).hexdigest()
    return None


def _is_self_contained(text: bytes) -> bool:
    """Return whether a claim file imports nothing but this tool, its libraries and Python's own modules."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return False
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} <= _LIBRARIES | {"verify"} | sys.stdlib_module_names
