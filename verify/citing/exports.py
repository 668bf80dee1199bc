"""Values in the forms of other programs: LaTeX macros, and data files of tables within tables.

Every file says in its head which command wrote it, from which results: by that `stale_export` tells whether
these results would still write the same.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from verify.citing.forms import own_power
from verify.citing.languages import MARKUPS
from verify.citing.lookup import by_key, chosen
from verify.citing.summaries import COLOURS, Badged, as_endpoint, as_svg, badge_of
from verify.citing.values import Evidence, Value, reading
from verify.errors import CitationError
from verify.evidence import RunRecord
from verify.evidence.load import creation, digest, origin
from verify.text.escapes import CONTROLS, one_line

Tree = dict[str, Any]


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


_MACROS = r"""% \verify{KEY} is a value in text or formula; \verifynum{KEY} its bare number, for siunitx.
% An unknown key is an error. `sdpa-verify values` lists the keys.
\providecommand\verifyvalue[2]{\expandafter\gdef\csname verify/#1\endcsname{#2}}
\providecommand\verifynumber[2]{\expandafter\gdef\csname verify*#1\endcsname{#2}}
\providecommand\verifywords[1]{\ifmmode\mbox{#1}\else#1\fi}
\providecommand\verify[1]{{%
  \ifcsname verify/#1\endcsname\csname verify/#1\endcsname\else
    \errmessage{sdpa-verify: no value `#1'; see `sdpa-verify values' for its keys}%
  \fi}}
\providecommand\verifynum[1]{%
  \ifcsname verify*#1\endcsname\csname verify*#1\endcsname\else\sdpaverifyhasnosuchnumber\fi}
"""


def _latex(head: str, _about: Tree, values: Sequence[Value]) -> str:
    lines = [f"% {head}\n{_MACROS}"]
    for value in values:
        lines.append(f"\\verifyvalue{{{value.key}}}{{{macro_text(value)}}}%\n")
        if (bare := bare_number(value)) is not None:
            lines.append(f"\\verifynumber{{{value.key}}}{{{bare}}}%\n")
    return "".join(lines)


def tree(about: Tree, values: Iterable[Value]) -> Tree:
    """Return three tables: ``about`` the results, the values' ``texts`` as printed, and their ``numbers``.

    The words of a key lead to its value, with underscores for hyphens: ``score-variance.slope:estimate`` is
    at score_variance, slope, estimate. What a key without a part stands for is called ``text`` and
    ``number``. Only values of one figure have a number.
    """
    texts: Tree = {}
    numbers: Tree = {}
    for value in values:
        whole, _, part = value.key.partition(":")
        path = [name(word) for word in whole.split(".", 1)]
        _put(texts, path, name(part) or "text", value.text)
        if (bare := bare_number(value)) is not None:
            number = float(bare) if re.search(r"[.e]", bare) else int(bare)
            _put(numbers, path, name(part) or "number", number)
    return {"about": about, "texts": texts, "numbers": numbers}


def name(word: str) -> str:
    """Return a word of a key as a name that every language takes."""
    safe = re.sub(r"\W", "_", word, flags=re.ASCII)
    return f"n{safe}" if safe[:1].isdigit() else safe


def _put(table: Tree, path: Iterable[str], last: str, leaf: object) -> None:
    for word in path:
        inner = table.setdefault(word, {})
        if not isinstance(inner, dict):
            # A claim's own part, such as its checks, has the name of one of its findings.
            table[f"{word}_"] = inner
            inner = table[word] = {}
        table = inner
    table[f"{last}_" if isinstance(table.get(last), dict) else last] = leaf


def leaves(table: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every text and number with the names that lead to it."""
    for word, inner in table.items():
        if isinstance(inner, dict):
            yield from leaves(inner, (*path, word))
        else:
            yield (*path, word), inner


def _json(_head: str, about: Tree, values: Sequence[Value]) -> str:
    return json.dumps(tree(about, values), indent=2, ensure_ascii=False) + "\n"


def _yaml(_head: str, about: Tree, values: Sequence[Value]) -> str:
    text: str = yaml.safe_dump(tree(about, values), allow_unicode=True, sort_keys=False, width=10**6)
    return text


def _toml(_head: str, about: Tree, values: Sequence[Value]) -> str:
    # TOML writes texts and numbers as JSON does, but for one sign.
    return "".join(
        f"{'.'.join(path)} = {json.dumps(leaf, ensure_ascii=False)}\n".replace("\x7f", "\\u007f")
        for path, leaf in leaves(tree(about, values))
    )


def _typst(_head: str, about: Tree, values: Sequence[Value]) -> str:
    return "".join(f"#let {word} = {_in_typst(table)}\n" for word, table in tree(about, values).items())


def _in_typst(leaf: object, indent: str = "") -> str:
    if isinstance(leaf, dict):
        inside = (f"{indent}  {word}: {_in_typst(inner, indent + '  ')},\n" for word, inner in leaf.items())
        return f"(\n{''.join(inside)}{indent})" if leaf else "(:)"
    if not isinstance(leaf, str):
        return repr(leaf)
    quoted = leaf.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + CONTROLS.sub(lambda sign: f"\\u{{{ord(sign[0]):x}}}", quoted) + '"'


def _asciidoc(head: str, _about: Tree, values: Sequence[Value]) -> str:
    # Passed through, with neither formatting nor references; an attribute's text ends with its last bracket.
    lines = (
        f":verify-{re.sub('[^a-z0-9-]', '-', value.key.lower().replace(':', '--'))}: "
        f"pass:c[{one_line(value.text)}]\n"
        for value in values
    )
    return f"// {head}\n{''.join(lines)}"


def _csv(head: str, _about: Tree, values: Sequence[Value]) -> str:
    table = io.StringIO()
    rows = csv.writer(table, lineterminator="\n")
    rows.writerows([("key", "text"), ("about", head), *((value.key, value.text) for value in values)])
    return table.getvalue()


class Format(NamedTuple):
    """The ending of a format's files, and the function from a head, what it says, and values to a text."""

    suffix: str
    write: Callable[[str, Tree, Sequence[Value]], str]


FORMATS: dict[str, Format] = {
    "asciidoc": Format(".adoc", _asciidoc),
    "csv": Format(".csv", _csv),
    "json": Format(".json", _json),
    "latex": Format(".tex", _latex),
    "toml": Format(".toml", _toml),
    "typst": Format(".typ", _typst),
    "yaml": Format(".yml", _yaml),
}
"""The formats by their names."""


def exported(record: Evidence, names: Sequence[str], form: str) -> str:
    """Return the text of a file with the values that ``names`` stand for, all if there is none.

    Raises:
        CitationError: a name stands for nothing, or asks for a sentence.
    """
    values, seal = chosen(record, names), _digest(record)
    for name in names:
        if re.search(r"[\s;\"']", name):
            raise CitationError(f"{name!r}: a sentence cannot be exported; give keys, such as KEY or KEY|.3f")
    command = " ".join(["sdpa-verify export", *names, "--format", form])
    head = f"{command}; sdpa-verify {record.tool.version}, {origin(record)}, digest {seal}"
    about: Tree = {"written_by": head, "tool": "sdpa-verify", "version": record.tool.version}
    if isinstance(record, RunRecord):
        about |= {"seed": record.run.settings.seed, "profile": record.run.settings.profile}
    about |= {"date": f"{creation(record):%Y-%m-%d}", "digest": seal}
    return FORMATS[form].write(head, about, values)


def _digest(record: Evidence) -> str:
    return digest(record) if isinstance(record, RunRecord) else record.seal


_HEAD = re.compile(
    rf"sdpa-verify export(?P<names>(?: [^\s;\"']+)*?) --format (?P<form>{'|'.join(FORMATS)}); "
    r"sdpa-verify [^;\n]*?digest (?P<digest>[0-9a-f]{64})"
)
_BADGE = re.compile(
    r"<title>(?P<name>[\w.-]+|attention audit): [^<]*; sdpa-verify, digest (?P<digest>[0-9a-f]+)"
)
_ENDPOINT = re.compile(rf'"color": "(?:{"|".join(COLOURS.values()).replace("#", "")})", "isError"')
HEAD_SIZE = 16_384
SUFFIXES = frozenset([".yaml", ".svg", *(form.suffix for form in FORMATS.values())])
"""How the names of files end that may have been exported."""


class Export(NamedTuple):
    """What an exported file is of, and what these results write in its place; ``digest`` is its own."""

    what: str
    digest: str
    new: str


def is_exported(path: Path, head: str) -> bool:
    """Return whether a file of this name was written by ``export`` or ``badge``, as its beginning says."""
    suffix, start = path.suffix.lower(), head[:HEAD_SIZE]
    if suffix == ".svg":
        return _BADGE.search(start) is not None
    if suffix == ".json" and _ENDPOINT.search(start):
        return True
    match = _HEAD.search(start) if suffix in SUFFIXES else None
    return match is not None and suffix.replace("yaml", "yml") == FORMATS[match["form"]].suffix


_LINE_HEAD = re.compile(r"\s*(?:\\verify\w+\{[^}]*\}|[^:=,({]*[:=,({]?)")


def has_own_lines(old: str, new: str) -> bool:
    """Return whether an exported file has lines that none is written instead of, as its user's own."""
    heads = {_LINE_HEAD.match(line)[0] for line in new.splitlines()}  # type: ignore[index]  # it may be empty
    return any(
        _LINE_HEAD.match(line)[0] not in heads  # type: ignore[index]
        for line in old.splitlines()
        if not _HEAD.search(line)
    )


def present_export(path: Path, text: str, record: Evidence) -> Export:
    """Return what these results write in the place of an exported file.

    Raises:
        CitationError: it is of something that these results do not have.
    """
    match = _HEAD.search(text[:HEAD_SIZE])
    if match is not None and path.suffix != ".svg":
        names = match["names"].split()
        what = f"sdpa-verify export{match['names']} --format {match['form']}"
        return Export(what, match["digest"], exported(record, names, match["form"]))
    if path.suffix == ".svg":
        badge = _BADGE.search(text[:HEAD_SIZE])
        label, seal = (badge["name"], badge["digest"]) if badge else ("", "")
    else:
        label, seal = str(json.loads(text).get("label", "")), ""
    key = "audit" if label == "attention audit" else label
    value = by_key(record, key).get(key)
    if value is None or not isinstance(value.subject, Badged):
        raise CitationError(f"{path}: is a badge of {label!r}, of which these results have none")
    shield = badge_of(record, value.subject)
    return Export(
        f"sdpa-verify badge {key}", seal, (as_svg if path.suffix == ".svg" else as_endpoint)(shield)
    )
