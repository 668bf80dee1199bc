"""Sentences that quote, generated from a seed, each with what an independent reading of it must give.

By hand, 2,000 of them: ``python -m tests.citing.sentences 2000 SEED``.
"""

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path
from random import Random

from tests.report.records import record
from verify.citing.documents import adopt, check, fix
from verify.evidence import Check, RunRecord

_MODES = {"estimate": ROUND_HALF_EVEN, "low": ROUND_FLOOR, "high": ROUND_CEILING}
_WORDS = (
    "{estimate}", "lies in [{low}, {high}] around {estimate}", "low {low}, estimate {estimate}, high {high}",
    "{low} < {estimate} < {high}", "high {high}, low {low}", "between {low} and {high}",
    "{estimate}, interval {low} to {high}", "**{estimate}** ({low} to {high})", "from {low}",
    "[{low}, {high}]", "{low}–{high}", "about {estimate} on average", "at most {high}; at least {low}",
)  # fmt: skip
_FORMS = (
    "default", "pm", "low", "high", "interval", "range", "percent", "scientific", "plain", "interval,percent",
    "pm,scientific", "range,plain", '"{low} to {high} around {estimate}"', 'percent,"at least {low}"',
)  # fmt: skip


@dataclass(frozen=True)
class Sentence:
    """A line of a document: the check that it quotes, its words or its form, and the digits it leaves out."""

    check: str
    words: str
    form: str
    fewer: int

    @property
    def key(self) -> str:
        """The key of the check in the sample."""
        return f"score-variance.{self.check}"

    def line(self, text: str) -> str:
        """Return the line of Markdown."""
        form = f"|{self.form}" if self.form else ""
        return f"It is <!-- verify: {self.key}{form} -->{text}<!-- /verify --> here, × 10² or 5%.\n"


def rounded(exact: float, decimals: int, mode: str) -> str:
    """Return a number to given decimals, by the rule of the decimal module alone."""
    wide = Context(prec=60)
    value = Decimal(repr(exact)).quantize(Decimal(1).scaleb(-decimals, wide), mode, wide)
    return f"{abs(value):f}" if not value else f"{value:f}".replace("-", "−")


def said(words: str, check: Check, decimals: int) -> str:
    """Return what the words say of a check."""
    parts = {"estimate": check.estimate, "low": check.interval[0], "high": check.interval[1]}
    return words.format(**{name: rounded(one, decimals, _MODES[name]) for name, one in parts.items()})


def moved(run: RunRecord, random: Random) -> RunRecord:
    """Return a run whose first claim measured other numbers of any size and sign."""
    checks = []
    for one in run.claims[0].checks:
        size = 10.0 ** random.uniform(-3, 4)
        estimate = random.choice((-1, 1)) * size
        error = size * 10.0 ** random.uniform(-4, -2)
        ends = (estimate - error * random.uniform(3, 6), estimate + error * random.uniform(3, 6))
        changed = {"estimate": estimate, "interval": ends, "standard_error": error}
        checks.append(one.model_copy(update=changed if one.blocks else {}))
    claim = run.claims[0].model_copy(update={"checks": tuple(checks)})
    return run.model_copy(update={"claims": (claim, *run.claims[1:])})


