"""MathML as browsers draw it: MathJax's own, shorter, with what only MathJax understands put in plain terms.

Browsers draw MathML Core (https://www.w3.org/TR/mathml-core/). It has no classes of TeX, from which spaces
follow, and no alphabets but Unicode's.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from html import unescape
from xml.etree import ElementTree as ET

LOW = "low"
"""The class of a root over content that is no higher than the smallest sign of a root."""

_TOKENS = frozenset(["mi", "mn", "mo", "mtext", "mspace"])
_GROUPS = frozenset(["mrow", "mstyle"])
_ROWS = _GROUPS | {"math", "msqrt", "mtd", "mpadded", "mphantom"}
_SCRIPTED = frozenset(["msub", "msup", "msubsup", "munder", "mover", "munderover"])
_TALL = frozenset(["mfrac", "mroot", "munderover", "munder", "mtable"])
_NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'
_ATTRIBUTES = re.compile(
    "displaystyle|scriptlevel|stretchy|symmetric|largeop|movablelimits|minsize|maxsize|lspace|rspace|form|width|"
    "height|depth|voffset|linethickness|accent|accentunder|columnalign|columnspacing|rowspacing"
)
_SIGNS = frozenset("+\N{MINUS SIGN}±∓")
_CLOSING = frozenset(")]}!|‖∥′″‴")
_JOINING = _SIGNS | frozenset("=<>≤≥≠≈∼→⇒⇔∈∣,;:⋅×∧∨∩∪⊂")
_BARS = frozenset("|‖∥∣")
_LARGE = frozenset("∑∏∫∬∮⋃⋂")
_ACCENTS = {"^": "ˆ", "~": "˜", "¯": "¯", "˙": "˙", "¨": "¨", "→": "→"}
_CLOSE = {"lspace": "0", "rspace": "0"}
_THIN = "0.167em"
_STYLE = re.compile(r"(?:MATHEMATICAL )?(.*?) ?(?:CAPITAL|SMALL|DIGIT|NABLA|PARTIAL)\b")


def drawn_by_browsers(spelled: str, *, displayed: bool) -> str:
    """Return MathJax's MathML in one line."""
    root = _settled(ET.fromstring(spelled.replace(_NAMESPACE, "")))  # noqa: S314 - MathJax's output
    if displayed:
        root.set("displaystyle", "true")
    return ET.tostring(root, encoding="unicode").replace(" />", "/>")


def characters_in(page: str) -> str:
    """Return the characters that the formulas of a page are drawn with, sorted."""
    used = set("√")  # which stands in no text
    for formula in re.findall(r"<math\b.*?</math>", page, re.DOTALL):
        used.update(unescape(re.sub(r"<[^>]*>", "", formula)))
        # A browser draws a variable of one letter in italics.
        letters = re.findall(r"<mi>([^<]|&\w+;)</mi>", formula)
        used.update(_letter("italic", unescape(letter)) for letter in letters)
    return "".join(sorted(used))


def _settled(node: ET.Element, *, is_script: bool = False) -> ET.Element:
    """Return a node as browsers need it."""
    scripts = node[1:] if node.tag in _SCRIPTED else []
    children = [_settled(child, is_script=is_script or child in scripts) for child in node]
    role = node.get("data-mjx-texclass", "")
    attributes = {name: value for name, value in node.attrib.items() if _ATTRIBUTES.fullmatch(name)}
    if node.tag in _GROUPS and len(children) == 1 and (not attributes or children[0].tag == "mspace"):
        if role == "ORD" and children[0].tag == "mo":
            children[0].attrib |= _CLOSE
        return children[0]
    made = ET.Element(node.tag, attributes)
    if node.tag in _TOKENS:
        made.text, variant = (node.text or "").strip(), node.get("mathvariant", "")
        # An alphabet's letters are Unicode's; an upright token of a single letter says so.
        if variant == "normal" and len(made.text) == 1 and _letter("italic", made.text) != made.text:
            made.set("mathvariant", variant)
        elif variant not in {"", "normal"}:
            made.text = "".join(_letter(variant, letter) for letter in made.text)
        if node.tag == "mo":
            _set_spaces(made, "ORD" if is_script and made.text in _JOINING else role)
        return made
    for child in _spaced(children) if node.tag in _ROWS else children:
        # Brackets that do not grow, with what they hold, need no row of their own.
        ends = [*child[:1], *child[-1:]] if child.tag == "mrow" and not child.attrib else []
        is_low = ends and all(end.text in {*"()[]"} and end.get("stretchy") == "false" for end in ends)
        made.extend(child if is_low and node.tag in _ROWS else [child])
    _set_heights(made, role)
    return made


