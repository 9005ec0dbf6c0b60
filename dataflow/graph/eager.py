"""Eager execution: a graph whose operations run as they are made, so that its tensors have values.

`EagerGraph.make_op` infers shapes as a graph does, runs the operation at once (`dataflow.runtime.eager`
says how), and puts the values on its tensors. Nothing is kept but what a tape records: a tensor that
is no longer referenced is freed with its value. One such graph stands for all eager code of a process.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.graph import default_stacks, thread_scopes, tracebacks
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import SymbolicInput
from dataflow.graph.eager_kinds import EagerOperation, Kind, is_handle, key_of, makes_lists
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.graph import Graph, outputs_of
from dataflow.graph.operation import Operation
from dataflow.graph.tape import recording
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.dtypes import DType
    from dataflow.graph.op_def import OpDef

#: Finds the function that runs operations like this one: f(op, its inputs) -> (node, function of the inputs' values).
_kind_of: Callable[[Operation, list[Tensor]], tuple[Operation, Callable[..., Any]]] | None = None
#: Makes the resources of an operation: f(op, its inputs).
_make_handles: Callable[[Operation, list[Tensor]], None] | None = None
#: Frees the value of a variable, by its shared name.
_free: Callable[[str], None] | None = None
#: Resets the state of random number generators.
_restart: Callable[[], None] | None = None
#: Compiles fetches of a graph: f(graph, fetches, feeds) -> a function of the values fed.
_compile: Callable[[Graph, Any, list[Tensor]], Callable[..., list[Any]]] | None = None
_numbers = itertools.count()

#: The container of the variables of eager code, which every session of the process reaches.
CONTAINER = "eager"
#: Kinds of operations that are kept.
_MOST_KINDS = 16384

#: Operations that mean nothing without later runs.
_NEEDS_A_GRAPH = {
    "Placeholder": "tf.placeholder() is not compatible with eager execution.",
}


def register_runner(
    kind_of: Callable[[Operation, list[Tensor]], tuple[Operation, Callable[..., Any]]],
    make_handles: Callable[[Operation, list[Tensor]], None],
    free: Callable[[str], None],
    restart: Callable[[], None],
    compile_: Callable[[Graph, Any, list[Tensor]], Callable[..., list[Any]]],
) -> None:
    """Called by the runtime, which lies above graphs, with its functions for these."""
    global _kind_of, _make_handles, _free, _restart, _compile
    _kind_of, _make_handles, _free = kind_of, make_handles, free
    _restart, _compile = restart, compile_


def callable_of(graph: Graph, fetches: Any, feeds: list[Tensor]) -> Callable[..., list[Any]]:
    """A function from values for ``feeds`` to those of ``fetches``, which uses eager code's variables."""
    assert _compile is not None
    return _compile(graph, fetches, feeds)


def _symbolic(op_def: OpDef, name: str, tensor: Tensor) -> SymbolicInput:
    return SymbolicInput(
        f"{op_def.type} {name!r}: the input {tensor.name!r} is a symbolic tensor of a graph, "
        "and eager code runs on values. Do both within that graph, or run it in a session.",
        tensor,
    )


def free_variable(shared_name: str) -> None:
    """Frees the value of a variable that is no longer referenced."""
    if _graph is not None:
        _graph.forget(shared_name)
    if _free is not None:
        _free(shared_name)


