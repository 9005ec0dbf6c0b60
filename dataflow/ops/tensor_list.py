"""Lists of tensors as values, and stacks: where the gradient of a loop keeps forward values.

A list is never changed: pushing makes a new list that shares the old one. So a list is an ordinary
loop variable, a push's gradient is a pop and the other way round, and the gradient of a loop is a
loop like any other, which can be differentiated again.
"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims, merge

empty_tensor_list_op = declare_op(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32 -> handle: variant",
    """A list without elements; ``element_shape`` (-1: any) says what may be pushed.

    Shape: scalar, of dtype variant. Popping from it gives zeros of the shape asked for, so that it
    also stands for a list of gradients that are zero.
    """,
    attrs="element_dtype: DType",
    makes_lists=True,
    shape_type=frozenset({dtypes.int32, dtypes.int64}),
)


@define_op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype -> output_handle: variant",
    makes_lists=True,
)
def tensor_list_push_back_op(input_handle: Tensor, tensor: Tensor) -> Dims:
    """The list with one more element at its end; the input list stays as it was.

    Raises `ValueError` for an element that has not the shape of the list's.
    Gradient: pops the gradient of the element off the list of gradients.
    """
    merge(element_dims_of(input_handle), tensor.dims)
    return ()


@define_op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype",
    makes_lists=True,
)
def tensor_list_pop_back_op(
    input_handle: Tensor, element_shape: Tensor, *, element_dtype: DType
) -> list[Dims]:
    """The list without its last element, and that element.

    Shape: that of the element, as far as the list or ``element_shape`` says. ``element_shape`` is what to
    take for an element that was never set. Gradient: pushes the element's gradient. Raises
    `InvalidArgumentError` for an empty list and an unknown shape.
    """
    return [(), element_dims_of(input_handle)]


@tensor_list_push_back_op.gradient
def tensor_list_push_back_gradient(op: Operation, grad: Tensor) -> list[Any]:
    tensor = op.inputs[1]
    rest, element = tensor_list_pop_back_op(
        grad, _shape_for_pop(tensor), element_dtype=tensor.dtype.base_dtype
    )
    if tensor.dtype.base_dtype.kind == "x":
        element.dims = ()
    return [rest, element]


def _shape_for_pop(tensor: Tensor) -> Any:
    from dataflow.ops.array import shape

    if tensor.dtype.base_dtype.kind == "x":
        return []
    return shape(tensor)


@tensor_list_pop_back_op.gradient
def tensor_list_pop_back_gradient(op: Operation, rest_grad: Any, element_grad: Any) -> list[Any]:
    dtype = op.attrs["element_dtype"]
    if rest_grad is None:
        rest_grad = empty_list(dtype)
    if element_grad is None:
        element_grad = zero_value(op.outputs[1])
    return [tensor_list_push_back_op(rest_grad, element_grad), None]


def empty_list(dtype: DType, name: str | None = None) -> Tensor:
    """A new list for elements of any shape."""
    return empty_tensor_list_op(-1, -1, element_dtype=dtype, name=name)  # type: ignore[no-any-return]


#: The input of an op on lists whose elements have the shape of those that it makes.
_HANDED_ON = {
    "Identity": 0,
    "Pack": 0,
    "Unpack": 0,
    "ZerosLike": 0,
    "TensorListConcatLists": 0,
    "TensorListPopBack": 0,
    "TensorListPushBack": 0,
    "TensorListPushBackBatch": 0,
    "TensorListResize": 0,
    "TensorListSetItem": 0,
}
#: The input of an op that begins a list which is the shape of its elements.
_ELEMENT_SHAPE = {
    "EmptyTensorList": 0,
    "TensorListFromTensor": 1,
    "TensorListReserve": 0,
    "TensorListScatterV2": 2,
    "TensorListSplit": 1,
}


def dims_in(element_shape: Tensor) -> Dims:
    """The dims that a shape tensor names: a scalar -1 stands for any rank."""
    from dataflow.ops.static_value import static_dims

    return None if element_shape.dims == () else static_dims(element_shape)


def element_dims_of(handle: Tensor) -> Dims:
    """The shape that all elements of a list have, as far as the op that began the list says."""
    op = handle.op
    while op.inputs and op.type in _HANDED_ON and handle.value_index == 0:
        handle = op.inputs[_HANDED_ON[op.type]]
        op = handle.op
    place = _ELEMENT_SHAPE.get(op.type)
    return None if place is None or op.graph.executes_eagerly else dims_in(op.inputs[place])


def element_dtype_of(tensor: Tensor) -> DType:
    """The dtype of the elements of a list, found where something was pushed onto it."""
    seen: set[Any] = set()
    queue = [(tensor, 0)]  # (list, how many levels of lists inside lists above the one asked for)
    while queue:
        current, depth = queue.pop(0)
        op = current.op
        if (current, depth) in seen:
            continue
        seen.add((current, depth))
        if not op.inputs and op.graph.executes_eagerly:
            continue  # the tensors that it had are gone
        if op.type == "TensorListPushBack":
            if depth == 0:
                return op.inputs[1].dtype.base_dtype
            queue.append((op.inputs[1], depth - 1))
        elif op.type == "TensorListPopBack":
            if current.value_index == 1:
                queue.append((op.inputs[0], depth + 1))
            elif depth == 0:
                return op.attrs["element_dtype"]  # type: ignore[no-any-return]
            else:
                queue.append((op.inputs[0], depth))
        elif op.type in _ELEMENT_SHAPE:
            if depth == 0:
                return _dtype_from(op)
        else:
            queue.extend((t, depth) for t in op.inputs if t.dtype.base_dtype is dtypes.variant)
    return dtypes.float32


def _dtype_from(op: Operation) -> DType:
    """The dtype of the elements of the list that an op begins: an attribute, or that of its input."""
    found = op.attrs.get("element_dtype")
    return op.inputs[0].dtype.base_dtype if found is None else found


def zero_list(tensor: Tensor) -> Tensor:
    """The list of zeros that stands for the gradient of a list."""
    return empty_list(element_dtype_of(tensor))


def zero_value(tensor: Tensor) -> Tensor:
    """Zeros like ``tensor``; for a list, the list of zeros."""
    if tensor.dtype.base_dtype is dtypes.variant:
        return zero_list(tensor)
    from dataflow.ops.array import zeros_like

    return zeros_like(tensor)


@define_op("StackV2", "max_size: int32 -> handle: resource", stateful=True)
def stack_v2_op(max_size: Tensor, *, elem_type: DType, stack_name: str = "") -> Dims:
    """A stack that lives for one run, as in the gradients of TensorFlow's loops."""
    return ()


@define_op("StackPushV2", "handle: resource, elem: T -> output: T", stateful=True)
def stack_push_v2_op(handle: Tensor, elem: Tensor, *, swap_memory: bool = False) -> Dims:
    """Pushes ``elem`` and passes it on. Shape: that of elem."""
    return elem.dims


@define_op("StackPopV2", "handle: resource -> elem: elem_type", stateful=True)
def stack_pop_v2_op(handle: Tensor, *, elem_type: DType) -> Dims:
    """Pops the last element; an `InvalidArgumentError` when there is none. Shape: unknown."""
    return None


stack_close_v2_op = declare_op(
    "StackCloseV2", "handle: resource", "Empties the stack.", stateful=True
)


not_differentiable(stack_v2_op, stack_push_v2_op, stack_pop_v2_op)
