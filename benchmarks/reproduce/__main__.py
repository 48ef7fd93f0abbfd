"""Entry point of `python -m benchmarks.reproduce`."""

import os

# Before NumPy loads: one thread, for us and for the peer.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from benchmarks.command import run  # noqa: E402

run("benchmarks.reproduce")
