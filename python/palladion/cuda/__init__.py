"""Executes traces on a GPU of NVIDIA, with this package's own kernels in CUDA.

Needs CuPy, which compiles them when they first run: ``pip install cupy-cuda12x`` or
``cupy-cuda13x``, for the driver's version."""
