"""Wrong inputs of many kinds, and whether what came in answer is as it must be."""

import contextlib
import copy
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from verify.cli.main import main
from verify.errors import VerifyError
from verify.evidence import RunRecord
from verify.evidence.audits import AuditRecord
from verify.text.escapes import CONTROLS

FOREIGN = (
    "", " ", "\n", "\0", "\x1b[2J", "a\u202eb", "\ud800", "\ufeff", "$", "$$", "$x", r"$\frac{a$",
    r"$\input{x}$", r"\input{/etc/passwd}", r"$\write18{id}$", "%", "#", "^^5c", "{", "}", "<b>",
    "</script><script>alert(1)</script>", "<!-- /verify -->", "-->", "`", "]]>", "&amp;",
    "[a](javascript:alert(1))", "|", "javascript:alert(1)", "//host", "run", "source", "a b", "A", "../x",
    "x"*300, "9"*50, "1e999", "nan", "NaN", "-0", "٣", "√d·k²", "a\nb",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 10**6, 2**53, 2**63, -(2**63), 10**30, 10**400, 0.0, -0.0, 0.5, 1.0, -1.0, 1.5, 1e-300,
    5e-324, 1e300, -1e300, 1e16, 1.0000000000000002, float("nan"), float("inf"), float("-inf"), True,
    False,
)  # fmt: skip
_LOOSE: tuple[Any, ...] = (None, [], {}, [[]], [None], {"a": 1}, "text", 0, 1.5)
_SNIPPETS = (
    "<!--", "-->", "<!-- /verify -->", "<!-- verify: ", "<!-- verfy: ", " -->", "{verify}`", ":verify:`",
    "`", "``", "```\n", "~~~", "<", ">", r"\verify{", "}", r"\input{", r"\verifyvalue{", "}{", "}%\n",
    "%", "\n", "\r\n", " ", "**", "*", "[", "]", "(", ")", "$", "1.001", "-5", "1,234", "1.0 [0.9, 1.1]",
    "99.7%", " per cent", "‰", " million", " k", "×10⁻³", "e-7", "10^{3}", "\\,", "&nbsp;", "–", "—",
    "to", "<sup>3</sup>", "confirmed", "refuted", "Proved", "half a", "٣", "\u202e", "\x1b",
    "\N{NO-BREAK SPACE}", "1"*40, "0", "000", ".", ",", "'", "’",
)  # fmt: skip


def text_with_mistakes(random: Random, text: str, snippets: tuple[str, ...] = FOREIGN) -> str:
    """Return a text with a few stretches left out, doubled, moved or replaced."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 1, 1, 2, 5, 20, 200, 2000)))
        put = random.choice(
            (
                "",
                random.choice(snippets),
                text[start:end] * 2,
                random.choice(snippets) * random.choice((2, 50)),
            )
        )
        text = text[:start] + put + text[end:]
    return text


def bytes_with_mistakes(random: Random, content: bytes) -> bytes:
    """Return bytes with some of them flipped, cut off, doubled, or made up."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 5, 50))):
        place = random.randrange(len(changed) + 1)
        kind = random.randrange(4)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << random.randrange(8)
        elif kind == 1:
            changed[place : place + random.choice((0, 1, 3))] = random.randbytes(random.choice((1, 2, 4)))
        elif kind == 2:
            del changed[place : place + random.choice((1, 10, 1000))]
        else:
            changed[place:place] = changed[place : place + random.choice((1, 50))]
    return bytes(changed)


