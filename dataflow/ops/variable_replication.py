"""How copies and changes of a variable on several replicas come together: kept for code that asks."""

from __future__ import annotations

import enum
from typing import Any


class VariableSynchronization(enum.Enum):
    """When copies of a variable on several replicas are brought together.

    A variable keeps what it is given, for code that asks; there is one copy of each here.
    ``ON_READ`` variables are not trainable.
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How changes of several replicas become one; kept, as `VariableSynchronization` is."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def checked_replication(
    synchronization: Any, aggregation: Any, trainable: bool | None, name: Any
) -> tuple[VariableSynchronization, VariableAggregation, bool]:
    """The three with their defaults; raises `ValueError` for other values."""
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    elif not isinstance(aggregation, VariableAggregation):
        raise ValueError(
            f"Invalid variable aggregation mode: {aggregation} for variable: {name}. Take one of "
            "tf.VariableAggregation."
        )
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    elif not isinstance(synchronization, VariableSynchronization):
        raise ValueError(
            f"Invalid variable synchronization mode: {synchronization} for variable: {name}. Take "
            "one of tf.VariableSynchronization."
        )
    on_read = synchronization is VariableSynchronization.ON_READ
    return synchronization, aggregation, not on_read if trainable is None else trainable


def check_read_only(synchronization: Any, trainable: bool | None, name: str | None) -> None:
    """Raises `ValueError` where a library makes a variable that is to be trained, and summed when it is read."""
    if trainable and synchronization is VariableSynchronization.ON_READ:
        raise ValueError(
            "Synchronization value can be set to VariableSynchronization.ON_READ only for "
            f"non-trainable variables: pass trainable=False for {name}."
        )
