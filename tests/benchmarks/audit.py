"""An audit beside what PyTorch takes for QKᵀ and softmax alone, and the memory that it takes.

Run by hand: ``python -m tests.benchmarks.audit``. Layers have 12 heads and 64 sequences of 512 tokens in
single precision, d_k = 64. Both use the same number of threads and take turns, and of each the fastest round
counts: seconds on the wall, which is what people wait for, and processor time, which other programs on the
machine disturb less. PyTorch has a batch at once or a sequence at a time, whichever is faster.
"""

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from verify.auditing.audit import audit_recording, audit_settings
from verify.auditing.recording import Call, Layer, Recording

HEADS, SEQUENCES, TOKENS, D = 12, 64, 512, 64
LAYERS = 12
TIME_RATIO, MEMORY = 1.5, 1e9
"""At most this many times PyTorch's time, and this many bytes."""

_BATCH = 8
_ROUNDS = 3


@dataclass(frozen=True)
class Drawn:
    """The calls of a layer, drawn as they are come to, a batch of sequences each."""

    seed: int
    sequences: int

    def __iter__(self) -> Iterator[Call]:
        for batch in range(0, self.sequences, _BATCH):
            rng = np.random.default_rng([self.seed, batch])
            shape = (min(_BATCH, self.sequences - batch), HEADS, TOKENS, D)
            query, key = (rng.standard_normal(shape, dtype=np.float32) for _ in "qk")
            yield Call(query, key)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall and processor seconds of some work."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def compare(sequences: int, threads: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the fastest wall and processor seconds of PyTorch and of the audit for one layer."""
    import torch  # noqa: PLC0415 - the memory of an audit is measured without it

    torch.set_num_threads(threads)
    calls = list(Drawn(1, sequences))
    pairs = [tuple(map(torch.from_numpy, (call.query, call.key))) for call in calls]

    def of_batches() -> None:
        for query, key in pairs:
            torch.softmax(query @ key.transpose(-1, -2) * D**-0.5, dim=-1)

    def of_sequences() -> None:
        for query, key in pairs:
            for one in range(len(query)):
                torch.softmax(query[one] @ key[one].transpose(-1, -2) * D**-0.5, dim=-1)

    def findings() -> None:
        audit_recording(Recording("benchmark", [Layer("layer", calls)]), audit_settings(), workers=threads)

    rounds = [[seconds(one) for one in (of_batches, of_sequences, findings)] for _ in range(_ROUNDS + 1)]
    theirs = [took for some in rounds[1:] for took in some[:2]]
    ours = [some[2] for some in rounds[1:]]
    return _fastest(theirs), _fastest(ours)


def _fastest(some: list[tuple[float, float]]) -> tuple[float, float]:
    return min(wall for wall, _ in some), min(processor for _, processor in some)


def memory(layers: int, sequences: int) -> int:
    """Return the most bytes that a process of its own takes to audit this number of layers."""
    program = f"from tests.benchmarks.audit import _peak; print(_peak({layers}, {sequences}))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return int(found.stdout)


def _peak(layers: int, sequences: int) -> int:
    some = [Layer(f"layer {place}", Drawn(place, sequences)) for place in range(layers)]
    audit_recording(Recording("benchmark", some), audit_settings(), workers=2)
    # The peak of this program alone; getrusage's begins with that of the process that started it.
    status = Path("/proc/self/status").read_text("ascii")
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])  # type: ignore[index]  # Linux has it


def main() -> None:
    """Print the times with their ratio, and the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=SEQUENCES)
    parser.add_argument("--layers", type=int, default=LAYERS, help="of which memory is measured")
    chosen = parser.parse_args()
    theirs, ours = compare(chosen.sequences, 2)
    for name, place in (("wall", 0), ("processor", 1)):
        ratio = ours[place] / theirs[place]
        kept = "kept" if ratio <= TIME_RATIO else "NOT KEPT"
        print(
            f"{name}: audit {ours[place]:.2f} s, PyTorch {theirs[place]:.2f} s a layer: {ratio:.2f} ({kept})"
        )
    peak = memory(chosen.layers, chosen.sequences)
    kept = "kept" if peak <= MEMORY else "NOT KEPT"
    print(f"memory: {peak / 1e6:.0f} MB for {chosen.layers} layers of {chosen.sequences} sequences ({kept})")


if __name__ == "__main__":
    main()
