"""Eager execution: a graph whose operations run as they are made, so that its tensors have values.

`EagerGraph.make_op` infers shapes as a graph does, runs the operation at once (`dataflow.runtime.eager`
says how), and puts the values on its tensors. Nothing is kept but what a tape records: a tensor that
nobody holds any more goes, with its value. One such graph stands for all eager code of a process.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.graph import default_stacks, tracebacks
from dataflow.graph.collections import GraphKeys
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.graph import Graph, outputs_of
from dataflow.graph.operation import Operation
from dataflow.graph.tape import recording
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.dtypes import DType
    from dataflow.graph.op_def import OpDef

#: Runs an operation: f(op, its inputs) -> the values of its outputs, or None for a handle's.
_run: Callable[[Operation, list[Tensor]], Sequence[Any]] | None = None
#: Frees the value of a variable, by its shared name.
_free: Callable[[str], None] | None = None
#: Forgets where random numbers stand.
_restart: Callable[[], None] | None = None
#: Compiles tensors of a graph: f(graph, fetches, feeds) -> a function of the values fed.
_compile: Callable[[Graph, list[Tensor], list[Tensor]], Callable[..., list[Any]]] | None = None
_numbers = itertools.count()

#: The container of the variables of eager code, which every session of the process reaches.
CONTAINER = "eager"

#: What is no use where there is no later run.
_NEEDS_A_GRAPH = {
    "Placeholder": "tf.placeholder() is not compatible with eager execution.",
    "PlaceholderWithDefault": "tf.placeholder_with_default() is not compatible with eager execution.",
}


def register_runner(
    run: Callable[[Operation, list[Tensor]], Sequence[Any]],
    free: Callable[[str], None],
    restart: Callable[[], None],
    compile_: Callable[[Graph, list[Tensor], list[Tensor]], Callable[..., list[Any]]],
) -> None:
    """The sessions, which lie above graphs, say how these are done."""
    global _run, _free, _restart, _compile
    _run, _free, _restart, _compile = run, free, restart, compile_


def callable_of(
    graph: Graph, fetches: list[Tensor], feeds: list[Tensor]
) -> Callable[..., list[Any]]:
    """A function from values for ``feeds`` to those of ``fetches``, which uses eager code's variables."""
    assert _compile is not None
    return _compile(graph, fetches, feeds)


def hashable(value: Any) -> Any:
    """Attributes, or one of them, as a key of a dictionary."""
    if isinstance(value, dict):
        return tuple([(key, hashable(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return tuple([hashable(item) for item in value])
    return value


def free_variable(shared_name: str) -> None:
    """Frees the value of a variable that nobody holds any more."""
    if _free is not None:
        _free(shared_name)


class EagerGraph(Graph):
    """The default graph of eager code; see the module."""

    tensor_class = EagerTensor
    executes_eagerly = True

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "seed" and value is not None and _restart is not None:
            _restart()  # random numbers begin anew

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
        if op_def.type in _NEEDS_A_GRAPH:
            raise RuntimeError(_NEEDS_A_GRAPH[op_def.type])
        if frames is None:
            frames = tracebacks.capture()
        for tensor in inputs:
            if tensor.op.graph is not self:
                raise TypeError(
                    f"{op_def.type} {name!r}: the input {tensor.name!r} is a symbolic tensor of a graph, "
                    "and eager code runs on values. Do both within that graph, or run it in a session."
                )
        dims, dtypes = outputs_of(op_def, name, inputs, attrs, dtypes, frames)
        if op_def.type == "VarHandleOp":  # names are not unique here
            shared_name = f"{attrs['shared_name']}_{next(_numbers)}"
            attrs = {**attrs, "shared_name": shared_name, "container": CONTAINER}
        op = Operation(self, name, op_def, [], (), attrs, self.current_device, frames)
        op.index = next(_numbers)
        if self._gradient_override_map:
            op.gradient_override = self._gradient_override_map.get(op_def.type)
        op.outputs = [EagerTensor(op, i, dtypes[i], d) for i, d in enumerate(dims)]
        assert _run is not None
        for output, value in zip(op.outputs, _run(op, inputs), strict=True):
            if value is not None:
                output.known_value = value
                output.dims = np.shape(value)
        for tape in recording.tapes:
            tape.record(op, inputs)
        return op

    def constant(self, value: Any, dtype: DType) -> Tensor:
        """A tensor of a value that has this dtype already: an array or a NumPy scalar, not copied."""
        from dataflow.graph.registry import get_op

        attrs = {"value": np.asarray(value), "dtype": dtype}
        return self.make_op(get_op("Const"), "Const", [], attrs).outputs[0]

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """``name`` inside the current scope; names are not told apart."""
        if name and name[-1] == "/":
            return name[:-1]
        return f"{self.name_stack}/{name}" if self.name_stack else name

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Nothing to wait for: what was made before has run. Functions among the inputs are called."""
        for item in control_inputs or ():
            if callable(item) and not isinstance(item, (Tensor, Operation)):
                item()
        yield

    def add_to_collection(self, name: str, value: Any) -> None:
        """Keeps the global step alone: eager code holds its variables and losses itself."""
        if name == GraphKeys.GLOBAL_STEP:
            super().add_to_collection(name, value)

    def get_collection_ref(self, name: str) -> list[Any]:
        """The collection; but for the global step's, a new list that nothing else holds."""
        return super().get_collection_ref(name) if name == GraphKeys.GLOBAL_STEP else []

    @contextlib.contextmanager
    def _colocated(self, leaders: list[Operation], ignore_existing: bool) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """The block: all that is eager is in one place."""
        yield


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
    """From here on operations run at once; call it before anything else.

    ``with tf.Graph().as_default():`` builds graphs as before, and a `tf.Session` made in it runs them.
    ``device_policy`` and ``execution_mode`` change nothing here: all is on the host, in order.
    Raises `ValueError` where a graph has been begun.
    """
    del config, device_policy, execution_mode
    current = default_stacks.default_graph()
    if current.executes_eagerly:
        return
    if current.operations or default_stacks.is_nested():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    default_stacks.set_global_graph(eager_graph())


def disable_eager_execution() -> None:
    """From here on operations become nodes of a graph again, as at first."""
    if default_stacks.default_graph().executes_eagerly:
        default_stacks.set_global_graph(None)
