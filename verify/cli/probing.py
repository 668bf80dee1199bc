"""The command that probes an attention function."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import click

from verify.cli.console import end, tell
from verify.errors import SettingsError, what_is_wrong

_NAMED = "name it as package.module:function or path/to/file.py:function"


@click.command()
@click.argument("function", metavar="MODULE:FUNCTION")
@click.option("--d-k", type=int, default=64, show_default=True, help="Width of a head.")
@click.option("--heads", type=int, default=4, show_default=True, help="Heads of queries.")
@click.option("--key-heads", type=int, help="Heads of keys and values.  [default: those of queries]")
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
@click.option(
    "--weights",
    default="",
    metavar="KIND",
    help="What turns scores into weights if it is not a softmax: sigmoid, sigmoid-ln-n, softpick, clipped=C "
    "or differential=LAMBDA.",
)
@click.option("--gradient", is_flag=True, help="Also compare dQ, dK and dV with the formula's.")
@click.option("--intended", metavar="EXPRESSION", help="Fail unless this is the scale, such as 1/sqrt(d).")
@click.option("--causal/--not-causal", default=None, help="Fail unless it is causal, or is not.")
@click.option(
    "--alignment", metavar="top-left|bottom-right", help="Fail unless rectangular masks are aligned this way."
)
@click.option(
    "--groups", metavar="repeated|interleaved", help="Fail unless grouped heads are mapped this way."
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
    weights: str,
    intended: str | None,
    *,
    gradient: bool,
    **expected: Any,
) -> None:
    """Identify what an attention FUNCTION of (q, k, v) computes.

    FUNCTION is called on test arrays. The exit status is 1 if its outputs are not those of attention, on
    ordinary arrays or in a corner case, or contradict an option; 3 if it cannot be identified.
    """
    from verify.auditing.probe import probe as probe_function
    from verify.auditing.scales import DEFAULT

    found = probe_function(
        _imported(function),
        d_k,
        heads=heads,
        key_heads=key_heads,
        layout=layout,
        library=library,
        device=device,
        weights=weights,
        gradient=gradient,
    )
    asked = {name: value for name, value in expected.items() if value is not None}
    problems = found.problems(intended or DEFAULT, **asked) if asked or intended else ()
    tell(found)
    for problem in problems:
        tell(f"✗ {problem}")
    wrong = found.faults or set(problems) - set(found.unexplained)
    end(1 if wrong else 3 if found.unexplained else 0)


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


COMMANDS = (probe,)
