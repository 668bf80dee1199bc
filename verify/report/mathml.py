"""MathML as browsers draw it: MathJax's own, shorter, with what only MathJax understands put in plain terms.

Browsers draw MathML Core (https://www.w3.org/TR/mathml-core/). It has no classes of TeX, from which spaces
follow, no alphabets but Unicode's, and neither strikes nor boxes nor the lines of a table.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from html import unescape
from xml.etree import ElementTree as ET

LOW = "low"
"""The class of a root over content that is no higher than the smallest sign of a root."""

_TOKENS = frozenset(["mi", "mn", "mo", "mtext", "mspace"])
_GROUPS = frozenset(["mrow", "mstyle"])
_ROWS = _GROUPS | {"math", "msqrt", "mtd", "mpadded", "mphantom"}
_SCRIPTS = frozenset(["msub", "msup", "msubsup"])
_LIMITS = frozenset(["munder", "mover", "munderover"])
_TALL = frozenset(["mfrac", "mroot", "munderover", "munder", "mtable"])
_ELEMENTS = _TOKENS | _ROWS | _SCRIPTS | _LIMITS | {"mfrac", "mroot", "mtable", "mtr"}
_NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'
_LINES = frozenset(["columnlines", "rowlines", "frame"])
_ATTRIBUTES = frozenset(
    [
        "displaystyle",
        "scriptlevel",
        "stretchy",
        "symmetric",
        "largeop",
        "movablelimits",
        "minsize",
        "maxsize",
        "lspace",
        "rspace",
        "form",
        "width",
        "height",
        "depth",
        "voffset",
        "linethickness",
        "accent",
        "accentunder",
        "columnalign",
        "columnspacing",
        "rowspacing",
    ]
)
_SIGNS = frozenset("+\N{MINUS SIGN}±∓")
_APPLIED = "\N{FUNCTION APPLICATION}"
_CLOSING = frozenset(")]}!|‖∥′″‴")
_JOINING = _SIGNS | frozenset("=<>≤≥≠≈∼→⇒⇔∈∣,;:⋅×∧∨∩∪⊂")
_PAIRED = frozenset("()[]")
_BARS = frozenset("|‖∥∣")
_DOTS = frozenset("…⋯")
_LARGE = frozenset("∑∏∫∬∮⋃⋂")
_ACCENTS = {"^": "ˆ", "~": "˜", "¯": "¯", "˙": "˙", "¨": "¨", "→": "→"}
_THIN = "0.167em"
_STYLE = re.compile(r"(?:MATHEMATICAL )?(.*?) ?(?:CAPITAL|SMALL|DIGIT|NABLA|PARTIAL)\b")


def drawn_by_browsers(spelled: str) -> str:
    """Return MathJax's MathML on one line, without a display style; empty if browsers leave out part."""
    try:
        root = ET.fromstring(spelled.replace(_NAMESPACE, ""))  # noqa: S314 - MathJax's output
        return ET.tostring(_settled(root), encoding="unicode").replace(" />", "/>")
    except (_NotDrawnError, ET.ParseError):
        return ""


def characters_in(page: str) -> str:
    """Return the characters that the formulas of a page are drawn with, sorted."""
    used = set("√")  # which stands in no text
    for formula in re.findall(r"<math\b.*?</math>", page, re.DOTALL):
        used.update(unescape(re.sub(r"<[^>]*>", "", formula)))
        # A browser draws a variable of one letter in italics.
        used.update(_letter("italic", unescape(one)) for one in re.findall(r"<mi>([^<]|&\w+;)</mi>", formula))
    return "".join(sorted(used))


class _NotDrawnError(Exception):
    pass


def _settled(node: ET.Element, *, is_script: bool = False) -> ET.Element:
    """Return a node as browsers need it."""
    if node.tag not in _ELEMENTS or _LINES & node.attrib.keys():
        raise _NotDrawnError
    scripts = node[1:] if node.tag in _SCRIPTS | _LIMITS else []
    children = [_settled(child, is_script=is_script or child in scripts) for child in node]
    role = node.get("data-mjx-texclass", "")
    kept = {name: value for name, value in node.attrib.items() if name in _ATTRIBUTES}
    if node.tag in _GROUPS and len(children) == 1 and (not kept or children[0].tag == "mspace"):
        if role == "ORD" and children[0].tag == "mo":
            children[0].attrib |= {"lspace": "0", "rspace": "0"}
        return children[0]
    made = ET.Element(node.tag, kept)
    made.extend(_unwrapped(_spaced(children)) if node.tag in _ROWS else children)
    if node.tag in _TOKENS:
        made.text = (node.text or "").strip()
        _set_letters(made, node.get("mathvariant", ""))
        if node.tag == "mo":
            _set_operator(made, "ORD" if is_script and made.text in _JOINING else role)
    else:
        _set_heights(made, role)
    return made


