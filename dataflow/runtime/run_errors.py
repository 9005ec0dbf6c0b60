"""Errors of a run, with the node that failed, its inputs, and where it was built."""

from __future__ import annotations

import re
import traceback
from typing import TYPE_CHECKING, Any, Protocol

from dataflow.errors import (
    DTypeError,
    FailedNode,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    ShapeError,
    UnimplementedError,
    UnknownError,
    exception_type_from_error_code,
)
from dataflow.graph.operation import Operation
from dataflow.graph.printing import failed_node, input_labels
from dataflow.graph.tensor import Tensor
from dataflow.kernels.cuda.memory import (
    describe_holders,
    free_unused_memory,
    is_out_of_memory,
)
from dataflow.kernels.xp import is_device_array
from dataflow.ops.transfer import COPIES

if TYPE_CHECKING:
    from dataflow.runtime.codegen import GeneratedPlan
    from dataflow.runtime.resources import ResourceManager


#: What Python raises for files, as TensorFlow's class.
_OF_FILES: dict[type, type[OpError]] = {
    FileNotFoundError: NotFoundError,
    PermissionError: PermissionDeniedError,
}


def failing_op(error: BaseException, line_ops: dict[int, Operation], filename: str) -> Any:
    """The node whose line raised, and the plan's local variables at that time."""
    op, local_values = None, {}
    entry = error.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        if frame.f_code.co_filename == filename:
            op = line_ops.get(entry.tb_lineno)
            local_values = {**frame.f_globals, **frame.f_locals}
        entry = entry.tb_next
    return op, local_values


class _Session(Protocol):
    """A session, or its counterpart on a task of a cluster."""

    resources: ResourceManager


def annotate_error(
    error: Exception,
    generated: GeneratedPlan,
    origin: dict[Operation, Operation] | None = None,
    session: _Session | None = None,
) -> Exception:
    """An `OpError` that names the node: its type, inputs with their shapes now, and its origin.

    If a GPU is out of memory it also says what ``session`` holds of it, and releases what the run
    held, which the error's traceback would keep alive.
    """
    if not is_out_of_memory(error):
        return _annotated(error, generated, origin)
    text = f"the GPU has no memory left. {error}\n  {_held_by(session)}"
    full = ResourceExhaustedError(None, None, text).with_traceback(error.__traceback__)
    annotated = _annotated(full, generated, origin)
    traceback.clear_frames(error.__traceback__)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        frame.f_locals  # noqa: B018  the copy that was looked at is cleared when it is remade
    full.__traceback__ = None
    free_unused_memory()
    return annotated


def _held_by(session: _Session | None) -> str:
    """Which variables and CUDA graphs hold GPU memory; the graphs release theirs."""
    variables = [] if session is None else session.resources.items("variable")
    held = [(n, v.array.nbytes) for n, v in variables if is_device_array(v.array)]
    for plan in list(getattr(session, "_plans", {}).values()):
        if plan.cuda_graphs is not None and (num_bytes := plan.cuda_graphs.let_go()):
            held.append((f"CUDA graph of {', '.join(plan.fetches.names)}", num_bytes))
    return (
        f"held by {describe_holders(held)}\n"
        "  Use smaller batches, pin some variables to /cpu:0, or close other sessions."
    )


def _class_and_text(error: Exception) -> tuple[type[OpError], str]:
    """The class of the error that a run raises for one of a kernel, and what it says."""
    if isinstance(error, OpError):
        error_class: type[OpError] = type(error)
        if issubclass(error_class, (ShapeError, DTypeError)):
            error_class = exception_type_from_error_code(error_class.error_code)
        return error_class, error.message
    if isinstance(error, (NotImplementedError, ImportError)):  # a missing package
        return UnimplementedError, str(error)
    if isinstance(error, (ValueError, TypeError, IndexError, ArithmeticError)) or type(
        error
    ).__module__.startswith("numpy"):
        return InvalidArgumentError, str(error)
    if isinstance(error, MemoryError):
        return ResourceExhaustedError, f"out of memory: {error}"
    if type(error) in _OF_FILES:
        return _OF_FILES[type(error)], str(error)
    return UnknownError, f"{type(error).__name__}: {error}"


