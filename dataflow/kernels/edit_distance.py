"""Levenshtein's distance between sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.registry import kernel

_REASON = "sequences are compared on the host"


def levenshtein(first: list[Any], second: list[Any]) -> int:
    """How many insertions, deletions and changes turn one sequence into the other."""
    previous = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        current = [i]
        for j, b in enumerate(second, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (a != b)))
        previous = current
    return previous[-1]


@kernel("EditDistance", cpu_only=_REASON)
def edit_distance_kernel(
    xp: Any, a_at: Any, a: Any, a_shape: Any, b_at: Any, b: Any, b_shape: Any, *, normalize: bool
) -> Any:
    if len(a_shape) != len(b_shape):
        raise ValueError(f"ranks differ: {len(a_shape)} and {len(b_shape)}")
    whole = tuple(int(max(x, y)) for x, y in zip(a_shape[:-1], b_shape[:-1], strict=True))
    sequences: list[dict[tuple[int, ...], list[Any]]] = [{}, {}]
    for found, at, values in ((sequences[0], a_at, a), (sequences[1], b_at, b)):
        for place, value in zip(at[:, :-1].tolist(), values.tolist(), strict=True):
            found.setdefault(tuple(place), []).append(value)
    out = np.zeros(whole, np.float32)
    for place in {*sequences[0], *sequences[1]}:
        first, second = sequences[0].get(place, []), sequences[1].get(place, [])
        distance = float(levenshtein(first, second))
        if normalize:
            distance = distance / len(second) if second else (np.inf if first else 0.0)
        out[place] = distance
    return out
