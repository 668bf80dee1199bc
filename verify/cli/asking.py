"""The command that answers a question: derives, measures, and says whether both agree."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from verify import defaults
from verify.cli.console import PATH, columns, end, rendered, say
from verify.errors import SettingsError

_EXAMPLES = """\b
Examples:
  sdpa-verify ask "Var(q·k)" --law "uniform(0, 1)"
  sdpa-verify ask "kurtosis(q·k)" --query-law laplace --dimensions 4,64
  sdpa-verify ask "E(sum(p_scaled^2))" --keys 2,64
  sdpa-verify ask "Var(q·k)" --against "2*d_k" --out answer
"""


@click.command(epilog=_EXAMPLES)
@click.argument("question")
@click.option(
    "--law",
    default="normal",
    show_default=True,
    metavar="LAW",
    help="Law of all components: normal, uniform, rademacher, laplace, exponential, t(9), cauchy; with mean "
    "0 and variance 1, or with mean and standard deviation in brackets: normal(0, 2). The brackets of "
    "uniform(0, 1) hold its ends.",
)
@click.option("--query-law", metavar="LAW", help="Law of the components of queries, if it is another.")
@click.option("--key-law", metavar="LAW", help="Law of the components of keys, if it is another.")
@click.option("--dimensions", metavar="N,N,...", help="Values of d_k to measure at.  [default: 4,16,64,256]")
@click.option("--keys", metavar="N,N,...", help="Numbers of keys, where they matter.  [default: 16]")
@click.option("--tolerance", type=float, help="Relative tolerance.  [default: 0.01]")
@click.option("--seed", type=int, default=defaults.SEED, show_default=True, help="Root seed of all draws.")
@click.option("--against", metavar="FORMULA", help="Decide a formula of your own, in d_k and n.")
@click.option("--workers", type=int, help="Number of processors; does not affect results.  [default: all]")
@click.option("--out", type=PATH, metavar="DIR", help="Write page, PDF and results there as well.")
@click.option("--force", is_flag=True, help="Replace results of other claims in DIR.")
def ask(question: str, out: Path | None, *, force: bool, **options: Any) -> None:
    """Answer QUESTION, such as "Var(q·k)": derive a formula, measure it, and fit over the dimension.

    Symbols are the report's. A score is q·k, q.k or score; p is the weight of any key, in sum(...)
    and max(...) that of each, p_scaled that after division by the root of d_k; H and H_scaled are their
    entropies. Sizes are d_k and n, the number of keys. What is random stands in E, Var, Cov, P(x > y),
    median, quantile(x, 0.95), kurtosis, skewness or sd; there are sqrt, log, exp, abs, and |x|, ^ and ².

    Exit status: 0 if derived and measured agree, 1 if not, 3 if undecided or nothing is derived.
    """
    from rich.console import Console

    from verify.cli.verifying import processes, refuse_loss
    from verify.files.names import RUN
    from verify.files.writing import check_writable
    from verify.symbolic.grammar import QuestionError

    for name in ("dimensions", "keys"):
        options[name] = _numbers(f"--{name}", options[name])
    try:
        with processes(workers=options.pop("workers")) as workers:
            from verify.engine.asking import NAME
            from verify.engine.asking import ask as answer_to

            if out is not None:
                if not force:
                    refuse_loss(out / RUN.evidence, (NAME,), is_whole=False)
                for name in (RUN.evidence, RUN.page, RUN.sheet_of("report")):
                    check_writable(out, name)
            # Only a terminal shows that work goes on.
            with Console(stderr=True).status("deriving and measuring"):
                answer = answer_to(question, **options, workers=workers)
            say(answer.text(columns(sys.stdout) or 80))
            if out is not None:
                rendered(answer.record, out, workers)
    except QuestionError as error:
        problem, *marked = str(error).split("\n")
        click.echo("\n".join([f"sdpa-verify: {problem}", *marked]), err=True)
        sys.exit(error.exit_status)
    end(answer.exit_status)


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