def numbers_of(text: str) -> list[Decimal]:
    """Return the numbers of a written text as a reader takes them: signs, groups, powers and per cent."""
    found = []
    shared = re.search(r"\)(?:×10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)|(%))", text)
    for match in re.finditer(r"(−?)(\d[\d\u202f]*(?:\.\d+)?)(?:\]?×10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)|\]?(%))?", text):
        if re.search(r"×$", text[: match.start()]):
            continue
        raised, percent = match[3] or (shared and shared[1]), match[4] or (shared and shared[2])
        inside = re.match(r"[^\[\]]*\](?:×10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)|(%))", text[match.end() :])
        if inside and "[" in text[: match.start()]:
            raised, percent = inside[1], inside[2]
        power = int((raised or "0").translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")))
        value = Decimal(match[2].replace("\u202f", "")).scaleb(power - 2 * bool(percent))
        found.append(-value if match[1] else value)
    return found


def is_right(sentence: Sentence, text: str, check: Check) -> bool:
    """Return whether a written text says of a check what its form names, as a reader takes it."""
    found = numbers_of(text)
    estimate, (low, high) = Decimal(repr(check.estimate)), (Decimal(repr(end)) for end in check.interval)
    spread = (high - low) / 4
    layout = sentence.form.partition(",")[0]
    if layout == "pm":
        centre, half = found
        return centre - half <= low and high <= centre + half and abs(centre - estimate) <= spread
    near = {"e": lambda x: abs(x - estimate) <= spread, "l": lambda x: low - spread <= x <= low,
            "h": lambda x: high <= x <= high + spread}  # fmt: skip
    roles = {
        "low": "l", "high": "h", "interval": "lh", "range": "lh",
        '"{low} to {high} around {estimate}"': "lhe",
    }.get(layout, "l" if "at least" in sentence.form else "elh")  # fmt: skip
    return len(found) == len(roles) and all(near[role](one) for role, one in zip(roles, found, strict=True))


def sentence(random: Random) -> Sentence:
    """Return a sentence of a measured check, by a form or in its author's words."""
    check = random.choice([one.id for one in record().claims[0].checks if one.blocks])
    if random.random() < 0.5:
        return Sentence(check, "", random.choice(_FORMS), 0)
    return Sentence(check, random.choice(_WORDS), "", random.choice((0, 0, 1)))


def campaign(number: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Check, write and adopt a number of sentences; return what became of them, and what went wrong."""
    random, counts = Random(seed), Counter[str]()  # noqa: S311 - seeded
    wrong: list[str] = []
    while counts["sentences"] < number:
        made = [sentence(random) for _ in range(min(50, number - counts["sentences"]))]
        counts["sentences"] += len(made)
        wrong += _page(made, random, folder / "page.md", counts)
    return counts, wrong


def _page(made: list[Sentence], random: Random, path: Path, counts: Counter[str]) -> Iterator[str]:
    """Put sentences into a page, write it for other numbers, adopt it and write it again."""
    old, new = moved(record(), random), moved(record(), random)
    before, after = ({one.id: one for one in run.claims[0].checks} for run in (old, new))
    texts = [said(one.words, before[one.check], _decimals(one, before[one.check])) or "0" for one in made]
    planted = [bool(one.words) and random.random() < 0.3 for one in made]
    texts = [
        _planted(random, text) if is_wrong else text for text, is_wrong in zip(texts, planted, strict=True)
    ]
    lines = [one.line(text) for one, text in zip(made, texts, strict=True)]
    page = "".join(lines)
    refused = _problems(path, page, old)
    fix(check([path], new))
    for place, (one, line) in enumerate(zip(made, _lines(path), strict=True)):
        if one.form:
            counts["written"] += 1
            if not is_right(one, _between(line), after[one.check]):
                yield f"written wrongly: {line} of {after[one.check]}"
            continue
        is_wrong = not _is_true(texts[place], before[one.check])
        counts["planted and false" if is_wrong else "true"] += 1
        if (place in refused) is not is_wrong:
            yield f"{'missed' if is_wrong else 'refused though true'}: {line}"
        if line != lines[place]:
            yield f"an author's text was written: {lines[place]} {line}"
    _problems(path, page, old)
    yield from _adopted(made, planted, path, (old, new), counts)


def _adopted(
    made: list[Sentence],
    planted: list[bool],
    path: Path,
    runs: tuple[RunRecord, RunRecord],
    counts: Counter[str],
) -> Iterator[str]:
    """Adopt forms in a page, and write it for other numbers."""
    before, after = _lines(path), {one.id: one for one in runs[1].claims[0].checks}
    adopted = {one.quote.line - 1 for one in adopt(check([path], runs[0]), runs[0]) if one.form}
    if [_between(line) for line in _lines(path)] != [_between(line) for line in before]:
        yield "adopting changed a text"
    fix(check([path], runs[1]))
    left = _problems(path, path.read_text(encoding="utf-8"), runs[1])
    for place, line in enumerate(_lines(path)):
        if place in adopted and not planted[place]:
            counts["adopted"] += 1
            counts["adopted, then without a suitable form"] += place in left
            if place not in left and not _is_said(made[place], _between(line), after[made[place].check]):
                yield f"adopted, then wrong: {before[place]} {line} of {after[made[place].check]}"


def _problems(path: Path, page: str, run: RunRecord) -> set[int]:
    """Write a page and return the lines with problems, from 0."""
    path.write_text(page, encoding="utf-8")
    return {problem.quote.line - 1 for problem in check([path], run)[0].problems}


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def _decimals(one: Sentence, check: Check) -> int:
    place = int(Decimal(repr(check.standard_error)).adjusted())
    return max(0, -place - one.fewer)


def _is_said(one: Sentence, text: str, check: Check) -> bool:
    """Return whether a text says the sentence's words of a check, to the digits that it prints."""
    roles = re.findall(r"\{(\w+)\}", one.words)
    if "×" in text:
        return len(numbers_of(text)) == len(roles)
    plain = text.replace("\u202f", "").replace("\u00a0", " ")
    words = re.split(r"−?\d+(?:\.\d+)?", plain)
    is_range = one.words == "{low}–{high}"
    if words != re.split(r"\{\w+\}", one.words) and not (is_range and words == ["", " to ", ""]):
        return False
    parts = {"estimate": check.estimate, "low": check.interval[0], "high": check.interval[1]}
    for role, number in zip(roles, re.findall(r"−?\d+(?:\.\d+)?", plain), strict=True):
        # Zeros before the point may stand for digits that mean nothing.
        zeros = len(number) - len(number.rstrip("0")) if "." not in number else 0
        places = [len(number.partition(".")[2])] if "." in number else [-zero for zero in range(zeros + 1)]
        if number not in {rounded(parts[role], place, _MODES[role]) for place in places}:
            return False
    return True


def _planted(random: Random, text: str) -> str:
    places = [match.start() for match in re.finditer(r"\d", text)]
    place = random.choice(places)
    return (
        text[:place] + random.choice([one for one in "0123456789" if one != text[place]]) + text[place + 1 :]
    )


def _between(line: str) -> str:
    return re.search(r" -->(.*?)<!-- /verify -->", line)[1]  # type: ignore[index]


def _is_true(text: str, check: Check) -> bool:
    """Return whether each number of a text is still a part of the check, rounded to what is printed."""
    low, high = (Decimal(repr(end)) for end in check.interval)
    estimate = Decimal(repr(check.estimate))
    half = float(max(high - estimate, estimate - low))
    for match in re.finditer(r"−?\d+(?:\.\d+)?", text):
        decimals = len(match[0].partition(".")[2])
        parts = [rounded(check.estimate, decimals, ROUND_HALF_EVEN)]
        parts += [
            rounded(check.interval[0], decimals, ROUND_FLOOR),
            rounded(check.interval[1], decimals, ROUND_CEILING),
        ]
        parts += [rounded(half, decimals, ROUND_CEILING)]
        if match[0] not in parts:
            return False
    return True


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        totals, faults = campaign(int(sys.argv[1]), int(sys.argv[2]), Path(place))
    sys.stdout.write("\n".join([*(f"{name}: {count}" for name, count in totals.items()), *faults, ""]))
    sys.exit(bool(faults))
