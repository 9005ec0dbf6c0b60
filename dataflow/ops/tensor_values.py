"""Whether something is a tensor, and what is known of it: `tf.is_tensor` and `tf.get_static_value`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.conversion import dense_types
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.static_value import static_value
from dataflow.ops.variables import Variable


def is_tensor(x: Any) -> bool:
    """True for tensors, variables, `SparseTensor` and `IndexedSlices`; False for a `RaggedTensor`, as in 1.15."""
    kinds = (Tensor, Variable, IndexedSlices, SparseTensor, *dense_types)
    return isinstance(x, kinds) or bool(getattr(x, "is_tensor_like", False))


def constant_value(tensor: TensorLike, partial: bool = False) -> Any:
    """`tf.get_static_value`: see `static_value`; what is no tensor is its own value.

    With ``partial`` a stack along the first axis is an array of objects: None for parts that are not known.
    """
    if not is_tensor(tensor):
        return tensor
    found = static_value(tensor)
    if not isinstance(tensor, Tensor):
        return found
    if found is None and partial and tensor.op.type == "Pack" and not tensor.op.attrs["axis"]:
        parts = [static_value(part) for part in tensor.op.inputs]
        if any(part is not None for part in parts):
            found = np.empty(len(parts), object)
            for i, part in enumerate(parts):
                found[i] = part
    return found
