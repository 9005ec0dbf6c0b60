"""`Strategy`: one program, built for several devices that step together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dataflow.device_spec import DeviceSpec
from dataflow.distribute.distributed_input import DatasetIterator, DistributedDataset, InputContext
from dataflow.distribute.reduction import (
    CrossDeviceOps,
    ReductionToOneDevice,
    checked,
    reduce_values,
)
from dataflow.distribute.replica_threads import (
    ReplicaContext,
    call_for_each_replica,
    outside_of_replicas,
)
from dataflow.distribute.values import PerReplica, components, mirrored, select
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import identity, shape
from dataflow.ops.control_flow import group
from dataflow.ops.math import add_n, cast, reduce_sum
from dataflow.ops.replicas import state
from dataflow.ops.variables import Variable, variable_creator_scope

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


def canonical(device: str) -> str:
    """A device's name as strategies know it: "/device:CPU:0" for "/cpu:0" and "CPU"."""
    spec = DeviceSpec.from_string(device if device.startswith("/") else f"/device:{device}")
    kind = (spec.device_type or "CPU").upper()
    return f"/device:{kind}:{spec.device_index or 0}"


def local_devices() -> list[str]:
    """The GPUs of this machine, or its CPU where there is none."""
    from dataflow.runtime.devices import list_local_devices

    names = [d.name for d in list_local_devices() if d.device_type == "GPU"]
    return [canonical("/" + n.rpartition("/")[2]) for n in names] or ["/device:CPU:0"]


class StrategyExtended:
    """What strategies are made of, for those who write libraries: ``strategy.extended``."""

    def __init__(
        self, container_strategy: Any, devices: Any = (), cross_device_ops: Any = None
    ) -> None:
        self._strategy = container_strategy
        self.worker_devices = tuple(devices)
        self.cross_device_ops: CrossDeviceOps = cross_device_ops or ReductionToOneDevice()
        #: Where variables are, when they are not copied to the devices.
        self.variable_device: str | None = None
        self.experimental_require_static_shapes = False
        self.experimental_between_graph = False
        self.experimental_should_init = True
        self.should_checkpoint = True
        self.should_save_summary = True

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of the variables."""
        return (self.variable_device,) if self.variable_device else self.worker_devices

    def call_for_each_replica(self, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        """``fn(*args, **kwargs)``, built once for each replica."""
        with self._strategy.scope():
            return call_for_each_replica(self._strategy, fn, args, kwargs)

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The sum or mean of a value of the replicas, on the devices of ``destinations``."""
        return self.cross_device_ops.reduce(reduce_op, value, destinations)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """`reduce_to` of each pair."""
        return self.cross_device_ops.batch_reduce(reduce_op, value_destination_pairs)

    def broadcast_to(self, tensor: TensorLike, destinations: Any) -> Any:
        """Copies of a tensor on all devices."""
        return self.cross_device_ops.broadcast(tensor, destinations or list(self.worker_devices))

    def update(
        self, var: Any, fn: Any, args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """``fn(copy, *args, **kwargs)`` for each copy of a variable, on its device."""
        results = []
        for i, copy in enumerate(components(var)):
            with default_graph().device(copy.device):
                results.append(fn(copy, *select(args, i), **select(kwargs or {}, i)))
        return _grouped(results) if group else PerReplica(results)

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Any,
        args: Any = (),
        kwargs: Any = None,
        group: bool = True,
    ) -> Any:
        """``fn(*args, **kwargs)`` once, on the first device of ``colocate_with``."""
        result = fn(*select(args, 0), **select(kwargs or {}, 0))
        return _grouped([result]) if group else result

    def read_var(self, v: Any) -> Any:
        """The value of a variable, outside of replicas."""
        return identity(v.value() if isinstance(v, Variable) else v)

    def value_container(self, value: Any) -> Any:
        """What holds ``value`` as one of its copies; copies know no container here, so itself."""
        return value

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether the variable was made in this strategy's scope."""
        return getattr(v, "made_by", None) is self._strategy

    def non_slot_devices(self, var_list: Iterable[Any]) -> Any:
        """Where variables that belong to no single variable are."""
        return min(var_list, key=lambda v: v.op.name)

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """A block whose variables are where the given one is."""
        return default_graph().colocate_with(components(colocate_with_variable)[0].op)

    def experimental_make_numpy_dataset(
        self, numpy_input: Any, session: BaseSession | None = None
    ) -> Any:
        """A dataset of the rows of arrays."""
        from dataflow.data.dataset import Dataset

        return Dataset.from_tensor_slices(numpy_input)

    # ---- variables ------------------------------------------------------------------------

    def create_variable(self, next_creator: Any, kwargs: dict[str, Any]) -> Any:
        """The creator of the scope: copies on all devices, or one variable where it belongs."""
        replica = state.replica
        thread = getattr(replica, "thread", None)
        key = "" if thread is None else _key_of(kwargs, thread.index)
        if thread is not None and thread.index > 0:
            return thread.shared_variable(key)
        graph = default_graph()
        if self.variable_device is not None:
            with graph.device(None), graph.device(self.variable_device):
                variable = next_creator(**kwargs)
        elif len(self.worker_devices) == 1:
            with graph.device(self.worker_devices[0]):
                variable = next_creator(**kwargs)
        else:
            variable = self._copied_variable(next_creator, kwargs)
        variable.made_by = self._strategy
        if thread is not None:
            thread.share_variable(key, variable)
        return variable

    def _copied_variable(self, next_creator: Any, kwargs: dict[str, Any]) -> Any:
        graph = default_graph()
        collections = kwargs.pop("collections", None)
        keys = list(collections if collections is not None else [GraphKeys.GLOBAL_VARIABLES])
        kwargs["collections"] = []
        copies: list[Any] = []
        for i, device in enumerate(self.worker_devices):
            with graph.device(device):
                if i:
                    kwargs["initial_value"] = copies[0].initial_value
                    name = f"{copies[0].op.name}/replica_{i}/"
                    with graph.name_scope(None):
                        copies.append(next_creator(**{**kwargs, "name": name[:-1]}))
                else:
                    copies.append(next_creator(**kwargs))
        for copy in copies:
            trained = graph.get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
            trained[:] = [v for v in trained if v is not copy]
        result = mirrored(copies, kwargs.get("aggregation"), kwargs.get("synchronization"))
        if result.trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(keys, result)
        return result


