"""Long sequences in segments: `SequenceQueueingStateSaver` and `batch_sequences_with_states`.

A sequence [padded length, ...] is cut into segments of ``num_unroll`` steps. They lie in a barrier, each under
its key ``00001_of_00003:key``, and a segment is ready once the states with which it begins are there: those of
the first are given, those of the next ones are what the network saves after the segment before. So a
recurrent network trains on sequences longer than it is unrolled, and its state goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib.sequence_segments import (
    Segments,
    SequenceInput,
    check_capacity,
    check_rank,
    cut,
    padded,
    read_sparse,
    written_sparse,
)
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.barrier import Barrier
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal
from dataflow.ops.control_flow import group
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.identity import identity
from dataflow.ops.queues import FIFOQueue
from dataflow.ops.random import random_uniform
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.selection import boolean_mask
from dataflow.ops.string import as_string, string_join
from dataflow.train.queue_runner import QueueRunner, add_queue_runner

#: Components of the barrier that are not the caller's: name -> dtype of a scalar.
_OWN = {
    "length": dtypes.int32,
    "total_length": dtypes.int32,
    "sequence": dtypes.int32,
    "sequence_count": dtypes.int32,
    "next_key": dtypes.string,
}
_Component = tuple[str, str]


class NextQueuedSequenceBatch:
    """A batch of segments, and where to put the states after them. All of it is one take from the barrier."""

    def __init__(self, state_saver: SequenceQueueingStateSaver) -> None:
        self._saver = state_saver

    @property
    def key(self) -> Tensor:
        """The segments' keys, string [batch]: ``00000_of_00002:key``."""
        return self._saver.taken["own", "key"]

    @property
    def next_key(self) -> Tensor:
        """The keys of the segments after them, string [batch]; ``STOP:key`` after the last."""
        return self._saver.taken["own", "next_key"]

    @property
    def length(self) -> Tensor:
        """How many steps of each segment are no padding, int32 [batch]."""
        return self._saver.taken["own", "length"]

    @property
    def total_length(self) -> Tensor:
        """The lengths of the whole sequences, int32 [batch]."""
        return self._saver.taken["own", "total_length"]

    @property
    def sequence(self) -> Tensor:
        """Which of its sequence's segments each is, from 0; int32 [batch]."""
        return self._saver.taken["own", "sequence"]

    @property
    def sequence_count(self) -> Tensor:
        """How many segments each sequence has, int32 [batch]."""
        return self._saver.taken["own", "sequence_count"]

    @property
    def insertion_index(self) -> Tensor:
        """The order in which the sequences came, int64 [batch]; the first has the lowest int64."""
        return self._saver.taken["own", "insertion_index"]

    @property
    def batch_size(self) -> Tensor:
        """How many segments there are, an int32 scalar."""
        size: Tensor = array.shape(self.key)[0]
        return size

    @property
    def sequences(self) -> dict[str, Any]:
        """The segments, by name: [batch, num_unroll, ...]."""
        return self._saver.taken_of("sequence")

    @property
    def context(self) -> dict[str, Any]:
        """What belongs to a whole sequence, by name: [batch, ...]."""
        return self._saver.taken_of("context")

    def state(self, state_name: str) -> Tensor:
        """The state with which the segments begin, [batch, ...]; raises `KeyError` for an unknown name."""
        self._saver.check_state(state_name)
        return self._saver.taken["state", state_name]

    def save_state(self, state_name: str, value: TensorLike, name: str | None = None) -> Any:
        """An operation that keeps ``value``, [batch, ...], for the next segments.

        Without one for each state the next segments never are ready. Raises `KeyError` for an unknown name,
        `ValueError` for a value of another rank.
        """
        self._saver.check_state(state_name)
        with name_scope(name or f"InsertState/{state_name}"):
            value = convert_to_tensor(value, name=f"convert_{state_name}")
            value = check_rank(value, self._saver.taken["state", state_name], state_name)
            goes_on = self.sequence + np.int32(1) < self.sequence_count
            return self._saver.barrier.insert_many(
                self._saver.index_of("state", state_name),
                boolean_mask(self.next_key, goes_on),
                boolean_mask(value, goes_on),
                name=f"BarrierInsertState_{state_name}",
            )


