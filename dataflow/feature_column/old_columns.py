"""The classes of columns before 1.13, which programs and tensorflow_hub subclass.

A column of these defines the methods with an underscore alone, and stands wherever a column can:
`FeatureColumn` and the other classes take them for their own. The other way round, every column has the
old methods, too, and is an instance of the old classes.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

from dataflow.feature_column import base


class OldFeatureColumn(metaclass=ABCMeta):
    """A column that defines ``_parse_example_spec`` and ``_transform_feature(inputs)``."""

    _is_v2_column = False
    __lt__ = base.FeatureColumn.__lt__
    __gt__ = base.FeatureColumn.__gt__

    @property
    @abstractmethod
    def name(self) -> str:
        """The name, which no other column of a model may have."""

    @property
    def _var_scope_name(self) -> str:
        return self.name

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        raise NotImplementedError

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What `tf.parse_example` needs to read the column's features."""
        return self._parse_example_spec

    def create_state(self, state_manager: Any) -> None:
        """Nothing: an old column makes its variables when it is read."""
        return

    def _transform_feature(self, inputs: Any) -> Any:
        raise NotImplementedError

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """What the column makes of the features."""
        return self._transform_feature(transformation_cache)


class OldDenseColumn(OldFeatureColumn):
    """A column of numbers that defines ``_variable_shape`` and ``_get_dense_tensor``."""

    @property
    def _variable_shape(self) -> Any:
        raise NotImplementedError

    @property
    def variable_shape(self) -> Any:
        """The shape of one example's numbers."""
        return self._variable_shape

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        raise NotImplementedError

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The numbers, float32 [batch, *variable_shape]."""
        return self._get_dense_tensor(transformation_cache)


class OldCategoricalColumn(OldFeatureColumn):
    """A column of ids that defines ``_num_buckets`` and ``_get_sparse_tensors``."""

    IdWeightPair = base.IdsAndWeights

    @property
    def _num_buckets(self) -> int:
        raise NotImplementedError

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self._num_buckets

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        raise NotImplementedError

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The ids of a batch, and their weights."""
        return self._get_sparse_tensors(transformation_cache)


class OldSequenceDenseColumn(OldFeatureColumn):
    """A column of sequences that defines ``_get_sequence_dense_tensor``."""

    TensorSequenceLengthPair = base.StepsAndLengths

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        raise NotImplementedError

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The numbers of every step, and the lengths."""
        return self._get_sequence_dense_tensor(transformation_cache)


def _are_each_other(old: Any, later: Any) -> None:
    later.register(old)

    def hook(cls: type, other: type) -> Any:
        return True if cls is old and later in other.__mro__ else NotImplemented

    old.__subclasshook__ = classmethod(hook)


_are_each_other(OldFeatureColumn, base.FeatureColumn)
_are_each_other(OldDenseColumn, base.DenseColumn)
_are_each_other(OldCategoricalColumn, base.CategoricalColumn)
_are_each_other(OldSequenceDenseColumn, base.SequenceDenseColumn)
