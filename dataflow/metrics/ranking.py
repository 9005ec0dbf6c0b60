"""Metrics of the first k classes of a ranking, where an example may have several labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.metrics.streaming import Pair, broadcast_weights, collect, metric_variable
from dataflow.ops import array
from dataflow.ops.arithmetic import div_no_nan
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import (
    add,
    cast,
    cumsum,
    divide,
    equal,
    logical_and,
    logical_not,
    minimum,
    multiply,
    reduce_any,
    reduce_sum,
)
from dataflow.ops.sequences import range_, top_k
from dataflow.ops.sparse import sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from dataflow.ops.state import assign_add
from dataflow.shapes import Dims, TensorShape, merge


def _name_at(prefix: str, k: int | None, class_id: int | None = None) -> str:
    name = f"{prefix}_at_k" if k is None else f"{prefix}_at_{k}"
    return name if class_id is None else f"{name}_class{class_id}"


def _label_sets(labels: Any, like: Tensor) -> tuple[Tensor, Tensor]:
    """Labels as dense int64 [..., n], and which of them count: no padding, each class once."""
    labels = convert_to_tensor_or_sparse_tensor(labels)
    if isinstance(labels, SparseTensor):
        present = sparse_tensor_to_dense(
            SparseTensor(
                labels.indices, array.ones_like(labels.values, dtypes.int64), labels.dense_shape
            )
        )
        dense = cast(sparse_tensor_to_dense(labels), dtypes.int64)
        if labels.dense_shape.dims == (1,) and like.dims is not None and len(like.dims) == 2:
            # One label for each example: rows of one.
            dense, present = array.expand_dims(dense, -1), array.expand_dims(present, -1)
        # Padding must not look like a repeated class: it gets numbers no class has.
        dense = array.where(equal(present, 1), dense, array.fill(array.shape(dense), np.int64(-1)))
        mask = equal(present, 1)
    else:
        dense = cast(labels, dtypes.int64)
        if dense.dims is not None and like.dims is not None and len(dense.dims) < len(like.dims):
            dense = array.expand_dims(dense, -1)
        _check_rows(dense.dims, like.dims)
        mask = array.ones_like(dense, dtypes.bool_)
    return dense, logical_and(mask, _first_of_kind(dense))


def _check_rows(labels: Dims, predictions: Dims) -> None:
    """Raises `ValueError` unless each row of predictions has its row of labels."""
    if labels is None or predictions is None:
        return
    if len(labels) == len(predictions):
        try:
            merge(labels[:-1], predictions[:-1])
            return
        except ValueError:
            pass
    raise ValueError(
        f"Unexpected labels shape {TensorShape(labels)} for predictions shape "
        f"{TensorShape(predictions)}: the dimensions before the last must be equal."
    )


def _first_of_kind(ids: Tensor) -> Tensor:
    """True where an id did not occur earlier in its row."""
    places = range_(array.shape(ids)[-1])
    earlier = array.expand_dims(places, 0) < array.expand_dims(places, 1)
    same = equal(array.expand_dims(ids, -1), array.expand_dims(ids, -2))
    return logical_not(reduce_any(logical_and(same, earlier), -1))  # type: ignore[no-any-return]


def _found(ids: Tensor, among: Tensor, counted: Tensor) -> Tensor:
    """True where an id is one of the counted ids of ``among``'s row."""
    same = equal(array.expand_dims(ids, -1), array.expand_dims(among, -2))
    return reduce_any(logical_and(same, array.expand_dims(counted, -2)), -1)


def _weighed_sum(flags: Tensor, weights: TensorLike | None) -> Tensor:
    counts = reduce_sum(cast(flags, dtypes.float64), -1)
    if weights is not None:
        counts = multiply(counts, broadcast_weights(weights, counts))
    return reduce_sum(counts)


def _top_classes(predictions: TensorLike, k: int) -> Tensor:
    return cast(top_k(convert_to_tensor(predictions), k)[1], dtypes.int64)  # type: ignore[no-any-return]


