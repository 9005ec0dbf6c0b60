"""Which loop each node is in, from the graph alone: loops of imported graphs have no contexts."""

from __future__ import annotations

from dataflow.errors import InvalidArgumentError
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.control_flow_context import Context, WhileContext, in_context


class Frame:
    """One loop (or, with ``parent`` None, everything outside loops)."""

    def __init__(self, name: str, parent: Frame | None) -> None:
        self.name = name
        self.parent = parent
        self.nodes: list[Operation] = []
        self.children: list[Frame] = []
        self.enters: list[Operation] = []
        self.exits: list[Operation] = []

    @property
    def depth(self) -> int:
        """0 outside all loops."""
        return 0 if self.parent is None else self.parent.depth + 1

    def __repr__(self) -> str:
        return f"Frame({self.name!r})"


def find_frames(ops: list[Operation], fed: set[Tensor]) -> tuple[Frame, dict[Operation, Frame]]:
    """Which frame each node is in. ``ops`` in an order that ignores the loops' back edges.

    An Enter belongs to the frame that it opens, an Exit to the frame that it leaves.
    """
    root = Frame("", None)
    frames: dict[tuple[str, Frame], Frame] = {}
    frame_of: dict[Operation, Frame] = {}

    def output_frame(op: Operation) -> Frame:
        frame = frame_of.get(op, root)
        if op.op_def.control_flow == "exit":
            assert frame.parent is not None
            return frame.parent
        return frame

    for op in ops:
        deepest = root
        sources = [t.op for t in op.inputs if t not in fed] + op.control_inputs
        for source in sources:
            if op.op_def.control_flow == "merge" and source.op_def.control_flow == "next_iteration":
                continue
            frame = output_frame(source)
            if frame.depth > deepest.depth:
                deepest = frame
        if op.op_def.control_flow == "enter":
            key = (op.attrs["frame_name"], deepest)
            if key not in frames:
                frames[key] = Frame(op.attrs["frame_name"], deepest)
                deepest.children.append(frames[key])
            deepest = frames[key]
            deepest.enters.append(op)
        elif op.op_def.control_flow == "exit":
            if deepest.parent is None:
                raise InvalidArgumentError(
                    None, op, f"{op.name!r} (Exit) is not inside a loop: no Enter leads to it."
                )
            deepest.exits.append(op)
        frame_of[op] = deepest
        deepest.nodes.append(op)
    return root, frame_of


def restore_loops(graph: Graph) -> None:
    """Gives the loops that came with an imported graph a `WhileContext`, as those built here have.

    Gradients need it. A loop that has one keeps it. Invariant: nodes are listed after their inputs, but
    for the back edges of loops, as importing leaves them.
    """
    root, _ = find_frames(graph.get_operations(), set())
    for frame in root.children:
        _restore(graph, frame, None)


def _restore(graph: Graph, frame: Frame, outer: Context | None) -> None:
    context = frame.enters[0].control_flow_context
    if context is None:
        context = _context_of(graph, frame, outer)
    for child in frame.children:
        _restore(graph, child, context)


def _context_of(graph: Graph, frame: Frame, outer: Context | None) -> WhileContext:
    with in_context(graph, outer):
        context = WhileContext(
            graph,
            parallel_iterations=frame.enters[0].attrs["parallel_iterations"],
            frame_name=frame.name,
        )
    for op in frame.nodes:
        op.control_flow_context = context
        kind = op.op_def.control_flow
        if kind == "exit":
            context.loop_exits.append(op.outputs[0])
            continue
        around: Context | None = context
        while around is not None:
            around.values.update(op.outputs)
            around = around.outer
        if kind == "enter" and op.attrs["is_constant"]:
            context.values.add(op.inputs[0])
            context.external[op.inputs[0]] = op.outputs[0]
        elif kind == "enter":
            context.loop_enters.append(op.outputs[0])
        elif op.type == "LoopCond":
            context.pivot = op.outputs[0]
    heads = [op for op in frame.nodes if op.op_def.control_flow == "merge" and is_head(op)]
    context.pivot_for_pred = heads[0].outputs[0]
    stays = [user for user in heads[0].outputs[0].uses if user.op_def.control_flow == "switch"]
    context.pivot_for_body = stays[0].outputs[1]
    around = outer
    while around is not None:
        around.values.update(context.loop_exits)
        around = around.outer
    return context


def is_head(op: Operation) -> bool:
    """True for the Merge of a loop variable."""
    return any(t.op.op_def.control_flow == "next_iteration" for t in op.inputs)
