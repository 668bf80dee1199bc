"""What claims cost, by which `sdpa-verify plan` predicts: measured in a quick and a standard run.

By hand, on a machine that does nothing else: ``python -m tests.benchmarks.costs --write data/costs.json``.
With ``--check CLAIM...`` the plan of some claims is compared with runs, in both profiles, of one and of two
workers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.tool import ROOT
from verify import api
from verify.engine.plan import speed, times_of
from verify.evidence import RunRecord
from verify.evidence.load import load

PROFILES = ("quick", "standard")


def timed(profile: str, workers: int, *claims: str) -> tuple[float, RunRecord]:
    """Return the seconds that the command takes, from start to end, and what it found."""
    with tempfile.TemporaryDirectory() as folder:
        options = ("--profile", profile, "--workers", str(workers), "--fresh", "--out", folder)
        command = [sys.executable, "-m", "verify", "run", *claims, *options]
        begun = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return time.perf_counter() - begun, load(Path(folder) / "results.json")


def costs() -> str:
    """Return the text of the file, a line a claim."""
    before = speed()
    (_, coarse), (taken, fine) = (timed(profile, 2) for profile in PROFILES)
    after = speed()
    rates = {name: round((before[name] + after[name]) / 2, 1) for name in before}
    rows = []
    for claim in fine.claims:
        times = [round(seconds, 3) for seconds in times_of(coarse, fine, claim.id)]
        rows.append(f'  "{claim.id}": {json.dumps(times)}')
    head = f'"speed": {json.dumps(rates)},\n "start_s": {taken - fine.run.elapsed_s:.2f},\n "claims": {{\n'
    return f"{{\n {head}" + ",\n".join(rows) + "\n }\n}\n"


def check(*claims: str) -> None:
    """Print what was planned for claims, and what they took."""
    for profile in PROFILES:
        plan = api.plan(claims, profile=profile)
        for workers in (1, 2):
            taken, _ = timed(profile, workers, *claims)
            ratio = plan.wall_s(workers) / taken
            print(f"{profile:<8}  {workers} workers: {taken:6.2f} s, planned ÷ taken {ratio:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    parser.add_argument("--check", nargs="+", default=[])
    given = parser.parse_args()
    if given.write:
        given.write.write_text(costs(), encoding="utf-8")
    if given.check:
        check(*given.check)
