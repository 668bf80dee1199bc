"""Entry point of ``sdpa-verify`` and ``python -m verify``."""

import contextlib
import os
import sys
from pathlib import Path

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; after Ctrl-C end at once, without waiting for threads and memory to be tidied."""
    for name in ("stdout", "stderr"):
        # A job may start with one of them closed; then Python has none.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for good
    try:
        from verify.cli import main as run  # noqa: PLC0415 - Ctrl-C may come while it is imported

        run()
    except KeyboardInterrupt:
        sys.stderr.write("sdpa-verify: interrupted\n")
        status = _INTERRUPTED
    except SystemExit as ended:
        if ended.code != _INTERRUPTED:
            raise
        status = _INTERRUPTED
    sys.stderr.flush()
    if "verify.workers" in sys.modules:
        sys.modules["verify.workers"].dismiss()
    # A helper process would tell of semaphores left behind.
    with contextlib.suppress(KeyboardInterrupt, KeyError, AttributeError):
        sys.modules["multiprocessing.util"]._run_finalizers()
    os._exit(status)


if __name__ == "__main__":
    main()
