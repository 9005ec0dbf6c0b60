"""What `fit` and `evaluate` report: values by name."""

from __future__ import annotations

from typing import Any

import numpy as np


class LogValue(np.float64):
    """A loss or metric: NumPy's number, as callbacks expect, printed as a plain one."""

    __slots__ = ()

    def __repr__(self) -> str:
        return float.__repr__(self)


class Logs(dict[str, Any]):
    """Values by name; ``accuracy`` and ``acc`` are the same one, as both spellings are in use."""

    def __missing__(self, key: str) -> Any:
        for long, short in (("accuracy", "acc"), ("acc", "accuracy")):
            if key.endswith(long):
                other = key[: -len(long)] + short
                if dict.__contains__(self, other):
                    return dict.__getitem__(self, other)
        raise KeyError(key)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default
