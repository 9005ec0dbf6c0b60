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
        raise absent(package, name) from error


def absent(package: str, name: str) -> AttributeError:
    """What to raise for ``package.name``, with what to write instead where that is known."""
    from dataflow.missing import advice

    path = f"{package}.{name}".removeprefix("dataflow.")
    return AttributeError(f"tf.{path} is not part of dataflow. {advice(path)}".rstrip())


def protocol_buffers(package: str, name: str) -> ModuleType:
    """The generated module ``name`` ("graph_pb2"); raises `AttributeError` when there is none."""
    if not name.endswith("_pb2"):
        raise AttributeError(name)
    whole = f"tensorboard.compat.proto.{name}"
    try:
        return importlib.import_module(whole)
    except ModuleNotFoundError as error:
        public = package.replace("dataflow", "tf", 1)
        if error.name == whole:
            raise AttributeError(f"{public}.{name} is not part of dataflow.") from error
        raise AttributeError(
            f"{public}.{name} comes with TensorBoard: pip install 'dataflow-learn[train]'"
        ) from error
