"""``palladion params``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from palladion.cli.common import json_option, print_json, print_rows
from palladion.cli.table import print_table
from palladion.schemes.security import TARGET_BITS
from palladion.schemes.sets import NamedSet, TfheSet, named, named_sets, tfhe_sets
from palladion.support.text import size


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
            print_json({"sets": found, "tfhe": [entry.to_json() for entry in tfhe.values()]})
        else:
            print_table([row(entry) for entry in sets])
            click.echo()
            print_table([tfhe_row(entry) for entry in tfhe.values()])
    elif name in tfhe:
        if as_json:
            print_json(tfhe[name].to_json())
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


def tfhe_row(entry: TfheSet) -> dict[str, object]:
    """A row of the table of TFHE sets."""
    return {
        "set": entry.name,
        "bits": "gates" if entry.layout == "gates" else entry.bits,
        "n": entry.lwe_dimension,
        "k": entry.rank,
        "N": f"2^{entry.log_n}",
        "key switch": entry.key_switch,
        "security": tfhe_security(entry),
        "fails": tfhe_failure(entry),
        "ciphertext": size(entry.ciphertext_bytes),
        "keys": size(entry.key_bytes),
        "in memory": size(entry.key_memory_bytes),
    }


def tfhe_rows(entry: TfheSet) -> dict[str, object]:
    """Everything about one TFHE set."""
    return {
        "name": entry.name,
        "layout": entry.layout if entry.layout == "gates" else entry.bits,
        "word": f"{entry.word_bits} bits",
        "small secret": f"{entry.lwe_dimension}, sigma {entry.lwe_sigma:.3e}",
        "ring secret": f"{entry.rank} x 2^{entry.log_n}, sigma {entry.ring_sigma:.3e}",
        "bootstrapping": f"digits: {digits(entry.bootstrap_digits)}",
        "key switch": f"{entry.key_switch}, digits: {digits(entry.key_switch_digits)}",
        "security": entry.security.text,
        "estimated by": entry.security.basis,
        "fails": f"{tfhe_failure(entry)} of a bootstrapping, predicted average over keys",
        "ciphertext": size(entry.ciphertext_bytes),
        "as encrypted": f"{entry.fresh_bytes} bytes each, and a seed",
        "keys": f"{size(entry.key_bytes)} seeded, {size(entry.key_memory_bytes)} in memory",
    }


def digits(sizes: Sequence[int]) -> str:
    """Bits and number of digits as text."""
    bits, count = sizes
    return f"{count} of {bits} bits"


def tfhe_security(entry: TfheSet) -> str:
    """The estimate, marked if it is below 128 bits."""
    insecure = "" if entry.secure else "INSECURE, "
    return f"{insecure}{entry.security_bits:.1f} bits"


def tfhe_failure(entry: TfheSet) -> str:
    """The largest probability that a bootstrapping fails, an average over keys."""
    return f"2^{entry.log2_failure:.1f}"
