"""Text of other people, escaped for what it goes into: one function for each kind of output.

Formulas keep their LaTeX.
"""

import html
import re
from collections.abc import Callable
from typing import NamedTuple

RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"
LOWERED = str.maketrans(RAISED, "0123456789-")
"""Turns raised digits into such as exponents are written with."""

# Control characters, what turns the direction of text, halves of characters, and what XML may not hold.
CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)
# BibTeX counts braces, escaped ones too.
_TEX = {"\N{NO-BREAK SPACE}": "~", "\N{NARROW NO-BREAK SPACE}": r"\,"} | dict(
    re.findall(
        r"(\S)=(\S+)",
        r"\=\textbackslash{} &=\& %=\% $=\$ #=\# _=\_ {=\textbraceleft{} }=\textbraceright{} "
        r"~=\textasciitilde{} ^=\textasciicircum{} −=$-$ ×=$\times$ ±=$\pm$ ≤=$\le$ ≥=$\ge$ ·=$\cdot$ "
        r"√=$\surd$ ∞=$\infty$ ≈=$\approx$ –=-- ’=' …=\ldots{}",
    )
)
_MARKDOWN = re.compile(r"[\\`*_\[\]|~$#]|://|(?<=www)\.|[&<>@]", re.IGNORECASE)
_RST = re.compile(r"[\\`*_|@]|(?<=\w):(?=\S)")
_FORMULA = re.compile(r"(?<!\\)\$((?:[^$\\]|\\.)+)\$", re.DOTALL)


class Piece(NamedTuple):
    """A stretch of text, or a formula without its dollar signs."""

    text: str
    is_formula: bool


def pieces(prose: str) -> tuple[Piece, ...]:
    r"""Return the prose as text and formulas in turn; an unpaired or escaped ``\$`` is a dollar sign."""
    # Splitting by a pattern with a group gives text and formulas in turn.
    texts = _FORMULA.split(prose)
    parts = [Piece(text.replace(r"\$", "$"), is_formula=False) for text in texts]
    parts[1::2] = [Piece(latex.strip(), is_formula=True) for latex in texts[1::2]]
    return tuple(part for part in parts if part.text)


def converted(prose: str, words: Callable[[str], str], formula: Callable[[str], str]) -> str:
    """Return prose with its text and its formulas, which have no dollar signs, each converted in its way."""
    return "".join((formula if piece.is_formula else words)(piece.text) for piece in pieces(prose))


def as_prose(text: str) -> str:
    r"""Return plain text as prose, in which no dollar sign begins a formula."""
    return text.replace("$", r"\$")


def for_terminal(text: str) -> str:
    r"""Return text that a terminal only shows: control characters as ``\x1b``, line ends as they are."""
    return CONTROLS.sub(
        lambda sign: sign[0] if sign[0] in "\n\t" else sign[0].encode("unicode_escape").decode("ascii"), text
    )


def one_line(text: str) -> str:
    """Return text in one line, its control characters shown, its spaces kept."""
    return re.sub(r"[\n\t]", " ", for_terminal(text))


def for_html(text: str) -> str:
    """Return text for the content of an HTML or SVG element, or for an attribute in quotation marks."""
    return html.escape(for_xml(text))


def for_xml(text: str) -> str:
    """Return text without the characters that no XML may hold; its writer escapes the markup."""
    return CONTROLS.sub(lambda sign: sign[0] if sign[0] in "\n\t" else "\N{REPLACEMENT CHARACTER}", text)


def for_tex(text: str) -> str:
    """Return text in one line of LaTeX, or of a BibTeX field, whose signs mean themselves."""
    raised = re.sub(f"[{RAISED}]+", lambda run: f"\0{run[0].translate(LOWERED)}\1", one_line(text))
    return "".join(_TEX.get(sign, sign) for sign in raised).replace("\0", "$^{").replace("\1", "}$")


def for_markdown(text: str) -> str:
    """Return text in one line of Markdown: no markup, no table cell's end, no link made of an address."""

    def escaped(sign: re.Match[str]) -> str:
        if sign[0] in {"&", "<", ">"}:
            return html.escape(sign[0])
        if sign[0] in {"@", ".", "://"}:
            return "".join(f"&#{ord(character)};" for character in sign[0])
        return f"\\{sign[0]}"

    return _MARKDOWN.sub(escaped, one_line(text))


def for_rst(text: str) -> str:
    """Return text in one line of reStructuredText whose signs mean themselves."""
    return _RST.sub(lambda sign: f"\\{sign[0]}", one_line(text))


def prose_for_tex(prose: str) -> str:
    """Return prose in LaTeX, with amsmath and amssymb; its formulas stay formulas."""
    # BibTeX counts escaped braces, too.
    return converted(
        prose, for_tex, lambda latex: f"${latex}$".replace(r"\{", r"\lbrace ").replace(r"\}", r"\rbrace ")
    )


def prose_for_markdown(prose: str) -> str:
    """Return prose in Markdown; its formulas stay between dollar signs."""

    def formula(latex: str) -> str:
        # No HTML and no link where dollar signs mean nothing.
        return f"${latex}$".replace("<", r"\lt ").replace(">", r"\gt ").replace("](", "] (")

    return converted(prose, for_markdown, formula)
