"""Names of types that annotations share."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
ArrayLike = npt.ArrayLike
Rng = int | np.random.Generator | np.random.SeedSequence
Progress = Callable[[int, int, str], object]
