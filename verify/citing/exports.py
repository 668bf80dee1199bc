"""Values in the forms of other programs: LaTeX macros, and data files of tables within tables."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from verify.citing.forms import own_power
from verify.citing.languages import MARKUPS
from verify.citing.values import Evidence, Value, reading
from verify.evidence import RunRecord
from verify.evidence.load import command, creation, origin
from verify.text.escapes import CONTROLS, one_line

VALUE_LINE = re.compile(r"^\\verify(?:value|number)\{(?P<key>[^{}]+)\}\{(?P<text>.*)\}%$", re.MULTILINE)
EXPORTED = "% Values of sdpa-verify "
"""What every exported file starts with."""
_BARE = re.compile(r"-?[0-9.]+(?:e-?[0-9]+)?")


def macro_text(value: Value) -> str:
    """Return a value's text in LaTeX, for text and for formulas."""
    latex = MARKUPS["latex"]
    if not value.figures or re.search("[A-Za-z]", value.text):
        return rf"\verifywords{{{latex.words(value.text)}}}"
    text = latex.written(value.text, is_number=True)
    return text if text.startswith(r"\ensuremath") else latex.formula.format(text)


def bare_number(value: Value) -> str | None:
    r"""Return a value's number as programs and siunitx's ``\num`` read it, None if it has not exactly one."""
    number = reading(value.text) if value.figures and not value.text.endswith("%") else None
    if number is None:
        return None
    power = own_power(value.text)
    return f"{number.scaleb(-power):f}" + (f"e{power}" if power else "")


def line_text(value: Value, quoted: str) -> str:
    """Return what should stand in the place of a macro's text: the bare number for a bare number."""
    bare = bare_number(value)
    return bare if bare is not None and _BARE.fullmatch(quoted) else macro_text(value)


_HEAD = (
    EXPORTED
    + r"""{version}, {origin}. Written by
%   sdpa-verify export --format latex
% from the results of: {made_by}
% \verify{{KEY}} is a value in text and in formulas; \verifynum{{KEY}} its bare number, for \num of siunitx.
% An unknown key is an error. `sdpa-verify values` lists the keys.
\providecommand\verifyvalue[2]{{\expandafter\gdef\csname verify/#1\endcsname{{#2}}}}
\providecommand\verifynumber[2]{{\expandafter\gdef\csname verify*#1\endcsname{{#2}}}}
\providecommand\verifywords[1]{{\ifmmode\mbox{{#1}}\else#1\fi}}
\providecommand\verify[1]{{{{%
  \ifcsname verify/#1\endcsname\csname verify/#1\endcsname\else
    \errmessage{{sdpa-verify: no value `#1'; see `sdpa-verify values' for its keys}}%
  \fi}}}}
\providecommand\verifynum[1]{{%
  \ifcsname verify*#1\endcsname\csname verify*#1\endcsname\else\sdpaverifyhasnosuchnumber\fi}}
"""
)


def to_latex(record: Evidence, chosen: Iterable[Value]) -> str:
    r"""Return the text of a file for ``\input`` that defines ``\verify`` for the values chosen."""
    head = _HEAD.format(
        version=record.tool.version,
        origin=origin(record),
        made_by=one_line(command(record) if isinstance(record, RunRecord) else "sdpa-verify audit"),
    )
    return head + "".join(line for value in chosen for line in _definitions(value))


def _definitions(value: Value) -> Iterator[str]:
    yield f"\\verifyvalue{{{value.key}}}{{{macro_text(value)}}}%\n"
    bare = bare_number(value)
    if bare is not None:
        yield f"\\verifynumber{{{value.key}}}{{{bare}}}%\n"


Tree = dict[str, Any]


def tree(record: Evidence, chosen: Iterable[Value]) -> Tree:
    """Return three tables: ``about`` the results, the values' ``texts`` as printed, and their ``numbers``.

    The words of a key lead to its value, with underscores for hyphens: ``score-variance.slope:estimate`` is
    at score_variance, slope, estimate. What a key without a part stands for is called ``text`` and
    ``number``. Only values of one figure have a number.
    """
    texts: Tree = {}
    numbers: Tree = {}
    for value in chosen:
        *path, last = _path(value.key)
        _put(texts, path, last or "text", value.text)
        bare = bare_number(value)
        if bare is not None:
            _put(numbers, path, last or "number", float(bare) if re.search(r"[.e]", bare) else int(bare))
    return {"about": _about(record), "texts": texts, "numbers": numbers}


def _about(record: Evidence) -> Tree:
    made = {"tool": "sdpa-verify", "version": record.tool.version, "date": f"{creation(record):%Y-%m-%d}"}
    if not isinstance(record, RunRecord):
        return {**made, "seal": record.seal}
    settings = record.run.settings
    return {**made, "seed": settings.seed, "profile": settings.profile, "seal": record.seal}


