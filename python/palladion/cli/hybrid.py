"""``palladion serve-hybrid`` and ``palladion query``: the two parties of the hybrid mode."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

import palladion
from palladion import _native, files
from palladion.cli.common import (
    FILE,
    OUTPUT,
    json_option,
    peak_memory,
    print_json,
    print_rows,
    threads_option,
    warned,
)
from palladion.cli.decrypt import show_outputs
from palladion.cli.images import load_inputs
from palladion.cli.progress import Steps
from palladion.cli.table import print_table
from palladion.errors import UsageError
from palladion.nn.boundary import Boundary
from palladion.nn.dataset import read_array
from palladion.text import size

MOST_INPUTS = 10_000
MBIT = click.FloatRange(min=0, min_open=True)


def compile_hybrid(
    network_json: str, output: Path, *, revealed: bool, link: Link, inputs: int
) -> dict[str, Any]:
    """Compile a network for two parties, and write the program."""
    program = _native.hybrid_compile(network_json, revealed, link.bandwidth * 125_000, inputs)
    report: dict[str, Any] = json.loads(program.report())
    data = program.to_bytes()
    files.write(output, data)
    return {**report, "predicted_seconds": link.seconds(report), "program_bytes": len(data),
            "packings": packings_of(network_json, report["layers"], link), "output": str(output),
            "mode": "hybrid"}  # fmt: skip


def packings_of(
    network_json: str, layers: Sequence[Mapping[str, Any]], link: Link
) -> list[dict[str, Any]]:
    """For each encrypted layer, what it takes beside the cheapest packing in slots.

    ``layers`` are those of the program's report. Shares modulo a power of two have no slots, so the
    mode packs values in coefficients, as ``c2pc`` does, in the layout that takes the least time on
    this connection. The seconds of packings in slots are the planner's, for the core that the
    mode's predictions are for: of the server, one thread, and of ciphertexts on their way, without
    the floods and keys that the mode would need too; ``None`` if there is no such packing.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, shape, _weights in _native.packing_layers(network_json):
        layer = next(
            one for one in layers if name == one["name"] or name.startswith(f"{one['name']} term ")
        )
        rate = link.bandwidth * 125_000
        choice = _native.packing_choice(shape, "bfv", 13, rate, _native.HYBRID_CORE)
        seconds = {
            row["packing"]: row["seconds"] + row["moving_seconds"]
            for row in choice["candidates"]
            if row["packing"] != "c2pc"
        }
        entry = found.setdefault(
            layer["name"],
            {
                "layer": layer["name"],
                "used": "c2pc",
                "used_seconds": link.of({**layer["linear"], "messages": 0}),
                "slots": [],
                "slots_seconds": 0.0,
                "compared": len(seconds),
            },
        )
        if not seconds:  # its windows fit no row of slots
            entry["slots_seconds"] = None
        elif entry["slots_seconds"] is not None:
            best = min(seconds, key=seconds.__getitem__)
            entry["slots"].append(best)
            entry["slots_seconds"] += seconds[best]
    return list(found.values())


class Link:
    """Bandwidth and latency of a connection, as the options give them."""

    def __init__(self, bandwidth: float, latency: float) -> None:
        self.bandwidth = bandwidth
        self.latency = latency

    def seconds(self, report: Mapping[str, Any]) -> dict[str, float]:
        """Predicted seconds of both phases, for one input."""
        online = self.of(report["online"])
        offline = self.of(report["keys"]) + self.of(report["material"])
        return {"offline": offline, "online": online}

    def of(self, part: Mapping[str, Any]) -> float:
        """Predicted seconds of one part: bytes of both directions, messages, and computation."""
        transferred = part["bytes_to_server"] + part["bytes_to_client"]
        seconds: float = part["compute_seconds"] + transferred / (self.bandwidth * 125_000)
        waits: float = part["messages"] * self.latency / 2000
        return seconds + waits


