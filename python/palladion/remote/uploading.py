"""Uploads of key files, in parts."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from palladion.remote.session import Session
from palladion.runs import Progress
from palladion.support import files
from palladion.support.records import Json


def upload(session: Session, path: Path, progress: Progress | None = None) -> None:
    """Upload a file of keys. Parts that the service has are not sent again.

    Raises
    ------
    ServiceError
        If the service refuses, or stays away.
    """
    length = path.stat().st_size
    state = session.json(
        "POST", "/v2/uploads", json={"digest": files.digest_of(path), "bytes": length}
    )
    if state["complete"]:
        return
    send_parts(session, path, state, progress)
    session.json("POST", f"/v2/uploads/{state['upload']}/complete", timeout=600.0)


def send_parts(session: Session, path: Path, state: Json, progress: Progress | None) -> None:
    """Send the parts that are missing."""
    part, total = int(state["part_bytes"]), int(state["bytes"])
    missing = [int(number) for number in state["missing"]]
    done = total - sum(min(part, total - number * part) for number in missing)
    with path.open("rb") as file:
        for number in missing:
            file.seek(number * part)
            data = file.read(part)
            digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
            session.send(
                "PUT",
                f"/v2/uploads/{state['upload']}/parts/{number}",
                content=data,
                headers={"content-digest": f"sha-256=:{digest}:"},
            )
            done += len(data)
            if progress is not None:
                progress("upload keys", done, total)
