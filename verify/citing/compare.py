"""How a run or an audit differs from an earlier one: verdicts, outcomes, keys, values and settings.

Intervals are simultaneous: except with probability of at most the family-wise error rate, all intervals of a
run contain their true values. So in two runs of the same truth a pair of intervals is disjoint with
probability of at most the sum of both rates, however the runs depend on each other. A value has *moved* where
the two are disjoint; that sum is the family-wise error rate of this word, over all values compared. What is
computed, or drawn by the same seed in the same number, has to be equal to ten digits.
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
from verify.evidence.audits import Finding
from verify.evidence.load import digest, origin
from verify.evidence.words import badge
from verify.text import numbers
from verify.text.escapes import for_markdown, prose_for_markdown
from verify.text.latex import Prose, plain

_DIGITS = 1e-9
"""What may differ in numbers that are equal to ten digits, as a share of the largest that belongs to them."""

_HOW = ("block", "drawn in")
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
    ``whole`` claims or layers, by their ``kind``, ``same`` have the same evidence.
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
    kind: str = "claims"

    @property
    def exit_status(self) -> int:
        """1 if a verdict or an outcome changed, else 0."""
        return int(bool(self.verdicts or self.statements))

    @property
    def sentences(self) -> tuple[str, ...]:
        """How much is the same, by which rule a value has moved, and how often that errs."""
        sentences = [f"{self.same} of {self.whole} {self.kind} have the same evidence to ten digits."]
        if self.judged:
            sentences.append(
                f"{numbers.count(self.judged)} values were drawn otherwise; a value has moved where its two "
                f"intervals are disjoint. If nothing changed, the probability that any value appears to have "
                f"moved is at most {numbers.small(self.rate)}."
            )
        if self.reprinted:
            sentences.append(f"{numbers.count(len(self.reprinted))} values differ in printed digits only.")
        if not self.exit_status:
            sentences.append("No verdict and no outcome changed.")
        return tuple(sentences)


class _Comparable(NamedTuple):
    """A number with its interval, open ends being infinite.

    ``of`` is what it is of, ``drawn`` by what seed and how often, None where nothing was; ``noise`` is what
    counts as rounding.
    """

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
    measured, earlier = dict(_measured(new)), dict(_measured(old))
    both = [key for key in measured if key in earlier]
    moved = {key: why for key in both if (why := _moved(earlier[key], measured[key]))}

    def change(key: str, why: str = "") -> Change:
        part = after[key].part
        what = getattr(part, "quantity", "") or getattr(part, "what", "")
        return Change(key, Prose(what), before[key].text, after[key].text, why)

    turned = list(_turned(before, after))
    statements = tuple(change for change in turned if change.key.startswith(f"{SOURCE}."))
    verdicts = tuple(change for change in turned if change not in statements)
    listed = moved.keys() | {change.key for change in verdicts}
    reprinted = [
        change(key)
        for key, value in after.items()
        if value.part is not None and key in before and ":" not in key and key not in listed
        if before[key].text != value.text
    ]
    digests = _digests(new)
    return Changes(
        earlier=_name(old),
        later=_name(new),
        verdicts=verdicts,
        statements=statements,
        moved=tuple(change(key, why) for key, why in moved.items()),
        reprinted=tuple(reprinted),
        come=_wholes(after, before),
        gone=_wholes(before, after),
        settings=tuple(_changed_settings(_settings(old), _settings(new))),
        same=len(_digests(old) & digests),
        whole=len(digests),
        judged=sum(_is_by_interval(earlier[key], measured[key]) for key in both),
        rate=min(1.0, _rate(old) + _rate(new)),
        kind="claims" if isinstance(new, RunRecord) else "layers",
    )


def _name(record: Evidence) -> str:
    seal = digest(record) if isinstance(record, RunRecord) else record.seal
    return f"sdpa-verify {record.tool.version}, {origin(record)}, digest {seal[:12]}"


def _digests(record: Evidence) -> set[tuple[str, str]]:
    if isinstance(record, RunRecord):
        return {(claim.id, claim.digest) for claim in record.claims}
    return {(layer.id, layer.model_dump_json()) for layer in record.layers}


def _rate(record: Evidence) -> float:
    """Return the probability, at most, that not all of a record's intervals hold what they are of."""
    if isinstance(record, RunRecord):
        return record.spent
    return math.fsum(1 - finding.level for layer in record.layers for finding in layer.findings)


