"""How the values of replicas become one: `ReduceOp` and the cross-device ops."""

from __future__ import annotations

import enum
from typing import Any

from dataflow.distribute.values import PerReplica, components, reduce_by
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import identity
from dataflow.ops.indexed_slices import IndexedSlices


class ReduceOp(enum.Enum):
    """What becomes of the values of the replicas: their sum or their mean."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> ReduceOp:
        """The `ReduceOp` of a `tf.VariableAggregation`."""
        return ReduceOp(aggregation.name)


def checked(reduce_op: Any) -> ReduceOp:
    """A `ReduceOp`, of its name too; raises `ValueError` for anything else."""
    if isinstance(reduce_op, str):
        reduce_op = ReduceOp.__members__.get(reduce_op.upper(), reduce_op)
    if not isinstance(reduce_op, ReduceOp):
        raise ValueError(
            f"reduce_op must be tf.distribute.ReduceOp.SUM or MEAN, got {reduce_op!r}."
        )
    return reduce_op


def reduce_values(reduce_op: Any, value: Any) -> Any:
    """The values of a structure of `PerReplica`, each reduced to one tensor."""
    if isinstance(value, dict):
        return type(value)((k, reduce_values(reduce_op, v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return type(value)(reduce_values(reduce_op, v) for v in value)
    if isinstance(value, PerReplica) and isinstance(value.values[0], IndexedSlices):
        return sum_of_slices(checked(reduce_op), value.values)
    return reduce_by(checked(reduce_op), value)


def sum_of_slices(reduce_op: ReduceOp, parts: Any) -> IndexedSlices:
    """Rows of several replicas, one after the other: what sums them is who applies them."""
    from dataflow.ops.array import concat

    values = concat([p.values for p in parts], 0)
    if reduce_op is ReduceOp.MEAN:
        values = values / len(parts)
    return IndexedSlices(values, concat([p.indices for p in parts], 0), parts[0].dense_shape)


class CrossDeviceOps:
    """Reduces values of several devices to one, and copies them: on the first device, then outwards.

    The base of the three below; all give the same numbers, since the devices share one memory.
    """

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any) -> Any:
        """The sum or mean of the replicas' values, on the devices of ``destinations``."""
        return self.reduce_implementation(checked(reduce_op), per_replica_value, destinations)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """`reduce` of each pair (value, destinations)."""
        return self.batch_reduce_implementation(checked(reduce_op), value_destination_pairs)

    def broadcast(self, tensor: TensorLike, destinations: Any) -> Any:
        """Copies of ``tensor`` on the devices of ``destinations``."""
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any
    ) -> Any:
        """What `reduce` does; for subclasses."""
        return self.broadcast(reduce_values(reduce_op, per_replica_value), destinations)

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: Any
    ) -> list[Any]:
        """What `batch_reduce` does; for subclasses."""
        return [self.reduce(reduce_op, v, d) for v, d in value_destination_pairs]

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """What `broadcast` does; for subclasses."""
        devices = _devices_of(destinations)
        if isinstance(tensor, IndexedSlices) or len(devices) < 2:
            return tensor
        copies = []
        for device in devices:
            with default_graph().device(device):
                copies.append(identity(tensor))
        return PerReplica(copies)


def _devices_of(destinations: Any) -> list[Any]:
    if isinstance(destinations, str):
        return [destinations]
    if isinstance(destinations, (list, tuple)):
        return [getattr(d, "device", d) for d in destinations]
    return [getattr(v, "device", v) for v in components(destinations)]


class ReductionToOneDevice(CrossDeviceOps):
    """Reduces on one device, ``reduce_to_device`` (the first of the values by default).

    ``accumulation_fn`` (default `tf.add_n`) sums a list of tensors.
    """

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Any = None) -> None:
        self.reduce_to_device, self.accumulation_fn = reduce_to_device, accumulation_fn

    def reduce_implementation(
        self, reduce_op: Any, per_replica_value: Any, destinations: Any
    ) -> Any:
        """The sum on that device, then copies."""
        values = components(per_replica_value)
        with default_graph().device(self.reduce_to_device):
            if self.accumulation_fn is None or isinstance(values[0], IndexedSlices):
                result = reduce_values(reduce_op, per_replica_value)
            else:
                result = self.accumulation_fn(list(values))
                result = result / len(values) if reduce_op is ReduceOp.MEAN else result
        return self.broadcast(result, destinations)


class _AllReduce(CrossDeviceOps):
    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(
                f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified"
            )
        self.num_packs = num_packs


class HierarchicalCopyAllReduce(_AllReduce):
    """`CrossDeviceOps` by its name; ``num_packs`` is kept and changes nothing."""


class NcclAllReduce(_AllReduce):
    """`CrossDeviceOps` by its name; ``num_packs`` is kept and changes nothing."""
