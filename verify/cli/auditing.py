"""The commands on a program's attention: record its calls, audit them, probe a function."""

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import click

from verify.cli.console import PATH, complain, end, out_option, rendered, say, say_outdated, tell
from verify.errors import SettingsError, what_is_wrong

NAMES = ("audit.json", "audit.html")
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
    help="The intended mask: none, causal, window=W, chunk=W, prefix=N or documents.",
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
@click.option(
    "--workers", type=int, help="Number of worker processes; does not affect results.  [default: all]"
)
@out_option("audit")
@click.option("--no-pages", is_flag=True, help="Write audit.json only, without audit.html.")
@click.option("--junit", type=PATH, metavar="FILE", help="Write the outcome as JUnit XML as well.")
def audit(
    recording: Path,
    intended: str | None,
    intended_mask: str,
    allow_unseen: tuple[str, ...],
    against: Path | None,
    workers: int | None,
    out: Path,
    junit: Path | None,
    *,
    no_pages: bool,
) -> None:
    """Judge the attention in RECORDING.

    Writes audit.json and audit.html. RECORDING is a folder that "record" wrote, or a NumPy archive or
    safetensors file. It needs q and k, and may have v, out, mask (True where a key may be seen), bias,
    sink (one score for each head), the numbers scale, softcap and causal (1 for a causal mask), documents
    (the number of each token's document), intended and intended_mask.

    With --against, write comparison.json and comparison.html instead: the first layer and head in which the
    two differ by more than rounding, and in which quantity. The status is 0 if no difference was found, 1 if
    one was, 3 if not everything could be compared.
    """
    if against is not None:
        given = {"--intended": intended, "--mask": intended_mask, "--junit": junit}
        if wrong := [name for name, value in given.items() if value]:
            raise click.UsageError(
                f"{wrong[0]} and --against: a comparison judges no scale; give one of them"
            )
        _compare(recording, against, allow_unseen, workers, out, no_pages=no_pages)
    from verify.auditing.audit import audit as audit_recording
    from verify.citing.summaries import to_junit
    from verify.executors.machine import keep_freed
    from verify.files.writing import check_writable, write_whole

    keep_freed()
    for name in NAMES[:1] if no_pages else NAMES:
        check_writable(out, name)
    if junit is not None:
        check_writable(junit.parent, junit.name)
    found = audit_recording(
        recording,
        intended=intended,
        intended_mask=intended_mask,
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


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-m", "is_module", is_flag=True, help="PROGRAM is the name of a module, as in python -m.")
@out_option("recording")
@click.option(
    "--max-sequences",
    type=int,
    default=200,
    show_default=True,
    help="Sequences kept for each layer; others count as not seen.",
)
@click.option(
    "--max-bytes",
    type=int,
    default=2_000_000_000,
    show_default=True,
    help="Bytes kept for all layers together.",
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

    The program is not changed; inputs and outputs of its calls are kept. The exit status is the program's,
    unless it is 0 and nothing could be recorded. PyTorch is imported before the program starts. Judge the
    recording with `sdpa-verify audit DIR`.
    """
    from verify.auditing.record import Program
    from verify.auditing.record import record as recording_attention
    from verify.errors import VerifyError

    one = Program(program, arguments, is_module=is_module)
    status = 0
    context = recording_attention(
        out=out,
        max_sequences=max_sequences,
        max_bytes=max_bytes,
        inputs=inputs,
        source=one.title,
    )
    try:
        with context as recording:
            status = one.run()
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


_NAMED = "name it as package.module:function or path/to/file.py:function"


@click.command()
@click.argument("function", metavar="MODULE:FUNCTION")
@click.option("--d-k", type=int, default=64, show_default=True, help="Width of a head.")
@click.option("--heads", type=int, default=4, show_default=True, help="Heads of queries.")
@click.option("--key-heads", type=int, help="Heads of keys and values.  [default: as many as --heads]")
@click.option(
    "--layout",
    default="bhtd",
    show_default=True,
    help="Axes of the arrays: b sequences, h heads, t tokens, d components; b and h may be missing.",
)
@click.option(
    "--library",
    metavar="numpy|torch|jax",
    help="Array library to use.  [default: the first that the function accepts]",
)
@click.option("--device", metavar="NAME", help="PyTorch device, such as cuda.")
@click.option("--gradient", is_flag=True, help="Also compare dQ, dK and dV with the formula's.")
@click.option(
    "--intended", metavar="EXPRESSION", default="1/sqrt(d)", show_default=True, help="The intended scale."
)
@click.option("--causal/--not-causal", default=None, help="Fail unless it is causal, or is not.")
@click.option(
    "--alignment", metavar="top-left|bottom-right", help="Fail unless rectangular masks are aligned this way."
)
@click.option(
    "--groups",
    metavar="interleaved|tiled",
    help="Fail unless grouped heads are mapped as repeat_interleave (PyTorch's enable_gqa) or repeat would.",
)
@click.option("--window", type=int, metavar="KEYS", help="Fail unless a query sees at most this many keys.")
@click.option("--softcap", type=float, metavar="SIZE", help="Fail unless this is the soft-cap.")
@click.option("--sink", is_flag=True, default=None, help="Fail unless the softmax has a sink.")
@click.option("--bias", is_flag=True, default=None, help="Fail unless positions change scores, as in ALiBi.")
def probe(
    function: str,
    d_k: int,
    heads: int,
    key_heads: int | None,
    layout: str,
    library: str | None,
    device: str | None,
    intended: str,
    *,
    gradient: bool,
    **expected: Any,
) -> None:
    """Identify what an attention FUNCTION of (q, k, v) computes.

    FUNCTION is called on test arrays. The exit status is 1 if its outputs are not those of attention, on
    ordinary arrays or in a corner case, if its scale is not the intended one, or if it contradicts an option;
    3 if something of it is not understood, or no corner case could be tried.
    """
    from verify.auditing.probe import probe as probe_function

    found = probe_function(
        _imported(function),
        d_k,
        heads=heads,
        key_heads=key_heads,
        layout=layout,
        library=library,
        device=device,
        gradient=gradient,
    )
    asked = {name: value for name, value in expected.items() if value is not None}
    problems = found.problems(intended, **asked) if asked else tuple(found.wrong_scale(intended))
    wrong = [problem for problem in problems if problem not in (*found.faults, *found.unexplained)]
    tell(found)
    for problem in wrong:
        tell(f"✗ {problem}")
    end(1 if wrong or found.faults else 3 if found.unexplained or not found.corners else 0)


def _imported(named: str) -> Any:
    """Return the function of this name, from a module or a file.

    Raises:
        SettingsError: there is none, or its module cannot be imported.
    """
    module_name, _, name = named.rpartition(":")
    if not module_name or not name:
        raise SettingsError(f"{named}: {_NAMED}")
    if module_name.endswith(".py") and not Path(module_name).is_file():
        raise SettingsError(f"{module_name}: there is no such file; {_NAMED}")
    sys.path.insert(0, str(Path(module_name).resolve().parent if module_name.endswith(".py") else Path.cwd()))
    try:
        module = importlib.import_module(
            Path(module_name).stem if module_name.endswith(".py") else module_name
        )
        found = module
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        raise SettingsError(f"{named}: cannot be imported: {what_is_wrong(error)}; {_NAMED}") from error
    if not callable(found):
        raise SettingsError(f"{named}: is not a function; {_NAMED}")
    return found


COMMANDS = (audit, record, probe)
