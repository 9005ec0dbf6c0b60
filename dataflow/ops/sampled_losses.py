"""Losses over many classes from a few sampled ones: NCE and sampled softmax.

The logits are corrected by how often the sampler (`candidate_sampling`) was to draw each class.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array as array_ops
from dataflow.ops.candidate_sampling import compute_accidental_hits, log_uniform_candidate_sampler
from dataflow.ops.elementary import log_op
from dataflow.ops.embedding import embedding_lookup
from dataflow.ops.loss import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from dataflow.ops.math import cast, reduce_sum
from dataflow.ops.matmul import mat_mul_op
from dataflow.ops.seeds import counted_as
from dataflow.ops.slicing import slice_
from dataflow.ops.sources import constant
from dataflow.ops.sparse import sparse_to_dense


def _sum_rows(x: Tensor) -> Tensor:
    """The sum of each row, as a product with ones."""
    columns = x.dims[1] if x.dims is not None else None
    with counted_as(12):
        size = columns if columns is not None else array_ops.shape(x)[1]
        shape: Any = [size, 1] if columns is not None else array_ops.stack([size, 1])
        ones = array_ops.ones(shape, x.dtype.base_dtype)
        return array_ops.reshape(mat_mul_op(x, ones), [-1])


def _first_rows(values: Tensor, flat_ids: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """``values``, of this rank, cut after as many rows as ``flat_ids`` has."""
    rest = [0] * (rank - 1)
    count = flat_ids.dims[0] if flat_ids.dims is not None else None
    all_of = [-1] * rank
    if count is not None:
        return slice_(values, [0, *rest], [count, *all_of[1:]]), slice_(
            values, [count, *rest], all_of
        )
    size = array_ops.shape(flat_ids)[0]
    if not rest:
        cut = array_ops.expand_dims(size, 0)
        return slice_(values, [0], cut), slice_(values, cut, [-1])
    first = slice_(values, [0, *rest], array_ops.stack([size, *all_of[1:]]))
    return first, slice_(values, array_ops.stack([size, *rest]), all_of)


def _is_floating(value: TensorLike) -> bool:
    """Whether a tensor (or what becomes one) holds real numbers."""
    dtype = getattr(value, "dtype", None)
    return dtypes.as_dtype(
        np.asarray(value).dtype if dtype is None else dtype
    ).base_dtype.is_floating


def _true_logits(inputs: Tensor, rows: Tensor, num_true: int) -> Tensor:
    """The products of each input with its ``num_true`` rows, [batch, num_true]."""
    if num_true == 1:
        return reduce_sum(inputs * rows, 1, keepdims=True)
    width = rows.dims[1] if rows.dims is not None else None
    shape: Any = [-1, num_true, width]
    if width is None:
        shape = array_ops.stack([-1, num_true, array_ops.shape(rows)[1]])
    wide = array_ops.expand_dims(inputs, 1) * array_ops.reshape(rows, shape)
    flat_shape = [-1, width] if width is not None else array_ops.stack([-1, shape[2]])
    products = array_ops.reshape(wide, flat_shape)  # [batch * num_true, width]
    return array_ops.reshape(_sum_rows(products), [-1, num_true])


def sampled_logits(
    weights: TensorLike,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    subtract_log_q: bool,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Logits [batch, num_true + num_sampled] and their labels, for both losses."""
    # Before TensorFlow 1.0 inputs came first; the dtypes tell which is which.
    if _is_floating(labels) and not _is_floating(inputs):
        labels, inputs = inputs, labels
    tables = list(weights) if isinstance(weights, (list, tuple)) else [weights]
    with op_scope(name, "compute_sampled_logits", [*tables, biases, inputs, labels]):
        labels = convert_to_tensor(labels, name="labels")
        if labels.dtype.base_dtype is not dtypes.int64:
            labels = cast(labels, dtypes.int64)
        inputs = convert_to_tensor(inputs, name="inputs")
        if labels.dims is not None and (
            len(labels.dims) != 2 or labels.dims[1] not in (None, num_true)
        ):
            raise ValueError(
                f"labels must be [batch, num_true] with num_true={num_true}, got {labels.shape}. "
                "For one class each: tf.expand_dims(labels, 1)."
            )
        flat = array_ops.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes, seed
            )
        num_nodes = 84 - 4 * (not subtract_log_q) + 21 * remove_accidental_hits
        with counted_as(num_nodes) if len(tables) == 1 else nullcontext():
            return _corrected_logits(
                weights,
                biases,
                labels,
                flat,
                inputs,
                sampled_values,
                num_sampled,
                num_true,
                subtract_log_q,
                remove_accidental_hits,
                partition_strategy,
            )