def _set_heights(node: ET.Element, role: str) -> None:
    """Say what need not grow, for which browsers would leave room, and what is an accent."""
    if node.tag == "msqrt" and not any(map(_is_higher_than_a_letter, node)):
        node.set("class", LOW)
    elif (
        node.tag == "mover"
        and "accent" not in node[1].attrib
        and (accent := _ACCENTS.get(node[1].text or ""))
    ):
        node.set("accent", "true")
        node[1].text = accent
    elif role == "INNER" and not any(map(_is_tall, node)):
        for bracket in (*node[:1], *node[-1:]):
            if bracket.tag == "mo":
                bracket.set("stretchy", "false")


def _set_letters(token: ET.Element, variant: str) -> None:
    """Spell a token of an alphabet in Unicode's letters; upright ones of a single letter say so."""
    text = token.text or ""
    if variant == "normal" and len(text) == 1 and _letter("italic", text) != text:
        token.set("mathvariant", variant)
    elif variant not in {"", "normal"}:
        token.text = "".join(_letter(variant, one) for one in text)


@cache
def _letters() -> dict[tuple[frozenset[str], str], str]:
    """Return Unicode's mathematical letters by the words of their alphabet and the plain letter."""
    found = {}
    for code in (*range(0x2102, 0x2135), *range(0x1D400, 0x1D800)):
        style = _STYLE.match(unicodedata.name(chr(code), ""))
        if style and style[1]:
            words = style[1].replace("BLACK-LETTER", "FRAKTUR").replace("-", " ").lower().split()
            found[frozenset(words), unicodedata.normalize("NFKC", chr(code))] = chr(code)
    found[frozenset(["italic"]), "h"] = "\N{PLANCK CONSTANT}"
    return found


def _letter(variant: str, letter: str) -> str:
    return _letters().get((frozenset(variant.replace("-", " ").split()), letter), letter)


def _set_operator(operator: ET.Element, role: str) -> None:
    """Put the spaces that follow from a class of TeX in MathML's terms, where its own would be others."""
    text = operator.text or ""
    if text in _BARS and role in {"OPEN", "CLOSE"}:
        operator.set("form", "prefix" if role == "OPEN" else "postfix")
    elif role == "ORD" or text in _DOTS:
        operator.attrib |= {"lspace": "0", "rspace": "0"}
    elif text.isalpha():
        operator.attrib |= {"lspace": "0", "rspace": _THIN}


def _spaced(row: list[ET.Element]) -> Iterator[ET.Element]:
    """Yield a row in which signs that join nothing stand close, and names of functions apart."""
    for before, one, after in zip([None, *row], row, [*row[1:], None], strict=False):
        text = one.text or ""
        follows = before is not None and (before.tag != "mo" or before.text in _CLOSING)
        core = one[0] if one.tag in _SCRIPTS | _LIMITS else one
        if one.tag == "mo" and text in _SIGNS and not follows:
            one.set("form", "prefix")
        elif core.text in _LARGE and not follows:
            core.set("lspace", "0")
        elif one.tag == "mo" and text == _APPLIED and after is not None and not _opens(after):
            one.attrib |= {"lspace": "0", "rspace": _THIN}
        elif one.tag == "mi" and len(text) > 1 and text.isalpha() and follows:
            yield ET.Element("mspace", {"width": _THIN})
        yield one


def _unwrapped(row: Iterable[ET.Element]) -> Iterator[ET.Element]:
    """Yield a row in which brackets that do not grow, with what they hold, need no row of their own."""
    for one in row:
        ends = [*one[:1], *one[-1:]] if one.tag == "mrow" and not one.attrib else []
        if ends and all(end.text in _PAIRED and end.get("stretchy") == "false" for end in ends):
            yield from one
        else:
            yield one


def _opens(node: ET.Element) -> bool:
    first = next(iter(node), node) if node.tag == "mrow" else node
    return first.tag == "mo" and first.text in {"(", "[", "{"}


def _is_tall(node: ET.Element) -> bool:
    """Whether something in a node needs brackets higher than a letter."""
    return any(one.tag in _TALL or (one.text or "") in _LARGE for one in node.iter())


def _is_higher_than_a_letter(node: ET.Element) -> bool:
    return any(one.tag not in _TOKENS | {"mrow", "msub"} for one in node.iter()) or _is_tall(node)
