"""Levenshtein's distance between sequences: a step along the first ones for all pairs at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.registry import kernel

_REASON = "sequences are compared on the host"


def _padded(places: Array, values: Array, groups: Array) -> tuple[Array, Array]:
    """The values of each of ``groups`` as a row of [groups, longest], and how many they are."""
    rows = np.searchsorted(groups, places)
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    lengths = np.bincount(rows, minlength=len(groups))
    columns = np.arange(len(rows)) - (np.cumsum(lengths) - lengths)[rows]
    out = np.zeros((len(groups), int(lengths.max(initial=0))), values.dtype)
    out[rows, columns] = values[order]
    return out, lengths


def _distances(first: tuple[Array, Array], second: tuple[Array, Array]) -> Array:
    """How many insertions, deletions and changes turn each sequence into the other's: int64 [groups]."""
    (a, a_lengths), (b, b_lengths) = first, second
    along = np.arange(b.shape[1] + 1)
    every = np.arange(len(a))
    known = np.broadcast_to(along, (len(a), len(along)))
    out = b_lengths.copy()
    for i in range(a.shape[1]):
        changed = known[:, :-1] + (a[:, i, None] != b)
        removed = known + 1  # its first column is i + 1
        np.minimum(removed[:, 1:], changed, out=removed[:, 1:])
        # An insertion more for each place to the right.
        known = np.minimum.accumulate(removed - along, axis=1) + along
        np.copyto(out, known[every, b_lengths], where=a_lengths == i + 1)
    return out


@kernel("EditDistance", cpu_only=_REASON)
def edit_distance_kernel(
    xp: Any, a_at: Any, a: Any, a_shape: Any, b_at: Any, b: Any, b_shape: Any, *, normalize: bool
) -> Any:
    if len(a_shape) != len(b_shape):
        raise ValueError(f"ranks differ: {len(a_shape)} and {len(b_shape)}")
    whole = tuple(int(max(x, y)) for x, y in zip(a_shape[:-1], b_shape[:-1], strict=True))
    sizes = np.array([math.prod(whole[i + 1 :]) for i in range(len(whole))], np.int64)
    for at in (a_at, b_at):
        if ((at[:, :-1] < 0) | (at[:, :-1] >= np.array(whole, np.int64))).any():
            raise ValueError(f"an index lies outside of the shape {[*whole]}")
    a_places, b_places = (at[:, :-1] @ sizes for at in (a_at, b_at))
    groups = np.union1d(a_places, b_places)
    first, second = _padded(a_places, a, groups), _padded(b_places, b, groups)
    distances = _distances(first, second).astype(np.float32)
    if normalize:
        empty = np.where(first[1] > 0, np.float32(np.inf), np.float32(0))
        lengths = np.maximum(second[1], 1).astype(np.float32)
        distances = np.where(second[1] > 0, distances / lengths, empty)
    out = np.zeros(math.prod(whole), np.float32)
    out[groups] = distances
    return out.reshape(whole)
