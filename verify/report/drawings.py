"""The figures of a run, each drawn once, in the sizes in which the page and an edition for print have it."""

from collections.abc import Sequence

from verify.evidence import Figure, RunRecord
from verify.executors.workers import Workers, using
from verify.files.names import EDITIONS
from verify.report.cache import DrawingCache
from verify.report.run import FRONT, HALF, drawn_small

_WORTH_A_PROCESS = 10  # this many drawings take longer than to start a process for them


def draw_figures(
    record: RunRecord, workers: Workers | int | None = None, edition: str = EDITIONS[0]
) -> dict[str, str]:
    """Return every figure of a run as SVG, by ``claim.figure`` id, unless it is remembered.

    Some are drawn at half the width of the text as well; which, depends on the ``edition`` for print.

    Raises:
        RenderError: a figure cannot be drawn.
    """
    known = {f"{claim.id}.{figure.id}": figure for claim in record.claims for figure in claim.series}
    drawings = known | drawn_small(record, edition)
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
    from verify.report.figures import FRONT_SIZE, HALF_SIZE, WHOLE, draw  # noqa: PLC0415 - matplotlib takes half a second to import

    sizes = {HALF.rstrip("."): HALF_SIZE, FRONT.rstrip("."): FRONT_SIZE}
    parts = (request.split("\n", 1) for request in requests)
    return [
        draw(Figure.model_validate_json(figure), prefix, sizes.get(prefix.partition(".")[0], WHOLE))
        for prefix, figure in parts
    ]
