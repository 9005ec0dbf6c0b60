"""How operations of eager code run: each kind is a graph of one node, which is compiled once.

A kind is an op type with its attributes, the dtypes and ranks of its inputs, and the variables and
other resources among them. All these graphs are one, run by one session, so that variables, tables
and random numbers behave as they do in any other session.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from dataflow.graph import eager
from dataflow.graph.eager_kinds import hashable, is_handle
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.runtime import process_settings
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.plan import Plan
from dataflow.runtime.resources import eager_resources
from dataflow.runtime.session import Session

#: Kinds that are kept; attributes that change from call to call make one each.
_MOST_KINDS = 4096
_NODE_NAME = re.compile("[A-Za-z0-9.][A-Za-z0-9_.>-]*")


#: A node that was made for a kind of operation, and the function that runs it.
_Kind = tuple[Operation, Callable[[list[Any]], list[Any]]]


def _config() -> ConfigProto:
    """The process's settings, which stay from here on, without GPUs."""
    process_settings.begin()
    config = process_settings.new_config()
    config.device_count["GPU"] = 0
    return config


class _Runner:
    """The graph and the session of all eager code."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.graph = Graph()
        self.graph.is_of_kinds = True
        self.session = Session(graph=self.graph, config=_config())
        self._kinds: dict[Any, _Kind] = {}
        #: The keys of the kinds of each variable, which go with it.
        self._keys_of: dict[str, list[Any]] = {}

    def kind(self, op: Operation, inputs: list[Tensor]) -> _Kind:
        """The node of operations like this one, and the function of its inputs' values that runs it."""
        key: Any = (
            op.op_def.type,
            hashable(op.attrs),
            tuple([_signature(tensor) for tensor in inputs]),
        )
        try:
            found = self._kinds.get(key)
        except TypeError:  # an attribute that has no hash: a kind of its own
            key = found = None
        if found is None:
            with self._lock:
                found = self._build(op, inputs)
                if key is not None:
                    self._keep(key, found, inputs)
        return found

    def _keep(self, key: Any, kind: _Kind, inputs: list[Tensor]) -> None:
        if len(self._kinds) >= _MOST_KINDS:  # random numbers go on where they are
            self._kinds = {k: v for k, v in self._kinds.items() if v[0].op_def.stateful}
        self._kinds[key] = kind
        for tensor in inputs:
            if tensor.dtype.is_handle:
                self._keys_of.setdefault(tensor.op.attrs["shared_name"], []).append(key)

    def free(self, shared_name: str) -> None:
        """Forgets a variable, and the kinds of operations on it."""
        eager_resources.remove(eager.CONTAINER, "variable", shared_name)
        for key in self._keys_of.pop(shared_name, ()):
            self._kinds.pop(key, None)

    def kinds(self) -> list[Any]:
        """The keys of the kinds that are kept: op type, attributes, and what the inputs are."""
        return list(self._kinds)

    def forget_kinds(self) -> None:
        """Makes all nodes anew, but those of variables and other resources: streams of random numbers begin again."""
        with self._lock:
            self._kinds.clear()

    def _build(self, op: Operation, inputs: list[Tensor]) -> _Kind:
        graph = self.graph
        placeholder = get_op("Placeholder")
        given: list[Tensor] = []
        placeholders: list[Tensor] = []
        for tensor in inputs:
            if tensor.known_value is None:
                given.append(_handle_node(tensor))
                continue
            dims = (None,) * len(tensor.dims or ())
            attrs = {"dtype": tensor.dtype.base_dtype, "shape": dims}
            made = graph.make_op(placeholder, graph.unique_name("Placeholder"), [], attrs)
            given.append(made.outputs[0])
            placeholders.append(made.outputs[0])
        name = graph.unique_name(_node_name(op))
        node = graph.make_op(op.op_def, name, given, op.attrs, frames=op.frames)
        node.gradient_override = op.gradient_override
        plan = Plan(
            self.session, FetchPlan(graph, node.outputs or node, self.session), placeholders
        )
        # What eager code computed needs no check: it is an array of the input's dtype.
        return node, plan.run_flat

    def make_handles(self, op: Operation, inputs: list[Tensor]) -> None:
        """Resources: each operation that makes one is a node of its own."""
        with self._lock:
            graph = self.graph
            given = [_handle_node(t) if _is_handle(t) else t.in_graph(graph) for t in inputs]
            name = graph.unique_name(_node_name(op))
            node = graph.make_op(op.op_def, name, given, op.attrs, frames=op.frames)
        for output, made in zip(op.outputs, node.outputs, strict=True):
            output.handle_node = made  # type: ignore[attr-defined]


def _node_name(op: Operation) -> str:
    """The last part of an operation's name; its type where no node may have that name."""
    name = op.name.rpartition("/")[2]
    return name if _NODE_NAME.fullmatch(name) else op.op_def.type


def _handle_node(tensor: Any) -> Tensor:
    """What stands for a resource of eager code in the session's graph."""
    return tensor.handle_node  # type: ignore[no-any-return]


def _is_handle(tensor: Tensor) -> bool:
    return is_handle(tensor.dtype)


def _signature(tensor: Any) -> Any:
    if tensor.handle_node is not None:
        return tensor.handle_node
    return tensor.dtype, len(tensor.dims or ())


_runner: _Runner | None = None
_lock = threading.Lock()


def runner() -> _Runner:
    """The one runner, made when it is first needed."""
    global _runner
    with _lock:
        if _runner is None:
            _runner = _Runner()
    return _runner


def _kind_of(op: Operation, inputs: list[Tensor]) -> _Kind:
    return (_runner or runner()).kind(op, inputs)


def _make_handles(op: Operation, inputs: list[Tensor]) -> None:
    (_runner or runner()).make_handles(op, inputs)


def _free(shared_name: str) -> None:
    if _runner is not None:
        _runner.free(shared_name)


def _restart() -> None:
    if _runner is not None:
        _runner.forget_kinds()


def _compile(graph: Graph, fetches: Any, feeds: list[Tensor]) -> Callable[..., list[Any]]:
    session = Session(graph=graph, config=_config())
    return session.make_callable(fetches, feeds)


eager.register_runner(_kind_of, _make_handles, _free, _restart, _compile)
