"""Private functions of TensorFlow's ``distributions.util`` and ``distribution_util``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.distributions.counts import log_combinations as _log_combinations
from dataflow.distributions.flows import autoregressive_mask
from dataflow.distributions.statistics import new_seed
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators.broadcasting import size_of
from dataflow.ops import array
from dataflow.ops.assertions import (
    assert_equal,
    assert_integer,
)
from dataflow.ops.casts import cast
from dataflow.ops.conditionals import cond as cond_of
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import equal, not_equal, reduce_all, reduce_sum, sqrt, square
from dataflow.ops.tensor_values import constant_value
from dataflow.shapes import TensorShape, broadcast_static_shape

__all__ = [
    "AppendDocstring",
    "dimension_size",
    "gen_new_seed",
    "log_combinations",
    "maybe_get_static_value",
    "mixture_stddev",
    "move_dimension",
    "pad",
    "parent_frame_arguments",
    "pick_vector",
    "prefer_static_broadcast_shape",
    "prefer_static_rank",
    "prefer_static_shape",
    "prefer_static_value",
    "process_quadrature_grid_and_probs",
    "rotate_transpose",
    "same_dynamic_shape",
    "static_value",
]

gen_new_seed = new_seed


def same_dynamic_shape(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether both have the same shape, as a bool that the graph computes."""
    a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
    return cond_of(  # type: ignore[no-any-return]
        equal(array.rank(a), array.rank(b)),
        lambda: reduce_all(
            equal(
                array.concat([array.shape(a), array.shape(b)], 0),
                array.concat([array.shape(b), array.shape(a)], 0),
            )
        ),
        lambda: convert_to_tensor(False),
    )


def maybe_get_static_value(x: Any, dtype: Any = None) -> Any:
    """The value that the graph knows, as an array of ``dtype`` where that is given; else None."""
    known = None if x is None else constant_value(x)
    return known if known is None or dtype is None else np.array(known, dtype)


def log_combinations(n: TensorLike, counts: TensorLike, name: str = "log_combinations") -> Any:
    """The logarithm of ``n! / prod counts!``, over the last axis of the counts."""
    with name_scope(name):
        return _log_combinations(
            convert_to_tensor(n, name="n"), convert_to_tensor(counts, name="counts")
        )


def rotate_transpose(x: TensorLike, shift: Any, name: str = "rotate_transpose") -> Any:
    """``x`` with its axes rotated ``shift`` places to the right."""
    with name_scope(name):
        x, shift = convert_to_tensor(x, name="x"), convert_to_tensor(shift, name="shift")
        assert_integer(shift)
        known, ndims = constant_value(shift), x.get_shape().ndims
        if ndims is not None and known is not None:
            places = int(known) % ndims if ndims > 1 else 0
            return array.transpose(x, np.roll(np.arange(ndims), places)) if places else x
        rank = array.rank(x)
        first = (rank - shift % rank) % rank
        return array.transpose(
            x, array.concat([array.range_(first, rank), array.range_(0, first)], 0)
        )


def pick_vector(
    cond: TensorLike, true_vector: Any, false_vector: Any, name: str = "pick_vector"
) -> Any:
    """One of two vectors, as a tensor; raises `TypeError` for a condition that is no bool, and for two dtypes."""
    with name_scope(name):
        cond = convert_to_tensor(cond, name="cond")
        if cond.dtype != dtypes.bool_:
            raise TypeError(f"{cond}.dtype={cond.dtype} which is not {dtypes.bool_}")
        known = constant_value(cond)
        if known is not None:
            return convert_to_tensor(true_vector if known else false_vector)
        first = convert_to_tensor(true_vector, name="true_vector")
        second = convert_to_tensor(false_vector, name="false_vector")
        if first.dtype != second.dtype:
            raise TypeError(
                f"{first}.dtype={first.dtype} does not match {second}.dtype={second.dtype}"
            )
        count = array.shape(first)[0]
        taken = cast(cond, dtypes.int32)
        both = array.concat([first, second], 0)
        size = taken * count + (1 - taken) * (array.shape(both)[0] - count)
        return array.slice_(both, [(1 - taken) * count], [size])


