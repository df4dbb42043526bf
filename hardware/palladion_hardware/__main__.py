"""``python -m palladion_hardware``."""

from palladion_hardware.command import main

main()
