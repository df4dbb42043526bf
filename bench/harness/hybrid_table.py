"""Tables of `run-hybrid`, as Markdown: what was measured, and where the two modes cross, as computed from
measurements."""

from __future__ import annotations

from typing import Any

from .links import LINKS, Link

Row = dict[str, Any]
BANDWIDTHS = (1, 10, 100, 400, 1000)
"""Mbit/s."""
LATENCIES = (0.2, 10, 40, 150)
"""ms there and back."""
FIGURES = (
    "network", "link", "system", "images", "equal", "online s", "predicted", "offline s", "online MB",
    "offline MB", "rounds", "SPU's time over ours, all (online)",
)  # fmt: skip


def transfer_seconds(cost: Row, bandwidth: float, latency: float) -> float:
    """Seconds of a part beside computation: bytes of both directions, and messages that wait for each
    other."""
    bits = 8 * (cost["bytes_to_server"] + cost["bytes_to_client"])
    return float(bits / bandwidth / 1e6 + cost["messages"] * latency / 2000)


def predicted_online(row: Row, link: Link) -> float:
    """As `compile` and `query` predict it."""
    cost = row["predicted_cost"]["online"]
    bandwidth, latency = link.assumed
    return float(cost["compute_seconds"]) + transfer_seconds(cost, bandwidth, latency)


def hybrid_seconds(row: Row, bandwidth: float, latency: float, *, offline: bool) -> float:
    """Seconds of one image over any connection, from a row measured on loopback."""
    cost = row["predicted_cost"]
    found: float = row["online_seconds"] + transfer_seconds(cost["online"], bandwidth, latency)
    if offline:
        found += row["offline_seconds"] + transfer_seconds(cost["material"], bandwidth, latency)
    return found


def fhe_seconds(run: Row, bandwidth: float, latency: float) -> float:
    """Seconds of one run, with one message each way. Keys are at the server already."""
    return float(
        run["seconds_of_a_run"] + 8 * run["bytes_of_a_run"] / bandwidth / 1e6 + latency / 1e3
    )


def crossing(row: Row, run: Row, latency: float) -> float | None:
    """The bandwidth in Mbit/s at which both modes take one image equally long, offline phase
    included. Above it `hybrid` is faster. ``None`` if `fhe` is faster on any connection."""
    cost = row["predicted_cost"]
    megabits = sum(
        8 * (cost[part]["bytes_to_server"] + cost[part]["bytes_to_client"]) / 1e6
        for part in ("online", "material")
    )
    megabits -= 8 * run["bytes_of_a_run"] / 1e6
    unlimited = 1e12
    saved = fhe_seconds(run, unlimited, latency) - hybrid_seconds(
        row, unlimited, latency, offline=True
    )
    if saved <= 0:
        return None
    return max(0.0, megabits / saved)


def figures(rows: list[Row]) -> list[str]:
    """A line for each measured session."""
    lines = _table(FIGURES)
    for row in rows:
        begin = [row["network"], str(LINKS[row["link"]]), row["system"]]
        if "not_run" in row:
            lines.append(_line([*begin, f"not run: {row['not_run']}", *[""] * (len(FIGURES) - 4)]))
        elif row["system"] == "ours":
            lines.append(_line([
                *begin, str(row["images"]), f"{row['equal']} of {row['images']}",
                _seconds(row["online_seconds"]), _seconds(predicted_online(row, LINKS[row["link"]])),
                _seconds(row["offline_seconds"]), _megabytes(row["online_bytes"]),
                _megabytes(row["offline_bytes"]), f"{row['rounds']:.0f}", "",
            ]))  # fmt: skip
        else:
            same = f"class {row['same_class']} of {row['images']}"
            own = next((r for r in rows if r["system"] == "ours" and "not_run" not in r
                        and (r["network"], r["link"]) == (row["network"], row["link"])), None)  # fmt: skip
            lines.append(_line([
                *begin, str(row["images"]), same, _seconds(row["seconds"]), "", "within",
                _megabytes(row["bytes"]), "within", f"{row['actions']:.0f} actions",
                ratios(row, own) if own else "",
            ]))  # fmt: skip
    return lines


def ratios(peer: Row, own: Row) -> str:
    """The peer's time over ours with both phases, and over our online phase."""
    both = own["online_seconds"] + own["offline_seconds"]
    return f"{peer['seconds'] / both:.1f} ({peer['seconds'] / own['online_seconds']:.0f})"


def comparison(rows: list[Row]) -> list[str]:
    """Both modes on the same images."""
    lines = _table((
        "network", "images", "same class: hybrid", "same class: fhe", "logits equal: hybrid",
        "fhe: deviation of logits, simulated", "fhe: largest, simulated", "of logits up to",
        "fhe: s a run of",
    ))  # fmt: skip
    for row in rows:
        run, noise, count = row["fhe"], row["fhe"]["noise"], row["images"]
        low, high = noise["simulated_largest"]
        lines.append(_line([
            row["network"], str(count), f"{row['hybrid']['same_class']} of {count}",
            f"{run['same_class']} of {count}", f"{row['hybrid']['equal']} of {count}",
            f"{noise['deviation']:.1f}, {noise['simulated_deviation']:.1f}",
            f"{noise['largest']}, {low} to {high}", str(noise["largest_logit"]),
            f"{run['seconds_of_a_run']:.1f} s of {run['batch']}",
        ]))  # fmt: skip
    return lines


def modes(rows: list[Row], runs: dict[str, Row]) -> list[str]:
    """Seconds of one image by bandwidth and latency. Computed, not measured."""
    heads = ("network, latency there and back", *(f"{b} Mbit/s" for b in BANDWIDTHS), "`fhe`",
             "`hybrid` is faster from")  # fmt: skip
    lines = _table(heads)
    for row in rows:
        run = runs.get(row["network"])
        if row["system"] != "ours" or row["link"] != "loopback" or "not_run" in row or run is None:
            continue
        for latency in LATENCIES:
            cells = [
                f"{_seconds(hybrid_seconds(row, bandwidth, latency, offline=False))}, "
                f"{_seconds(hybrid_seconds(row, bandwidth, latency, offline=True))}"
                for bandwidth in BANDWIDTHS
            ]
            found = crossing(row, run, latency)
            least = "nowhere" if found is None else f"{found:.2g} Mbit/s" if found else "any"
            ends = (fhe_seconds(run, b, latency) for b in (BANDWIDTHS[0], BANDWIDTHS[-1]))
            lines.append(_line([f"{row['network']}, {latency:g} ms", *cells,
                                " to ".join(map(_seconds, ends)), least]))  # fmt: skip
    return lines


def _table(heads: tuple[str, ...]) -> list[str]:
    return [_line(list(heads)), "|" + "---|" * len(heads)]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _seconds(seconds: float) -> str:
    return (
        f"{seconds:.3f}"
        if seconds < 0.1
        else f"{seconds:.2g}"
        if seconds < 10
        else f"{seconds:.0f}"
    )


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.2f}" if count < 1e7 else f"{count / 1e6:.1f}"