class SequenceQueueingStateSaver:
    """Cuts sequences into segments, and keeps a recurrent network's states between them.

    Run ``prefetch_op`` (in threads, with a `QueueRunner`) to put a sequence in, and ``next_batch`` to take
    segments out. Segments of the sequences that came first come first.
    """

    def __init__(
        self,
        batch_size: TensorLike,
        num_unroll: int,
        input_length: TensorLike,
        input_key: TensorLike,
        input_sequences: Mapping[str, TensorLike],
        input_context: Mapping[str, TensorLike],
        initial_states: Mapping[str, TensorLike],
        capacity: int | None = None,
        allow_small_batch: bool = False,
        name: str | None = None,
    ) -> None:
        """``input_length``: the steps of one sequence that are no padding. ``input_key``: its name, unlike all others'.

        ``input_sequences``: [padded length, ...], a multiple of ``num_unroll`` long, of known shape but for that.
        ``input_context`` and ``initial_states``: of known shape. ``capacity``: how many sequences are in the
        barrier at most. With ``allow_small_batch`` a closed barrier gives what is left of it.

        Raises `ValueError` for no states or no sequences, shapes that are not known, a ``num_unroll`` below 1,
        and a ``capacity`` below ``batch_size``.
        """
        if capacity is not None:
            batch_size = check_capacity(capacity, batch_size)
        with name_scope(name or "SequenceQueueingStateSaver"):
            given = SequenceInput(
                input_length, input_key, input_sequences, input_context, initial_states
            )
            self._states = list(given.states)
            self._batch_size = convert_to_tensor(batch_size, dtypes.int32, name="batch_size")
            segments = cut(given, num_unroll)
            self._components: list[_Component] = [*(("own", own) for own in _OWN)]
            self._components += [("sequence", n) for n in given.sequences]
            self._components += [("context", n) for n in given.context]
            self._components += [("state", n) for n in given.states]
            values = segments.values | {("state", n): v for n, v in given.states.items()}
            kinds = [values[c].dtype.base_dtype for c in self._components]
            shapes = [_shape_of(values[c], c[0]) for c in self._components]
            self._barrier = Barrier(kinds, shapes, name="barrier")
            self._room = None
            if capacity is not None:
                self._room = FIFOQueue(capacity, [dtypes.int32], [()], name="capacity_queue")
            self._prefetch_op = self._insert(segments, values)
            self._take(allow_small_batch)
        self._next_batch = NextQueuedSequenceBatch(self)

    @property
    def name(self) -> str:
        """The barrier's name."""
        return self._barrier.name

    @property
    def barrier(self) -> Barrier:
        """The barrier in which the segments lie."""
        return self._barrier

    @property
    def batch_size(self) -> Tensor:
        """How many segments are taken at a time, an int32 scalar."""
        return self._batch_size

    @property
    def num_unroll(self) -> Tensor:
        """How many steps a segment has, an int32 scalar."""
        return self._num_unroll

    @property
    def prefetch_op(self) -> Any:
        """An operation that puts one sequence in; it waits while there is no room."""
        return self._prefetch_op

    @property
    def next_batch(self) -> NextQueuedSequenceBatch:
        """The next segments; the same object each time."""
        return self._next_batch

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """An operation that closes the barrier: no new sequences; with ``cancel_pending_enqueues`` no states."""
        with name_scope(name or "SQSSClose"):
            closed = [self._barrier.close(cancel_pending_enqueues, name="BarrierClose")]
            if self._room is not None:
                closed.append(self._room.close(cancel_pending_enqueues, name="CapacityClose"))
            return group(*closed, name="close")

    def check_state(self, state_name: str) -> None:
        """Raises `KeyError` unless there is a state of that name."""
        if state_name not in self._states:
            raise KeyError(f"state was not declared: {state_name}; there are {self._states}.")

    def index_of(self, kind: str, name: str) -> int:
        """Which component of the barrier it is."""
        return self._components.index((kind, name))

    def taken_of(self, kind: str) -> dict[str, Any]:
        """What was taken, by name."""
        return {name: value for (of, name), value in self.taken.items() if of == kind}

    def _insert(self, segments: Segments, values: dict[_Component, Tensor]) -> Any:
        """Every component of all segments; of states only the first segment's."""
        self._num_unroll = segments.num_unroll
        waits = [] if self._room is None else [self._room.enqueue([np.int32(0)])]
        with control_dependencies([*waits, *segments.checks]):
            keys = identity(segments.keys)
        inserts: list[Any] = []
        for index, component in enumerate(self._components):
            kind, name = component
            value, of = values[component], keys
            if kind == "state":
                value, of = array.expand_dims(value, 0), keys[:1]
            with control_dependencies(inserts[:1]):  # the first gives all of them one place
                inserts.append(
                    self._barrier.insert_many(index, of, value, name=f"BarrierInsert_{name}")
                )
        return group(*inserts, name="prefetch")

    def _take(self, allow_small_batch: bool) -> None:
        indices, keys, found = self._barrier.take_many(
            self._batch_size, allow_small_batch, name="BarrierTakeMany"
        )
        values = dict(zip(self._components, found, strict=True))
        done = []
        if self._room is not None:
            last = equal(values["own", "sequence"] + np.int32(1), values["own", "sequence_count"])
            done.append(self._room.dequeue_many(reduce_sum(cast(last, dtypes.int32))))
        values["own", "key"], values["own", "insertion_index"] = keys, indices
        #: What one take gives: (kind, name) -> tensor [batch, ...].
        self.taken: dict[_Component, Tensor] = {}
        with control_dependencies(done):
            for (kind, name), value in values.items():
                self.taken[kind, name] = identity(value, name=f"{kind}_{name}")


