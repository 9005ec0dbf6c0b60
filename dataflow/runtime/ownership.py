"""Makes results safe to keep: arrays that only the caller refers to, and copies of the others."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.large_arrays import owns_memory
from dataflow.kernels.located_lines import TextLine, without_places
from dataflow.kernels.xp import is_device_array, to_host
from dataflow.runtime.codegen import DEAD


def detach(value: Any) -> Any:
    """A result that the caller may keep and change: a copy if the engine still refers to it."""
    if type(value) is np.ndarray:
        if not value.shape:
            value = value[()]
            if isinstance(value, np.generic):
                return value
            return value.copy() if type(value) is np.ndarray else detach(value)
        if value.dtype.hasobject and (plain := without_places(value)) is not value:
            return plain
        # References: the results tuple, the loop variable, this parameter, getrefcount's.
        base = value.base
        if sys.getrefcount(value) > _FRESH or not value.flags.writeable:
            return value.copy()
        if not owns_memory(value) and (type(base) is not np.ndarray or sys.getrefcount(base) > 3):
            return value.copy()
        return value
    if isinstance(value, np.generic):
        return value
    if value is DEAD:
        raise InvalidArgumentError(
            None, None, "Retval does not have value: the fetched tensor is in a branch not taken."
        )
    if type(value) is TextLine:
        return bytes(value)
    if is_device_array(value):
        return detach(to_host(value))
    return value


def _measure_fresh() -> int:
    """How many references `detach` sees to an array that nothing else refers to."""
    seen = []

    def probe(value: Any) -> Any:
        seen.append(sys.getrefcount(value))
        return value

    def make() -> tuple[Any, ...]:
        return (np.zeros(2),)

    results = make()
    [probe(v) for v in results]
    return seen[0]


_FRESH = _measure_fresh()
