"""The list of claims for a terminal: those that ship as the reference has them, without SymPy."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from verify.cli.console import beside
from verify.evidence import USER, Proof
from verify.evidence.load import shipped
from verify.text.latex import plain


def listing(own: Sequence[Path], columns: int | None = None) -> str:
    """Return the claims by chapter, a line each, those of the user's ``own`` files last.

    Within a number of ``columns``, long titles take several lines.
    """
    claims = [
        (claim.chapter_title, claim.id, claim.title + " (proved)" * (claim.derivation.status is Proof.PROVED))
        for claim in shipped().claims
    ]
    claims += _own(own) if own else []
    lines: list[str] = []
    last, width = "", max(len(name) for _, name, _ in claims)
    for chapter, name, title in claims:
        if chapter != last:
            lines += ([""] if lines else []) + [chapter]
            last = chapter
        lines.append(beside(f"  {name:<{width}} ", plain(title), columns))
    return "\n".join(lines)


def _own(files: Sequence[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield chapter, id and title of the claims of the user's own, derived where the title has slots."""
    from verify.claims.chapters import CHAPTERS
    from verify.engine.catalogue import look_up
    from verify.spec.words import has_slot

    known, _ = look_up(files)
    for name, claim in ((name, entry.claim) for name, entry in known.items() if entry.chapter == USER):
        title = claim.title
        if has_slot(title):
            title = claim.words(claim.derived(), ()).fill("title", title)
        yield CHAPTERS[USER].title, name, title
