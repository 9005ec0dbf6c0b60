"""Random ops without state: the same seed gives the same numbers in every run."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import FLOATING, INDICES, REAL_NUMBERS, DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_def import OpDef
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops.arithmetic import add, mul_op
from dataflow.ops.random import multinomial_dims, shape_tensor
from dataflow.ops.static_value import static_dims
from dataflow.shapes import Dims, compatible, list_dims


def _dims(shape: Tensor, seed: Tensor) -> Dims:
    if not compatible(seed.dims, (2,)):
        raise ValueError(f"the seed must be two integers, got shape {list_dims(seed.dims)}")
    return static_dims(shape)


def _stateless(op_type: str, what: str) -> OpDef:
    def rule(shape: Tensor, seed: Tensor, *, dtype: DType = dtypes.float32) -> Dims:
        return _dims(shape, seed)

    rule.__name__ = op_type
    rule.__doc__ = (
        f"{what}, the same for the same seed.\n\n"
        "Shape: ``shape``; the seed is two integers. Dtype: ``dtype``. Gradient: none.\n"
    )
    op = define_op(
        op_type,
        "shape: T, seed: Tseed -> output: dtype",
        T=INDICES,
        Tseed=INDICES,
        dtype=FLOATING,
    )(rule)
    not_differentiable(op)
    return op


stateless_uniform_op = _stateless("StatelessRandomUniform", "Numbers drawn evenly from [0, 1)")
stateless_normal_op = _stateless("StatelessRandomNormal", "Standard normal numbers")
stateless_truncated_op = _stateless(
    "StatelessTruncatedNormal", "Standard normal numbers, none beyond 2 deviations"
)


@define_op(
    "StatelessRandomUniformInt",
    "shape: T, seed: Tseed, minval: dtype, maxval: dtype -> output: dtype",
    T=INDICES,
    Tseed=INDICES,
    dtype=INDICES,
    host_inputs=("shape", "seed", "minval", "maxval"),
)
def stateless_uniform_int_op(shape: Tensor, seed: Tensor, minval: Tensor, maxval: Tensor) -> Dims:
    """Integers drawn evenly from [minval, maxval), the same for the same seed.

    Shape: ``shape``; the seed is two integers. Dtype: that of the bounds. Gradient: none.
    """
    return _dims(shape, seed)


@define_op(
    "StatelessMultinomial",
    "logits: T, num_samples: int32, seed: Tseed -> output: output_dtype",
    T=REAL_NUMBERS,
    Tseed=INDICES,
    output_dtype=INDICES,
)
def stateless_multinomial_op(
    logits: Tensor, num_samples: Tensor, seed: Tensor, *, output_dtype: DType = dtypes.int64
) -> Dims:
    """Class numbers drawn with the probabilities softmax(logits), the same for the same seed.

    Shape: logits [batch, classes] give [batch, num_samples]. Gradient: none.
    """
    return multinomial_dims(logits, num_samples)


not_differentiable(stateless_uniform_int_op, stateless_multinomial_op)


def _as_seed(seed: Any) -> Any:
    """``seed``, an array of unsigned numbers as the signed ones of the same bits, as TensorFlow takes it."""
    return seed.astype(np.int64) if getattr(seed, "dtype", None) == np.uint64 else seed


def stateless_uniform(
    shape: DynamicShapeLike,
    seed: int,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers drawn evenly from [minval, maxval) by a seed of two integers."""
    dtype = as_dtype(dtype)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype.name}")
        maxval = 1
    with default_graph().name_scope(name or "stateless_random_uniform") as scope:
        shape, seed = shape_tensor(shape), _as_seed(seed)
        minval = convert_to_tensor(minval, dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype, name="max")
        if dtype.is_integer:
            return stateless_uniform_int_op(shape, seed, minval, maxval, name=scope)  # type: ignore[no-any-return]
        drawn = stateless_uniform_op(shape, seed, dtype=dtype)
        return add(drawn * (maxval - minval), minval, name=scope)


def _scaled(op: OpDef, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, name: str) -> Any:
    dtype = as_dtype(dtype)
    with default_graph().name_scope(name) as scope:
        shape, seed = shape_tensor(shape), _as_seed(seed)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        drawn = op(shape, seed, dtype=dtype)
        return add(mul_op(drawn, stddev, name="mul"), mean, name=scope)


def stateless_normal(
    shape: DynamicShapeLike,
    seed: int,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Normal numbers by a seed of two integers."""
    scope = name or "stateless_random_normal"
    return _scaled(stateless_normal_op, shape, seed, mean, stddev, dtype, scope)  # type: ignore[no-any-return]


def stateless_truncated_normal(
    shape: DynamicShapeLike,
    seed: int,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Normal numbers, none beyond 2 standard deviations, by a seed of two integers."""
    scope = name or "stateless_truncated_normal"
    return _scaled(stateless_truncated_op, shape, seed, mean, stddev, dtype, scope)  # type: ignore[no-any-return]


def stateless_multinomial(
    logits: TensorLike,
    num_samples: Any,
    seed: int,
    output_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Class numbers drawn with the probabilities softmax(logits), by a seed of two integers."""
    with default_graph().name_scope(name or "stateless_multinomial"):
        logits = convert_to_tensor(logits, name="logits")
        return stateless_multinomial_op(  # type: ignore[no-any-return]
            logits, num_samples, _as_seed(seed), output_dtype=as_dtype(output_dtype)
        )


def stateless_categorical(
    logits: TensorLike,
    num_samples: Any,
    seed: int,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """The same as `stateless_multinomial`."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")
