"""gRPC, and the messages of the Open Inference Protocol as NVIDIA's client has them.

Raises
------
UsageError
    At the import, if the packages are not installed or do not fit each other.
"""

from __future__ import annotations

import os

from palladion.errors import UsageError
from palladion.support.extras import missing

# The core of gRPC writes to standard error, where the log has lines of JSON, and names addresses.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

try:
    import grpc
    import grpc.aio
    from google.protobuf.message import DecodeError
    from tritonclient.grpc import service_pb2 as messages
except ImportError as error:
    raise missing(error, "a service over gRPC", "grpc") from error
except RuntimeError as error:  # of the client or of the generated code, which check the versions
    raise UsageError(
        f"gRPC cannot be used: {error} Try: pip install --upgrade 'palladion[grpc]'"
    ) from error

__all__ = ["DecodeError", "grpc", "messages"]