def show_compiled(report: Mapping[str, Any], link: Link) -> None:
    """Print parameters and costs of a compiled program."""
    print_table([layer_row(layer) for layer in report["layers"]])
    online, seconds = report["online"], report["predicted_seconds"]
    weakest = [layer["security_bits"] for layer in report["layers"] if layer["security_bits"]]
    bits = f"{min(weakest):.1f} bits, by the weakest ring" if weakest else "no encrypted layer"
    print_rows(
        {
            report["output"]: f"{size(report['program_bytes'])}, for serve-hybrid: keep it, it "
            "holds the weights",
            "program": report["program_hash"],
            "security": bits,
            "flooding": f"distance 2^{report['log2_distance']:.1f} for one input, at most "
            f"2^-{report['statistical_bits']} for {hidden_inputs(report)} of one client",
            "accumulators": "REVEALED to the client, and with them much of the weights"
            if report["reveals_accumulators"]
            else "seen by neither party",
            **{
                f"{made['kind']} modulo 2^{made['bits']}": f"{made['count']} of one input under "
                f"BFV, {made['primes']} primes, {size(total_bytes(made['making']))}"
                for made in report["products"]
            },
            "online": f"{online['rounds']} rounds, {size(total_bytes(online))}, "
            f"{seconds['online']:.2f} s predicted",
            "offline": f"{size(total_bytes(report['material']) + total_bytes(report['keys']))}, "
            f"{seconds['offline']:.2f} s predicted",
            "connection": f"{link.bandwidth:g} Mbit/s, {link.latency:g} ms there and back",
            "packing": packing_text(report["packings"]),
        }
    )


def hidden_inputs(report: Mapping[str, Any]) -> int:
    """Inputs of one client whose distances add up to the bound."""
    return int(2.0 ** (-report["statistical_bits"] - report["log2_distance"]))


def packing_text(packings: Sequence[Mapping[str, Any]]) -> str:
    """The packing of all layers, and those for which another would be cheaper."""
    others = [
        entry
        for entry in packings
        if entry["slots_seconds"] is not None and entry["slots_seconds"] < entry["used_seconds"]
    ]
    text = f"c2pc in {len(packings)} layers, cheaper than slots in {len(packings) - len(others)}"
    if others:
        names = ", ".join(f"{entry['layer']} {' + '.join(entry['slots'])}" for entry in others[:3])
        more = f" and {len(others) - 3} more" if others[3:] else ""
        text += f"; slots would be in: {names}{more}"
    return text


def layer_row(layer: Mapping[str, Any]) -> dict[str, str]:
    """A layer in the table of ``compile``."""
    encrypted = layer["n"] is not None
    return {
        "layer": layer["name"],
        "bits": str(layer["bits"]),
        "ring": f"2^{layer['n'].bit_length() - 1}, {layer['log_q']:.0f}" if encrypted else "",
        "flood": str(layer["flood_bits"]) if encrypted else "",
        "channels": ", ".join(map(str, layer["tile_channels"])),
        "layouts": ", ".join(map(str, layer["layouts"])),
        "ciphertexts": "+".join(map(str, layer["ciphertexts"])) if encrypted else "",
        "linear": size(total_bytes(layer["linear"])),
        "values": str(layer["values"]),
        "rounds": str(layer["linear"]["rounds"] + layer["activation"]["rounds"]),
        "activation": size(total_bytes(layer["activation"])),
    }


def total_bytes(part: Mapping[str, Any]) -> int:
    """Bytes in both directions."""
    total: int = part["bytes_to_server"] + part["bytes_to_client"]
    return total


@click.command(name="identity")
@click.argument("output", type=OUTPUT)
@json_option
def identity_(output: Path, as_json: bool) -> None:
    """Make a certificate with its private key for `query --identity`.

    It prints the certificate's hash, which the server's owner gives to `serve-hybrid --client`.
    Only the owner of OUTPUT can read it.
    """
    if output.exists() and not files.streams(output):
        raise UsageError(f"{output} exists: an identity that is replaced is lost, so choose "
                         "another name or remove it")  # fmt: skip
    text, found = _native.hybrid_identity()
    files.write(output, text.encode(), secret=True)
    if as_json:
        print_json({"output": str(output), "certificate_hash": found})
    else:
        print_rows({str(output): "the certificate and its private key: keep it",
                    "certificate": found})  # fmt: skip


