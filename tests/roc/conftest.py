"""A sample of two overlapping normal classes, for tests that need no ties."""

import pytest


@pytest.fixture
def binormal(rng):
    y = (rng.random(300) < 0.4).astype(int)
    scores = rng.normal(size=300) + 1.2 * y
    y.flags.writeable = scores.flags.writeable = False
    return y, scores