def _shape_of(value: Tensor, kind: str) -> Any:
    """The shape of one element of a component."""
    return value.shape if kind == "state" else value.shape[1:]


def batch_sequences_with_states(
    input_key: TensorLike,
    input_sequences: Mapping[str, Any],
    input_context: Mapping[str, Any],
    input_length: TensorLike | None,
    initial_states: Mapping[str, TensorLike],
    num_unroll: int,
    batch_size: int,
    num_threads: int = 3,
    capacity: int = 1000,
    allow_small_batch: bool = True,
    pad: bool = True,
    make_keys_unique: bool = False,
    make_keys_unique_seed: int | None = None,
    name: str | None = None,
) -> NextQueuedSequenceBatch:
    """Batches of segments of long sequences, with states that go on: a `NextQueuedSequenceBatch`.

    ``input_sequences`` and ``input_context`` may have SparseTensors. With ``pad`` sequences are filled up with
    zeros to a multiple of ``num_unroll``; ``input_length`` None is their length. ``make_keys_unique`` appends a
    random number to ``input_key``. Threads of a `QueueRunner` fill the barrier: call `start_queue_runners`.
    The op fails with `InvalidArgumentError` for sequences of different lengths, and without ``pad`` for a
    length that is no multiple of ``num_unroll``.
    """
    with name_scope(name or "batch_sequences_with_states"):
        key = convert_to_tensor(input_key, dtypes.string)
        if make_keys_unique:
            number = random_uniform(
                (), 0, 2**31 - 1, dtype=dtypes.int32, seed=make_keys_unique_seed
            )
            key = string_join([key, as_string(number)], separator=":", name="unique_key")
        length, sequences = padded(input_sequences, num_unroll, pad)
        if input_length is None:
            input_length = length
        plain_sequences, of_sequences = written_sparse(sequences, of_steps=True)
        plain_context, of_context = written_sparse(input_context, of_steps=False)
        saver = SequenceQueueingStateSaver(
            batch_size,
            num_unroll,
            input_length,
            key,
            plain_sequences,
            plain_context,
            initial_states,
            capacity=capacity,
            allow_small_batch=allow_small_batch,
        )
        add_queue_runner(QueueRunner(saver, [saver.prefetch_op] * num_threads))
        for kind, written in (("sequence", of_sequences), ("context", of_context)):
            for sparse, like in written.items():
                taken: Any = read_sparse(saver.taken[kind, sparse], like, kind == "sequence")
                saver.taken[kind, sparse] = taken
        return saver.next_batch
