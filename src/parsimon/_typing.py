"""Array aliases used in annotations; shapes are in the docstrings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
AnyArray = NDArray[Any]
