"""`python -m snodo`: the same as the `snodo` script."""

import sys

from snodo.cli import main

if __name__ == "__main__":
    sys.exit(main())