def prefer_static_broadcast_shape(
    shape1: Any, shape2: Any, name: str = "prefer_static_broadcast_shape"
) -> Any:
    """The shape that two shapes broadcast to: a `TensorShape` where both are known, else an int32 vector."""
    with name_scope(name):
        shapes = [s if isinstance(s, TensorShape) else _as_vector(s) for s in (shape1, shape2)]
        known = [s if isinstance(s, TensorShape) else constant_value(s) for s in shapes]
        if known[0] is not None and known[1] is not None:
            return broadcast_static_shape(TensorShape(known[0]), TensorShape(known[1]))
        return array.broadcast_dynamic_shape(*(_as_vector(s) for s in shapes))


def _as_vector(shape: Any) -> Tensor:
    if isinstance(shape, TensorShape):
        if not shape.is_fully_defined():
            raise ValueError("Cannot broadcast from partially defined `TensorShape`.")
        shape = shape.as_list()
    return convert_to_tensor(shape, dtypes.int32, name="shape")


def prefer_static_value(x: Any) -> Any:
    """The value that the graph knows, else the tensor."""
    known = constant_value(x)
    return x if known is None else known


def prefer_static_rank(x: Any) -> Any:
    """The rank as a number where it is known, else as a tensor."""
    return prefer_static_value(array.rank(x))


def prefer_static_shape(x: Any) -> Any:
    """The shape as an array where it is known, else as a tensor."""
    return prefer_static_value(array.shape(x))


def static_value(x: Any) -> Any:
    """The value that the graph knows, else None."""
    return constant_value(convert_to_tensor(x))


def dimension_size(x: Any, axis: int) -> Any:
    """The size of an axis: a number where it is known, else an int32 scalar."""
    return size_of(x, axis)


def process_quadrature_grid_and_probs(
    quadrature_grid_and_probs: Any, dtype: DType, validate_args: bool, name: str | None = None
) -> tuple[Any, Any]:
    """The points and the weights of a quadrature, which sum to 1; for None, those of Gauss-Hermite with 8 points.

    Raises `ValueError` where there are not as many of both.
    """
    with name_scope(name or "process_quadrature_grid_and_probs"):
        if quadrature_grid_and_probs is None:
            grid, probs = np.polynomial.hermite.hermgauss(deg=8)
            probs = probs / probs.sum()
            return convert_to_tensor(grid, dtype), convert_to_tensor(probs, dtype)
        points, weights = (convert_to_tensor(x, dtype) for x in tuple(quadrature_grid_and_probs))
        weights = weights / reduce_sum(abs(weights), -1, keepdims=True)
        text = "`quadrature_grid_and_probs` must be a `tuple` of same-length zero-th-dimension `Tensor`s"
        sizes = [size_of(weights, -1), size_of(points, -1)]
        if all(isinstance(size, int) for size in sizes):
            if sizes[0] != sizes[1]:
                raise ValueError(f"{text} (saw lengths {sizes[0]}, {sizes[1]})")
        elif validate_args:
            check = assert_equal(sizes[0], sizes[1], message=text)
            return with_dependencies([check], points), with_dependencies([check], weights)
        return points, weights


def pad(
    x: TensorLike,
    axis: Any,
    front: bool = False,
    back: bool = False,
    value: Any = 0,
    count: Any = 1,
    name: str | None = None,
) -> Any:
    """``x`` with ``count`` times ``value`` before and after the others along ``axis``."""
    with name_scope(name or "pad"):
        x = convert_to_tensor(x, name="x")
        rank = array.rank(x)
        axis = convert_to_tensor(axis, dtypes.int32) % rank
        own = cast(equal(array.range_(rank), axis), dtypes.int32) * count
        sides = array.stack([own * int(front), own * int(back)], 1)
        padded = array.pad(x, sides, constant_values=cast(value, x.dtype))
        where = constant_value(axis)
        if x.dims is not None and where is not None:
            dims = list(x.dims)
            known = constant_value(convert_to_tensor(count))
            size = dims[int(where)]
            dims[int(where)] = (
                None if size is None or known is None else size + int(known) * (front + back)
            )
            padded.set_shape(dims)
        return padded


