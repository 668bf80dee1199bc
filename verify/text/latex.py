"""Takes LaTeX apart: long formulas into lines, any formula into words, prose into what a line can show."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from verify.text.escapes import as_prose, converted


class Prose(str):
    """Running text that may hold LaTeX between dollar signs."""

    __slots__ = ()


_TOKEN = re.compile(r"\\(?:begin|end)\s*\{[^}]*\}|\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_RELATION_SIGNS = r"= < > \le \leq \ge \geq \neq \approx \sim \equiv \propto \to \implies \iff \Rightarrow"
_RELATIONS = frozenset(_RELATION_SIGNS.split())
_OPENING = frozenset("([{") | {r"\left", r"\{"}
_CLOSING = frozenset(")]}") | {r"\right", r"\}"}
_APOSTROPHE = re.compile(r"(?<=[^\W\d_]{2})'(?=(?:s|t|re|ll|ve|d|m)\b)")
_PLURAL = re.compile(r"(?<=[A-Za-z]s)'(?![\w'])")
_QUOTED = re.compile(r"(?<![\w'])'(?=\w)")


def plain(prose: str) -> str:
    """Return the prose with each formula in words and signs, for titles, bookmarks and alt texts."""
    return converted(prose, with_apostrophes, spoken)


def with_apostrophes(text: str) -> str:
    """Return text with a typewriter's apostrophes of possessives and contractions made a typesetter's.

    Primes stay, and marks around words do: where a mark opens, the mark after an s may close.
    """
    text = _APOSTROPHE.sub("’", text)
    return text if _QUOTED.search(text) else _PLURAL.sub("’", text)


def in_lines(latex: str, width: Callable[[str], float], limit: float) -> str:
    """Return a displayed formula in lines at most ``limit`` wide: broken at its relations, fractions and all.

    Where that is not enough, it is low, and broken at signs and strokes too. ``width`` measures a formula in
    the unit of ``limit``.
    """
    if width(latex) <= limit or r"\\" in latex or r"\begin" in latex:
        return latex
    parts, depth = [""], 0
    for token in _TOKEN.findall(latex):
        depth += (token in _OPENING) - (token in _CLOSING)
        # A sign after an opening or another sign belongs to its term.
        if depth == 0 and token in _RELATIONS and parts[-1].strip() not in {"", *_RELATIONS}:
            parts.append("")
        parts[-1] += token
    lines: list[str] = []
    # Pieces are low, so a formula is low as a whole or nowhere.
    for part in in_pieces(latex) if any(width(part) > limit for part in parts) else parts:
        if lines and width(lines[-1] + part) <= limit:
            lines[-1] += part
        else:
            lines.append(part)
    body = r" \\ & \quad {} ".join(line.strip() for line in lines)
    return rf"\begin{{aligned}} & {body} \end{{aligned}}" if len(lines) > 1 else lines[0]


def in_pieces(latex: str) -> list[str]:
    """Return a formula, no higher than a line, as pieces between which a line of text may break.

    They begin at relations, and at signs, strokes and sums where a piece would be long; inside brackets only
    where it would be longer still.
    """
    parts, brackets, braces = [""], 0, 0
    for token in _TOKEN.findall(low(latex)):
        written = parts[-1].strip()
        last, length = (_TOKEN.findall(written) or [""])[-1], len(spoken(written))
        joins = braces == 0 and last not in {"", "(", "[", ",", r"\{", "/", "+", "-", *_RELATIONS}
        may_break = (
            (token in _RELATIONS and brackets == 0)
            or (token in {"+", "-"} and length >= 16 + 12 * max(brackets - 1, 0))
            or (token in {"/", r"\sum", r"\int"} and length >= 16 + 12 * brackets)
        )
        if joins and may_break:
            # An empty group before a sign makes it one between two terms, with the space of such.
            parts.append("" if token in {r"\sum", r"\int"} else "{} ")
        parts[-1] += token
        braces += (token == "{") - (token == "}")  # noqa: S105 - no password
        brackets += (token in {"(", "[", r"\{"}) - (token in {")", "]", r"\}"})
    return parts


_NAMES = {r"\\": "; "} | dict(
    re.findall(
        r"(\S+)=(\S*)",
        r"\cdot=· \times=× \pm=± \le=≤ \leq=≤ \ge=≥ \geq=≥ \neq=≠ \ne=≠ \approx=≈ \to=→ \Rightarrow=⇒ \iff=⇔ "
        r"\Leftrightarrow=⇔ \infty=∞ \partial=∂ \sqrt=√ \prod=product \int=integral \ell=ℓ \subset=⊂ \cap=∩ "
        r"\cup=∪ \emptyset=∅ \circ=∘ \ldots=… \dots=… \cdots=… \|=‖ \lVert=‖ \rVert=‖ \lvert=| \rvert=| "
        r"\mid=| \{={ \}=} \top=T \left= \right= \substack= \!=",
    )
)
_NAMES |= dict.fromkeys([r"\quad", r"\qquad", r"\,", r"\;", r"\:", r"\ "], " ")
_STYLES = re.compile(
    r"\\(?:operatorname|mathrm|mathbf|mathbb|mathcal|mathit|mathsf|text|textrm|boldsymbol|bm|big|Big|bigl|bigr|"
    r"displaystyle|textstyle|limits|nolimits)(?![A-Za-z])\*?|\\(?:begin|end)\{[^}]*\}"
)
_FRACTION = re.compile(r"\\[dt]?frac(?![A-Za-z])\s*")
_IN_BRACKETS = r"\((?:[^(){}]|\([^(){}]*\))*\)"
_ONE_THING = re.compile(
    rf"∂\w*|√?(?:\d+|\w(?:_\w)?[²³]?)|(?:ln|log|exp|cosh|sinh|tanh)? ?{_IN_BRACKETS}[²³]?"
)
_OPERATOR = re.compile(r"(?<=[\w})])\\(max|min|ln|log|exp|sup|sum|prod|sin|cos|sinh|cosh|tanh)(?![A-Za-z])")
_T = r"\\(?:top|mathsf\s*(?:\{\s*T\s*\}|T))"
_TRANSPOSED = re.compile(rf"\^\s*(?:\{{\s*{_T}\s*\}}|{_T})")
_IN_BRACES = re.compile(rf"\{{\s*([^{{}}]?|[A-Za-z]+|\d+|\w_\w|\{{[^{{}}]*\}}|{_IN_BRACKETS})\s*\}}")
_ACCENTED = re.compile(r"\\(hat|bar)\s*(?:\{\s*(\w)\s*\}|(\w)|\\(Gamma)(?![A-Za-z]))")
_LIMIT = re.compile(r"(\\(?:sum|prod)_\{[^{}]*\})\^(?:\{([23])\}|([23]))")
_POWER = re.compile(r"\^(?:\{\s*([23])\s*\}|([23]))")


@cache
def spoken(latex: str) -> str:
    """Return a formula in words and signs, such as ``Var(q·k) = d_k``, to stand in for its picture."""
    text = _STYLES.sub("", _TRANSPOSED.sub("ᵀ", latex))
    # An upper limit of 2 is no square.
    text = _LIMIT.sub(r"\1^{\2\3\\,}", text.replace(r"\sqrt[3]", "∛"))
    # Fractions go before powers and accents: braces that are left belong to indices and groups.
    text = _on_one_line(_OPERATOR.sub(r" \\\1", text))
    text = _POWER.sub(lambda power: "²³"[int(power[1] or power[2]) - 2], text)
    text = _ACCENTED.sub(_with_accent, text)
    text = re.sub(
        r"\\(?:[A-Za-z]+|.)", lambda name: _NAMES.get(name[0], _greek(name[0]) or name[0][1:]), text
    )
    # From the innermost braces outwards.
    while (plainer := _IN_BRACES.sub(r"\1", text)) != text:
        text = plainer
    text = text.replace("{", "(").replace("}", ")").replace("&", "")
    text = re.sub(r"\s*([·×∘])\s*", r"\1", re.sub(r"\s+", " ", text)).replace("-", "−").strip()
    text = re.sub(r"([±∂]) ", r"\1", text)
    return re.sub(r" ([)\],.;])", r"\1", re.sub(r"([(\[]) ", r"\1", text))


@cache
def _greek(command: str) -> str:
    """Return the Greek letter that a command stands for, empty for any other."""
    size = "CAPITAL" if command[1:2].isupper() else "SMALL"
    name = command[1:].removeprefix("var").upper().replace("LAMBDA", "LAMDA")
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name}")
    except KeyError:
        return ""


def _with_accent(accented: re.Match[str]) -> str:
    letter = accented[2] or accented[3] or "Γ"
    # The space ends the name of a sign before it, as in \cdot.
    return " " + unicodedata.normalize("NFC", letter + {"hat": "\u0302", "bar": "\u0304"}[accented[1]])


def slashed(prose: str) -> str:
    """Return prose whose formulas are low, as a line of small print can show them."""
    return converted(prose, as_prose, lambda latex: f"${low(latex)}$")


def low(latex: str) -> str:
    """Return a formula no higher than a line: with strokes for fractions and brackets that do not grow."""
    text = _on_one_line(latex).replace(r"\int\limits", r"\int")
    return re.sub(r"\\(?:left|right)(?![A-Za-z])\.?", "", text)


def _on_one_line(latex: str) -> str:
    """Return a formula with every fraction, also a fraction within a fraction, written with a slash."""
    fraction = _FRACTION.search(latex)
    if fraction is None:
        return latex
    above, at = _argument(latex, fraction.end())
    below, end = _argument(latex, at)
    parts = [part if _ONE_THING.fullmatch(spoken(part)) else f"({part})" for part in (above, below)]
    # A product above needs no brackets.
    if not re.search(
        r"[−+=<>]|\\(?:sum|int|max|min|lim|pm)(?![a-z])", re.sub(_IN_BRACKETS, "", spoken(above))
    ):
        parts[0] = above
    rest = _on_one_line(latex[end:])
    written = "/".join(parts) + " " * rest[:1].isalnum()
    # A sum after a stroke would seem to stand below it.
    if re.match(r"\s*\\(?:sum|prod|int)(?![a-z])", rest):
        written = f"({written})"
    return latex[: fraction.start()] + written + rest


def _argument(latex: str, start: int) -> tuple[str, int]:
    """Return the argument of a command that begins at ``start``, its fractions on one line, and its end."""
    depth = 0
    for token in _TOKEN.finditer(latex, start):
        depth += (token[0] == "{") - (token[0] == "}")
        if depth == 0:
            inner = latex[start : token.end()]
            is_group = inner.startswith("{")
            return _on_one_line(inner[1:-1].strip()) if is_group else inner, token.end()
    return "", len(latex)


_ROOT = re.compile(r"\\sqrt\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_DRAWN = _NAMES | {r"\sum": "Σ", r"\prod": "Π", r"\int": "∫", r"\in": "∈"}
_UNDERSTOOD = frozenset([r"\hat", r"\bar", r"\mathrm", r"\,", r"\;", r"\:", r"\ ", r"\quad", r"\qquad"])


def simple(latex: str) -> str:
    """Return a formula that a text face can set: fractions on one line, signs as characters."""

    def accented(name: re.Match[str]) -> str:
        # Matplotlib places a hat over a letter that has no character with a hat.
        character = _with_accent(name)
        return character if len(character.strip()) == 1 else rf"\{name[1]}{{{character[1]}}}"

    def sign(name: re.Match[str]) -> str:
        command = name[0].rstrip() or name[0]
        if command in _UNDERSTOOD:
            return command
        drawn = _DRAWN.get(command, _greek(command))
        if not drawn and command not in _DRAWN:
            return name[0]
        return rf"\mathrm{{{drawn}}}" if len(drawn) == 1 and drawn.isalpha() else drawn

    text = re.sub(r"\\(?:operatorname|mathbb|text)\b\*?", lambda _name: r"\mathrm", latex)
    text = _on_one_line(_ACCENTED.sub(accented, text))
    text = _ROOT.sub(lambda root: f"√{{{root[1] if len(spoken(root[1])) < 4 else f'({root[1]})'}}}", text)
    return re.sub(r"\\(?:[A-Za-z]+|.)\s*", sign, text)
