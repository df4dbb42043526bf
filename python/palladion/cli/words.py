"""The options that say for which words a network is compiled."""

from __future__ import annotations

import click

from palladion.cli.common import Command
from palladion.deployment import WORD_SIZES, words_of_machine
from palladion.errors import UsageError
from palladion.machines import Machine


def words_options(command: Command) -> Command:
    """``--words BITS`` and ``--machine NAME``, given to the command as ``words`` and ``machine``,
    of which :func:`words_of` makes one."""

    def checked(_context: click.Context, _option: click.Parameter, bits: int | None) -> int | None:
        if bits is None or bits in WORD_SIZES:
            return bits
        reason = (
            "a product of a network's residuals takes moduli of 32 bits (docs/adr/0020)"
            if bits < WORD_SIZES[0]
            else "no modulus has more, so leave the option out"
        )
        expected = f"expected {WORD_SIZES[0]} to {WORD_SIZES[-1]}"
        raise UsageError(f"words of {bits} bits, {expected}: {reason}")

    machine = click.option(
        "--machine",
        help="Machine that the program shall run on, by its name or its TOML file: its words are "
        "those of --words. See simulate run.",
    )
    return click.option(
        "--words",
        type=int,
        metavar="BITS",
        callback=checked,
        help="Bits of the words that every modulus must fit, 32 to 64, for machines of such words; "
        "default: 64, where moduli are as large as is best.",
    )(machine(command))


def words_of(words: int | None, machine: str | None) -> int | None:
    """Bits of the words that were asked for, or of the machine; ``None`` for words of any size.

    Raises
    ------
    FormatError
        If the machine's file is no machine.
    UsageError
        If there is no such machine, no network runs on it, or both were asked for.
    """
    if machine is None:
        return words
    if words is not None:
        raise UsageError("--machine with --words: the words are those of the machine")
    return words_of_machine(Machine.of(machine))
