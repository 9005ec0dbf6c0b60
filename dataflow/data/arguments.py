"""Arguments of `Dataset`'s methods, each a number or a tensor, as what its nodes take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType
from dataflow.graph.tensor import Tensor
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value


def int64_tensor(value: Any) -> Tensor:
    """The number as a tensor of int64."""
    if isinstance(value, Tensor):
        if value.dtype.base_dtype is not dtypes.int64:
            from dataflow.ops.math import cast

            return cast(value, dtypes.int64)  # type: ignore[no-any-return]
        return value
    return constant(np.int64(value), dtypes.int64)


def int64_scalar(value: Any) -> Callable[[], Tensor]:
    """Makes that tensor, each time that it is called."""
    return lambda: int64_tensor(value)


def static_int(value: Any) -> int | None:
    """The number, if it is known when the graph is built."""
    found = static_value(value) if isinstance(value, Tensor) else value
    return None if found is None else int(found)


def padded_dims(padded_shape: Any) -> Any:
    """A shape of `padded_batch`: a vector that is a tensor stays one."""
    if isinstance(padded_shape, Tensor):
        if not padded_shape.dtype.base_dtype.is_integer:
            raise TypeError(
                f"Padded shape {padded_shape} must be a 1-D tensor of tf.int64 values, but its "
                f"element type was {padded_shape.dtype.base_dtype.name}."
            )
        return int64_tensor(padded_shape)
    if isinstance(padded_shape, (list, tuple)):
        if np.ndim(padded_shape) > 1:
            raise ValueError(
                f"Padded shape {padded_shape} must be a 1-D tensor of tf.int64 values, but its shape "
                f"was {np.shape(padded_shape)}."
            )
        padded_shape = [None if d == -1 else d for d in padded_shape]  # -1 is "unknown" here
    return shapes.as_dims(padded_shape)


def static_padding(padded: Any) -> Any:
    """The dims that a padded shape says."""
    if not isinstance(padded, Tensor):
        return padded
    sizes = static_value(padded)
    if sizes is not None:
        return tuple(None if s < 0 else int(s) for s in sizes)
    return None if padded.dims is None or padded.dims[0] is None else (None,) * padded.dims[0]


def padding_vector(padded: Any) -> Tensor:
    """A padded shape as a vector, -1 for the longest of the batch."""
    if isinstance(padded, Tensor):
        return padded
    return constant([-1 if s is None else s for s in padded or ()], dtypes.int64)


def op_seeds(seed: Any) -> tuple[Any, Any]:
    """The graph's seed and that of an op, which may be a tensor; zeros where nothing is seeded."""
    from dataflow.ops.seeds import get_seed

    if isinstance(seed, Tensor):
        return get_seed(0)[0], seed
    first, second = get_seed(seed)
    return first or 0, second or 0


def filler(value: Any, dtype: DType) -> Tensor:
    """A padding value as a tensor."""
    return value if isinstance(value, Tensor) else constant(value, dtype)


def can_be_padded(dims: Any, padded: Any) -> bool:
    """Whether elements of shape ``dims`` fit into the shape ``padded``, as far as both are known."""
    return len(dims) == len(padded) and all(
        d is None or p is None or d <= p for d, p in zip(dims, padded, strict=True)
    )
