"""The figures of a run, each drawn once, in the width of the page's text and in half of that."""

from collections.abc import Sequence

from verify.evidence import Figure, RunRecord
from verify.executors.workers import Workers, using
from verify.report.cache import DrawingCache
from verify.report.front import FEW, PLAN, is_led, ratios

SMALL = "small."
"""What the keys of drawings at half the width of the text start with."""
_WORTH_A_PROCESS = 10  # this many drawings take longer than to start a process for them


def draw_figures(record: RunRecord, workers: Workers | int | None = None) -> dict[str, str]:
    """Return every figure of a run as SVG, by ``claim.figure`` id, unless it is remembered.

    Raises:
        RenderError: a figure cannot be drawn.
    """
    claims = {claim.id: claim for claim in record.claims}
    figures = {f"{name}.{figure.id}": figure for name, claim in claims.items() for figure in claim.series}
    # A report of a few claims has the ratios of all, a report of many those that open it.
    of = PLAN["opening"] if not is_led(record) else claims if len(claims) <= FEW else ()
    small = figures | ratios({name: claims[name] for name in of if name in claims})
    drawings = figures | {SMALL + key: figure for key, figure in small.items()}
    wanted = {key: f"{key}.\n{figure.model_dump_json()}" for key, figure in drawings.items()}
    cache = DrawingCache("figures", "matplotlib", "font-source-sans-pro")
    missing = [request for request in wanted.values() if request not in cache]
    with using(workers if len(missing) >= 2 * _WORTH_A_PROCESS else 1) as processes:
        count = 4 * processes.count
        batches = [batch for start in range(count) if (batch := missing[start::count])]
        for batch, drawn in zip(batches, processes.map(_drawn, batches), strict=True):
            cache.update(zip(batch, drawn, strict=True))
    cache.save()
    return {key: cache[request] for key, request in wanted.items()}


def _drawn(requests: Sequence[str]) -> list[str]:
    from verify.report.figures import HALF, WHOLE, draw  # noqa: PLC0415 - matplotlib takes half a second to import

    parts = (request.split("\n", 1) for request in requests)
    return [
        draw(Figure.model_validate_json(figure), prefix, HALF if prefix.startswith(SMALL) else WHOLE)
        for prefix, figure in parts
    ]
