"""Generated documents: nothing is made false or deleted, and time grows with length alone."""

import contextlib
import math
import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.records import record
from verify.citing.documents import check, fix
from verify.citing.languages import language_of
from verify.citing.values import by_key, written
from verify.citing.quotations import quotes_in
from verify.citing.quotations import fault_of, normal
from verify.errors import CitationError

RUN = record()
KNOWN = by_key(RUN)
_SLOPE = "score-variance.slope"
_KEYS = (
    f"{_SLOPE} {_SLOPE}:estimate {_SLOPE}:low {_SLOPE}:interval95 {_SLOPE}:level {_SLOPE}:draws run:claims "
    "run:confirmed run:seed score-variance:verdict score-variance:digest score-variance:title"
)
_FORMS = (
    'default;.3f;.1%;.2e;.2g;pm;interval;interval95;low;"{high:.2f}";.12;"from {low} to {high}";'
    '"about {text}, as said";"**{text}**";"see there";"{low:.1f}–{high:.1f}"'
)
KEYS, FORMS = _KEYS.split(), _FORMS.split(";")
WORDS = (
    "the slope is of about near and, see Table 3; | & = x 0.9 1.0003 1.05 [0.99, 1.01] ± 0.7 5% 10² −2 "
    "confirmed refuted alas. \\emph{so} *so* `so` (1) 1.0 – 2 ninety-nine 2.3×10⁻⁹ 1e5 12 345 é\n"
)
PROSE = st.lists(st.sampled_from(WORDS.split(" ")), max_size=5).map(" ".join)
MARKERS = {
    "page.md": ("<!-- verify: {} -->", "<!-- /verify -->"),
    "page.mdx": ("{{/* verify: {} */}}", "{{/* /verify */}}"),
    "page.html": ("<!-- verify: {} -->", "<!-- /verify -->"),
    "page.rst": ("\n\n.. verify: {}\n\n", "\n\n.. /verify\n\n"),
    "page.tex": ("\n% verify: {}\n", "\n% /verify\n"),
    "page.adoc": ("\n// verify: {}\n", "\n// /verify\n"),
    "page.typ": ("/* verify: {} */", "/* /verify */"),
    "page.py": ("\n# verify: {}\n", "\n# /verify\n"),
}


@st.composite
def sentences(draw: st.DrawFn) -> tuple[str, str, str, str, str, str, str]:
    """Return a file's name, and what stands before, in and after the markers, with a key and a form."""
    name = draw(st.sampled_from(sorted(MARKERS)))
    key, form = draw(st.sampled_from(KEYS)), draw(st.sampled_from(["", *FORMS]))
    try:
        now = written(KNOWN, key, form or "default", language_of(Path(name)).written)
    except CitationError:
        now = KNOWN[key].text
    # Often the text itself, or what an older run would have written.
    digit = draw(st.sampled_from("0123456789"))
    old = re.sub(r"(?<=[.\d])\d(?!.*\d)", digit, now, count=1)
    inside = draw(st.one_of(PROSE, st.just(now), st.just(old), PROSE.map(lambda prose: f"{old} {prose}")))
    opening, closing = MARKERS[name]
    opening = opening.format(f"{key}|{form}" if form else key)
    return name, f"Text {draw(PROSE)}{opening}", inside, f"{closing.format()}{draw(PROSE)}\n", key, form, now


