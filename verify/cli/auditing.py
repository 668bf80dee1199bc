"""The commands on a program's attention: record its calls, audit them, probe a function."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from verify.cli.console import PATH, complain, junit_option, out_option, rendered, say, tell
from verify.errors import SettingsError, VerifyError, what_is_wrong
from verify.files import AUDIT, COMPARISON


@click.command()
@click.argument("recording", type=PATH)
@click.option(
    "--intended",
    metavar="EXPRESSION",
    help="The intended scale, such as 1/sqrt(d), in d or d_k (width of a head), h (number of heads), D "
    "(width of the model) and n (number of keys).",
)
@click.option(
    "--mask",
    "intended_mask",
    default="",
    show_default=False,
    metavar="MASK",
    help="The intended mask: none, causal, window=W or chunk=W.",
)
@click.option(
    "--against",
    type=PATH,
    metavar="OTHER",
    help="Compare RECORDING with another recording, of the same inputs.",
)
@out_option("audit")
@junit_option
def audit(recording: Path, out: Path, against: Path | None, junit: Path | None, **options: Any) -> int:
    """Judge the attention in RECORDING.

    Write audit.json and audit.html. RECORDING is a folder that "record" wrote, or a NumPy archive or
    safetensors file with arrays q and k. It may also have v, out, mask (True where a key may be seen), bias,
    sink (one score for each head), the numbers scale, softcap and causal (1 for a causal mask), and intended
    and intended_mask.

    With --against, say in which layer and head the two first differ by more than rounding, and in which
    quantity, and write comparison.json. The exit status is 0 if nothing differs, 1 if something does, and 3
    if not everything could be compared.
    """
    from verify.auditing.audit import audit as audit_recording
    from verify.auditing.comparing import compare_recordings
    from verify.citing.exports import to_junit
    from verify.executors.workers import keep_freed
    from verify.files import check_writable, write_whole

    if against is not None and (options["intended"] or options["intended_mask"] or junit):
        raise click.UsageError("--against: a comparison judges no scale and no mask, and writes no JUnit XML")
    keep_freed()
    # A long audit does not end in vain: whether its files can be written is tried first.
    if against is not None:
        check_writable(out / COMPARISON)
        compared = compare_recordings(recording, against)
        write_whole(out / COMPARISON, compared.to_json().encode())
        tell(compared)
        say(out / COMPARISON)
        return compared.exit_status
    check_writable(out / AUDIT.evidence, out / AUDIT.page, *filter(None, [junit]))
    record = audit_recording(recording, **options)
    write_whole(out / AUDIT.evidence, record.to_json().encode())
    tell(record)
    if junit is not None:
        write_whole(junit, to_junit(record))
        say(junit)
    rendered(record, out)
    return record.exit_status


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-m", "is_module", is_flag=True, help="PROGRAM is a module's name, as for python -m.")
@out_option("recording")
@click.option(
    "--max-sequences", default=200, help="Sequences to record of each layer; all others count as not seen."
)
@click.option("--max-bytes", default=2_000_000_000, help="Bytes to record of all layers together.")
@click.option(
    "--inputs",
    is_flag=True,
    help="Also record the input of each layer's module, which helps to compare two recordings.",
)
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def record(program: str, arguments: tuple[str, ...], out: Path, *, is_module: bool, **limits: Any) -> int:
    """Run a Python PROGRAM and record its attention calls.

    The program itself is not changed. PyTorch is imported before it starts. The exit status is the program's,
    or 2 if that is 0 and nothing could be recorded. Judge the recording with `sdpa-verify audit DIR`.
    """
    from verify.auditing.record import WRITTEN_OUT
    from verify.auditing.record import program as run
    from verify.auditing.record import record as recording_attention

    source, status = program if is_module else Path(program).name, 0
    # Where the program itself failed, its status counts, and what was not recorded is only said.
    try:
        with recording_attention(out=out, source=source, **limits) as recording:
            status = run(program, arguments, is_module=is_module)
    except VerifyError as error:
        if not status:
            raise
        complain(str(error))
    else:
        for missing in recording.left_out:
            complain(f"not recorded: {missing}")
        if recording.left_out:
            complain(WRITTEN_OUT)
        number = len(recording.layers)
        complain(f"{number} layer{'' if number == 1 else 's'} recorded; judge with `sdpa-verify audit {out}`")
    return status


@click.command()
@click.argument("function", metavar="MODULE:FUNCTION")
@click.option("--d-k", default=64, help="Width of a head.")
@click.option("--heads", default=4, help="Number of heads of queries.")
@click.option("--key-heads", type=int, help="Number of heads of keys and values.  [default: that of --heads]")
@click.option("--device", metavar="NAME", help="Call it with PyTorch tensors on this device, such as cuda.")
@click.option(
    "--gradient", is_flag=True, help="Also compare the gradients of q, k and v with the formula's (PyTorch)."
)
@click.option("--intended", metavar="EXPRESSION", default="1/sqrt(d)", help="The intended scale.")
@click.option("--causal/--not-causal", default=None, help="End with 1 unless it is causal, or is not.")
@click.option(
    "--groups",
    type=click.Choice(["interleaved", "tiled"]),
    help="End with 1 unless grouped heads are mapped as by repeat_interleave (as PyTorch's enable_gqa does), "
    "or as by repeat.",
)
def probe(function: str, d_k: int, *, causal: bool | None, groups: str | None, **options: Any) -> int:
    """Find out what an attention FUNCTION of (q, k, v) computes.

    It is called with test arrays. The exit status is 1 if its outputs are not those of attention, on ordinary
    arrays or in a corner case, if its scale is not the intended one, or if it contradicts an option. It is 3
    if a part of what it does is not understood, or no corner case could be tried.
    """
    from verify.auditing.probe import probe as probe_function

    module_name, _, name = function.partition(":")
    named = "name it as package.module:function"
    if not name:
        raise SettingsError(f"{function}: names no function; {named}")
    # As Python does for a program: its own modules are found beside it.
    sys.path.insert(0, str(Path.cwd()))
    try:
        attention = getattr(importlib.import_module(module_name), name)
    except (Exception, SystemExit) as error:
        raise SettingsError(f"{function}: cannot be imported: {what_is_wrong(error)}; {named}") from error
    probed = probe_function(attention, d_k, **options)
    tell(probed)
    expected = {"causal": causal, "groups": groups}
    problems = list(probed.problems(**{name: value for name, value in expected.items() if value is not None}))
    for problem in problems:
        tell(f"✗ {problem}")
    return 1 if problems or probed.faults else 3 if probed.unexplained or not probed.corners else 0


COMMANDS = (audit, record, probe)
