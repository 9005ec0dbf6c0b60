"""``tf.distribute.experimental``: strategies of several workers, and with variables in one place."""

from __future__ import annotations

import enum

from dataflow.distribute.strategies import (
    CentralStorageStrategy as CentralStorageStrategy,
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
    ParameterServerStrategy as ParameterServerStrategy,
    TPUStrategy as TPUStrategy,
)


class CollectiveCommunication(enum.Enum):
    """How workers exchange gradients; kept, since `MultiWorkerMirroredStrategy` is of one machine here."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"
