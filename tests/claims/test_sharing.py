"""What claims share: the names of their chapter's folder, and references."""

import ast
import re

import pytest

from tests.catalogue import CATALOGUE
from tests.tool import ROOT
from verify.errors import ClaimError
from verify.spec import Reference, cite
from verify.spec.claim import bibliography

CLAIM_FILES = [path for path in (ROOT / "verify/claims").glob("*/*.py") if path.stem != "__init__"]


def test_what_serves_one_chapter_lies_beside_its_claims() -> None:
    """A claim shares with its chapter alone."""
    shared = 0
    for path in CLAIM_FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and ".shared" in (node.module or ""):
                assert str(node.module).split(".")[2] == path.parent.name
                shared += 1
    assert shared


def test_the_bibliography_is_what_claims_cite() -> None:
    """No entry is left over, and a key names the year that its entry states."""
    cited = {reference.key: reference for claim in CATALOGUE.values() for reference in claim.references}
    assert cited == bibliography()
    dated = [key for key in cited if re.search(r"\d{4}$", key)]
    assert [key for key in dated if key[-4:] not in cited[key].text] == []


def test_a_claim_cites_by_key_or_gives_its_own_source() -> None:
    """A key that is not in the bibliography is refused with the nearest."""
    own = Reference(key="mine2026", text="A. Author, My Paper, 2026.")
    assert [source.key for source in cite("vaswani2017", own)] == ["vaswani2017", "mine2026"]
    with pytest.raises(ClaimError, match="no reference 'vaswani2018'; did you mean 'vaswani2017'"):
        cite("vaswani2018")
