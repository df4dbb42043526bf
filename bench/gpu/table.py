"""Prints a record of ``measure.py`` as tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def figure(row: dict[str, Any], key: str, digits: int = 1) -> str:
    value = row.get(key)
    return "-" if value is None else f"{value:.{digits}f}"


def main() -> None:
    record = json.loads(Path(sys.argv[1]).read_text())
    rehearsal = ", a rehearsal: no figures" if record["quick"] else ""
    print(f"{record['device']}, JAX {record['jax']}, {record['date']}{rehearsal}\n")
    print("| N | transform | rows | us per row | GB/s |\n|---|---|---|---|---|")
    for row in record.get("ntt", []):
        times = figure(row, "microseconds_per_row", 2), figure(row, "gb_per_s", 0)
        note = f" (not run: {row['not_run']})" if "not_run" in row else ""
        print(f"| {row['n']} | {row['variant']}{note} | {row['rows']} | {' | '.join(times)} |")
    print("\n| operation | variant | us per row | chosen |\n|---|---|---|---|")
    for row in record.get("tuned", {}).get("measured", []):
        shown = row["note"] or f"{row['microseconds']:.2f}"
        print(f"| {row['operation']} | {row['variant']} | {shown} | {'*' * row['chosen']} |")
    print("\n| network | target | seconds here, first run first | answers | CPU's kernels, s |")
    print("|---|---|---|---|---|")
    for row in record.get("networks", []):
        if "not_run" in row:
            print(f"| {row['network']} | | not run: {row['not_run']} | | |")
            continue
        for target in ("cuda", "xla"):
            own = row.get(target, {"not_run": "no such device"})
            if "not_run" in own:
                print(f"| {row['network']} | {target} | not run: {own['not_run']} | | |")
                continue
            times = ", ".join(f"{second:.3f}" for second in own["seconds"])
            equal = "equal" if own["equal"] else "DIFFERENT"
            cpu = min(row["cpu_kernels_seconds"])
            print(f"| {row['network']} | {target} | {times} | {equal} | {cpu:.2f} |")
    print("\nA model, no measurement: bytes and operations against peak figures (roofline.py).\n")
    print("| network | machine | seconds | most of it |\n|---|---|---|---|")
    for row in record.get("networks", []):
        for machine, total in row.get("model", {}).get("seconds", {}).items():
            by = row["model"]["by_kernel"][machine]
            most = max(by, key=by.__getitem__)
            share = f"{most} {by[most] / total:.0%}"
            print(f"| {row['network']} | {machine} | {total:.3f} | {share} |")


if __name__ == "__main__":
    main()
