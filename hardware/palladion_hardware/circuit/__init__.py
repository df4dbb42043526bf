"""The description of a pipelined vector unit, and what is made from it.

- :mod:`.nodes`: signals of several lanes, operations on them, and the cycle at which each is there
- :mod:`.model`: the description executed cycle by cycle, in numpy
- :mod:`.rtl`: the description as a module of Amaranth, and as Verilog
- :mod:`.inventory`: the operations, registers and memories that it consists of
"""

from palladion_hardware.circuit.nodes import Circuit, Node

__all__ = ["Circuit", "Node"]