def _key_of(kwargs: dict[str, Any], replica: int) -> str:
    """The name that a variable has in every replica: without the replica's scope."""
    scope = f"{default_graph().get_name_scope()}/{kwargs.get('name') or 'Variable'}"
    return f"/{scope}/".replace(f"/replica_{replica}/", "/") if replica else f"/{scope}/"


def _grouped(results: list[Any]) -> Any:
    return group(*[r for r in results if r is not None])


class Strategy:
    """How a program is spread over devices. Use `MirroredStrategy` or another of its kinds.

    Within ``with strategy.scope():`` variables have a copy on each device. ``experimental_run_v2(fn,
    args)`` builds ``fn`` once for each replica; where it asks an optimizer to apply gradients, those of
    all replicas are summed, and all copies get the same step.
    """

    def __init__(self, extended: Any) -> None:
        self._extended = extended
        #: Optimizers divide losses by the number of replicas, as `tf.estimator` wants it.
        self.averages_losses = False

    @property
    def extended(self) -> Any:
        """`StrategyExtended`: what libraries ask for."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas step together."""
        return len(self._extended.worker_devices)

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A block in which this is the strategy, and variables are made as it wants them.

        Raises `RuntimeError` within the scope of another one.
        """
        if state.strategy is not None:
            if state.strategy is not self:
                raise RuntimeError(
                    "Mixing different tf.distribute.Strategy objects: there is one in force, "
                    f"{state.strategy!r}, and {self!r} cannot be entered within its scope."
                )
            yield self
            return

        def creator(next_creator: Any, **kwargs: Any) -> Any:
            if state.plain or state.strategy is not self:
                return next_creator(**kwargs)
            return self._extended.create_variable(next_creator, kwargs)

        default_graph().attachments["strategy"] = self  # Keras's session needs its devices
        with outside_of_replicas(self), variable_creator_scope(creator):
            yield self

    # ---- running --------------------------------------------------------------------------

    def experimental_run_v2(self, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        """``fn`` built once for each replica; `PerReplica` arguments give each its own value."""
        return self._extended.call_for_each_replica(fn, args, kwargs)

    def experimental_run(self, fn: Any, input_iterator: Any = None) -> Any:
        """As `experimental_run_v2`, with the next elements of an iterator of this strategy."""
        args = () if input_iterator is None else (input_iterator.get_next(),)
        return self.experimental_run_v2(fn, args)

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        """The replicas' values as one tensor; with ``axis`` that axis of each is reduced too.

        A mean over an axis is that of all elements, however many each replica has.
        """
        operation = checked(reduce_op)
        if axis is None:
            return reduce_values(operation, value)
        parts = components(value)
        sums = [reduce_sum(p, axis=axis) for p in parts]
        total = add_n(sums)
        if operation.value == "SUM":
            return total
        counts = add_n([cast(shape(p)[axis], total.dtype) for p in parts])
        return total / counts

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas, as a tuple."""
        return components(value)

    unwrap = experimental_local_results

    def group(self, value: Any, name: str | None = None) -> Any:
        """An operation that runs the values of all replicas."""
        return group(*components(value), name=name)

    # ---- input ----------------------------------------------------------------------------

    def experimental_distribute_dataset(self, dataset: Any) -> DistributedDataset:
        """A dataset of global batches, each cut into one part for each replica."""
        return DistributedDataset(dataset, self.num_replicas_in_sync, cut=True)

    def experimental_distribute_datasets_from_function(self, dataset_fn: Any) -> DistributedDataset:
        """``dataset_fn(InputContext)`` gives batches for one replica each."""
        count = self.num_replicas_in_sync
        return DistributedDataset(dataset_fn(InputContext(1, 0, count)), count, cut=False)

    def make_dataset_iterator(self, dataset: Any) -> DatasetIterator:
        """An iterator over global batches, cut into parts; ``initialize()`` starts it."""
        return self.experimental_distribute_dataset(dataset).make_initializable_iterator()

    def make_input_fn_iterator(
        self, input_fn: Callable[..., Any], replication_mode: Any = None
    ) -> DatasetIterator:
        """An iterator over ``input_fn(InputContext)``, whose batches are for one replica each."""
        made = self.experimental_distribute_datasets_from_function(input_fn)
        return made.make_initializable_iterator()

    def experimental_make_numpy_dataset(
        self, numpy_input: Any, session: BaseSession | None = None
    ) -> Any:
        """A dataset of the rows of arrays."""
        return self._extended.experimental_make_numpy_dataset(numpy_input, session)

    # ---- settings -------------------------------------------------------------------------

    def configure(
        self,
        session_config: Any = None,
        cluster_spec: Any = None,
        task_type: Any = None,
        task_id: Any = None,
    ) -> None:
        """Nothing to do: the strategy is of this process."""

    def update_config_proto(self, config_proto: Any) -> Any:
        """The session's settings, with a CPU for each one that the strategy names."""
        count = sum("CPU" in d for d in self._extended.worker_devices)
        if count > config_proto.device_count.get("CPU", 1):
            config_proto.device_count["CPU"] = count
        return config_proto

    def colocate_vars_with(self, colocate_with_variable: Any) -> Any:
        """See `StrategyExtended.colocate_vars_with`."""
        return self._extended.colocate_vars_with(colocate_with_variable)


