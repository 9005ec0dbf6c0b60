"""`Variable`: a node that keeps its value between runs, and who makes one: the creators of scopes around."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dataflow import shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import outside_symbolic_graph
from dataflow.graph.graph import Graph
from dataflow.graph.object_reference import Reference
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.graph.without_value import WithoutValue
from dataflow.ops import state
from dataflow.ops.initial_value_counts import count_guards
from dataflow.ops.variable_replication import (
    VariableAggregation,
    VariableSynchronization,
    checked_replication,
)
from dataflow.shapes import Dims, TensorShape

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

_CREATORS = "variable_creators"


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Variables of this graph are made by ``variable_creator(next_creator, **kwargs)``.

    ``kwargs`` are `Variable`'s arguments; ``next_creator(**kwargs)`` makes the variable, or calls
    the creator of the scope around. The innermost scope's is called first. `get_variable` and
    layers make their variables this way too.
    """
    attachments = default_graph().attachments
    before = attachments.get(_CREATORS, ())
    attachments[_CREATORS] = (*before, variable_creator)
    try:
        yield
    finally:
        attachments[_CREATORS] = before


class _MadeByCreators(type):
    """`Variable(...)` asks the creators of the scopes around."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """That of the class's constructor, for editors: not `__call__`'s."""
        whole = inspect.signature(cls.__init__)  # type: ignore[misc]
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        graph = default_graph()
        if graph.variables_are_eager:
            with outside_symbolic_graph():
                return cls(*args, **kwargs)
        creators = graph.attachments.get(_CREATORS, ())
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        if not creators:
            return _make_variable(*args, **kwargs)
        bound = inspect.signature(Variable.__init__).bind(None, *args, **kwargs)
        bound.apply_defaults()
        arguments = dict(list(bound.arguments.items())[1:])
        make: Callable[..., Any] = _make_variable
        for creator in creators:
            make = functools.partial(creator, make)
        return make(**arguments)


def _make_variable(*args: Any, **kwargs: Any) -> Any:
    """The variable of these arguments: of the class that ``use_resource``, a scope or the default says."""
    from dataflow.ops import resource_variables, variable_scope

    wanted = args[11] if len(args) > 11 else kwargs.get("use_resource")
    proto = kwargs.get("variable_def")
    if proto is not None:
        wanted = proto.is_resource
    if wanted is None:
        wanted = variable_scope.get_variable_scope().use_resource
    if wanted is None:
        wanted = resource_variables.resource_variables_enabled()
    if default_graph().executes_eagerly:
        wanted = True
    return type.__call__(
        resource_variables.ResourceVariable if wanted else Variable, *args, **kwargs
    )


class SaveSliceInfo:
    """Which part of a whole a partition holds: name and shape of the whole, offset and size."""

    def __init__(
        self,
        full_name: str,
        full_shape: list[int],
        var_offset: list[int],
        var_shape: list[int],
    ) -> None:
        self.full_name = full_name
        self.full_shape = full_shape
        self.var_offset = var_offset
        self.var_shape = var_shape

    @property
    def spec(self) -> str:
        """The form that checkpoints use: ``"10 4 0,5:0,4"``."""
        full = " ".join(str(d) for d in self.full_shape) + " "
        parts = ":".join(f"{o},{s}" for o, s in zip(self.var_offset, self.var_shape, strict=True))
        return full + parts


class Variable(WithoutValue, metaclass=_MadeByCreators):
    """A tensor that keeps its value between runs, until an op assigns another one.

    ``initial_value`` (a tensor, array, number, or a function that makes one) gives shape, dtype
    and the first value, which the ``initializer`` op assigns. Used in an expression, a variable
    stands for its value. In collections ``GLOBAL_VARIABLES`` and, with ``trainable``,
    ``TRAINABLE_VARIABLES``.

    Raises `ValueError` when there is no initial value, or its shape is not known and
    ``validate_shape`` is set.
    """

    SaveSliceInfo = SaveSliceInfo
    __array_priority__ = 100
    _synchronization = VariableSynchronization.AUTO
    _aggregation = VariableAggregation.NONE
    #: Whether the initial value stands in a scope beside the variable even where it is no function.
    _groups_initializer = False
    #: Whether its shape may be known in part: that of the initial value, as far as it is known.
    _keeps_partial_shape = False

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Any = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if collections is None:
            collections = [GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError(
                f"collections argument must be a list, tuple, or set. Got {collections!r}"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._synchronization, self._aggregation, trainable = checked_replication(
            synchronization, aggregation, trainable, name
        )
        self._trainable = trainable
        self._constraint = constraint
        self._caching_device = caching_device
        self._save_slice_info: SaveSliceInfo | None = None
        graph = default_graph()
        if isinstance(initial_value, Tensor):
            graph = initial_value.graph
        keys = list(collections)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        wanted = None if dtype is None else as_dtype(dtype).base_dtype
        with graph.as_default(), graph.control_dependencies(None):
            with graph.name_scope(name or "Variable") as scope:
                group: dict[str, Any] = {}
                if callable(initial_value) or self._groups_initializer:
                    # Stands for colocate_with the variable, which is not there yet.
                    group = {"_class": [f"loc:@{scope[:-1]}".encode()]}
                    with (
                        graph.attributes_of_new_nodes(group),
                        graph.name_scope("Initializer"),
                        graph.device(None),
                    ):
                        if callable(initial_value):
                            initial_value = initial_value()
                        value = convert_to_tensor(initial_value, wanted, "initial_value")
                else:
                    value = convert_to_tensor(initial_value, wanted, "initial_value")
                if value.op.control_flow_context is not None:
                    raise ValueError(
                        f"Initializer for variable {scope} is from inside a control-flow construct, "
                        "such as a loop or conditional. When creating a variable inside a loop or "
                        "conditional, use a lambda as the initializer."
                    )
                self._make(graph, value, shape, validate_shape, scope, group)
        graph.add_to_collections(keys, self)

    def _make(
        self,
        graph: Graph,
        value: Tensor,
        shape: DynamicShapeLike | None,
        validate_shape: bool,
        scope: str,
        attrs: dict[str, Any],
    ) -> None:
        if shape is not None:
            dims = shapes.as_dims(shape)
        else:
            dims = value.dims if validate_shape or self._keeps_partial_shape else None
            known = dims is not None and None not in dims
            if validate_shape and not (known or self._keeps_partial_shape):
                raise ValueError(
                    f"initial_value must have a shape specified: {value} has shape {value.shape}. "
                    "Give it a full shape, or pass validate_shape=False."
                )
        self._initial_value = value
        self._make_nodes(graph, value, dims, validate_shape, scope, attrs)

    def _make_nodes(
        self,
        graph: Graph,
        value: Tensor,
        dims: Dims,
        validate_shape: bool,
        scope: str,
        attrs: dict[str, Any],
    ) -> None:
        """The variable itself, the assignment of its first value, and the node that reads it."""
        with graph.attributes_of_new_nodes(attrs):
            self._variable: Tensor = state.variable_op(
                shape=dims if dims is not None else (),
                dtype=value.dtype.base_dtype,
                container=graph.current_container,
                name=scope,
            )
        if dims is None:
            self._variable.dims = None
        with graph.colocate_with(self._variable.op):
            count_guards(value)
            self._initializer_op = state.assign_op(
                self._variable, value, validate_shape=validate_shape, name="Assign"
            ).op
            device = self._caching_device
            if device is None:
                self._snapshot = read_node(self._variable, "read")
            else:
                if callable(device):
                    device = device(self._variable.op)
                with graph.colocate_with(None, True), graph.device(device):
                    self._snapshot = read_node(self._variable, "read")

    # ---- what it is -----------------------------------------------------------------------

    @property
    def name(self) -> str:
        """``"W:0"``: the name of the reference tensor."""
        return self._variable.name

    @property
    def _shared_name(self) -> str:
        return self.name[:-2]

    @property
    def op(self) -> Any:
        """The VariableV2 operation."""
        return self._variable.op

    @property
    def graph(self) -> Any:
        """The graph that it belongs to."""
        return self._variable.graph

    @property
    def dtype(self) -> DType:
        """The reference dtype, such as ``float32_ref``."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._variable.shape

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self._variable.shape

    def set_shape(self, shape: DynamicShapeLike) -> None:
        """Adds what you know to the static shape."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    @property
    def device(self) -> str:
        """The device that it is pinned to, or ``""``."""
        return self._variable.device

    @property
    def trainable(self) -> bool:
        """Whether optimizers change it by default."""
        return self._trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        """What it was made with; ``AUTO`` by default."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """What it was made with; ``NONE`` by default."""
        return self._aggregation

    @property
    def constraint(self) -> Any:
        """The projection that optimizers apply after an update, or ``None``."""
        return self._constraint

    @property
    def initializer(self) -> Any:
        """The operation that assigns the initial value."""
        return self._initializer_op

    @property
    def initial_value(self) -> Tensor:
        """The tensor of the initial value."""
        return self._initial_value

    # ---- reading --------------------------------------------------------------------------

    def value(self) -> Tensor:
        """The tensor that reads the variable."""
        return self._snapshot

    def __reduce__(self) -> Any:
        """How `pickle` keeps a variable of eager code: by its value; raises `NotImplementedError` in a graph."""
        if not self.op.graph.executes_eagerly:
            raise NotImplementedError(
                f"pickle: {self.op.name!r} is a node of a graph. Keep its value, of a session's run, or save it with "
                "tf.train.Saver; variables can be pickled in eager code."
            )
        value = self.read_value().numpy()  # type: ignore[attr-defined]
        return _unpickled, (value, self._trainable, self.op.name, self.dtype.base_dtype.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A variable of its own with the same value, in eager code; raises `NotImplementedError` in a graph."""
        if not self.op.graph.executes_eagerly:
            raise NotImplementedError(
                f"copy.deepcopy: {self.op.name!r} is a node of a graph, which copies of it cannot be. They are "
                "made in eager code; here make a second variable, and assign the value of the first."
            )
        memo[id(self)] = made = Variable(
            self.read_value(),
            trainable=self._trainable,
            name=self.op.name + "_copy",
            constraint=self._constraint,
            synchronization=self._synchronization,
            aggregation=self._aggregation,
        )
        return made

    def read_value(self) -> Tensor:
        """A new node that reads the variable at its own time."""
        return read_node(self._variable, "read")

    def _ref(self) -> Tensor:
        return self._variable

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def _dense_var_to_tensor(
        self, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
    ) -> Tensor:
        return self._variable if as_ref else self._snapshot

    def eval(self, session: BaseSession | None = None) -> Any:
        """The value in ``session`` or the default one."""
        return self._variable.eval(session=session)

    def initialized_value(self) -> Tensor:
        """The value, or the initial value where the variable has none yet."""
        from dataflow.ops.conditionals import cond

        with default_graph().control_dependencies(None):
            return cond(  # type: ignore[no-any-return]
                state.is_variable_initialized(self), self.read_value, lambda: self.initial_value
            )

    # ---- writing --------------------------------------------------------------------------

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """An op that assigns ``value``; its output is the new value."""
        target = self if read_value else self._variable
        result = state.assign(target, value, use_locking=use_locking, name=name)
        return result if read_value else _operation_of(result)

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """An op that adds ``delta``; its output is the new value."""
        target = self if read_value else self._variable
        result = state.assign_add(target, delta, use_locking=use_locking, name=name)
        return result if read_value else _operation_of(result)

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """An op that subtracts ``delta``; its output is the new value."""
        target = self if read_value else self._variable
        result = state.assign_sub(target, delta, use_locking=use_locking, name=name)
        return result if read_value else _operation_of(result)

    def _scatter(
        self, function: Callable[..., Any], slices: Any, use_locking: bool, name: str | None
    ) -> Any:
        return function(self, slices.indices, slices.values, use_locking=use_locking, name=name)

    def scatter_add(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Adds the rows of an `IndexedSlices`."""
        return self._scatter(state.scatter_add, sparse_delta, use_locking, name)

    def scatter_sub(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Subtracts the rows of an `IndexedSlices`."""
        return self._scatter(state.scatter_sub, sparse_delta, use_locking, name)

    def scatter_update(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replaces the rows named by an `IndexedSlices`."""
        return self._scatter(state.scatter_update, sparse_delta, use_locking, name)

    def scatter_mul(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Multiplies by the rows of an `IndexedSlices`."""
        return self._scatter(state.scatter_mul, sparse_delta, use_locking, name)

    def scatter_div(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Divides by the rows of an `IndexedSlices`."""
        return self._scatter(state.scatter_div, sparse_delta, use_locking, name)

    def scatter_min(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Keeps the smaller of each row and that of an `IndexedSlices`."""
        return self._scatter(state.scatter_min, sparse_delta, use_locking, name)

    def scatter_max(
        self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Keeps the larger of each row and that of an `IndexedSlices`."""
        return self._scatter(state.scatter_max, sparse_delta, use_locking, name)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The slices of the variable that ``indices`` name."""
        from dataflow.ops.array import gather_nd

        return gather_nd(self._variable, indices, name=name)

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The rows of the variable that ``indices`` name."""
        from dataflow.ops.array import gather

        return gather(self._snapshot, indices, name=name)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether the variable has a value when the graph runs, a scalar bool."""
        return state.is_variable_initialized(self, name)

    def scatter_nd_update(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Replaces slices."""
        return state.scatter_nd_update(self, indices, updates, True, name)  # type: ignore[no-any-return]

    def scatter_nd_add(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Adds to slices."""
        return state.scatter_nd_add(self, indices, updates, True, name)  # type: ignore[no-any-return]

    def scatter_nd_sub(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Subtracts from slices."""
        return state.scatter_nd_sub(self, indices, updates, True, name)  # type: ignore[no-any-return]

    def count_up_to(self, limit: int) -> Tensor:
        """Adds 1 and gives the old value, up to ``limit``."""
        return state.count_up_to(self, limit)

    def load(self, value: TensorLike, session: BaseSession | None = None) -> None:
        """Sets the value in a session, or with eager execution, at once, adding nothing to the graph."""
        from dataflow.graph.default_stacks import default_session

        if self._variable.graph.executes_eagerly:
            self.assign(value)
            return
        session = session or default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established"
            )
        session.run(self._initializer_op, {self._initializer_op.inputs[1]: value})

    # ---- saving ---------------------------------------------------------------------------

    def _set_save_slice_info(self, info: Any) -> None:
        self._save_slice_info = info

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The ``VariableDef`` for a MetaGraph."""
        from tensorboard.compat.proto import variable_pb2

        if export_scope and not self._variable.name.startswith(export_scope):
            return None
        strip = len(export_scope) + 1 if export_scope else 0
        proto = variable_pb2.VariableDef(
            variable_name=self.name[strip:],
            initial_value_name=self._initial_value.name[strip:],
            initializer_name=self._initializer_op.name[strip:],
            snapshot_name=self._snapshot.name[strip:],
            trainable=self._trainable,
        )
        info = self._save_slice_info
        if info is not None:
            proto.save_slice_info_def.MergeFrom(
                variable_pb2.SaveSliceInfoDef(
                    full_name=info.full_name,
                    full_shape=info.full_shape,
                    var_offset=info.var_offset,
                    var_shape=info.var_shape,
                )
            )
        return proto

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """The variable that a ``VariableDef`` names, in the default graph."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def _init_from_proto(self, proto: Any, import_scope: str | None) -> None:
        graph = default_graph()
        prefix = f"{import_scope}/" if import_scope else ""
        self._variable = graph.as_graph_element(prefix + proto.variable_name)
        self._initializer_op = graph.as_graph_element(prefix + proto.initializer_name)
        if proto.initial_value_name:
            self._initial_value = graph.as_graph_element(prefix + proto.initial_value_name)
        else:
            self._initial_value = self._initializer_op.inputs[1]
        self._snapshot = graph.as_graph_element(prefix + proto.snapshot_name)
        self._trainable = getattr(proto, "trainable", True)
        self._constraint = None
        self._caching_device = None
        self._save_slice_info = None
        if proto.HasField("save_slice_info_def"):
            info = proto.save_slice_info_def
            self._save_slice_info = SaveSliceInfo(
                prefix + info.full_name,
                list(info.full_shape),
                list(info.var_offset),
                list(info.var_shape),
            )

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def experimental_ref(self) -> Reference:
        """A key that stands for this variable, in sets and dictionaries; ``deref()`` gives it back."""
        return Reference(self)

    ref = experimental_ref

    def __repr__(self) -> str:
        return f"<tf.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}>"


def _operation_of(assigned: Any) -> Operation | None:
    """The operation that assigns; None with eager execution, where it has run."""
    op = assigned if isinstance(assigned, Operation) else assigned.op
    return None if op.graph.executes_eagerly else op


def _unpickled(value: Any, trainable: bool, name: str, dtype: str) -> Any:
    """The variable that `Variable.__reduce__` kept."""
    return Variable(value, trainable=trainable, name=name, dtype=dtype)


def read_node(variable: Tensor, name: str) -> Tensor:
    """A node that reads a variable, given by its reference."""
    from dataflow.graph.registry import get_op

    return get_op("Identity")(variable, name=name)  # type: ignore[no-any-return]


#: The name that TensorFlow's own modules had for it.
VariableV1 = Variable
