"""The kernel of Tile."""

from __future__ import annotations

from typing import Any

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import int_tuple
from dataflow.kernels.registry import kernel


@kernel("Tile", any_dtype=True)
def tile_kernel(xp: Module, x: Array, multiples: Array) -> Any:
    counts = int_tuple(multiples)
    if not counts:
        return x
    # Each axis as (multiple, size), broadcast: one copy, where xp.tile makes one an axis.
    source = x.reshape([s for d in x.shape for s in (1, d)])
    full = xp.broadcast_to(
        source, [s for m, d in zip(counts, x.shape, strict=True) for s in (m, d)]
    )
    return full.reshape([m * d for m, d in zip(counts, x.shape, strict=True)]).copy()
