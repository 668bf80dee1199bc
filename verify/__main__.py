"""Entry point of ``sdpa-verify`` and ``python -m verify``."""

import os
import sys

_REMEMBERED = "4000"
"""How many results SymPy keeps of each of its functions; with its own 1000 it computes many of them again."""


def main() -> None:
    """Run the command line; after a signal end at once, without tidying up threads and memory."""
    os.environ.setdefault("SYMPY_CACHE_SIZE", _REMEMBERED)
    status, last = 130, "interrupted"
    try:
        # Whatever is imported takes time in which a signal may come.
        from verify.cli.interrupts import INTERRUPTED, interruptible, status_after  # noqa: PLC0415

        for name in ("stdout", "stderr"):
            # A job may start with one of them closed; then Python has none.
            if getattr(sys, name) is None:
                setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - for good
        try:
            with interruptible():
                from verify.cli.main import main as run  # noqa: PLC0415

                run()
        except KeyboardInterrupt:
            status, last = status_after(), INTERRUPTED
    except KeyboardInterrupt:
        pass  # before it was known how to say more
    sys.stderr.write(f"sdpa-verify: {last}\n")
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
