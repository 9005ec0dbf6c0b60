"""Optionals as nodes: a value that may be missing, as `tf.data.experimental.Optional` builds them.

An optional travels on an edge of dtype variant. Its value is one tensor for each component.
"""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.tensor_list import zero_value
from dataflow.shapes import Dims, Shape

optional_none_op = declare_op(
    "OptionalNone", "-> optional: variant", "An optional without a value. Shape: scalar."
)
optional_has_value_op = declare_op(
    "OptionalHasValue",
    "optional: variant -> has_value: bool",
    "Whether there is a value. Shape: scalar.",
)


@define_op("OptionalFromValue", "components: list(Toutput_types) -> optional: variant")
def optional_from_value_op(components: list[Tensor]) -> Dims:
    """An optional with a value.

    Shape: scalar, of dtype variant. Gradient: the components of the gradient, itself an optional.
    """
    return ()


@define_op("OptionalGetValue", "optional: variant -> components: list(output_types)")
def optional_get_value_op(
    optional: Tensor, *, output_types: list[DType], output_shapes: list[Shape]
) -> list[Dims]:
    """The components of the value; `InvalidArgumentError` when there is none.

    Shape: ``output_shapes``. Gradient: the optional of the components' gradients.
    """
    return list(output_shapes)


@optional_from_value_op.gradient
def optional_from_value_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return list(
        optional_get_value_op(
            grad,
            output_types=[t.dtype.base_dtype for t in op.inputs],
            output_shapes=[t.dims for t in op.inputs],
        )
    )


@optional_get_value_op.gradient
def optional_get_value_gradient(op: Operation, *grads: Any) -> Tensor:
    pairs = zip(op.outputs, grads, strict=True)
    filled = [zero_value(output) if grad is None else grad for output, grad in pairs]
    return optional_from_value_op(filled)  # type: ignore[no-any-return]
