"""What rewrites of a graph for quantization have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataflow import dtypes
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.array import identity
from dataflow.ops.initializers import Zeros
from dataflow.ops.state import assign_add
from dataflow.ops.variable_scope import get_variable

_STEP = "fake_quantization_step"


def reroute(new: Tensor, old: Tensor, users: Iterable[Operation] | None = None) -> int:
    """Lets ``users`` of ``old`` (None: all) take ``new``; returns how many inputs that were."""
    count = 0
    for op in list(old.consumers()) if users is None else list(users):
        for i, tensor in enumerate(op.inputs):
            if tensor is old:
                op._update_input(i, new)
                count += 1
    return count


def identical(value: Any) -> Any:
    """``value``: a branch of a conditional that has it already."""
    return value


def quantization_step() -> Any:
    """The number of steps that the rewritten graph has run: a variable, counted once in each run that asks."""
    graph = default_graph()
    try:
        return graph.get_tensor_by_name(f"{_STEP}/Identity:0")
    except KeyError:
        pass
    with graph.name_scope(None):
        step = get_variable(
            _STEP,
            [],
            dtypes.int64,
            Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES],
        )
        with graph.name_scope(f"{step.op.name}/"):
            return identity(assign_add(step, 1))
