"""Namespaces whose parts are loaded when first named (``tf.python.client.timeline``)."""

from __future__ import annotations

import importlib
from types import ModuleType


def submodule(package: str, name: str) -> ModuleType:
    """The module ``package.name``; raises `AttributeError` when there is none."""
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return importlib.import_module(f"{package}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{package}.{name}":
            raise
        public = package.replace("dataflow", "tf", 1)
        raise AttributeError(f"{public}.{name} is not part of dataflow.") from error
