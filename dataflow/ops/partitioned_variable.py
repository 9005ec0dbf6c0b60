"""`PartitionedVariable`: one variable that is kept in parts, cut along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops.variables import Variable
from dataflow.shapes import TensorShape


def _rank(value: Any) -> int | None:
    """The rank of a tensor, an array, or a nested list of them; None where it is not known."""
    if isinstance(value, (list, tuple)):
        return 1 + (_rank(value[0]) or 0) if value else 1
    if isinstance(value, (Tensor, Variable)):
        return value.get_shape().ndims
    return np.ndim(value)


class PartitionedVariable:
    """One variable cut into parts along one axis; used as a tensor it is the whole."""

    def __init__(
        self,
        name: str,
        shape: DynamicShapeLike,
        dtype: DTypeLike,
        variable_list: list[Variable],
        partitions: list[int],
    ) -> None:
        _check_parts(variable_list, partitions, shape)
        self._name = name
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._variable_list = sorted(
            variable_list,
            key=_offset,
        )
        self._partitions = partitions

    def __iter__(self) -> Any:
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._variable_list)

    def _get_variable_list(self) -> list[Variable]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self.partitions

    def _partition_axes(self) -> list[int]:
        axes = [i for i, p in enumerate(self._partitions) if p > 1]
        return axes or [0]

    def as_tensor(self) -> Tensor:
        """The parts put together; the node is named as the whole is."""
        from dataflow.ops.array import concat, identity

        graph = self._variable_list[0].graph
        with graph.control_dependencies(None):
            if len(self._variable_list) == 1:
                whole = self._variable_list[0].value()
            else:
                with graph.name_scope(self._name + "/ConcatPartitions/"):
                    parts = [v.value() for v in self._variable_list]
                    whole = concat(parts, self._partition_axes()[0])
            with graph.name_scope(None):
                return identity(whole, name=self._name)

    def _dense_var_to_tensor(
        self, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
    ) -> Tensor:
        if as_ref:
            raise NotImplementedError("A PartitionedVariable has no single reference to assign to.")
        return self.as_tensor()

    @property
    def partitions(self) -> list[int]:
        """The number of parts along each axis."""
        return list(self._partitions)

    @property
    def name(self) -> str:
        """The name of the whole."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of every part."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self._shape

    def _slices(self, value: Any) -> list[Any]:
        """What each part gets of ``value``, or of a list that has an entry of its rank for each part."""
        from dataflow.ops.array import slice_

        parts, rank = self._variable_list, len(self._partitions)
        if isinstance(value, list) and [_rank(own) for own in value] == [rank] * len(parts):
            return value
        tensor = convert_to_tensor(value)
        infos = [v._get_save_slice_info() for v in parts]
        return [slice_(tensor, info.var_offset, info.var_shape) for info in infos if info]

    def _each(self, method: str, value: Any, *further: Any) -> list[Any]:
        pairs = zip(self._variable_list, self._slices(value), strict=True)
        return [getattr(v, method)(own, *further) for v, own in pairs]

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Assigns each part its slice of ``value``, or its entry of a list with one for each part."""
        return self._each("assign", value, use_locking, name, read_value)

    def assign_add(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Adds to each part what `assign` would put there."""
        return self._each("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Subtracts from each part what `assign` would put there."""
        return self._each("assign_sub", value, use_locking, name, read_value)

    @property
    def initializer(self) -> Any:
        """One op that initializes all parts."""
        from dataflow.ops.control_flow import group

        return group(*[v.initializer for v in self._variable_list])


def _check_parts(parts: list[Variable], partitions: list[int], shape: Any) -> None:
    if not parts:
        raise ValueError("variable_list may not be empty")
    if any(count <= 0 for count in partitions):
        raise ValueError(f"partition values must be positive: {partitions}")
    for part in parts:
        info = part._get_save_slice_info()
        if info is None:
            raise ValueError(f"All variables must have a save_slice_info available: {part.name}")
        if list(info.full_shape) != TensorShape(shape).as_list():
            raise ValueError(
                f"All variables' full shapes must match shape: {shape}; but {part.name} is a part "
                f"of {list(info.full_shape)}"
            )


def _offset(part: Variable) -> tuple[int, ...]:
    info = part._get_save_slice_info()
    return tuple(info.var_offset) if info else ()
