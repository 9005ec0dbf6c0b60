"""The variables of a graph by collection, and ops that initialize or check all of a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataflow import dtypes
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import array, state
from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.sources import placeholder_with_default
from dataflow.ops.variables import Variable

# ---- lists of variables ---------------------------------------------------------------------


def global_variables(scope: str | None = None) -> list[Variable]:
    """The variables that are shared and saved."""
    return default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Variable]:
    """The old name of `global_variables`."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Variable]:
    """The variables of this process alone, such as counters."""
    return default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """The variables in the MODEL_VARIABLES collection."""
    return default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """The variables that optimizers change."""
    return default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """The variables that an `ExponentialMovingAverage` follows."""
    return default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Iterable[Any], name: str = "init") -> Any:
    """An op that runs the initializers of ``var_list``."""
    from dataflow.ops.control_flow import group

    return group(*[v.initializer for v in var_list or []], name=name)


initialize_variables = variables_initializer


def global_variables_initializer() -> Any:
    """An op that initializes all global variables."""
    return variables_initializer(global_variables())


def initialize_all_variables() -> Any:
    """The old name of `global_variables_initializer`."""
    return global_variables_initializer()


def local_variables_initializer() -> Any:
    """An op that initializes all local variables."""
    return variables_initializer(local_variables())


initialize_local_variables = local_variables_initializer


def report_uninitialized_variables(
    var_list: Iterable[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """A string vector: the names of variables that have no value yet."""
    from dataflow.ops.array import boolean_mask, stack
    from dataflow.ops.math import logical_not
    from dataflow.ops.sources import constant

    if var_list is None:
        var_list = global_variables() + local_variables()
        if not var_list:
            var_list = []
    graph = default_graph()
    with graph.name_scope(name), graph.device("/cpu:0"):
        if not var_list:
            return constant([], dtype=dtypes.string)
        names = constant([v.op.name for v in var_list])
        initialized = stack([state.is_variable_initialized(v) for v in var_list])
        return boolean_mask(names, logical_not(initialized))


def assert_variables_initialized(var_list: Iterable[Any] | None = None) -> Any:
    """An op that fails while a variable has no value (prefer `report_uninitialized_variables`)."""
    variables = var_list if var_list is not None else global_variables() + local_variables()
    if not variables:
        return None
    with default_graph().name_scope("assert_variables_initialized"):
        # Of unknown shape: the size of another would be known, and the variable not be read.
        values = [placeholder_with_default(v.read_value(), None) for v in variables]
        return array.stack([array.size(value) for value in values])


def is_variable(value: Any) -> bool:
    """Whether ``value`` is a variable."""
    return isinstance(value, (Variable, PartitionedVariable))