def _ratio_at_top_k(
    kind: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> Pair:
    other = "false_positive" if kind == "precision" else "false_negative"
    with name_scope(name, _name_at(kind, k, class_id)) as scope:
        ids = cast(convert_to_tensor(predictions_idx), dtypes.int64)
        labels, counted = _label_sets(labels, ids)
        said = _first_of_kind(ids)
        if class_id is not None:
            counted = logical_and(counted, equal(labels, np.int64(class_id)))
            said = logical_and(said, equal(ids, np.int64(class_id)))
        hits = logical_and(said, _found(ids, labels, counted))
        if kind == "precision":
            misses = logical_and(said, logical_not(hits))
        else:
            misses = logical_and(counted, logical_not(_found(labels, ids, said)))
        pairs = []
        for prefix, flags in (("true_positive", hits), (other, misses)):
            variable = metric_variable([], dtypes.float64, _name_at(prefix, k, class_id))
            pairs.append((variable, assign_add(variable, _weighed_sum(flags, weights))))
        (tp, update_tp), (rest, update_rest) = pairs
        value = divide(tp, add(tp, rest), name=scope)
        update = divide(update_tp, add(update_tp, update_rest), name="update")
        return collect(value, update, metrics_collections, updates_collections)


def _at_top_k(kind: str) -> Any:
    def at_top_k(
        labels: Any,
        predictions_idx: Any,
        k: int | None = None,
        class_id: int | None = None,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        return _ratio_at_top_k(
            kind, labels, predictions_idx, k, class_id, weights,
            metrics_collections, updates_collections, name,
        )  # fmt: skip

    at_top_k.__name__ = at_top_k.__qualname__ = f"{kind}_at_top_k"
    at_top_k.__doc__ = (
        f"`{kind}_at_k` of classes that are already ranked: ``predictions_idx`` [..., k]."
    )
    return at_top_k


def _at_k(kind: str, doc: str) -> Any:
    def at_k(
        labels: Any,
        predictions: Any,
        k: int,
        class_id: int | None = None,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        with name_scope(name, _name_at(kind, k, class_id)) as scope:
            return _ratio_at_top_k(
                kind, labels, _top_classes(predictions, k), k, class_id, weights,
                metrics_collections, updates_collections, scope,
            )  # fmt: skip

    at_k.__name__ = at_k.__qualname__ = f"{kind}_at_k"
    at_k.__doc__ = doc
    return at_k


precision_at_top_k = _at_top_k("precision")
recall_at_top_k = _at_top_k("recall")
precision_at_k = _at_k(
    "precision",
    """How many of the k best-scored classes are labels: float64; NaN before the first update.

    ``labels``: int64 [..., num_labels] or sparse; ``predictions``: scores [..., num_classes].
    ``class_id`` looks at one class only.
    """,
)
recall_at_k = _at_k(
    "recall",
    "How many labels are among the k best-scored classes: float64; see `precision_at_k`.",
)


def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """The mean over examples of the precision at each hit, divided by min(k, number of labels)."""
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with name_scope(name, _name_at("average_precision", k)) as scope:
        return average_precision_at_top_k(
            labels, _top_classes(predictions, k), weights, metrics_collections,
            updates_collections, scope,
        )  # fmt: skip


def average_precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """`average_precision_at_k` of classes that are already ranked: ``predictions_idx`` [..., k].

    Raises `ValueError` when k is not known before the graph runs.
    """
    ids = cast(convert_to_tensor(predictions_idx), dtypes.int64)
    k = ids.dims[-1] if ids.dims else None
    if k is None:
        raise ValueError("The last dimension of predictions_idx, k, must be known.")
    with name_scope(name, _name_at("average_precision", k)) as scope:
        labels, counted = _label_sets(labels, ids)
        hits = cast(_found(ids, labels, counted), dtypes.float64)
        precision = cumsum(hits, -1) / np.arange(1, k + 1, dtype=np.float64)
        num_relevant = minimum(reduce_sum(cast(counted, dtypes.float64), -1), np.float64(k))
        average = divide(reduce_sum(multiply(precision, hits), -1), num_relevant)
        if weights is None:
            most = cast(array.size(average), dtypes.float64)
        else:
            weights = broadcast_weights(weights, average)
            average, most = multiply(average, weights), reduce_sum(weights)
        whole = metric_variable([], dtypes.float64, "max_1")
        total = metric_variable([], dtypes.float64, "total")
        update_whole = assign_add(whole, most, name="update_max")
        update_total = assign_add(total, reduce_sum(average), name="update")
        value = div_no_nan(total, whole, name="mean")
        update = div_no_nan(update_total, update_whole, name=scope)
        return collect(value, update, metrics_collections, updates_collections)
