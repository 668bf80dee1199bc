"""Values in the forms of other programs: LaTeX macros, and JSON, which is YAML as well.

Every file says in its head which command wrote it, from results of which digest: by that, and by the digest
of a badge, `verify.citing.documents` finds out whether it is stale.
"""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from verify.citing.languages import LATEX
from verify.citing.lookup import chosen
from verify.citing.values import Evidence, Value, reading
from verify.errors import CitationError
from verify.evidence.load import creation, digest, origin

FORMATS = {"json": ".json", "latex": ".tex"}
"""The endings of the formats' files, by the formats' names."""
SUFFIXES = (".yaml", ".yml", ".svg", *FORMATS.values())
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


def bare_number(value: Value) -> Decimal | None:
    """Return a value's number as it is printed, None if it has not exactly one."""
    return reading(value.text) if value.figures and not value.text.endswith("%") else None


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


def exported(record: Evidence, names: Sequence[str], form: str) -> str:
    """Return the text of a file with the values that ``names`` stand for, all if there is none.

    Raises:
        CitationError: a name stands for nothing, or asks for a sentence.
    """
    for name in names:
        # The head names the command, and is read again.
        if re.search(r"[\s;\"']", name):
            raise CitationError(f"{name!r}: a sentence cannot be exported; give keys, such as KEY or KEY|.3f")
    values, sealed = chosen(record, names), digest(record)
    command = " ".join(["sdpa-verify export", *names, "--format", form])
    head = f"{command}; sdpa-verify {record.tool.version}, {origin(record)}, digest {sealed}"
    # The head is a comment of LaTeX, and an entry of JSON, which has no comments.
    if form == "latex":
        lines = [f"% {head}\n{_MACROS}"]
        for value in values:
            lines.append(f"\\verifyvalue{{{value.key}}}{{{macro_text(value)}}}%\n")
            if (number := bare_number(value)) is not None:
                lines.append(f"\\verifynumber{{{value.key}}}{{{number}}}%\n")
        return "".join(lines)
    texts: dict[str, str] = {}
    numbers: dict[str, int | float] = {}
    for value in values:
        # As every language takes names: score-variance.slope:estimate is score_variance_slope_estimate.
        name = re.sub(r"^(?=\d)|\W", "_", value.key, flags=re.ASCII)
        while name in texts:
            name += "_"  # a check may have the name of a part
        texts[name] = value.text
        if (number := bare_number(value)) is not None:
            numbers[name] = int(number) if int(number.as_tuple().exponent) >= 0 else float(number)
    about = {"written_by": head, "date": f"{creation(record):%Y-%m-%d}", "digest": sealed}
    content = {"about": about, "texts": texts, "numbers": numbers}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def exported_by(path: Path, start: str) -> tuple[str, str] | None:
    """Return the command that wrote a file, or a badge's claim, and the digest it carries; None of others."""
    match = (_BADGE if path.suffix.lower() == ".svg" else _HEAD).search(start[:HEAD_SIZE])
    return (match["command"], match["digest"]) if match and path.suffix.lower() in SUFFIXES else None
