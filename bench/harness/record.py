"""Records of runs: `bench/record/<machine>-<date>.json`."""

from __future__ import annotations

import datetime
import json
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from .environments import BENCH
from .programs import DEFINITIONS, Program
from .rounds import SCHEMES, Outcome, Plan


def write(outcome: Outcome, programs: list[Program], plan: Plan) -> Path:
    """Writes the record of a run. A later run of the same schemes, day and machine replaces it."""
    schemes = [name for name, groups in SCHEMES.items() if set(groups) & set(plan.groups)]
    return save(
        {
            "pinned_to_cores": outcome.pinned_to,
            "cores_used_by_others": outcome.others,
            "rounds": plan.rounds,
            "definitions": json.loads(DEFINITIONS.read_text(encoding="utf-8")),
            "versions": {program.name: program.version for program in programs},
            "not_run": [
                {"group": group, "program": program, "reason": reason}
                for (group, program), reason in outcome.not_run.items()
            ],
            "rows": [row.as_row() for row in outcome.rows],
        },
        "" if schemes == ["bfv"] else "".join(f"{name}-" for name in schemes),
    )


def save(found: dict[str, Any], prefix: str = "") -> Path:
    """Writes the results of a run with time and machine: ``<prefix><machine>-<date>.json``."""
    date = datetime.datetime.now(datetime.timezone.utc)
    cpu = _cpu()
    origin = {
        "date": date.isoformat(timespec="seconds"),
        "machine": cpu | {"system": platform.system(), "kernel": platform.release()},
        "commit": _git("rev-parse", "HEAD"),
        "changed_files": len((_git("status", "--porcelain") or "").splitlines()),
        "toolchains": {
            "rust": _first_line("rustc", "--version"),
            "go": _first_line("go", "version"),
        },
    }
    path = BENCH / "record" / f"{prefix}{_slug(cpu['model'])}-{date.date().isoformat()}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(origin | found, indent=1) + "\n", encoding="utf-8")
    return path


def _cpu() -> dict[str, Any]:
    """Model and number of cores. A virtual machine often hides the model's name: see `family`."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {"model": platform.processor() or platform.machine()}
    fields = dict(re.findall(r"^([\w ]+?)\s*: (.+)$", text.split("\n\n")[0], re.MULTILINE))
    return {
        "model": fields.get("model name", platform.machine()),
        "family": f"{fields.get('cpu family')}-{fields.get('model')}-{fields.get('stepping')}",
        "cores": text.count("processor\t:"),
        "avx512_ifma": "avx512ifma" in fields.get("flags", ""),
    }


def _slug(model: str) -> str:
    words = re.sub(r"\((r|tm)\)|\bcpu\b|@.*", " ", model.lower())
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")


def _git(*arguments: str) -> str | None:
    return _output("git", "-C", str(BENCH), *arguments)


def _first_line(*command: str) -> str | None:
    text = _output(*command)
    return text.splitlines()[0] if text else None


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
