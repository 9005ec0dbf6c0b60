"""Kernel of `SparseCross`: rows' combinations, hashed with FarmHash fingerprints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.formats.object_arrays import object_array
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.hashing import fingerprint64
from dataflow.kernels.index_arrays import as_intp, is_counting
from dataflow.kernels.jit.cross_hashes import MULTIPLIER, SHIFT, cross_hashes
from dataflow.kernels.registry import kernel

_MULTIPLIER, _SHIFT = np.uint64(MULTIPLIER), np.uint64(SHIFT)
#: Of TensorFlow's first crosses: where a hash starts, and what is added to each part.
_FIRST_SEED = np.uint64(0xDECAFCAFFE)
_LARGEST = np.iinfo(np.int64).max
_GOLDEN = np.uint64(0x9E3779B97F4A7800)


def _mix(value: Any) -> Any:
    return value ^ (value >> _SHIFT)


def concatenate_fingerprints(first: Any, second: Any) -> Any:
    """One fingerprint of two (uint64 arrays), as TensorFlow's FingerprintCat64."""
    with np.errstate(over="ignore"):
        result = first ^ _MULTIPLIER
        result = (result ^ (_mix(second * _MULTIPLIER) * _MULTIPLIER)) * _MULTIPLIER
        return _mix(_mix(result) * _MULTIPLIER)


class _Fingerprints(dict[bytes, int]):
    """The fingerprints of words, kept: a feature's come again in every batch."""

    def __missing__(self, text: bytes) -> int:
        if len(self) >= _MOST_KEPT:
            self.clear()
        found = self[text] = fingerprint64(text)
        return found


_MOST_KEPT = 1 << 14
_fingerprint = _Fingerprints().__getitem__


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
    of = _fingerprints if hashed_output else _texts
    places, chosen, shape = _crosses(of, indices, values, shapes, dense_inputs)
    if not hashed_output:
        return places, _joined(chosen), shape
    hashes = cross_hashes(chosen[::-1], hash_key, num_buckets or _LARGEST)
    if hashes is not None:
        return places, hashes, shape
    result = np.full(len(places), np.uint64(hash_key), np.uint64)
    for fingerprint in reversed(chosen):
        result = concatenate_fingerprints(result, fingerprint)
    return places, _in_buckets(result, num_buckets), shape


def _in_buckets(hashes: Any, num_buckets: int) -> Any:
    """Hashes (uint64) modulo the number of buckets, or so that they are no negative int64."""
    return (hashes % np.uint64(num_buckets or _LARGEST)).astype(np.int64)


@kernel("SparseFeatureCross", cpu_only="strings are hashed by the CPU")
def sparse_feature_cross_kernel(
    xp: Module,
    indices: list[Array],
    values: list[Array],
    shapes: list[Array],
    dense: list[Array],
    *,
    hashed_output: bool,
    num_buckets: int,
    out_type: Any,
    internal_type: Any,
) -> Any:
    """The combinations of each row, as texts or in the buckets of TensorFlow's first crosses."""
    of = _fingerprints if hashed_output else _texts
    places, chosen, shape = _crosses(of, indices, values, shapes, dense)
    if not hashed_output:
        return places, _joined(chosen), shape
    result = np.full(len(places), _FIRST_SEED, np.uint64)
    with np.errstate(over="ignore"):
        for fingerprint in reversed(chosen):
            # TensorFlow shifts to the right as a signed number.
            right = (result.view(np.int64) >> 4).view(np.uint64)
            result = result ^ (fingerprint + _GOLDEN + (result << np.uint64(10)) + right)
    return places, _in_buckets(result, num_buckets), shape


def _joined(chosen: list[Any]) -> Any:
    """The texts of each combination in one, given from the last input to the first."""
    return object_array([b"_X_".join(row) for row in zip(*reversed(chosen), strict=True)])


def _texts(values: Any) -> Any:
    """Strings as they are, integers as texts."""
    values = np.asarray(values)
    if values.dtype == object:
        return values
    texts = np.empty(values.shape, object)
    texts[...] = [str(v).encode() for v in values.tolist()]
    return texts


def _crosses(
    of: Callable[[Any], Any], indices: Any, values: Any, shapes: Any, dense: Any
) -> tuple[Any, list[Any], Any]:
    """(indices of the crosses, what ``of`` makes of their values from the last input to the first,
    the dense shape)."""
    prints = [of(v) for v in values]
    rows = [np.asarray(i, np.int64)[:, 0] for i in indices]
    batch = int(shapes[0][0]) if len(shapes) else len(dense[0])
    for matrix in dense:
        prints.append(of(np.reshape(matrix, -1)))
        rows.append(np.repeat(np.arange(batch), np.shape(matrix)[1]))
    each = np.arange(batch)
    if all(
        len(r) == batch and (not batch or is_counting(r)) for r in rows
    ):  # one value in each row
        row, place, chosen, widest = each, np.zeros(batch, np.int64), prints[::-1], int(batch > 0)
    else:
        row, place, chosen, widest = _combinations(prints, rows, batch)
    return np.stack([row, place], 1), chosen, np.array([batch, widest], np.int64)
