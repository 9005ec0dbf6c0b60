"""The kernel that reads ``SequenceExample`` messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.formats.example_wire import read_sequence_example
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.parsing import dense_rows, sparse_rows
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import strings, text_array


def _checked(found: tuple[str, Any], key: bytes, dtype: DType) -> Any:
    kind, values = found
    if values is None:
        return []
    if kind != dtype.name:
        raise ValueError(
            f"Key: {key.decode()}.  Data types don't match. Data type: {kind} but expected type: "
            f"{dtype.name}"
        )
    return values


@kernel("ParseSequenceExampleV2", cpu_only="bytes are read on the host")
def parse_sequence_example_kernel(
    xp: Module,
    serialized: Array,
    names: Array,
    context_sparse_keys: Array,
    context_dense_keys: Array,
    context_ragged_keys: Array,
    list_sparse_keys: Array,
    list_dense_keys: Array,
    list_ragged_keys: Array,
    may_miss: Array,
    defaults: list[Array],
    *,
    context_sparse_types: Any,
    Tcontext_dense: Any,
    context_dense_shapes: Any,
    feature_list_sparse_types: Any,
    feature_list_dense_types: Any,
    feature_list_dense_shapes: Any,
) -> Any:
    batch = strings(serialized)
    keys = [
        strings(k).tolist()
        for k in (context_sparse_keys, context_dense_keys, list_sparse_keys, list_dense_keys)
    ]
    wanted = {k for group in keys for k in group}
    examples = []
    for text in batch.reshape(-1).tolist():
        try:
            examples.append(read_sequence_example(text, wanted))
        except ValueError as e:
            raise ValueError(f"Could not parse sequence example, value: {text[:60]!r} ({e})") from e
    single = batch.ndim == 0
    drop = 1 if single else 0
    at, values, sizes, dense = [], [], [], []
    for key, dtype in zip(keys[0], context_sparse_types, strict=True):
        rows = [_checked(c[key], key, dtype) if key in c else [] for c, _ in examples]
        indices, flat, shape = sparse_rows(rows, dtype)
        at.append(indices[:, drop:])
        values.append(flat)
        sizes.append(shape[drop:])
    for key, dtype, default, dims in zip(
        keys[1], Tcontext_dense, defaults, context_dense_shapes, strict=True
    ):
        rows = [_checked(c[key], key, dtype) if key in c else None for c, _ in examples]
        made = dense_rows(rows, dtype, default, dims, key, lambda i: "<unknown>")
        dense.append(made[0] if single else made)
    context = [*at, *values, *sizes, *dense]
    at, values, sizes, dense, lengths = [], [], [], [], []
    for key, dtype in zip(keys[2], feature_list_sparse_types, strict=True):
        steps = [[_checked(v, key, dtype) for v in lists.get(key, [])] for _, lists in examples]
        indices, flat, shape = _sparse_steps(steps, dtype)
        at.append(indices[:, drop:])
        values.append(flat)
        sizes.append(shape[drop:])
    for key, dtype, dims, missing in zip(
        keys[3], feature_list_dense_types, feature_list_dense_shapes, may_miss, strict=True
    ):
        made, counts = _dense_steps(examples, key, dtype, dims, bool(missing))
        dense.append(made[0] if single else made)
        lengths.append(counts[0] if single else counts)
    return (*context, *at, *values, *sizes, *dense, *lengths)


def _sparse_steps(steps: list[list[Any]], dtype: DType) -> tuple[Any, Any, Any]:
    flat_rows = [row for rows in steps for row in rows]
    inner, values, shape = sparse_rows(flat_rows, dtype)
    counts = np.array([len(rows) for rows in steps], np.intp)
    owner = np.repeat(np.arange(len(steps)), counts)
    step = np.arange(len(flat_rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    indices = np.stack([owner[inner[:, 0]], step[inner[:, 0]], inner[:, 1]], 1).astype(np.int64)
    whole = [len(steps), int(counts.max(initial=0)), int(shape[1])]
    return indices.reshape(-1, 3), values, np.array(whole, np.int64)


def _dense_steps(examples: Any, key: bytes, dtype: DType, dims: Any, missing: bool) -> Any:
    size = int(np.prod(dims, dtype=np.int64))
    rows = []
    for i, (_, lists) in enumerate(examples):
        if key not in lists and not missing:
            raise ValueError(
                f"Index: {i}, Feature list: {key.decode()} is required but could not be found.\n"
                "  Give the FixedLenSequenceFeature allow_missing=True if it may be missing."
            )
        found = [_checked(v, key, dtype) for v in lists.get(key, [])]
        for step, entry in enumerate(found):
            if len(entry) != size:
                raise ValueError(
                    f"Index: {i}, Feature list: {key.decode()}, step {step}: {len(entry)} values "
                    f"for an entry of shape {list(dims)}"
                )
        rows.append(found)
    counts = np.array([len(r) for r in rows], np.int64)
    longest = int(counts.max(initial=0))
    whole = (len(rows), longest, size)
    out = (
        text_array([b""] * int(np.prod(whole)), whole)
        if dtype.kind == "S"
        else (np.zeros(whole, dtype.numpy))
    )
    for i, found in enumerate(rows):
        for step, entry in enumerate(found):
            out[i, step] = entry
    return out.reshape(len(rows), longest, *dims), counts
