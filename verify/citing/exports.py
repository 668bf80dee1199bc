"""Values in the forms of other programs: LaTeX macros, JSON and YAML.

Every file says in its head which command wrote it, from results of which digest: by that, and by the digest
of a badge, `verify.citing.documents` finds out whether it is stale.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from verify.citing.languages import LATEX
from verify.citing.lookup import chosen, own_power
from verify.citing.values import Evidence, Value, reading, record_digest
from verify.errors import CitationError
from verify.evidence import RunRecord
from verify.evidence.load import creation, origin

Tree = dict[str, Any]

FORMATS = {"json": ".json", "latex": ".tex", "yaml": ".yml"}
"""The endings of the formats' files, by the formats' names."""
SUFFIXES = (".yaml", ".svg", *FORMATS.values())
"""How the names of files end that may have been exported."""
HEAD_SIZE = 16_384
_HEAD = re.compile(
    r"(?P<command>sdpa-verify export(?: [^\s;\"']+)* --format \w+); "
    r"sdpa-verify [^;\n]*?digest (?P<digest>\w{64})"
)
_BADGE = re.compile(r"<title>(?P<command>[\w-]+): [^<]*; sdpa-verify, digest (?P<digest>\w+)")


def macro_text(value: Value) -> str:
    """Return a value's text in LaTeX, for text and for formulas."""
    if not value.figures or re.search("[A-Za-z]", value.text):
        return rf"\verifywords{{{LATEX.words(value.text)}}}"
    text = LATEX.written(value.text, is_number=True)
    return text if text.startswith(r"\ensuremath") else LATEX.formula.format(text)


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
        path = [_name(word) for word in whole.split(".", 1)]
        _put(texts, path, _name(part) or "text", value.text)
        if (bare := bare_number(value)) is not None:
            number = float(bare) if re.search(r"[.e]", bare) else int(bare)
            _put(numbers, path, _name(part) or "number", number)
    return {"about": about, "texts": texts, "numbers": numbers}


def _name(word: str) -> str:
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


def exported(record: Evidence, names: Sequence[str], form: str) -> str:
    """Return the text of a file with the values that ``names`` stand for, all if there is none.

    Raises:
        CitationError: a name stands for nothing, or asks for a sentence.
    """
    for name in names:
        if re.search(r"[\s;\"']", name):
            raise CitationError(f"{name!r}: a sentence cannot be exported; give keys, such as KEY or KEY|.3f")
    values, digest = chosen(record, names), record_digest(record)
    command = " ".join(["sdpa-verify export", *names, "--format", form])
    head = f"{command}; sdpa-verify {record.tool.version}, {origin(record)}, digest {digest}"
    if form == "latex":
        lines = [f"% {head}\n{_MACROS}"]
        for value in values:
            lines.append(f"\\verifyvalue{{{value.key}}}{{{macro_text(value)}}}%\n")
            if number := bare_number(value):
                lines.append(f"\\verifynumber{{{value.key}}}{{{number}}}%\n")
        return "".join(lines)
    about: Tree = {"written_by": head, "tool": "sdpa-verify", "version": record.tool.version}
    if isinstance(record, RunRecord):
        about |= {"seed": record.run.settings.seed, "profile": record.run.settings.profile}
    content = tree(about | {"date": f"{creation(record):%Y-%m-%d}", "digest": digest}, values)
    if form == "json":
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    text: str = yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=10**6)
    return text


def exported_by(path: Path, start: str) -> tuple[str, str] | None:
    """Return the command that wrote a file, or a badge's claim, and the digest it carries; None of others."""
    match = (_BADGE if path.suffix.lower() == ".svg" else _HEAD).search(start[:HEAD_SIZE])
    return (match["command"], match["digest"]) if match and path.suffix.lower() in SUFFIXES else None
