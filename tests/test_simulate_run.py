"""``palladion simulate run``: whole programs on vector machines."""

from __future__ import annotations

from pathlib import Path

import palladion
import pytest
from palladion.errors import FormatError, UsageError

from tests.simulations import output, run


@pytest.fixture(scope="module")
def program() -> palladion.Program:
    """MNIST's, for words of 32 bits."""
    return palladion.compile_network(palladion.mnist_network().to_json(), batch=1, words=32)


@pytest.fixture(scope="module")
def path(program: palladion.Program, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("simulate") / "mnist.program"
    path.write_bytes(program.to_bytes())
    return str(path)


@pytest.mark.parametrize("machine", ["f1", "athena", "tiny"])
def test_a_schedule_has_the_instructions_of_its_trace(
    machine: str, program: palladion.Program, path: str
) -> None:
    _, counts = program.lower()
    found = run(path, "--machine", machine)
    for kind in ["ntt", "intt"]:
        assert found["instructions"][kind] == counts["passes"][kind]
    assert found["instructions"]["add"] == counts["passes"]["additions"]
    assert found["instructions"]["scale"] == counts["passes"]["scalings"]
    assert found["cycles"] >= max(found["lower_bounds"].values())
    assert found["gap"] == pytest.approx(found["cycles"] / max(found["lower_bounds"].values()))
    assert max(found["lower_bounds"].values()) <= found["tight_bound"] <= found["cycles"]
    assert found["tight_gap"] == pytest.approx(found["cycles"] / found["tight_bound"])
    assert found["seconds"] == pytest.approx(found["cycles"] / 1e9)
    assert found["edp"] == pytest.approx(found["joules"] * found["seconds"])
    assert sum(found["traffic_bytes"].values()) == found["traffic_total"]
    assert sum(found["stalls"].values()) == pytest.approx(1)
    assert sum(found["joules_by_component"].values()) == pytest.approx(found["joules"])
    assert all(0 <= share <= 1 for share in found["utilisation"].values())


def test_a_trace_is_simulated_as_its_program_is(
    program: palladion.Program, path: str, tmp_path: Path
) -> None:
    text, _ = program.lower()
    trace = tmp_path / "mnist.trace"
    trace.write_bytes(text)
    assert run(str(trace), "--machine", "f1") == run(path, "--machine", "f1")


def test_what_the_rule_of_eviction_is_worth(path: str) -> None:
    ours = run(path, "--machine", "athena")
    lru = run(path, "--machine", "athena", "--eviction", "lru")
    assert ours["traffic_total"] < lru["traffic_total"]
    assert ours["cycles"] < lru["cycles"]
    assert ours["traffic_compulsory"] == lru["traffic_compulsory"]
    # A result that leaves is written and loaded, so hints leave in its place. Half of each is made
    # from its seed, again and again, and the other half is loaded again.
    results, hints = [
        [sum(found["traffic_bytes"][kind] for kind in kinds) for found in (ours, lru)]
        for kinds in (("results written", "results loaded"), ("hints again",))
    ]
    assert results[0] < 0.7 * results[1]
    assert results[1] - results[0] > 10 * abs(hints[0] - hints[1])
    for found in (ours, lru):
        assert found["traffic_bytes"]["hints again"] > found["traffic_bytes"]["hints"]
        assert found["utilisation"]["prng"] > 0


def test_the_table_fits_a_terminal(path: str) -> None:
    text = output("run", path, "--machine", "f1")
    assert "lower bound" in text
    assert "hints again" in text
    assert max(map(len, text.splitlines())) <= 98


def test_a_machine_of_ones_own(path: str, tmp_path: Path) -> None:
    text = output("machine", "f1")
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace("1_000_000_000_000", "2_000_000_000_000"))
    faster = run(path, "--machine", str(mine))
    assert faster["cycles"] < run(path, "--machine", "f1")["cycles"]
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


def test_what_cannot_run_is_refused_by_name(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"family.*spatial.*simulate pbs"):
        run(path, "--machine", "versal")
    wide = tmp_path / "wide.program"
    program = palladion.compile_network(palladion.mnist_network().to_json(), batch=1)
    wide.write_bytes(program.to_bytes())
    with pytest.raises(UsageError, match=r"word_bits = 32.*--words 32"):
        run(str(wide), "--machine", "f1")
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
