"""The nodes that loops and conditionals are made of, and ordering: group, tuple, no_op.

``Switch`` passes its input to one of two outputs, ``Merge`` takes the one that arrives. ``Enter``,
``NextIteration`` and ``Exit`` carry a value into a loop, to its next round, and out of it. `cond`
and `while_loop` write these nodes; the runtime turns them into Python's ``if`` and ``while``.
Source: Abadi et al., "TensorFlow: A System for Large-Scale Machine Learning" (2016), section 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.graph.conversion import convert_to_tensor, is_tensor_like
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.nest import flatten
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.shapes import Dims, common

__all__ = ["group", "no_op", "tuple_", "with_dependencies"]


@define_op("NoOp", inline_safe=True)
def no_op() -> list[Dims]:
    """Does nothing; something to hang control dependencies on. No output."""
    return []


@define_op("ControlTrigger")
def control_trigger_op() -> list[Dims]:
    """Does nothing, once its control inputs are done or dead. No output."""
    return []


@define_op("Abort")
def abort_op(*, error_msg: str = "", exit_without_error: bool = False) -> list[Dims]:
    """Stops the run with an `AbortedError` of this message. No output."""
    return []


@define_op(
    "Switch", "data: T, pred: bool -> output_false: T, output_true: T", control_flow="switch"
)
def switch_op(data: Tensor, pred: Tensor) -> list[Dims]:
    """Passes ``data`` to the output that ``pred`` (a scalar) names; the other one is dead.

    Shape: both outputs that of data. Gradient: the one of the branch that ran.
    """
    _need_scalar("pred", pred)
    return [data.dims, data.dims]


@define_op(
    "RefSwitch",
    "data: Ref(T), pred: bool -> output_false: Ref(T), output_true: Ref(T)",
    control_flow="switch",
)
def ref_switch_op(data: Tensor, pred: Tensor) -> list[Dims]:
    """`Switch` for a variable, so that a branch can assign to it."""
    _need_scalar("pred", pred)
    return [data.dims, data.dims]


def _need_scalar(name: str, tensor: Tensor) -> None:
    if tensor.dims is not None and tensor.dims != ():
        from dataflow.shapes import list_dims

        raise ValueError(f"{name} must be a scalar, got shape {list_dims(tensor.dims)}")


def _merged_dims(inputs: list[Tensor]) -> Dims:
    if not inputs:
        raise ValueError("inputs must hold at least one tensor")
    dims = inputs[0].dims
    for tensor in inputs[1:]:
        dims = common(dims, tensor.dims)
    return dims


@define_op(
    "Merge",
    "inputs: N * T -> output: T, value_index: int32",
    control_flow="merge",
    host_outputs=("value_index",),
)
def merge_op(inputs: list[Tensor]) -> list[Dims]:
    """The one input that is not dead, and its number.

    Shape: what all inputs have in common. Gradient: goes to the input that was taken.
    """
    return [_merged_dims(inputs), ()]


@define_op(
    "RefMerge",
    "inputs: Ref(N * T) -> output: Ref(T), value_index: int32",
    control_flow="merge",
    host_outputs=("value_index",),
)
def ref_merge_op(inputs: list[Tensor]) -> list[Dims]:
    """`Merge` for variables."""
    return [_merged_dims(inputs), ()]


@define_op("Enter", "data: T -> output: T", control_flow="enter", is_alias=True)
def enter_op(
    data: Tensor, *, frame_name: str, is_constant: bool = False, parallel_iterations: int = 10
) -> Dims:
    """Carries ``data`` into the loop ``frame_name``; a constant one is there in every round.

    Shape: that of data. Gradient: leaves the gradient's loop; for a constant, the sum over rounds.
    """
    return data.dims


@define_op("RefEnter", "data: Ref(T) -> output: Ref(T)", control_flow="enter", is_alias=True)
def ref_enter_op(
    data: Tensor, *, frame_name: str, is_constant: bool = False, parallel_iterations: int = 10
) -> Dims:
    """`Enter` for a variable."""
    return data.dims


@define_op("Exit", "data: T -> output: T", control_flow="exit", is_alias=True)
def exit_op(data: Tensor) -> Dims:
    """Carries a value out of a loop when it ends. Gradient: enters the gradient's loop."""
    return data.dims


@define_op("RefExit", "data: Ref(T) -> output: Ref(T)", control_flow="exit", is_alias=True)
def ref_exit_op(data: Tensor) -> Dims:
    """`Exit` for a variable."""
    return data.dims


@define_op("NextIteration", "data: T -> output: T", control_flow="next_iteration", is_alias=True)
def next_iteration_op(data: Tensor) -> Dims:
    """Carries a value to the loop's next round. Gradient: passes unchanged."""
    return data.dims


@define_op(
    "RefNextIteration",
    "data: Ref(T) -> output: Ref(T)",
    control_flow="next_iteration",
    is_alias=True,
)
def ref_next_iteration_op(data: Tensor) -> Dims:
    """`NextIteration` for a variable."""
    return data.dims


@define_op(
    "LoopCond",
    "input: bool -> output: bool",
    control_flow="loop_cond",
    is_alias=True,
    host_inputs=("input",),
    host_outputs=("output",),
)
def loop_cond_op(input: Tensor) -> Dims:
    """Marks the condition of a loop: it goes on while this is true."""
    return input.dims


