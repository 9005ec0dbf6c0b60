"""Functions of ``tensorflow.python.ops.list_ops``: lists of tensors that the graph holds as variants."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.python import op_functions as _ops
from dataflow.shapes import TensorShape, dimension_value

__all__ = [
    "_build_element_shape",
    "empty_tensor_list",
    "tensor_list_concat",
    "tensor_list_concat_lists",
    "tensor_list_from_tensor",
    "tensor_list_gather",
    "tensor_list_get_item",
    "tensor_list_pop_back",
    "tensor_list_push_back_batch",
    "tensor_list_reserve",
    "tensor_list_scatter",
    "tensor_list_set_item",
    "tensor_list_split",
    "tensor_list_stack",
]


def _build_element_shape(shape: Any) -> Any:
    """The shape of elements as the ops take it: a vector with -1 for what is not known, or -1 alone.

    ``shape`` may have tensors in it, or be one.
    """
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, TensorShape):
        shape = shape.as_list() if shape.ndims is not None else None
    if shape is None:
        return np.int32(-1)
    sizes = [-1 if size is None or dimension_value(size) is None else size for size in shape]
    if any(isinstance(size, Tensor) for size in sizes):
        return sizes
    if not sizes:
        return convert_to_tensor(np.array([], np.int32))
    return np.array(sizes, np.int32)


def empty_tensor_list(
    element_shape: Any, element_dtype: Any, max_num_elements: Any = None, name: str | None = None
) -> Any:
    """A list without elements, of at most ``max_num_elements``."""
    most = -1 if max_num_elements is None else max_num_elements
    return _ops.empty_tensor_list(
        element_shape=_build_element_shape(element_shape),
        element_dtype=element_dtype,
        max_num_elements=most,
        name=name,
    )


def tensor_list_reserve(
    element_shape: Any, num_elements: Any, element_dtype: Any, name: str | None = None
) -> Any:
    """A list of ``num_elements`` elements that have no value yet."""
    return _ops.tensor_list_reserve(
        element_shape=_build_element_shape(element_shape),
        num_elements=num_elements,
        element_dtype=element_dtype,
        name=name,
    )


def tensor_list_from_tensor(tensor: TensorLike, element_shape: Any, name: str | None = None) -> Any:
    """A list of the rows of ``tensor``."""
    return _ops.tensor_list_from_tensor(
        tensor=tensor, element_shape=_build_element_shape(element_shape), name=name
    )


def tensor_list_get_item(
    input_handle: Any,
    index: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """The element at ``index``."""
    return _ops.tensor_list_get_item(
        input_handle=input_handle,
        index=index,
        element_shape=_build_element_shape(element_shape),
        element_dtype=element_dtype,
        name=name,
    )


def tensor_list_pop_back(input_handle: Any, element_dtype: Any, name: str | None = None) -> Any:
    """(The list without its last element, that element)."""
    return _ops.tensor_list_pop_back(
        input_handle=input_handle,
        element_shape=np.int32(-1),
        element_dtype=element_dtype,
        name=name,
    )


def tensor_list_gather(
    input_handle: Any,
    indices: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """The elements at ``indices``, stacked."""
    return _ops.tensor_list_gather(
        input_handle=input_handle,
        indices=indices,
        element_shape=_build_element_shape(element_shape),
        element_dtype=element_dtype,
        name=name,
    )


def tensor_list_scatter(
    tensor: TensorLike,
    indices: Any,
    element_shape: Any = None,
    input_handle: Any = None,
    name: str | None = None,
) -> Any:
    """A list with the rows of ``tensor`` at ``indices``: a new one, or ``input_handle`` with them changed."""
    if input_handle is None:
        return _ops.tensor_list_scatter_v2(
            tensor=tensor,
            indices=indices,
            element_shape=_build_element_shape(element_shape),
            num_elements=-1,
            name=name,
        )
    return _ops.tensor_list_scatter_into_existing_list(
        input_handle=input_handle, tensor=tensor, indices=indices, name=name
    )


def tensor_list_stack(
    input_handle: Any,
    element_dtype: Any,
    num_elements: int = -1,
    element_shape: Any = None,
    name: str | None = None,
) -> Any:
    """All elements, stacked."""
    return _ops.tensor_list_stack(
        input_handle=input_handle,
        element_shape=_build_element_shape(element_shape),
        element_dtype=element_dtype,
        num_elements=num_elements,
        name=name,
    )


def tensor_list_concat(
    input_handle: Any, element_dtype: Any, element_shape: Any = None, name: str | None = None
) -> Any:
    """All elements, one behind the other along their first axis."""
    return _ops.tensor_list_concat_v2(
        input_handle=input_handle,
        element_shape=_build_element_shape(element_shape),
        leading_dims=np.array([], np.int64),
        element_dtype=element_dtype,
        name=name,
    )[0]


def tensor_list_split(
    tensor: TensorLike, element_shape: Any, lengths: Any, name: str | None = None
) -> Any:
    """A list of pieces of ``tensor`` along its first axis, of these lengths."""
    return _ops.tensor_list_split(
        tensor=tensor,
        element_shape=_build_element_shape(element_shape),
        lengths=np.asarray(lengths, np.int64) if isinstance(lengths, (list, tuple)) else lengths,
        name=name,
    )


def tensor_list_set_item(
    input_handle: Any,
    index: Any,
    item: Any,
    resize_if_index_out_of_bounds: bool = False,
    name: str | None = None,
) -> Any:
    """The list with ``item`` at ``index``; with ``resize_if_index_out_of_bounds`` it grows where that is needed."""
    return _ops.tensor_list_set_item(
        input_handle=input_handle,
        index=index,
        item=item,
        resize_if_index_out_of_bounds=resize_if_index_out_of_bounds,
        name=name,
    )


def tensor_list_concat_lists(
    input_a: Any, input_b: Any, element_dtype: Any, name: str | None = None
) -> Any:
    """Each list of ``input_a`` with the elements of the one of ``input_b`` at its end."""
    return _ops.tensor_list_concat_lists(
        input_a=input_a, input_b=input_b, element_dtype=element_dtype, name=name
    )


def tensor_list_push_back_batch(input_handles: Any, tensor: Any, name: str | None = None) -> Any:
    """Each list with a row of ``tensor`` at its end."""
    return _ops.tensor_list_push_back_batch(input_handles=input_handles, tensor=tensor, name=name)
