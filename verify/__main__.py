"""Entry point of ``sdpa-verify`` and ``python -m verify``."""

import os
import sys
from pathlib import Path

from verify.cli.interrupts import INTERRUPTED, insisting, status_after


def main() -> None:
    """Run the command line; after a signal end at once, without tidying up threads and memory."""
    for name in ("stdout", "stderr"):
        # A job may start with one of them closed; then Python has none.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
    try:
        with insisting():
            from verify.cli.main import main as run  # noqa: PLC0415 - a signal may come while it is imported

            run()
    except KeyboardInterrupt:
        sys.stderr.write(f"sdpa-verify: {INTERRUPTED}\n")
        status = status_after()
    except SystemExit as ended:
        if ended.code != status_after():
            raise
        status = status_after()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
