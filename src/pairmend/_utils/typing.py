"""Type aliases of arrays."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]

MatrixLike: TypeAlias = Any
"""Rows of features: array, frame, sparse matrix or list of texts."""

TargetLike: TypeAlias = Any
"""Targets: indicator array, frame or sparse matrix, or 1-D classes."""

Matrix: TypeAlias = Any
"""A two-dimensional array of floats, dense or CSR."""
