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
  sdpa-verify ask "kurtosis(q·k)" --query-law laplace --dimensions 4,64
  sdpa-verify ask "E(sum(p_scaled^2))" --keys 2,64
  sdpa-verify ask "Var(q·k)" --against "2*d_k" --out answer
"""


@click.command(epilog=_EXAMPLES, short_help="Derive a formula for a quantity of your own, and measure it.")
@click.argument("question")
@click.option(
    "--law",
    default="normal",
    metavar="LAW",
    help="The distribution of all components: normal, uniform, rademacher, laplace, exponential, t(9) or "
    "cauchy. It has mean 0 and variance 1, unless mean and standard deviation are given, as in normal(0, 2), "
    "or the two ends, as in uniform(0, 1).",
)
@click.option("--query-law", metavar="LAW", help="The distribution of queries, if it differs.")
@click.option("--key-law", metavar="LAW", help="The distribution of keys, if it differs.")
@click.option("--dimensions", metavar="N,N,...", help="Values of d_k to measure at.  [default: 4,16,64,256]")
@click.option("--keys", metavar="N,N,...", help="Numbers of keys, where they matter.  [default: 16]")
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

    from verify.cli.verifying import processes, refuse_loss
    from verify.files.names import RUN
    from verify.files.writing import check_writable
    from verify.symbolic.grammar import QuestionError

    for name in ("dimensions", "keys"):
        options[name] = _numbers(f"--{name}", options[name])
    try:
        with processes(workers) as pool:
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


def _numbers(option: str, text: str | None) -> list[int] | None:
    """Return the whole numbers of an option, which stand between commas.

    Raises:
        SettingsError: they are none.
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) < 19 for part in parts):
        raise SettingsError(f"{option} {text}: give whole numbers with commas between them, such as 4,16,256")
    return [int(part) for part in parts]


COMMANDS = (ask,)
