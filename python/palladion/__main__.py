"""``python -m palladion`` is the command ``palladion`` of this interpreter."""

from palladion.cli import main

if __name__ == "__main__":
    main()
