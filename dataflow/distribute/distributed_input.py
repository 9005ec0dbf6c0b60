"""Datasets for several replicas: global batches that are cut, or one batch for each."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from typing import Any

from dataflow.distribute.values import PerReplica
from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.array import shape


class InputReplicationMode(enum.Enum):
    """How an input function is called: once for each worker."""

    PER_WORKER = "PER_WORKER"


class InputContext:
    """What an input function may ask: how many pipelines and replicas there are."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The rows of a global batch that are one replica's.

        Raises `ValueError` where they do not divide evenly.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The global_batch_size {global_batch_size} is not divisible by "
                f"num_replicas_in_sync {self.num_replicas_in_sync}"
            )
        return global_batch_size // self.num_replicas_in_sync

    def __repr__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: "
            f"{self.num_input_pipelines})"
        )


class DistributedDataset:
    """A dataset whose iterators give each replica its own rows."""

    def __init__(self, dataset: Any, num_replicas: int, cut: bool) -> None:
        self._dataset, self._num_replicas, self._cut = dataset, num_replicas, cut

    @property
    def element_spec(self) -> Any:
        """Shapes and dtypes of the dataset's elements."""
        return self._dataset.element_spec

    def make_initializable_iterator(self, shared_name: Any = None) -> DatasetIterator:
        """An iterator that ``initialize()`` starts, before or anew."""
        made = self._dataset.make_initializable_iterator(shared_name)
        return DatasetIterator(made, self._num_replicas, self._cut)

    def make_one_shot_iterator(self) -> DatasetIterator:
        """An iterator that starts by itself."""
        made = self._dataset.make_one_shot_iterator()
        return DatasetIterator(made, self._num_replicas, self._cut)

    def __iter__(self) -> Any:
        if default_graph().executes_eagerly:
            return map(self._parts, iter(self._dataset)) if self._cut else self._each()
        raise RuntimeError(
            "__iter__() is only supported inside of tf.function or when eager execution is enabled; "
            "write iterator = dataset.make_initializable_iterator()."
        )

    def _parts(self, batch: Any) -> Any:
        return _parts_of(batch, self._num_replicas)

    def _each(self) -> Iterator[Any]:
        """One batch for each replica; those that are left at the end are dropped."""
        batches = iter(self._dataset)
        while (
            len(some := list(itertools.islice(batches, self._num_replicas))) == self._num_replicas
        ):
            yield some[0] if len(some) == 1 else _together(some)


def _parts_of(batch: Any, count: int) -> Any:
    """The replicas' parts of a batch, alike but for the last ones."""
    if count == 1:
        return batch
    flat = nest.flatten(batch)
    rows = flat[0].dims[0] if flat[0].dims else None
    number = shape(flat[0])[0] if rows is None else rows
    each = -(-number // count) if rows is not None else (number + count - 1) // count
    parts = [
        nest.map_structure(lambda t, i=i: t[i * each : (i + 1) * each], batch) for i in range(count)
    ]
    return _together(parts)


class DatasetIterator:
    """The next elements for all replicas: see `DistributedDataset`."""

    def __init__(self, iterator: Any, num_replicas: int, cut: bool) -> None:
        self._iterator, self._num_replicas, self._cut = iterator, num_replicas, cut

    @property
    def initializer(self) -> Any:
        """The operation that starts the iterator."""
        return self._iterator.initializer

    def initialize(self) -> list[Any]:
        """A list of operations that start the iterator."""
        return [self.initializer]

    def get_next(self, name: str | None = None) -> Any:
        """`PerReplica` values: the parts of one global batch, or one batch for each replica."""
        count = self._num_replicas
        if count == 1:
            return self._iterator.get_next()
        if not self._cut:
            return _together([self._iterator.get_next() for _ in range(count)])
        return _parts_of(self._iterator.get_next(), count)

    next = get_next


def _together(parts: list[Any]) -> Any:
    """A structure of `PerReplica` for a list of structures."""
    return nest.map_structure(lambda *values: PerReplica(values), *parts)
