"""`ResourceVariable`: what ``use_resource=True`` makes; each use of it reads the variable anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.dtypes import DType
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import state
from dataflow.ops.variables import Variable, read_node

if TYPE_CHECKING:
    from dataflow.runtime.session import BaseSession

_settings = {"default": False}


def enable_resource_variables() -> None:
    """From here on variables are resource variables, where no ``use_resource`` says otherwise."""
    _settings["default"] = True


def disable_resource_variables() -> None:
    """From here on variables are reference variables again, as at first."""
    _settings["default"] = False


def resource_variables_enabled() -> bool:
    """Whether variables are resource variables by default; False at first."""
    return _settings["default"]


class ResourceVariable(Variable):
    """A `Variable` of which every use is a node of its own that reads it.

    A reference variable has one node that reads it, made with it, so that what is used under
    `control_dependencies` may have been read before what those wait for. Here it is read after:
    ``with tf.control_dependencies([v.assign_add(1)]): y = v * 2`` has the new value. The methods
    that assign return a view of the variable, read after the assignment.
    """

    _snapshot_name = "Read/ReadVariableOp"

    def __bool__(
        self,
    ) -> bool:  # a reference variable is true: `if bias:` asks whether there is one
        return bool(self._snapshot)

    @property
    def dtype(self) -> DType:
        """The dtype of its value, such as ``float32``."""
        return self._variable.dtype.base_dtype

    @property
    def handle(self) -> Tensor:
        """The tensor through which ops read and change it (TensorFlow's has the dtype resource)."""
        return self._variable

    def value(self) -> Tensor:
        """A new node that reads the variable, on its device."""
        graph = self._variable.graph
        with graph.colocate_with(None, ignore_existing=True), graph.device(self._variable.device):
            return read_node(self._variable, "ReadVariableOp")

    def read_value(self) -> Tensor:
        """A new node that reads the variable at its own time."""
        with default_graph().name_scope("Read"):
            return self.value()

    def _as_graph_element(self) -> Tensor:
        return self._snapshot

    def _dense_var_to_tensor(
        self, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
    ) -> Tensor:
        return self._variable if as_ref else self.value()

    def eval(self, session: BaseSession | None = None) -> Any:
        """The value in ``session`` or the default one."""
        return self._snapshot.eval(session=session)

    def _changed(self, result: Tensor, read_value: bool) -> Any:
        return _UnreadVariable(self, result.op) if read_value else result.op

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Assigns ``value``; gives the variable as it is afterwards."""
        return self._changed(state.assign(self._variable, value, name=name), read_value)

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds ``delta``; gives the variable as it is afterwards."""
        return self._changed(state.assign_add(self._variable, delta, name=name), read_value)

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts ``delta``; gives the variable as it is afterwards."""
        return self._changed(state.assign_sub(self._variable, delta, name=name), read_value)

    def _scatter(
        self, function: Callable[..., Any], slices: Any, use_locking: bool, name: str | None
    ) -> Any:
        return self._changed(super()._scatter(function, slices, use_locking, name), True)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The ``VariableDef`` for a MetaGraph."""
        proto = super().to_proto(export_scope)
        if proto is not None:
            proto.is_resource = True
        return proto


class _UnreadVariable(ResourceVariable):
    """A resource variable as it is after an assignment, ``op``; every use reads it after that."""

    def __init__(self, variable: ResourceVariable, op: Any) -> None:
        self.__dict__.update(variable.__dict__)
        self._op = op
        self._read: Tensor | None = None

    @property
    def op(self) -> Any:
        """The operation that assigns."""
        return self._op

    def value(self) -> Tensor:
        """A new node that reads the variable after the assignment."""
        # The graph of the assignment: that of a dataset's function is not the variable's.
        with self._op.graph.control_dependencies([self._op]):
            return super().value()

    def _as_graph_element(self) -> Tensor:
        if self._read is None:
            self._read = self.value()
        return self._read

    def eval(self, session: BaseSession | None = None) -> Any:
        """The value after the assignment, in ``session`` or the default one."""
        return self._as_graph_element().eval(session=session)


def is_resource_variable(variable: Any) -> bool:
    """Whether this is a resource variable."""
    return isinstance(variable, ResourceVariable)
