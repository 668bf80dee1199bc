"""Entry point of ``sdpa-verify`` and ``python -m verify``."""

from verify.cli import main

if __name__ == "__main__":
    main()