class EagerGraph(Graph):
    """The default graph of eager code; see the module."""

    tensor_class = EagerTensor
    executes_eagerly = True
    is_of_calls = True

    def __init__(self) -> None:
        #: The kinds of operations seen so far, by their keys.
        self._kinds: dict[Any, Kind] = {}
        #: The keys of the kinds of each variable, dropped along with it.
        self._keys_of: dict[str, list[Any]] = {}
        #: How often a shape rule, or other code, looked at the value of a tensor.
        self.num_values_read = 0
        self._seed: int | None = None
        super().__init__()

    @property
    def seed(self) -> int | None:
        """The random seed; setting it restarts all random number generators."""
        return self._seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        self._seed = value
        if value is not None and _restart is not None:
            self._kinds.clear()
            _restart()

    def forget_collections(self) -> None:
        """Begins anew with collections, and with the numbers in names: attachments that have ``forget_names``."""
        self._collections = {}
        for kept in self.attachments.values():
            if hasattr(type(kept), "forget_names"):
                kept.forget_names()

    def forget_names(self, names: Any = None) -> Any:
        """Begins anew with collections, seed and what others keep here, or goes back to ``names``.

        Returns what it had: the ``names`` to go back to.
        """
        before = self._collections, self.attachments, self._seed
        ours = {k: v for k, v in self.attachments.items() if k == thread_scopes.KEY}
        self._collections, self.attachments, self._seed = (
            ({}, ours, None) if names is None else names
        )
        return before

    def make_op(
        self,
        op_def: OpDef,
        name: str,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        dtypes: list[DType] | None = None,
        frames: tracebacks.RawFrames | None = None,
    ) -> Operation:
        """Runs an operation. As in a graph, errors name the operation, its inputs and the place."""
        if op_def.type == "Const":
            return self._make_constant(op_def, name, attrs, frames or tracebacks.LIVE)
        if frames is None:
            frames = tracebacks.capture() if recording.tapes else tracebacks.LIVE
        parts: list[Any] = [op_def, key_of(attrs)]
        values: list[Any] = []
        for tensor in inputs:
            if type(tensor) is not EagerTensor:
                raise _symbolic(op_def, name, tensor)
            value = tensor.known_value
            if value is None:
                parts.append(tensor.handle_node)
            else:
                parts += (tensor.dtype, tensor.dims)
                values.append(value)
        key: Any = tuple(parts)
        try:
            kind = self._kinds.get(key)
        except TypeError:  # an attribute has no hash: a kind of its own
            key = kind = None
        if kind is None:
            return self._make_first(op_def, name, inputs, attrs, dtypes, frames, key, values)
        if kind.reads_values:
            outputs_of(op_def, name, inputs, attrs, dtypes, frames)
        op = EagerOperation(self, name, op_def, attrs, self.current_device, frames)
        return self._run(kind, op, inputs, values)

    def _make_first(
        self,
        op_def: OpDef,
        name: str,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        dtypes: list[DType] | None,
        frames: tracebacks.RawFrames,
        key: Any,
        values: list[Any],
    ) -> Operation:
        """Runs an operation of a new kind, or makes a resource."""
        if op_def.type in _NEEDS_A_GRAPH:
            raise RuntimeError(_NEEDS_A_GRAPH[op_def.type])
        num_read = self.num_values_read
        dims, dtypes = outputs_of(op_def, name, inputs, attrs, dtypes, frames)
        if "shared_name" in attrs and "container" in attrs and _only_handles(dtypes):
            attrs = _shared(op_def, name, attrs)
        op = EagerOperation(self, name, op_def, attrs, self.current_device, frames)
        assert _kind_of is not None and _make_handles is not None
        if _only_handles(dtypes) and not makes_lists(op_def, inputs):
            op.frames = tracebacks.capture() if frames is tracebacks.LIVE else frames
            op.outputs = [EagerTensor(op, i, dtypes[i], d) for i, d in enumerate(dims)]
            _make_handles(op, inputs)
            self.record(op, inputs)
            return op
        node, call = _kind_of(op, inputs)
        kind = Kind(node, call, dims, dtypes, self.num_values_read != num_read)
        if key is not None:
            self._keep(key, kind, inputs)
        return self._run(kind, op, inputs, values)

    def _keep(self, key: Any, kind: Kind, inputs: list[Tensor]) -> None:
        if len(self._kinds) >= _MOST_KINDS:
            self._kinds.clear()
            self._keys_of.clear()
        self._kinds[key] = kind
        for tensor in inputs:
            if tensor.dtype.is_handle:
                self._keys_of.setdefault(tensor.op.attrs["shared_name"], []).append(key)

    def forget(self, shared_name: str) -> None:
        """Forgets the kinds of operations on a variable."""
        for key in self._keys_of.pop(shared_name, ()):
            self._kinds.pop(key, None)

    def _run(
        self, kind: Kind, op: EagerOperation, inputs: list[Tensor], values: list[Any]
    ) -> Operation:
        op.kind = kind
        kind.node.frames = op.frames
        dtypes = kind.dtypes
        results = kind.call(values)
        if len(results) == 1:
            value = results[0]
            op.outputs = [EagerTensor(op, 0, dtypes[0], getattr(value, "shape", ()), value)]
        else:
            op.outputs = [
                EagerTensor(op, i, dtype, kind.dims[i] if v is None else getattr(v, "shape", ()), v)
                for i, (dtype, v) in enumerate(zip(dtypes, results, strict=True))
            ]
        self.record(op, inputs)
        return op

    def _make_constant(
        self, op_def: OpDef, name: str, attrs: dict[str, Any], frames: tracebacks.RawFrames
    ) -> Operation:
        op = EagerOperation(self, name, op_def, attrs, self.current_device, frames)
        value = attrs["value"]
        op.outputs = [EagerTensor(op, 0, attrs["dtype"], value.shape, value)]
        op.index = next(_numbers)
        return op

    def record(self, op: Operation, inputs: list[Tensor]) -> None:
        """Numbers an operation that has run, and records it on the tapes."""
        op.index = next(_numbers)
        if self._gradient_override_map:
            op.gradient_override = self._gradient_override_map.get(op.op_def.type)
        for tape in recording.tapes:
            tape.record(op, inputs)

    def constant(self, value: Any, dtype: DType) -> Tensor:
        """A tensor of a value that already has this dtype: an array (not copied), a NumPy scalar or a string."""
        from dataflow.graph.registry import get_op

        array = np.asarray(value, object if type(value) is bytes else None)
        attrs = {"value": array, "dtype": dtype}
        op = self.make_op(get_op("Const"), "Const", [], attrs)
        (made,) = op.outputs
        op.release()
        return made

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """``name`` inside the current scope; names need not be unique."""
        if name and name[-1] == "/":
            return name[:-1]
        return f"{self.name_stack}/{name}" if self.name_stack else name

    def scope_name(self, name: str | None) -> str:
        """The whole name of a scope, which may be any text."""
        if not name:
            return ""
        return self.unique_name(name.decode() if isinstance(name, bytes) else name)

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """A no-op, as earlier operations have already run. Functions among the inputs are called."""
        for item in control_inputs or ():
            if callable(item) and not isinstance(item, (Tensor, Operation)):
                item()
        yield

    def add_to_collection(self, name: str, value: Any) -> None:
        """Keeps only the global step, and what a program itself adds: eager code holds its own variables and losses."""
        if name == GraphKeys.GLOBAL_STEP:
            self.keep_in_collection(name, value)

    def get_collection_ref(self, name: str) -> list[Any]:
        """The collection; where nothing is in it, a new list that nothing else holds."""
        return self._collections.get(name, [])

    @contextlib.contextmanager
    def _colocated(self, leaders: list[Operation], ignore_existing: bool) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """A no-op block: all eager values are in one place."""
        yield


