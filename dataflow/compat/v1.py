"""``import dataflow.compat.v1 as tf``: the same names as ``import dataflow as tf``.

With the switches that such programs begin with, which have nothing to switch here.
"""

from __future__ import annotations

import importlib
from typing import Any

from dataflow.graph.eager import disable_eager_execution, enable_eager_execution
from dataflow.ops.resource_variables import disable_resource_variables, enable_resource_variables
from dataflow.ops.tensor_equality import disable_tensor_equality, enable_tensor_equality
from dataflow.shapes import disable_v2_tensorshape, enable_v2_tensorshape


def enable_v2_behavior() -> None:
    """Turns on what version 2 does by default; call it at the start of the program.

    That is eager execution, resource variables, sizes of shapes that are numbers, and tensors whose ``==`` compares
    elements. Raises `ValueError` if a graph has already been started.
    """
    enable_eager_execution()
    enable_v2_tensorshape()
    enable_resource_variables()
    enable_tensor_equality()


def disable_v2_behavior() -> None:
    """Turns off what `enable_v2_behavior` turns on: programs are of version 1 by default."""
    disable_eager_execution()
    disable_v2_tensorshape()
    disable_resource_variables()
    disable_tensor_equality()


def enable_control_flow_v2() -> None:
    """Nothing to do: conditionals and loops give the same values either way."""


def control_flow_v2_enabled() -> bool:
    """False: control flow is made of Switch and Merge nodes."""
    return False


def disable_control_flow_v2() -> None:
    """Nothing to do: control flow is made of Switch and Merge nodes."""


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("dataflow"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(importlib.import_module("dataflow"))})
