"""Reports of ``palladion simulate run``: steps, pictures, timelines for Perfetto, the machines."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import palladion
import pytest
from click.testing import CliRunner
from palladion import _native
from palladion.errors import DataError, FormatError, UsageError
from palladion.machines import Machine

from tests import perfetto_judge
from tests.simulations import output, run

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def program() -> palladion.Program:
    """MNIST's, for words of 32 bits."""
    return palladion.compile_network(palladion.mnist_network().to_json(), batch=1, words=32)


@pytest.fixture(scope="module")
def path(program: palladion.Program, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("simulate") / "mnist.program"
    path.write_bytes(program.to_bytes())
    return str(path)


@pytest.fixture(scope="module")
def found(path: str) -> dict[str, Any]:
    return run(path, "--machine", "f1")


@pytest.fixture(scope="module")
def simulation(program: palladion.Program) -> _native.Simulation:
    text, _ = program.lower()
    return Machine.named("f1").simulate(_native.Workload(text.decode()))


def test_steps_are_those_of_the_program_and_add_up(
    program: palladion.Program, found: dict[str, Any]
) -> None:
    steps = found["steps"]
    assert [step["name"] for step in steps] == [
        name
        for name in dict.fromkeys(f"{step['layer']}: {step['op']}" for step in layers(program))
        if name in {step["name"] for step in steps}
    ]
    assert "conv: pack" in {step["name"] for step in steps}
    assert sum(step["cycles"] for step in steps) == found["cycles"]
    assert sum(step["instructions"] for step in steps) == sum(found["instructions"].values())
    assert sum(step["joules"] for step in steps) == pytest.approx(found["joules"])
    for kind, count in found["traffic_bytes"].items():
        assert sum(step["traffic_bytes"][kind] for step in steps) == count
    assert found["edap"] == pytest.approx(found["edp"] * found["area_mm2"])
    assert sum(found["area_mm2_by_component"].values()) == pytest.approx(found["area_mm2"])


def layers(program: palladion.Program) -> list[dict[str, str]]:
    """Layer and operation of each step, read off the text of the program."""
    steps, layer = [], ""
    for line in program.to_text().splitlines():
        if line.endswith(":") and not line.startswith(" "):
            layer = line[:-1]
        elif line.startswith("  %"):
            operation = line.split(" = ", 1)[1].replace(",", " ").split()[0]
            steps.append({"layer": layer, "op": operation})
    return steps


def test_every_part_has_a_stream_and_its_stalls(found: dict[str, Any]) -> None:
    components = {entry["name"]: entry for entry in found["components"]}
    # 16 clusters with 6 units and their ports, and memory; F1 has no generators.
    assert len(components) == 16 * 7 + 1
    transforms = [entry for name, entry in components.items() if "ntt" in name]
    counts = found["instructions"]
    assert sum(entry["instructions"] for entry in transforms) == counts["ntt"] + counts["intt"]
    for entry in components.values():
        assert entry["busy_cycles"] + entry["stall_cycles"] <= found["cycles"]
        assert 0 <= entry["longest_stall"] <= entry["stall_cycles"]
    memory = components["memory"]
    assert memory["busy_cycles"] / found["cycles"] == pytest.approx(found["utilisation"]["memory"])


def test_a_trace_without_names_is_one_step(program: palladion.Program, tmp_path: Path) -> None:
    text, _ = program.lower()
    lines = text.decode().splitlines(keepends=True)
    named = [line for line in lines if line.startswith("step ")]
    assert len(named) > 5
    trace = tmp_path / "plain.trace"
    trace.write_text("".join(line for line in lines if not line.startswith("step ")))
    found = run(str(trace), "--machine", "f1")
    assert [step["name"] for step in found["steps"]] == ["the whole program"]
    # Each step has an order of its own. What is executed, and what bounds it, does not change.
    whole = run_of(program)
    for name in ("instructions", "lower_bounds", "traffic_compulsory", "area_mm2"):
        assert found[name] == whole[name]
    palladion.Trace.from_text(trace.read_text()).check(program)


def run_of(program: palladion.Program) -> dict[str, Any]:
    text, _ = program.lower()
    return {**Machine.named("f1").run(text.decode()), "files": []}


def test_shares_over_time_have_the_means_of_the_whole(
    simulation: _native.Simulation, found: dict[str, Any]
) -> None:
    series = simulation.series(50)
    for name, shares in series["busy"].items():
        assert sum(shares) / 50 == pytest.approx(found["utilisation"][name])
    assert 0.5 * series["capacity"] < max(series["limbs"]) <= series["capacity"]


def test_regions_work_side_by_side(path: str) -> None:
    found = run(path, "--machine", "athena")
    cycles, works = found["cycles"], found["works_cycles"]
    assert [*works] == ["region 0", "region 1"]
    assert 0 < found["together_cycles"] <= min(works.values()) <= max(works.values()) <= cycles
    over_time = found["over_time"]
    for name, shares in over_time["works"].items():
        whole = found["together_cycles"] if name == "together" else works[name]
        assert sum(shares) / len(shares) == pytest.approx(whole / cycles)
    tables = [step for step in found["steps"] if step["name"].endswith(": table")]
    for table in tables:
        # Sums in region 1 go on beside products and key switches in region 0.
        assert 0 < table["together_cycles"] <= min(table["works_cycles"].values())
        assert table["overlap_cycles"] < table["ends"] - table["begins"]
    text = output("run", path, "--machine", "athena")
    assert "two at a time" in text
    assert "two at a time" not in output("run", path, "--machine", "f1")


def test_pictures_are_drawn(path: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "a" / "pictures"
    text = output("run", path, "--machine", "athena", "--plot", str(folder))
    names = ["utilisation", "traffic", "steps", "components"]
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        f"{name}.{kind}" for name in names for kind in ("png", "svg")
    )
    for name in names:
        data = (folder / f"{name}.png").read_bytes()
        assert data.startswith(PNG)
        assert int.from_bytes(data[16:20], "big") == 1200  # the width in the header
        assert f"{name}.svg" in text


def test_pictures_are_refused_before_the_work(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UsageError, match=r"cannot make the folder .*file/pictures"):
        run(path, "--machine", "f1", "--plot", str(file / "pictures"))
    monkeypatch.setattr(os, "access", lambda _, mode: mode == os.R_OK)
    with pytest.raises(UsageError, match=r"cannot write to the folder"):
        run(path, "--machine", "f1", "--plot", str(tmp_path))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'palladion\[plot\]'"):
        run(path, "--machine", "f1", "--plot", str(tmp_path))


def test_a_timeline_that_cannot_be_is_refused(path: str, tmp_path: Path) -> None:
    file = str(tmp_path / "mnist.pftrace")
    for window, words in [
        ("5", r"is '5', expected A:B"),
        ("-1:7", r"is '-1:7', expected A:B"),
        ("7:7", r"the end of the timeline is 7, expected a cycle behind its first, 7"),
        ("999999999999:9999999999999", r"first cycle .* is 999999999999, expected below"),
    ]:
        with pytest.raises(UsageError, match=words):
            run(path, "--machine", "f1", "--timeline", file, f"--timeline-cycles={window}")
    with pytest.raises(UsageError, match=r"expected --timeline FILE"):
        run(path, "--machine", "f1", "--timeline-cycles", "0:9")
    nowhere = str(tmp_path / "no" / "mnist.pftrace")
    with pytest.raises(DataError, match=r"cannot write .*no/mnist\.pftrace"):
        run(path, "--machine", "f1", "--timeline", nowhere, "--timeline-cycles", "0:9")
    assert not [*tmp_path.iterdir()]


def test_a_timeline_is_what_the_schema_of_perfetto_says(
    path: str, tmp_path: Path, found: dict[str, Any]
) -> None:
    """The package's own schema reads it: every slice, its names, and nothing unknown."""
    pytest.importorskip("perfetto")
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackDescriptor, TrackEvent

    file = tmp_path / "mnist.pftrace"
    output("run", path, "--machine", "f1", "--timeline", str(file))
    trace = Trace()
    trace.ParseFromString(file.read_bytes())
    assert not unknown(trace)
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet}
    (interned,) = [p.interned_data for p in trace.packet if p.HasField("interned_data")]
    assert trace.packet[0].HasField("interned_data")
    names = {entry.iid: entry.name for entry in interned.event_names}
    categories = {entry.iid: entry.name for entry in interned.event_categories}
    explicit = TrackDescriptor.ChildTracksOrdering.EXPLICIT
    clusters = [t for t in tracks.values() if t.name.startswith("cluster ")]
    assert len(clusters) == 16
    assert all(track.child_ordering == explicit for track in clusters)
    opened: dict[int, int] = {}
    slices: dict[str, int] = {}
    transforms: Counter[str] = Counter()
    busy: dict[int, int] = {}
    counted = []
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        assert event.track_uuid in tracks
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in opened, "slices of a track do not overlap"
            opened[event.track_uuid] = packet.timestamp
            name = names[event.name_iid]
            category = categories[event.category_iids[0]]
            assert category in name or category == "inputs and hints"
            slices[name] = slices.get(name, 0) + 1
            transforms[tracks[event.track_uuid].name] += name.startswith("ntt")
        elif event.type == TrackEvent.TYPE_SLICE_END:
            length = packet.timestamp - opened.pop(event.track_uuid)
            assert length > 0
            busy[event.track_uuid] = busy.get(event.track_uuid, 0) + length
        else:
            assert event.type == TrackEvent.TYPE_COUNTER
            assert tracks[event.track_uuid].counter.unit_name == "limbs"
            counted.append(event.counter_value)
    assert not opened
    steps = {step["name"] for step in found["steps"]}
    assert {name.split(" (", 1)[1][:-1] for name in slices if " (" in name} == steps
    # A transform occupies one unit, a loaded limb the channel. A result that its readers find in
    # their register file passes no port.
    assert transforms["ntt"] == found["instructions"]["ntt"] > transforms["ports"] > 0
    assert sum(transforms.values()) == transforms["ntt"] + transforms["ports"]
    operations: dict[str, int] = {}
    for name, count in slices.items():
        what = name.split(" (")[0]
        operations[what] = operations.get(what, 0) + count
    limb = 32768 * 4
    loaded = sum(
        found["traffic_bytes"][kind]
        for kind in ["hints", "inputs", "constants", "hints again", "inputs again"]
    )
    assert operations["load hint"] + operations["load input"] == loaded // limb
    components = {entry["name"]: entry["busy_cycles"] for entry in found["components"]}
    parents = {uuid: track.name for uuid, track in tracks.items()}
    for uuid, cycles in busy.items():
        track = tracks[uuid]
        name = f"{parents[track.parent_uuid]}: {track.name}" if track.parent_uuid else track.name
        assert components[name] == cycles
    assert 0 <= min(counted) <= max(counted) <= 512


