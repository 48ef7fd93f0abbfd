import numpy as np
import pytest


@pytest.fixture
def table(rng):
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(0, 0.7, size=60) > 0, "yes", "no")
    return X, y
