"""``import dataflow.compat.v1 as tf``: the same names as ``import dataflow as tf``.

With the switches that such programs begin with, which have nothing to switch here.
"""

from __future__ import annotations

import importlib
from typing import Any


def disable_v2_behavior() -> None:
    """Nothing to do: this is version 1's behavior."""


def enable_control_flow_v2() -> None:
    """Nothing to do: conditionals and loops give the same values either way."""


def control_flow_v2_enabled() -> bool:
    """False: control flow is made of Switch and Merge nodes."""
    return False


def disable_control_flow_v2() -> None:
    """Nothing to do: control flow is made of Switch and Merge nodes."""


def disable_tensor_equality() -> None:
    """Nothing to do: ``==`` compares identity."""


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("dataflow"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(importlib.import_module("dataflow"))})