def _wholes(known: Mapping[str, Value], others: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the keys that only one record has, without parts; of a whole claim or layer, its own alone."""
    alone = [key for key in known if key not in others and ":" not in key]
    return tuple(key for key in alone if key.partition(".")[0] not in alone or "." not in key)


def _turned(before: Mapping[str, Value], after: Mapping[str, Value]) -> Iterator[Change]:
    """Yield what is judged otherwise than before, of what both records judge."""
    for key in after:
        if ":" not in key and key in before:
            what, now = _judged(after[key])
            _, then = _judged(before[key])
            if now != then:
                yield Change(key, Prose(what), then, now)


def _judged(value: Value) -> tuple[str, str]:
    """Return what has a verdict, a claim with its proof, and that in words; nothing of what has none."""
    match judged := value.part or value.subject:
        case ClaimRecord():
            return judged.title, f"{badge(judged.derivation.status).word}, {badge(judged.verdict).word}"
        case Check():
            return judged.quantity, badge(judged.verdict).word
        case ControlRecord():
            return f"negative control: {judged.what}", badge(judged.verdict).word
        case Finding():
            return judged.quantity, badge(judged.judgement).word
        case Statement():
            return judged.text, badge(judged.outcome).word
    return "", ""


def _measured(record: Evidence) -> Iterator[tuple[str, _Comparable]]:
    """Yield the values that are compared: of checks and facts, or of findings that have an estimate."""
    if not isinstance(record, RunRecord):
        for layer in record.layers:
            for finding in layer.findings:
                if finding.estimate is not None:
                    # A recording of the same name may hold other data: only the same audit is of the same.
                    is_open = finding.interval == (None, None)
                    low, high = (finding.estimate, finding.estimate) if is_open else finding.interval
                    ends = (-math.inf if low is None else low, math.inf if high is None else high)
                    drawn = None if is_open else record.seal
                    yield f"{layer.id}.{finding.id}", _Comparable(finding.estimate, ends, (), drawn)
        return
    chosen = record.run.settings
    for claim in record.claims:
        for check in claim.checks:
            how = tuple(check.cell.get(name) for name in _HOW)
            cell = tuple(sorted(item for item in check.cell.items() if item[0] not in _HOW))
            is_exact = check.method == "exact"
            yield (
                f"{claim.id}.{check.id}",
                _Comparable(
                    check.estimate,
                    check.interval,
                    (check.quantity, check.method, check.relation, cell),
                    None if is_exact else (chosen.seed, how, check.looks, check.blocks, check.draws),
                    check.prediction,
                    check.tolerance if is_exact and check.prediction == 0 else 0.0,
                ),
            )
        for fact in claim.facts:
            ends = (fact.value, fact.value)
            yield f"{claim.id}.{fact.id}", _Comparable(fact.value, ends, fact.what, None)


def _is_by_interval(old: _Comparable, new: _Comparable) -> bool:
    return old.of == new.of and old.drawn != new.drawn


def _moved(old: _Comparable, new: _Comparable) -> str:
    """Return how a value is known to have moved, nothing where it may be the same."""
    if old.of != new.of:
        return "of another quantity or other settings"
    numbers_of = (*old.ends, *new.ends, old.estimate, new.estimate, old.prediction or 0, new.prediction or 0)
    noise = _DIGITS * max(filter(math.isfinite, map(abs, numbers_of))) + max(old.noise, new.noise)
    if _is_by_interval(old, new):
        if old.ends[0] > new.ends[1] + noise or new.ends[0] > old.ends[1] + noise:
            return "intervals apart"
    elif abs(old.estimate - new.estimate) > noise:
        return "computed otherwise" if new.drawn is None else "otherwise of the same draws"
    if old.prediction is None or new.prediction is None or abs(old.prediction - new.prediction) <= noise:
        return ""
    return "another prediction"


def _changed_settings(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        if before.get(name, "") != after.get(name, ""):
            yield Change(name, Prose(""), before.get(name, ""), after.get(name, ""))


def _settings(record: Evidence) -> dict[str, str]:
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
    worded = {
        name.replace("_", " "): json.dumps(value, default=str)
        if isinstance(value, dict)
        else ""
        if value is None
        else str(value)
        for name, value in chosen.items()
    }
    # Results are the same for any number of workers.
    versions = {name: version for name, version in environment.items() if name != "workers"}
    return {**worded, **asked, "sdpa-verify": record.tool.version, **versions}


_NAMED = 12  # this many keys are named in a line before the others are counted


def _groups(comparison: Changes) -> Iterator[tuple[str, tuple[Change, ...]]]:
    groups = {
        "verdicts": comparison.verdicts,
        "outcomes of statements": comparison.statements,
        "values that moved": comparison.moved,
        "settings and versions": comparison.settings,
    }
    return ((title, changes) for title, changes in groups.items() if changes)


def to_text(comparison: Changes) -> str:
    """Return the comparison as plain lines, a heading above each group."""
    lines = [f"before: {comparison.earlier}", f"after:  {comparison.later}", ""]
    for title, changes in _groups(comparison):
        lines.append(f"{title}:")
        for change in changes:
            why = f" ({change.why})" if change.why else ""
            what = f"; {plain(change.what)}" if change.what else ""
            lines.append(
                f"  {change.key}: {change.before or '(none)'} → {change.after or '(none)'}{why}{what}"
            )
        lines.append("")
    for word, keys in (("new", comparison.come), ("gone", comparison.gone)):
        if keys:
            more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
            lines.append(f"keys that are {word}: {', '.join(keys[:_NAMED])}{more}")
    if comparison.reprinted:
        groups = groupby(comparison.reprinted, lambda change: change.key.partition(".")[0])
        counts = ", ".join(f"{name} {len(list(changes))}" for name, changes in groups)
        lines.append(f"in printed digits only: {counts}")
    return "\n".join([*lines, *comparison.sentences])


def to_markdown(comparison: Changes) -> str:
    """Return the comparison as Markdown, a table for each group, with printed digits folded."""
    lines = [f"Before: {for_markdown(comparison.earlier)}. After: {for_markdown(comparison.later)}.", ""]
    for title, changes in _groups(comparison):
        lines += [f"### {title.capitalize()}", "", *_rows(changes), ""]
    if comparison.reprinted:
        summary = f"<summary>In printed digits only: {len(comparison.reprinted)} values</summary>"
        lines += ["<details>", summary, "", *_rows(comparison.reprinted), "", "</details>", ""]
    for word, keys in (("New", comparison.come), ("Gone", comparison.gone)):
        if keys:
            lines += [f"{word} keys: {', '.join(f'`{key}`' for key in keys)}.", ""]
    return "\n".join([*lines, " ".join(map(for_markdown, comparison.sentences))])


def _rows(changes: Iterable[Change]) -> Iterator[str]:
    yield "| key | before | now | |"
    yield "|---|---|---|---|"
    for change in changes:
        what = "; ".join(filter(None, [change.why, prose_for_markdown(change.what)]))
        row = f"| `{change.key}` | {for_markdown(change.before)} | {for_markdown(change.after)} | {what} |"
        yield row.replace("\n", " ")


def to_json(comparison: Changes) -> str:
    """Return all of the comparison as JSON, for programs."""
    content = {
        name: [item._asdict() if isinstance(item, Change) else item for item in value]
        if isinstance(value, tuple)
        else value
        for name, value in comparison._asdict().items()
    }
    return json.dumps({**content, "exit_status": comparison.exit_status}, ensure_ascii=False, indent=1)


FORMS: dict[str, Callable[[Changes], str]] = {"json": to_json, "markdown": to_markdown, "text": to_text}
"""The forms by their names."""
