"""``palladion serve-hybrid`` and ``palladion query``: the two parties of the hybrid mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from palladion import IntNetwork
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
from palladion.cli.decrypt import outputs_json, show_outputs
from palladion.cli.images import load_inputs
from palladion.cli.progress import Steps
from palladion.cli.stopping import timeout_option
from palladion.cli.table import print_table
from palladion.data.digits import takes_digits
from palladion.errors import UsageError
from palladion.hybrid import (
    Connected,
    Event,
    Failed,
    HybridClient,
    HybridClientFacts,
    HybridCosts,
    HybridFacts,
    HybridLayer,
    HybridModel,
    Link,
    Listening,
    Measured,
    PackingComparison,
    Served,
    SessionReport,
    certificate_hash,
    check_count,
    compare_packings,
    make_identity,
)
from palladion.nn.datasets.dataset import read_array
from palladion.support import files
from palladion.support.records import Json, to_json
from palladion.support.text import size

MBIT = click.FloatRange(min=0, min_open=True)


@dataclass(frozen=True)
class Compiled:
    """A program for two parties, as ``compile`` prints it."""

    facts: HybridFacts
    link: Link
    program_bytes: int
    packings: tuple[PackingComparison, ...]

    @property
    def costs(self) -> HybridCosts:
        """Predicted seconds of both phases on the connection."""
        return self.facts.costs(self.link)

    def to_json(self) -> Json:
        """As ``compile --json`` has it."""
        return {**self.facts.to_json(), "predicted_seconds": self.costs.to_json(),
                "program_bytes": self.program_bytes,
                "packings": [to_json(each) for each in self.packings],
                "mode": "hybrid"}  # fmt: skip


def compile_hybrid(
    network: IntNetwork, output: Path, *, revealed: bool, link: Link, inputs: int
) -> Compiled:
    """Compile a network for two parties, and write the program."""
    program = HybridModel.of_network(
        network, link=link, reveal_accumulators=revealed, inputs_per_client=inputs
    )
    data = program.to_bytes()
    files.write(output, data)
    packings = compare_packings(network, program.facts, link)
    return Compiled(program.facts, link, len(data), packings)


def show_compiled(compiled: Compiled, output: Path) -> None:
    """Print parameters and costs of a compiled program."""
    facts, costs, link = compiled.facts, compiled.costs, compiled.link
    print_table([layer_row(layer) for layer in facts.layers])
    online, offline = facts.online, facts.material.bytes + facts.keys.bytes
    weakest = [layer.security_bits for layer in facts.layers if layer.security_bits]
    bits = f"{min(weakest):.1f} bits, by the weakest ring" if weakest else "no encrypted layer"
    print_rows(
        {
            str(output): f"{size(compiled.program_bytes)}, for serve-hybrid: keep it, it "
            "holds the weights",
            "program": facts.program_hash,
            "security": bits,
            "flooding": f"distance 2^{facts.log2_distance:.1f} for one input, at most "
            f"2^-{facts.statistical_bits} for {facts.hidden_inputs} of one client",
            "accumulators": "REVEALED to the client, and with them much of the weights"
            if facts.reveals_accumulators
            else "seen by neither party",
            **{
                f"{products.kind} modulo 2^{products.bits}": f"{products.count} of one input under "
                f"BFV, {products.primes} primes, {size(products.making.bytes)}"
                for products in facts.products
            },
            "online": f"{online.rounds} rounds, {size(online.bytes)}, "
            f"{costs.online:.2f} s predicted",
            "offline": f"{size(offline)}, {costs.offline:.2f} s predicted",
            "connection": f"{link.bandwidth:g} Mbit/s, {link.latency:g} ms there and back",
            "packing": packing_text(compiled.packings),
        }
    )


def packing_text(packings: Sequence[PackingComparison]) -> str:
    """The packing of all layers, and the layers for which another would be cheaper."""
    others = [each for each in packings if each.cheaper_in_slots]
    text = f"c2pc in {len(packings)} layers, cheaper than slots in {len(packings) - len(others)}"
    if others:
        names = ", ".join(f"{each.layer} {' + '.join(each.slots)}" for each in others[:3])
        more = f" and {len(others) - 3} more" if others[3:] else ""
        text += f"; slots would be in: {names}{more}"
    return text


def layer_row(layer: HybridLayer) -> dict[str, str]:
    """A layer in the table of ``compile``."""
    encrypted = layer.n is not None and layer.log_q is not None
    return {
        "layer": layer.name,
        "bits": str(layer.bits),
        "ring": f"2^{(layer.n or 0).bit_length() - 1}, {layer.log_q:.0f}" if encrypted else "",
        "flood": str(layer.flood_bits) if encrypted else "",
        "channels": ", ".join(map(str, layer.tile_channels)),
        "layouts": ", ".join(map(str, layer.layouts)),
        "ciphertexts": "+".join(map(str, layer.ciphertexts)) if encrypted else "",
        "linear": size(layer.linear.bytes),
        "values": str(layer.values),
        "rounds": str(layer.linear.rounds + layer.activation.rounds),
        "activation": size(layer.activation.bytes),
    }


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
    identity = make_identity()
    files.write(output, identity.pem.encode(), secret=True)
    if as_json:
        print_json({"output": str(output), "certificate_hash": identity.certificate_hash})
    else:
        print_rows({str(output): "the certificate and its private key: keep it",
                    "certificate": identity.certificate_hash})  # fmt: skip


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
    served = HybridModel.load(program)

    def hear(event: Event) -> None:
        if isinstance(event, Listening) and hash_file is not None:
            files.write(hash_file, event.certificate_hash.encode())
        if as_json:
            print_json(event_json(event))
        else:
            show_event(event)

    served.serve(
        listen,
        hear,
        identity=None if cert is None or key is None else (cert, key),
        clients=clients,
        any_client=any_client,
        sessions=sessions,
        at_once=at_once,
        per_address=per_address,
        inputs_per_client=inputs_per_client,
        least_rate=least_rate,
    )


def event_json(event: Event) -> Json:
    """An event as data for JSON. The address of a client is called ``from``."""
    data = to_json(event)
    if not isinstance(event, Listening):
        data["from"] = data.pop("address")
    return data


def show_event(event: Event) -> None:
    """Print an event of the server."""
    if isinstance(event, Listening):
        most = event.inputs_of_client
        bits = event.log2_distance + math.log2(most)
        print_rows({"listening at": event.address, "certificate": event.certificate_hash,
                    "program": event.program_hash,
                    "inputs of a client": f"{most}, distance of the floods 2^{bits:.1f} in all",
                    })  # fmt: skip
        if event.any_client:
            click.echo("warning: ANY STRANGER who connects can read the weights exactly, with a "
                       "changed program and a few dozen inputs; --client HASH serves known clients "
                       "alone", err=True)  # fmt: skip
        if bits > -40:
            click.echo(f"warning: {most} inputs of one client add up to 2^{bits:.1f}, more than "
                       "2^-40: compile with --inputs-per-client", err=True)  # fmt: skip
    elif isinstance(event, Connected):
        click.echo(f"{event.address}: connected", err=True)
    elif isinstance(event, Failed):
        click.echo(f"{event.address}: {event.reason}", err=True)
    else:
        report = event.report
        click.echo(f"{event.address}: {report.inputs} answered, offline "
                   f"{report.offline.seconds:.2f} s, online "
                   f"{report.online.seconds:.2f} s; {whose(event)}: {event.inputs} "
                   f"inputs, distance 2^{event.log2_distance:.1f}", err=True)  # fmt: skip


def whose(event: Served) -> str:
    """Whose inputs are counted together."""
    return "all strangers" if event.client is None else f"client {event.client[:12]}"


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
@timeout_option
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

    ADDRESS is HOST:PORT. The server learns nothing of the inputs. The outputs are exactly the
    integer network's.
    """
    if (trust is None) == (cert is None):
        raise UsageError("give --trust, the hash that serve-hybrid printed, or --cert, the "
                         "server's certificate: without it any server could answer")  # fmt: skip
    if not inputs and not offline_only:
        raise UsageError("no inputs: give --input, or --offline-only")
    if trust is None:
        assert cert is not None, "one of the two is given"
        trust = certificate_hash(cert)
    for path in inputs:
        readable(path)
    with Steps(quiet=as_json) as steps, steps.step(f"connect to {address}"):
        client = HybridClient.connect(
            address, trust, program=program_hash, identity=identity, patience=patience
        )
    facts, boundary = client.facts, client.boundary
    values = None
    with warned() as warnings:
        if inputs:
            values = load_inputs(boundary, inputs, digits=takes_digits(boundary))[:count]
    number = (count or 1) if values is None else len(values)
    check_count(number)
    prediction = None
    with Steps(quiet=as_json) as steps:
        steps.start_run()
        if offline_only or values is None:
            report = client.measure_offline(number, steps.count)
        else:
            answer = client.query_integers(values, steps.count)
            prediction, report = answer.prediction, answer.report
    predicted = facts.costs(Link(bandwidth, latency))
    if prediction is not None and output is not None:
        files.write_arrays(output, prediction.outputs)
    if as_json:
        shown: Json = {"predicted": None, "outputs": {}}
        if prediction is not None:
            shown = outputs_json(prediction, integers=integers)
        print_json({
            **shown,
            "report": report.to_json(),
            "predicted_cost": {
                "keys": to_json(facts.keys),
                "material": to_json(facts.material),
                "online": to_json(facts.online),
            },
            "predicted_seconds": predicted.to_json(),
            "program_hash": facts.program_hash,
            "reveals_accumulators": facts.reveals_accumulators,
            "peak_memory_bytes": peak_memory(),
            "warnings": warnings,
        })  # fmt: skip
        return
    if prediction is not None:
        show_outputs(prediction, integers=integers)
    show_costs(report, facts, predicted, number)


