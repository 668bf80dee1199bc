"""The commands on a program's attention: record its calls, audit them, probe a function."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verify.cli.console import PATH, complain, end, out_option, rendered, say, tell
from verify.errors import SettingsError, what_is_wrong
from verify.files.names import AUDIT, COMPARISON

if TYPE_CHECKING:
    from verify.evidence.audits import AuditRecord
    from verify.evidence.comparisons import ComparisonRecord


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
    help="The intended mask: none, causal, window=W or chunk=W.",
)
@click.option(
    "--allow-unseen",
    multiple=True,
    metavar="REASON",
    help="Accept a gap in the recording: calls, output, precision or unrecorded; repeatable.",
)
@click.option(
    "--against",
    type=PATH,
    metavar="OTHER",
    help="Compare RECORDING with OTHER, of the same inputs, and report where they first differ.",
)
@out_option("audit")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the outcome as JUnit XML as well.")
def audit(
    recording: Path,
    intended: str | None,
    intended_mask: str,
    allow_unseen: tuple[str, ...],
    against: Path | None,
    out: Path,
    junit: Path | None,
) -> None:
    """Judge the attention in RECORDING.

    Writes audit.json and audit.html. RECORDING is a folder that "record" wrote, or a NumPy archive or
    safetensors file. It needs q and k, and may have v, out, mask (True where a key may be seen), bias,
    sink (one score for each head), the numbers scale, softcap and causal (1 for a causal mask), intended and
    intended_mask.

    With --against, write comparison.json and comparison.html instead: the first layer and head in which the
    two differ by more than rounding, and in which quantity. The exit status is 0 if nothing differs, 1 if
    something does, 3 if not everything could be compared.
    """
    from verify.auditing.audit import audit as audit_recording
    from verify.auditing.comparing import compare_recordings
    from verify.citing.summaries import to_junit
    from verify.executors.machine import keep_freed
    from verify.files.writing import check_writable, write_whole

    given = {"--intended": intended, "--mask": intended_mask, "--junit": junit}
    if against is not None and (wrong := [name for name, value in given.items() if value]):
        raise click.UsageError(f"{wrong[0]} and --against: a comparison judges no scale; give one of them")
    keep_freed()
    names = AUDIT if against is None else COMPARISON
    for name in (names.evidence, names.page):
        check_writable(out, name)
    if junit is not None:
        check_writable(junit.parent, junit.name)
    record: AuditRecord | ComparisonRecord
    if against is None:
        record = audited = audit_recording(
            recording, intended=intended, intended_mask=intended_mask, allow_unseen=allow_unseen
        )
        if junit is not None:
            write_whole(junit, to_junit(audited))
    else:
        record = compare_recordings(recording, against, allow_unseen=allow_unseen)
    write_whole(out / names.evidence, record.to_json().encode())
    tell(record)
    if junit is not None:
        say(junit)
    rendered(record, out)
    end(record.exit_status)


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-m", "is_module", is_flag=True, help="PROGRAM is the name of a module, as in python -m.")
@out_option("recording")
@click.option(
    "--max-sequences",
    type=int,
    default=200,
    show_default=True,
    help="Sequences recorded of each layer; others count as not seen.",
)
@click.option(
    "--max-bytes",
    type=int,
    default=2_000_000_000,
    show_default=True,
    help="Bytes recorded of all layers together.",
)
@click.option(
    "--inputs",
    is_flag=True,
    help="Also keep the input of each layer's module, to compare two recordings by.",
)
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def record(
    program: str,
    arguments: tuple[str, ...],
    is_module: bool,
    out: Path,
    max_sequences: int,
    max_bytes: int,
    *,
    inputs: bool,
) -> None:
    """Run a Python PROGRAM and record its attention calls.

    The program is not changed; inputs and outputs of its calls are recorded. The exit status is the
    program's, unless it is 0 and nothing could be recorded. PyTorch is imported before the program starts.
    Judge the recording with `sdpa-verify audit DIR`.
    """
    from verify.auditing.record import program as running
    from verify.auditing.record import record as recording_attention
    from verify.errors import VerifyError

    run = running(program, arguments, is_module=is_module)
    source = program if is_module else Path(program).name
    recorded = recording_attention(
        out=out, max_sequences=max_sequences, max_bytes=max_bytes, inputs=inputs, source=source
    )
    status = 0
    try:
        with recorded as recording:
            status = run()
    except VerifyError as error:
        if not status:
            raise
        complain(str(error))
    else:
        for missing in recording.left_out:
            complain(f"not recorded: {missing}")
        number = len(recording.layers)
        complain(f"{number} layer{'' if number == 1 else 's'} recorded; judge with `sdpa-verify audit {out}`")
    end(status)


@click.command()
@click.argument("function", metavar="MODULE:FUNCTION")
@click.option("--d-k", type=int, default=64, show_default=True, help="Width of a head.")
@click.option("--heads", type=int, default=4, show_default=True, help="Heads of queries.")
@click.option("--key-heads", type=int, help="Heads of keys and values.  [default: as many as --heads]")
@click.option(
    "--layout",
    type=click.Choice(["bhtd", "bthd"]),
    default="bhtd",
    show_default=True,
    help="Axes of the arrays: sequences b, heads h, tokens t, components d.",
)
@click.option("--device", metavar="NAME", help="PyTorch device, such as cuda.")
@click.option("--gradient", is_flag=True, help="Also compare dQ, dK and dV with the formula's (PyTorch).")
@click.option(
    "--intended", metavar="EXPRESSION", default="1/sqrt(d)", show_default=True, help="The intended scale."
)
@click.option("--causal/--not-causal", default=None, help="Fail unless it is causal, or is not.")
@click.option(
    "--groups",
    type=click.Choice(["interleaved", "tiled"]),
    help="Fail unless grouped heads are mapped as repeat_interleave (PyTorch's enable_gqa) or repeat would.",
)
def probe(
    function: str,
    d_k: int,
    heads: int,
    key_heads: int | None,
    layout: str,
    device: str | None,
    intended: str,
    *,
    gradient: bool,
    **expected: Any,
) -> None:
    """Identify what an attention FUNCTION of (q, k, v) computes.

    FUNCTION is called on test arrays. The exit status is 1 if its outputs are not those of attention, on
    ordinary arrays or in a corner case, if its scale is not as intended, or if it contradicts an option;
    3 if something of it is not understood, or no corner case could be tried.
    """
    from verify.auditing.probe import probe as probe_function

    module_name, _, name = function.partition(":")
    named = "name it as package.module:function"
    sys.path.insert(0, str(Path.cwd()))
    try:
        attention = getattr(importlib.import_module(module_name), name)
    except (Exception, SystemExit) as error:
        raise SettingsError(f"{function}: cannot be imported: {what_is_wrong(error)}; {named}") from error
    probed = probe_function(
        attention,
        d_k,
        intended=intended,
        heads=heads,
        key_heads=key_heads,
        layout=layout,
        device=device,
        gradient=gradient,
    )
    tell(probed)
    wanted = {name: value for name, value in expected.items() if value is not None}
    problems = list(probed.problems(**wanted))
    for problem in problems:
        tell(f"✗ {problem}")
    end(1 if problems or probed.faults else 3 if probed.unexplained or not probed.corners else 0)


COMMANDS = (audit, record, probe)