def _path(key: str) -> tuple[str, ...]:
    whole, _, part = key.partition(":")
    return (*map(name, whole.split(".", 1)), name(part) if part else "")


def name(word: str) -> str:
    """Return a word of a key as a name that every language takes."""
    safe = re.sub(r"\W", "_", word, flags=re.ASCII)
    return f"n{safe}" if safe[:1].isdigit() else safe


def _put(table: Tree, path: list[str], last: str, leaf: object) -> None:
    for word in path:
        inner = table.setdefault(word, {})
        if not isinstance(inner, dict):
            # A claim's own part, such as its checks, has the name of one of its findings.
            table[f"{word}_"] = inner
            inner = table[word] = {}
        table = inner
    table[f"{last}_" if isinstance(table.get(last), dict) else last] = leaf


def literal(leaf: object) -> str:
    """Return a text or a number as JSON, YAML and TOML alike write it."""
    if isinstance(leaf, float):
        # YAML takes 1e-06 for a text.
        return re.sub(r"^(-?\d+)e", r"\1.0e", repr(leaf))
    # TOML alone forbids this one.
    return json.dumps(leaf, ensure_ascii=False).replace("\x7f", "\\u007f")


def leaves(table: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every text and number with the names that lead to it."""
    for word, inner in table.items():
        if isinstance(inner, dict):
            yield from leaves(inner, (*path, word))
        else:
            yield (*path, word), inner


def to_json(record: Evidence, chosen: Iterable[Value]) -> str:
    """Return an object of objects: ``texts.score_variance.slope.estimate``, and the same of ``numbers``."""
    return json.dumps(tree(record, chosen), indent=2, ensure_ascii=False) + "\n"


def to_toml(record: Evidence, chosen: Iterable[Value]) -> str:
    """Return a line for each text and number, under its dotted key."""
    lines = (f"{'.'.join(path)} = {literal(leaf)}\n" for path, leaf in leaves(tree(record, chosen)))
    return "".join(lines)


def to_typst(record: Evidence, chosen: Iterable[Value]) -> str:
    """Return the module: ``#import "verify.typ": texts``, then ``#texts.score_variance.slope.estimate``."""
    return "".join(f"#let {word} = {_typst(table)}\n" for word, table in tree(record, chosen).items())


def _typst(leaf: object, depth: int = 1) -> str:
    if isinstance(leaf, dict):
        if not leaf:
            return "(:)"
        indent = "  " * depth
        inside = (f"{indent}{word}: {_typst(inner, depth + 1)},\n" for word, inner in leaf.items())
        return f"(\n{''.join(inside)}{'  ' * (depth - 1)})"
    return _typst_text(leaf) if isinstance(leaf, str) else repr(leaf)


def _typst_text(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + CONTROLS.sub(lambda sign: f"\\u{{{ord(sign[0]):x}}}", quoted) + '"'


def to_yaml(record: Evidence, chosen: Iterable[Value]) -> str:
    """Return block mappings; every text is in quotation marks, so that none is taken for anything else."""
    return "".join(_yaml_lines(tree(record, chosen), 0))


def _yaml_lines(table: Tree, depth: int) -> Iterator[str]:
    for word, inner in table.items():
        start = f"{'  ' * depth}{literal(word)}:"
        if not isinstance(inner, dict):
            yield f"{start} {literal(inner)}\n"
        elif inner:
            yield f"{start}\n"
            yield from _yaml_lines(inner, depth + 1)
        else:
            yield f"{start} {{}}\n"


def to_asciidoc(_record: Evidence, chosen: Iterable[Value]) -> str:
    """Return a line for each value, quoted as ``{verify-score-variance-slope--estimate}``.

    A point of a key is one hyphen there, and a colon two.
    """
    # Passed through, with neither formatting nor references; an attribute's text ends with its last bracket.
    return "".join(f":{_attribute(value.key)}: pass:c[{one_line(value.text)}]\n" for value in chosen)


def _attribute(key: str) -> str:
    return "verify-" + re.sub(r"[^a-z0-9-]", "-", key.lower().replace(":", "--"))


def to_csv(_record: Evidence, chosen: Iterable[Value]) -> str:
    """Return a head and a row for each value; texts are as they are shown, and quoted where they need it."""
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(("key", "text"))
    rows.writerows((value.key, value.text) for value in chosen)
    return table.getvalue()


class Format(NamedTuple):
    """The ending of a form's files, and the function from a record and the values chosen to a file's text."""

    suffix: str
    write: Callable[[Evidence, Iterable[Value]], str]


FORMATS: dict[str, Format] = {
    "asciidoc": Format(".adoc", to_asciidoc),
    "csv": Format(".csv", to_csv),
    "json": Format(".json", to_json),
    "latex": Format(".tex", to_latex),
    "toml": Format(".toml", to_toml),
    "typst": Format(".typ", to_typst),
    "yaml": Format(".yml", to_yaml),
}
"""The forms by their names."""
