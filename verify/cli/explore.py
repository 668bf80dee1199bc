"""The catalogue as text for a terminal: the list of claims, and one claim with its derivation."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

from sympy import Function, Symbol
from sympy.core.function import AppliedUndef
from sympy.printing.pretty.pretty_symbology import pretty_use_unicode

from verify.claims.chapters import CHAPTERS
from verify.engine.catalogue import ClaimFile, broken, load
from verify.errors import WorkerError, claim_errors
from verify.executors.workers import Task, Workers
from verify.symbolic.printing import unicode_art

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from verify.spec.claim import Claim
    from verify.symbolic.derivation import Derivation, Examined

_WIDTH = 100
_ENDINGS = {
    "proved": "Proved",
    "checked-at-examples": "Derivation checked at examples",
    "in-part": "Derived in part",
    "failed": "FAILED",
    "not-claimed": "Measured only",
}
_WORDS = {
    "cdot": "·", "mu": "μ", "sigma": "σ", "rho": "ρ", "Gamma": "Γ", "delta": "δ", "eta": "η", "alpha": "α",
    "kappa": "κ", "varphi": "φ", "tau": "τ", "pi": "π", "psi": "ψ", "dots": "…", "ldots": "…", "infty": "∞",
    "partial": "∂",
    "le": " ≤ ", "ge": " ≥ ", "ne": " ≠ ", "to": " → ", "approx": " ≈ ", "pm": "±", "times": "×", "sum": "Σ",
    "int": "∫", "lVert": "‖", "rVert": "‖", "|": "‖", "lvert": "|", "rvert": "|",
    "left": "", "right": "", "big": "", "Big": "", ",": " ", ";": " ", "ln": "ln ", "max": "max ",
}  # fmt: skip


def listing(claims: Mapping[str, Claim | ClaimFile]) -> str:
    """Return the claims by chapter, a line each."""
    lines: list[str] = []
    last, width = "", max(map(len, claims), default=0)
    for name, claim in claims.items():
        if claim.chapter != last:
            lines += ([""] if lines else []) + [CHAPTERS[claim.chapter].title]
            last = claim.chapter
        lines.append(f"  {name:<{width}} {as_text(claim.title)}")
    return "\n".join(lines)


def show_with(workers: Workers, claim: Claim | ClaimFile) -> tuple[str, bool]:
    """Return what ``shown`` does, for a claim file of the user's own as well, which is run by ``workers``.

    Raises:
        ClaimError: the claim's own code fails.
    """
    if not isinstance(claim, ClaimFile):
        return shown(claim)
    try:
        text, stands = workers.call(Task(_show_file, (claim.path, claim.id), isolate=str(claim.path)))
    except WorkerError as error:
        raise broken(claim, error) from error
    return text, stands


def _show_file(path: Path, name: str) -> tuple[str, bool]:
    with claim_errors(name, path):
        return shown(load(path), origin=path)


def shown(claim: Claim, origin: object = "") -> tuple[str, bool]:
    """Return one claim with its derivation as text, and whether the derivation stands (no step fails).

    ``origin`` is the claim's file, for messages.

    Raises:
        ClaimError: the claim's own code fails.
    """
    with claim_errors(claim.id, origin):
        derivation = claim.derive()
        examined = derivation.examine()
    return page(claim, derivation, examined), examined.status != "failed"


def page(claim: Claim, derivation: Derivation, examined: Examined) -> str:
    """Return one claim with its derivation as text, and with what became of each step's check."""
    blocks = [
        f"{claim.id} — {as_text(claim.title)}",
        f"Chapter: {CHAPTERS[claim.chapter].title}",
        _wrapped(as_text(claim.statement)),
        _wrapped(as_text(claim.meaning)),
        "Assumptions\n" + "\n".join(f"  - {as_text(a.text)}" for a in claim.assumptions),
    ]
    for route, steps in examined.routes:
        meaning = as_text(derivation.meaning_of(route.start))
        opening = f"\n  Definition: {meaning}" if meaning else ""
        blocks.append(f"Derivation: {as_text(route.title)}{opening}\n\n{_art(route.start)}")
        for one in steps:
            checked = f"{'✓' if one.holds else '✗'} {as_text(one.step.check.label)}"
            blocks.append(f"  {as_text(one.step.rule)}\n  {checked}\n\n{_art(one.step.expression)}")
    blocks.append(f"{_ENDINGS[examined.status]}: {examined.reason}")
    if derivation.beyond:
        blocks.append(_wrapped(f"Beyond the derivation: {as_text(derivation.beyond)}"))
    return "\n\n".join(blocks)


def as_text(prose: str) -> str:
    """Return prose with its LaTeX between dollar signs written in Unicode as far as plain text can."""
    return re.sub(r"\$(.+?)\$", lambda match: _math(match.group(1)), prose)


def _math(latex: str) -> str:
    # A command of letters swallows the spaces after it.
    latex = re.sub(r"\\([A-Za-z]+) *|\\([^A-Za-z])", _command, latex)
    before = ""
    while latex != before:
        before = latex
        for pattern, text in _FORMS:
            latex = re.sub(pattern, text, latex)
    return re.sub(r"\s+", " ", re.sub(r"[{}\\]", "", latex)).strip()


def _command(match: re.Match[str]) -> str:
    name = match[1] or match[2]
    return _WORDS.get(name, f"\\{name}")


def _grouped(text: str) -> str:
    """Return ``text`` in parentheses unless it is one thing."""
    return text if re.fullmatch(r"[^\W_]+(_\w)?|\(.*\)", text) and text.count("(") < 2 else f"({text})"


_FORMS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"\\(?:operatorname|mathrm|text|mathbb)\{([^{}]*)\}", lambda m: m[1]),
    (r"\\hat *\{?(\w)\}?", lambda m: f"{m[1]}\u0302"),
    (r"\\sqrt\{([^{}]*)\}", lambda m: f"√{_grouped(m[1])}"),
    (r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: f"{_grouped(m[1])}/{_grouped(m[2])}"),
    (r"\^\{?([23])(?:\}|(?<!\{[23]))", lambda m: "²³"[int(m[1]) - 2]),
    (r"([_^])\{([^{}]*)\}", lambda m: m[1] + _grouped(m[2])),
)
"""What is written with groups in braces, innermost first."""


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH)


def _art(expression: Any) -> str:
    """Return an expression drawn in Unicode, set in from the left; LaTeX in names of symbols as text."""
    names = {one: Symbol(_math(one.name)) for one in expression.free_symbols if "\\" in one.name}
    for one in expression.atoms(AppliedUndef):
        if "\\" in one.func.__name__:
            names[one] = Function(_math(one.func.__name__))(*one.args)
    # SymPy asks the terminal whether it knows Unicode, and half obeys its printer's own setting.
    before = pretty_use_unicode(True)
    try:
        lines = unicode_art(expression.xreplace(names)).splitlines()
    finally:
        pretty_use_unicode(before)
    return "\n".join(f"      {line}".rstrip() for line in lines)
