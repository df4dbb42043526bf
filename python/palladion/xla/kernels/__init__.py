"""Kernels: computations on rows, in JAX.

A kernel is a class. ``tables`` makes numpy arrays, indexed by prime in their first axis. ``apply``
is pure and works on many rows at once: ``prime`` has the index of each row's prime.
"""
