"""Keys of the store: a SHA-256 over all that a value depends on.

A claim file may read other files, which are in no key.
"""

import hashlib
import json

from verify.engine.catalogue import ClaimFile, ClaimReference, InMemoryClaim
from verify.engine.tasks import versions


def key(kind: str, claim: ClaimReference, *parts: object) -> bytes | None:
    """Return the key of a value of this ``kind`` that depends on a claim and on ``parts``, which JSON knows.

    A claim made in this process may hold anything; it has none.
    """
    if isinstance(claim, InMemoryClaim):
        return None
    source = repr((claim.text, claim.beside)) if isinstance(claim, ClaimFile) else ""
    content = json.dumps([kind, versions(), claim.id, source, *parts], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()
