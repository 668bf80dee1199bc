"""The catalogue as text for a terminal: the list of claims, and one claim with its derivation."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from verify.claim import CHAPTERS, Claim
from verify.symbolic.printing import unicode_art

if TYPE_CHECKING:
    from collections.abc import Mapping

_WIDTH = 100
_WORDS = {
    r"\operatorname{Var}": "Var", r"\mathbb{E}": "E", r"\cdot": "·", r"\mu": "μ", r"\sigma": "σ",
    r"\rho": "ρ",
    r"\dots": "…", r"\left": "", r"\right": "", r"\,": " ", r"\big": "", r"\Gamma": "Γ", r"\pi": "π",
    r"\tfrac": r"\frac", r"\hat V": "V̂",
}  # fmt: skip


def listing(claims: Mapping[str, tuple[str, Claim]]) -> str:
    """Return the claims by chapter, a line each."""
    lines: list[str] = []
    last = ""
    for name, (chapter, claim) in claims.items():
        if chapter != last:
            lines += ([""] if lines else []) + [CHAPTERS[chapter]]
            last = chapter
        lines.append(f"  {name:<26} {as_text(claim.title)}")
    return "\n".join(lines)


def shown(chapter: str, claim: Claim) -> tuple[str, bool]:
    """Return one claim with its derivation as text, and whether the derivation holds."""
    examined = claim.derive().examine()
    blocks = [
        f"{claim.id} — {as_text(claim.title)}",
        f"Chapter: {CHAPTERS[chapter]}",
        _wrapped(as_text(claim.statement)),
        _wrapped(as_text(claim.meaning)),
        "Assumptions\n" + "\n".join(f"  - {as_text(a.text)}" for a in claim.assumptions),
    ]
    for route, steps in examined.routes:
        blocks.append(f"Derivation: {route.title}\n\n{_indented(unicode_art(route.start))}")
        for one in steps:
            mark = "✓" if one.holds else "✗"
            blocks.append(
                f"  {one.step.rule}\n  {mark} {one.step.check.label}\n\n"
                f"{_indented(unicode_art(one.step.expression))}"
            )
    blocks.append(f"{'Proved' if examined.proved else 'FAILED'}: {examined.reason}")
    return "\n\n".join(blocks), examined.proved


def as_text(prose: str) -> str:
    """Return prose with its LaTeX between dollar signs written in Unicode as far as plain text can."""
    return re.sub(r"\$(.+?)\$", lambda match: _math(match.group(1)), prose)


def _math(latex: str) -> str:
    for command, text in _WORDS.items():
        latex = latex.replace(command, text)
    latex = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", latex)
    latex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1)/(\2)", latex)
    latex = re.sub(r"_\{?([a-z0-9])\}?(?![a-z])", r"_\1", latex)
    return re.sub(r"\s+", " ", latex.replace("{", "").replace("}", "").replace("\\", "")).strip()


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH)


def _indented(art: str) -> str:
    return textwrap.indent(art, "      ")