def _only_handles(dtypes: list[DType]) -> bool:
    """Whether an operation makes resources and nothing else."""
    return bool(dtypes) and all(is_handle(dtype) for dtype in dtypes)


def _shared(op_def: OpDef, name: str, attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a resource that the functions of eager code reach too; names are not unique there."""
    given = attrs["shared_name"]
    if not given or op_def.type == "VarHandleOp":
        given = f"{given or name}_{next(_numbers)}"
    return {**attrs, "shared_name": given, "container": CONTAINER}


class SymbolicGraph(Graph):
    """A graph that eager code builds and a session runs, such as that of Keras's models."""

    variables_are_eager = True


@contextlib.contextmanager
def outside_symbolic_graph() -> Iterator[None]:
    """A block of eager code, where the default graph is a `SymbolicGraph`; else the block as it is."""
    graph = default_stacks.default_graph()
    if graph.variables_are_eager:
        eager = eager_graph()
        before = eager.name_stack
        eager.name_stack = graph.name_stack  # names are as they would be in there
        try:
            with default_stacks.use_graph(eager):
                yield
        finally:
            eager.name_stack = before
    else:
        yield


def graph_of_variable(variable: Any) -> Graph:
    """The graph in which nodes that change a variable are made."""
    graph: Graph = variable.op.graph
    return default_stacks.default_graph() if graph.executes_eagerly else graph


#: What waits for variables to be made: a function that says whether it is done, for an object.
_waiting: list[tuple[weakref.ref[Any], Callable[[], bool]]] = []


def when_variables_are_made(act: Callable[[], bool], owner: Any) -> None:
    """Calls ``act()`` whenever variables were made, until it is done (True) or ``owner`` is gone."""
    _waiting.append((weakref.ref(owner), act))


def variables_were_made() -> None:
    """Says that a layer or an optimizer made variables: a restored checkpoint may have their values."""
    if not _waiting:
        return
    with default_stacks.use_graph(eager_graph()):
        _waiting[:] = [(ref, act) for ref, act in _waiting if ref() is not None and not act()]


_graph: EagerGraph | None = None


def eager_graph() -> EagerGraph:
    """The one graph of eager code."""
    global _graph
    if _graph is None:
        _graph = EagerGraph()
    return _graph


def executing_eagerly() -> bool:
    """Whether operations run as they are made: after `enable_eager_execution`, outside of any graph."""
    return default_stacks.default_graph().executes_eagerly


def executing_eagerly_outside_functions() -> bool:
    """Whether operations run as they are made where code is in no graph and in no function."""
    return default_stacks.make_global_graph().executes_eagerly


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Makes operations run immediately; call it at the start of the program.

    ``with tf.Graph().as_default():`` builds graphs as before, and a `tf.Session` made in it runs them.
    ``device_policy`` and ``execution_mode`` change nothing here: all is on the host, in order.
    Raises `ValueError` if a graph has already been started.
    """
    del config, device_policy, execution_mode
    current = default_stacks.default_graph()
    if current.executes_eagerly:
        return
    if current.operations or default_stacks.is_nested():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    default_stacks.set_global_graph(eager_graph())


def disable_eager_execution() -> None:
    """Makes operations become nodes of a graph again."""
    if default_stacks.default_graph().executes_eagerly:
        default_stacks.set_global_graph(None)
