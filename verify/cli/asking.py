"""The command that answers a question: derives, measures, and says whether both agree."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from verify.cli.console import PATH, rendered, say, seed_option, width_of, workers_option
from verify.errors import SettingsError

_EXAMPLES = """\b
Examples:
  sdpa-verify ask "Var(q·k)" --law "uniform(0, 1)"
  sdpa-verify ask "kurtosis(q·k)" --key-law laplace --dimensions 4,64
  sdpa-verify ask "E(sum(p_scaled^2))" --keys 2,64
  sdpa-verify ask "Var(q·k)" --against "2*d_k" --out answer
"""


def _numbers(_context: click.Context, option: click.Parameter, text: str | None) -> list[int] | None:
    """Return the whole numbers of an option, which stand between commas.

    Raises:
        SettingsError: they are none.
    """
    try:
        return None if text is None else [int(part) for part in text.split(",")]
    except ValueError as error:
        says = "give whole numbers with commas between them, such as 4,16,256"
        raise SettingsError(f"{option.opts[0]} {text}: {says}") from error


@click.command(epilog=_EXAMPLES, short_help="Derive a formula for a quantity of your own, and measure it.")
@click.argument("question")
@click.option(
    "--law",
    default="normal",
    metavar="LAW",
    help="The distribution of all components, with mean 0 and variance 1: normal, uniform, rademacher, "
    "laplace, exponential, t(9) or cauchy; or uniform(0, 1).",
)
@click.option("--key-law", metavar="LAW", help="That of keys, if it differs.")
@click.option(
    "--dimensions",
    metavar="N,N,...",
    callback=_numbers,
    help="Values of d_k to measure at.  [default: 4,16,64,256]",
)
@click.option(
    "--keys",
    metavar="N,N,...",
    callback=_numbers,
    help="Numbers of keys, where they matter.  [default: 16]",
)
@click.option("--tolerance", type=float, help="Relative tolerance.  [default: 0.01]")
@seed_option
@click.option("--against", metavar="FORMULA", help="Test a formula of your own, in d_k and n.")
@workers_option
@click.option("--out", type=PATH, metavar="DIR", help="Also write page, PDF and results to this folder.")
@click.option("--force", is_flag=True, help="Replace results of other claims in DIR.")
def ask(question: str, out: Path | None, *, force: bool, workers: int | None, **options: Any) -> int:
    """Answer QUESTION, such as "Var(q·k)": derive a formula, measure it, and fit over the dimension.

    The symbols are those of the report. A score is q·k, q.k or score, over both lengths, |q| and |k|, it is
    cos(q, k). A weight is p, or p_scaled where scores are divided by the root of d_k; within sum(...) and
    max(...) it stands for the weights of all keys. Their entropies are H and H_scaled. The sizes are d_k and
    n, the number of keys.

    Anything random must stand inside E, Var, sd, Cov, corr, P(x > y), median, quantile(x, 0.95), kurtosis or
    skewness. There are also sqrt, log, exp, abs, |x|, ^ and ².

    The exit status is 0 if what is derived and what is measured agree, 1 if not, and 3 if that is undecided
    or nothing is derived.
    """
    from rich.console import Console

    from verify.cli.verifying import refuse_loss
    from verify.executors.workers import using
    from verify.files.names import RUN
    from verify.files.writing import check_writable
    from verify.symbolic.grammar import QuestionError

    try:
        with using(workers) as pool:
            from verify.engine.asking import NAME
            from verify.engine.asking import ask as answer_to

            if out is not None:
                if not force:
                    refuse_loss(out / RUN.evidence, (NAME,), is_whole=False)
                check_writable(out / RUN.evidence, out / RUN.page, out / RUN.sheet())
            # Only a terminal shows that work goes on.
            with Console(stderr=True).status("deriving and measuring"):
                answer = answer_to(question, **options, workers=pool)
            say(answer.text(width_of() or 80))
            if out is not None:
                rendered(answer.record, out, pool)
    except QuestionError as error:
        # The expression is printed below, with a mark at the place.
        click.echo(f"sdpa-verify: {error}", err=True)
        sys.exit(error.exit_status)
    return answer.exit_status


COMMANDS = (ask,)
