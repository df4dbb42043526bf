"""Print what the extra ``dev`` of pyproject.toml asks for, a line each, as pip reads it."""

from __future__ import annotations

from check_wheels import read_toml

if __name__ == "__main__":
    print(*read_toml("pyproject.toml")["project"]["optional-dependencies"]["dev"], sep="\n")
