"""`python -m snodo`: the same as the `snodo` script."""

import sys


def main() -> int:
    """Run one command, and end quietly at Ctrl-C even while this is still being imported."""
    try:
        from snodo.cli import main as run

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
