"""The record of Coq's proofs, ``data/proofs.json``, and whether it is about a claim as it stands."""

import hashlib
import json
from functools import cache
from typing import Any

from verify.proofs import RECORD, SOURCES
from verify.proofs.statement import NotPrintable, Statement
from verify.symbolic.chains import Derivation


def digest(*texts: str) -> str:
    """Return the SHA-256 digest of texts, one after the other."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@cache
def library() -> str:
    """Return the digest of the definitions and theorems that all statements rest on."""
    return digest(*(path.read_text("utf-8") for path in sorted(SOURCES.glob("*.v"))))


@cache
def recorded() -> dict[str, Any]:
    """Return the record: Coq's version, and of each claim the theorem, its statement, digest and axioms."""
    return dict(json.loads(RECORD.read_text("utf-8")))


def theorem_of(claim: str, derivation: Derivation) -> str:
    """Return the theorem that the main chain shows, with the claim's name.

    Raises:
        NotPrintable: there is no main chain, or the printer does not know all of it.
    """
    if derivation.main is None:
        raise NotPrintable(derivation.nothing)
    return Statement(derivation.main).theorem(claim.replace("-", "_"))


def is_current(claim: str, derivation: Derivation) -> bool:
    """Return whether the recorded theorem of the claim is that of its main chain now, by its definitions."""
    try:
        says = theorem_of(claim, derivation)
    except NotPrintable:
        return False
    return (library(), digest(says)) == (recorded()["library"], recorded()["claims"][claim]["digest"])
