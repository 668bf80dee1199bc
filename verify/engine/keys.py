"""Keys of the store: a SHA-256 over all that a value depends on.

What this package computes depends on its version; but developers edit code without changing that, so a digest
of all its Python files stands for it. A claim file may read other files, which are in no key.
"""

import hashlib
import json
import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from verify.engine.catalogue import ClaimFile, ClaimReference, InMemoryClaim
from verify.engine.sources import Wanted
from verify.evidence import Settings
from verify.version import __version__

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def made_by() -> dict[str, str]:
    """Return what another machine has to have in common with this one for its results to be the same."""
    code = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        code.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    libraries = (one for one in threadpool_info() if one["user_api"] == "blas")
    return {
        "sdpa-verify": f"{__version__} ({code.hexdigest()[:12]})",
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in ("numpy", "scipy", "sympy", "mpmath")},
        # Which instructions sum decides the last digits, and the C library has the logarithms.
        "machine": " ".join((platform.machine(), platform.system(), *platform.libc_ver())),
        "instructions": " ".join([*simd.get("baseline", ()), *simd.get("found", ())]),
        "linear algebra": " ".join(
            sorted(
                f"{one['internal_api']} {one['version']} {one.get('architecture', '')}" for one in libraries
            )
        ),
    }


def derivation_key(claim: ClaimReference) -> bytes | None:
    """Return the key of a claim's checked derivation, None for a claim made in this process."""
    return _key("derivation", claim)


def settled_key(claim: ClaimReference, settings: Settings, wanted: Iterable[Wanted]) -> bytes | None:
    """Return the key of a settled claim's record, None for a claim made in this process."""
    return _key("claim", claim, settings.model_dump(mode="json"), [one.evidence for one in wanted])


def cell_key(claim: ClaimReference, seed: int, cell: str, pickled: bytes) -> bytes | None:
    """Return the key of what is drawn of a cell, None where it cannot be pickled or nothing is stored.

    ``pickled`` is the cell with its input and statistic, which depend on the run's tolerance and device: a
    finer run goes on from the chunks of a coarser one.
    """
    return _key("cell", claim, seed, cell, pickled.hex()) if pickled else None


def chunk_key(cell: bytes, start: int, stop: int) -> bytes:
    """Return the key of the sums of a cell's batches from ``start``, the first of a chunk, up to ``stop``."""
    return hashlib.sha256(cell + f"{start} {stop}".encode()).digest()


def _key(kind: str, claim: ClaimReference, *parts: object) -> bytes | None:
    if isinstance(claim, InMemoryClaim):
        return None
    source = ""
    if isinstance(claim, ClaimFile):
        source = hashlib.sha256(repr((claim.text, claim.beside)).encode()).hexdigest()
    content = json.dumps([kind, made_by(), claim.id, source, *parts], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()
