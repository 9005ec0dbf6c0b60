"""`TensorArray`: an array of tensors that loops read and write element by element."""

from __future__ import annotations

import inspect
from typing import Any

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, Shape, TensorShape

tensor_array_op = declare_op(
    "TensorArrayV3",
    "size: int32 -> handle: resource, flow: float32",
    """A new array of ``size`` elements, none written yet; it lives for one run.

    Returns its handle and a *flow*: a number that orders the reads and writes.
    """,
    attrs="dtype: DType, element_shape: Shape = None, dynamic_size: bool = False, "
    "clear_after_read: bool = True, identical_element_shapes: bool = False, "
    "tensor_array_name: str = ''",
    stateful=True,
)
tensor_array_grad_op = declare_op(
    "TensorArrayGradV3",
    "handle: resource, flow_in: float32 -> grad_handle: resource, flow_out: float32",
    "The array of gradients of an array, one for each ``source``; writes to it add up.",
    attrs="source: str",
    stateful=True,
)
tensor_array_grad_with_shape_op = declare_op(
    "TensorArrayGradWithShape",
    "handle: resource, flow_in: float32, shape_to_prepend: int32 -> grad_handle: resource, flow_out: float32",
    "As TensorArrayGradV3, of gradients with further sizes in front of those of their elements.",
    attrs="source: str",
    stateful=True,
    host_inputs=("shape_to_prepend",),
)


@define_op(
    "TensorArrayReadV3",
    "handle: resource, index: int32, flow_in: float32 -> value: dtype",
    stateful=True,
)
def tensor_array_read_op(handle: Tensor, index: Tensor, flow_in: Tensor, *, dtype: DType) -> Dims:
    """The element ``index``. Shape: that of the element. Gradient: written to the gradients."""
    return None


@define_op(
    "TensorArrayWriteV3",
    "handle: resource, index: int32, value: T, flow_in: float32 -> flow_out: float32",
    stateful=True,
)
def tensor_array_write_op(handle: Tensor, index: Tensor, value: Tensor, flow_in: Tensor) -> Dims:
    """Writes the element ``index``, once. Gradient: read from the gradients."""
    return ()


@define_op(
    "TensorArrayGatherV3",
    "handle: resource, indices: int32, flow_in: float32 -> value: dtype",
    stateful=True,
    host_inputs=("indices",),
)
def tensor_array_gather_op(
    handle: Tensor, indices: Tensor, flow_in: Tensor, *, dtype: DType, element_shape: Shape = None
) -> Dims:
    """The elements ``indices``, stacked. Shape: [number of indices, ...]."""
    if element_shape is None:
        return None
    return (None, *element_shape)


@define_op(
    "TensorArrayScatterV3",
    "handle: resource, indices: int32, value: T, flow_in: float32 -> flow_out: float32",
    stateful=True,
    host_inputs=("indices",),
)
def tensor_array_scatter_op(
    handle: Tensor, indices: Tensor, value: Tensor, flow_in: Tensor
) -> Dims:
    """Writes the rows of ``value`` as elements ``indices``."""
    return ()


@define_op(
    "TensorArrayConcatV3",
    "handle: resource, flow_in: float32 -> value: dtype, lengths: int64",
    stateful=True,
)
def tensor_array_concat_op(
    handle: Tensor, flow_in: Tensor, *, dtype: DType, element_shape_except0: Shape = None
) -> list[Dims]:
    """All elements, concatenated along their first axis, and the length of each."""
    if element_shape_except0 is None:
        return [None, (None,)]
    return [(None, *element_shape_except0), (None,)]


@define_op(
    "TensorArraySplitV3",
    "handle: resource, value: T, lengths: int64, flow_in: float32 -> flow_out: float32",
    stateful=True,
)
def tensor_array_split_op(handle: Tensor, value: Tensor, lengths: Tensor, flow_in: Tensor) -> Dims:
    """Cuts ``value`` along its first axis into elements of the given lengths."""
    return ()


