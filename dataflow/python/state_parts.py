"""Variables by their ops alone: functions of ``tensorflow.python.ops.state_ops``."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops.graph_functions import colocate_with, name_scope
from dataflow.ops.state import assign
from dataflow.ops.variable_store import AUTO_REUSE, get_or_make, variable_store
from dataflow.python.op_functions import variable, variable_v2
from dataflow.shapes import TensorShape

__all__ = ["init_variable", "variable_op", "variable_op_v2"]


class _StoreOfGraph:
    """The variables of the default graph by full name, as ``variable_scope`` keeps them in TensorFlow."""

    @property
    def _vars(self) -> dict[str, Any]:
        return variable_store().variables

    def get_variable(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The variable of this full name: with ``reuse`` True one that is there, with False a new one."""
        kwargs.setdefault("reuse", AUTO_REUSE)
        return get_or_make(name, *args, **kwargs)


def _get_default_variable_store() -> _StoreOfGraph:
    return _StoreOfGraph()


def variable_op(
    shape: Any,
    dtype: Any,
    name: str = "Variable",
    set_shape: bool = True,
    container: str = "",
    shared_name: str = "",
) -> Tensor:
    """The reference of a new variable; with ``set_shape=False`` the graph does not know its shape."""
    own = TensorShape(shape) if set_shape else TensorShape(None)
    found = variable(own, dtype, container=container, shared_name=shared_name, name=name)
    if set_shape:
        found.set_shape(own)
    return found  # type: ignore[no-any-return]


def variable_op_v2(
    shape: Any, dtype: Any, name: str = "Variable", container: str = "", shared_name: str = ""
) -> Tensor:
    """The reference of a new variable of this shape."""
    return variable_v2(  # type: ignore[no-any-return]
        TensorShape(shape), dtype, container=container, shared_name=shared_name, name=name
    )


def init_variable(v: Any, init: Any, name: str = "init") -> Any:
    """What gives a variable its first value, a tensor or a function of shape and dtype, beside it.

    Raises `ValueError` for a function and a variable of unknown shape.
    """
    with name_scope(f"{v.op.name}/"), name_scope(name) as scope, colocate_with(v):
        if callable(init):
            if not v.get_shape().is_fully_defined():
                raise ValueError("Variable shape unknown.")
            init = init(v.get_shape().as_list(), v.dtype.base_dtype)
        return assign(v, convert_to_tensor(init, name="init"), name=scope)