not_differentiable(no_op, control_trigger_op, abort_op, loop_cond_op)


def by_reference(tensor: Tensor) -> bool:
    """Whether control flow has nodes of its own for the tensor: for a reference, not for a handle."""
    return tensor.dtype.is_ref and not tensor.dtype.is_handle


def switch(data: Tensor, pred: Tensor, name: str | None = None) -> Any:
    """(output_false, output_true) of ``data``; a variable's reference stays a reference."""
    op = ref_switch_op if by_reference(data) else switch_op
    return op(data, pred, name=name)


def switch_beside(data: Tensor, pred: Tensor) -> Any:
    """`switch` that stands where ``data`` is made: a branch or loop gets it by one edge."""
    with default_graph().colocate_with(data, ignore_existing=True):
        return switch(data, pred, name="Switch")


def merge(inputs: list[Tensor], name: str | None = None) -> Tensor:
    """The input that arrives. Raises `ValueError` where one is None."""
    if any(t is None for t in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    if all(by_reference(t) for t in inputs):
        return ref_merge_op(inputs, name=name)[0]  # type: ignore[no-any-return]
    return merge_op(inputs, name=name)[0]  # type: ignore[no-any-return]


def _as_operation(item: Any, what: str) -> Operation:
    if isinstance(item, Operation):
        return item
    op = getattr(item, "op", None)
    if not isinstance(op, Operation):
        convert = getattr(item, "_as_graph_element", None)
        op = getattr(convert(), "op", None) if convert is not None else None
    if not isinstance(op, Operation):
        raise TypeError(
            f"Expected tf.group() expected Tensor objects not None or {type(item).__name__}: "
            f"{what} got {item!r}. Pass operations, tensors or variables."
        )
    return op


def group(*inputs: Any, **kwargs: Any) -> Any:
    """An operation that is done when all ``inputs`` are; it has no output.

    With eager execution all has been done: None.

    ``inputs``: operations, tensors and variables, in any nesting; ``name`` as keyword. Raises
    `TypeError` for anything else, `ValueError` for unknown keywords.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    graph = default_graph()
    if graph.executes_eagerly:
        return None
    ops = [_as_operation(i, "tf.group") for i in flatten(list(inputs))]
    if not ops:
        return no_op(name=name or "group_deps")
    if ops[0].graph is not graph:
        graph = ops[0].graph
    with graph.as_default(), graph.name_scope(name or "group_deps") as scope:
        by_device: dict[str, list[Operation]] = {}
        for op in dict.fromkeys(ops):
            by_device.setdefault(op.device, []).append(op)
        if len(by_device) == 1:
            with graph.control_dependencies(ops), _on(graph, next(iter(by_device))):
                return no_op(name=scope)
        # One node for each device, so that only one edge crosses from each.
        parts = []
        for device in sorted(by_device):
            with graph.control_dependencies(by_device[device]), _on(graph, device):
                parts.append(no_op())
        with graph.control_dependencies(parts):
            return no_op(name=scope)


def _on(graph: Graph, device: str) -> Any:
    import contextlib

    return graph.device(device) if device else contextlib.nullcontext()


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """``output_tensor``, available only after ``dependencies`` (operations or tensors) are done."""
    from dataflow.ops.array import identity

    graph = default_graph()
    sparse = isinstance(output_tensor, IndexedSlices)
    with graph.name_scope(name or "control_dependency") as scope:
        if not sparse and not is_tensor_like(output_tensor):
            output_tensor = convert_to_tensor(output_tensor)
        beside = output_tensor.values if sparse else output_tensor
        with graph.colocate_with(beside), graph.control_dependencies(dependencies):
            if sparse:
                return IndexedSlices(
                    identity(output_tensor.values, name=scope),
                    output_tensor.indices,
                    output_tensor.dense_shape,
                )
            return identity(output_tensor, name=scope)


def tuple_(
    tensors: Sequence[Any], name: str | None = None, control_inputs: Any = None
) -> list[Any]:
    """The same tensors (``None`` stays ``None``), each available only when all are computed.

    ``control_inputs``: more operations to wait for. Raises `ValueError` when there is no tensor.
    """
    graph = default_graph()
    if graph.executes_eagerly:
        return list(tensors)
    with graph.name_scope(name or "tuple"):
        tensors = [
            t if t is None or isinstance(t, (Tensor, IndexedSlices, Operation)) else _convert(t)
            for t in tensors
        ]
        gate_ops = [t if isinstance(t, Operation) else t.op for t in tensors if t is not None]
        for item in control_inputs or []:
            gate_ops.append(_as_operation(item, "tf.tuple's control_inputs"))
        if not gate_ops:
            raise ValueError(
                "Must have at least one Tensor in tf.tuple: every element was None. "
                f"Got {len(tensors)} elements."
            )
        gate = group(*sorted(dict.fromkeys(gate_ops), key=lambda op: op.index))
        result: list[Any] = []
        for tensor in tensors:
            if tensor is None:
                result.append(None)
            elif isinstance(tensor, Operation):
                with graph.control_dependencies([gate]):
                    result.append(no_op())
            else:
                result.append(with_dependencies([gate], tensor))
        return result


def _convert(value: TensorLike) -> Tensor:
    from dataflow.graph.conversion import convert_to_tensor

    return convert_to_tensor(value)
