"""The kinds of strategies: copies on several devices, one device, variables in one place."""

from __future__ import annotations

from typing import Any

from dataflow.distribute.cluster_resolver import TFConfigClusterResolver
from dataflow.distribute.strategy import (
    Strategy,
    StrategyExtended,
    canonical,
    local_devices,
)


def _checked_devices(devices: Any) -> list[str]:
    if isinstance(devices, str):
        raise ValueError(
            f"devices must be a list of device names such as ['/cpu:0'], got {devices!r}."
        )
    names = [canonical(d) for d in devices]
    if len(set(names)) != len(names):
        raise ValueError(f"Expected unique device names, got {names}.")
    return names


class MirroredStrategy(Strategy):
    """A copy of the variables on each device; replicas step together, on parts of a batch.

    ``devices``: such as ``["/gpu:0", "/gpu:1"]``; by default all GPUs, or the CPU. Several CPUs, or
    pretend GPUs, have to be there in the session: ``tf.ConfigProto(device_count={"CPU": 2})``.
    ``cross_device_ops``: how gradients are summed. Raises `ValueError` for a device that is named twice.
    """

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        names = _checked_devices(devices) if devices else local_devices()
        super().__init__(StrategyExtended(self, names, cross_device_ops))


class OneDeviceStrategy(Strategy):
    """Everything on one device: a program for several devices, tried on one."""

    def __init__(self, device: str) -> None:
        super().__init__(StrategyExtended(self, [canonical(device)]))


class CentralStorageStrategy(Strategy):
    """Variables on one device (the CPU, or the only GPU), replicas on ``compute_devices``."""

    def __init__(self, compute_devices: Any = None, parameter_device: Any = None) -> None:
        names = _checked_devices(compute_devices) if compute_devices else local_devices()
        extended = StrategyExtended(self, names)
        extended.variable_device = canonical(parameter_device or _parameter_device(names))
        super().__init__(extended)


def _parameter_device(compute_devices: list[str]) -> str:
    return compute_devices[0] if len(compute_devices) == 1 else "/device:CPU:0"


class ParameterServerStrategy(Strategy):
    """Variables on parameter servers, one replica for each local device of a worker.

    Without a cluster in TF_CONFIG it is `CentralStorageStrategy`. With one, `tf.estimator` trains
    between graphs: every worker by itself, see `tf.estimator.train_and_evaluate`.
    """

    def __init__(self, cluster_resolver: Any = None) -> None:
        names = local_devices()
        extended = StrategyExtended(self, names)
        cluster = (cluster_resolver or TFConfigClusterResolver()).cluster_spec()
        if "ps" in cluster.jobs:
            raise NotImplementedError(
                "ParameterServerStrategy with a cluster: give tf.estimator the cluster in TF_CONFIG "
                "and no strategy (its workers train between graphs by themselves), or use "
                "tf.train.replica_device_setter or tf.cluster.Training."
            )
        extended.variable_device = _parameter_device(names)
        super().__init__(extended)


class MultiWorkerMirroredStrategy(Strategy):
    """Copies on all devices of all workers; here on those of this machine.

    Raises `NotImplementedError` for a cluster of several workers in TF_CONFIG.
    """

    def __init__(self, communication: Any = None) -> None:
        jobs = TFConfigClusterResolver().cluster_spec().as_dict()
        if sum(len(tasks) for job, tasks in jobs.items() if job in ("chief", "worker")) > 1:
            raise NotImplementedError(
                "MultiWorkerMirroredStrategy: several workers sum their gradients with "
                'tf.cluster.Training(mode="all-reduce"); this strategy runs on one machine only.'
            )
        super().__init__(StrategyExtended(self, local_devices()))


class TPUStrategy(Strategy):
    """Refused: there are no TPUs here."""

    def __init__(
        self,
        tpu_cluster_resolver: Any = None,
        steps_per_run: Any = None,
        device_assignment: Any = None,
    ) -> None:
        raise NotImplementedError(
            "TPUStrategy: there are no TPUs here; use tf.distribute.MirroredStrategy."
        )
