"""Entry point of ``sdpa-verify`` and ``python -m verify``."""

import os
import sys

from verify.cli.interrupts import INTERRUPTED, interruptible, status_after


def main() -> None:
    """Run the command line; after a signal end at once, without tidying up threads and memory."""
    # How many results SymPy keeps of each of its functions; with its own 1000 it computes many of them again.
    os.environ.setdefault("SYMPY_CACHE_SIZE", "4000")
    for name in ("stdout", "stderr"):
        # A job may start with one of them closed; then Python has none.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - for good
    try:
        with interruptible():
            # Whatever is imported takes time in which a signal may come.
            from verify.cli.main import main as run  # noqa: PLC0415

            run()
    except KeyboardInterrupt:
        sys.stderr.write(f"sdpa-verify: {INTERRUPTED}\n")
        sys.stderr.flush()
        os._exit(status_after())


if __name__ == "__main__":
    main()