def _set_heights(node: ET.Element, role: str) -> None:
    """Say what need not grow, for which browsers would leave room, and what is an accent."""
    if node.tag == "msqrt" and not any(map(_is_higher_than_a_letter, node)):
        node.set("class", LOW)
    elif node.tag == "mover" and "accent" not in node[1].attrib and node[1].text in _ACCENTS:
        node.set("accent", "true")
        node[1].text = _ACCENTS[node[1].text]
    elif role == "INNER" and not any(map(_is_tall, node)):
        for bracket in (*node[:1], *node[-1:]):
            if bracket.tag == "mo":
                bracket.set("stretchy", "false")


def _set_spaces(operator: ET.Element, role: str) -> None:
    """Put the spaces that follow from a class of TeX in MathML's terms, where its own would be others."""
    text = operator.text or ""
    if text in _BARS and role in {"OPEN", "CLOSE"}:
        operator.set("form", "prefix" if role == "OPEN" else "postfix")
    elif role == "ORD" or text in {"…", "⋯"}:
        operator.attrib |= _CLOSE
    elif text.isalpha():
        operator.attrib |= {"lspace": "0", "rspace": _THIN}


def _spaced(row: list[ET.Element]) -> Iterator[ET.Element]:
    """Yield a row in which signs that join nothing stand close, and names of functions apart."""
    for before, node, after in zip([None, *row], row, [*row[1:], None], strict=False):
        text = node.text or ""
        follows = before is not None and (before.tag != "mo" or before.text in _CLOSING)
        core = node[0] if node.tag in _SCRIPTED else node
        if node.tag == "mo" and text in _SIGNS and not follows:
            node.set("form", "prefix")
        elif core.text in _LARGE and not follows:
            core.set("lspace", "0")
        elif text == "\N{FUNCTION APPLICATION}" and after is not None:
            first = next(iter(after), after) if after.tag == "mrow" else after
            if first.text not in {"(", "[", "{"}:
                node.attrib |= {"lspace": "0", "rspace": _THIN}
        elif node.tag == "mi" and len(text) > 1 and text.isalpha() and follows:
            yield ET.Element("mspace", {"width": _THIN})
        yield node


@cache
def _letters() -> dict[tuple[frozenset[str], str], str]:
    """Return Unicode's mathematical letters by the words of their alphabet and the plain letter."""
    letters = {}
    for code in (*range(0x2102, 0x2135), *range(0x1D400, 0x1D800)):
        style = _STYLE.match(unicodedata.name(chr(code), ""))
        if style and style[1]:
            words = style[1].replace("BLACK-LETTER", "FRAKTUR").replace("-", " ").lower().split()
            letters[frozenset(words), unicodedata.normalize("NFKC", chr(code))] = chr(code)
    letters[frozenset(["italic"]), "h"] = "\N{PLANCK CONSTANT}"
    return letters


def _letter(variant: str, letter: str) -> str:
    return _letters().get((frozenset(variant.replace("-", " ").split()), letter), letter)


def _is_tall(node: ET.Element) -> bool:
    """Whether something in a node needs brackets higher than a letter."""
    return any(part.tag in _TALL or (part.text or "") in _LARGE for part in node.iter())


def _is_higher_than_a_letter(node: ET.Element) -> bool:
    return _is_tall(node) or any(part.tag not in _TOKENS | {"mrow", "msub"} for part in node.iter())
