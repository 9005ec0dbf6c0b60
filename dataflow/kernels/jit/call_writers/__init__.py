"""How the kernel of each op is written down as calls of machine code (`call_list`).

A writer gets a node with arrays that stand for its inputs and results, and adds calls that compute these
results. What it adds need not be right for every input: `runtime.call_lists` compares with the kernel itself, on
random numbers, and takes what gives the same bits. Where a kernel chooses among several ways by sizes, the
writer offers them as variants.

A writer raises `CannotWrite` where it has no way (or no further variant); `NotCompiled` where a loop is still being
compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.kernels.jit.call_list import CallWriter
from dataflow.kernels.jit.call_writers import (
    diagonals,
    indexed,
    losses,
    movement,
    products,
    sums,
)
from dataflow.kernels.jit.call_writers.base import CannotWrite, Node, NotCompiled, must, writers
from dataflow.kernels.jit.call_writers.elementwise import BY_TABLE, by_table, function_of, traced

__all__ = [
    "CannotWrite",
    "Node",
    "NotCompiled",
    "can_be_written",
    "op_types",
    "packed_panels",
    "write",
]

#: The op types of `convolutions`, which takes as long to load as all other writers.
_CONVOLUTIONS = frozenset(
    {
        *("Conv2D", "_Conv2DBias", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
        *("SpaceToBatchND", "BatchToSpaceND"),
    }
)


def can_be_written(op_type: str, kernel: Any) -> bool:
    """Whether there is a writer for a node of this type, with this bound kernel."""
    return (
        op_type in writers
        or op_type in _CONVOLUTIONS
        or op_type in BY_TABLE
        or isinstance(kernel, np.ufunc)
        or function_of(kernel) is not None
    )


def packed_panels(op_type: str, inputs: Sequence[Any]) -> tuple[int, Any] | None:
    """(Number of parts, panels) of the right matrix of a product with a packed one; ``None`` where it is not packed."""
    parts = products.packed_parts(op_type, [x.shape for x in inputs])
    if not parts:
        return None
    from dataflow.kernels.jit.gemm import PackedMatrix

    try:
        return parts, PackedMatrix(inputs[1]).panels(parts)
    except ValueError:
        return None


def op_types() -> frozenset[str]:
    """The op types that have a writer of their own."""
    return _CONVOLUTIONS | writers.keys()


def write(w: CallWriter, node: Node) -> None:
    """Adds the calls of a node."""
    if node.op_type in _CONVOLUTIONS:
        from dataflow.kernels.jit.call_writers import convolutions  # they register themselves
    writer = writers.get(node.op_type)
    if writer is not None:
        writer(w, node)
    elif node.variant:
        raise CannotWrite
    elif node.op_type in BY_TABLE:
        by_table(w, node)
    elif isinstance(node.kernel, np.ufunc):
        must(len(node.results) == 1 and w.ufunc(node.kernel, *node.inputs, *node.results))
    else:
        traced(w, node)
