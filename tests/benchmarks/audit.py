"""What an audit costs beside plain attention in PyTorch: processor time of one thread each, by turns.

Run by hand: ``python -m tests.benchmarks.audit``. The fastest of five rounds counts, after a first one.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

import verify
from verify.auditing.recording import Call, Layer, Recording

SHAPES = {
    "MiniLM, 48 sentences": (48, 12, 64, 32),
    "2,000 short sequences": (2000, 1, 24, 64),
    "8 heads of 1,024 tokens": (1, 8, 1024, 64),
}
"""Sequences, heads, tokens, d."""


def cost(shape: tuple[int, ...], calls: int = 1) -> tuple[float, float]:
    """Return processor seconds of plain attention, and of an audit of it in this many calls."""
    import torch  # noqa: PLC0415 - the shapes are read without it

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in "qkv")
    tensors = [torch.from_numpy(array) for array in (q, k, v)]

    def plain() -> np.ndarray:
        scores = tensors[0] @ tensors[1].transpose(-1, -2) * shape[-1] ** -0.5
        found: np.ndarray = (torch.softmax(scores, dim=-1) @ tensors[2]).numpy()
        return found

    parts = [np.array_split(array, calls) for array in (q, k, v, plain())]
    recording = Recording("x", [Layer("a", [Call(*arrays) for arrays in zip(*parts, strict=True)])])
    times = []
    for _ in range(6):
        begun = time.process_time()
        plain()
        between = time.process_time()
        record = verify.audit(recording)
        times.append((between - begun, time.process_time() - between))
        if record.verdict != "confirmed":
            raise SystemExit(str(record))
    theirs, ours = zip(*times[1:], strict=True)
    return min(theirs), min(ours)


def main() -> None:
    """Print a line a shape."""
    with threadpool_limits(1):
        for name, shape in SHAPES.items():
            for calls in (1, shape[0]):
                theirs, ours = cost(shape, calls)
                print(f"{name}, {calls} calls: audit {ours:.3f} s, {ours / theirs:.1f} times attention")


if __name__ == "__main__":
    main()
