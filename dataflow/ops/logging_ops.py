"""Looking at values while the graph runs: `Assert`, `Print` and `print`; and the time."""

from __future__ import annotations

import sys
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import is_nested
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.shapes import Dims

#: Where a graph keeps its `tf.Print` nodes, until a run has used each (`Graph.attachments`).
PRINTS = "prints"


@define_op(
    "Assert",
    "condition: bool, data: list(T)",
    stateful=True,
    has_side_effect=True,
    only_checks=True,
    host_inputs=("condition", "data"),
)
def assert_op(condition: Tensor, data: list[Tensor], *, summarize: int = 3) -> list[Dims]:
    """Stops the run with an `InvalidArgumentError` that shows ``data`` unless ``condition`` holds.

    No output. ``summarize``: how many values of each tensor to show.
    """
    return []


@define_op(
    "Print",
    "input: T, data: list(U) -> output: T",
    stateful=True,
    has_side_effect=True,
    is_debug_identity=True,
    host_inputs=("data",),
)
def print_op(
    input: Tensor, data: list[Tensor], *, message: str = "", first_n: int = -1, summarize: int = 3
) -> Dims:
    """``input``, unchanged; prints ``data`` to standard error whenever it is computed.

    Shape: that of input. Gradient: passes unchanged.
    """
    return input.dims


@print_op.gradient
def print_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, *[None] * (len(op.inputs) - 1)]


@define_op("PrintV2", "input: string", stateful=True)
def print_v2_op(input: Tensor, *, output_stream: str = "stderr", end: str = "\n") -> list[Dims]:
    """Prints a string. No output."""
    return []


@define_op("Timestamp", "-> ts: float64", stateful=True)
def timestamp() -> Dims:
    """Seconds since 1970, as a scalar float64, taken when it is computed."""
    return ()


not_differentiable(assert_op, print_v2_op, timestamp)


#: Stand for a tensor in the template of `print_`: TensorFlow's, and one for texts that hold that.
_PLACE, _RARE_PLACE = "{}", "{\x00}"


def Assert(
    condition: TensorLike, data: Any, summarize: int | None = None, name: str | None = None
) -> Any:
    """An operation that fails with `InvalidArgumentError` unless ``condition`` (scalar) is true.

    With eager execution it fails at once, or is None.

    ``data``: tensors and texts shown in the error, ``summarize`` values of each (3 by default).
    It acts only if it runs: make it a control dependency of what needs it.
    """
    from dataflow.ops.conditionals import cond
    from dataflow.ops.control_flow import no_op

    graph = default_graph()
    with graph.name_scope(name or "Assert"):
        data = list(data)
        if graph.executes_eagerly:
            assert_op(condition, data, summarize=3 if summarize is None else summarize)
            return None
        tensors = [convert_to_tensor(d) for d in data]
        count = 3 if summarize is None else summarize
        if all(t.dtype.base_dtype in (dtypes.string, dtypes.int32) for t in tensors):
            condition = convert_to_tensor(condition, name="Condition")
            return assert_op(condition, data, summarize=count, name="Assert")
        condition = convert_to_tensor(condition, name="Condition")
        guarded = cond(
            condition,
            no_op,
            lambda: assert_op(condition, data, summarize=count, name="Assert"),
            name="AssertGuard",
        )
        return guarded.op


def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """``input_``, unchanged; prints ``message`` and ``data`` to standard error when computed.

    ``first_n``: only that many times (in a session); ``summarize``: how many values of each tensor
    (3 by default; -1 for all). The result must be used for anything to be printed.
    """
    attrs: dict[str, Any] = {}
    if message is not None:
        attrs["message"] = message
    if first_n is not None:
        attrs["first_n"] = first_n
    if summarize is not None:
        attrs["summarize"] = summarize
    printed: Tensor = print_op(input_, list(data), name=name, **attrs)
    graph = printed.graph
    if not graph.executes_eagerly:
        graph.attachments.setdefault(PRINTS, []).append(printed.op)
    return printed


def print_(*inputs: Any, **kwargs: Any) -> Any:
    """An operation that prints ``inputs``, separated by ``sep``, when it runs.

    Inputs may be tensors, Python values, and nestings of them. ``output_stream``: ``sys.stderr``
    (default) or ``sys.stdout``; ``summarize``: values shown at each end of an axis (3; -1 for
    all); ``sep`` (" "), ``end`` ("\\n"), ``name``.
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    end = kwargs.pop("end", "\n")
    sep = kwargs.pop("sep", " ")
    summarize = kwargs.pop("summarize", 3)
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    if stream is sys.stdout or getattr(stream, "name", "") == "<stdout>":
        target = "stdout"
    elif stream is sys.stderr or getattr(stream, "name", "") == "<stderr>":
        target = "stderr"
    elif isinstance(stream, str):
        target = _stream_of(stream)
    else:
        target = "stderr"
    from dataflow.ops.string import string_format_op

    tensors: list[Tensor] = []
    template, place = sep.join(_template(i, tensors, False) for i in inputs), _PLACE
    if template.count(_PLACE) != len(tensors):  # texts with braces stand among the tensors
        tensors, place = [], _RARE_PLACE
        template = sep.join(_template(i, tensors, False, place) for i in inputs)
    text = string_format_op(
        tensors,
        template=template,
        placeholder=place,
        summarize=-1 if summarize is None else summarize,
    )
    return print_v2_op(text, output_stream=target, end=end, name=name)


def _stream_of(name: str) -> str:
    """The name of an output stream as it is; raises `ValueError` for an unknown one."""
    if name in ("stdout", "stderr") or name.startswith(("log(", "file://")):
        return name
    raise ValueError(
        f"Unknown output stream {name!r} for tf.print: use sys.stdout, sys.stderr, a level such as "
        "tf.logging.info, or 'file://' and a path."
    )


def _template(value: Any, tensors: list[Tensor], nested: bool, place: str = _PLACE) -> str:
    """A template with ``place`` for each tensor, in Python's notation for the structures around."""
    if hasattr(value, "_dense_var_to_tensor"):
        value = convert_to_tensor(value)
    if isinstance(value, Tensor):
        tensors.append(value)
        return place
    if isinstance(value, dict):
        parts = [
            f"{_literal(k, True)}: {_template(v, tensors, True, place)}"
            for k, v in sorted(value.items())
        ]
        return "{" + ", ".join(parts) + "}"
    if hasattr(value, "_fields"):
        parts = [
            f"{n}={_template(v, tensors, True, place)}"
            for n, v in zip(value._fields, value, strict=True)
        ]
        return f"{type(value).__name__}({', '.join(parts)})"
    if is_nested(value):
        inner = ", ".join(_template(v, tensors, True, place) for v in value)
        if isinstance(value, tuple):
            return f"({inner}{',' if len(value) == 1 else ''})"
        return f"[{inner}]"
    if type(value).__name__ == "SparseTensor" and hasattr(value, "dense_shape"):
        inner = ", ".join(
            f"{n}={_template(getattr(value, n), tensors, True, place)}"
            for n in ("indices", "values", "dense_shape")
        )
        return (
            f"'SparseTensor({inner.replace('dense_shape', 'shape')})'"  # TensorFlow has the quotes
        )
    return _literal(value, nested)


def _literal(value: TensorLike, nested: bool) -> str:
    return repr(value) if nested and isinstance(value, str) else str(value)
