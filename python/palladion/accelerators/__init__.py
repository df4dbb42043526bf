"""Accelerators beyond one simulated run: sweeps, pictures, and packings of linear layers."""
