"""``palladion simulate run`` on a small program: pictures, timelines for Perfetto, refusals."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from palladion import _native
from palladion.errors import DataError, FormatError, UsageError
from palladion.machines import Machine
from palladion.simulation import Simulation, simulate
from palladion.traces import Trace

from tests import perfetto_judge
from tests.random_traces import random_trace
from tests.simulations import output, run, written
from tests.test_cli_network import colours

pytestmark = pytest.mark.long

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def program() -> _native.Program:
    """A convolution, a table and a dense layer, for words of 32 bits."""
    network = colours(np.random.default_rng(5))
    return _native.compile(network.to_json(), batch=1, words=32)


@pytest.fixture(scope="module")
def path(program: _native.Program, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(program, tmp_path_factory.mktemp("simulate") / "colours.program")


@pytest.fixture(scope="module")
def report(path: str) -> dict[str, Any]:
    return run(path, "--machine", "f1")


@pytest.fixture(scope="module")
def simulation(program: _native.Program) -> Simulation:
    text, _ = program.lower()
    return simulate(Trace(text.decode()), "f1")


def test_a_trace_is_simulated_as_its_program_is(
    program: _native.Program, report: dict[str, Any], tmp_path: Path
) -> None:
    text, _ = program.lower()
    trace = tmp_path / "colours.trace"
    trace.write_bytes(text)
    assert run(str(trace), "--machine", "f1") == report


def test_a_trace_without_names_is_one_step(
    program: _native.Program, report: dict[str, Any], tmp_path: Path
) -> None:
    text, _ = program.lower()
    lines = text.decode().splitlines(keepends=True)
    named = [line for line in lines if line.startswith("step ")]
    assert len(named) > 5
    assert len(report["steps"]) > 1
    trace = tmp_path / "plain.trace"
    trace.write_text("".join(line for line in lines if not line.startswith("step ")))
    found = run(str(trace), "--machine", "f1")
    assert [step["name"] for step in found["steps"]] == ["the whole program"]
    # Each step has an order of its own. What is executed, and what bounds it, does not change.
    for name in ("instructions", "lower_bounds", "traffic_compulsory", "area_mm2"):
        assert found[name] == report[name]
    _native.Trace.from_text(trace.read_text()).check(program)


def test_shares_over_time_have_the_means_of_the_whole(
    simulation: Simulation, report: dict[str, Any]
) -> None:
    series = simulation.series(50)
    for name, shares in series.busy.items():
        assert sum(shares) / 50 == pytest.approx(report["utilisation"][name])
    assert 0.5 * series.capacity < max(series.limbs) <= series.capacity


def test_pictures_are_drawn(path: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "a" / "pictures"
    text = output("run", path, "--machine", "athena", "--plot", str(folder))
    assert "two at a time" in text
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


def test_a_timeline_that_cannot_be_is_refused(tmp_path: Path, rng: np.random.Generator) -> None:
    trace, folder = tmp_path / "random.trace", tmp_path / "folder"
    trace.write_text(random_trace(rng, 256, 1 << 16, 40).text())
    folder.mkdir()
    file, given = str(folder / "random.pftrace"), (str(trace), "--machine", "f1")
    for window, words in [
        ("5", r"is '5', expected A:B"),
        ("-1:7", r"is '-1:7', expected A:B"),
        ("7:7", r"the end of the timeline is 7, expected a cycle behind its first, 7"),
        ("999999999999:9999999999999", r"first cycle .* is 999999999999, expected below"),
    ]:
        with pytest.raises(UsageError, match=words):
            run(*given, "--timeline", file, f"--timeline-cycles={window}")
    with pytest.raises(UsageError, match=r"expected --timeline FILE"):
        run(*given, "--timeline-cycles", "0:9")
    nowhere = str(folder / "no" / "random.pftrace")
    with pytest.raises(DataError, match=r"cannot write .*no/random\.pftrace"):
        run(*given, "--timeline", nowhere, "--timeline-cycles", "0:9")
    assert not [*folder.iterdir()]
    run(*given, "--timeline", file, "--timeline-cycles", "0:9")
    assert [*folder.iterdir()] == [Path(file)]


@pytest.fixture(scope="module")
def timeline(path: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("timeline") / "colours.pftrace"
    assert run(path, "--machine", "f1", "--timeline", str(file))["files"] == [str(file)]
    return file.read_bytes()


def test_a_timeline_is_what_the_schema_of_perfetto_says(
    timeline: bytes, report: dict[str, Any]
) -> None:
    """The package's own schema reads it: every slice, its names, and nothing unknown."""
    pytest.importorskip("perfetto")
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackDescriptor, TrackEvent

    trace = Trace()
    trace.ParseFromString(timeline)
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
    steps = {step["name"] for step in report["steps"]}
    assert {name.split(" (", 1)[1][:-1] for name in slices if " (" in name} == steps
    # A transform occupies one unit, a loaded limb the channel. A result that its readers find in
    # their register file passes no port.
    assert transforms["ntt"] == report["instructions"]["ntt"] > transforms["ports"] > 0
    assert sum(transforms.values()) == transforms["ntt"] + transforms["ports"]
    operations: dict[str, int] = {}
    for name, count in slices.items():
        what = name.split(" (")[0]
        operations[what] = operations.get(what, 0) + count
    limb = 32768 * 4
    loaded = sum(
        report["traffic_bytes"][kind]
        for kind in ["hints", "inputs", "constants", "hints again", "inputs again"]
    )
    assert operations["load hint"] + operations["load input"] == loaded // limb
    components = {entry["name"]: entry["busy_cycles"] for entry in report["components"]}
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


