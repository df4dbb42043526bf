"""Where a client keeps its secrets, and keys that are not uploaded yet."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Final

from palladion.errors import DataError
from palladion.secret import Secret
from palladion.support import files

VARIABLE: Final = "PALLADION_HOME"


def default_home() -> Path:
    """The folder of the variable ``PALLADION_HOME``, or that of the system for a user's data."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"), "palladion")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share", "palladion")


class Home:
    """A folder that only its owner can read."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = default_home() if folder is None else folder
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise DataError(f"cannot make {self.folder}: {error.strerror}") from error

    def secret(self, url: str, passphrase: str | None) -> Secret:
        """The secret for a service. At the first time it is made.

        Raises
        ------
        DataError
            If it cannot be read or written, or others can read its file.
        SealError
            If the passphrase does not open it.
        """
        path = self.folder / f"{place(url)}.secret"
        if path.exists():
            return Secret.load(path, passphrase=passphrase)
        secret = Secret.generate()
        secret.save(path, passphrase=passphrase)
        return secret

    def keys(self, secret: Secret, program_id: str) -> Path:
        """The file of keys that are to be uploaded."""
        return self.folder / f"{secret.key_id}-{program_id[:16]}.keys"

    def forget(self, path: Path) -> None:
        """Remove a file of keys that has been uploaded."""
        files.remove(path)


def place(url: str) -> str:
    """The name of a service as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9.-]+", "_", re.sub(r"^https?://", "", url.rstrip("/")))
