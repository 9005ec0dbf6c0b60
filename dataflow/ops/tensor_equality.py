"""`enable_tensor_equality`: in eager code ``==`` of tensors and variables compares their elements.

Until it is called these classes have Python's own ``==`` and hash, which cost nothing; it puts others in their place,
and `disable_tensor_equality` takes them away again.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import executing_eagerly_outside_functions
from dataflow.graph.tensor import Tensor
from dataflow.ops.comparison import equal, not_equal
from dataflow.ops.variables import Variable

_ENGINE = frozenset({"dataflow", "dataflow_widgets", "dataflow_datasets"})


def enable_tensor_equality() -> None:
    """Lets ``==`` and ``!=`` of tensors and variables compare element by element, in eager code and in its functions.

    They are no keys there any more: `hash` raises `TypeError`, and ``t.experimental_ref()`` is one. In graphs both
    stay as they are.
    """
    for kind in (Tensor, Variable):
        for name, method in (("__eq__", _equal), ("__ne__", _not_equal), ("__hash__", _hash)):
            setattr(kind, name, method)


def disable_tensor_equality() -> None:
    """Lets ``==`` and ``!=`` of tensors and variables say whether they are the same object, as they do by default."""
    for kind in (Tensor, Variable):
        for name in ("__eq__", "__ne__", "__hash__"):
            if name in vars(kind):
                delattr(kind, name)


def _equal(self: Any, other: Any) -> Any:
    return equal(self, other) if _by_elements(self) else self is other


def _not_equal(self: Any, other: Any) -> Any:
    return not_equal(self, other) if _by_elements(self) else self is not other


def _hash(self: Any) -> int:
    if _by_elements(self):
        kind = "Tensor" if isinstance(self, Tensor) else "Variable"
        raise TypeError(
            f"{kind} is unhashable if Tensor equality is enabled. Instead, use tensor.experimental_ref() as the key."
        )
    return id(self)


def _by_elements(value: Any) -> bool:
    """Whether the program, and not the engine, asks about a tensor of eager code or of a function."""
    if not executing_eagerly_outside_functions() or _is_engine(sys._getframe(2)):
        return False
    graph = value.graph
    return graph.executes_eagerly or graph.building_function or default_graph().building_function


def _is_engine(frame: FrameType | None) -> bool:
    """Whether the code of a frame is the engine's, itself or through Python's library (a weak dictionary, a copy)."""
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package not in sys.stdlib_module_names or package == "__main__":
            return package in _ENGINE
        frame = frame.f_back
    return False
