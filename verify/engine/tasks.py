"""Tasks in any process: versions that it must share with this process, keys, and errors in a line each."""

import hashlib
import json
import pickle
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 - its library is among those that versions names

from verify.engine.catalogue import ClaimFile, Entry, InMemoryClaim
from verify.errors import SettingsError, VerifyError, described
from verify.executors.machine import linear_algebra
from verify.proofs import RECORD
from verify.version import __version__


@cache
def versions() -> dict[str, str]:
    """Return the versions that two machines have to share for results that are the same to the last bit."""
    # Developers edit files without another version.
    package = Path(__file__).resolve().parents[1]
    sources = [*sorted(package.rglob("*.py")), *sorted(package.rglob("*.v")), RECORD]
    code = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "sdpa-verify": f"{__version__} ({code[:12]})",
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in ("numpy", "scipy", "sympy", "mpmath")},
        # The C library has the logarithms.
        "machine": " ".join((platform.machine(), platform.system(), *platform.libc_ver())),
        "instructions": " ".join([*simd.get("baseline", ()), *simd.get("found", ())]),
        "linear algebra": linear_algebra(),
    }


def key(kind: str, claim: Entry, *parts: object) -> bytes | None:
    """Return the key of a value of this ``kind`` that depends on a claim and on ``parts``, which JSON knows.

    It is a SHA-256 over all of that. A claim made in this process may hold anything; it has none. A claim
    file may read other files, which are in no key.
    """
    if isinstance(claim, InMemoryClaim):
        return None
    # By its text and not by its path: a copy elsewhere, or an older text, has its own rows again.
    source = repr((claim.text, claim.beside)) if isinstance(claim, ClaimFile) else ""
    content = json.dumps([kind, versions(), claim.id, source, *parts], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()


def perform(wanted: dict[str, str], task: bytes) -> Any:
    """Return the result of a task, in any process, if that has the ``versions`` that are ``wanted``.

    The ``task`` is a pickle of a function of this tool and its arguments: it is not read before.

    Raises:
        SettingsError: the machines differ in a version that decides the digits of results.
        VerifyError: the task's own error, in one line that any process can read.
    """
    for name, there in wanted.items():
        if there != (here := versions().get(name)):
            raise SettingsError(
                f"worker on {platform.node()}: has {name} {here}, this run {there}; use workers with the same"
            )
    function, arguments = pickle.loads(task)  # noqa: S301 - an executor runs what it is given
    try:
        return function(*arguments)
    except (KeyboardInterrupt, VerifyError):
        raise
    except BaseException as error:  # noqa: BLE001 - a claim file may do anything
        raise VerifyError(described(error)) from None
