"""``palladion params``."""

from __future__ import annotations

import click

from palladion.cli.common import json_option, print_json, print_rows, size
from palladion.cli.table import print_table
from palladion.sets import SECURITY_BITS, NamedSet, named, named_sets


@click.command()
@click.argument("name", required=False)
@json_option
def params(name: str | None, as_json: bool) -> None:
    """Show parameter sets, or the one called NAME: security, sizes, levels and slots.

    Ours have 128-bit security. Published ones are held to the same table.
    """
    sets = list(named_sets().values()) if name is None else [named(name)]
    if as_json:
        if name is None:
            print_json({"sets": [found.describe() for found in sets]})
        else:
            print_json(sets[0].describe())
    elif name is None:
        print_table([row(found) for found in sets])
    else:
        print_one(sets[0])


def row(found: NamedSet) -> dict[str, object]:
    """A line of the table."""
    return {
        "name": found.name,
        "scheme": found.scheme,
        "N": f"2^{found.log_n}",
        "slots": found.slots,
        "levels": found.levels,
        "log2(Q)": found.log_q,
        "log2(QP)": found.log_qp,
        "security": security(found),
        "ciphertext": octets(found.ciphertext_bytes),
        "key": octets(found.key_bytes),
    }


def print_one(found: NamedSet) -> None:
    """Everything of one set."""
    rows = {key: value for key, value in row(found).items() if key not in ("ciphertext", "key")}
    rows["largest log2(QP)"] = found.limit
    rows["limbs"] = found.limbs
    rows["digits"] = "-" if found.digits is None else found.digits
    rows["ciphertext"] = octets(found.ciphertext_bytes)
    rows["as encrypted"] = octets(found.fresh_bytes)
    rows["evaluation key"] = octets(found.key_bytes)
    if found.sizes is not None:
        rows["moduli"] = " ".join("+".join(map(str, level)) for level in found.sizes.levels)
        rows["special moduli"] = " ".join(map(str, found.sizes.special))
    rows["source"] = found.source
    print_rows({key: "-" if value is None else value for key, value in rows.items()})


def security(found: NamedSet) -> str:
    """What the table says."""
    if found.secure is None:
        return "unknown"
    return f"{SECURITY_BITS} bits" if found.secure else f"below {SECURITY_BITS}"


def octets(count: int | None) -> str:
    """A size, or that it is not known."""
    return "-" if count is None else size(count)
