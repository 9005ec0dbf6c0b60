"""`FeatureTransformationCache`: the features of one call as tensors, and what columns made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.feature_column.base import FeatureColumn
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.assertions import assert_positive
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal, not_equal
from dataflow.ops.conditionals import cond
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.math import floordiv
from dataflow.ops.seeds import count_left_out
from dataflow.ops.segment import unsorted_segment_max
from dataflow.ops.sparse import sparse_reshape
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue


class FeatureTransformationCache:
    """The features of one call; what each column makes of them is made once.

    ``features``: a dict of tensors, `SparseTensor`s or values by key; it is copied, not changed.
    """

    def __init__(self, features: dict[Any, Any]) -> None:
        self._features = dict(features)
        self._made: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: Any = None) -> Any:
        """The feature ``key``, or what the column ``key`` makes of the features.

        A feature is at least of rank 2: a vector becomes a column. Raises `ValueError` for a feature
        that is missing or a scalar and for a column that makes None, `TypeError` for other keys.
        """
        if key in self._made:
            return self._made[key]
        if key in self._features:
            made = self._raw(key)
        elif isinstance(key, str):
            raise ValueError(
                f"Feature {key} is not in features dictionary. It has: "
                f"{sorted(map(str, self._features))}."
            )
        elif not isinstance(key, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {key}')
        else:
            made = self._transformed(key, state_manager)
            if made is None:
                raise ValueError(f"Column {key.name} is not supported.")
        self._made[key] = made
        return made

    def _transformed(self, column: Any, state_manager: Any) -> Any:
        return column.transform_feature(self, state_manager)

    def _raw(self, key: Any) -> Any:
        value = self._features[key]
        if isinstance(value, SparseTensorValue):
            value = SparseTensor.from_value(value)
        tensor: Any = value if isinstance(value, SparseTensor) else convert_to_tensor(value)
        rank = tensor.shape.ndims
        if rank is not None and rank > 1:
            return tensor
        message = f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"
        if rank == 0:
            raise ValueError(message)
        if rank == 1:
            return _as_column(tensor)
        if isinstance(tensor, SparseTensor):
            return tensor
        with control_dependencies([assert_positive(array.rank(tensor), message=message)]):
            return cond(equal(1, array.rank(tensor)), lambda: _as_column(tensor), lambda: tensor)


class LazyBuilder(FeatureTransformationCache):
    """A cache for the methods of before 1.13: what `input_layer` and `linear_model` read from.

    Columns that have both kinds of methods are asked by the old ones.
    """

    def _transformed(self, column: Any, state_manager: Any) -> Any:
        return column._transform_feature(self)


def _as_column(tensor: Any) -> Any:
    if isinstance(tensor, SparseTensor):
        return sparse_reshape(tensor, array.stack([tensor.dense_shape[0], np.int64(1)]))
    return array.expand_dims(tensor, -1)


def to_sparse_input(value: Any, ignore_value: Any = None, keep_all: bool = False) -> SparseTensor:
    """A dense tensor as a sparse one, without what stands for nothing: "", -1, and 0.0 of floats.

    ``ignore_value`` is another value that stands for nothing; with ``keep_all`` none does.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        return value
    tensor = convert_to_tensor(value)
    dtype = tensor.dtype.base_dtype
    with name_scope(None, "to_sparse_input", [tensor]):
        if keep_all:
            present = array.ones_like(tensor, dtypes.bool_)
        else:
            if ignore_value is None:
                ignore_value = "" if dtype is dtypes.string else -1 if dtype.is_integer else 0
                count_left_out(dtype is not dtypes.string)  # it is cast there
            present = not_equal(tensor, convert_to_tensor(ignore_value, dtype))
        indices = array.where(present, name="indices")
        return SparseTensor(
            indices,
            array.gather_nd(tensor, indices, name="values"),
            array.shape(tensor, out_type=dtypes.int64, name="dense_shape"),
        )


def sequence_length_from_sparse_tensor(sp_tensor: SparseTensor, num_elements: int = 1) -> Tensor:
    """How many steps each row has, up to its last value, with ``num_elements`` a step; int64 [batch]."""
    with name_scope(None, "sequence_length"):
        rows, columns = sp_tensor.indices[:, 0], sp_tensor.indices[:, 1]
        # Rows without values get the lowest int64 from the maximum: no step, not less than none.
        last = unsorted_segment_max(
            columns + np.int64(1), rows, cast(sp_tensor.dense_shape[0], dtypes.int32)
        )
        none = array.zeros_like(last)
        last = array.where(last > none, last, none)
        return floordiv(last + np.int64(num_elements - 1), np.int64(num_elements))
