"""``tf.contrib.distribute``: the strategies under their older names; see `tf.distribute`."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow.distribute.reduction import CrossDeviceOps as CrossDeviceOps, NcclAllReduce
from dataflow.distribute.replica_threads import ReplicaContext as ReplicaContext
from dataflow.distribute.strategies import (
    MirroredStrategy as _MirroredStrategy,
    MultiWorkerMirroredStrategy as _MultiWorkerMirroredStrategy,
    OneDeviceStrategy as OneDeviceStrategy,
    ParameterServerStrategy as _ParameterServerStrategy,
    TPUStrategy as TPUStrategy,
)
from dataflow.distribute.strategy import (
    Strategy,
    get_loss_reduction as get_loss_reduction,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from dataflow.namespaces import explain_absent
from dataflow.python.strategy_names import get_cross_replica_context as get_cross_replica_context

__getattr__ = explain_absent(__name__)


DistributionStrategy = Strategy
get_distribution_strategy = get_strategy
has_distribution_strategy = has_strategy


class AllReduceCrossDeviceOps(NcclAllReduce):
    """`CrossDeviceOps` by its name; what it is given is kept and changes nothing."""

    def __init__(
        self,
        all_reduce_alg: str = "nccl",
        num_packs: int = 1,
        agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ) -> None:
        super().__init__(num_packs)
        self.all_reduce_alg = all_reduce_alg
        self.agg_small_grads = (agg_small_grads_max_bytes, agg_small_grads_max_group)


class DistributeConfig(NamedTuple):
    """The strategies of training and evaluation, for ``RunConfig(experimental_distribute=...)``."""

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


def _gpus(num_gpus: int | None) -> list[str] | None:
    if num_gpus is None:
        return None
    return [f"/device:GPU:{i}" for i in range(num_gpus)] or ["/device:CPU:0"]


class MirroredStrategy(_MirroredStrategy):
    """`tf.distribute.MirroredStrategy`, of ``devices`` or of so many GPUs.

    Raises `ValueError` for both.
    """

    def __init__(
        self,
        devices: Any = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: Any = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: Any = None,
    ) -> None:
        count = num_gpus if num_gpus is not None else num_gpus_per_worker
        if devices is not None and count is not None:
            raise ValueError("Must only specify one of `devices` and `num_gpus`.")
        super().__init__(devices or _gpus(count), cross_device_ops or cross_tower_ops)


class CollectiveAllReduceStrategy(_MultiWorkerMirroredStrategy):
    """`tf.distribute.experimental.MultiWorkerMirroredStrategy`."""

    def __init__(
        self,
        num_gpus_per_worker: int = 0,
        communication: Any = None,
    ) -> None:
        super().__init__(communication)


class ParameterServerStrategy(_ParameterServerStrategy):
    """`tf.distribute.experimental.ParameterServerStrategy`."""

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__()