def mixture_stddev(mixture_weight_vector: Any, mean_vector: Any, stddev_vector: Any) -> Any:
    """The standard deviations [batch] of mixtures with these weights, means and deviations [batch, k].

    Raises `ValueError` for other ranks and shapes.
    """
    mixture_weight_vector.get_shape().assert_has_rank(2)
    for what, vector in (("means", mean_vector), ("stddevs", stddev_vector)):
        if not vector.get_shape().is_compatible_with(mixture_weight_vector.get_shape()):
            raise ValueError(f"Expecting {what} to have same shape as mixture weights.")
    mean = reduce_sum(mixture_weight_vector * mean_vector, -1)
    squares = mixture_weight_vector * (square(stddev_vector) + square(mean_vector))
    return sqrt(reduce_sum(squares, -1) - square(mean))


def move_dimension(x: Any, source_idx: Any, dest_idx: Any) -> Any:
    """``x`` with one axis moved to another place; the others keep their order."""
    ndims = prefer_static_rank(x)
    if isinstance(ndims, Tensor) or isinstance(source_idx, Tensor) or isinstance(dest_idx, Tensor):
        source = convert_to_tensor(source_idx, dtypes.int32) % ndims
        target = convert_to_tensor(dest_idx, dtypes.int32) % ndims
        places = array.range_(ndims)
        without = array.boolean_mask(places, not_equal(places, source))
        return array.transpose(
            x, array.concat([without[:target], array.reshape(source, [1]), without[target:]], 0)
        )
    order = list(range(int(ndims)))
    order.insert(dest_idx % int(ndims), order.pop(source_idx % int(ndims)))
    return array.transpose(x, order)


def parent_frame_arguments() -> dict[str, Any]:
    """The arguments of the function that calls this one, by name; those of its ``*args`` are left out."""
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    if caller is None:
        return {}
    names, _, keywords, values = inspect.getargvalues(caller)
    return {**{name: values[name] for name in names}, **(values[keywords] if keywords else {})}


class AppendDocstring:
    """A decorator that adds a note, and a list of what ``kwargs`` may be, to a function's docstring.

    Raises `ValueError` for a name with white space, and for a description of several lines.
    """

    def __init__(
        self, additional_note: str = "", kwargs_dict: dict[str, str] | None = None
    ) -> None:
        self._note = additional_note
        bullets = []
        for key, value in sorted((kwargs_dict or {}).items()):
            if any(character.isspace() for character in key):
                raise ValueError(f'Parameter name "{key}" contains whitespace.')
            if "\n" in value.lstrip():
                raise ValueError(f'Parameter description for "{key}" contains newlines.')
            bullets.append(f"*  `{key}`: {value.lstrip()}")
        if bullets:
            self._note += "\n\n##### `kwargs`:\n\n" + "\n".join(bullets)

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def documented(*args: Any, **kwargs: Any) -> Any:
            return fn(*args, **kwargs)

        own = documented.__doc__
        documented.__doc__ = self._note if own is None else f"{own}\n{self._note}"
        return documented


def _gen_mask(
    num_blocks: int,
    n_in: int,
    n_out: int,
    mask_type: str = "exclusive",
    dtype: Any = dtypes.float32,
) -> Any:
    """The mask [n_out, n_in] of a layer of `masked_dense`; ``mask_type`` is "exclusive" or "inclusive"."""
    mask = autoregressive_mask(num_blocks, n_in, n_out, mask_type == "exclusive")
    return mask.T.astype(dtypes.as_dtype(dtype).as_numpy_dtype)
