"""Lists of tensors by index: what the arrays of TensorFlow's loops of the second version are made of.

`dataflow.ops.tensor_list` has the lists that grow and shrink at their end; both kinds mix. A list is never
changed: setting an element makes a new list. Programs reach these ops by imported graphs.
"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.segment import unsorted_segment_sum
from dataflow.ops.sequences import unique
from dataflow.ops.shape import shape
from dataflow.ops.tensor_list import dims_in, element_dims_of, element_dtype_of, zero_value
from dataflow.shapes import Dims, compatible, merge

_SHAPE_TYPES = frozenset({dtypes.int32, dtypes.int64})


def _item_dims(handle: Tensor, element_shape: Tensor) -> Dims:
    """What the list and the op say of the shape; `ValueError` where they differ."""
    return merge(element_dims_of(handle), dims_in(element_shape))


def _joined_dims(number: int | None, handle: Tensor, element_shape: Tensor) -> Dims:
    dims = _item_dims(handle, element_shape)
    return None if dims is None else (number, *dims)


tensor_list_reserve_op = declare_op(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32 -> handle: variant",
    """A list of ``num_elements`` elements that are not set yet, each of ``element_shape`` (-1: unknown).

    Shape: scalar, of dtype variant.
    """,
    attrs="element_dtype: DType",
    makes_lists=True,
    shape_type=_SHAPE_TYPES,
    host_inputs=("element_shape", "num_elements"),
)
tensor_list_length_op = declare_op(
    "TensorListLength",
    "input_handle: variant -> length: int32",
    "The number of elements. Shape: scalar.",
    host_outputs=("length",),
)
tensor_list_element_shape_op = declare_op(
    "TensorListElementShape",
    "input_handle: variant -> element_shape: shape_type",
    "The shape that all elements have, -1 where a size is unknown. Shape: [rank], or scalar for an unknown rank.",
    None,
    shape_type=_SHAPE_TYPES,
    host_outputs=("element_shape",),
)


@define_op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type -> output_handle: variant",
    makes_lists=True,
    shape_type=_SHAPE_TYPES,
    host_inputs=("element_shape",),
)
def tensor_list_from_tensor_op(tensor: Tensor, element_shape: Tensor) -> Dims:
    """The parts of ``tensor`` along its first axis, as a list.

    Shape: scalar, of dtype variant. Gradient: the gradients of the elements, stacked.
    """
    if tensor.dims == ():
        raise ValueError("a list is made of the parts of a tensor, which a scalar has not")
    return ()


@define_op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32 -> tensor: element_dtype",
    host_inputs=("element_shape",),
)
def tensor_list_stack_op(
    input_handle: Tensor, element_shape: Tensor, *, element_dtype: DType, num_elements: int = -1
) -> Dims:
    """All elements in one tensor; those that are not set are zeros of ``element_shape``.

    Shape: [number of elements, *element_shape]. Gradient: its parts, as a list. Raises
    `InvalidArgumentError` where ``num_elements`` is given and the list has another number, or where the
    elements have different shapes.
    """
    return _joined_dims(num_elements if num_elements >= 0 else None, input_handle, element_shape)


@define_op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: int32 -> item: element_dtype",
    host_inputs=("index", "element_shape"),
)
def tensor_list_get_item_op(
    input_handle: Tensor, index: Tensor, element_shape: Tensor, *, element_dtype: DType
) -> Dims:
    """The element ``index``; zeros of ``element_shape`` where it is not set.

    Shape: ``element_shape``. Gradient: a list in which this element alone is set. Raises
    `InvalidArgumentError` for an index outside of the list.
    """
    return () if element_dtype.kind == "x" else _item_dims(input_handle, element_shape)


@define_op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype -> output_handle: variant",
    makes_lists=True,
    host_inputs=("index",),
)
def tensor_list_set_item_op(
    input_handle: Tensor,
    index: Tensor,
    item: Tensor,
    *,
    resize_if_index_out_of_bounds: bool = False,
) -> Dims:
    """The list with ``item`` as its element ``index``; the input list stays as it was.

    Shape: scalar, of dtype variant. Gradient: of the item, the element of the gradient; of the list, the
    others. Raises `InvalidArgumentError` for an index outside of the list, unless it may grow, and
    `ValueError` for an item that has not the shape of the list's elements.
    """
    merge(element_dims_of(input_handle), item.dims)
    return ()


@define_op(
    "TensorListResize",
    "input_handle: variant, size: int32 -> output_handle: variant",
    makes_lists=True,
    host_inputs=("size",),
)
def tensor_list_resize_op(input_handle: Tensor, size: Tensor) -> Dims:
    """The list with ``size`` elements: the first ones, or more that are not set.

    Shape: scalar, of dtype variant. Gradient: the gradient with as many elements as the list had.
    """
    return ()


@define_op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32 -> values: element_dtype",
    host_inputs=("indices", "element_shape"),
)
def tensor_list_gather_op(
    input_handle: Tensor, indices: Tensor, element_shape: Tensor, *, element_dtype: DType
) -> Dims:
    """The elements ``indices`` in one tensor.

    Shape: [number of indices, *element_shape]. Gradient: scattered into a list. Raises
    `InvalidArgumentError` for an index outside of the list.
    """
    count = indices.dims[0] if indices.dims is not None and len(indices.dims) == 1 else None
    return _joined_dims(count, input_handle, element_shape)


@define_op(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32 -> "
    "output_handle: variant",
    makes_lists=True,
    shape_type=_SHAPE_TYPES,
    host_inputs=("indices", "element_shape", "num_elements"),
)
def tensor_list_scatter_op(
    tensor: Tensor, indices: Tensor, element_shape: Tensor, num_elements: Tensor
) -> Dims:
    """A list of ``num_elements`` (-1: as many as the largest index needs) with the parts of ``tensor`` at ``indices``.

    Shape: scalar, of dtype variant. Gradient: gathered from the gradient.
    """
    return ()


@define_op(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32 -> output_handle: variant",
    makes_lists=True,
    host_inputs=("indices",),
)
def tensor_list_scatter_into_op(input_handle: Tensor, tensor: Tensor, indices: Tensor) -> Dims:
    """The list with the parts of ``tensor`` at ``indices``, longer where one is behind its end.

    Shape: scalar, of dtype variant. Gradient: of the parts, gathered from the gradient; of the list, the others.
    """
    return ()


@define_op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64 -> "
    "tensor: element_dtype, lengths: int64",
    shape_type=_SHAPE_TYPES,
    host_inputs=("element_shape", "leading_dims"),
    host_outputs=("lengths",),
)
def tensor_list_concat_op(
    input_handle: Tensor, element_shape: Tensor, leading_dims: Tensor, *, element_dtype: DType
) -> list[Dims]:
    """All elements joined along their first axis, and how long each was.

    ``leading_dims`` are the first sizes of elements that are not set. Shapes: [sum of the lengths,
    *element_shape[1:]] and [number of elements]. Gradient: split by the lengths.
    """
    dims = _item_dims(input_handle, element_shape)
    return [None if not dims else (None, *dims[1:]), (None,)]


@define_op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> output_handle: variant",
    makes_lists=True,
    shape_type=_SHAPE_TYPES,
    host_inputs=("element_shape", "lengths"),
)
def tensor_list_split_op(tensor: Tensor, element_shape: Tensor, lengths: Tensor) -> Dims:
    """A list of parts of ``tensor`` along its first axis, of the ``lengths``.

    Shape: scalar, of dtype variant. Gradient: the gradients of the elements, joined. Raises
    `InvalidArgumentError` where the lengths do not add up to the first size, `ValueError` for parts of
    another shape than ``element_shape``.
    """
    dims = dims_in(element_shape)
    if dims is not None and tensor.dims is not None and not element_shape.op.graph.executes_eagerly:
        merge((None, *tensor.dims[1:]), dims)
    return ()


def _check_same_elements(op_type: str, first: Tensor, second: Tensor, dtype: DType) -> None:
    for handle in (first, second):
        found = element_dtype_of(handle)
        if found is not dtype and not handle.op.graph.executes_eagerly:
            raise ValueError(
                f"{op_type}: the elements of {handle.name!r} are {found.name}, not {dtype.name}"
            )
    dims, others = element_dims_of(first), element_dims_of(second)
    if not compatible(dims, others):
        raise ValueError(
            f"{op_type}: the elements of {first.name!r} have the shape {dims}, those of "
            f"{second.name!r} the shape {others}"
        )


@define_op(
    "TensorListConcatLists",
    "input_a: variant, input_b: variant -> output: variant",
    makes_lists=True,
)
def tensor_list_concat_lists_op(input_a: Tensor, input_b: Tensor, *, element_dtype: DType) -> Dims:
    """Each list of one tensor, and behind its elements those of the list at the same place of the other.

    Shape: that of both. Raises `ValueError` where shapes or elements differ.
    """
    _check_same_elements("TensorListConcatLists", input_a, input_b, element_dtype)
    return merge(input_a.dims, input_b.dims)


@define_op(
    "TensorListPushBackBatch",
    "input_handles: variant, tensor: element_dtype -> output_handles: variant",
    makes_lists=True,
)
def tensor_list_push_back_batch_op(input_handles: Tensor, tensor: Tensor) -> Dims:
    """Each list with a row of ``tensor`` at its end.

    Shape: that of ``input_handles``. Raises `ValueError` for rows of another dtype, or for another number
    of them.
    """
    found, dtype = element_dtype_of(input_handles), tensor.dtype.base_dtype
    if found is not dtype and not tensor.op.graph.executes_eagerly:
        raise ValueError(
            f"the lists have elements of {found.name}, and the rows to push are {dtype.name}"
        )
    if tensor.dims is None:
        return input_handles.dims
    if not tensor.dims:
        raise ValueError("a batch to push has an element for each list, got a scalar")
    return merge(input_handles.dims, tensor.dims[:1])


not_differentiable(tensor_list_concat_lists_op, tensor_list_push_back_batch_op)


# ---- gradients ----------------------------------------------------------------------------------


def _as_long_as(grad: Tensor, like: Tensor) -> Tensor:
    """A gradient in which elements at the end may be missing, as they are zero."""
    return tensor_list_resize_op(grad, tensor_list_length_op(like))  # type: ignore[no-any-return]


def _shape_of(tensor: Tensor) -> Any:
    return [] if tensor.dtype.base_dtype is dtypes.variant else shape(tensor)


def _reserved_like(handle: Tensor, dtype: DType) -> Tensor:
    known = tensor_list_element_shape_op(handle, shape_type=dtypes.int32)
    return tensor_list_reserve_op(known, tensor_list_length_op(handle), element_dtype=dtype)  # type: ignore[no-any-return]


@tensor_list_from_tensor_op.gradient
def _from_tensor_gradient(op: Operation, grad: Tensor) -> list[Any]:
    sizes = shape(op.inputs[0])
    whole = tensor_list_resize_op(grad, sizes[0])
    dtype = op.inputs[0].dtype.base_dtype
    return [tensor_list_stack_op(whole, sizes[1:], element_dtype=dtype), None]


@tensor_list_stack_op.gradient
def _stack_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [tensor_list_from_tensor_op(grad, shape(grad)[1:]), None]


@tensor_list_get_item_op.gradient
def _get_item_gradient(op: Operation, grad: Tensor) -> list[Any]:
    handle, index, _ = op.inputs
    zeros = _reserved_like(handle, op.attrs["element_dtype"])
    return [tensor_list_set_item_op(zeros, index, grad), None, None]


@tensor_list_set_item_op.gradient
def _set_item_gradient(op: Operation, grad: Tensor) -> list[Any]:
    handle, index, item = op.inputs
    dtype = item.dtype.base_dtype
    whole = _as_long_as(grad, op.outputs[0])
    others = tensor_list_set_item_op(whole, index, zero_value(item))
    own = tensor_list_get_item_op(whole, index, _shape_of(item), element_dtype=dtype)
    return [_as_long_as(others, handle), None, own]


@tensor_list_resize_op.gradient
def _resize_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [_as_long_as(grad, op.inputs[0]), None]


@tensor_list_gather_op.gradient
def _gather_gradient(op: Operation, grad: Tensor) -> list[Any]:
    handle, indices, _ = op.inputs
    known = tensor_list_element_shape_op(handle, shape_type=dtypes.int32)
    length = tensor_list_length_op(handle)
    which, place = unique(indices)  # an element that was read twice has the sum of its gradients
    summed = unsorted_segment_sum(grad, place, shape(which)[0])
    return [tensor_list_scatter_op(summed, which, known, length), None, None]


@tensor_list_scatter_op.gradient
def _scatter_gradient(op: Operation, grad: Tensor) -> list[Any]:
    tensor, indices = op.inputs[:2]
    own = tensor_list_gather_op(
        _as_long_as(grad, op.outputs[0]),
        indices,
        shape(tensor)[1:],
        element_dtype=tensor.dtype.base_dtype,
    )
    return [own, None, None, None]


@tensor_list_scatter_into_op.gradient
def _scatter_into_gradient(op: Operation, grad: Tensor) -> list[Any]:
    handle, tensor, indices = op.inputs
    whole = _as_long_as(grad, op.outputs[0])
    dtype = tensor.dtype.base_dtype
    own = tensor_list_gather_op(whole, indices, shape(tensor)[1:], element_dtype=dtype)
    others = tensor_list_scatter_into_op(whole, zero_value(tensor), indices)
    return [_as_long_as(others, handle), own, None]


@tensor_list_concat_op.gradient
def _concat_gradient(op: Operation, grad: Tensor, _: Any) -> list[Any]:
    return [tensor_list_split_op(grad, op.inputs[1], op.outputs[1]), None, None]


@tensor_list_split_op.gradient
def _split_gradient(op: Operation, grad: Tensor) -> list[Any]:
    tensor, element_shape, lengths = op.inputs
    dtype = tensor.dtype.base_dtype
    whole = _as_long_as(grad, op.outputs[0])
    return [
        tensor_list_concat_op(whole, element_shape, lengths, element_dtype=dtype)[0],
        None,
        None,
    ]