def _lines_of_inputs(op: Operation, values: list[Any], of_kind: bool) -> list[str]:
    """A line for each input of the node that failed; ``of_kind``: the node is one of eager code."""
    lines = []
    labels = input_labels(op.op_def, len(op.inputs))
    for label, tensor, value in zip(labels, op.inputs, values, strict=True):
        shape = getattr(value, "shape", None)
        if of_kind:  # there is nothing that the tensor could be found by
            dtype = tensor.dtype.value_dtype
            lines.append(f"  {label}: {dtype.name}{'' if shape is None else list(shape)}")
            continue
        now = f", now of shape {tuple(shape)}" if shape is not None else ""
        made = tensor.op.inputs[0] if tensor.op.type in COPIES else tensor  # the user's own
        lines.append(f"  input {made.name!r}: {tensor.dtype.base_dtype.name}{now}")
    if op.type == "CheckNumerics" and not of_kind:
        lines.append(
            f"  In a notebook, dataflow_widgets.Stepper(sess, {op.inputs[0].name!r}, feed_dict) shows "
            "the node in which it began."
        )
    return lines


def _annotated(
    error: Exception, generated: GeneratedPlan, origin: dict[Operation, Operation] | None
) -> Exception:
    op, local_values = failing_op(error, generated.line_ops, generated.filename)
    if op is None:
        return error
    values = [_value_of(t, generated, local_values) for t in op.inputs]
    if op.attrs.get("region", op.attrs.get("program")) is not None and not isinstance(
        error, (OpError, MemoryError)
    ):
        from dataflow.rewrites.fusion import failing_step

        found = failing_step(op, values)
        if found is not None:
            op, values, error = found
    if op.type == "_UpdateAll" and op in (origin or {}):
        from dataflow.rewrites.multi_tensor_updates import failing_update

        op, values = failing_update(op, values) or (op, values)
    error_class, text = _class_and_text(error)
    of_kind = (origin or {}).get(op, op).graph.is_of_kinds
    # What the other inputs hold says nothing of a variable that has no value, and an optimizer has ten of them.
    lines = [] if _UNINITIALIZED.search(text) else _lines_of_inputs(op, values, of_kind)
    text = _its_initializer(text, (origin or {}).get(op, op))
    message = f"{op.type} {op.name!r}: {text}"
    if lines:
        message += "\n" + "\n".join(lines)
    message += f"\n  built at {op.built_at}"
    failed = _failed_node(op, values, text)
    if origin:
        op = origin.get(op, op)
    failure = error_class(None, None, message) if of_kind else error_class(op, op, message)
    failure.failed_node = failed
    return failure


_UNINITIALIZED = re.compile(r"(?:uninitialized value|reading resource variable) ([^\s:]+)")


def _its_initializer(text: str, op: Operation) -> str:
    """``text`` with the initializer that a local variable (of a metric, say) needs, where it is about one."""
    found = _UNINITIALIZED.search(text)
    local = {v.op.name for v in op.graph.get_collection("local_variables")} if found else ()
    if found is None or found[1] not in local:
        return text
    return text.replace("tf.global_variables_initializer()", "tf.local_variables_initializer()")


#: Matches errors about shapes, ours or NumPy's.
_OF_SHAPES = re.compile(r"\bshapes?\b|dimension|broadcast|mismatch", re.IGNORECASE)


def _failed_node(op: Operation, values: list[Any], text: str) -> FailedNode | None:
    """A node whose inputs' shapes do not match, with the shapes that they had in the run."""
    shapes = [getattr(value, "shape", None) for value in values]
    if not _OF_SHAPES.search(text) or len(shapes) < 2 or None in shapes:
        return None
    node = failed_node(op.op_def, op.name, op.inputs, len(shapes) - 1)
    if node is None:
        return None
    now = zip(node.inputs, shapes, strict=True)
    return node._replace(
        inputs=tuple(one._replace(shape=str(list(shape or ()))) for one, shape in now)
    )


def _value_of(tensor: Tensor, generated: GeneratedPlan, local_values: dict[str, Any]) -> Any:
    """The value that a tensor had when the plan stopped; ``None`` if it was already dropped."""
    name = generated.values.get(tensor, "")
    value: Any = local_values.get(name)
    if name.endswith((".array", ".read()")):
        return local_values[name.partition(".")[0]].array
    if name in local_values and hasattr(value, "exclusive"):
        return value.array  # a variable
    return value
