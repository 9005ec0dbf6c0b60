"""Bijectors of vectors: permuted, softmaxed, ordered, reshaped."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.distributions.bijector import Bijector, checked
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.assertions import (
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_less_equal,
    assert_positive,
)
from dataflow.ops.casts import cast
from dataflow.ops.math import cumsum, equal, exp, log, reduce_sum
from dataflow.ops.tensor_values import constant_value
from dataflow.shapes import TensorShape

_ONE_OF_EACH = "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."


class Permute(Bijector):
    """``y[..., i] = x[..., permutation[i]]``. Raises `ValueError` if they are not a permutation."""

    def __init__(
        self, permutation: Any, validate_args: bool = False, name: str | None = None
    ) -> None:
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "permute",
        )
        order = convert_to_tensor(permutation, name="permutation")
        if not order.dtype.is_integer:
            raise TypeError(f"permutation.dtype ({order.dtype.name}) should be `int`-like.")
        known = constant_value(order)
        if known is not None:
            if not np.array_equal(np.sort(known), np.arange(known.shape[-1])):
                raise ValueError(_ONE_OF_EACH)
        elif validate_args:
            from dataflow.ops.sequences import top_k

            places = array.range_(array.size(order))
            found = -top_k(-order, array.size(order))[0]
            order = checked(
                order,
                True,
                lambda: assert_equal(found, cast(places, order.dtype), message=_ONE_OF_EACH),
            )
        self._permutation = order

    @property
    def permutation(self) -> Any:
        """The integers."""
        return self._permutation

    def _forward(self, x: TensorLike) -> Any:
        return array.gather(x, self._permutation, axis=-1)

    def _inverse(self, y: TensorLike) -> Any:
        return array.gather(y, array.invert_permutation(self._permutation), axis=-1)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return convert_to_tensor(0.0, x.dtype)


class SoftmaxCentered(Bijector):
    """``y = softmax([x, 0])``: maps k numbers to k + 1 probabilities that sum to 1."""

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return _with_last(shape, 1)

    def _forward_event_shape_tensor(self, shape: Tensor) -> Any:
        return array.concat([shape[:-1], shape[-1:] + 1], 0)

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        if shape.ndims is not None and (last := shape.as_list()[-1]) is not None and last <= 1:
            raise ValueError(f"output_shape[-1] = {last} <= 1")
        return _with_last(shape, -1)

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Any:
        text = "Need last dimension greater than 1."
        last = checked(
            shape[-1:], self._validate_args, lambda: assert_greater(shape[-1], 1, message=text)
        )
        return array.concat([shape[:-1], last - 1], 0)

    def _forward(self, x: Any) -> Any:
        y = softmax(array.concat([x, array.zeros_like(x[..., :1])], -1))
        y.set_shape(_with_last(x.get_shape(), 1))
        return y

    def _inverse(self, y: TensorLike) -> Any:
        logs = log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        # The determinant of diag(y) - y y^T for all but the last share: that of y's density in those.
        return -reduce_sum(log(y), -1)


class Ordered(Bijector):
    """Maps increasing numbers to unconstrained ones: the first, and the logarithms of the differences."""

    def __init__(self, validate_args: bool = False, name: str = "ordered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        text = "Forward transformation input must be strictly increasing."
        steps = x[..., 1:] - x[..., :-1]
        steps = checked(steps, self._validate_args, lambda: assert_positive(steps, message=text))
        return array.concat([x[..., :1], log(steps)], -1)

    def _inverse(self, y: Any) -> Any:
        return cumsum(array.concat([y[..., :1], exp(y[..., 1:])], -1), axis=-1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return reduce_sum(y[..., 1:], -1)


class Reshape(Bijector):
    """The last axes, of ``event_shape_in``, become ``event_shape_out``; each may have one -1, or be fed.

    Raises `ValueError` for shapes with several -1, with other negative numbers, or that are no vectors, and
    for an event of another shape; with ``validate_args`` those that are fed are checked as the graph runs.
    """

    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "reshape",
        )
        self._out = self._event(event_shape_out, "event_shape_out")
        self._in = self._event(event_shape_in, "event_shape_in")

    def _event(self, shape: Any, name: str) -> Tensor:
        """The given shape, as a checked vector."""
        if isinstance(shape, TensorShape):
            shape = shape.as_list()
        vector = convert_to_tensor(shape, name=name, preferred_dtype=dtypes.int32)
        if vector.dims == (0,) and not vector.dtype.is_integer:
            vector = cast(vector, dtypes.int32)  # an empty list
        if not vector.dtype.is_integer:
            raise TypeError(f"{name} dtype ({vector.dtype.name}) should be `int`-like.")
        if vector.dims is not None and len(vector.dims) > 1:
            raise ValueError(f"`{name}` rank ({len(vector.dims)}) should be <= 1.")
        several = f"`{name}` elements must have at most one `-1`."
        negative = f"`{name}` elements must be either positive integers or `-1`."
        known = constant_value(vector)
        if known is not None:
            if np.sum(known == -1) > 1:
                raise ValueError(f"{several} Got {known.tolist()}.")
            if np.any(known < -1):
                raise ValueError(f"{negative} Got {known.tolist()}.")
            return vector
        unknown = reduce_sum(cast(equal(vector, -1), dtypes.int32))
        return checked(  # type: ignore[no-any-return]
            vector,
            self._validate_args,
            lambda: assert_less_equal(unknown, 1, message=several),
            lambda: assert_greater_equal(vector, -1, message=negative),
        )

    def _reshaped(self, value: Any, before: Tensor, after: Tensor) -> Any:
        ndims = None if before.dims is None else before.dims[0]
        shape = array.shape(value)
        rank = array.size(shape)
        batch, event = shape[: rank - array.size(before)], shape[rank - array.size(before) :]
        wanted, text = constant_value(before), "Input `event_shape` does not match `event_shape_in`"
        known = _last_sizes(value.get_shape(), ndims)
        if known is not None and wanted is not None:
            if np.any((wanted >= 0) & (wanted != known)):
                raise ValueError(f"{text} ({known.tolist()} vs {wanted.tolist()}).")
        elif self._validate_args:
            from dataflow.ops.selection import boolean_mask

            told = array.reshape(before >= 0, [-1])
            value = checked(
                value,
                True,
                lambda: assert_equal(
                    boolean_mask(event, told), boolean_mask(before, told), message=f"{text}."
                ),
            )
        return array.reshape(value, array.concat([batch, cast(after, dtypes.int32)], 0))

    def _forward(self, x: TensorLike) -> Any:
        return self._reshaped(x, self._in, self._out)

    def _inverse(self, y: TensorLike) -> Any:
        return self._reshaped(y, self._out, self._in)

    def _log_det(self, x: Any, y: Any) -> Any:
        return convert_to_tensor(0.0, (y if x is None else x).dtype)

    def _reduced(self, log_det: Any, value: Any, event_ndims: Any, needed: Any) -> Any:
        return log_det

    def _shape_after(self, shape: TensorShape, before: Tensor, after: Tensor) -> TensorShape:
        if shape.is_fully_defined():
            return TensorShape(
                self._reshaped(array.zeros(shape.as_list()), before, after).get_shape()
            )
        filled = _told(after)
        ndims = None if before.dims is None else before.dims[0]
        if shape.ndims is None or ndims is None:
            return TensorShape(None) if shape.ndims is not None else filled
        return TensorShape(shape[: shape.ndims - ndims]).concatenate(filled)

    def _forward_event_shape(self, shape: TensorShape) -> TensorShape:
        return self._shape_after(shape, self._in, self._out)

    def _inverse_event_shape(self, shape: TensorShape) -> TensorShape:
        return self._shape_after(shape, self._out, self._in)

    def _forward_event_shape_tensor(self, shape: Tensor) -> Any:
        return array.shape(self._forward(array.zeros(shape)))

    def _inverse_event_shape_tensor(self, shape: Tensor) -> Any:
        return array.shape(self._inverse(array.zeros(shape)))


def _told(vector: Tensor) -> TensorShape:
    """The static value of a shape that is given as a vector; -1 stands for an unknown size."""
    known = constant_value(vector)
    if known is not None:
        return TensorShape([None if size == -1 else int(size) for size in known])
    return TensorShape(None if vector.dims is None else [None] * (vector.dims[0] or 0))


def _last_sizes(shape: TensorShape, ndims: int | None) -> Any:
    """The last ``ndims`` sizes as an array, or None where one is not known."""
    if ndims is None or shape.ndims is None or shape.ndims < ndims:
        return None
    event = shape.as_list()[shape.ndims - ndims :]
    return None if None in event else np.array(event, np.int32)


def _with_last(shape: TensorShape, change: int) -> TensorShape:
    """The shape with its last axis longer by ``change``."""
    if shape.ndims is None:
        return shape
    last = shape.as_list()[-1]
    return TensorShape([*shape.as_list()[:-1], None if last is None else last + change])
