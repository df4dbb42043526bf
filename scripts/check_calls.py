"""Finds instructions of a particular CPU that are called as functions.

A function or closure that is compiled without the CPU's features cannot contain an instruction of
that CPU: the compiler puts the instruction into a function of its own and calls it, with its
operands in memory. This made the transforms of TFHE eight times slower on AVX2 than they are. So no
call in the built module may lead to a short function without branches that works on registers of
AVX or AVX-512 and returns.

    python scripts/check_calls.py FILE     # a module, library or program for x86-64
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

LONGEST = 8  # instructions: loads of operands, one operation, a store, vzeroupper, ret
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.*)$")
CALL = re.compile(r"^call\s+([0-9a-f]+)\b")
WIDE = re.compile(r"%[yz]mm")
BRANCH = re.compile(r"^(?:j[a-z]+|call|loop\w*)\b")


def forwarders(disassembly: list[str]) -> list[str]:
    """The functions of that kind, one a line, with the number of calls."""
    places: dict[int, int] = {}
    instructions: list[str] = []
    calls: Counter[int] = Counter()
    for line in disassembly:
        match = INSTRUCTION.match(line)
        if match is None:
            continue
        places[int(match[1], 16)] = len(instructions)
        text = match[2].strip()
        instructions.append(text)
        if call := CALL.match(text):
            calls[int(call[1], 16)] += 1
    found = []
    for target, count in calls.most_common():
        if target not in places:
            continue
        start = places[target]
        body = instructions[start : start + LONGEST]
        end = next((i for i, text in enumerate(body) if text.startswith("ret")), None)
        if end is None:
            continue
        body = body[:end]
        if any(WIDE.search(text) for text in body) and not any(map(BRANCH.match, body)):
            found.append(f"{count} calls of the function at {target:#x}: {'; '.join(body)}")
    return found


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        print(__doc__, file=sys.stderr)
        return 2
    if (objdump := shutil.which("objdump")) is None:
        print("calls of vector instructions: NOT CHECKED, this machine has no objdump")
        return 0
    command = [objdump, "-d", "--no-show-raw-insn", arguments[0]]
    found = forwarders(
        subprocess.run(command, check=True, text=True, capture_output=True).stdout.splitlines()
    )
    for line in found:
        print(line)
    if found:
        print(f"{arguments[0]}: instructions of AVX or AVX-512 are called as functions")
        return 1
    print(f"{arguments[0]}: no vector instruction is called as a function")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
