"""``tensorflow.python.ops.variables``: its classes, by the kind of variable that they make."""

from __future__ import annotations

from typing import Any

from dataflow.ops.resource_variables import ResourceVariable
from dataflow.ops.variable_replication import VariableAggregation
from dataflow.ops.variables import Variable as _Variable

__all__ = ["RefVariable", "Variable", "VariableAggregationV2"]

VariableAggregationV2 = VariableAggregation


class _RefVariables(type(_Variable)):  # type: ignore[misc]
    """Whatever is a variable and no resource variable is an instance."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _Variable(*args, **{**kwargs, "use_resource": False})

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Variable) and not isinstance(instance, ResourceVariable)


class RefVariable(_Variable, metaclass=_RefVariables):
    """A `tf.Variable` that is no resource variable, whatever the scope says."""


class _Variables(type(_Variable)):  # type: ignore[misc]
    """Every variable is an instance."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        return _Variable(*args, **{"use_resource": True, **kwargs})

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is not Variable:
            return bool(super().__instancecheck__(instance))
        return isinstance(instance, _Variable)


class Variable(_Variable, metaclass=_Variables):
    """TensorFlow 2's `tf.Variable`, which this module had under its name: a resource variable."""
