"""Traces as waves of instructions on rows: what every machine with a store of rows shares."""