def places(content: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths to everything inside a JSON document."""
    inside = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    return [path for key, value in inside for path in ((*here, key), *places(value, (*here, key)))]


def edited(content: Any, edits: list[tuple[list[str | int], Any]]) -> Any:
    """Return a JSON document with the values at some paths replaced; ``{"$delete": true}`` deletes."""
    changed = copy.deepcopy(content)
    for path, value in edits:
        inside = changed
        try:
            for key in path[:-1]:
                inside = inside[key]
            if value == {"$delete": True}:
                del inside[path[-1]]
            else:
                inside[path[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue  # An earlier edit took the place away.
    return changed


def edits(
    random: Random, content: Any, known: list[tuple[str | int, ...]]
) -> list[tuple[list[str | int], Any]]:
    """Return a few edits of a JSON document that has these places."""
    found = []
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        path = random.choice(known)
        old: Any = content
        for key in path:
            old = old[key]
        found.append((list(path), _another(random, old, content, known)))
    return found


def _another(random: Random, old: Any, content: Any, known: list[tuple[str | int, ...]]) -> Any:
    """Return something else for a value: nothing, another kind, another place's value, or one like it."""
    other: Any = content
    for key in random.choice(known):
        other = other[key]
    kind = random.randrange(8)
    if kind < 3:
        return ({"$delete": True}, random.choice(_LOOSE), other)[kind]
    return random.choice(_like(random, old))


def _like(random: Random, old: Any) -> tuple[Any, ...]:
    foreign = random.choice(FOREIGN)
    if isinstance(old, str):
        return foreign, old + foreign, old[: len(old) // 2], old * 2
    if isinstance(old, int | float) and not isinstance(old, bool):
        return random.choice(NUMBERS), -old, old * 10, old + 1
    if isinstance(old, list):
        return [], old * 2, old[::-1], old[:1]
    return ({**old, foreign: 1.5},) if isinstance(old, dict) else (*_LOOSE, *NUMBERS, *FOREIGN)


def sealed(content: Any) -> bytes:
    """Return a results file or an audit with this content, its seals made to fit if it can be read at all."""
    try:
        if "audit_schema" in content:
            return AuditRecord.model_validate(content).sealed().to_json().encode()
        record = RunRecord.model_validate(content)
        claims = tuple(claim.sealed() for claim in record.claims)
        return record.model_copy(update={"claims": claims}).sealed().to_json().encode()
    except (TypeError, ValueError, RecursionError):
        return json.dumps(content).encode(errors="surrogatepass")


_FORMS = (
    "|default",
    "|digits=3",
    "|pm",
    "|words",
    "|percent",
    '|"{low} to {text}"',
    '|"`{text}` "',
    "|",
    '|"',
    "|x=",
)


def document(random: Random, keys: list[str], texts: list[str], kind: str) -> str:
    """Return a document that quotes: mostly well formed, with figures that are right, stale or made up."""
    parts = []
    for _ in range(random.randrange(1, 8)):
        key = random.choice(keys) if random.random() < 0.9 else random.choice(FOREIGN)
        key += random.choice(("", "", *_FORMS))
        quoted = random.choice(
            (
                random.choice(texts),
                "",
                *("".join(random.choices(_SNIPPETS, k=random.randrange(1, 5))) for _ in "ab"),
            )
        )
        parts += [random.choice(("", "Here ", "\n", *_SNIPPETS)), _quotation(random, key, quoted, kind)]
        parts.append(random.choice(("", " per cent", "%", " k", " and ", "\n", *_SNIPPETS)))
    text = "".join(parts)
    return text_with_mistakes(random, text, _SNIPPETS) if random.random() < 0.3 else text


def _quotation(random: Random, key: str, quoted: str, kind: str) -> str:
    if kind == "tex":
        return random.choice((rf"\verify{{{key}}}", f"\n\\verifyvalue{{{key}}}{{{quoted}}}%\n"))
    role = {"rst": ":verify:", "md": "{verify}"}.get(kind)
    if role and random.random() < 0.4:
        return random.choice((f"{role}`{key}`", f"{role}`{quoted} <{key}>`"))
    return f"<!-- verify: {key} -->{quoted}<!-- /verify -->"


_SECONDS = 10.0  # of computing: several times what a whole page takes on a slow machine
_WAITING = 60.0  # seconds by the clock, where a reader waits instead of computing
_STATUSES = frozenset([0, 1, 2, 3, 4])
REFUSALS: list[object] = []
"""What was refused since it was last emptied: with status 2."""


class Slow(BaseException):
    """An input took longer than it may."""


class Answer(NamedTuple):
    """What the tool answered: its exit status and what it printed."""

    status: object
    out: str
    err: str

    def wrong(self) -> str:
        """Return what is wrong with it, or nothing."""
        complaints = [line for line in self.err.splitlines() if line.startswith("sdpa-verify: ")]
        if self.status not in _STATUSES:
            return f"status {self.status!r}"
        if len(complaints) != (self.status in {2, 4}):
            return f"{len(complaints)} complaints with status {self.status}: {self.err[-300:]!r}"
        if "Traceback" in self.err:
            return "a traceback"
        found = CONTROLS.search((self.out + self.err).replace("\n", "").replace("\t", ""))
        return f"the control character {found[0]!r} is printed" if found else ""


_NOWHERE = os.open(os.devnull, os.O_WRONLY)


class _Printed(io.StringIO):
    """What is printed, with a descriptor that the tool may send to nowhere."""

    def fileno(self) -> int:
        """Return one that leads there."""
        return _NOWHERE


def call(*arguments: str) -> Answer:
    """Return what a call of the tool answers, in this process."""
    out, err = _Printed(), _Printed()
    status: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _no_input():
        try:
            main(list(arguments))
        except SystemExit as ended:
            status = ended.code
    if status in {129, 130, 143}:
        raise KeyboardInterrupt  # It is the campaign that was ended.
    REFUSALS.extend([status] * (status == VerifyError.exit_status))
    return Answer(status, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _no_input() -> Iterator[None]:
    given, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO())
    try:
        yield
    finally:
        sys.stdin = given


def reading(read: Callable[[], object]) -> Answer:
    """Return what reading answers, where no command does that alone."""
    try:
        read()
    except VerifyError as error:
        REFUSALS.append(error)
        return Answer(
            error.exit_status, "", "".join(f"sdpa-verify: {line}\n" for line in str(error).split("\n"))
        )
    return Answer(0, "", "")


@contextlib.contextmanager
def _watched(seconds: float) -> Iterator[None]:
    """Raise `Slow` after this many seconds of computing, or much longer of waiting."""

    def stop(*_: object) -> None:
        raise Slow

    timers = (
        (signal.SIGVTALRM, signal.ITIMER_VIRTUAL, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, _WAITING),
    )
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def attempt(trial: Callable[[bytes], str], content: bytes, seconds: float = _SECONDS) -> str:
    """Return what is wrong with the answer to an input, or nothing."""
    try:
        with _watched(seconds):
            return trial(content)
    except Slow:
        return f"more than {seconds:g} s"
    except Exception as error:  # noqa: BLE001 - whatever comes is a fault
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"[:300]
