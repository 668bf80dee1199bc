"""The options that commands share: which claims to verify, how well, and where the results go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from verify.cli.console import PATH
from verify.files.names import EDITIONS

if TYPE_CHECKING:
    from collections.abc import Callable

PROFILES = ("quick", "standard", "deep")


def plan_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command what says which claims to verify, and how well."""
    options = (
        click.argument("claims", nargs=-1, metavar="[CLAIM]..."),
        click.option("--seed", type=int, default=20170612, show_default=True, help="Root seed of all draws."),
        click.option(
            "--profile",
            default="standard",
            show_default=True,
            metavar="|".join(PROFILES),
            help="Tolerance 5%, 1% or 0.2%.",
        ),
        click.option("--tolerance", type=float, help="Relative tolerance, in place of the profile's."),
        click.option(
            "--false-alarm",
            type=float,
            default=1e-3,
            show_default=True,
            help="False-alarm rate of the whole run.",
        ),
        click.option(
            "--power",
            type=float,
            default=0.95,
            show_default=True,
            help="Chance that a check decides at its planned sample.",
        ),
        click.option(
            "--claims",
            "claim_files",
            type=PATH,
            multiple=True,
            metavar="FILE",
            help="The claim in this file of your own, of at most 1 MB; may be given several times.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def edition_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the choice of an edition of the PDF."""
    return click.option(
        "--edition",
        type=click.Choice(EDITIONS),
        default=EDITIONS[0],
        show_default=True,
        help="The PDF: at most 12 pages, one page, or all evidence; report-brief.pdf and report-full.pdf.",
    )(command)


def compare_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an earlier run that the page is to compare this one with."""
    return click.option(
        "--compare",
        type=PATH,
        metavar="OLD",
        help="An earlier results.json; the page then says what changed since.",
    )(command)


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that, and what says by how many processors, for which statements and where to."""
    options = (
        plan_options,
        click.option("--workers", type=int, help="Processors to use; changes no result.  [default: all]"),
        click.option(
            "--cluster",
            metavar="ADDRESS|local:N",
            help="Workers of a Dask cluster: its scheduler's address, or N processes for this run alone.",
        ),
        click.option(
            "--device",
            metavar="cuda|cuda:N|cpu",
            help="Draw blocks of scores and softmax rows by PyTorch there, in single precision; other random "
            "numbers, so other digits. Tried with cpu only, never on a card.",
        ),
        click.option(
            "--store",
            type=PATH,
            metavar="FILE",
            help="Where finished work is kept for later runs, on a disk of this machine.  "
            "[default: in the user's cache folder]",
        ),
        click.option("--fresh", is_flag=True, help="Use no store: derive and draw everything now."),
        click.option(
            "--sources",
            type=PATH,
            metavar="FILE",
            help="Statements to decide, in place of those shipped; at most 1 MB, or - for standard input.",
        ),
        click.option(
            "--strict-sources", is_flag=True, help="End with 1 if a statement is misprinted or wrong."
        ),
        click.option(
            "--out",
            type=PATH,
            default=Path("reports"),
            show_default=True,
            metavar="DIR",
            help="Folder to write to.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
