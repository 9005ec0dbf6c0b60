"""Finding NaN and infinity: `check_numerics` and what builds on it."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.shapes import Dims

_FLOATS = frozenset({dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64})


@define_op(
    "CheckNumerics",
    "tensor: T -> output: T",
    stateful=True,
    T=_FLOATS,
    has_side_effect=True,
    is_debug_identity=True,
    keeps_rows=True,
)
def check_numerics(tensor: Tensor, *, message: str) -> Dims:
    """``tensor``, unchanged; an `InvalidArgumentError` where it holds NaN or infinity.

    Shape: that of tensor. Gradient: passes, and is checked too.
    """
    return tensor.dims


@check_numerics.gradient
def check_numerics_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [
        check_numerics(
            grad,
            "Not a number (NaN) or infinity (Inf) values detected in gradient. "
            + op.attrs["message"],
        )
    ]


def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """The tensor, available only after it was checked for NaN and infinity."""
    from dataflow.ops.control_flow import with_dependencies

    value = x if x is not None else t
    text = message if message is not None else (msg or "")
    graph = default_graph()
    with graph.name_scope(name or "VerifyFinite"):
        tensor = convert_to_tensor(value, name="x")
        with graph.colocate_with(tensor):
            check = check_numerics(tensor, text)
            return with_dependencies([check], tensor)  # type: ignore[no-any-return]


def add_check_numerics_ops() -> Any:
    """An operation that checks every floating tensor in the default graph, in the order made.

    Raises `ValueError` when the graph has loops or conditionals.
    """
    from dataflow.ops.control_flow import group

    graph = default_graph()
    checks: list[Any] = []
    for op in graph.get_operations():
        for output in op.outputs:
            if output.dtype.base_dtype not in _FLOATS:
                continue
            if op.control_flow_context is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
                    "operations such as `tf.cond()` or `tf.while_loop()`."
                )
            with graph.control_dependencies(checks):
                checks = [check_numerics(output, f"{op.name}:{output.value_index}")]
    return group(*checks)
