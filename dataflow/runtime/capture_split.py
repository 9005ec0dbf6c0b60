"""A plan's two parts for a CUDA graph: what the host does before each launch, and what is captured.

A graph repeats kernels on the same buffers. The host's work differs from run to run: it takes the
next element of a data set, dequeues, samples candidates, works on strings. Where none of that needs
a value from the GPU it is done first, and what the GPU needs of it is copied into buffers, as fed
values are. A loop or branch is captured as it ran, if what decides about it are constants and shapes
(the rounds of `tf.nn.dynamic_rnn`), or a fed truth value (whether a batch normalization trains): each
such value has a graph of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dataflow.graph.op_def import OpDef
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.transfer import COPIES
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

    @property
    def switches(self) -> list[int]:
        """The places among the captured part's own feeds of single truth values, such as ``is_training``.

        Each of their values has a graph of its own, so they may decide what runs.
        """
        return [i for i in range(len(self.feeds)) if _is_switch(self.captured.feeds[i])]


def split(placed: Placed) -> Split | str:
    """Both parts, or why the plan cannot be captured."""
    devices = set(placed.kernel_devices.values())
    if len(devices) != 1:
        return "its nodes run on several GPUs" if devices else "it uses no GPU"
    if any(t in placed.feeds for t in placed.fetches):
        return "a fed value is fetched"
    # On the host, and different in every run.
    changing: set[Tensor] = {t for t in placed.feeds if not _is_switch(t)}
    before: set[Operation] = set()
    late: set[Operation] = set()  # what the GPU does, and what waits for it
    decided: set[Operation] = set()  # in a loop or a branch, or behind one
    for op in placed.ops:
        on_device = op in placed.kernel_devices
        first = next((c for c in op.control_inputs if c in late), None)
        if on_device or first is not None:
            late.add(op)
        before_it = (*(t.op for t in op.inputs), *op.control_inputs)
        if op.op_def.control_flow or any(other in decided for other in before_it):
            decided.add(op)
        if op.op_def.control_flow:
            if any(t in changing for t in op.inputs):
                return f"{op.name!r} ({op.type}) decides what runs, by values"
        elif op.type == "_CopyToHost":
            if any(c in placed.ops for c in op.outputs[0].uses):
                return f"the host computes with {op.inputs[0].name!r}"
        elif op.type == "_CopyToDevice" or op.op_def.shape_only:
            pass
        elif not on_device and _is_done_before(op, changing):
            if first is not None:
                return f"the host does {op.name!r} ({op.type}) after {first.name!r}"
            if op in decided:
                return f"the host does {op.name!r} ({op.type}) in a loop or branch"
            before.add(op)
            changing.update(op.outputs)
            continue
        elif any(t in changing for t in op.inputs):
            return f"{op.name!r} ({op.type}) takes a value of the host that changes"
        if _keeps_state(op) and not (on_device and op.op_def.is_random):
            return f"{op.name!r} ({op.type}) keeps state on the host"
        if _holds_what_no_gpu_can(op):
            return f"{op.name!r} ({op.type}) works on strings or handles"
    if not before:
        return Split(placed, None, [*range(len(placed.feeds))], [None] * len(placed.fetches))
    return _parts(placed, before)


def _is_switch(feed: Tensor) -> bool:
    return feed.dtype.name == "bool" and feed.dims == ()


def _is_done_before(op: Operation, changing: set[Tensor]) -> bool:
    """Whether a node of the host may do or return something else in each run."""
    moves = op.op_def.stateful and not op.op_def.is_of_one_run
    return moves or any(t in changing for t in op.inputs)


def _keeps_state(op: Operation) -> bool:
    traits = op.op_def
    if not traits.stateful or traits.is_variable or traits.is_of_one_run:
        return False
    return not reference_inputs(op)


def _holds_what_no_gpu_can(op: Operation) -> bool:
    """Whether a value of the node is a string or a handle, other than of a run's own arrays."""
    traits = op.op_def
    if (
        traits.control_flow
        or traits.shape_only
        or op.type in COPIES
        or not isinstance(traits, OpDef)
    ):
        return False
    values = (*op.inputs, *op.outputs)
    return not traits.is_of_one_run and any(t.dtype.base_dtype.kind in "Sx" for t in values)


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
    """The nodes, and all nodes that they need, constants for example."""
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
