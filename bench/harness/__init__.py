"""Builds the programs of the benchmark, runs them in turn, compares what they print."""