tensor_array_size_op = declare_op(
    "TensorArraySizeV3",
    "handle: resource, flow_in: float32 -> size: int32",
    "The number of elements, a scalar.",
    stateful=True,
    host_outputs=("size",),
)
tensor_array_close_op = declare_op(
    "TensorArrayCloseV3", "handle: resource", "Frees the elements.", stateful=True
)


class TensorArray:
    """An array of tensors of the same dtype, for use in loops. Each element is written once.

    ``size``: number of elements; with ``dynamic_size`` it grows. ``clear_after_read``: an element
    can be read once (reading it again is an `InvalidArgumentError`). ``element_shape``: the shape
    of every element; with ``infer_shape`` the first write decides it. ``handle`` and ``flow`` are
    given to make another view of an existing array. With eager execution it holds the elements
    themselves.

    Methods that write return a new `TensorArray` whose ``flow`` comes after the write: go on with
    that one.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> TensorArray:
        if cls is TensorArray and default_graph().executes_eagerly:
            from dataflow.ops.eager_tensor_array import EagerTensorArray

            return super().__new__(EagerTensorArray)
        return super().__new__(cls)

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
        if handle is not None and tensor_array_name:
            raise ValueError("Cannot construct with both handle and tensor_array_name.")
        if handle is not None and not isinstance(handle, Tensor):
            raise TypeError("Handle must be a Tensor.")
        if handle is None and size is None:
            raise ValueError("Size must be provided if handle is not provided.")
        if handle is not None and size is not None:
            raise ValueError("Cannot provide both a handle and size at the same time.")
        if handle is not None and (element_shape is not None and flow is None):
            raise ValueError("Cannot provide both a handle and element_shape at the same time.")
        if handle is not None and dynamic_size is not None and flow is None:
            raise ValueError("Cannot provide both a handle and dynamic_size at the same time.")
        self._dtype = as_dtype(dtype).base_dtype
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = infer_shape or element_shape is not None
        # Shared by all views of the array, so that a write inside a loop is known after it.
        self._shape_holder: list[Dims] = [
            None if element_shape is None else shapes.as_dims(element_shape)
        ]
        self._size = size
        graph = default_graph()
        if handle is not None:
            self._handle = handle
            if flow is None:
                from dataflow.ops.sources import constant

                with graph.colocate_with(handle):
                    flow = constant(0.0, dtype=dtypes.float32)
            self._flow = flow
        else:
            # As in TensorFlow, where arrays of functions are lists that keep what they hold.
            in_function = graph.captures is not None or bool(graph.num_tracing)
            clears = not in_function and (clear_after_read is None or bool(clear_after_read))
            with graph.name_scope(name or "TensorArray") as scope:
                self._handle, self._flow = tensor_array_op(
                    size,
                    dtype=self._dtype,
                    element_shape=self._shape_holder[0],
                    dynamic_size=self._dynamic_size,
                    clear_after_read=clears,
                    identical_element_shapes=bool(infer_shape),
                    tensor_array_name=tensor_array_name or "",
                    name=scope,
                )

    @property
    def flow(self) -> Tensor:
        """The number that orders operations on the array."""
        return self._flow

    @property
    def handle(self) -> Tensor:
        """The array itself."""
        return self._handle

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """True when the array may grow."""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The static shape of an element, as far as known."""
        return TensorShape(self._shape_holder[0])

    def with_flow(self, flow: Tensor) -> TensorArray:
        result = TensorArray.__new__(TensorArray)
        result.__dict__.update(self.__dict__)
        result._flow = flow
        return result

    def _check_element_shape(self, dims: Dims) -> None:
        if not self._infer_shape:
            return
        known = self._shape_holder[0]
        if not shapes.compatible(known, dims):
            raise ValueError(
                f"Inconsistent shapes: saw {shapes.format_dims(dims)} but expected "
                f"{shapes.format_dims(known)} for every element of the TensorArray "
                f"{self._handle.op.name!r}. Use infer_shape=False for elements of several shapes."
            )
        self._shape_holder[0] = shapes.merge(known, dims)

    def identity(self) -> TensorArray:
        """The same array, with a flow of its own."""
        from dataflow.ops.array import identity

        return self.with_flow(identity(self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """The array of gradients for the backward pass ``source``."""
        from dataflow.ops.array import identity

        if flow is None:
            flow = self._flow
        graph = self._handle.graph
        with graph.name_scope(name or "TensorArrayGrad"):
            handle, _ = tensor_array_grad_op(self._handle, flow, source=source)
            with graph.control_dependencies([handle]):
                flow = identity(flow, name="gradient_flow")
        result = self.with_flow(flow)
        result._handle = handle
        result._shape_holder = list(self._shape_holder)
        return result

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element ``index``."""
        value: Tensor = tensor_array_read_op(
            self._handle, index, self._flow, dtype=self._dtype, name=name
        )
        value.set_shape(self._shape_holder[0])
        return value

    def _value(self, value: TensorLike) -> Tensor:
        result = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if result.dtype.base_dtype is not self._dtype:
            raise TypeError(
                f"The TensorArray {self._handle.op.name!r} holds {self._dtype.name}, but "
                f"{result.name!r} is {result.dtype.name}. "
                f"Convert it with tf.cast(t, tf.{self._dtype.name})."
            )
        return result

    def write(self, index: Any, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes ``value`` as element ``index``; returns the array after the write."""
        with default_graph().name_scope(name or "TensorArrayWrite"):
            tensor = self._value(value)
            self._check_element_shape(tensor.dims)
            flow = tensor_array_write_op(self._handle, index, tensor, self._flow, name=name)
        return self.with_flow(flow)

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as one tensor of shape [size, ...]."""
        from dataflow.ops.sequences import range_

        graph = self._handle.graph
        with graph.as_default(), graph.name_scope(name or "TensorArrayStack"):
            value = self.gather(range_(0, self.size()), name=name)
            size = None
            if not self._dynamic_size and self._size is not None:
                size = self._size
                if isinstance(size, Tensor):
                    size = static_value(size)
            if self._shape_holder[0] is not None:
                value.set_shape((None if size is None else int(size), *self._shape_holder[0]))
            return value

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements ``indices`` as one tensor of shape [number of indices, ...]."""
        element = self._shape_holder[0]
        value: Tensor = tensor_array_gather_op(
            self._handle,
            indices,
            self._flow,
            dtype=self._dtype,
            element_shape=element,
            name=name,
        )
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, concatenated along their first axis."""
        element = self._shape_holder[0]
        value, _ = tensor_array_concat_op(
            self._handle,
            self._flow,
            dtype=self._dtype,
            element_shape_except0=None if element is None else element[1:],
            name=name,
        )
        count = self._size if not isinstance(self._size, Tensor) else static_value(self._size)
        if element and element[0] is not None and count is not None and not self._dynamic_size:
            value.set_shape((int(count) * element[0], *element[1:]))
        return value  # type: ignore[no-any-return]

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Writes row i of ``value`` as element i."""
        from dataflow.ops.array import shape
        from dataflow.ops.sequences import range_

        with default_graph().name_scope(name or "TensorArrayUnstack"):
            tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
            count = shape(tensor)[0]
            return self.scatter(range_(0, count), tensor, name=name)

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorArray:
        """Writes row i of ``value`` as element ``indices[i]``."""
        with default_graph().name_scope(name or "TensorArrayScatter"):
            tensor = self._value(value)
            if tensor.dims is not None:
                self._check_element_shape(tensor.dims[1:])
            flow = tensor_array_scatter_op(self._handle, indices, tensor, self._flow, name=name)
        return self.with_flow(flow)

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Cuts ``value`` along its first axis; piece i, of length ``lengths[i]``, is element i."""
        with default_graph().name_scope(name or "TensorArraySplit"):
            tensor = self._value(value)
            count = convert_to_tensor(lengths, name="lengths")
            if count.dtype.base_dtype is not dtypes.int64:
                from dataflow.ops.casts import cast

                count = cast(count, dtypes.int64)
            if count.dims is not None and len(count.dims) != 1:
                raise ValueError(
                    f"lengths must have rank 1, got shape {shapes.format_dims(count.dims)}"
                )
            if self._infer_shape and tensor.dims is not None:
                known = static_value(count)
                first = None
                if known is not None and known.size and (known == known[0]).all():
                    first = int(known[0])
                self._check_element_shape((first, *tensor.dims[1:]))
            flow = tensor_array_split_op(self._handle, tensor, count, self._flow, name=name)
        return self.with_flow(flow)

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, a scalar int32."""
        if not self._dynamic_size and self._size is not None:
            return convert_to_tensor(self._size, dtypes.int32)
        return tensor_array_size_op(self._handle, self._flow, name=name)  # type: ignore[no-any-return]

    def mark_used(self) -> None:
        """Does nothing: TensorFlow warns of arrays whose last write nobody used, until this is called."""

    def close(self, name: str | None = None) -> Any:
        """An operation that frees the elements."""
        return tensor_array_close_op(self._handle, name=name)

    def __repr__(self) -> str:
        return (
            f"<tf.TensorArray {self._handle.op.name!r} dtype={self._dtype.name} "
            f"element_shape={self.element_shape}>"
        )


# For editors, the constructor's; `__new__` only chooses the class.
_constructor = inspect.signature(TensorArray.__init__)
_own = _constructor.replace(parameters=list(_constructor.parameters.values())[1:])
setattr(TensorArray, "__signature__", _own)  # noqa: B010


def _gradients(op: Operation, dtype: DType, flow: Tensor) -> TensorArray:
    """The array of gradients of the array that ``op`` works on, for this backward pass."""
    graph = op.graph
    array = TensorArray(dtype, handle=op.inputs[0], flow=flow, infer_shape=False)
    source = graph.attachments.get("gradient_scope") or graph.get_name_scope()
    return array.grad(source.rstrip("/"), flow=flow)


@tensor_array_read_op.gradient
def tensor_array_read_gradient(op: Operation, grad: Tensor) -> list[Any]:
    array = _gradients(op, op.attrs["dtype"], op.inputs[2])
    return [None, None, array.write(op.inputs[1], grad).flow]


@tensor_array_write_op.gradient
def tensor_array_write_gradient(op: Operation, flow: Tensor) -> list[Any]:
    array = _gradients(op, op.inputs[2].dtype, flow)
    return [None, None, array.read(op.inputs[1]), flow]


@tensor_array_gather_op.gradient
def tensor_array_gather_gradient(op: Operation, grad: Tensor) -> list[Any]:
    array = _gradients(op, op.attrs["dtype"], op.inputs[2])
    return [None, None, array.scatter(op.inputs[1], grad).flow]


@tensor_array_scatter_op.gradient
def tensor_array_scatter_gradient(op: Operation, flow: Tensor) -> list[Any]:
    array = _gradients(op, op.inputs[2].dtype, flow)
    return [None, None, array.gather(op.inputs[1]), flow]


@tensor_array_concat_op.gradient
def tensor_array_concat_gradient(op: Operation, grad: Tensor, _lengths: Any) -> list[Any]:
    array = _gradients(op, op.attrs["dtype"], op.inputs[1])
    return [None, array.split(grad, op.outputs[1]).flow]


@tensor_array_split_op.gradient
def tensor_array_split_gradient(op: Operation, flow: Tensor) -> list[Any]:
    array = _gradients(op, op.inputs[1].dtype, flow)
    whole = array.concat()
    if op.inputs[0].op.attrs.get("dynamic_size"):  # elements may have been written behind these
        from dataflow.ops.array import shape

        whole = whole[: shape(op.inputs[1])[0]]
    return [None, whole, None, flow]
