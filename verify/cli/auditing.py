"""The command that audits somebody's own attention, and how it says what it found."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verify.cli.console import PATH, end, say
from verify.cli.rendering import rendered
from verify.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verify.evidence.audits import AuditRecord, Finding, LayerRecord

NAMES = ("audit.json", "audit.html", "audit.pdf")
"""What an audit writes, its evidence first."""

_MARKS = {"refuted": "✗", "undecided": "?", "warned": "!"}
_FEW = 4


@click.command()
@click.argument("recording", type=PATH)
@click.option(
    "--intended", metavar="EXPRESSION", help="The scale that was meant, in d, h, D and n, such as 1/sqrt(d)."
)
@click.option(
    "--gate",
    multiple=True,
    metavar="FINDING[:LOW..HIGH]",
    help="Let this finding decide, where it has to lie in this band; may be given several times.",
)
@click.option(
    "--false-alarm",
    type=float,
    default=1e-3,
    show_default=True,
    help="False-alarm rate of the whole audit.",
)
@click.option("--workers", type=int, help="Processors to use; changes no result.  [default: all]")
@click.option(
    "--out", type=PATH, default=Path("audit"), show_default=True, metavar="DIR", help="Folder to write to."
)
@click.option("--no-pages", is_flag=True, help="Write audit.json only, without audit.html and audit.pdf.")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the outcome as JUnit XML as well.")
def audit(
    recording: Path,
    intended: str | None,
    gate: tuple[str, ...],
    false_alarm: float,
    workers: int | None,
    out: Path,
    junit: Path | None,
    *,
    no_pages: bool,
) -> None:
    """Judge the attention in RECORDING and write audit.json, audit.html and audit.pdf.

    RECORDING is a folder that was recorded, or a NumPy archive or safetensors file with q, k and, where there
    are any, v, out, mask, bias, scale and intended.
    """
    from verify import api
    from verify.export.junit import to_junit
    from verify.files.writing import check_writable, write_whole

    for name in NAMES[:1] if no_pages else NAMES:
        check_writable(out, name)
    if junit is not None:
        _refuse_taken(junit, out)
        check_writable(junit.parent, junit.name)
    found = api.audit(recording, intended=intended, gate=gate, false_alarm=false_alarm, workers=workers)
    write_whole(out / NAMES[0], found.to_json().encode())
    for line in lines(found):
        say(line)
    if junit is not None:
        write_whole(junit, to_junit(found))
        say(junit)
    if no_pages:
        say(out / NAMES[0])
    else:
        rendered(found, out, workers)
    end(found.exit_status())


def _refuse_taken(junit: Path, out: Path) -> None:
    """Refuse a place for the outcome where a file of the audit goes.

    Raises:
        OutputError: it is one.
    """
    if any(os.path.realpath(junit) == os.path.realpath(out / name) for name in NAMES):
        raise OutputError(f"{junit}: is where the audit goes; give --junit another name")


def lines(record: AuditRecord) -> Iterator[str]:
    """Yield what an audit found: what is wrong first, a line for all heads alike, and at last the counts."""
    for judgement, mark in _MARKS.items():
        for layer in record.layers:
            wanted = [one for one in layer.findings if one.judgement == judgement]
            for alike in _alike(wanted):
                yield f"{mark} {_place(layer, alike)}: {_said(alike)}"
    for text in record.left_out:
        yield f"- not seen: {text}"
    yield _counts(record)


def _alike(findings: Iterable[Finding]) -> Iterator[Sequence[Finding]]:
    """Yield findings of one name together, where they have one cause and fix or none."""
    groups: dict[object, list[Finding]] = {}
    for one in findings:
        groups.setdefault((one.name, one.cause, one.fix), []).append(one)
    yield from groups.values()


def _place(layer: LayerRecord, alike: Sequence[Finding]) -> str:
    heads = [one.head for one in alike if one.head is not None]
    if not heads:
        return layer.name
    if len(heads) == layer.heads > 1:
        return f"{layer.name}, {'both' if layer.heads == 2 else f'all {layer.heads}'} heads"
    shown = ", ".join(map(str, heads[:_FEW])) + (f" and {len(heads) - _FEW} more" if heads[_FEW:] else "")
    return f"{layer.name}, head{'s' if len(heads) > 1 else ''} {shown}"


def _said(alike: Sequence[Finding]) -> str:
    """Return the line on findings alike: what is wrong and the fix, else what was found of the worst head."""
    worst = max(alike, key=lambda one: (one.sequences_needed or 0, one.estimate or 0.0))
    parts = [part for part in (worst.cause, worst.fix) if part] or [_measured(worst), worst.reason]
    if worst.sequences_needed is not None:
        parts.append(f"about {worst.sequences_needed:,} sequences would decide")
    of_one = f"head {worst.head}: " if len(alike) > 1 and not worst.cause and not worst.fix else ""
    return f"{worst.name} {worst.judgement}: {of_one}" + "; ".join(part for part in parts if part)


def _measured(finding: Finding) -> str:
    if finding.estimate is None:
        return ""
    text = f"{finding.estimate:.4g}"
    low, high = finding.interval
    if (low, high) != (None, None):
        text += f", interval {_ends(low, high)}"
    return text + (f", asked for {_ends(*finding.band)}" if finding.band else "")


def _ends(low: float | None, high: float | None) -> str:
    return f"{'' if low is None else format(low, '.4g')}..{'' if high is None else format(high, '.4g')}"


def _counts(record: AuditRecord) -> str:
    heads = sum(layer.heads for layer in record.layers)
    counted = Counter(str(one.judgement) for one in record.findings)
    deciding = sum(one.decides for one in record.findings)
    counts = ", ".join(f"{number:,} {judgement}" for judgement, number in sorted(counted.items()))
    layers = f"{len(record.layers)} layer{'' if len(record.layers) == 1 else 's'}"
    return (
        f"{layers}, {heads} head{'' if heads == 1 else 's'}: {len(record.findings):,} findings, of which "
        f"{deciding:,} decide: {counts}"
    )


COMMANDS = (audit,)