@click.command(name="serve-hybrid")
@click.argument("program", type=FILE)
@click.option("--listen", default="127.0.0.1:7700", help="HOST:PORT; default: 127.0.0.1:7700.")
@click.option("--client", "clients", multiple=True, help="Hash of a client's certificate.")
@click.option(
    "--any-client", is_flag=True, help="Answer whoever connects: any of them can read the weights."
)
@click.option("--cert", type=FILE, help="Certificate in PEM form; default: a fresh one.")
@click.option("--key", type=FILE, help="Private key of --cert.")
@click.option("--sessions", type=click.IntRange(min=1), help="End after so many; default: never.")
@click.option(
    "--at-once",
    type=click.IntRange(min=1),
    default=16,
    help="Sessions side by side; further clients wait. Default: 16.",
)
@click.option(
    "--per-address",
    type=click.IntRange(min=1),
    default=4,
    help="Sessions side by side from one address. Default: 4.",
)
@click.option(
    "--inputs-per-client",
    type=click.IntRange(min=1),
    help="Inputs of one client; default: as many as the floods hide to 2^-40 together.",
)
@click.option(
    "--least-rate",
    type=MBIT,
    default=0.5,
    help="Mbit/s: a session that is slower in all is ended. Default: 0.5.",
)
@click.option("--hash-file", type=OUTPUT, help="File to write the certificate's hash to.")
@threads_option
@json_option
def serve_hybrid(
    program: Path,
    listen: str,
    clients: tuple[str, ...],
    any_client: bool,
    cert: Path | None,
    key: Path | None,
    sessions: int | None,
    at_once: int,
    per_address: int,
    inputs_per_client: int | None,
    least_rate: float,
    hash_file: Path | None,
    as_json: bool,
) -> None:
    """Serve a program of `compile --mode hybrid` to clients.

    The server sees neither inputs nor outputs. It prints the hash of its certificate, which clients
    give to `query`. A client whose program was changed can read the weights, so the server answers
    only clients with known certificates, unless --any-client says otherwise.
    """
    if bool(clients) == any_client:
        raise UsageError(
            "give --client HASH for each client, the hash that `palladion identity` printed to it, "
            "or --any-client alone: with it, any stranger who connects can read the weights"
        )
    if (cert is None) != (key is None):
        raise UsageError("a certificate without its key, or a key alone: give both, or neither for "
                         "a fresh certificate")  # fmt: skip
    found = files.parsed(program, _native.HybridProgram.from_bytes, b"HYBR")

    def hear(text: str) -> None:
        event = json.loads(text)
        if event["event"] == "listening" and hash_file is not None:
            files.write(hash_file, event["certificate_hash"].encode())
        if as_json:
            print_json(event)
        else:
            show_event(event)

    found.serve(
        listen,
        hear,
        identity=None if cert is None or key is None else (cert, key),
        clients=clients,
        sessions=sessions,
        at_once=at_once,
        of_address=per_address,
        most_inputs=MOST_INPUTS,
        inputs_of_client=inputs_per_client,
        least_rate=least_rate * 125_000,
    )


def show_event(event: Mapping[str, Any]) -> None:
    """Print what happened at the server."""
    if event["event"] == "listening":
        most = event["inputs_of_client"]
        bits = event["log2_distance"] + math.log2(most)
        print_rows({"listening at": event["address"], "certificate": event["certificate_hash"],
                    "program": event["program_hash"],
                    "inputs of a client": f"{most}, distance of the floods 2^{bits:.1f} in all",
                    })  # fmt: skip
        if event["any_client"]:
            click.echo("warning: ANY STRANGER who connects can read the weights exactly, with a "
                       "changed program and a few dozen inputs; --client HASH serves known clients "
                       "alone", err=True)  # fmt: skip
        if bits > -40:
            click.echo(f"warning: {most} inputs of one client add up to 2^{bits:.1f}, more than "
                       "2^-40: compile with --inputs-per-client", err=True)  # fmt: skip
    elif event["event"] == "connected":
        click.echo(f"{event['from']}: connected", err=True)
    elif event["event"] == "failed":
        click.echo(f"{event['from']}: {event['reason']}", err=True)
    else:
        report = event["report"]
        click.echo(f"{event['from']}: {report['inputs']} answered, offline "
                   f"{report['offline']['seconds']:.2f} s, online "
                   f"{report['online']['seconds']:.2f} s; {whose(event)}: {event['inputs']} "
                   f"inputs, distance 2^{event['log2_distance']:.1f}", err=True)  # fmt: skip


def whose(event: Mapping[str, Any]) -> str:
    """Whose inputs are counted together."""
    client: str | None = event["client"]
    return "all strangers" if client is None else f"client {client[:12]}"


