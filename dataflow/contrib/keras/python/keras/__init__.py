"""``tf.contrib.keras.python.keras``: `tf.keras`, and its modules under this path as well."""

from __future__ import annotations

import importlib
import sys

_MODULES = (
    "activations",
    "backend",
    "callbacks",
    "constraints",
    "datasets",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "optimizers",
    "preprocessing",
    "regularizers",
    "utils",
)
for _name in _MODULES:
    # The very modules: `from ...keras.layers import Dense` is then the class of tf.keras.
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = importlib.import_module(
        f"dataflow.keras.{_name}"
    )
