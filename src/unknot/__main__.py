"""`python -m unknot`."""

from unknot.cli import main

main()
