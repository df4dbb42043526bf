"""Programs of others that judge or count: Verilator, Icarus, Amaranth's simulator, Yosys."""
