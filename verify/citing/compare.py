"""How a run or an audit differs from an earlier one: verdicts, outcomes, keys, values and settings.

Intervals are simultaneous: except with probability of at most the false-alarm rate, all intervals of a run
contain their true values. So in two runs of the same truth a pair of intervals is disjoint with probability
of at most the sum of both rates, however the runs depend on each other. A value has *moved* where the two are
disjoint; that sum is the family-wise error rate of this word, over all values compared. What is computed, or
drawn by the same seed in the same number, has to be equal to ten digits.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from verify.citing.lookup import by_key
from verify.citing.values import SOURCE, Evidence, Value
from verify.errors import ResultsError
from verify.evidence import Check, ClaimRecord, ControlRecord, RunRecord, Statement
from verify.evidence.audits import AuditRecord, Finding, LayerRecord
from verify.evidence.load import digest, origin
from verify.evidence.words import Badge, badge
from verify.text import numbers
from verify.text.escapes import for_markdown, prose_for_markdown
from verify.text.latex import Prose, plain

_DIGITS = 1e-9
"""What may differ in numbers that are equal to ten digits, as a share of the largest that belongs to them."""

_HOW = ("block", "drawn in", "generator")
"""The settings of a cell that say how it is drawn: its truth does not depend on them."""


class Change(NamedTuple):
    """What became of what a key names; ``why`` says of a value how it is known to have moved."""

    key: str
    what: Prose
    before: str
    after: str
    why: str = ""


class Changes(NamedTuple):
    """How a record differs from an ``earlier`` one.

    ``verdicts`` are those of claims with their proofs, of checks and controls, or the judgements of an
    audit's findings; ``moved`` values are otherwise than chance allows, those ``reprinted`` differ in printed
    digits only. ``come`` and ``gone`` are keys, without those of parts. ``judged`` values were compared by
    their intervals, of which at the family-wise ``rate`` one would seem to have moved though none did; of
    ``whole`` claims or layers, ``same`` have the same evidence.
    """

    earlier: str
    later: str
    verdicts: tuple[Change, ...]
    statements: tuple[Change, ...]
    moved: tuple[Change, ...]
    reprinted: tuple[Change, ...]
    come: tuple[str, ...]
    gone: tuple[str, ...]
    settings: tuple[Change, ...]
    same: int
    whole: int
    judged: int
    rate: float

    @property
    def exit_status(self) -> int:
        """1 if a verdict or an outcome changed, else 0."""
        return int(bool(self.verdicts or self.statements))

    @property
    def sentences(self) -> tuple[str, ...]:
        """How much is the same, by which rule a value has moved, and how often that errs."""
        said = [f"{self.same} of {self.whole} have the same evidence to ten digits."]
        if self.judged:
            said.append(
                f"{numbers.count(self.judged)} values were drawn otherwise; a value has moved where its two "
                f"intervals are apart. If nothing changed, any does with probability of at most "
                f"{numbers.small(self.rate)}, over all of them."
            )
        if self.reprinted:
            said.append(f"{numbers.count(len(self.reprinted))} values differ in printed digits only.")
        if not self.exit_status:
            said.append("No verdict and no outcome changed.")
        return tuple(said)


class _Judged(NamedTuple):
    """What is said of something that has a verdict: what it is, in words, and how that is shown."""

    what: str
    badges: tuple[Badge, ...]


class _Comparable(NamedTuple):
    """A number with its interval, open ends being infinite.

    ``of`` is what it is of, ``drawn`` by what seed and how often, None where nothing was; ``noise`` is what
    counts as rounding.
    """

    what: str
    estimate: float
    ends: tuple[float, float]
    of: object
    drawn: object
    prediction: float | None = None
    noise: float = 0.0


def compare(old: Evidence, new: Evidence) -> Changes:
    """Return how a run differs from an earlier run, or an audit from an earlier audit.

    Raises:
        ResultsError: one is a run and the other an audit.
    """
    if type(old) is not type(new):
        raise ResultsError("compare: one is a run, the other an audit; give two of a kind")
    before, after = by_key(old), by_key(new)
    come, gone = (_wholes(one, other) for one, other in ((after, before), (before, after)))
    measured, earlier = dict(_measured(new)), dict(_measured(old))
    both = [key for key in measured if key in earlier]
    moved = {key: why for key in both if (why := _moved(earlier[key], measured[key]))}

    def printed(key: str) -> tuple[str, str]:
        return before[key].text, after[key].text

    def change(key: str, why: str = "") -> Change:
        return Change(key, Prose(_what(after[key])), *printed(key), why)

    turned = list(_turned(_judged(before), _judged(after)))
    statements = tuple(one for one in turned if one.key.startswith(f"{SOURCE}."))
    verdicts = tuple(one for one in turned if one not in statements)
    told = moved.keys() | {one.key for one in verdicts}
    reprinted = [
        change(key)
        for key, value in after.items()
        if value.part is not None and key in before and ":" not in key and key not in told
        if printed(key)[0] != printed(key)[1]
    ]
    return Changes(
        earlier=_name(old),
        later=_name(new),
        verdicts=verdicts,
        statements=statements,
        moved=tuple(change(key, why) for key, why in moved.items()),
        reprinted=tuple(reprinted),
        come=come,
        gone=gone,
        settings=tuple(_settings(old, new)),
        same=len(_digests(old) & _digests(new)),
        whole=len(_digests(new)),
        judged=sum(_by_interval(earlier[key], measured[key]) for key in both),
        rate=min(1.0, _rate(old) + _rate(new)),
    )


def _name(record: Evidence) -> str:
    mark = digest(record) if isinstance(record, RunRecord) else record.seal
    return f"sdpa-verify {record.tool.version}, {origin(record)}, digest {mark[:12]}"


def _digests(record: Evidence) -> set[tuple[str, str]]:
    if isinstance(record, RunRecord):
        return {(claim.id, claim.digest) for claim in record.claims}
    return {(layer.id, layer.model_dump_json()) for layer in record.layers}


def _rate(record: Evidence) -> float:
    """Return the probability, at most, that not all of a record's intervals hold what they are of."""
    if isinstance(record, RunRecord):
        return record.spent
    return math.fsum(1 - one.level for _, one in _findings(record))


