"""Kernels that put elements in another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.index_arrays import int_tuple
from dataflow.kernels.registry import kernel


@kernel("Transpose", any_dtype=True)
def transpose_kernel(xp: Module, x: Array, perm: Array) -> Any:
    return x.transpose(int_tuple(perm))


@kernel("ConjugateTranspose")
def conjugate_transpose_kernel(xp: Module, x: Array, perm: Array) -> Any:
    out = x.transpose(int_tuple(perm))
    return out.conj() if out.dtype.kind == "c" else out


@kernel("ReverseV2", any_dtype=True)
def reverse_kernel(xp: Module, x: Array, axis: Array) -> Any:
    return xp.flip(x, int_tuple(axis)) if len(axis) else x


@kernel("Reverse")
def reverse_v1_kernel(xp: Module, x: Array, dims: Array) -> Any:
    axes = tuple(i for i, flag in enumerate(dims.tolist()) if flag)
    return xp.flip(x, axes) if axes else x


@kernel("ReverseSequence")
def reverse_sequence_kernel(
    xp: Module, x: Array, lengths: Array, *, seq_dim: int, batch_dim: int
) -> Any:
    """Gathers with indices: ``length - 1 - t`` inside of each sequence, ``t`` after it."""
    if seq_dim % x.ndim == batch_dim % x.ndim:
        raise ValueError(f"batch_dim == seq_dim == {seq_dim}: they must be different axes")
    batch, time = x.shape[batch_dim], x.shape[seq_dim]
    if lengths.shape[0] != batch:
        raise ValueError(f"{lengths.shape[0]} lengths for a batch of {batch}")
    if lengths.size and (int(lengths.min()) < 0 or int(lengths.max()) > time):
        raise ValueError(f"lengths must lie in [0, {time}], got {lengths.tolist()}")
    moved = xp.moveaxis(x, (batch_dim, seq_dim), (0, 1))
    steps = xp.arange(time)[None, :]
    ends = xp.asarray(lengths)[:, None]
    index = xp.where(steps < ends, ends - 1 - steps, steps)
    out = moved[xp.arange(batch)[:, None], index]
    return xp.moveaxis(out, (0, 1), (batch_dim, seq_dim))


@kernel("Roll")
def roll_kernel(xp: Module, x: Array, shift: Array, axis: Array) -> Any:
    shifts, axes = np.atleast_1d(shift).tolist(), np.atleast_1d(axis).tolist()
    if len(axes) != 1 or not x.size or not -x.ndim <= axes[0] < x.ndim:
        return xp.roll(x, shifts, axes)
    at = axes[0] % x.ndim  # along one axis the two parts change places
    before, size = (slice(None),) * at, x.shape[at]
    first = size - sum(shifts) % size
    return xp.concatenate((x[(*before, slice(first, None))], x[(*before, slice(first))]), at)
