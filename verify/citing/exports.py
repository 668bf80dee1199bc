"""Values in the forms of other programs: LaTeX macros, AsciiDoc attributes, and JSON and YAML.

Every file says in its head which command wrote it, from which results: so `verify.citing.documents` finds out
whether these results would still write the same.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from verify.citing.forms import own_power
from verify.citing.languages import LATEX
from verify.citing.lookup import chosen
from verify.citing.summaries import as_svg
from verify.citing.values import Evidence, Value, reading, record_digest
from verify.errors import CitationError
from verify.evidence import RunRecord
from verify.evidence.load import creation, origin
from verify.text.escapes import one_line

Tree = dict[str, Any]

FORMATS = {"asciidoc": ".adoc", "json": ".json", "latex": ".tex", "yaml": ".yml"}
"""The endings of the formats' files, by the formats' names."""
SUFFIXES = (".yaml", ".svg", *FORMATS.values())
"""How the names of files end that may have been exported."""
HEAD_SIZE = 16_384
_HEAD = re.compile(
    rf"sdpa-verify export(?P<names>(?: [^\s;\"']+)*?) --format (?P<form>{'|'.join(FORMATS)}); sdpa-verify "
)
_BADGE = re.compile(r"<title>(?P<name>[\w-]+): [^<]*; sdpa-verify, digest ")


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
        return "".join([f"% {head}\n{_MACROS}", *map(_macros_of, values)])
    if form == "asciidoc":
        return "".join([f"// {head}\n", *map(_attribute, values)])
    about: Tree = {"written_by": head, "tool": "sdpa-verify", "version": record.tool.version}
    if isinstance(record, RunRecord):
        about |= {"seed": record.run.settings.seed, "profile": record.run.settings.profile}
    content = tree(about | {"date": f"{creation(record):%Y-%m-%d}", "digest": digest}, values)
    if form == "json":
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    text: str = yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=10**6)
    return text


def _macros_of(value: Value) -> str:
    number, text = bare_number(value), f"\\verifyvalue{{{value.key}}}{{{macro_text(value)}}}%\n"
    return text if number is None else f"{text}\\verifynumber{{{value.key}}}{{{number}}}%\n"


def _attribute(value: Value) -> str:
    # Passed through, with neither formatting nor references; an attribute's text ends with its last bracket.
    name = re.sub("[^a-z0-9-]", "-", value.key.lower().replace(":", "--"))
    return f":verify-{name}: pass:c[{one_line(value.text)}]\n"


def is_exported(path: Path, head: str) -> bool:
    """Return whether a file of this name was written by ``export`` or ``badge``, as its beginning says."""
    suffix, start = path.suffix.lower(), head[:HEAD_SIZE]
    if suffix == ".svg":
        return _BADGE.search(start) is not None
    match = _HEAD.search(start) if suffix in SUFFIXES else None
    return match is not None and suffix.replace("yaml", "yml") == FORMATS[match["form"]]


def written_by(path: Path, text: str, record: Evidence) -> tuple[str, str]:
    """Return the command that wrote an exported file, and what these results write in its place.

    Raises:
        CitationError: it is of something that these results do not have.
    """
    if match := _HEAD.search(text[:HEAD_SIZE]) if path.suffix != ".svg" else None:
        command = f"sdpa-verify export{match['names']} --format {match['form']}"
        return command, exported(record, match["names"].split(), match["form"])
    badge = _BADGE.search(text[:HEAD_SIZE])
    name = badge["name"] if badge else ""
    claims = {claim.id: claim for claim in record.claims} if isinstance(record, RunRecord) else {}
    if name not in claims:
        raise CitationError(f"{path}: is a badge of {name!r}, of which these results have none")
    return f"sdpa-verify badge {name}", as_svg(claims[name])