def test_a_timeline_loads_in_the_trace_processor(timeline: bytes, report: dict[str, Any]) -> None:
    counted = "select count(*), min(ts), max(ts + dur) from slice"
    [[slices, begin, end]] = perfetto_judge.query(timeline, counted)
    assert slices == sum(entry["instructions"] for entry in report["components"])
    assert 0 <= begin < end <= report["cycles"]
    lost = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
    assert perfetto_judge.query(timeline, lost) == []


def test_a_machine_of_ones_own(path: str, report: dict[str, Any], tmp_path: Path) -> None:
    text = output("machine", "f1")
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace("1_000_000_000_000", "2_000_000_000_000"))
    found = run(path, "--machine", str(mine))
    assert found["cycles"] < report["cycles"]
    assert found["machine_file"] == str(mine)
    assert f"f1 of {mine}" in output("run", path, "--machine", str(mine))
    mine.write_text(text.replace('operations = "all"\n', ""))
    with pytest.raises(
        FormatError,
        match=r'mine\.toml.*"cluster"\.operations is missing, expected operations = "all"',
    ):
        run(path, "--machine", str(mine))
    mine.write_text(text.replace("buffer_bytes = 0\n", ""))
    with pytest.raises(FormatError, match=r"network\.buffer_bytes is missing, expected 0 where"):
        run(path, "--machine", str(mine))
    mine.write_text(text.replace("latency = 270", "latency = -1"))
    with pytest.raises(FormatError, match=r"mine\.toml.*unit\.ntt\.latency is -1, expected 1"):
        run(path, "--machine", str(mine))


def test_energy_is_that_of_what_passes(path: str, report: dict[str, Any], tmp_path: Path) -> None:
    # Twice the bandwidth, edited by hand and as a sweep changes it.
    text, rate = output("machine", "f1"), 2_000_000_000_000
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace("1_000_000_000_000", str(rate)))
    edited = run(path, "--machine", str(mine))
    mine.write_text(Machine.named("f1").varied({"memory.bytes_per_second": rate}).text)
    swept = run(path, "--machine", str(mine))
    assert edited["joules"] == pytest.approx(swept["joules"], rel=1e-9)
    for name, count in report["accesses"].items():
        each = report["joules_by_component"][name] / max(count, 1)
        assert edited["joules_by_component"][name] == pytest.approx(
            each * edited["accesses"][name], rel=1e-9
        )
    assert edited["accesses"]["ntt"] == report["accesses"]["ntt"]
    assert report["accesses"]["memory"] == report["traffic_total"]
    # 0.45 W at 10^12 bytes a second.
    assert report["joules_by_component"]["memory"] == pytest.approx(
        0.45e-12 * report["traffic_total"]
    )
    text = text.replace("static_watts = 0.0", "leakage_watts_per_mm2 = 0.1\nstatic_watts = 0.0")
    mine.write_text(text)
    leaking = run(path, "--machine", str(mine))
    leakage = leaking["joules_by_component"]["leakage"]
    assert leakage == pytest.approx(0.1 * report["area_mm2"] * report["seconds"])
    assert leaking["joules"] == pytest.approx(report["joules"] + leakage)


def test_a_file_with_watts_alone_says_what_to_write(path: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    text = output("machine", "f1")
    energy = "energy = { watts = 4.8, words_per_second = 1.28e11 }"
    assert energy in text
    mine.write_text(text.replace(energy, "watts = 4.8"))
    with pytest.raises(FormatError, match=r"unit\.ntt\.watts is 4\.8, .*write") as refused:
        run(path, "--machine", str(mine))
    assert energy in str(refused.value)


def test_what_cannot_run_is_refused_by_name(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"family.*spatial.*simulate pbs"):
        run(path, "--machine", "versal")
    network = colours(np.random.default_rng(5)).to_json()
    wide = written(_native.compile(network, batch=1), tmp_path / "wide.program")
    with pytest.raises(UsageError, match=r"word_bits = 32.*--words 32"):
        run(wide, "--machine", "f1")
    mine = tmp_path / "mine.toml"
    mine.write_text(output("machine", "f1").replace("bytes = 67108864", "bytes = 1048576"))
    with pytest.raises(UsageError, match=r"scratchpad\.bytes.*8 limbs"):
        run(path, "--machine", str(mine))
    broken = tmp_path / "broken.trace"
    broken.write_text("palladion-trace/1\nring 17\n")
    with pytest.raises(FormatError, match=r"broken\.trace.*line 2"):
        run(str(broken), "--machine", "f1")
    broken.write_bytes(b"\x89PNG")
    with pytest.raises(FormatError, match=r"broken\.trace is a PNG.*expected a trace or a program"):
        run(str(broken), "--machine", "f1")


def test_a_program_that_is_cut_is_refused_by_name(path: str, tmp_path: Path) -> None:
    cut = tmp_path / "cut.program"
    cut.write_bytes(Path(path).read_bytes()[:-100])
    with pytest.raises(FormatError, match=r"cut\.program"):
        run(str(cut), "--machine", "f1")
    trace = tmp_path / "cut.trace"
    text, _ = _native.Program.from_bytes(Path(path).read_bytes()).lower()
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
    "energy",
    "register_file_energy",
    "count",
)


@pytest.mark.parametrize("words", ["28", "65"])
def test_words_of_other_machines_are_refused_with_the_reason(words: str, tmp_path: Path) -> None:
    from palladion.cli.compile import compile_

    with pytest.raises(UsageError, match=rf"words of {words} bits, expected 32 to 64"):
        CliRunner().invoke(
            compile_,
            ["model.json", "--words", words, "--output", str(tmp_path / "x")],
            catch_exceptions=False,
            standalone_mode=False,
        )