@click.command()
@click.argument("address")
@click.option("--input", "inputs", type=FILE, multiple=True, help="Pictures, .npy or .npz files.")
@click.option("--trust", help="Hash of the server's certificate, as serve-hybrid printed it.")
@click.option("--cert", type=FILE, help="The server's certificate itself, in PEM form.")
@click.option("--identity", type=FILE, help="This client's certificate and key, in one file.")
@click.option(
    "--patience",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    help="Seconds to wait for each message; default: 300, and at most 10 for the first.",
)
@click.option("--program", "program_hash", help="Hash of the program, to refuse another one.")
@click.option("--count", type=click.IntRange(min=1), help="Number of inputs; default: all.")
@click.option("--offline-only", is_flag=True, help="Make keys and material only, to measure it.")
@click.option("--integers", is_flag=True, help="Print the network's integers too.")
@click.option("--output", type=OUTPUT, help="File to write the outputs to, in .npz form.")
@click.option("--bandwidth", type=MBIT, default=2000.0, help="Mbit/s, to predict with; 2000.")
@click.option("--latency", type=float, default=0.2, help="ms there and back; default: 0.2.")
@threads_option
@json_option
def query(
    address: str,
    inputs: tuple[Path, ...],
    trust: str | None,
    cert: Path | None,
    identity: Path | None,
    patience: float,
    program_hash: str | None,
    count: int | None,
    offline_only: bool,
    integers: bool,
    output: Path | None,
    bandwidth: float,
    latency: float,
    as_json: bool,
) -> None:
    """Ask a server of `serve-hybrid` for the outputs of a model.

    ADDRESS is HOST:PORT. The server learns nothing of the inputs. The outputs equal those of the
    integer network exactly.
    """
    if (trust is None) == (cert is None):
        raise UsageError("give --trust, the hash that serve-hybrid printed, or --cert, the "
                         "server's certificate: without it any server could answer")  # fmt: skip
    if not inputs and not offline_only:
        raise UsageError("no inputs: give --input, or --offline-only")
    if trust is None:
        assert cert is not None, "one of the two is given"
        trust = _native.hybrid_certificate_hash(cert)
    for path in inputs:
        readable(path)
    with Steps(quiet=as_json) as steps, steps.step(f"connect to {address}"):
        own = None if identity is None else (identity, identity)
        client = _native.HybridClient.connect(address, trust, program_hash, own, patience)
    known: dict[str, Any] = json.loads(client.report())
    boundary = Boundary.of_description(known, known["classes"])
    with warned() as warnings:
        digits = boundary == palladion.mnist_network().boundary
        values = load_inputs(boundary, inputs, digits=digits)[:count] if inputs else None
    number = (count or 1) if values is None else len(values)
    if number > MOST_INPUTS:
        raise UsageError(f"{number} inputs, a session takes at most {MOST_INPUTS}: use --count, or "
                         "several queries")  # fmt: skip
    with Steps(quiet=as_json) as steps:
        steps.start_run()
        given = [] if offline_only or values is None else values.tolist()
        found, text = client.run(given, number, steps.count)
    report = json.loads(text)
    predicted = Link(bandwidth, latency).seconds(known)
    outputs, predicted_classes, logits = {}, None, None
    if found:
        logits = np.array(found, dtype=np.int64)
        outputs = boundary.outputs(logits)
        classes = boundary.interface.classes(outputs)
        predicted_classes = None if classes is None else classes.tolist()
        if output is not None:
            files.write_arrays(output, outputs)
    if as_json:
        print_json({
            "predicted": predicted_classes,
            "outputs": {name: array.tolist() for name, array in outputs.items()},
            **({"logits": found} if integers else {}),
            "report": report,
            "predicted_cost": {part: known[part] for part in ("keys", "material", "online")},
            "predicted_seconds": predicted,
            "program_hash": known["program_hash"],
            "reveals_accumulators": known["reveals_accumulators"],
            "peak_memory_bytes": peak_memory(),
            "warnings": warnings,
        })  # fmt: skip
        return
    if found:
        show_outputs(outputs, predicted_classes, logits if integers else None)
    show_costs(report, known, predicted, number)


def readable(path: Path) -> None:
    """Read the inputs of a file once, before anything is sent. Raises as :func:`load_inputs`."""
    if path.suffix.lower() in (".npy", ".npz"):
        read_array(path)
    else:
        files.read(path)


def show_costs(
    report: Mapping[str, Any], known: Mapping[str, Any], predicted: Mapping[str, float], number: int
) -> None:
    """Print measured costs beside predicted ones."""
    if known["reveals_accumulators"]:
        click.echo("this program reveals the network's accumulators to the client", err=True)
    offline = {key: known["keys"][key] + known["material"][key] for key in known["keys"]}
    offline.update({key: known["keys"][key] + number * known["material"][key]
                    for key in ("bytes_to_server", "bytes_to_client")})  # fmt: skip
    rows = []
    for phase, expected, times in (("offline", offline, 1), ("online", known["online"], number)):
        measured = report[phase]
        # Transfers come in blocks, which several inputs share.
        bound = "at most " if phase == "offline" and number > 1 else ""
        rows.append(
            {
                "phase": phase,
                "seconds": f"{measured['seconds']:.2f}",
                "predicted": f"{predicted[phase] * number:.2f}",
                "sent": size(measured["sent"]),
                "received": size(measured["received"]),
                "bytes predicted": bound + size(total_bytes(expected) * times),
                "rounds": str(measured["rounds"]),
                "rounds predicted": str(expected["rounds"] * times),
            }
        )
    print_table(rows)
