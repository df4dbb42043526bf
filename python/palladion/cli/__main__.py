"""``python -m palladion.cli``."""

from palladion.cli import main

main()
