"""Draws on a graphics card: their bias, whether a second run has the same digests, and the time they take.

``python -m tests.benchmarks.card PART ... [--device cuda]`` prints one table a part; ``--small``
does each with little, as on a processor. The parts:

- ``bias``: what single precision does to the mean of every statistic that a device computes, against double
  precision for the same draws of the device;
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
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch

import verify
from tests.tool import begin
from verify.engine.catalogue import catalogue
from verify.evidence.load import load
from verify.montecarlo import devices
from verify.montecarlo.devices import Device, OnDevice, find_device
from verify.montecarlo.experiment import cells_of, every_comparison

CLAIMS = ("score-variance", "over-scaling", "sqrt-scaling", "row-variance", "causal-rows")
"""All of whose cells a device draws."""


def on_device(device: Device) -> Iterator[tuple[str, OnDevice]]:
    """Yield what the catalogue draws on a device, each sampler once, with the claim that has it first."""
    known = set()
    for name, claim in catalogue().items():
        experiment = devices.moved(claim.experiment(claim.derive(), 0.01), device)
        for cell in cells_of(every_comparison(experiment)):
            if isinstance(cell.sampler, OnDevice) and repr(cell.sampler) not in known:
                known.add(repr(cell.sampler))
                yield name, cell.sampler


def bias(device: Device, small: bool) -> None:
    """Print how far means in single precision are from those in double, the largest by statistic."""
    largest: dict[str, tuple[float, float, str]] = {}
    batches = 1 if small else 8
    for name, sampler in on_device(device):
        blocks = min(sampler.batch_coordinates // sampler.coordinates, 2000 if small else 1 << 20)
        narrow, wide = [], []
        with devices.computing_on(device) as there:
            for seed in range(batches):
                drawn = devices.queries_and_keys(
                    devices.Numbers(there, device.name, seed), sampler.input, blocks
                )
                narrow.append(devices.reduce(there, sampler.statistic, *drawn))
                wide.append(devices.reduce(there, sampler.statistic, *(one.double() for one in drawn)))
        exact, found = torch.cat(wide), torch.cat(narrow)
        apart = (found - exact).mean(0).abs()
        # A mean that is 0, such as that of scores, has its own deviation as its measure.
        size = torch.maximum(exact.mean(0).abs(), 1e-3 * exact.std(0))
        error = (exact.std(0) / len(exact) ** 0.5 / size).max().item()
        kind = type(sampler.statistic).__name__
        worst = ((apart / size).max().item(), error, f"{name}, d = {sampler.input.d}")
        largest[kind] = max(largest.get(kind, (0.0, 0.0, "")), worst)
    print("| statistic | largest relative bias | standard error of that mean | in |\n|---|---|---|---|")
    for kind, (apart, error, where) in largest.items():
        print(f"| {kind} | {apart:.1e} | {error:.1e} | {where} |")


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
    parser.add_argument("parts", nargs="+", choices=("bias", "digests", "speed"))
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
