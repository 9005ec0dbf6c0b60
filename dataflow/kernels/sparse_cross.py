"""Kernel of `SparseCross`: rows' combinations, hashed with FarmHash fingerprints."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.hashing import fingerprint64
from dataflow.kernels.index_arrays import as_intp, is_counting
from dataflow.kernels.registry import kernel

_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_SHIFT = np.uint64(47)


def _mix(value: Any) -> Any:
    return value ^ (value >> _SHIFT)


def concatenate_fingerprints(first: Any, second: Any) -> Any:
    """One fingerprint of two (uint64 arrays), as TensorFlow's FingerprintCat64."""
    with np.errstate(over="ignore"):
        result = first ^ _MULTIPLIER
        result = (result ^ (_mix(second * _MULTIPLIER) * _MULTIPLIER)) * _MULTIPLIER
        return _mix(_mix(result) * _MULTIPLIER)


#: A feature's words come again in every batch.
_fingerprint = functools.lru_cache(1 << 14)(fingerprint64)


def _fingerprints(values: Any) -> Any:
    """A fingerprint for each string; an integer is its own."""
    values = np.asarray(values)
    if values.dtype == object:
        texts = values.tolist()
        return np.fromiter(map(_fingerprint, texts), np.uint64, len(texts))
    return values.astype(np.int64).view(np.uint64)


def _combinations(
    prints: list[Any], rows: list[Any], batch: int
) -> tuple[Any, Any, list[Any], int]:
    """Row, place in it and fingerprints (from the last input to the first) of each combination of
    the inputs' values in a row, and how many the longest row has."""
    counts = [np.bincount(as_intp(r), minlength=batch).astype(np.int64) for r in rows]
    starts = [np.cumsum(c) - c for c in counts]
    totals = np.prod(counts, axis=0, dtype=np.int64)
    row = np.repeat(np.arange(batch, dtype=np.int64), as_intp(totals))
    place = np.arange(len(row), dtype=np.int64) - np.repeat(
        np.cumsum(totals) - totals, as_intp(totals)
    )
    chosen: list[Any] = []
    rest = place
    for count, start, fingerprint in zip(
        reversed(counts), reversed(starts), reversed(prints), strict=True
    ):
        chosen.append(fingerprint[start[row] + rest % count[row]])
        rest = rest // count[row]
    return row, place, chosen, int(totals.max()) if batch else 0


@kernel("SparseCross", cpu_only="strings are hashed by the CPU")
def sparse_cross_kernel(
    xp: Module,
    indices: list[Array],
    values: list[Array],
    shapes: list[Array],
    dense_inputs: list[Array],
    *,
    hashed_output: bool,
    num_buckets: int,
    hash_key: int,
    out_type: Any,
    internal_type: Any,
) -> Any:
    """The combinations of each row; a row in which an input is empty has none."""
    prints = [_fingerprints(v) for v in values]
    rows = [np.asarray(i, np.int64)[:, 0] for i in indices]
    batch = int(shapes[0][0]) if len(shapes) else len(dense_inputs[0])
    for dense in dense_inputs:
        prints.append(_fingerprints(np.reshape(dense, -1)))
        rows.append(np.repeat(np.arange(batch), np.shape(dense)[1]))
    each = np.arange(batch)
    if all(
        len(r) == batch and (not batch or is_counting(r)) for r in rows
    ):  # one value in each row
        row, place, chosen, widest = each, np.zeros(batch, np.int64), prints[::-1], int(batch > 0)
    else:
        row, place, chosen, widest = _combinations(prints, rows, batch)
    result = np.full(len(row), np.uint64(hash_key), np.uint64)
    for fingerprint in reversed(chosen):
        result = concatenate_fingerprints(result, fingerprint)
    if num_buckets > 0:
        hashed = (result % np.uint64(num_buckets)).astype(np.int64)
    else:
        hashed = (result % np.uint64(np.iinfo(np.int64).max)).astype(np.int64)
    return np.stack([row, place], 1), hashed, np.array([batch, widest], np.int64)
