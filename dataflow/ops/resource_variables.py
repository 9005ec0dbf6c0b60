"""`ResourceVariable`: what ``use_resource=True`` makes; each use of it reads the variable anew."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from dataflow.dtypes import DType
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import free_variable
from dataflow.graph.eager_tensor import numpy_text
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import state
from dataflow.ops.control_flow_context import in_context
from dataflow.ops.variables import Variable
from dataflow.shapes import Dims, TensorShape

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.runtime.base_session import BaseSession

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

    #: A cast to its own dtype is the variable itself.
    is_read_by_use = True
    _groups_initializer = True
    _keeps_partial_shape = True
    #: The copy that a caching device keeps for the time of a run.
    _cached: Tensor | None = None

    def __bool__(self) -> bool:
        # A reference variable is true: `if bias:` asks whether there is one.
        return bool(self._as_graph_element())

    @property
    def create(self) -> Any:
        """The operation that gives it its initial value."""
        return self.initializer

    def __int__(self) -> int:
        return int(self.numpy()) if self._variable.graph.executes_eagerly else super().__int__()

    def numpy(self) -> Any:
        """The value, with eager execution: an array, or a NumPy scalar.

        Raises `NotImplementedError` in a graph, where a session has the value.
        """
        if not self._variable.graph.executes_eagerly:
            raise NotImplementedError(
                "numpy() is only available when eager execution is enabled; use v.eval() or sess.run(v)."
            )
        with self._variable.graph.as_default():
            return self._now().numpy()  # type: ignore[attr-defined]

    def _make_nodes(
        self, graph: Graph, value: Tensor, dims: Dims, validate_shape: bool, scope: str, attrs: Any
    ) -> None:
        if graph.executes_eagerly:
            self._begin(graph, value, dims, scope)
            return
        with graph.attributes_of_new_nodes(attrs):
            self._variable = state.var_handle_op(
                shape=dims,
                dtype=value.dtype.base_dtype,
                shared_name=scope[:-1],
                container=graph.current_container,
                name=scope,
            )
        state.remember(self._variable, self)
        device = self._variable.device
        with graph.name_scope("IsInitialized"):
            state.var_is_initialized_op(self._variable)
        with graph.colocate_with(None, ignore_existing=True), graph.device(device):
            self._initializer_op = state.assign_variable_op(self._variable, value, name="Assign")
        with graph.name_scope("Read"), graph.device(device):
            self._snapshot = state.read_variable_op(self._variable)
        if self._caching_device is not None:
            where = self._caching_device
            where = where(self._variable.op) if callable(where) else where
            with graph.colocate_with(None, ignore_existing=True), graph.device(where):
                self._cached = get_op("Identity")(self._snapshot)

    def _begin(self, graph: Graph, value: Tensor, dims: Dims, scope: str) -> None:
        """With eager execution: the variable, which has its first value at once."""
        self._variable = state.var_handle_op(
            shape=dims,
            dtype=value.dtype.base_dtype,
            shared_name=scope[:-1],
            container="",
            name=scope,
        )
        state.remember(self._variable, self)
        state.assign_variable_op(self._variable, value)
        self._initial_value: Any = None  # the variable is the only one to hold its value
        self._initializer_op: Any = None
        weakref.finalize(self, free_variable, self._variable.op.attrs["shared_name"])

    def __repr__(self) -> str:
        if not self._variable.graph.executes_eagerly:
            return super().__repr__()
        text = numpy_text(self.numpy())
        return (
            f"<tf.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}, numpy={text}>"
        )

    def _init_from_proto(self, proto: Any, import_scope: str | None) -> None:
        super()._init_from_proto(proto, import_scope)
        state.remember(self._variable, self)

    @property
    def dtype(self) -> DType:
        """The dtype of its value, such as ``float32``."""
        return self._variable.dtype.value_dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return TensorShape(self._variable.dims)

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self.shape

    @property
    def handle(self) -> Tensor:
        """The tensor of dtype ``resource`` through which ops read and change it."""
        return self._variable

    def value(self) -> Tensor:
        """A new node that reads the variable, on its device; with a caching device, the copy there."""
        if self._cached is not None:
            return self._cached
        graph = self._variable.graph
        if graph.executes_eagerly:
            return self._now()
        with graph.colocate_with(None, ignore_existing=True), graph.device(self._variable.device):
            return state.read_variable_op(self._variable)  # type: ignore[no-any-return]

    def read_value(self) -> Tensor:
        """A new node that reads the variable at its own time."""
        with default_graph().name_scope("Read"):
            value = self._now()
        return get_op("Identity")(value)  # type: ignore[no-any-return]

    def _now(self) -> Tensor:
        return state.read_variable_op(self._variable)  # type: ignore[no-any-return]

    def _as_graph_element(self) -> Tensor:
        return self._now() if self._variable.graph.executes_eagerly else self._snapshot

    def _dense_var_to_tensor(
        self, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
    ) -> Tensor:
        return self._variable if as_ref else self.value()

    def eval(self, session: BaseSession | None = None) -> Any:
        """The value in ``session`` or the default one."""
        return self._as_graph_element().eval(session=session)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The rows of the variable that ``indices`` name."""
        from dataflow.ops.gather_scatter import resource_gather_op

        with default_graph().name_scope(name or "Gather") as scope:
            rows = resource_gather_op(self._variable, indices, name=scope)
        return get_op("Identity")(rows)  # type: ignore[no-any-return]

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The slices of the variable that ``indices`` name."""
        from dataflow.ops.gather_scatter import resource_gather_nd_op

        with default_graph().name_scope(name or "GatherNd") as scope:
            slices = resource_gather_nd_op(self._variable, indices, name=scope)
        return get_op("Identity")(slices)  # type: ignore[no-any-return]

    def _lazy_read(self, op: Operation) -> ResourceVariable:
        return self if op.graph.executes_eagerly else _UnreadVariable(self, op)

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
        self._cached = None
        with op.graph.control_dependencies([op]):
            self._after = state.read_variable_op(self._variable)

    @property
    def name(self) -> str:
        """The name of the assignment."""
        return self._op.name  # type: ignore[no-any-return]

    @property
    def op(self) -> Any:
        """The operation that assigns."""
        return self._op

    def value(self) -> Tensor:
        """A new node that reads the variable after the assignment."""
        handle = self._entering_handle()
        if handle is not None:
            return state.read_variable_op(handle)  # type: ignore[no-any-return]
        # The graph of the assignment: that of a dataset's function is not the variable's.
        with self._op.graph.control_dependencies([self._op]):
            return super().value()

    def read_value(self) -> Tensor:
        """A new node that reads the variable after the assignment; in no scope of its own."""
        return self._now()

    def _now(self) -> Tensor:
        handle = self._entering_handle()
        if handle is not None:
            return state.read_variable_op(handle)  # type: ignore[no-any-return]
        with self._op.graph.control_dependencies([self._op]):
            return super()._now()

    def _entering_handle(self) -> Tensor | None:
        """In a loop that the assignment is not in: the handle, which waits for it.

        No control edge crosses into a loop, but a value does.
        """
        graph = self._op.graph
        here, there = graph.control_flow_context, self._op.control_flow_context
        loop = here.while_context if here is not None else None
        if loop is None or loop is (there.while_context if there is not None else None):
            return None
        with in_context(graph, there), graph.control_dependencies([self._op]):
            return get_op("Identity")(self._variable)  # type: ignore[no-any-return]

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The rows that ``indices`` name, after the assignment."""
        with self._op.graph.control_dependencies([self._op]):
            return super().sparse_read(indices, name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The slices that ``indices`` name, after the assignment."""
        with self._op.graph.control_dependencies([self._op]):
            return super().gather_nd(indices, name)

    def _as_graph_element(self) -> Tensor:
        return self._after  # type: ignore[no-any-return]


def is_resource_variable(variable: Any) -> bool:
    """Whether this is a resource variable."""
    return isinstance(variable, ResourceVariable)
