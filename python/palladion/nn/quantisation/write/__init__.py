"""The integer network as layers of docs/int-network.md, with the report about it."""
