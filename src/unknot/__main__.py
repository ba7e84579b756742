"""The command, and `python -m unknot`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it in a sentence even while it is being imported."""
    try:
        from unknot.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("unknot: interrupted.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
