"""Random ops. Each has a stream of its own, counted in the session (see the kernels)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import FLOATING, INDICES, REAL_NUMBERS, DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor, internal_convert, preferred_of_list
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.arithmetic import add, maximum_op
from dataflow.ops.seeds import counted_as, seed_attrs
from dataflow.ops.shape import need_rank
from dataflow.ops.static_value import static_dims, static_value
from dataflow.shapes import Dims, broadcast, list_dims, unknown_shape

_ANY = frozenset({*dtypes.BY_NUMPY.values(), dtypes.bfloat16})


def _shape_dims(shape: Tensor) -> Dims:
    if shape.dims is not None and len(shape.dims) != 1:
        raise ValueError(
            f"the shape must be a vector of sizes, got a tensor of shape {list_dims(shape.dims)}\n"
            "Write [n] for a vector of n, [] for a scalar."
        )
    return static_dims(shape)


@define_op(
    "RandomUniform",
    "shape: T -> output: dtype",
    stateful=True,
    T=INDICES,
    dtype=FLOATING,
    shape_input=0,
)
def random_uniform_op(shape: Tensor, *, dtype: DType, seed: int = 0, seed2: int = 0) -> Dims:
    """Numbers drawn evenly from [0, 1).

    Shape: ``shape``. Dtype: ``dtype``. Gradient: none. The same seeds give the same numbers in a
    fresh session; with both 0 they differ from session to session.
    """
    return _shape_dims(shape)


@define_op(
    "RandomStandardNormal",
    "shape: T -> output: dtype",
    stateful=True,
    T=INDICES,
    dtype=FLOATING,
    shape_input=0,
)
def random_standard_normal_op(
    shape: Tensor, *, dtype: DType, seed: int = 0, seed2: int = 0
) -> Dims:
    """Numbers drawn from the normal distribution with mean 0 and standard deviation 1.

    Shape: ``shape``. Dtype: ``dtype``. Gradient: none. Seeds: as RandomUniform.
    """
    return _shape_dims(shape)


@define_op(
    "TruncatedNormal",
    "shape: T -> output: dtype",
    stateful=True,
    T=INDICES,
    dtype=FLOATING,
    shape_input=0,
)
def truncated_normal_op(shape: Tensor, *, dtype: DType, seed: int = 0, seed2: int = 0) -> Dims:
    """Standard normal numbers, of which those beyond 2 standard deviations are left out.

    Shape: ``shape``. Dtype: ``dtype``. Gradient: none. Seeds: as RandomUniform.
    """
    return _shape_dims(shape)


@define_op(
    "RandomUniformInt",
    "shape: T, minval: Tout, maxval: Tout -> output: Tout",
    stateful=True,
    T=INDICES,
    Tout=INDICES,
    host_inputs=("shape", "minval", "maxval"),
)
def random_uniform_int_op(
    shape: Tensor, minval: Tensor, maxval: Tensor, *, seed: int = 0, seed2: int = 0
) -> Dims:
    """Integers drawn evenly from [minval, maxval).

    Shape: ``shape``; the bounds are scalars. Dtype: that of the bounds. Gradient: none.
    """
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if bound.dims not in (None, ()):
            raise ValueError(f"{name} must be a scalar, got shape {list_dims(bound.dims)}")
    return _shape_dims(shape)


@define_op("RandomShuffle", "value: T -> output: T", stateful=True, T=_ANY)
def random_shuffle_op(value: Tensor, *, seed: int = 0, seed2: int = 0) -> Dims:
    """The rows of a tensor in random order.

    Shape and dtype: those of the value. Gradient: none. Seeds: as RandomUniform.
    """
    return value.dims


def multinomial_dims(logits: Tensor, num_samples: Tensor) -> Dims:
    """The shape rule of draws of classes, [batch, num_samples]."""
    if logits.dims is not None and len(logits.dims) != 2:
        raise ValueError(f"logits must be [batch, classes], got {list_dims(logits.dims)}")
    need_rank(num_samples, 0, "num_samples")
    count = static_value(num_samples)
    batch = None if logits.dims is None else logits.dims[0]
    return batch, None if count is None else int(count)


@define_op(
    "Multinomial",
    "logits: T, num_samples: int32 -> output: output_dtype",
    stateful=True,
    T=REAL_NUMBERS,
    output_dtype=INDICES,
)
def multinomial_op(
    logits: Tensor,
    num_samples: Tensor,
    *,
    seed: int = 0,
    seed2: int = 0,
    output_dtype: DType = dtypes.int64,
) -> Dims:
    """Class numbers drawn with the probabilities softmax(logits), row by row.

    Shape: logits [batch, classes] give [batch, num_samples]. Gradient: none.
    """
    return multinomial_dims(logits, num_samples)


@define_op(
    "RandomGamma",
    "shape: S, alpha: T -> output: T",
    stateful=True,
    S=INDICES,
    T=FLOATING,
)
def random_gamma_op(shape: Tensor, alpha: Tensor, *, seed: int = 0, seed2: int = 0) -> Dims:
    """Numbers drawn from the gamma distributions with shape parameters alpha and scale 1.

    Shape: ``shape`` followed by that of alpha. Dtype: that of alpha. Gradient: to alpha, by
    implicit reparameterization (Figurnov, Mohamed, Mnih 2018), as RandomGammaGrad.
    """
    dims = _shape_dims(shape)
    return None if dims is None or alpha.dims is None else dims + alpha.dims


@define_op("RandomGammaGrad", "alpha: T, sample: T -> output: T", T=FLOATING)
def random_gamma_grad_op(alpha: Tensor, sample: Tensor) -> Dims:
    """How a gamma-distributed sample moves with alpha: ``-dP/dalpha / p(sample)``.

    Shape: alpha and sample broadcast. Dtype: float32 or float64. Gradient: none.
    """
    return broadcast(alpha.dims, sample.dims)


@define_op(
    "RandomPoissonV2",
    "shape: S, rate: R -> output: dtype",
    stateful=True,
    S=INDICES,
    R=FLOATING | INDICES,
    dtype=FLOATING | INDICES,
)
def random_poisson_op(
    shape: Tensor, rate: Tensor, *, dtype: DType = dtypes.int64, seed: int = 0, seed2: int = 0
) -> Dims:
    """Counts drawn from the Poisson distributions with the given rates.

    Shape: ``shape`` followed by that of the rate. Dtype: ``dtype``. Gradient: none.
    """
    dims = _shape_dims(shape)
    return None if dims is None or rate.dims is None else dims + rate.dims


@define_op(
    "ParameterizedTruncatedNormal",
    "shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype -> output: dtype",
    stateful=True,
    T=INDICES,
    dtype=FLOATING,
)
def parameterized_truncated_normal_op(
    shape: Tensor,
    means: Tensor,
    stdevs: Tensor,
    minvals: Tensor,
    maxvals: Tensor,
    *,
    seed: int = 0,
    seed2: int = 0,
) -> Dims:
    """Normal numbers between given bounds.

    Shape: ``shape``, whose first axis is the batch when the parameters are vectors.
    Gradient: none. Seeds: as RandomUniform.
    """
    return _shape_dims(shape)


not_differentiable(
    random_uniform_op,
    random_standard_normal_op,
    truncated_normal_op,
    random_uniform_int_op,
    random_shuffle_op,
    multinomial_op,
    random_gamma_grad_op,
    random_poisson_op,
    parameterized_truncated_normal_op,
)


@random_gamma_op.gradient
def random_gamma_gradient(op: Operation, grad: Tensor) -> list[Any]:
    from dataflow.ops.reduce import reduce_sum

    alpha, sample = op.inputs[1], op.outputs[0]
    if alpha.dims is None or sample.dims is None:
        raise NotImplementedError("the gradient of random_gamma needs an alpha of known rank")
    partial = random_gamma_grad_op(alpha, sample)
    drawn = list(range(len(sample.dims) - len(alpha.dims)))
    return [None, reduce_sum(grad * partial, axis=drawn)]


# ---- public functions --------------------------------------------------------------------------


def shape_tensor(shape: Any, name: str = "shape") -> Tensor:
    """A shape as an integer tensor; an empty list is the shape of a scalar."""
    preferred = None
    if isinstance(shape, (list, tuple)):
        preferred = preferred_of_list(shape, (dtypes.int32, dtypes.int64))
    return convert_to_tensor(shape, None, name=name, preferred_dtype=preferred)


def random_normal(
    shape: DynamicShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from the normal distribution with this mean and standard deviation."""
    return _scaled(
        random_standard_normal_op, shape, mean, stddev, dtype, seed, name or "random_normal"
    )