def _corrected_logits(
    weights: TensorLike,
    biases: Any,
    labels: Tensor,
    flat: Tensor,
    inputs: Tensor,
    sampled_values: Any,
    num_sampled: int,
    num_true: int,
    subtract_log_q: bool,
    remove_accidental_hits: bool,
    partition_strategy: str,
) -> tuple[Tensor, Tensor]:
    sampled, true_count, sampled_count = (
        array_ops.stop_gradient(convert_to_tensor(v)) for v in sampled_values
    )
    sampled = cast(sampled, dtypes.int64)
    every = array_ops.concat([flat, sampled], 0)
    rows = embedding_lookup(weights, every, partition_strategy=partition_strategy)
    if rows.dtype.base_dtype is not inputs.dtype.base_dtype:
        rows = cast(rows, inputs.dtype.base_dtype)
    true_rows, sampled_rows = _first_rows(rows, flat, 2)
    sampled_logits = mat_mul_op(inputs, sampled_rows, transpose_b=True)
    every_bias = embedding_lookup(biases, every, partition_strategy=partition_strategy)
    if every_bias.dtype.base_dtype is not inputs.dtype.base_dtype:
        every_bias = cast(every_bias, inputs.dtype.base_dtype)
    true_bias, sampled_bias = _first_rows(every_bias, flat, 1)
    true_logits = _true_logits(inputs, true_rows, num_true)
    true_logits = true_logits + array_ops.reshape(true_bias, [-1, num_true])
    sampled_logits = sampled_logits + sampled_bias
    if remove_accidental_hits:
        sampled_logits = sampled_logits + _minus_hits(
            labels, sampled, num_true, num_sampled, sampled_logits
        )
    if subtract_log_q:
        true_logits = true_logits - log_op(cast(true_count, inputs.dtype.base_dtype))
        sampled_logits = sampled_logits - log_op(cast(sampled_count, inputs.dtype.base_dtype))
    logits = array_ops.concat([true_logits, sampled_logits], 1)
    true_labels = array_ops.ones_like(true_logits) / num_true
    return logits, array_ops.concat([true_labels, array_ops.zeros_like(sampled_logits)], 1)


def _minus_hits(
    labels: Tensor, sampled: Tensor, num_true: int, num_sampled: int, like: Tensor
) -> Tensor:
    """-FLT_MAX where a sampled class is a true one of the row, else 0: [batch, num_sampled]."""
    hits, places, weights = compute_accidental_hits(labels, sampled, num_true)
    where = array_ops.concat(
        [array_ops.reshape(hits, [-1, 1]), array_ops.reshape(cast(places, dtypes.int32), [-1, 1])],
        1,
        name="sparse_indices",
    )
    batch = labels.dims[0] if labels.dims is not None else None
    if batch is not None:
        shape: Any = constant([batch, num_sampled])
    else:
        shape = array_ops.concat([array_ops.shape(labels)[:1], [num_sampled]], 0)
    kind: DType = like.dtype.base_dtype
    if kind is not dtypes.float32:
        weights = cast(weights, kind)
    return sparse_to_dense(where, shape, weights, default_value=0.0, validate_indices=False)


def nce_loss(
    weights: TensorLike,
    biases: Any,
    labels: TensorLike,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation (Gutmann and Hyvarinen 2010): true classes against noise.

    Shape: weights [num_classes, dim] (or a list of tables), biases [num_classes], labels [batch,
    num_true], inputs [batch, dim]; the result [batch]. ``sampled_values`` is what a sampler gave
    (default: log-uniform, unique). Only the rows of the true and sampled classes get a gradient.
    """
    logits, targets = sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        True,
        remove_accidental_hits,
        partition_strategy,
        name,
        None,
    )
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    return _sum_rows(losses)


def sampled_softmax_loss(
    weights: TensorLike,
    biases: Any,
    labels: TensorLike,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Softmax cross entropy over the true and a few sampled classes (Jean et al. 2014).

    For training only. Shapes and ``sampled_values`` as in `nce_loss`. Only the rows of the true
    and sampled classes get a gradient.
    """
    logits, targets = sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        True,
        remove_accidental_hits,
        partition_strategy,
        name,
        seed,
    )
    targets = array_ops.stop_gradient(targets, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)