class DefaultStrategy(Strategy):
    """In force where no strategy's scope is: one replica, wherever the graph places it."""

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Changes nothing. Raises `RuntimeError` within the scope of a real strategy."""
        if state.strategy is not None:
            raise RuntimeError("The default strategy cannot be entered within another's scope.")
        yield self


_default = DefaultStrategy(None)
_default._extended = StrategyExtended(_default, [""])


def get_strategy() -> Strategy:
    """The strategy whose scope this is; a default one with one replica outside of all."""
    return state.strategy or _default


def default_strategy() -> Strategy:
    """The strategy outside of all scopes: one replica."""
    return _default


def has_strategy() -> bool:
    """Whether this is within a strategy's scope."""
    return state.strategy is not None


def in_cross_replica_context() -> bool:
    """Whether this is within a strategy's scope, and not within a replica."""
    return state.strategy is not None and state.replica is None


def get_replica_context() -> Any:
    """The replica that is being built; ``None`` in a scope outside of replicas."""
    if state.replica is not None:
        return state.replica
    return None if state.strategy is not None else ReplicaContext(_default, 0)


def get_loss_reduction() -> Any:
    """How losses of replicas become one: `ReduceOp.MEAN`, or SUM where the last loss of `tf.losses` is a sum."""
    from dataflow.distribute.reduction import ReduceOp
    from dataflow.losses import last_reduction

    return ReduceOp.SUM if last_reduction() in ("weighted_sum", "none") else ReduceOp.MEAN


def experimental_set_strategy(strategy: Any) -> None:
    """Enters the scope of ``strategy`` for the rest of the program; ``None`` leaves it."""
    global _entered
    if _entered is not None:
        _entered.__exit__(None, None, None)
        _entered = None
    if strategy is not None:
        _entered = strategy.scope()
        _entered.__enter__()


_entered: Any = None
