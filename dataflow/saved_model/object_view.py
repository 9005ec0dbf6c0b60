"""What a SavedModel of objects holds: objects below the root, their functions, and which is part of which."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterator
from typing import Any

from dataflow.functions.concrete import ConcreteFunction, trace
from dataflow.functions.traced import Function
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.lookup_tables import MutableHashTable, StaticHashTable, Table
from dataflow.ops.sources import constant
from dataflow.ops.trackable import parts_of
from dataflow.ops.variables import Variable
from dataflow.saved_model.assets import TrackableAsset
from dataflow.train.object_graph import escaped

#: Attributes in which methods under `tf.function` keep themselves for an object.
_OF_METHODS = "_traced_"


class SignatureMap(dict[str, Any]):
    """The signatures of a SavedModel by name: functions of named tensors that return a dictionary."""


class ObjectView:
    """All that a SavedModel holds of ``root``, nearest first, numbered in that order.

    ``nodes`` are the objects, ``children`` of each the names and numbers of its parts, ``paths`` where each is found.
    """

    def __init__(self, root: Any, signatures: SignatureMap) -> None:
        self.nodes: list[Any] = []
        self.children: list[list[tuple[str, int]]] = []
        self.paths: list[str] = []
        self._numbers: dict[int, int] = {}
        self._add(root, "")
        waiting = deque([root])
        while waiting:
            value = waiting.popleft()
            number = self.number(value)
            found = dict(_parts(value))
            if value is root:
                found["signatures"] = signatures
            for name, part in found.items():
                if id(part) not in self._numbers:
                    above = self.paths[number]
                    self._add(part, f"{above}/{escaped(name)}" if above else escaped(name))
                    waiting.append(part)
                self.children[number].append((name, self.number(part)))

    def _add(self, value: Any, path: str) -> None:
        self._numbers[id(value)] = len(self.nodes)
        self.nodes.append(value)
        self.children.append([])
        self.paths.append(path)

    def number(self, value: Any) -> int:
        """The number of an object that is there."""
        return self._numbers[id(value)]

    def of_kind(self, kind: Any) -> Iterator[tuple[int, Any]]:
        """The numbers and objects of a class."""
        return ((i, value) for i, value in enumerate(self.nodes) if isinstance(value, kind))


class SavedTable:
    """A table that a SavedModel makes again: the op of its handle, and the function that fills it."""

    def __init__(self, handle: Any, initialize: Any) -> None:
        self.handle, self.initialize = handle, initialize

    def functions(self) -> dict[str, ConcreteFunction]:
        """What TensorFlow's loader calls to make it: functions without arguments."""
        op = self.handle.op

        def create() -> Any:
            graph = default_graph()
            name = graph.unique_name(op.op_def.type)
            return graph.make_op(op.op_def, name, [], op.attrs).outputs[0]

        def initialize() -> Any:
            self.initialize()
            return constant(1)

        made = {
            "_create_resource": create,
            "_initialize": initialize,
            "_destroy_resource": lambda: constant(1),
        }
        return {
            name: trace(body, name.strip("_"), (), {}, (), autograph=False)
            for name, body in made.items()
        }


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The names and objects below an object."""
    if isinstance(value, (Variable, Function, ConcreteFunction, TrackableAsset)):
        return
    if isinstance(value, dict):
        yield from ((k, v) for k, v in value.items() if _is_saved(v))
    elif isinstance(value, (list, tuple)):
        yield from ((str(i), item) for i, item in enumerate(value) if _is_saved(item))
    elif isinstance(value, Table):
        yield from _parts_of_table(value)
    elif hasattr(value, "saved_table"):
        yield from value.saved_table().functions().items()
    else:
        yield from parts_of(value)
        for name, part in list(getattr(value, "__dict__", {}).items()):
            if not name.startswith(_OF_METHODS) and _only_here(part):
                yield name, part
        yield from functions_of(value).items()


def functions_of(value: Any) -> dict[str, Any]:
    """The functions of an object: those among its attributes, and those that its class says (Keras's models)."""
    named = getattr(value, "functions_to_save", None)
    found: dict[str, Any] = dict(named()) if callable(named) else {}
    for name in dir(value):
        if name.startswith(_OF_METHODS):
            continue
        static = inspect.getattr_static(value, name, None)
        if isinstance(static, (Function, ConcreteFunction)):
            found[name] = getattr(value, name)
    return found


def _is_saved(value: Any) -> bool:
    return (
        hasattr(type(value), "checkpoint_parts")
        or isinstance(value, (Variable, Function, ConcreteFunction, Table))
        or (isinstance(value, (list, dict)) and _only_trackable(value))
    )


def _only_here(value: Any) -> bool:
    """Whether an attribute's value is saved here though no checkpoint of objects has it."""
    if isinstance(value, (list, dict)):
        return _only_trackable(value)
    return isinstance(value, Table) or hasattr(type(value), "saved_table")


def _only_trackable(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        return False
    return all(map(_is_saved, items))


def _parts_of_table(table: Table) -> Iterator[tuple[str, Any]]:
    if isinstance(table, MutableHashTable):
        raise NotImplementedError(
            f"tf.saved_model.save: {table.name!r} is a table that the program changes, whose keys and values this "
            "SavedModel would not hold. Make a tf.lookup.StaticHashTable of what table.export() gives."
        )
    if not isinstance(table, StaticHashTable):
        raise NotImplementedError(
            f"tf.saved_model.save: no SavedModel here holds tables of class {type(table).__name__}."
        )
    source = table.source
    filename = getattr(source, "filename", None)
    if filename is None:
        yield from (
            SavedTable(table.resource_handle, lambda: source.initialize(table)).functions().items()
        )
        return
    asset = TrackableAsset(filename)
    yield "_filename", asset

    def initialize() -> None:
        path = convert_to_tensor(asset.asset_path)
        source.initialize(table, path)

    yield from SavedTable(table.resource_handle, initialize).functions().items()
