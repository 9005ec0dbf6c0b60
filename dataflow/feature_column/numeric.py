"""Numeric columns, and numbers cut into buckets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    IdsAndWeights,
    check_key,
    check_shape,
)
from dataflow.feature_column.transformation import FeatureTransformationCache
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.counting import bucketize_op
from dataflow.ops.parsing import FixedLenFeature
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import TensorShape


@dataclass(frozen=True)
class NumbersOfKey:
    """The columns of numbers of one feature: [batch, *shape], or such steps."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: Any
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The feature's key."""
        return self.key

    @property
    def parents(self) -> list[Any]:
        """The feature's key."""
        return [self.key]

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of an example, or of a step."""
        return TensorShape(self.shape)


@dataclass(frozen=True)
class NumericColumn(NumbersOfKey, DenseColumn):
    """See `numeric_column`."""

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of fixed length."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Tensor:
        """The normalized numbers, float32."""
        tensor = transformation_cache.get(self.key, state_manager)
        if isinstance(tensor, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor "
                f"is not supported. key: {self.key}"
            )
        if tensor.dtype.base_dtype is dtypes.string:
            raise ValueError(
                f"The feature {self.key!r} of a numeric column holds strings; use a "
                "categorical column, or tf.string_to_number first."
            )
        result = self.normalizer_fn(tensor) if self.normalizer_fn is not None else tensor
        return cast(result, dtypes.float32)  # type: ignore[no-any-return]

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Tensor:
        """The numbers."""
        return transformation_cache.get(self, state_manager)  # type: ignore[no-any-return]


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: DTypeLike = dtypes.float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """A feature that is numbers, ``shape`` for each example; used as float32.

    ``normalizer_fn`` takes the tensor and gives another one. ``default_value`` is for examples
    that lack the feature, when they are parsed. Raises `ValueError` for a shape that is not
    positive, a default that does not fit, a dtype that is not a number.
    """
    dims = check_shape(shape, key)
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    default = _default(dims, default_value, dtype, key)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    check_key(key)
    return NumericColumn(key, dims, default, dtype, normalizer_fn)


def _default(dims: tuple[int, ...], value: Any, dtype: Any, key: str) -> Any:
    """The default as nested tuples, so that the column can be a key of a dict."""
    if value is None:
        return None
    values = np.asarray(value)
    if isinstance(value, (list, tuple, np.ndarray)) and values.shape != dims:
        raise ValueError(
            "The shape of default_value must be equal to given shape. "
            f"default_value: {value}, shape: {dims}, key: {key}"
        )
    whole = values.dtype.kind in "iub"
    if not (whole or (np.issubdtype(values.dtype, np.floating) and dtype.is_floating)):
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {value}, "
            f"dtype: {dtype}, key: {key}"
        )
    return _nested_tuple(np.broadcast_to(values, dims).tolist())


def _nested_tuple(value: Any) -> Any:
    return tuple(_nested_tuple(v) for v in value) if isinstance(value, list) else value


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """See `bucketized_column`."""

    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """The source's name and ``_bucketized``."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parents(self) -> list[Any]:
        """The source."""
        return [self.source_column]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The source's."""
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """One-hot for each number."""
        return TensorShape([*self.source_column.shape, len(self.boundaries) + 1])

    @property
    def num_buckets(self) -> int:
        """Each number of the source has buckets of its own."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Tensor:
        """The bucket of each number."""
        numbers = transformation_cache.get(self.source_column, state_manager)
        return bucketize_op(numbers, boundaries=[float(b) for b in self.boundaries])  # type: ignore[no-any-return]

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Tensor:
        """One-hot vectors."""
        buckets = transformation_cache.get(self, state_manager)
        return array.one_hot(cast(buckets, dtypes.int64), len(self.boundaries) + 1, 1.0, 0.0)

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdsAndWeights:
        """For number j of an example the id ``bucket + j * (len(boundaries) + 1)``."""
        width = self.source_column.shape[0]
        buckets = array.reshape(transformation_cache.get(self, state_manager), [-1, width])
        places = array.range_(0, width) * (len(self.boundaries) + 1)
        ids = cast(buckets + array.expand_dims(places, 0), dtypes.int64)
        indices = array.where(array.ones_like(ids, dtypes.bool_))
        sparse = SparseTensor(
            indices, array.reshape(ids, [-1]), array.shape(ids, out_type=dtypes.int64)
        )
        count_left_out(13)  # rows and places are made by two ranges there, joined and transposed
        return IdsAndWeights(sparse, None)


def bucketized_column(source_column: Any, boundaries: Any) -> BucketizedColumn:
    """Numbers cut at ``boundaries``: n of them make n + 1 buckets, (-inf, b0), [b0, b1), ...

    Raises `ValueError` for a source that is not one-dimensional numbers, and for boundaries that
    are not sorted.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            f"source_column must be a column generated with numeric_column(). Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not isinstance(boundaries, (list, tuple)):
        raise ValueError(f"boundaries must be a sorted list. Given: {boundaries!r}")
    if not boundaries:
        raise ValueError(f"boundaries must not be empty; got {boundaries!r}.")
    values = tuple(boundaries)
    if any(a >= b for a, b in itertools.pairwise(values)):
        raise ValueError(f"boundaries must be a sorted list. Given: {list(boundaries)}")
    return BucketizedColumn(source_column, values)
