"""Kernels of numbers that stand for strings: hashes into buckets, and fingerprints."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.hashing import fingerprint64, hash64, sip_hash
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import each, one, strings

_REASON = "strings live in the host's memory"


def _buckets(fingerprint: Callable[[bytes], int], value: Any, num_buckets: int) -> Any:
    """The bucket of every element: its fingerprint, unsigned, modulo ``num_buckets``."""
    hashed = each(fingerprint, value, np.uint64)
    return (hashed % np.uint64(num_buckets)).astype(np.int64)


def _fingerprints(value: Any) -> Any:
    """FarmHash's fingerprint of every element, uint64."""
    return each(fingerprint64, strings(value), np.uint64)


@kernel("StringToHashBucketFast", cpu_only=_REASON)
def string_to_hash_bucket_fast_kernel(xp: Module, x: Array, *, num_buckets: int) -> Any:
    return (_fingerprints(x) % np.uint64(num_buckets)).astype(np.int64)


@kernel("StringToHashBucketStrong", cpu_only=_REASON)
def string_to_hash_bucket_strong_kernel(
    xp: Module, x: Array, *, num_buckets: int, key: list[int]
) -> Any:
    return _buckets(functools.partial(sip_hash, key[0], key[1]), x, num_buckets)


@kernel("StringToHashBucket", cpu_only=_REASON)
def string_to_hash_bucket_kernel(xp: Module, x: Array, *, num_buckets: int) -> Any:
    return _buckets(hash64, x, num_buckets)


@kernel("Fingerprint", cpu_only=_REASON)
def fingerprint_kernel(xp: Module, data: Array, method: Array) -> Any:
    if one(method) != b"farmhash64":
        raise ValueError(f"Unsupported method: {one(method)!r}; only farmhash64 is supported")
    rows = data.shape[0]
    if data.dtype.kind == "O":
        flat = data.reshape(rows, -1).tolist()
        if data.size == rows:
            numbers = [fingerprint64(row[0]) for row in flat]
        else:  # several strings a row: the fingerprint of their fingerprints
            numbers = [
                fingerprint64(b"".join(fingerprint64(t).to_bytes(8, "little") for t in row))
                for row in flat
            ]
    else:
        numbers = [fingerprint64(np.ascontiguousarray(row).tobytes()) for row in data]
    return np.array(numbers, "<u8").view(np.uint8).reshape(rows, 8)
