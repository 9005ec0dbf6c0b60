"""`tf.keras.wrappers`: models for other libraries; each is loaded when it is first named."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["scikit_learn"]


def __getattr__(name: str) -> Any:
    if name == "scikit_learn":
        return importlib.import_module("dataflow.keras.wrappers.scikit_learn")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
