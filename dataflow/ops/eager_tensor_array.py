"""`TensorArray` with eager execution: a list of tensors."""

from __future__ import annotations

from typing import Any

from dataflow import shapes
from dataflow.dtypes import as_dtype, int32
from dataflow.errors import InvalidArgumentError, OutOfRangeError
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.tensor_array import TensorArray


class EagerTensorArray(TensorArray):
    """What ``tf.TensorArray(...)`` makes with eager execution; a write changes it in place."""

    def __init__(
        self,
        dtype: DTypeLike,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        del tensor_array_name, flow, colocate_with_first_write_call
        if handle is not None:
            raise ValueError(
                "TensorArray handles are not supported when eager execution is enabled."
            )
        if size is None:
            raise ValueError(
                "Size must be declared for TensorArrays when eager execution is enabled."
            )
        self._dtype = as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape or element_shape is not None
        self._shape_holder = [None if element_shape is None else shapes.as_dims(element_shape)]
        self._clear_after_read = clear_after_read is None or bool(clear_after_read)
        self._name = name or "TensorArray"
        self._elements: list[Tensor | None] = [None] * int(size)
        self._read: set[int] = set()

    @property
    def flow(self) -> Tensor:
        """A placeholder value; eager arrays have no flow."""
        return convert_to_tensor(0, self._dtype)

    @property
    def handle(self) -> Any:
        """None, as there is no resource."""
        return None

    def identity(self) -> TensorArray:
        """The array itself."""
        return self

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Raises an error: with eager execution use `tf.GradientTape`."""
        raise NotImplementedError(
            "TensorArray.grad is not supported when executing eagerly; eager's gradient implementation "
            "does not use/need this function to compute gradients of operations that use TensorArrays."
        )

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element ``index``; `OutOfRangeError` where there is none, `InvalidArgumentError` for one
        that was not written or was read before (and ``clear_after_read`` is not False)."""
        at = int(index)
        if at < 0:
            raise OutOfRangeError(
                None, None, f"Reading from negative indices (index {at}) is not allowed."
            )
        if at >= len(self._elements):
            raise OutOfRangeError(
                None,
                None,
                f"Tried to read from index {at} but array size is: {len(self._elements)}",
            )
        element = self._elements[at]
        if element is None:
            if at in self._read:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Could not read index {at} twice because it was cleared after a previous read "
                    "(perhaps try setting clear_after_read = false?)",
                )
            element = self._elements[at] = self._unwritten(at)
        if self._clear_after_read:
            self._elements[at] = None
            self._read.add(at)
        return element

    def _unwritten(self, index: int) -> Tensor:
        from dataflow.ops.fills import zeros

        dims = self._shape_holder[0]
        if dims is None or None in dims:
            raise InvalidArgumentError(
                None,
                None,
                f"Could not read from TensorArray index {index}: it was not written, and the shape of the "
                "elements is not known.",
            )
        return zeros(dims, self._dtype)

    def write(self, index: Any, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes ``value`` as element ``index``, and returns the array."""
        at = int(index)
        if at < 0:
            raise OutOfRangeError(
                None, None, f"Writing to negative indices (index {at}) is not allowed."
            )
        size = len(self._elements)
        if at >= size:
            if not self._dynamic_size:
                raise OutOfRangeError(
                    None,
                    None,
                    f"Tried to write to index {at} but array is not resizeable and size is: {size}",
                )
            self._elements += [None] * (at + 1 - size)
        tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if tensor.dtype is not self._dtype:
            raise InvalidArgumentError(
                None,
                None,
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {tensor.dtype.name}",
            )
        if not shapes.compatible(self._shape_holder[0], tensor.dims):
            raise ValueError(
                f"Incompatible shape for value ({tensor.shape}), expected ({self.element_shape})"
            )
        if self._infer_shape:
            self._shape_holder[0] = shapes.merge(self._shape_holder[0], tensor.dims)
        self._elements[at] = tensor
        return self

    def _all(self) -> list[Tensor]:
        return [
            self._unwritten(i) if element is None else element
            for i, element in enumerate(self._elements)
        ]

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as one tensor of shape [size, ...]; zeros where nothing was written."""
        from dataflow.ops.array import stack

        if not self._elements:
            return self._empty(0)
        result = stack(self._all(), name=name or "stack")
        if self._clear_after_read:
            self._read.update(range(len(self._elements)))
            self._elements = [None] * len(self._elements)
        return result

    def _empty(self, count: int) -> Tensor:
        from dataflow.ops.fills import zeros

        return zeros([count, *(d or 0 for d in self._shape_holder[0] or ())], self._dtype)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements ``indices`` as one tensor of shape [number of indices, ...]."""
        from dataflow.ops.array import stack

        chosen = [self.read(i) for i in _whole_numbers(indices)]
        return stack(chosen, name=name or "stack") if chosen else self._empty(0)

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, concatenated along their first axis."""
        from dataflow.ops.array import concat

        return concat(self._all(), 0, name=name or "concat")

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes row i of ``value`` as element i."""
        from dataflow.ops.array import unstack

        rows = unstack(convert_to_tensor(value, preferred_dtype=self._dtype, name="value"))
        if len(rows) > len(self._elements) and not self._dynamic_size:
            raise ValueError(
                f"Cannot unstack {len(rows)} tensors into a TensorArray of static size "
                f"{len(self._elements)}"
            )
        for i, row in enumerate(rows):
            self.write(i, row)
        return self

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorArray:
        """Writes row i of ``value`` as element ``indices[i]``."""
        from dataflow.ops.array import unstack

        rows = unstack(convert_to_tensor(value, preferred_dtype=self._dtype, name="value"))
        for i, row in zip(_whole_numbers(indices), rows, strict=True):
            self.write(i, row)
        return self

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Cuts ``value`` along its first axis; piece i, of length ``lengths[i]``, is element i."""
        tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        counts = _whole_numbers(lengths)
        if sum(counts) != tensor.shape.as_list()[0]:
            raise InvalidArgumentError(
                None,
                None,
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(counts)} and value's shape is: {tensor.shape}",
            )
        start = 0
        for i, count in enumerate(counts):
            self.write(i, tensor[start : start + count])
            start += count
        return self

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, a scalar int32."""
        return convert_to_tensor(len(self._elements), int32)

    def close(self, name: str | None = None) -> Any:
        """Drops the elements."""
        self._elements = []

    def __repr__(self) -> str:
        return f"<tf.TensorArray {self._name!r} dtype={self._dtype.name} element_shape={self.element_shape}>"


def _whole_numbers(values: Any) -> list[int]:
    return [int(v) for v in convert_to_tensor(values).numpy()]  # type: ignore[attr-defined]
