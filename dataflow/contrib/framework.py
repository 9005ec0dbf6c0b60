"""``tf.contrib.framework``: argument scopes, the global step, lists of variables, checkpoints."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.arg_scopes import (
    add_arg_scope,
    arg_scope,
    arg_scoped_arguments,
    current_arg_scope,
    has_arg_scope,
)
from dataflow.contrib.checkpoint_matrices import (
    load_and_remap_matrix_initializer,
    load_embedding_initializer,
    load_linear_multiclass_bias_initializer,
    load_variable_slot_initializer,
)
from dataflow.contrib.model_variables import (
    VariableDeviceChooser,
    add_model_variable,
    filter_variables,
    get_local_variables,
    get_model_variables,
    get_trainable_variables,
    get_unique_variable,
    get_variable_full_name,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
    global_variable,
    local_variable,
    model_variable,
    variable,
)
from dataflow.contrib.print_ops import print_op
from dataflow.contrib.shape_checks import (
    assert_scalar_int,
    get_graph_from_inputs,
    get_placeholders,
    reduce_sum_n,
    remove_squeezable_dimensions,
    with_same_shape,
    with_shape,
)
from dataflow.contrib.values_of_variables import (
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
)
from dataflow.graph.default_stacks import default_graph
from dataflow.namespaces import explain_absent
from dataflow.ops.array import broadcast_to
from dataflow.ops.assertions import (
    assert_same_float_dtype,
    is_non_decreasing,
    is_numeric_tensor,
    is_strictly_increasing,
)
from dataflow.ops.comparison import logical_not
from dataflow.ops.convolution_initializers import (
    convolutional_delta_orthogonal,
    convolutional_orthogonal_1d,
    convolutional_orthogonal_2d,
    convolutional_orthogonal_3d,
)
from dataflow.ops.critical_section import CriticalSection
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.logging_ops import Assert
from dataflow.ops.script_ops import py_func
from dataflow.ops.sequences import argsort, sort
from dataflow.ops.shape_assertions import assert_scalar
from dataflow.ops.sparse_tensor import convert_to_tensor_or_sparse_tensor
from dataflow.ops.state import assign, is_variable_initialized
from dataflow.ops.tensor_values import is_tensor
from dataflow.ops.type_specs import BoundedTensorSpec, TensorSpec
from dataflow.ops.variable_lists import global_variables
from dataflow.python.framework.ops import prepend_name_scope, strip_name_scope
from dataflow.python.framework.smart_cond import smart_case, smart_cond, smart_constant_value
from dataflow.python.util import nest
from dataflow.python.util.decorators import deprecated, deprecated_arg_values, deprecated_args
from dataflow.train import checkpoint_initializers, checkpoint_management
from dataflow.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)


def get_name_scope() -> str:
    """The name scope around, without a "/" at its end; "" outside of all."""
    return default_graph().get_name_scope()


def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """``global_step_tensor`` after a check that it is a global step, else the graph's, or None."""
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


def load_checkpoint(filepattern: Any) -> Any:
    """`tf.train.load_checkpoint`."""
    return checkpoint_management.load_checkpoint(filepattern)


def load_variable(checkpoint_dir: Any, name: str) -> Any:
    """`tf.train.load_variable`."""
    return checkpoint_management.load_variable(checkpoint_dir, name)


def list_variables(checkpoint_dir: Any) -> list[tuple[str, list[int]]]:
    """`tf.train.list_variables`."""
    return checkpoint_management.list_variables(checkpoint_dir)


def init_from_checkpoint(checkpoint_dir: Any, assignment_map: dict[str, Any]) -> None:
    """`tf.train.init_from_checkpoint`."""
    checkpoint_initializers.init_from_checkpoint(checkpoint_dir, assignment_map)


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """Sets the variable ``ref`` to zeros; gives its reference.

    A run raises `InvalidArgumentError` where the variable has a value already.
    """
    graph = default_graph()
    with graph.colocate_with(ref.op):
        unset = logical_not(is_variable_initialized(ref))
        check = Assert(unset, ["input is already initialized"])
    zeros = zeros_initializer()(ref.get_shape().as_list(), dtype=ref.dtype.base_dtype)
    with graph.control_dependencies([check]):
        return assign(ref, zeros, use_locking=use_locking, name=name)


__all__ = [
    "BoundedTensorSpec",
    "CriticalSection",
    "TensorSpec",
    "VariableDeviceChooser",
    "add_arg_scope",
    "add_model_variable",
    "arg_scope",
    "arg_scoped_arguments",
    "argsort",
    "assert_global_step",
    "assert_or_get_global_step",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_scalar_int",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "broadcast_to",
    "convert_to_tensor_or_sparse_tensor",
    "convolutional_delta_orthogonal",
    "convolutional_orthogonal_1d",
    "convolutional_orthogonal_2d",
    "convolutional_orthogonal_3d",
    "create_global_step",
    "current_arg_scope",
    "deprecated",
    "deprecated_arg_values",
    "deprecated_args",
    "filter_variables",
    "get_global_step",
    "get_graph_from_inputs",
    "get_local_variables",
    "get_model_variables",
    "get_name_scope",
    "get_or_create_global_step",
    "get_placeholders",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "global_variables",
    "has_arg_scope",
    "init_from_checkpoint",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_tensor",
    "list_variables",
    "load_and_remap_matrix_initializer",
    "load_checkpoint",
    "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer",
    "load_variable",
    "load_variable_slot_initializer",
    "local_variable",
    "model_variable",
    "nest",
    "prepend_name_scope",
    "print_op",
    "py_func",
    "reduce_sum_n",
    "remove_squeezable_dimensions",
    "smart_case",
    "smart_cond",
    "smart_constant_value",
    "sort",
    "strip_name_scope",
    "variable",
    "with_same_shape",
    "with_shape",
    "zero_initializer",
]

__getattr__ = explain_absent(__name__)
