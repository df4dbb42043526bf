"""The mode of two parties: client and server compute together, with exact answers.

::

    program = model.compile(mode="hybrid")
    program.save("model.hybrid")
    program.serve("127.0.0.1:7700", print, clients=[certificate_hash])     # the server

    client = palladion.HybridClient.connect("127.0.0.1:7700", trust, identity="client.pem")
    client.query(x).prediction.classes                                     # the client

``docs/hybrid.md`` says what each party learns.
"""

from __future__ import annotations

from palladion.hybrid.comparison import (
    PackingComparison,
    compare_packings,
)
from palladion.hybrid.connection import (
    MOST_INPUTS,
    HybridAnswer,
    HybridClient,
    Identity,
    IdentityFile,
    certificate_hash,
    check_count,
    identity_for_one_use,
    make_identity,
)
from palladion.hybrid.costs import (
    LINK,
    HybridClientFacts,
    HybridCosts,
    HybridFacts,
    HybridLayer,
    HybridProducts,
    Link,
    Predicted,
)
from palladion.hybrid.program import (
    HIDDEN_INPUTS,
    HybridModel,
)
from palladion.hybrid.sessions import (
    Connected,
    Event,
    Failed,
    LayerReport,
    Listening,
    Measured,
    Served,
    SessionReport,
)

__all__ = [
    "HIDDEN_INPUTS",
    "LINK",
    "MOST_INPUTS",
    "Connected",
    "Event",
    "Failed",
    "HybridAnswer",
    "HybridClient",
    "HybridClientFacts",
    "HybridCosts",
    "HybridFacts",
    "HybridLayer",
    "HybridModel",
    "HybridProducts",
    "Identity",
    "IdentityFile",
    "LayerReport",
    "Link",
    "Listening",
    "Measured",
    "PackingComparison",
    "Predicted",
    "Served",
    "SessionReport",
    "certificate_hash",
    "check_count",
    "compare_packings",
    "identity_for_one_use",
    "make_identity",
]
