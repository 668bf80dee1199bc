"""Draws on a graphics card: whether a second run has the same digests, and the time they take.

``python -m tests.benchmarks.card PART ... [--device cuda]`` prints one table a part; ``--small``
does each with little, as on a processor. The parts:

- ``digests``: two quick runs of the catalogue are the same to the last bit;
- ``speed``: seconds of runs by two workers with and without the device, at ±0.1%.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple


import verify
from tests.tool import begin
from verify.evidence.load import load
from verify.montecarlo.devices import Device, find_device

CLAIMS = ("score-variance", "over-scaling", "sqrt-scaling", "row-variance", "causal-rows")
"""All of whose cells a device draws."""


class Timed(NamedTuple):
    """A run without a store: its record, its seconds, and those of all processors together."""

    record: verify.RunRecord
    wall: float
    processor: float


def run(*arguments: object) -> Timed:
    """Return a run of its own process."""
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        process = begin(
            "run",
            *arguments,
            "--fresh",
            "--out",
            folder,
            environment=os.environ,
            stdout=subprocess.DEVNULL,
            stderr=None,
        )
        if process.wait() not in {0, 3}:
            raise SystemExit(f"run {arguments} has ended with status {process.returncode}")
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return Timed(load(Path(folder) / "results.json"), wall, spent)


def digests(device: Device, small: bool) -> None:
    """Print whether two runs on the device have the same digests, and what they decide."""
    claims = CLAIMS[:1] if small else ()
    one, other = (run(*claims, "--profile", "quick", "--device", device.name) for _ in range(2))
    same = sum(a.digest == b.digest for a, b in zip(one.record.claims, other.record.claims, strict=True))
    verdicts = {claim.verdict for claim in one.record.claims}
    print(
        f"{same} of {len(one.record.claims)} digests are the same twice; {verdicts}; "
        f"{one.wall:.1f} and {other.wall:.1f} s"
    )


def speed(device: Device, tolerance: float, claims: tuple[str, ...], workers: int) -> None:
    """Print what a run takes with the device, and then without."""
    given = (*claims, "--tolerance", tolerance, "--workers", workers)
    walls = []
    for where, more in ((device.name, ("--device", device.name)), ("the processor", ())):
        record, wall, processor = run(*given, *more)
        walls.append(wall)
        verdicts = Counter(str(claim.verdict) for claim in record.claims)
        print(
            f"{len(record.claims)} claims at {tolerance:.2%}, {workers} workers, on {where}: {wall:.1f} s, "
            f"{processor:.0f} s of processor; {dict(verdicts)}",
            flush=True,
        )
    print(f"ratio {walls[1] / walls[0]:.2f}", flush=True)


def main() -> None:
    """Do the parts that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=("digests", "speed"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tolerance", type=float, default=0.001, help="of the runs whose speed is measured")
    parser.add_argument("--all", action="store_true", help="speed of the whole catalogue")
    options = parser.parse_args()
    device = find_device(options.device)
    print(device.model, device.library, flush=True)
    for part in options.parts:
        begun = time.perf_counter()
        print(f"## {part}", flush=True)
        if part == "speed":
            speed(device, options.tolerance, () if options.all else CLAIMS, options.workers)
        else:
            globals()[part](device, options.small)
        print(f"({time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
