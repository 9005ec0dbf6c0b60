"""``tf.contrib.framework``: argument scopes, the global step, lists of variables, checkpoints."""

from __future__ import annotations

from dataflow.contrib.arg_scopes import (
    add_arg_scope,
    arg_scope,
    arg_scoped_arguments,
    current_arg_scope,
    has_arg_scope,
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
from dataflow.contrib.values_of_variables import (
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
)
from dataflow.graph.conversion import is_tensor_like as is_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.layers.base import smart_cond
from dataflow.namespaces import explain_absent
from dataflow.ops.sequences import argsort, sort
from dataflow.ops.variable_lists import global_variables
from dataflow.python.util import nest
from dataflow.python.util.decorators import deprecated, deprecated_args
from dataflow.train.checkpoint_initializers import init_from_checkpoint
from dataflow.train.checkpoint_management import list_variables, load_checkpoint, load_variable
from dataflow.train.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)


def get_name_scope() -> str:
    """The name scope around, without a "/" at its end; "" outside of all."""
    return default_graph().get_name_scope()


__all__ = [
    "VariableDeviceChooser",
    "add_arg_scope",
    "add_model_variable",
    "arg_scope",
    "arg_scoped_arguments",
    "argsort",
    "assert_global_step",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "create_global_step",
    "current_arg_scope",
    "deprecated",
    "deprecated_args",
    "filter_variables",
    "get_global_step",
    "get_local_variables",
    "get_model_variables",
    "get_name_scope",
    "get_or_create_global_step",
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
    "is_tensor",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "local_variable",
    "model_variable",
    "nest",
    "smart_cond",
    "sort",
    "variable",
]

__getattr__ = explain_absent(__name__)
