"""What feature columns are: the classes that every column belongs to, and how one is described.

A column reads features through a `FeatureTransformationCache`, which keeps what each column made of
them, and keeps its variables in a `StateManager`. Before 1.13 columns had other methods, which took the
variables' collections instead (``_get_dense_tensor(inputs, weight_collections, trainable)``): programs
call them, and every column has them, in terms of the later ones.
"""

from __future__ import annotations

import dataclasses
from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow import dtypes
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.casts import cast
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import TensorShape

if TYPE_CHECKING:
    from dataflow.feature_column.state import StateManager
    from dataflow.feature_column.transformation import FeatureTransformationCache


class IdsAndWeights(NamedTuple):
    """A batch of categories: sparse int64 ids [batch, n], and a weight for each or None."""

    id_tensor: SparseTensor
    weight_tensor: SparseTensor | None


class StepsAndLengths(NamedTuple):
    """A batch of sequences: numbers [batch, steps, ...], and the lengths, int64 [batch]."""

    dense_tensor: Tensor
    sequence_length: Tensor


class FeatureColumn(metaclass=ABCMeta):
    """Base of all columns: how a feature becomes input of a model."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name, which no other column of a model may have."""

    def transform_feature(
        self, transformation_cache: FeatureTransformationCache, state_manager: StateManager | None
    ) -> Any:
        """What the column makes of the features: numbers, or sparse ids; made once for a cache."""
        raise NotImplementedError

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What `tf.parse_example` needs to read the column's features."""
        raise NotImplementedError

    def create_state(self, state_manager: StateManager) -> None:
        """Makes the column's variables; most columns have none."""
        return

    @property
    def parents(self) -> list[Any]:
        """What the column is made of: keys of features, and columns."""
        raise NotImplementedError

    @property
    def _is_v2_column(self) -> bool:
        return all(p._is_v2_column for p in self.parents if not isinstance(p, str))

    def _get_config(self) -> dict[str, Any]:
        from dataflow.feature_column.serialization import config_of

        if not dataclasses.is_dataclass(self):
            raise NotImplementedError(f"{type(self).__name__} has no _get_config.")
        return {f.name: config_of(getattr(self, f.name)) for f in dataclasses.fields(self)}

    @classmethod
    def _from_config(
        cls,
        config: dict[str, Any],
        custom_objects: dict[str, Any] | None = None,
        columns_by_name: dict[str, Any] | None = None,
    ) -> Any:
        from dataflow.feature_column.serialization import arguments_of

        if not dataclasses.is_dataclass(cls):
            raise NotImplementedError(f"{cls.__name__} has no _from_config.")
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**arguments_of(config, names, custom_objects, columns_by_name))

    def __lt__(self, other: Any) -> bool:
        return str(self) < str(other)

    def __gt__(self, other: Any) -> bool:
        return str(self) > str(other)

    # ---- the methods of before 1.13 -------------------------------------------------------

    @property
    def _var_scope_name(self) -> str:
        return self.name

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec

    def _transform_feature(self, inputs: FeatureTransformationCache) -> Any:
        return self.transform_feature(inputs, None)


class DenseColumn(FeatureColumn):
    """A column that is numbers: `input_layer` takes it."""

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of one example's numbers."""
        raise NotImplementedError

    def get_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> Tensor:
        """The numbers, float32 [batch, *variable_shape]."""
        raise NotImplementedError

    @property
    def _variable_shape(self) -> TensorShape:
        return self.variable_shape

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Tensor:
        from dataflow.feature_column.state import ScopedState

        return self.get_dense_tensor(inputs, ScopedState(weight_collections, trainable))


class CategoricalColumn(FeatureColumn):
    """A column that is ids of categories: `linear_model`, or wrapped into a dense column."""

    IdWeightPair = IdsAndWeights

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        raise NotImplementedError

    def get_sparse_tensors(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> IdsAndWeights:
        """The ids of a batch, and their weights."""
        raise NotImplementedError

    @property
    def _num_buckets(self) -> int:
        return self.num_buckets

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> IdsAndWeights:
        return self.get_sparse_tensors(inputs, None)


class SequenceDenseColumn(FeatureColumn):
    """A column that is numbers for every step of a sequence: `SequenceFeatures` takes it."""

    TensorSequenceLengthPair = StepsAndLengths

    def get_sequence_dense_tensor(
        self, transformation_cache: FeatureTransformationCache, state_manager: Any
    ) -> StepsAndLengths:
        """The numbers, float32 [batch, steps, *variable_shape], and the lengths."""
        raise NotImplementedError

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> StepsAndLengths:
        from dataflow.feature_column.state import ScopedState

        return self.get_sequence_dense_tensor(inputs, ScopedState(weight_collections, trainable))


def check_categorical(column: Any) -> None:
    """Raises `ValueError` unless ``column`` is categorical."""
    if not isinstance(column, CategoricalColumn):
        raise ValueError(
            f"Unsupported input type. Input must be a CategoricalColumn. Given: {column}"
        )


def check_key(key: Any) -> None:
    """Raises `ValueError` unless ``key`` is a string."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def check_dtype(dtype: DTypeLike, key: str) -> Any:
    """A column's dtype; raises `ValueError` unless it is string or integer."""
    dtype = dtypes.as_dtype(dtype)
    if not (dtype is dtypes.string or dtype.is_integer):
        raise ValueError(f"dtype must be string or integer. dtype: {dtype}, column_name: {key}")
    return dtype


def check_shape(shape: Any, key: str) -> tuple[int, ...]:
    """A column's shape as a tuple; `TypeError` for no integers, `ValueError` for those below 1."""
    dims = tuple(shape) if isinstance(shape, (list, tuple, TensorShape)) else (shape,)
    for dim in dims:
        if not isinstance(dim, int):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if dim < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return dims


def as_int64(values: Tensor) -> Tensor:
    """Integers as int64."""
    return values if values.dtype.base_dtype is dtypes.int64 else cast(values, dtypes.int64)