def checked(case: tuple[str, str, str, str, str, str, str]) -> None:
    """Write a sentence's document, and hold what is left of it against what was there."""
    name, before, inside, after, key, form, _ = case
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(before + inside + after, encoding="utf-8")
        try:
            documents = check([path], RUN)
            fix(documents)
        except CitationError:
            assert path.read_text(encoding="utf-8") == before + inside + after
            return
        text = path.read_text(encoding="utf-8")
        left = check([path], RUN)[0].problems
    # What stands outside the markers is as it was, but for the bar that ends a cell.
    start, end = text.replace("\\|", "|"), text
    assert start.startswith(before.replace("\\|", "|").rstrip()[: len(before.rstrip())])
    assert end.endswith(after.lstrip())
    language = language_of(path)
    for quote in quotes_in(path, text, KNOWN):
        if quote.quoted is None or quote.key not in {key, f"{key}|{form}"}:
            continue
        if not form:
            # An author's text is never written; one that is not reported says nothing false.
            assert inside.strip() in text
            assert left or fault_of(KNOWN, key, quote.quoted) == ""
            continue
        try:
            now = written(KNOWN, key, form, language.written)
        except CitationError:
            assert inside.strip() in text
            continue
        if normal(quote.quoted) != normal(now):
            # Not written: it is reported and stays as it was.
            assert left
            assert inside.strip() in text
        # Of what was written over, no word is lost that the form does not write.
        lost = set(re.findall(r"[^\W\d_]{2,}", inside)) - set(re.findall(r"[^\W\d_]{2,}", text))
        markup = {"ensuremath", "times", "mbox", "pm", "sup", "super", "to"}
        verdicts = {"confirmed", "refuted", "undecided", "approximate"}
        assert lost <= markup | verdicts, (inside, text)
        assert "|" not in inside or "|" in text


@given(sentences())
def test_a_hundred_sentences(case: tuple[str, str, str, str, str, str, str]) -> None:
    """Of all languages, keys and forms: nothing outside markers is touched, no prose inside is deleted."""
    checked(case)


@pytest.mark.slow
@settings(max_examples=2000, derandomize=False, database=None)
@given(sentences())
def test_two_thousand_sentences(case: tuple[str, str, str, str, str, str, str]) -> None:
    """Others at every run."""
    checked(case)


QUOTED = "<!-- verify: score-variance.slope:estimate{} -->{}<!-- /verify -->\n"
REPEATED = {
    "right quotations": (".md", QUOTED.format("", "1.000")),
    "stale forms": (".md", QUOTED.format("|pm", "1")),
    "quotations in code": (".md", f"`{QUOTED.format('', '9.9').strip()}`\n"),
    "a mistyped key": (".md", QUOTED.format("", "1").replace("slope", "slop")),
    "lists and code": (".md", "- a\n\n      b\n\n```\n~~~\n"),
    "one long word": (".html", "A"),
    "doctests": (".md", ">>> f()  # verify: score-variance.slope:estimate|.3f\n1.000\n"),
    "empty quotations": (".tex", "% verify: score-variance.slope|pm\n% /verify\n"),
    "switches": (".md", "<!-- verify: off -->\n<!-- verify: on -->\n"),
    "roles": (".rst", ":verify:`score-variance.slope` "),
    "macros": (".tex", "\\verifyvalue{score-variance.slope}{$1$}%\n"),
    "paragraphs": (".adoc", "\n\n a\nb\n"),
}
"""The ending of a document's name, and what it repeats."""


def seconds(path: Path, text: str) -> float:
    """Return the processor time of a check of a document."""
    path.write_text(text, encoding="utf-8")
    begun = time.process_time()
    with contextlib.suppress(CitationError):  # refusing is an answer as well
        check([path], RUN)
    return time.process_time() - begun


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if case == "stale forms" else pytest.mark.slow) for case in REPEATED]
)
def test_four_times_the_length_takes_about_four_times_the_time(tmp_path: Path, case: str) -> None:
    """A square would make it sixteen times; half of that allows for noise and for what leaves the cache."""
    kind, text = REPEATED[case]
    path, repeats = tmp_path / f"page{kind}", 20_000 // len(text)
    once = longer = math.inf
    for _ in range(4):
        # Again where another program which ran meanwhile slowed one of them.
        once = min(once, seconds(path, text * repeats))
        longer = min(longer, seconds(path, text * 4 * repeats))
        if longer < 8 * once + 0.05:
            break
    else:
        pytest.fail(f"{once:.3g} s, and {longer:.3g} s for four times as much")
