"""Functional units of the papers' accelerators, bit and cycle exact, and as Verilog.

A unit is described once, as a circuit of vectors (:mod:`palladion_hardware.circuit`). The same
description is executed cycle by cycle in numpy, written as Verilog, and counted.
"""