def readable(path: Path) -> None:
    """Read the inputs of a file once, before anything is sent. Raises as :func:`load_inputs`."""
    if path.suffix.lower() in (".npy", ".npz"):
        read_array(path)
    else:
        files.read(path)


def show_costs(
    report: SessionReport, facts: HybridClientFacts, predicted: HybridCosts, number: int
) -> None:
    """Print measured costs beside predicted ones."""
    if facts.reveals_accumulators:
        click.echo("this program reveals the network's accumulators to the client", err=True)
    # Transfers come in blocks, which several inputs share.
    bound = "at most " if number > 1 else ""
    print_table(
        [
            phase_row(
                "offline",
                report.offline,
                predicted.offline * number,
                bound + size(facts.keys.bytes + number * facts.material.bytes),
                facts.keys.rounds + facts.material.rounds,
            ),
            phase_row(
                "online",
                report.online,
                predicted.online * number,
                size(facts.online.bytes * number),
                facts.online.rounds * number,
            ),
        ]
    )


def phase_row(
    phase: str, measured: Measured, seconds: float, moved: str, rounds: int
) -> dict[str, str]:
    """A phase, with the prediction for all inputs."""
    return {
        "phase": phase,
        "seconds": f"{measured.seconds:.2f}",
        "predicted": f"{seconds:.2f}",
        "sent": size(measured.sent),
        "received": size(measured.received),
        "bytes predicted": moved,
        "rounds": str(measured.rounds),
        "rounds predicted": str(rounds),
    }
