"""Weights that many matrix products of a plan share are packed once.

A product first copies its right matrix into panels. With few rows in the left matrix, as in the steps
of a recurrent network, that takes as long as the product itself. Weights do not change within a loop,
or from step to step of an unrolled one.
"""

from __future__ import annotations

from typing import NamedTuple

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.fused import packed_matrix_op, packed_product_op
from dataflow.rewrites.control_dependency_gates import variable_read
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.rewrites.effects import Changes
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

#: Outside loops, the number of products that must share a matrix.
_LEAST_PRODUCTS = 4
#: Products with smaller matrices are faster without packing.
_LEAST_ELEMENTS = 2048


class _Shared(NamedTuple):
    """The properties that products share: the matrix outside all loops, whether it is transposed, and the node that
    carries it into their loop."""

    matrix: Tensor
    transposed: bool
    enter: Operation | None


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Packs the right matrices that several products share."""
    ops = work.needed()
    where = positions(ops, work.feed_tensors)
    groups: dict[_Shared, list[Operation]] = {}
    changes = Changes(ops)
    for op in ops:
        if op.type != "MatMul" or op.attrs["transpose_a"] or op.outputs[0].dtype.name != "float32":
            continue
        right = op.inputs[1]
        if right.dims is None or len(right.dims) != 2 or None in right.dims:
            continue
        if right.dims[0] * right.dims[1] < _LEAST_ELEMENTS:  # type: ignore[operator]
            continue
        if right.op.type == "Enter" and right.op.attrs["is_constant"]:
            key = _Shared(right.op.inputs[0], op.attrs["transpose_b"], right.op)
        elif where.get(op, OUTSIDE) == OUTSIDE and not op.control_inputs:
            key = _Shared(right, op.attrs["transpose_b"], None)
        else:
            continue
        groups.setdefault(key, []).append(op)
    for key, members in groups.items():
        if key.enter is None and (
            len(members) < _LEAST_PRODUCTS or not _stays(key.matrix, changes)
        ):
            continue
        _pack(work, journal, key, members)


def _stays(matrix: Tensor, changes: Changes) -> bool:
    """False for the value of a variable that the plan may change between the products."""
    if matrix.dtype.is_ref:
        return changes.are_over(matrix)
    return variable_read(matrix.op) is None or not matrix.op.control_inputs


def _pack(work: WorkingGraph, journal: list[Hit], key: _Shared, members: list[Operation]) -> None:
    with use_graph(work.graph):
        work.begin(members[0].outputs[0])
        packed = packed_matrix_op(key.matrix, transpose_b=key.transposed, name="packed")
        made = [packed.op]
        if key.enter is not None:
            packed = get_op("Enter")(
                packed, frame_name=key.enter.attrs["frame_name"], is_constant=True, name="Enter"
            )
            for control in key.enter.control_inputs:
                packed.op.add_control_edge(control)
            made.append(packed.op)
        for op in made:
            work.origin[op] = work.origin[members[0]]
            op.frames = work.origin[op].frames
        for op in members:
            old = op.outputs[0]
            work.begin(old)
            new = packed_product_op(op.inputs[0], packed, output_shape=old.dims, name="product")
            work.replace(old, new)
    times = "in each round" if key.enter is not None else f"{len(members)} times"
    journal.append(
        Hit(
            "packing",
            f"matmul(x, weights) {times} -> the weights are packed once",
            members[-1].outputs[0].name,
            new.name,
            tuple(op.name for op in members),
            (made[0].name, new.op.name),
        )
    )
