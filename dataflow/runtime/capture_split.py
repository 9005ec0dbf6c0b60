"""A plan's two parts for a CUDA graph: what the host does before each launch, and what is captured.

A graph repeats kernels on the same buffers. What the host does is another thing each time: it takes
the next element of a data set, dequeues, samples candidates, works on strings. Where none of that
needs a value from the GPU it is done first, and what the GPU needs of it is copied into buffers, as
fed values are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.placement.groups import reference_inputs
from dataflow.placement.transfers import Placed


class Split(NamedTuple):
    """``captured``: what a graph holds; its feeds are those of the plan that it needs, and then what
    ``before`` fetches. ``before`` is `None` where the host has nothing to do.

    ``feeds`` are the places of the captured part's own feeds among the plan's. ``from_host``: for each
    of the plan's fetches its place among what ``before`` fetches, `None` where the graph computes it.
    """

    captured: Placed
    before: Placed | None
    feeds: list[int]
    from_host: list[int | None]


def split(placed: Placed) -> Split | str:
    """Both parts, or why the plan cannot be captured."""
    devices = set(placed.kernel_devices.values())
    if len(devices) != 1:
        return "its nodes run on several GPUs" if devices else "it uses no GPU"
    if any(t in placed.feeds for t in placed.fetches):
        return "a fed value is fetched"
    changing: set[Tensor] = set(placed.feeds)  # on the host, and different in every run
    before: set[Operation] = set()
    late: set[Operation] = set()  # what the GPU does, and what waits for it
    for op in placed.ops:
        on_device = op in placed.kernel_devices
        first = next((c for c in op.control_inputs if c in late), None)
        if on_device or first is not None:
            late.add(op)
        if op.op_def.control_flow:
            return f"{op.name!r} ({op.type}) decides what runs"
        if op.type == "_CopyToHost":
            if any(c in placed.ops for c in op.outputs[0].uses):
                return f"the host computes with {op.inputs[0].name!r}"
        elif op.type == "_CopyToDevice" or op.op_def.shape_only:
            pass
        elif not on_device and _is_done_before(op, changing):
            if first is not None:
                return f"the host does {op.name!r} ({op.type}) after {first.name!r}"
            before.add(op)
            changing.update(op.outputs)
            continue
        elif any(t in changing for t in op.inputs):
            return f"{op.name!r} ({op.type}) takes a value of the host that changes"
        if _keeps_state(op) and not (on_device and op.op_def.is_random):
            return f"{op.name!r} ({op.type}) keeps state on the host"
        if any(t.dtype.base_dtype.kind in "Sx" for t in (*op.inputs, *op.outputs)):
            if op.type not in ("_CopyToHost", "_CopyToDevice") and not op.op_def.shape_only:
                return f"{op.name!r} ({op.type}) works on strings or handles"
    if not before:
        everything = list(range(len(placed.feeds)))
        return Split(placed, None, everything, [None] * len(placed.fetches))
    return _parts(placed, before)


def _is_done_before(op: Operation, changing: set[Tensor]) -> bool:
    """Whether a node of the host does or gives another thing in each run."""
    return op.op_def.stateful or any(t in changing for t in op.inputs)


def _keeps_state(op: Operation) -> bool:
    return op.op_def.stateful and not op.op_def.is_variable and not reference_inputs(op)


def _parts(placed: Placed, before: set[Operation]) -> Split:
    needed = _with_inputs(before, placed)
    first = [op for op in placed.ops if op in needed]
    rest = [op for op in placed.ops if op not in before]
    made = {t for op in before for t in op.outputs}
    read = [t for op in rest for t in op.inputs] + list(placed.fetches)
    given = list(dict.fromkeys(t for t in read if t in made))
    used = {t for op in rest for t in op.inputs}
    feeds = [i for i, t in enumerate(placed.feeds) if t in used]
    return Split(
        placed._replace(
            ops=rest,
            fetches=[t for t in placed.fetches if t not in made],
            feeds=[*(placed.feeds[i] for i in feeds), *given],
        ),
        placed._replace(ops=first, fetches=given),
        feeds,
        [given.index(t) if t in made else None for t in placed.fetches],
    )


def _with_inputs(ops: Iterable[Operation], placed: Placed) -> set[Operation]:
    """The nodes and all of the host's that they need, constants say."""
    found: set[Operation] = set()
    waiting = list(ops)
    there = set(placed.ops)
    while waiting:
        op = waiting.pop()
        if op in found or op not in there:
            continue
        found.add(op)
        waiting += [t.op for t in op.inputs if t not in placed.feeds]
        waiting += op.control_inputs
    return found
