"""Functions of ``tensorflow.python.ops.control_flow_ops`` in the form that they have there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import control_flow
from dataflow.ops.casts import cast
from dataflow.ops.concat_split import stack
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.logging_ops import Assert
from dataflow.ops.math import reduce_any, reduce_sum
from dataflow.ops.sparse_tensor import SparseTensor

__all__ = ["_case_helper", "merge", "switch"]


class _Merge(NamedTuple):
    """What `merge` gives."""

    output: Any
    value_index: Tensor


def _parts(value: Any) -> list[Any]:
    """The tensors of a value; ``dense_shape`` may be None."""
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, IndexedSlices):
        return [value.values, value.indices, value.dense_shape]
    return [value]


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> tuple[Any, Any]:
    """(output_false, output_true): ``data``, which may be sparse, goes to the one that ``pred`` names."""
    if not isinstance(data, (IndexedSlices, SparseTensor, Tensor)):
        data = convert_to_tensor(data, dtype)
    pred = convert_to_tensor(pred)
    parts = _parts(data)
    pairs = [
        (None, None) if part is None else control_flow.switch(part, pred, name if i == 0 else None)
        for i, part in enumerate(parts)
    ]
    if len(parts) == 1:
        return pairs[0][0], pairs[0][1]
    return type(data)(*(p[0] for p in pairs)), type(data)(*(p[1] for p in pairs))


def merge(inputs: Sequence[Any], name: str | None = None) -> Any:
    """``(output, value_index)``: the input that is not dead, all tensors or all sparse alike, and its number.

    Raises `ValueError` where one is None.
    """
    if any(value is None for value in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    kind: Any = next(
        (type(v) for v in inputs if isinstance(v, (IndexedSlices, SparseTensor))), Tensor
    )
    if kind is Tensor:
        inputs = [v if isinstance(v, Tensor) else convert_to_tensor(v) for v in inputs]
    columns = list(zip(*map(_parts, inputs), strict=True))
    merged: list[Any] = [
        None if None in column else _merge(list(column), name) for column in columns
    ]
    first = merged[0]
    if kind is Tensor:
        return first
    return _Merge(kind(*(part and part.output for part in merged)), first.value_index)


def _merge(tensors: list[Any], name: str | None) -> Any:
    by_reference = all(tensor.dtype.is_ref for tensor in tensors)
    op = control_flow.ref_merge_op if by_reference else control_flow.merge_op
    return _Merge(*op(tensors, name=name))


def _case_helper(
    cond_fn: Callable[..., Any],
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None,
    exclusive: bool,
    name: str,
    allow_python_preds: bool = False,
    **cond_kwargs: Any,
) -> Any:
    """`tf.case` by another conditional: ``cond_fn(pred, true_fn=..., false_fn=...)`` for each pair.

    Without a ``default`` one of the predicates has to hold, and with ``exclusive`` no two; the graph
    checks it when it runs.
    """
    items = pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs
    pairs = list(items)
    if not pairs:
        raise ValueError(
            "case: pred_fn_pairs is empty: pass at least one pair of a predicate and a function."
        )
    if not allow_python_preds and not all(isinstance(pred, Tensor) for pred, _ in pairs):
        raise TypeError("case: predicates must be tensors of bools.")
    with default_graph().name_scope(name):
        held = stack([convert_to_tensor(pred, dtypes.bool_) for pred, _ in pairs])
        checks = []
        if exclusive:
            count = reduce_sum(cast(held, dtypes.int32))
            message = "Input error: exclusive=True: more than 1 conditions evaluated as True."
            checks.append(Assert(count <= 1, [message, held]))
        chosen = default
        if chosen is None:
            message = "None of conditions evaluated as True."
            checks.append(Assert(reduce_any(held), [message, held]))
            chosen = pairs.pop()[1]
        for pred, function in reversed(pairs):
            chosen = partial(cond_fn, pred, true_fn=function, false_fn=chosen, **cond_kwargs)
        with default_graph().control_dependencies(checks):
            return chosen()
