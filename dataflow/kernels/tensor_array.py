"""The arrays behind `tf.TensorArray`. A handle is the array object itself; it lives for one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.cuda.concat import concatenate, stack
from dataflow.kernels.registry import kernel

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_FLOW = np.float32(0)
_CLEARED = object()


class ArrayState:
    """Elements (``None``: not written yet) and, for each backward pass, an array of gradients.

    ``shapes`` outlive the elements, which a read may clear. In an array of gradients
    (``accumulates``) writes add up, and an element never written reads as zeros.
    """

    __slots__ = (
        "accumulates",
        "clear_after_read",
        "dtype",
        "dynamic",
        "element_shape",
        "elements",
        "gathered",
        "gradients",
        "has_alike_elements",
        "name",
        "prepended",
        "shapes",
        "source",
        "xp",
    )

    def __init__(
        self,
        xp: Module,
        name: str,
        dtype: Any,
        size: int,
        element_shape: Any = None,
        dynamic: bool = False,
        clear_after_read: bool = True,
        source: ArrayState | None = None,
    ) -> None:
        self.xp = xp
        self.name = name
        self.has_alike_elements = False  # an element that was written tells the shape of all
        self.dtype = dtype
        self.elements: list[Any] = [None] * size
        self.shapes: list[Any] = [None] * size
        self.element_shape = element_shape
        self.dynamic = dynamic
        self.clear_after_read = clear_after_read
        self.source = source
        self.accumulates = source is not None
        self.gathered = False
        self.prepended: tuple[int, ...] = ()
        self.gradients: dict[str, ArrayState] = {}

    def gradient(self, source: str, prepended: tuple[int, ...] = ()) -> ArrayState:
        """The array of gradients for one backward pass; each gradient has ``prepended`` sizes in front."""
        found = self.gradients.get(source)
        if found is None:
            found = self.gradients[source] = ArrayState(
                self.xp,
                f"{self.name}@{source}",
                self.dtype,
                len(self.elements),
                self.element_shape and (*prepended, *self.element_shape),
                self.dynamic,
                False,
                self,
            )
            found.prepended = prepended
        return found

    def fail(self, text: str) -> InvalidArgumentError:
        return InvalidArgumentError(None, None, f"TensorArray {self.name}: {text}")

    def _grow(self, size: int, index: int) -> None:
        if not self.dynamic:
            raise self.fail(
                f"Tried to write to index {index} but array is not resizeable and size is: "
                f"{len(self.elements)}. Give a larger size, or dynamic_size=True."
            )
        extra = size - len(self.elements)
        self.elements.extend([None] * extra)
        self.shapes.extend([None] * extra)

    def write(self, index: int, value: Any) -> None:
        if index < 0:
            raise self.fail(f"Tried to write to index {index}, which is negative.")
        if index >= len(self.elements):
            self._grow(index + 1, index)
        shape = value.shape
        if self.element_shape is not None and not _fits(shape, self.element_shape):
            raise self.fail(
                f"Could not write to TensorArray index {index} because the value shape is "
                f"{list(shape)} which is incompatible with the TensorArray's element shape: "
                f"{list(self.element_shape)}."
            )
        if self.gathered:  # a loop would take the sum so far for what this round adds
            raise self.fail(
                f"Could not write to TensorArray index {index} because it has already been read. "
                "Gradients by what the elements were made of cannot be taken within a loop over "
                "them: take an element with tf.gather(x, i), or leave tf.map_fn for tf.vectorized_map."
            )
        found = self.elements[index]
        if found is None:
            self.elements[index] = value
            self.shapes[index] = shape
            return
        if not self.accumulates:
            raise self.fail(
                f"Could not write to TensorArray index {index} because it has already been "
                "written to."
            )
        if found.shape != shape:
            raise self.fail(
                f"Could not aggregate to TensorArray index {index} because the existing shape is "
                f"{list(found.shape)} but the new input shape is {list(shape)}."
            )
        self.elements[index] = found + value

    def read(self, index: int) -> Any:
        if not 0 <= index < len(self.elements):
            raise self.fail(
                f"Tried to read from index {index} but array size is: {len(self.elements)}"
            )
        value = self.elements[index]
        if value is None:
            return self._unwritten(index)
        if value is _CLEARED:
            raise self.fail(
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)"
            )
        if self.clear_after_read:
            self.elements[index] = _CLEARED
        return value

    def _unwritten(self, index: int) -> Any:
        shape = None
        source = self.source
        while source is not None and shape is None:
            shape = source.shapes[index] if index < len(source.shapes) else None
            source = source.source
        if shape is not None:
            shape = (*self.prepended, *shape)
        if shape is None and self.element_shape is not None and None not in self.element_shape:
            shape = self.element_shape
        if shape is None:
            known = next((s for s in self.shapes if s is not None), None)
            if self.accumulates or self.has_alike_elements:
                shape = known
        if shape is None:
            raise self.fail(
                f"Could not read index {index} because it has not been written to yet, and its "
                "shape is not known, so that it cannot be taken as zeros."
            )
        if self.dtype.kind == "S":
            out = np.empty(shape, object)
            out[...] = b""
            return out
        zeros = self.xp.zeros(shape, self.dtype.numpy)
        return zeros if shape else zeros[()]

    def gather(self, indices: Any, element_shape: Any = None) -> Any:
        xp = self.xp
        values = [self.read(i) for i in np.asarray(indices).tolist()]
        self.gathered = self.accumulates
        if values:
            first = np.shape(values[0])
            for i, value in zip(np.asarray(indices).tolist(), values, strict=True):
                if np.shape(value) != first:
                    raise self.fail(
                        f"index 0 has shape {list(first)} but index {i} has shape "
                        f"{list(np.shape(value))}: elements of different shapes cannot be stacked."
                    )
            if self.dtype.kind in ("S", "x"):
                out = np.empty((len(values), *first), object)
                for i, value in enumerate(values):
                    out[i] = value if first else np.asarray(value, object)[()]
                return out
            if not first:
                return xp.array(values, dtype=self.dtype.numpy)
            return stack(xp, values)
        shape = self.element_shape if self.element_shape is not None else element_shape
        if shape is None or None in shape:
            shape = tuple(d or 0 for d in shape) if shape is not None else None
        if shape is None:
            raise self.fail(
                "the array has no elements and no known element shape, so it cannot be stacked. "
                "Give element_shape."
            )
        return xp.zeros((0, *shape), object if self.dtype.kind == "S" else self.dtype.numpy)


def _fits(shape: Any, wanted: Any) -> bool:
    return len(shape) == len(wanted) and all(
        w is None or w == s for s, w in zip(shape, wanted, strict=True)
    )


def _rows(xp: Module, value: Any, dtype: Any) -> list[Any]:
    """The rows of a value, kept apart from the buffer that it came in."""
    if np.ndim(value) == 1:
        return list(value)
    return list(value.copy())


@kernel("TensorArrayV3", stateful=True)
def tensor_array_kernel(
    context: KernelContext,
    size: Array,
    *,
    dtype: Any,
    element_shape: Any,
    dynamic_size: bool,
    clear_after_read: bool,
    identical_element_shapes: bool,
) -> Any:
    if size < 0:
        raise InvalidArgumentError(None, None, f"Size should be >= 0, got {size}.")
    state = ArrayState(
        context.xp,
        context.op_name,
        dtype,
        int(size),
        element_shape,
        dynamic_size,
        clear_after_read,
    )
    state.has_alike_elements = identical_element_shapes
    return state, _FLOW


@kernel("TensorArrayGradV3")
def tensor_array_grad_kernel(xp: Module, handle: Any, flow_in: Array, *, source: str) -> Any:
    return handle.gradient(source), flow_in


@kernel("TensorArrayGradWithShape")
def tensor_array_grad_with_shape_kernel(
    xp: Module, handle: Any, flow_in: Array, shape_to_prepend: Array, *, source: str
) -> Any:
    return handle.gradient(source, tuple(np.asarray(shape_to_prepend).tolist())), flow_in


@kernel("TensorArrayReadV3")
def tensor_array_read_kernel(
    xp: Module, handle: Any, index: Array, flow_in: Array, *, dtype: Any
) -> Any:
    if dtype is not handle.dtype:
        raise handle.fail(f"the dtype is {handle.dtype.name}, but the op asks for {dtype.name}.")
    return handle.read(int(index))


@kernel("TensorArrayWriteV3")
def tensor_array_write_kernel(
    xp: Module, handle: Any, index: Array, value: Array, flow_in: Array
) -> Any:
    handle.write(int(index), value if hasattr(value, "shape") else np.asarray(value, object))
    return flow_in


@kernel("TensorArrayGatherV3")
def tensor_array_gather_kernel(
    xp: Module, handle: Any, indices: Array, flow_in: Array, *, element_shape: Any
) -> Any:
    return handle.gather(indices, element_shape)


@kernel("TensorArrayScatterV3")
def tensor_array_scatter_kernel(
    xp: Module, handle: Any, indices: Array, value: Array, flow_in: Array
) -> Any:
    positions = np.asarray(indices).tolist()
    if len(positions) != value.shape[0]:
        raise handle.fail(
            f"Expected len(indices) == values.shape[0], but saw: {len(positions)} vs. "
            f"{value.shape[0]}"
        )
    for index, row in zip(positions, _rows(xp, value, handle.dtype), strict=True):
        handle.write(index, row if hasattr(row, "shape") else np.asarray(row, object))
    return flow_in


@kernel("TensorArrayConcatV3")
def tensor_array_concat_kernel(xp: Module, handle: Any, flow_in: Array) -> Any:
    parts = [handle.read(i) for i in range(len(handle.elements))]
    for i, part in enumerate(parts):
        if not part.ndim:
            raise handle.fail(
                f"Concat saw a scalar shape at index {i} but requires at least vectors"
            )
        if part.shape[1:] != parts[0].shape[1:]:
            raise handle.fail(
                "TensorArray has inconsistent shapes. Index 0 has (excepting dimension 0) shape: "
                f"{list(parts[0].shape[1:])} but index {i} has (excepting dimension 0) shape: "
                f"{list(part.shape[1:])}"
            )
    lengths = np.array([p.shape[0] for p in parts], np.int64)
    if not parts:
        shape = handle.element_shape[1:] if handle.element_shape else ()
        return xp.zeros((0, *[d or 0 for d in shape]), handle.dtype.numpy), lengths
    return concatenate(xp, parts, 0), lengths


@kernel("TensorArraySplitV3")
def tensor_array_split_kernel(
    xp: Module, handle: Any, value: Array, lengths: Array, flow_in: Array
) -> Any:
    if not value.ndim:
        raise handle.fail("Expected value to be at least a vector, but received shape: []")
    if np.ndim(lengths) != 1:
        raise handle.fail(
            f"Expected lengths to be a vector, received shape: {list(np.shape(lengths))}"
        )
    sizes = np.asarray(lengths).tolist()
    if sum(sizes) != value.shape[0]:
        raise handle.fail(
            f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{sum(sizes)} and value's shape is: {list(value.shape)}"
        )
    if len(sizes) != len(handle.elements) and not handle.dynamic:
        raise handle.fail(
            f"TensorArray's size is not equal to the size of lengths ({len(handle.elements)} vs. "
            f"{len(sizes)}), and the TensorArray is not marked as dynamically resizeable"
        )
    start = 0
    whole = value.copy()
    for i, size in enumerate(sizes):
        handle.write(i, whole[start : start + size])
        start += size
    return flow_in


@kernel("TensorArraySizeV3")
def tensor_array_size_kernel(xp: Module, handle: Any, flow_in: Array) -> Any:
    return np.int32(len(handle.elements))


@kernel("TensorArrayCloseV3")
def tensor_array_close_kernel(xp: Module, handle: Any) -> tuple[()]:
    handle.elements = [None] * len(handle.elements)
    return ()
