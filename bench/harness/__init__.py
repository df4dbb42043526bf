"""Builds the programs of the benchmark, runs them in turn, and compares their output."""
