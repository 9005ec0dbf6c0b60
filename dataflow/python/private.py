"""Private functions of TensorFlow's modules that published libraries call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops.array_basics import shape_of
from dataflow.ops.conv_functions import convolution
from dataflow.ops.matmul import matmul as matmul_with_broadcast
from dataflow.ops.variable_scope import get_variable_scope, variable_scope
from dataflow.ops.variables import Variable
from dataflow.runtime.feeds import register_feed_expander
from dataflow.runtime.fetches import register_fetch_expander
from dataflow.shapes import TensorShape

__all__ = [
    "Convolution",
    "matmul_with_broadcast",
    "register_session_run_conversion_functions",
    "resource_scatter_add",
    "shape_internal",
    "variable",
]

_registered: set[type] = set()


def _pure_variable_scope(name_or_scope: Any, reuse: Any = None, **kwargs: Any) -> variable_scope:
    """A variable scope that leaves the names of nodes as they are."""
    kwargs.pop("old_name_scope", None)
    return variable_scope(name_or_scope, reuse=reuse, auxiliary_name_scope=False, **kwargs)


def variable(
    initial_value: Any = None, use_resource: bool | None = None, **kwargs: Any
) -> Variable:
    """A `tf.Variable`, a resource variable where ``use_resource`` or the scope says so."""
    if use_resource is None:
        use_resource = bool(get_variable_scope().use_resource)
    return Variable(initial_value, use_resource=use_resource, **kwargs)


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = None
) -> Tensor:
    """`tf.shape`; with ``optimize=False`` a node even where the shape is known."""
    return shape_of(input, name, out_type, optimize)


def _tensor_shape_tensor_conversion_function(
    s: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """A known shape as a vector; raises `ValueError` where a size is unknown."""
    return convert_to_tensor(TensorShape(s), dtype=dtype, name=name)


def resource_scatter_add(resource: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
    """Adds rows to the variable whose ``handle`` this is; the operation that does it."""
    from dataflow.python.op_functions import scatter_add

    return scatter_add(resource, indices, updates, name=name).op


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], Any],
    feed_function: Callable[[Any, Any], Any] | None = None,
    feed_function_for_partial_run: Callable[[Any], Any] | None = None,
) -> None:
    """Lets `Session.run` fetch and feed objects of one's own class.

    ``fetch_function(fetch)`` returns (list of tensors, function from the list of their values to what is
    returned); ``feed_function(key, value)`` a list of pairs of tensor and value. Raises `ValueError` for
    a class that has some already.
    """
    if tensor_type in _registered:
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _registered.add(tensor_type)
    register_fetch_expander(tensor_type, fetch_function)
    if feed_function is not None:
        register_feed_expander(tensor_type, feed_function)


class Convolution:
    """``Convolution(input_shape, filter_shape, "SAME")(input, filter)``: `tf.nn.convolution`, kept."""

    def __init__(
        self,
        input_shape: Any,
        filter_shape: Any,
        padding: Any,
        strides: Any = None,
        dilation_rate: Any = None,
        name: str | None = None,
        data_format: str | None = None,
    ) -> None:
        self.input_shape, self.filter_shape = TensorShape(input_shape), TensorShape(filter_shape)
        self.padding, self.strides, self.dilation_rate = padding, strides, dilation_rate
        self.name, self.data_format = name, data_format

    def __call__(self, inp: Any, filter: Any) -> Tensor:
        return convolution(
            inp,
            filter,
            padding=self.padding,
            strides=self.strides,
            dilation_rate=self.dilation_rate,
            name=self.name,
            data_format=self.data_format,
        )
