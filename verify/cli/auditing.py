"""The command that audits a program's attention, and how it prints what it found."""

from __future__ import annotations

import os
from pathlib import Path

import click

from verify.cli.console import PATH, end, out_option, rendered, say, say_outdated, tell
from verify.errors import OutputError

NAMES = ("audit.json", "audit.html", "audit.pdf")
"""What an audit writes, its evidence first."""


@click.command()
@click.argument("recording", type=PATH)
@click.option(
    "--intended",
    metavar="EXPRESSION",
    help="The intended scale in d (width of a head), h (heads), D (width of the model) and n (keys), "
    "such as 1/sqrt(d).",
)
@click.option(
    "--mask",
    "intended_mask",
    default="",
    metavar="MASK",
    help="The intended mask: none, causal, window=W, prefix=N or documents.",
)
@click.option(
    "--gate",
    multiple=True,
    metavar="FINDING[:LOW..HIGH]",
    help="Fail unless this finding lies in its band; repeatable.",
)
@click.option(
    "--false-alarm",
    type=float,
    default=1e-3,
    show_default=True,
    help="False-alarm rate of the whole audit.",
)
@click.option(
    "--allow-unseen",
    multiple=True,
    metavar="REASON",
    help="Accept a gap in the recording: calls, output, rows, precision or unrecorded; repeatable.",
)
@click.option(
    "--against",
    type=PATH,
    metavar="OTHER",
    help="Compare RECORDING with OTHER, of the same inputs, and report where they first differ.",
)
@click.option(
    "--workers", type=int, help="Number of worker processes; does not affect results.  [default: all]"
)
@out_option("audit")
@click.option("--no-pages", is_flag=True, help="Write audit.json only, without audit.html and audit.pdf.")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the outcome as JUnit XML as well.")
def audit(
    recording: Path,
    intended: str | None,
    intended_mask: str,
    gate: tuple[str, ...],
    false_alarm: float,
    allow_unseen: tuple[str, ...],
    against: Path | None,
    workers: int | None,
    out: Path,
    junit: Path | None,
    *,
    no_pages: bool,
) -> None:
    """Judge the attention in RECORDING.

    Writes audit.json, audit.html and audit.pdf. RECORDING is a folder that "record" wrote, or a NumPy archive
    or safetensors file. It needs q and k, and may have v, out, mask (True where a key may be seen), bias,
    sink (one score for each head), the numbers scale, softcap and causal (1 for a causal mask), documents
    (the number of each token's document), intended, intended_mask, and weights if they are not a softmax
    (sigmoid, sigmoid-ln-n, softpick, clipped=C or differential=LAMBDA).

    With --against, write comparison.json, comparison.html and comparison.pdf instead: the first layer and
    head in which the two differ by more than rounding, and in which quantity. The status is 0 if no
    difference was found, 1 if one was, 3 if not everything could be compared.
    """
    if against is not None:
        given = {"--intended": intended, "--mask": intended_mask, "--gate": gate, "--junit": junit}
        if wrong := [name for name, value in given.items() if value]:
            raise click.UsageError(
                f"{wrong[0]} and --against: a comparison judges no scale; give one of them"
            )
        _compare(recording, against, allow_unseen, workers, out, no_pages=no_pages)
    from verify.auditing.audit import audit as audit_recording
    from verify.citing.configuration import configuration
    from verify.citing.summaries import to_junit
    from verify.executors.machine import keep_freed
    from verify.files.writing import check_writable, write_whole

    keep_freed()
    for name in NAMES[:1] if no_pages else NAMES:
        check_writable(out, name)
    if junit is not None:
        _refuse_taken(junit, out)
        check_writable(junit.parent, junit.name)
    gate = gate or configuration().gates
    found = audit_recording(
        recording,
        intended=intended,
        intended_mask=intended_mask,
        gate=gate,
        false_alarm=false_alarm,
        allow_unseen=allow_unseen,
        workers=workers,
    )
    write_whole(out / NAMES[0], found.to_json().encode())
    for line in str(found).splitlines():
        tell(line)
    if junit is not None:
        write_whole(junit, to_junit(found))
        say(junit)
    if no_pages:
        say(out / NAMES[0])
        say_outdated(found, out)
    else:
        rendered(found, out, workers)
    end(found.exit_status)


def _compare(
    a: Path, b: Path, allow_unseen: tuple[str, ...], workers: int | None, out: Path, *, no_pages: bool
) -> None:
    from verify.auditing.comparing import compare_recordings
    from verify.files.names import COMPARISON
    from verify.files.writing import check_writable, write_whole

    for name in (COMPARISON.evidence, *(() if no_pages else COMPARISON.pages)):
        check_writable(out, name)
    found = compare_recordings(a, b, allow_unseen=allow_unseen, workers=workers)
    write_whole(out / COMPARISON.evidence, found.to_json().encode())
    say(found)
    if no_pages:
        say(out / COMPARISON.evidence)
        say_outdated(found, out)
    else:
        rendered(found, out, workers)
    end(found.exit_status)


def _refuse_taken(junit: Path, out: Path) -> None:
    """Refuse a place for the outcome where a file of the audit goes.

    Raises:
        OutputError: it is one.
    """
    if any(os.path.realpath(junit) == os.path.realpath(out / name) for name in NAMES):
        raise OutputError(f"{junit}: is where the audit goes; give --junit another name")


COMMANDS = (audit,)
