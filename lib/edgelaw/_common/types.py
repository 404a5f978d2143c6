"""Names of types that annotations share."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
ArrayLike = npt.ArrayLike
Rng = int | np.random.Generator | np.random.SeedSequence
Progress = Callable[[int, int, str], object]
#: A float for a scalar argument, an array of the argument's shape otherwise; Any, as in NumPy's own annotations,
#: because a union would ask every caller to say which.
FloatOrArray = Any