def truncated_normal(
    shape: DynamicShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers, of which those beyond 2 standard deviations are left out."""
    return _scaled(
        truncated_normal_op, shape, mean, stddev, dtype, seed, name or "truncated_normal"
    )


def _scaled(
    op: Any, shape: Any, mean: Any, stddev: Any, dtype: Any, seed: int | None, name: str
) -> Tensor:
    dtype = as_dtype(dtype)
    with default_graph().name_scope(name) as scope:
        shape = shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        drawn = op(shape, dtype=dtype, **seed_attrs(seed))
        return add(drawn * stddev, mean, name=scope)


def random_uniform(
    shape: DynamicShapeLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers drawn evenly from [minval, maxval); maxval is 1 for floats.

    Raises `ValueError` for integers without ``maxval``.
    """
    dtype = as_dtype(dtype)
    if dtype not in FLOATING | INDICES:
        raise ValueError(f"random_uniform cannot draw {dtype.name}; use floats, int32 or int64.")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype.name}")
        maxval = 1
    with default_graph().name_scope(name or "random_uniform") as scope:
        shape = shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype, name="max")
        if dtype.is_integer:
            return random_uniform_int_op(shape, minval, maxval, name=scope, **seed_attrs(seed))  # type: ignore[no-any-return]
        drawn = random_uniform_op(shape, dtype=dtype, **seed_attrs(seed))
        return add(drawn * (maxval - minval), minval, name=scope)


