"""Shared fixtures: benchmark data, a seeded generator, a clock, Ctrl-C; Hypothesis profiles."""

import os
import signal
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)


@pytest.fixture
def interruptible():
    """Let Ctrl-C raise KeyboardInterrupt, also where pytest was started with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Clock:
    """A clock that only a test moves: by hand, or by `tick` seconds at every look."""

    def __init__(self):
        self.now, self.tick = 1000.0, 0.0

    def __call__(self):
        self.now += self.tick
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """Put a clock of the test's own in the place of `time.monotonic`."""
    own = Clock()
    monkeypatch.setattr(time, "monotonic", own)
    return own


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of benchmark data, or skip the test."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("PARSIMON_DATA", default))
    if not folder.is_dir():
        pytest.skip("PARSIMON_DATA names no folder of benchmark data")
    return folder