def _wholes(one: Mapping[str, Value], other: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the keys that only one record has, without parts; of a whole claim or layer, its own alone."""
    alone = [key for key in one if key not in other and ":" not in key]
    return tuple(key for key in alone if key.partition(".")[0] not in alone or "." not in key)


def _what(value: Value) -> str:
    part = value.part
    return getattr(part, "quantity", "") or getattr(part, "what", "")


def _turned(old: Mapping[str, _Judged], new: Mapping[str, _Judged]) -> Iterator[Change]:
    """Yield what is judged otherwise than before, of what both records judge."""
    for key, seen in new.items():
        words, earlier = (", ".join(one.word for one in some.badges) for some in (seen, old.get(key, seen)))
        if words != earlier:
            yield Change(key, Prose(seen.what), earlier, words)


def _judged(known: Mapping[str, Value]) -> dict[str, _Judged]:
    """Return what has a verdict among values, by its key: claims with their proofs, findings, statements."""
    found = {}
    for key, value in known.items():
        if ":" in key:
            continue
        badges: tuple[Badge, ...]
        match one := value.part or value.subject:
            case ClaimRecord():
                what, badges = one.title, (badge(one.derivation.status), badge(one.verdict))
            case Check():
                what, badges = one.quantity, (badge(one.verdict),)
            case ControlRecord():
                what, badges = f"negative control: {one.what}", (badge(one.verdict),)
            case Finding():
                what, badges = one.quantity, (badge(one.judgement),)
            case Statement():
                what, badges = one.text, (badge(one.outcome),)
            case _:
                continue
        found[key] = _Judged(what, badges)
    return found


def _findings(record: AuditRecord) -> Iterator[tuple[LayerRecord, Finding]]:
    return ((layer, finding) for layer in record.layers for finding in layer.findings)


def _measured(record: Evidence) -> Iterator[tuple[str, _Comparable]]:
    """Yield the values that are compared: of checks and facts, or of findings that have an estimate."""
    if not isinstance(record, RunRecord):
        for layer, one in _findings(record):
            if one.estimate is not None:
                low, high = one.interval
                ends = (-math.inf if low is None else low, math.inf if high is None else high)
                # A recording of the same name may hold other data: only the same audit is of the same.
                is_open = one.interval == (None, None)
                ends = (one.estimate, one.estimate) if is_open else ends
                data = None if is_open else record.seal
                yield f"{layer.id}.{one.id}", _Comparable(one.quantity, one.estimate, ends, (), data)
        return
    chosen = record.run.settings
    for claim in record.claims:
        for check in claim.checks:
            how = tuple(check.cell.get(name) for name in _HOW)
            settings = sorted(one for one in check.cell.items() if one[0] not in _HOW)
            drawn = (chosen.seed, chosen.device, how, check.looks, check.blocks, check.draws)
            is_zero = check.method == "exact" and check.prediction == 0
            yield (
                f"{claim.id}.{check.id}",
                _Comparable(
                    check.quantity,
                    check.estimate,
                    check.interval,
                    (check.quantity, check.method, check.relation, tuple(settings)),
                    None if check.method == "exact" else drawn,
                    check.prediction,
                    check.tolerance if is_zero else 0.0,
                ),
            )
        for fact in claim.facts:
            ends = (fact.value, fact.value)
            yield f"{claim.id}.{fact.id}", _Comparable(fact.what, fact.value, ends, fact.what, None)


def _by_interval(old: _Comparable, new: _Comparable) -> bool:
    return old.of == new.of and old.drawn != new.drawn


def _moved(old: _Comparable, new: _Comparable) -> str:
    """Return how a value is known to have moved, nothing where it may be the same."""
    if old.of != new.of:
        return "of another quantity or other settings"
    numbers_of = (*old.ends, *new.ends, old.estimate, new.estimate, old.prediction or 0, new.prediction or 0)
    noise = _DIGITS * max(abs(one) for one in numbers_of if math.isfinite(one)) + max(old.noise, new.noise)
    if _by_interval(old, new):
        apart = old.ends[0] > new.ends[1] + noise or new.ends[0] > old.ends[1] + noise
        why = "intervals apart" if apart else ""
    else:
        same = abs(old.estimate - new.estimate) <= noise
        why = "" if same else "computed otherwise" if new.drawn is None else "otherwise of the same draws"
    if why or old.prediction is None or new.prediction is None:
        return why
    return "" if abs(old.prediction - new.prediction) <= noise else "another prediction"


def _settings(old: Evidence, new: Evidence) -> Iterator[Change]:
    before, after = _set(old), _set(new)
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name, ""), after.get(name, "")
        if one != other:
            yield Change(name, Prose(""), one, other)


def _set(record: Evidence) -> dict[str, str]:
    """Return what results depend on besides the claims: settings, budget and versions, in words."""
    if isinstance(record, RunRecord):
        environment, chosen = record.run.environment, dict(record.run.settings)
        asked = {
            "claims asked for": ", ".join(record.run.claims) or "all",
            "places of the error budget": str(record.run.budget.places),
        }
    else:
        environment, chosen = record.environment, dict(record.settings)
        asked = {f"{layer.id}: intended scale": layer.intention.expression for layer in record.layers}
        asked |= {"source": record.source}
    said = {name.replace("_", " "): _worded(value) for name, value in chosen.items()}
    # Results are the same for any number of workers.
    versions = {name: version for name, version in environment.items() if name != "workers"}
    return {**said, **asked, "sdpa-verify": record.tool.version, **versions}


def _worded(value: object) -> str:
    return json.dumps(value, default=str) if isinstance(value, dict) else "" if value is None else str(value)


_NAMED = 12  # this many keys are named in a line before the others are counted


def to_text(found: Changes) -> str:
    """Return the comparison as plain lines, a heading above each group."""
    lines = [f"before: {found.earlier}", f"after:  {found.later}", ""]
    for title, changes in _groups(found):
        if changes:
            lines += [f"{title}:", *(f"  {_line(one)}" for one in changes), ""]
    return "\n".join([*lines, *_closing(found)])


def _groups(found: Changes) -> tuple[tuple[str, tuple[Change, ...]], ...]:
    return (
        ("verdicts", found.verdicts),
        ("outcomes of statements", found.statements),
        ("values that moved", found.moved),
        ("settings and versions", found.settings),
    )


def _line(one: Change) -> str:
    why = f" ({one.why})" if one.why else ""
    what = f"; {plain(one.what)}" if one.what else ""
    return f"{one.key}: {one.before or '(none)'} → {one.after or '(none)'}{why}{what}"


def _closing(found: Changes) -> Iterator[str]:
    for word, keys in (("new", found.come), ("gone", found.gone)):
        if keys:
            more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
            yield f"keys that are {word}: {', '.join(keys[:_NAMED])}{more}"
    if found.reprinted:
        whole = [
            f"{name} {len(list(some))}"
            for name, some in groupby(found.reprinted, lambda one: one.key.partition(".")[0])
        ]
        yield f"in printed digits only: {', '.join(whole)}"
    yield from found.sentences


def to_markdown(found: Changes) -> str:
    """Return the comparison as Markdown, a table for each group, with printed digits folded."""
    lines = [f"Before: {for_markdown(found.earlier)}. After: {for_markdown(found.later)}.", ""]
    for title, changes in _groups(found):
        if changes:
            lines += [f"### {title.capitalize()}", "", *_rows(changes), ""]
    if found.reprinted:
        lines += [
            "<details>",
            f"<summary>In printed digits only: {len(found.reprinted)} values</summary>",
            "",
        ]
        lines += [*_rows(found.reprinted), "", "</details>", ""]
    for word, keys in (("New", found.come), ("Gone", found.gone)):
        if keys:
            lines += [f"{word} keys: {', '.join(f'`{key}`' for key in keys)}.", ""]
    return "\n".join([*lines, " ".join(map(for_markdown, found.sentences))])


def _rows(changes: Iterable[Change]) -> Iterator[str]:
    yield "| key | before | now | |"
    yield "|---|---|---|---|"
    for one in changes:
        cells = (for_markdown(one.before), for_markdown(one.after))
        what = "; ".join(filter(None, [one.why, prose_for_markdown(one.what)]))
        yield f"| `{one.key}` | {' | '.join(cells)} | {what} |".replace("\n", " ")


def to_json(found: Changes) -> str:
    """Return all of the comparison as JSON, for programs."""
    content = {name: _plain(value) for name, value in found._asdict().items()}
    return json.dumps({**content, "exit_status": found.exit_status}, ensure_ascii=False, indent=1)


def _plain(value: object) -> object:
    if not isinstance(value, tuple):
        return value
    return [one._asdict() if isinstance(one, Change) else one for one in value]


FORMS: dict[str, Callable[[Changes], str]] = {"json": to_json, "markdown": to_markdown, "text": to_text}
"""The forms by their names."""
