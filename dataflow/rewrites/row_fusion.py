"""Rows: element-wise nodes and sums along the last axis between them become one kernel.

A layer norm is a mean, a variance and a normalization, each of which reads the rows from memory; its
gradient reads them eight times. Here the rows stay in a GPU's registers, or in the cache, until all is computed. Groups grow
as those of `multi_output_fusion` do, along values of a row's length and values of one number a row.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.jit.expression import ROW_MEAN, ROW_SUM, Region
from dataflow.kernels.jit.native_ufunc import SMALL_ELEMENTS
from dataflow.kernels.jit.regions import small_source
from dataflow.kernels.jit.row_mapping import are_summed
from dataflow.ops.fused import fused_rows_op
from dataflow.rewrites.control_flow_positions import OUTSIDE, Position, positions
from dataflow.rewrites.effects import Changes
from dataflow.rewrites.fusion import FUSED_NODES
from dataflow.rewrites.gradual import Steps
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.multi_output_fusion import (
    MOST_NODES,
    RegionKey,
    RegionSearch,
    grow,
    is_read_outside,
    region_key,
    wait_for_kernel,
)
from dataflow.rewrites.working_graph import WorkingGraph

_SUMS = {"Sum": ROW_SUM, "Mean": ROW_MEAN}
#: Nodes that pass on their input.
_SAME_VALUE = frozenset({"StopGradient", "Identity"})


def run(work: WorkingGraph, journal: list[Hit], gpu_nodes: Collection[Operation]) -> Steps[None]:
    """Replaces each group with a sum in it by a `_FusedRows` node.

    ``gpu_nodes``: the user's nodes whose kernels run on a GPU.
    """
    ops = work.needed()
    if len(ops) > MOST_NODES or not any(op.type in _SUMS for op in ops):
        return
    where, changes = positions(ops, work.feed_tensors), Changes(ops)
    search = yield from grow(
        work,
        ops,
        where,
        lambda op, search: _key(
            op, search, changes, where.get(op, OUTSIDE), work.origin[op] in gpu_nodes
        ),
    )
    needed, fetched = set(ops), work.fetched_values()
    for members, key in zip(search.members, search.keys, strict=True):
        sums = sum(op.type in _SUMS for op in members)
        if not sums or len(members) - sum(op.type in _SAME_VALUE for op in members) < 2:
            continue
        inside = set(members)
        results = [
            t for op in members for t in op.outputs if is_read_outside(t, inside, needed, fetched)
        ]
        if results and all(t.dtype.base_dtype.name != "bool" for t in results):
            _fuse(work, journal, members, results, key)
            yield 10 * len(members)


def _key(
    op: Operation, search: RegionSearch, changes: Changes, place: Position, on_gpu: bool
) -> RegionKey | None:
    """The `RegionKey` of the group that a node may join: the shape of its rows; ``None``: none."""
    if op.type in _SUMS:
        return _key_of_sum(op, changes, place, on_gpu)
    inputs = [search.keys[search.number[t.op]] for t in op.inputs if t.op in search.number]
    if op.type in _SAME_VALUE:
        if not inputs or op.control_inputs or op.control_outputs:
            return None
        key = inputs[0]
        same = (
            key._replace(device=op.device, place=place) == key
        )  # not in a branch that may be dead
        return key if same and op.outputs[0].dims in (key.dims, _row_dims(key)) else None
    own = region_key(op, changes, place, on_gpu)
    if own is None or op.type == "Select":
        return None
    for key in inputs:  # one number for each row
        if own.dims == _row_dims(key) and own == key._replace(dims=own.dims):
            return key
    return own if _has_rows(own.dims, on_gpu) else None


def _key_of_sum(op: Operation, changes: Changes, place: Position, on_gpu: bool) -> RegionKey | None:
    x, axes = op.inputs
    dtype = x.dtype.base_dtype.name
    if place.is_dead or op.control_inputs or axes.op.type != "Const":
        return None
    if x.dims is None or not _has_rows(x.dims, on_gpu) or dtype not in ("float32", "float64"):
        return None
    if x.dtype.is_ref and not changes.are_over(x):
        return None
    named = axes.op.attrs["value"].reshape(-1).tolist()
    if named not in ([-1], [len(x.dims) - 1]):
        return None
    return RegionKey(tuple(x.dims), dtype, op.device, place, on_gpu)


def _has_rows(dims: tuple[Any, ...], on_gpu: bool) -> bool:
    """Whether rows are of a length that the kernel takes; without a GPU, neither short nor long."""
    if len(dims) < 2 or dims[-1] is None:
        return False
    return dims[-1] > 1 if on_gpu else are_summed((SMALL_ELEMENTS, dims[-1]))


def _row_dims(key: RegionKey) -> tuple[Any, ...]:
    return (*key.dims[:-1], 1)


def _region_of(
    members: list[Operation], results: list[Tensor], key: RegionKey
) -> tuple[list[Tensor], list[Operation], Region]:
    """What the nodes read from outside, those of them that compute, and what these do as a region."""
    inside = {op.outputs[0] for op in members}
    inputs = list(
        dict.fromkeys(
            t
            for op in members
            for t in (op.inputs[:1] if op.type in _SUMS else op.inputs)
            if t not in inside
        )
    )
    numbers = {t: i for i, t in enumerate(inputs)}
    steps: list[tuple[str, tuple[int, ...]]] = []
    computing: list[Operation] = []
    for op in members:
        if op.type in _SAME_VALUE:
            numbers[op.outputs[0]] = numbers[op.inputs[0]]
            continue
        if op.type in _SUMS:
            steps.append((_SUMS[op.type], (numbers[op.inputs[0]],)))
        else:
            steps.append((op.type, tuple(numbers[t] for t in op.inputs)))
        computing.append(op)
        numbers[op.outputs[0]] = len(inputs) + len(steps) - 1
    region = Region(len(inputs), tuple(steps), tuple(numbers[t] for t in results), key.dtype)
    return inputs, computing, region


def _fuse(
    work: WorkingGraph,
    journal: list[Hit],
    members: list[Operation],
    results: list[Tensor],
    key: RegionKey,
) -> None:
    inputs, computing, region = _region_of(members, results, key)
    row_dims = _row_dims(key)
    without_axis = [t.op.type in _SUMS and not t.op.attrs["keep_dims"] for t in results]
    with use_graph(work.graph):
        work.begin(results[-1])
        replacements: Any = fused_rows_op(
            inputs,
            region=region,
            T=results[0].dtype,
            N=len(results),
            full_shape=key.dims,
            by_row=tuple(
                gone or t.dims == row_dims for t, gone in zip(results, without_axis, strict=True)
            ),
            without_axis=tuple(without_axis),
            name="fused_rows",
        )
        kernel = replacements[0].op
        kernel._set_attr(FUSED_NODES, tuple(work.origin[op] for op in computing))
        for old, new in zip(results, replacements, strict=True):
            work.replace(old, new)
        wait_for_kernel(work, members, kernel)
    plural = "s" if len(results) > 1 else ""
    journal.append(
        Hit(
            "fusion",
            f"{' . '.join(s[0] for s in reversed(region.steps))} -> one kernel over rows with "
            f"{len(results)} result{plural}",
            results[-1].name,
            replacements[-1].name,
            tuple(op.name for op in members),
            (kernel.name,),
            small_source(region),
        )
    )
