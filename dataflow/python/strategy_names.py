"""Names of TensorFlow's private modules of strategies."""

from __future__ import annotations

from typing import Any

from dataflow.distribute import get_strategy, in_cross_replica_context
from dataflow.distribute.strategies import TPUStrategy as TPUStrategy
from dataflow.distribute.strategy import DefaultStrategy, default_strategy, get_replica_context

__all__ = ["TPUStrategy", "TPUStrategyV1", "get_cross_replica_context"]

TPUStrategyV1 = TPUStrategy
_DefaultDistributionStrategy = DefaultStrategy
_get_default_strategy = default_strategy


def get_cross_replica_context() -> Any:
    """The strategy, within its scope and outside of its replicas; None elsewhere."""
    if in_cross_replica_context():
        return get_strategy()
    return None if get_replica_context() is not None else get_strategy()
