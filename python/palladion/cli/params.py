"""``palladion params``."""

from __future__ import annotations

from typing import Any

import click

from palladion.cli.common import json_option, print_json, print_rows
from palladion.cli.table import print_table
from palladion.security import TARGET_BITS
from palladion.sets import NamedSet, named, named_sets, tfhe_sets
from palladion.text import size


@click.command()
@click.argument("name", required=False)
@json_option
def params(name: str | None, as_json: bool) -> None:
    """Print parameter sets: security, sizes, levels and slots.

    Prints all sets, or the set NAME. Security is estimated in bits by the cost model MATZOV. Sets
    below 128 bits are INSECURE. For TFHE sets the command also prints the probability that a
    bootstrapping fails, an average over keys.
    """
    tfhe = tfhe_sets()
    if name is None:
        sets = list(named_sets().values())
        if as_json:
            found = [entry.describe() for entry in sets]
            print_json({"sets": found, "tfhe": list(tfhe.values())})
        else:
            print_table([row(entry) for entry in sets])
            click.echo()
            print_table([tfhe_row(entry) for entry in tfhe.values()])
    elif name in tfhe:
        if as_json:
            print_json(tfhe[name])
        else:
            print_rows(tfhe_rows(tfhe[name]))
    elif as_json:
        print_json(named(name).describe())
    else:
        print_one(named(name))


def row(found: NamedSet) -> dict[str, object]:
    """A row of the table."""
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
    """Print everything about one set."""
    rows = {key: value for key, value in row(found).items() if key not in ("ciphertext", "key")}
    rows["largest log2(QP)"] = found.limit
    if found.security is not None:
        rows["security"] = str(found.security)
        rows["estimated by"] = found.security.basis
    if found.sparse_security is not None:
        rows["sparse secret"] = str(found.sparse_security)
        rows["its estimate"] = found.sparse_security.basis
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
    """The estimate in a few words."""
    if found.security is None:
        return "unknown"
    if not found.security.enough:
        return f"INSECURE, below {TARGET_BITS}"
    return f"{found.security.bits:.1f} bits"


def octets(count: int | None) -> str:
    """A size, or a word for an unknown size."""
    return "-" if count is None else size(count)


def tfhe_row(found: dict[str, Any]) -> dict[str, object]:
    """A row of the table of TFHE sets."""
    return {
        "set": found["name"],
        "bits": "gates" if found["layout"] == "gates" else tfhe_bits(found),
        "n": found["lwe_dimension"],
        "k": found["rank"],
        "N": f"2^{found['log_n']}",
        "key switch": found["key_switch"],
        "security": tfhe_security(found),
        "fails": tfhe_failure(found),
        "ciphertext": size(found["ciphertext_bytes"]),
        "keys": size(found["key_bytes"]),
        "in memory": size(found["key_memory_bytes"]),
    }


def tfhe_rows(found: dict[str, Any]) -> dict[str, object]:
    """Everything about one TFHE set."""
    digits = {key: "{1} of {0} bits".format(*found[f"{key}_digits"]) for key in DIGITS}
    return {
        "name": found["name"],
        "layout": found["layout"] if found["layout"] == "gates" else tfhe_bits(found),
        "word": f"{found['word_bits']} bits",
        "small secret": f"{found['lwe_dimension']}, sigma {found['lwe_sigma']:.3e}",
        "ring secret": f"{found['rank']} x 2^{found['log_n']}, sigma {found['ring_sigma']:.3e}",
        "bootstrapping": f"digits: {digits['bootstrap']}",
        "key switch": f"{found['key_switch']}, digits: {digits['key_switch']}",
        "security": found["security"]["text"],
        "estimated by": found["security"]["basis"],
        "fails": f"{tfhe_failure(found)} of a bootstrapping, predicted average over keys",
        "ciphertext": size(found["ciphertext_bytes"]),
        "as encrypted": f"{found['fresh_bytes']} bytes each, and a seed",
        "keys": f"{size(found['key_bytes'])} seeded, {size(found['key_memory_bytes'])} in memory",
    }


DIGITS = ("bootstrap", "key_switch")


def tfhe_bits(found: dict[str, Any]) -> str:
    """The bits of message and carry."""
    return f"{found['message_bits']} + {found['carry_bits']} carry"


def tfhe_security(found: dict[str, Any]) -> str:
    """The estimate, marked if it is below 128 bits."""
    insecure = "" if found["secure"] else "INSECURE, "
    return f"{insecure}{found['security_bits']:.1f} bits"


def tfhe_failure(found: dict[str, Any]) -> str:
    """The largest probability that a bootstrapping fails, an average over keys."""
    return f"2^{found['log2_failure']:.1f}"
