"""Ragged tensors as components of datasets: `RaggedTensorSpec`, and datasets of their rows."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.data.component_specs import ComponentSpec
from dataflow.dtypes import as_dtype
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.logging_ops import Assert
from dataflow.ops.optional import optional_from_value_op, optional_get_value_op
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.shape import shape
from dataflow.ops.type_specs import TensorSpec, TypeSpec
from dataflow.shapes import Dims, TensorShape, as_dims


def number_of_rows(leaves: list[Any]) -> Tensor:
    """How many rows (int64) ragged tensors and tensors beside them have; a run raises where they differ.

    Raises `TypeError` for leaves that have no rows to take one by one.
    """
    numbers = []
    for leaf in leaves:
        if not isinstance(leaf, (RaggedTensor, Tensor)):
            raise TypeError(
                f"beside ragged tensors from_tensor_slices takes tensors, got {leaf!r}: make a dataset of it "
                "alone, and tf.data.Dataset.zip both."
            )
        rows = leaf.nrows() if isinstance(leaf, RaggedTensor) else shape(leaf)[0]
        numbers.append(cast(rows, dtypes.int64))
    text = "from_tensor_slices: the components differ in their number of rows."
    same = [Assert(equal(numbers[0], number), [text]) for number in numbers[1:]]
    return with_dependencies(same, numbers[0]) if same else numbers[0]  # type: ignore[no-any-return]


class RaggedTensorSpec(ComponentSpec):
    """The shape, dtype and number of ragged axes of a `RaggedTensor`, and the dtype of its row splits.

    ``ragged_rank`` None: one less than the rank of ``shape``. In a dataset a variant stands for it, which holds
    its flat values and splits.
    """

    _parts = ("shape", "dtype", "ragged_rank", "row_splits_dtype")

    def __init__(
        self,
        shape: DynamicShapeLike | None = None,
        dtype: DTypeLike = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = dtypes.int64,
    ) -> None:
        self._shape = self.shape = TensorShape(shape)
        self._dtype = self.dtype = as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        rank = self.shape.ndims
        if ragged_rank is None and rank is None:
            raise ValueError("Must specify ragged_rank or a shape with a known rank.")
        known = rank - 1 if ragged_rank is None and rank is not None else ragged_rank
        assert known is not None
        if rank is not None and known >= rank:
            raise ValueError(f"ragged_rank ({known}) must be less than rank ({rank}).")
        self._ragged_rank = known

    @staticmethod
    def from_value(value: RaggedTensor) -> RaggedTensorSpec:
        """The spec of a ragged tensor."""
        splits = value.row_splits.dtype
        return RaggedTensorSpec(value.shape, value.dtype.base_dtype, value.ragged_rank, splits)

    @property
    def ragged_rank(self) -> int:
        """How many axes are ragged."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> Any:
        """The dtype of the row splits: int32 or int64."""
        return self._row_splits_dtype

    @property
    def value_type(self) -> Any:
        """The spec itself, as in TensorFlow: a class alone would not tell how many axes are ragged."""
        return self

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec or ragged tensor has these dtypes and ragged axes, and a shape that may be this one."""
        if isinstance(spec_or_value, RaggedTensor):
            spec_or_value = self.from_value(spec_or_value)
        if not isinstance(spec_or_value, RaggedTensorSpec):
            return False
        return (
            self.dtype is spec_or_value.dtype
            and self.ragged_rank == spec_or_value.ragged_rank
            and self.row_splits_dtype is spec_or_value.row_splits_dtype
            and self.shape.is_compatible_with(spec_or_value.shape)
        )

    _composite_parts = TypeSpec._composite_parts

    @property
    def _component_specs(self) -> list[Any]:
        dims = as_dims(self.shape)
        inner: Dims = None if dims is None else (None, *dims[self._ragged_rank + 1 :])
        splits = [TensorSpec([None], self._row_splits_dtype)] * self._ragged_rank
        return [TensorSpec(TensorShape(inner), self._dtype), *splits]

    def _to_components(self, value: RaggedTensor) -> list[Any]:
        return [value.flat_values, *value.nested_row_splits]

    def _from_components(self, components: Any) -> Any:
        return RaggedTensor.from_nested_row_splits(components[0], components[1:])

    def encode(self, value: Any) -> Tensor:
        """A scalar variant of the flat values and the splits of each ragged axis."""
        return optional_from_value_op([value.flat_values, *value.nested_row_splits])  # type: ignore[no-any-return]

    def decode(self, tensor: Tensor) -> Any:
        """The ragged tensor of such a variant."""
        dims = as_dims(self.shape)
        inner: Dims = None if dims is None else (None, *dims[self._ragged_rank + 1 :])
        flat_values, *splits = optional_get_value_op(
            tensor,
            output_types=[self.dtype, *[self._row_splits_dtype] * self._ragged_rank],
            output_shapes=[inner, *[(None,)] * self._ragged_rank],
        )
        return RaggedTensor.from_nested_row_splits(flat_values, splits)
