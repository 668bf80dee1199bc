"""The command that runs a Python program and records its attention calls."""

from __future__ import annotations

from pathlib import Path

import click

from verify.cli.console import complain, end, out_option


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("-m", "is_module", is_flag=True, help="PROGRAM is the name of a module, as in python -m.")
@out_option("recording")
@click.option(
    "--max-sequences", type=int, default=200, show_default=True, help="Sequences kept for each layer."
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
@click.option(
    "--weights",
    default="",
    metavar="KIND",
    help="Declare what turns scores into weights where it is not a softmax: sigmoid, sigmoid-ln-n, softpick, "
    "clipped=C or differential=LAMBDA.",
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
    weights: str,
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
        weights=weights,
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


COMMANDS = (record,)