def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of ``value`` in random order."""
    return random_shuffle_op(value, name=name, **seed_attrs(seed))  # type: ignore[no-any-return]


def random_crop(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """A part of ``value`` of shape ``size`` at a random place.

    Raises `InvalidArgumentError` when the value is smaller than that.
    """
    from dataflow.ops.arithmetic import floor_mod_op
    from dataflow.ops.comparison import greater_equal_op
    from dataflow.ops.logging_ops import Assert
    from dataflow.ops.reduce import reduce_all

    graph = default_graph()
    with graph.name_scope(name or "random_crop") as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, name="size")
        shape = array_ops.shape(value)
        fits = Assert(
            reduce_all(greater_equal_op(shape, size)),
            ["Need value.shape >= size, got ", shape, size],
        )
        with graph.control_dependencies([fits]):
            shape = array_ops.identity(shape)
        limit = shape - size + 1
        offset = floor_mod_op(
            random_uniform(
                array_ops.shape(limit), maxval=dtypes.int32.max, dtype=dtypes.int32, seed=seed
            ),
            limit,
        )
        return array_ops.slice_(value, offset, size, name=scope)


def multinomial(
    logits: TensorLike,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """Class numbers drawn with the probabilities softmax(logits): [batch, num_samples]."""
    with default_graph().name_scope(name or "multinomial"):
        return _categorical(logits, num_samples, output_dtype, seed)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The same as `multinomial`."""
    with default_graph().name_scope(name or "categorical"):
        return _categorical(logits, num_samples, dtype, seed)


def _categorical(
    logits: TensorLike, num_samples: Any, dtype: DTypeLike | None, seed: int | None
) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    wanted = dtypes.int64 if dtype is None else as_dtype(dtype)
    return multinomial_op(logits, num_samples, output_dtype=wanted, **seed_attrs(seed))  # type: ignore[no-any-return]


def random_gamma(
    shape: DynamicShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from gamma distributions with shape alpha and rate beta (1).

    The result has shape ``shape`` + that of alpha and beta broadcast.
    """
    dtype = as_dtype(dtype)
    with default_graph().name_scope(name or "random_gamma"):
        shape = convert_to_tensor(shape, dtypes.int32, name="shape")
        alpha = convert_to_tensor(alpha, dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, name="beta")
        if alpha.dims is not None and beta.dims is not None and None not in alpha.dims + beta.dims:
            alpha = array_ops.broadcast_to(alpha, list(broadcast(alpha.dims, beta.dims) or ()))
        else:
            with counted_as(2):
                full = array_ops.broadcast_dynamic_shape(
                    array_ops.shape(alpha), array_ops.shape(beta)
                )
                spread: Tensor = array_ops.broadcast_to(alpha, full)
            dims = broadcast(alpha.dims, beta.dims)
            spread.set_shape(unknown_shape() if dims is None else dims)
            alpha = spread
        drawn = random_gamma_op(shape, alpha, **seed_attrs(seed))
        smallest = internal_convert(np.finfo(dtype.as_numpy_dtype).tiny, dtype, "tiny")
        return maximum_op(smallest, drawn / beta)  # type: ignore[no-any-return]


def random_poisson(
    lam: Any,
    shape: DynamicShapeLike,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Counts from Poisson distributions with rates lam: shape ``shape`` + that of lam."""
    with default_graph().name_scope(name or "random_poisson"):
        shape = convert_to_tensor(shape, dtypes.int32, name="shape")
        return random_poisson_op(shape, lam, dtype=as_dtype(dtype), **seed_attrs(seed))  # type: ignore[no-any-return]


def parameterized_truncated_normal(
    shape: DynamicShapeLike,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers between minvals and maxvals, one distribution for each row or one for all."""
    dtype = as_dtype(dtype)
    with default_graph().name_scope(name or "parameterized_truncated_normal"):
        shape = shape_tensor(shape)
        parts = [
            convert_to_tensor(v, dtype, name=n)
            for v, n in (
                (means, "means"),
                (stddevs, "stddevs"),
                (minvals, "minvals"),
                (maxvals, "maxvals"),
            )
        ]
        return parameterized_truncated_normal_op(shape, *parts, **seed_attrs(seed))  # type: ignore[no-any-return]
