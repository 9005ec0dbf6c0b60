"""Random ops of a key and a counter: the numbers of TensorFlow's Philox from that place of its stream on."""

from __future__ import annotations

from dataflow import dtypes
from dataflow.dtypes import FLOATING, INDICES, DType
from dataflow.graph.op_def import OpDef
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.static_value import static_dims
from dataflow.shapes import Dims, compatible, list_dims


def _dims(shape: Tensor, key: Tensor, counter: Tensor) -> Dims:
    for what, tensor, size in (("key", key, 1), ("counter", counter, 2)):
        if not compatible(tensor.dims, (size,)):
            raise ValueError(
                f"the {what} must be a vector of {size}, got shape {list_dims(tensor.dims)}"
            )
    return static_dims(shape)


def _floats(op_type: str, what: str) -> OpDef:
    def rule(
        shape: Tensor, key: Tensor, counter: Tensor, alg: Tensor, *, dtype: DType = dtypes.float32
    ) -> Dims:
        return _dims(shape, key, counter)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what}, by a key and a counter (uint64).\n\n"
        "Shape: ``shape``. Dtype: ``dtype``. ``alg``: 1, Philox. Gradient: none.\n"
    )
    op = define_op(
        op_type,
        "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
        Tshape=INDICES,
        dtype=FLOATING,
        host_inputs=("shape", "key", "counter", "alg"),
    )(rule)
    not_differentiable(op)
    return op


counter_uniform_op = _floats("StatelessRandomUniformV2", "Numbers drawn evenly from [0, 1)")
counter_normal_op = _floats("StatelessRandomNormalV2", "Standard normal numbers")
counter_truncated_op = _floats(
    "StatelessTruncatedNormalV2", "Standard normal numbers, none beyond 2 deviations"
)


@define_op(
    "StatelessRandomUniformIntV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, maxval: dtype -> output: dtype",
    Tshape=INDICES,
    dtype=INDICES,
    host_inputs=("shape", "key", "counter", "alg", "minval", "maxval"),
)
def counter_uniform_int_op(
    shape: Tensor, key: Tensor, counter: Tensor, alg: Tensor, minval: Tensor, maxval: Tensor
) -> Dims:
    """Integers drawn evenly from [minval, maxval), by a key and a counter (uint64).

    Shape: ``shape``. Dtype: that of the bounds. ``alg``: 1, Philox. Gradient: none.
    """
    return _dims(shape, key, counter)


@define_op(
    "StatelessRandomUniformFullIntV2",
    "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype",
    Tshape=INDICES,
    host_inputs=("shape", "key", "counter", "alg"),
)
def counter_full_int_op(
    shape: Tensor, key: Tensor, counter: Tensor, alg: Tensor, *, dtype: DType = dtypes.uint64
) -> Dims:
    """Integers of 32 or 64 bits, any of them, by a key and a counter (uint64).

    Shape: ``shape``. Dtype: ``dtype``. ``alg``: 1, Philox. Gradient: none.
    """
    return _dims(shape, key, counter)


not_differentiable(counter_uniform_int_op, counter_full_int_op)
