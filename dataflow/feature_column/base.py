"""What feature columns share: the classes of columns, and the features as tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.comparison import not_equal
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue
from dataflow.shapes import as_dims


class IdsAndWeights(NamedTuple):
    """A batch of categories: sparse int64 ids [batch, n], and a weight for each or None."""

    ids: SparseTensor
    weights: SparseTensor | None


class Features:
    """The features of one call, as tensors; what columns make of them is made once."""

    def __init__(self, features: dict[str, Any]) -> None:
        self._features = features
        self._made: dict[Any, Any] = {}

    @property
    def num_examples(self) -> int | None:
        """The batch size, where a dense feature's shape says it."""
        for value in self._features.values():
            dims = as_dims(getattr(value, "shape", None))
            if dims and not isinstance(value, (SparseTensor, SparseTensorValue)):
                return dims[0]
            if isinstance(value, (list, tuple)) and not isinstance(value, SparseTensorValue):
                return len(value)
        return None

    def raw(self, key: str) -> Tensor | SparseTensor:
        """The feature ``key``, at least of rank 2: a vector becomes a column.

        Raises `ValueError` for a feature that is missing or a scalar.
        """
        return self.once(("raw", key), lambda: self._raw(key))  # type: ignore[no-any-return]

    def _raw(self, key: str) -> Tensor | SparseTensor:
        if key not in self._features:
            raise ValueError(
                f"Feature {key} is not in features dictionary. It has: "
                f"{sorted(map(str, self._features))}."
            )
        value = self._features[key]
        if isinstance(value, SparseTensorValue):
            value = SparseTensor.from_value(value)
        if isinstance(value, SparseTensor):
            return value
        tensor = convert_to_tensor(value)
        if tensor.dims == ():
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {tensor}")
        if tensor.dims is not None and len(tensor.dims) == 1:
            return array.expand_dims(tensor, -1)
        return tensor

    def sparse(self, key: str) -> SparseTensor:
        """The feature as a SparseTensor; "" and -1 in a dense one stand for nothing."""
        return self.once(("sparse", key), lambda: to_sparse(self.raw(key)))  # type: ignore[no-any-return]

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """``make()``, and the same result for the same key afterwards."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def to_sparse(value: Tensor | SparseTensor, keep_all: bool = False) -> SparseTensor:
    """A dense tensor as a sparse one, without "" and -1 unless ``keep_all``."""
    if isinstance(value, SparseTensor):
        return value
    if keep_all:
        present = array.ones_like(value, dtypes.bool_)
    else:
        absent: Any = "" if value.dtype.base_dtype is dtypes.string else -1
        present = not_equal(value, convert_to_tensor(absent, value.dtype.base_dtype))
    indices = array.where(present)
    return SparseTensor(
        indices, array.gather_nd(value, indices), array.shape(value, out_type=dtypes.int64)
    )


class FeatureColumn:
    """Base of all columns: how a feature becomes input of a model."""

    @property
    def name(self) -> str:
        """The name, which no other column of a model may have."""
        raise NotImplementedError

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What `tf.parse_example` needs to read the column's features."""
        raise NotImplementedError


class DenseColumn(FeatureColumn):
    """A column that is numbers: `input_layer` takes it."""

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of one example's numbers."""
        raise NotImplementedError

    @property
    def var_scope_name(self) -> str:
        """The scope of its variables in `input_layer`."""
        return self.name

    def dense(self, features: Features, weight_collections: Any, trainable: bool) -> Tensor:
        """The numbers, float32 [batch, *variable_shape]."""
        raise NotImplementedError


class CategoricalColumn(FeatureColumn):
    """A column that is ids of categories: `linear_model`, or wrapped into a dense column."""

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        raise NotImplementedError

    def categories(self, features: Features) -> IdsAndWeights:
        """The ids of a batch."""
        raise NotImplementedError


def check_categorical(column: Any) -> None:
    """Raises `ValueError` unless ``column`` is categorical."""
    if not isinstance(column, CategoricalColumn):
        raise ValueError(
            f"Unsupported input type. Input must be a CategoricalColumn. Given: {column}"
        )


def check_dtype(dtype: DTypeLike, key: str) -> Any:
    """A column's dtype; raises `ValueError` unless it is string or integer."""
    dtype = dtypes.as_dtype(dtype)
    if not (dtype is dtypes.string or dtype.is_integer):
        raise ValueError(f"dtype must be string or integer. dtype: {dtype}, column_name: {key}")
    return dtype


def as_int64(values: Tensor) -> Tensor:
    """Integers as int64."""
    return values if values.dtype.base_dtype is dtypes.int64 else cast(values, dtypes.int64)