def unknown(message: Any) -> bool:
    """Whether a message has fields that its schema does not name: it is longer than they are."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    if len(UnknownFieldSet(message)):
        return True
    for field, value in message.ListFields():
        if field.message_type is not None:
            several = value if field.is_repeated else [value]
            if any(unknown(one) for one in several):
                return True
    return False


def test_a_timeline_loads_in_the_trace_processor(
    path: str, tmp_path: Path, found: dict[str, Any]
) -> None:
    file = tmp_path / "mnist.pftrace"
    output("run", path, "--machine", "f1", "--timeline", str(file))
    counted = "select count(*), min(ts), max(ts + dur) from slice"
    [[slices, begin, end]] = perfetto_judge.query(file.read_bytes(), counted)
    assert slices == sum(entry["instructions"] for entry in found["components"])
    assert 0 <= begin < end <= found["cycles"]
    lost = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
    assert perfetto_judge.query(file.read_bytes(), lost) == []


def test_a_program_that_is_cut_is_refused_by_name(path: str, tmp_path: Path) -> None:
    cut = tmp_path / "cut.program"
    cut.write_bytes(Path(path).read_bytes()[:-100])
    with pytest.raises(FormatError, match=r"cut\.program"):
        run(str(cut), "--machine", "f1")
    trace = tmp_path / "cut.trace"
    text, _ = palladion.Program.from_bytes(Path(path).read_bytes()).lower()
    trace.write_bytes(text[: len(text) // 2])
    with pytest.raises(FormatError, match=r"cut\.trace: line \d+"):
        run(str(trace), "--machine", "f1")


def test_machines_are_listed() -> None:
    text = output("machines")
    for name in _native.machine_names():
        assert name in text
    assert max(map(len, text.splitlines())) <= 98
    found = json.loads(output("machines", "--json"))
    assert found["f1"]["word_bits"] == 32
    assert found["versal"] == {"family": "spatial", "name": found["versal"]["name"], "tiles": 400}


def test_craterlake_sharp_and_hyena_say_where_they_are_from(path: str) -> None:
    assert run(path, "--machine", "sharp")["cycles"] > 0
    with pytest.raises(
        UsageError, match=r"craterlake.*word_bits = 28.*a network needs words of 32"
    ):
        run(path, "--machine", "craterlake")
    for name in ("craterlake", "sharp", "hyena"):
        text = Machine.named(name).text
        for line in text.splitlines():
            if "=" in line and line[0].isalpha() and line.split(" = ")[0] in KEYS:
                assert "#" in line, f"{name}: {line} does not say where it comes from"


KEYS = (
    "word_bits",
    "clock_mhz",
    "max_n",
    "bytes",
    "lanes",
    "latency",
    "area_mm2",
    "watts",
    "count",
)


@pytest.mark.parametrize("words", ["28", "36"])
def test_words_of_other_machines_are_refused_with_the_reason(words: str, tmp_path: Path) -> None:
    from palladion.cli.compile import compile_

    with pytest.raises(UsageError, match=rf"words of {words} bits, expected 32"):
        CliRunner().invoke(
            compile_,
            ["model.json", "--words", words, "--output", str(tmp_path / "x")],
            catch_exceptions=False,
            standalone_mode=False,
        )
