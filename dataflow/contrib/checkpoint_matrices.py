"""Initializers that read a matrix of a checkpoint whose rows or columns stood for other words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops import array
from dataflow.ops.checkpoint import restore_v2
from dataflow.ops.initializers import truncated_normal_initializer, zeros_initializer
from dataflow.train.checkpoint_initializers import words_of
from dataflow.train.checkpoint_management import prefix_of


def _places(
    old_vocab: str | None, new_vocab: str | None, old_size: int, start: int, count: int
) -> np.ndarray[Any, Any]:
    """Where each of ``count`` words from ``start`` on was, -1 for nowhere; without files where it is."""
    if old_vocab is None or new_vocab is None:
        return np.arange(start, start + count)
    places = {word: i for i, word in enumerate(words_of(old_vocab, old_size))}
    words = words_of(new_vocab, start + count)[start:]
    return np.array([places.get(word, -1) for word in words], np.int64)


def load_and_remap_matrix_initializer(
    ckpt_path: str,
    old_tensor_name: str,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_size: int = -1,
    old_row_vocab_file: str | None = None,
    new_row_vocab_file: str | None = None,
    old_col_vocab_file: str | None = None,
    new_col_vocab_file: str | None = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Any]:
    """An initializer of a float32 matrix, whose rows and columns stand where their words stand now.

    Files have a word a line; a pair of them is needed for rows or for columns. What the checkpoint does not
    have, and the buckets after the words, is made by ``initializer`` (zeros by default); the whole
    matrix is read, whatever ``max_rows_in_memory``. A `TypeError` for an initializer that is no function
    and for another dtype, a `ValueError` for half a pair of files and for another shape.
    """
    if initializer is None:
        initializer = zeros_initializer()
    if not callable(initializer):
        raise TypeError(
            f"initializer must be callable, instead of being {initializer} of type "
            f"{type(initializer)}."
        )
    for what, number in (("row", num_row_oov_buckets), ("col", num_col_oov_buckets)):
        if number < 0:
            raise ValueError(f"num_{what}_oov_buckets must be >= 0, but received {number}")
    pairs = {
        "row": (old_row_vocab_file, new_row_vocab_file),
        "col": (old_col_vocab_file, new_col_vocab_file),
    }
    for what, (old, new) in pairs.items():
        if bool(old) != bool(new):
            raise ValueError(
                f"old_{what}_vocab_file and new_{what}_vocab_file must both be specified or left "
                f"unspecified. old_{what}_vocab_file='{old}', new_{what}_vocab_file='{new}'"
            )
    if not any(old for old, _ in pairs.values()):
        raise ValueError(
            "Must provide either row or column vocab files. If no remapping is necessary, consider "
            "using `tf.contrib.framework.init_from_checkpoint` instead."
        )
    columns = new_col_vocab_size + num_col_oov_buckets

    def initialize(
        shape: Sequence[int], dtype: Any = dtypes.float32, partition_info: Any = None
    ) -> Any:
        if dtypes.as_dtype(dtype) != dtypes.float32:
            raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
        if len(shape) != 2:
            raise ValueError(f"Expected 2-dim shape, but received: {shape}")
        rows = int(shape[0])
        if rows <= 0:
            raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {shape}")
        if shape[1] != columns:
            raise ValueError(
                f"Expected 2nd dim of shape to be new_col_vocab_size ({new_col_vocab_size}) + "
                f"num_col_oov_buckets ({num_col_oov_buckets}) = {columns}, but received shape: {shape}"
            )
        start = 0 if partition_info is None else partition_info.single_offset(shape)
        total = new_row_vocab_size + num_row_oov_buckets
        if start + rows > total:
            raise ValueError(
                f"Trying to initialize {rows} additional rows after {start} rows have already been "
                "initialized, which would exceed expected total row count of new_row_vocab_size "
                f"({new_row_vocab_size}) + num_row_oov_buckets ({num_row_oov_buckets}) = {total}."
            )
        known = max(0, min(rows, new_row_vocab_size - start))
        if known == 0:
            return initializer(shape)
        from_rows = _places(*pairs["row"], old_row_vocab_size, start, known)
        from_columns = _places(*pairs["col"], -1, 0, new_col_vocab_size)
        (matrix,) = restore_v2(
            prefix_of(ckpt_path), [old_tensor_name], [""], dtypes=[dtypes.float32]
        )
        moved = array.gather(
            array.gather(matrix, np.maximum(from_rows, 0)), np.maximum(from_columns, 0), axis=1
        )
        there = (from_rows >= 0)[:, np.newaxis] & (from_columns >= 0)
        made = convert_to_tensor(initializer([known, new_col_vocab_size]))
        parts = [array.where(there, moved, made)]
        if rows > known:
            parts.append(convert_to_tensor(initializer([rows - known, new_col_vocab_size])))
        value = array.concat(parts, 0)
        if num_col_oov_buckets:
            beside = convert_to_tensor(initializer([rows, num_col_oov_buckets]))
            value = array.concat([value, beside], 1)
        value.set_shape([rows, columns])
        return value

    return initialize


def load_embedding_initializer(
    ckpt_path: str,
    embedding_tensor_name: str,
    new_vocab_size: int,
    embedding_dim: int,
    old_vocab_file: str,
    new_vocab_file: str,
    old_vocab_size: int = -1,
    num_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Any]:
    """`load_and_remap_matrix_initializer` of an embedding, [words + buckets, embedding_dim].

    New rows are normal numbers of a deviation of 1 / sqrt(embedding_dim), cut off at two deviations, by
    default.
    """
    if initializer is None:
        initializer = truncated_normal_initializer(stddev=1.0 / math.sqrt(embedding_dim))
    return load_and_remap_matrix_initializer(
        ckpt_path,
        embedding_tensor_name,
        new_vocab_size,
        embedding_dim,
        old_row_vocab_size=old_vocab_size,
        old_row_vocab_file=old_vocab_file,
        new_row_vocab_file=new_vocab_file,
        num_row_oov_buckets=num_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )


def load_linear_multiclass_bias_initializer(
    ckpt_path: str,
    bias_tensor_name: str,
    new_class_vocab_size: int,
    old_class_vocab_file: str,
    new_class_vocab_file: str,
    num_class_oov_buckets: int = 0,
    initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable[..., Any]:
    """`load_and_remap_matrix_initializer` of the bias of each class, [classes + buckets, 1]."""
    return load_and_remap_matrix_initializer(
        ckpt_path,
        bias_tensor_name,
        new_class_vocab_size,
        1,
        old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file,
        num_row_oov_buckets=num_class_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )


def load_variable_slot_initializer(
    ckpt_path: str,
    old_tensor_name: str,
    primary_partition_info: Any,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    **kwargs: Any,
) -> Callable[..., Any]:
    """`load_and_remap_matrix_initializer` of an optimizer's slot.

    A slot has no parts of its own: ``primary_partition_info`` says which part of its variable it is of.
    ``kwargs`` are those of `load_and_remap_matrix_initializer`.
    """
    whole = load_and_remap_matrix_initializer(
        ckpt_path, old_tensor_name, new_row_vocab_size, new_col_vocab_size, **kwargs
    )

    def initialize(
        shape: Sequence[int], dtype: Any = dtypes.float32, partition_info: Any = None
    ) -> Any:
        del partition_info
        return whole(shape, dtype, partition_info=primary_partition_info)

    return initialize
