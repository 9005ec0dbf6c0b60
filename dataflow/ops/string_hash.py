"""Numbers that stand for strings: hashes into buckets, and fingerprints."""

from __future__ import annotations

from typing import Any

from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.renamed_arguments import renamed
from dataflow.shapes import Dims


def _check_buckets(num_buckets: int) -> None:
    if num_buckets < 1:
        raise ValueError(f"num_buckets must be at least 1, got {num_buckets}")


@define_op("StringToHashBucketFast", "input: string -> output: int64", keeps_rows=True)
def string_to_hash_bucket_fast(input: Tensor, *, num_buckets: int) -> Dims:
    """FarmHash's Fingerprint64 of each string, as TensorFlow's, modulo ``num_buckets``.

    Not differentiable.
    """
    _check_buckets(num_buckets)
    return input.dims


@define_op("StringToHashBucketStrong", "input: string -> output: int64", keeps_rows=True)
def string_to_hash_bucket_strong(input: Tensor, *, num_buckets: int, key: list[int]) -> Dims:
    """SipHash of each string, hard to steer without the key, modulo ``num_buckets``.

    ``key``: two numbers. Not differentiable.
    """
    _check_buckets(num_buckets)
    if len(key) != 2:
        raise ValueError(f"key must have 2 elements, got {len(key)}")
    return input.dims


@define_op("StringToHashBucket", "string_tensor: string -> output: int64", keeps_rows=True)
def string_to_hash_bucket_op(string_tensor: Tensor, *, num_buckets: int) -> Dims:
    """TensorFlow's older Hash64 of each string, modulo ``num_buckets``. Not differentiable."""
    _check_buckets(num_buckets)
    return string_tensor.dims


@define_op("Fingerprint", "data: T, method: string -> fingerprint: uint8")
def fingerprint_op(data: Tensor, method: Tensor) -> Dims:
    """FarmHash's Fingerprint64 of each row as 8 bytes. Not differentiable."""
    if data.dims == ():
        raise ValueError("data must be at least a vector")
    return (None if data.dims is None else data.dims[0], 8)


not_differentiable(
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
    string_to_hash_bucket_op,
    fingerprint_op,
)


def string_to_hash_bucket(
    string_tensor: Any = None,
    num_buckets: int | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """A number below ``num_buckets`` for each string, by TensorFlow's older hash."""
    source = renamed("input", string_tensor, "string_tensor", input)
    return string_to_hash_bucket_op(source, num_buckets=num_buckets, name=name)  # type: ignore[no-any-return]


def fingerprint(data: TensorLike, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """The 64-bit fingerprint of each row of ``data`` as uint8 [rows, 8]."""
    return fingerprint_op(data, method, name=name)  # type: ignore[no-any-return]
