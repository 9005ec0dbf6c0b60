"""``from tensorflow.python.framework import tensor_shape``."""

from dataflow.shapes import (
    Dimension,
    TensorShape,
    as_dimension,
    as_shape,
    dimension_value,
    matrix,
    scalar,
    unknown_shape,
    vector,
)

__all__ = [
    "Dimension",
    "TensorShape",
    "as_dimension",
    "as_shape",
    "dimension_value",
    "matrix",
    "scalar",
    "unknown_shape",
    "vector",
]
