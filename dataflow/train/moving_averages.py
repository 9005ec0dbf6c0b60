"""`ExponentialMovingAverage`: shadow copies of variables that follow them slowly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataflow import dtypes
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.control_flow import group
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import cast, div, minimum, pow_, truediv as truediv_
from dataflow.ops.state import assign, assign_sub
from dataflow.ops.variable_lists import (
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from dataflow.ops.variable_scope import get_variable, get_variable_scope, variable_scope
from dataflow.ops.variables import Variable
from dataflow.train import slot_creator

_FLOATS = (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64)


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """``variable -= (1 - decay) * (variable - value)``; returns the new value.

    With ``zero_debias`` the bias towards the first value (0) is divided out (Kingma and Ba, 2015,
    section 3).
    """
    with name_scope(name, "AssignMovingAvg") as scope:
        rate = convert_to_tensor(1.0 - decay, name="decay")
        rate = cast(rate, variable.dtype.base_dtype)
        if zero_debias:
            return _zero_debias(variable, value, rate, scope)
        return assign_sub(variable, (variable - value) * rate, name=scope)


def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Any = None,
    name: str | None = None,
) -> Any:
    """The moving average of ``value * weight`` by that of ``weight``; each run counts its value too.

    ``value``, ``weight``: numeric tensors; their averages start at 0, in variables of
    ``collections``. Returns a tensor of ``value``'s shape and dtype.
    """
    value, weight = convert_to_tensor(value), convert_to_tensor(weight)
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        averages = []
        for key, change in (("value_x_weight", value * weight), ("weight", weight)):
            total = get_variable(
                key,
                shape=change.shape,
                dtype=change.dtype.base_dtype,
                initializer=zeros_initializer(),
                trainable=False,
                collections=collections,
            )
            averages.append(assign_moving_average(total, change, decay, zero_debias=False))
        return (truediv_ if truediv else div)(averages[0], averages[1], name=scope.name)


def _zero_debias(variable: Any, value: Any, rate: Any, scope: str) -> Any:
    graph = default_graph()
    with variable_scope(variable.op.name), graph.control_dependencies(None):
        biased = get_variable(
            _unused("biased"),
            initializer=zeros_initializer(),
            shape=variable.get_shape(),
            dtype=variable.dtype.base_dtype,
            trainable=False,
        )
        local_step = get_variable(
            _unused("local_step"),
            shape=[],
            dtype=variable.dtype.base_dtype,
            initializer=zeros_initializer(),
            trainable=False,
        )
    update = assign_sub(biased, (biased - value) * rate)
    count = local_step.assign_add(1)
    factor = 1 - pow_(1.0 - rate, count)
    return assign(variable, update / factor, name=scope)


def _unused(name: str) -> str:
    """A name that no variable of the current scope has."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    taken = {v.op.name for v in scope.global_variables()}
    full, number = f"{scope.name}/{name}", 0
    while (full if number == 0 else f"{full}_{number}") in taken:
        number += 1
    return name if number == 0 else f"{name}_{number}"


class ExponentialMovingAverage:
    """Keeps a moving average of each variable: ``average = decay * average + (1 - decay) * value``.

    Args:
        decay: near 1, such as 0.999.
        num_updates: a count of updates; the decay is then at most
            ``(1 + num_updates) / (10 + num_updates)``, so that averages move faster at first.
        zero_debias: correct averages of tensors, which start at 0, for that.
        name: the averages are called ``<variable>/<name>``.
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Variable] = {}

    @property
    def name(self) -> str:
        """The name given at construction."""
        return self._name

    def apply(self, var_list: Iterable[Any] | None = None) -> Any:
        """An operation that updates the averages of ``var_list`` (by default the trainable ones).

        The first call for a variable makes its average, which starts with the variable's initial
        value (with 0 for a tensor). Raises `TypeError` for what is not floating.
        """
        graph = default_graph()
        var_list = list(var_list) if var_list is not None else trainable_variables()
        debias = set()
        for var in var_list:
            if var.dtype.base_dtype not in _FLOATS:
                raise TypeError(
                    f"The variables must be half, float, or double: {var.name} is "
                    f"{var.dtype.base_dtype.name}"
                )
            if var in self._averages:
                continue
            with graph.control_dependencies(None):
                if isinstance(var, Variable):
                    with graph.device(var.device):
                        value = var.initialized_value()
                    average = slot_creator.create_slot(var, value, self._name)
                    graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                else:
                    is_variable = var.op.op_def.is_variable
                    average = slot_creator.create_zeros_slot(
                        var, self._name, colocate_with_primary=is_variable
                    )
                    if self._zero_debias:
                        debias.add(average)
            self._averages[var] = average
        with name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, dtype=dtypes.float32, name="decay")
            if self._num_updates is not None:
                count = cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = minimum(decay, (1.0 + count) / (10.0 + count))
            updates = []
            for var in var_list:
                average = self._averages[var]
                updates.append(assign_moving_average(average, var, decay, average in debias))
            return group(*updates, name=scope)

    def average(self, var: Variable) -> Any:
        """The variable that holds the average of ``var``, or ``None``."""
        return self._averages.get(var)

    def average_name(self, var: Variable) -> str:
        """The name that the average of ``var`` has, or would be given."""
        if var in self._averages:
            return str(self._averages[var].op.name)
        return str(default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False))

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """A map for a `Saver` that restores the averages in place of the variables.

        Variables without an average are in it under their own names.
        """
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + moving_average_variables()
        averaged = list(dict.fromkeys(moving_avg_variables))
        result = {self.average_name(v): v for v in averaged}
        names = {v.name for v in averaged}
        for variable in dict.fromkeys(global_variables()):
            if variable.name not in names and variable.op.name not in result:
                result[variable.op.name] = variable
        return result
