"""A sequence as segments of ``num_unroll`` steps: checks, padding, keys, sparse features as strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.errors import InvalidArgumentError
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.arithmetic import floordiv, floormod
from dataflow.ops.assertions import assert_greater_equal
from dataflow.ops.casts import cast
from dataflow.ops.clip import clip_by_value
from dataflow.ops.comparison import equal
from dataflow.ops.fills import zeros
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.identity import identity
from dataflow.ops.logging_ops import Assert
from dataflow.ops.reduce import reduce_all
from dataflow.ops.sparse_reshape import sparse_reshape
from dataflow.ops.sparse_serialization import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.static_value import static_value
from dataflow.ops.string import as_string, string_join
from dataflow.shapes import TensorShape


class SequenceInput:
    """One sequence: its length and key, its features by name, each a tensor.

    Raises `TypeError` for a name that is no string, `ValueError` for no sequences, no states, and for a shape that
    is not known.
    """

    def __init__(
        self,
        length: TensorLike,
        key: TensorLike,
        sequences: Mapping[str, TensorLike],
        context: Mapping[str, TensorLike],
        states: Mapping[str, TensorLike] | None = None,
    ) -> None:
        with name_scope("SequenceInput"):
            self.length = cast(convert_to_tensor(length, name="length"), dtypes.int32)
            self.key = convert_to_tensor(key, dtypes.string, name="key")
            self.sequences = _tensors(sequences, "sequence")
            self.context = _tensors(context, "context")
            self.states = _tensors(states or {}, "state")
        for kind, tensors in (("context", self.context), ("state", self.states)):
            for name, tensor in tensors.items():
                _check_known(kind, name, tensor.shape)
        for name, tensor in self.sequences.items():
            _check_known("sequence", name, tensor.shape[1:])
        if not self.sequences:
            raise ValueError("There must be at least one input sequence.")
        if states is not None and not self.states:
            raise ValueError(
                "There must be at least one initial state: without states use tf.train.batch."
            )


def _check_known(kind: str, name: str, shape: TensorShape) -> None:
    if not shape.is_fully_defined():
        raise ValueError(
            f"The shape of the {kind} {name!r} must be known, but for a sequence's length; it is {shape}."
        )


def _tensors(values: Mapping[str, TensorLike], kind: str) -> dict[str, Tensor]:
    for name in values:
        if not isinstance(name, str):
            raise TypeError(f"The names of {kind} inputs must be strings, got {name!r}.")
    return {name: convert_to_tensor(values[name], name=f"{kind}_{name}") for name in sorted(values)}


@dataclass
class Segments:
    """The segments of a sequence: their keys, string [n], and components [n, ...] by (kind, name)."""

    keys: Tensor
    values: dict[tuple[str, str], Tensor]
    num_unroll: Tensor
    #: Operations that fail where the lengths do not fit.
    checks: list[Any] = field(default_factory=list)


def cut(given: SequenceInput, num_unroll: int) -> Segments:
    """The sequence in pieces; raises `ValueError` for a ``num_unroll`` that is no positive integer."""
    steps = static_value(convert_to_tensor(num_unroll))
    if steps is not None and steps < 1:
        raise ValueError(f"num_unroll must be at least 1, got {steps}.")
    unroll = cast(convert_to_tensor(num_unroll, name="num_unroll"), dtypes.int32)
    padded_length, checks = _checked_length(given.sequences, unroll)
    with control_dependencies(checks):
        count = floordiv(padded_length, unroll)
    number = array.range_(count)
    total = array.tile(array.reshape(given.length, [1]), [count])
    lengths = clip_by_value(total - unroll * number, np.int32(0), unroll)
    values = {
        ("own", "length"): array.reshape(lengths, [-1]),
        ("own", "total_length"): total,
        ("own", "sequence"): number,
        ("own", "sequence_count"): array.tile(array.reshape(count, [1]), [count]),
    }
    for name, sequence in given.sequences.items():
        inner = array.shape(sequence)[1:]
        pieces = array.reshape(sequence, array.concat([[count, unroll], inner], 0))
        pieces.set_shape([None, steps, *sequence.shape[1:].as_list()])
        values["sequence", name] = pieces
    for name, one in given.context.items():
        repeats = array.concat([[count], array.ones_like(array.shape(one))], 0)
        values["context", name] = array.tile(array.expand_dims(one, 0), repeats)
        values["context", name].set_shape([None, *one.shape.as_list()])
    keys = string_join([_place(number, count), given.key], separator=":", name="keys")
    stop = string_join(["STOP", given.key], separator=":")
    values["own", "next_key"] = array.concat([keys[1:], array.reshape(stop, [1])], 0)
    for own in ("length", "total_length", "sequence", "sequence_count", "next_key"):
        values["own", own].set_shape([None])
    return Segments(keys, values, unroll, checks)


def _checked_length(sequences: dict[str, Tensor], unroll: Tensor) -> tuple[Tensor, list[Any]]:
    """The padded length, and operations that fail where it does not fit, or not all have it."""
    first, *others = sequences
    steps, size = static_value(unroll), sequences[first].shape.as_list()[0]
    if steps and size is not None and size % steps:
        raise InvalidArgumentError(
            None,
            None,
            f"The length of the sequence {first!r} should be a multiple of: {steps}, but saw value: {size}. "
            "Consider setting pad=True.",
        )
    padded_length = array.shape(sequences[first])[0]
    multiple = Assert(
        equal(floormod(padded_length, unroll), 0),
        [
            _text(
                f"Dimension 0 of tensor labeled sorted_sequences_{first} should be a multiple of: ",
                unroll,
                ", but saw value: ",
                padded_length,
                ". Consider setting pad=True.",
            )
        ],
    )
    checks = [multiple]
    for name in others:
        rows = array.shape(sequences[name])[0]
        checks.append(
            Assert(
                equal(rows, padded_length),
                [
                    _text(
                        f"Dimension 0 of tensor labeled sorted_sequences_{name} should be: ",
                        padded_length,
                        ", shape received: ",
                        rows,
                    )
                ],
            )
        )
    return padded_length, checks


def _text(*parts: Any) -> Tensor:
    """Texts and numbers that are known in a run, as one text."""
    text: Tensor = string_join([p if isinstance(p, str) else as_string(p) for p in parts])
    return text


def _place(number: Tensor, count: Tensor) -> Tensor:
    """``00001_of_00003`` for each number."""
    texts = [as_string(n, width=5, fill="0") for n in (number, count)]
    place: Tensor = string_join(texts, separator="_of_")
    return place


def check_capacity(capacity: Any, batch_size: TensorLike) -> TensorLike:
    """The batch size; raises `ValueError`, or fails in a run, where the capacity is below it."""
    if isinstance(batch_size, Tensor):
        fits = assert_greater_equal(
            convert_to_tensor(capacity, dtypes.int32),
            cast(batch_size, dtypes.int32),
            message=f"capacity needs to be >= batch_size. capacity: {capacity}",
        )
        with control_dependencies([fits]):
            return identity(batch_size)
    if capacity < batch_size:
        raise ValueError(f"capacity {capacity!r} needs to be >= batch_size {batch_size!r}.")
    return batch_size


def check_rank(value: Tensor, like: Tensor, name: str) -> Tensor:
    """A state that has the rank of the one that is kept: `ValueError` where it is known, else an op that fails."""
    rank = len(like.shape.as_list())
    if value.shape.ndims is not None and value.shape.ndims != rank:
        raise ValueError(
            f"Rank check failed for the state {name}: it must have rank {rank}, got {value.shape.ndims}."
        )
    fits = Assert(
        equal(array.rank(value), rank),
        [
            f"Rank of convert_{name}:0 should be: {rank}, shape received:",
            array.shape(value),
        ],
    )
    with control_dependencies([fits]):
        return identity(value)


def padded(
    sequences: Mapping[str, Any], num_unroll: int, pad: bool = True
) -> tuple[Tensor, dict[str, Any]]:
    """(Length of all sequences, the sequences filled up with zeros to a multiple of ``num_unroll``).

    The op fails with `InvalidArgumentError` for sequences of different lengths.
    """
    if not sequences:
        raise ValueError("There must be at least one input sequence.")
    given = {
        n: s if isinstance(s, SparseTensor) else convert_to_tensor(s) for n, s in sequences.items()
    }
    lengths = array.stack([_length(given[name]) for name in sorted(given)])
    same = Assert(
        reduce_all(equal(lengths, lengths[0])),
        ["All sequence lengths must match, but received lengths:", lengths],
    )
    with control_dependencies([same]):
        length = identity(lengths[0])
    if not pad:
        return length, given
    unroll = np.int32(num_unroll)
    missing = floormod(unroll - floormod(length, unroll), unroll)
    return length, {name: _filled_up(value, missing) for name, value in given.items()}


def _length(sequence: Any) -> Tensor:
    if isinstance(sequence, SparseTensor):
        return cast(sequence.dense_shape[0], dtypes.int32)  # type: ignore[no-any-return]
    rows: Tensor = array.shape(sequence)[0]
    return rows


def _filled_up(value: Any, missing: Tensor) -> Any:
    if isinstance(value, SparseTensor):
        rows = value.dense_shape[:1] + cast(array.reshape(missing, [1]), dtypes.int64)
        shape = array.concat([rows, value.dense_shape[1:]], 0)
        return SparseTensor(value.indices, value.values, shape)
    shape = array.concat([array.reshape(missing, [1]), array.shape(value)[1:]], 0)
    longer = array.concat([value, zeros(shape, value.dtype.base_dtype)], 0)
    longer.set_shape([None, *value.shape[1:].as_list()])
    return longer


def written_sparse(
    values: Mapping[str, Any], of_steps: bool
) -> tuple[dict[str, Any], dict[str, SparseTensor]]:
    """(All tensors, sparse ones written as three strings, for each step or in all; the sparse ones)."""
    plain, sparse = dict(values), {}
    for name, value in values.items():
        if isinstance(value, SparseTensor):
            if value.shape.ndims is None:
                raise ValueError(f"The rank of the SparseTensor {name!r} must be known.")
            sparse[name] = value
            plain[name] = serialize_many_sparse(value) if of_steps else serialize_sparse(value)
            plain[name].set_shape([None, 3] if of_steps else [3])
    return plain, sparse


def read_sparse(strings: Tensor, like: SparseTensor, of_steps: bool) -> SparseTensor:
    """The SparseTensor that was written: [batch, ...], with a step's axis after the first where it has steps."""
    rank = int(like.shape.ndims or 0)
    dtype = like.dtype.base_dtype
    if not of_steps:
        return deserialize_many_sparse(strings, dtype, rank + 1)
    rows = deserialize_many_sparse(array.reshape(strings, [-1, 3]), dtype, rank)
    sizes = cast(array.shape(strings)[:2], dtypes.int64)
    shape = array.concat([sizes, rows.dense_shape[1:]], 0)
    return sparse_reshape(rows, shape)
