"""Scales of vectors as linear operators, made of the parts that bijectors and distributions take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.distributions.bijector import checked
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.linear_operators.dense import LinearOperatorLowerTriangular
from dataflow.linear_operators.diagonal import (
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
)
from dataflow.linear_operators.linear_operator import LinearOperator
from dataflow.ops import array
from dataflow.ops.assertions import assert_none_equal, assert_positive as assert_above_zero
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.matrix_diag import matrix_band_part, matrix_diag_part, matrix_set_diag
from dataflow.ops.tensor_values import constant_value
from dataflow.shapes import TensorShape, broadcast_static_shape, dimension_value

_DIAGONALS = (LinearOperatorDiag, LinearOperatorIdentity, LinearOperatorScaledIdentity)


def _tensor(x: TensorLike | None, name: str) -> Any:
    return None if x is None else convert_to_tensor(x, name=name)


def _proper(x: Any, diagonal: Any, validate_args: bool, positive: bool) -> Any:
    """``x``; with ``validate_args`` its diagonal is checked at run time."""

    def check() -> Any:
        if positive:
            return assert_above_zero(diagonal, message="diagonal part must be positive")
        zero = array.zeros([], diagonal.dtype)
        return assert_none_equal(diagonal, zero, message="diagonal part must be non-zero")

    return checked(x, validate_args, check)


def make_diag_scale(
    loc: TensorLike | None = None,
    scale_diag: TensorLike | None = None,
    scale_identity_multiplier: TensorLike | None = None,
    shape_hint: Any = None,
    validate_args: bool = False,
    assert_positive: bool = False,
    name: str | None = None,
) -> LinearOperator:
    """``diag(scale_diag) + scale_identity_multiplier I``, shapes [..., k] and [...]; the identity without both.

    The size k is that of ``scale_diag``, else ``shape_hint``, else that of ``loc``. Raises `ValueError`
    if none of them is given.
    """
    with name_scope(name or "make_diag_scale"):
        like, diag = _tensor(loc, "loc"), _tensor(scale_diag, "scale_diag")
        multiplier = _tensor(scale_identity_multiplier, "scale_identity_multiplier")
        if diag is not None:
            if multiplier is not None:
                diag = diag + multiplier[..., None]
            return LinearOperatorDiag(
                _proper(diag, diag, validate_args, assert_positive),
                is_non_singular=True,
                is_self_adjoint=True,
                is_positive_definite=assert_positive,
            )
        if like is None and shape_hint is None:
            raise ValueError(
                "Cannot infer `event_shape` unless `loc` or `shape_hint` is specified."
            )
        size = dimension_value(like.get_shape()[-1]) if shape_hint is None else shape_hint
        if multiplier is None:
            return LinearOperatorIdentity(
                size,
                dtype=like.dtype.base_dtype,
                is_self_adjoint=True,
                is_positive_definite=True,
                assert_proper_shapes=validate_args,
            )
        return LinearOperatorScaledIdentity(
            size,
            _proper(multiplier, multiplier, validate_args, assert_positive),
            is_non_singular=True,
            is_self_adjoint=True,
            is_positive_definite=assert_positive,
            assert_proper_shapes=validate_args,
        )


def make_tril_scale(
    loc: TensorLike | None = None,
    scale_tril: TensorLike | None = None,
    scale_diag: TensorLike | None = None,
    scale_identity_multiplier: TensorLike | None = None,
    shape_hint: Any = None,
    validate_args: bool = False,
    assert_positive: bool = False,
    name: str | None = None,
) -> LinearOperator:
    """The lower triangle of ``scale_tril`` [..., k, k] and the parts of `make_diag_scale` on its diagonal."""
    if scale_tril is None:
        return make_diag_scale(
            loc,
            scale_diag,
            scale_identity_multiplier,
            shape_hint,
            validate_args,
            assert_positive,
            name,
        )
    with name_scope(name or "make_tril_scale"):
        matrix = matrix_band_part(convert_to_tensor(scale_tril, name="scale_tril"), -1, 0)
        diagonal = matrix_diag_part(matrix)
        if scale_diag is not None:
            diagonal = diagonal + convert_to_tensor(scale_diag, name="scale_diag")
        if scale_identity_multiplier is not None:
            diagonal = (
                diagonal + convert_to_tensor(scale_identity_multiplier, diagonal.dtype)[..., None]
            )
        return LinearOperatorLowerTriangular(
            _proper(matrix_set_diag(matrix, diagonal), diagonal, validate_args, assert_positive),
            is_non_singular=True,
            is_self_adjoint=False,
            is_positive_definite=assert_positive,
        )


def is_diagonal_scale(scale: Any) -> bool:
    """Whether the operator is known to be diagonal. Raises `TypeError` for anything but an operator."""
    if not isinstance(scale, LinearOperator):
        raise TypeError(
            f"Expected argument 'scale' to be instance of LinearOperator. Found: {scale}"
        )
    return isinstance(scale, _DIAGONALS)


def get_broadcast_shape(*tensors: Any) -> Any:
    """The shape that the tensors broadcast to: a list where it is known, else an int32 vector."""
    static = tensors[0].get_shape()
    for tensor in tensors[1:]:
        static = broadcast_static_shape(static, tensor.get_shape())
    if static.is_fully_defined():
        return static.as_list()
    return _dynamic(tensors)


def _dynamic(tensors: Sequence[Any]) -> Any:
    shape = array.shape(tensors[0])
    for tensor in tensors[1:]:
        shape = array.broadcast_dynamic_shape(shape, array.shape(tensor))
    return shape


def shapes_from_loc_and_scale(
    loc: Any, scale: LinearOperator, name: str = "shapes_from_loc_and_scale"
) -> tuple[Any, Any]:
    """The shapes of the batch and of an event of ``scale @ x + loc``, known ones as arrays.

    Raises `ValueError` for a ``loc`` [..., n] that does not fit an operator [..., k, k].
    """
    with name_scope(name):
        size = scale.range_dimension_tensor()
        known = constant_value(size)
        event = size[None] if known is None else np.reshape(known, [1])
        batch = scale.batch_shape_tensor()
        if loc is None:
            told = constant_value(batch)
            return (batch if told is None else told), event
        own = loc.get_shape().as_list()[-1] if loc.get_shape().ndims else None
        if own is not None and known is not None and own not in (1, known):
            raise ValueError(
                f"Event size of 'scale' ({known}) could not be broadcast up to that of 'loc' ({own})."
            )
        static = loc.get_shape()[:-1]
        told = constant_value(batch)
        if static.is_fully_defined() and told is not None:
            return broadcast_static_shape(static, TensorShape(told)), event
        return array.broadcast_dynamic_shape(batch, array.shape(loc)[:-1]), event


def pad_mixture_dimensions(
    x: Any, mixture_distribution: Any, categorical_distribution: Any, event_ndims: int
) -> Any:
    """``x`` with an axis of size 1 for the components, and one for each axis of an event of the mixture."""
    with name_scope("pad_mixture_dimensions"):
        ones = np.ones([event_ndims], np.int32)
        spread = categorical_distribution.is_scalar_batch()
        shape = array.shape(x)
        batch_ndims = array.size(mixture_distribution.batch_shape_tensor())
        extra = array.ones([array.where_v2(spread, batch_ndims, 0)], shape.dtype)
        return array.reshape(x, array.concat([shape[:-1], extra, shape[-1:], ones], 0))
