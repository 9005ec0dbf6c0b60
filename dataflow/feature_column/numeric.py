"""Numeric columns, and numbers cut into buckets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.feature_column.base import CategoricalColumn, DenseColumn, Features, IdsAndWeights
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.counting import bucketize_op
from dataflow.ops.parsing import FixedLenFeature
from dataflow.ops.sparse_tensor import SparseTensor


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """See `numeric_column`."""

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
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of fixed length."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The given shape."""
        return self.shape

    def numbers(self, features: Features) -> Tensor:
        """The normalized numbers, float32."""

        def make() -> Tensor:
            tensor = features.raw(self.key)
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

        return features.once(self, make)  # type: ignore[no-any-return]

    def dense(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        """The numbers."""
        return self.numbers(features)


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
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Given: {key!r}")
    dims = tuple(int(d) for d in ([shape] if isinstance(shape, (int, np.integer)) else shape))
    if any(d < 1 for d in dims):
        raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    default: Any = default_value
    if default_value is not None:
        values = np.asarray(default_value)
        if values.ndim == 0:
            values = np.broadcast_to(values, dims)
        if values.shape != dims:
            raise ValueError(
                "The shape of default_value must be equal to given shape. "
                f"default_value: {default_value}, shape: {dims}, key: {key}"
            )
        if dtype.is_integer and not np.issubdtype(values.dtype, np.integer):
            raise TypeError(
                f"default_value must be compatible with dtype. default_value: {default_value}, "
                f"dtype: {dtype}, key: {key}"
            )
        default = _nested_tuple(values.tolist())
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return NumericColumn(key, dims, default, dtype, normalizer_fn)


def _nested_tuple(value: Any) -> Any:
    """Tuples, so that the column can be a key of a dict."""
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
    def parse_example_spec(self) -> dict[str, Any]:
        """The source's."""
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """One-hot for each number."""
        return (*self.source_column.shape, len(self.boundaries) + 1)

    @property
    def num_buckets(self) -> int:
        """Each number of the source has buckets of its own."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def _buckets(self, features: Features) -> Tensor:
        return features.once(  # type: ignore[no-any-return]
            self,
            lambda: bucketize_op(
                self.source_column.numbers(features), boundaries=list(self.boundaries)
            ),
        )

    def dense(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        """One-hot vectors."""
        depth = len(self.boundaries) + 1
        return array.one_hot(cast(self._buckets(features), dtypes.int64), depth, 1.0, 0.0)

    def categories(self, features: Features) -> IdsAndWeights:
        """For number j of an example the id ``bucket + j * (len(boundaries) + 1)``."""
        width = self.source_column.shape[0]
        buckets = array.reshape(self._buckets(features), [-1, width])
        places = array.range_(0, width) * (len(self.boundaries) + 1)
        ids = cast(buckets + array.expand_dims(places, 0), dtypes.int64)
        indices = array.where(array.ones_like(ids, dtypes.bool_))
        sparse = SparseTensor(
            indices, array.reshape(ids, [-1]), array.shape(ids, out_type=dtypes.int64)
        )
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
    if boundaries is None or len(boundaries) == 0:
        raise ValueError(f"boundaries must not be empty; got {boundaries!r}.")
    values = tuple(float(b) for b in boundaries)
    if any(a >= b for a, b in itertools.pairwise(values)):
        raise ValueError(f"boundaries must be a sorted list. Given: {list(boundaries)}")
    return BucketizedColumn(source_column, values)
