"""OpenFHE under the benchmark's protocol: see ../common/src/lib.rs.

Called as ``main.py BV|HYBRID time|values GROUP DEFINITIONS``. Runs on CPython 3.10, for which the
wheel on PyPI is built. OpenFHE itself chooses the chain for a depth.
"""

import json
import sys
from pathlib import Path

from bfv import Bfv
from bgv import Bgv
from bootstrap import bootstrap
from ckks import Ckks
from lookup import lookup
from shared import measure

SCHEMES = {"bfv": Bfv, "bgv": Bgv, "ckks": Ckks}
# These are measured once, and report on their own result.
CIRCUITS = {"bootstrap": bootstrap, "lookup": lookup}


def lines(technique, verb, group, definition):
    """The objects to print."""
    if group in CIRCUITS:
        yield CIRCUITS[group](definition)
        return
    scheme = SCHEMES[group](technique, definition)
    for operation in scheme.operations():
        if verb == "time":
            yield measure(operation, scheme.parameters, definition["samples"])
        elif operation.slots:
            slots = operation.slots(operation.run())
            yield {"name": operation.name, "parameters": scheme.parameters, "slots": slots}


def main():
    technique, verb, group, path = sys.argv[1:]
    if group not in SCHEMES and (group not in CIRCUITS or verb != "time"):
        raise SystemExit(f"no group {group}")
    definition = json.loads(Path(path).read_text(encoding="utf-8"))[group]
    for line in lines(technique, verb, group, definition):
        print(json.dumps(line))


main()
