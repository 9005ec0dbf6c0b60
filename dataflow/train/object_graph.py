"""The objects that a checkpoint of objects holds: which parts an object has, and under which names.

An object is found again by its path from the root (``model/layer-0/kernel``), not by the name of a
node. The names of the parts are TensorFlow's, so either reads what the other wrote.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from dataflow.ops.partitioned_variable import PartitionedVariable
from dataflow.ops.trackable import PythonState, parts_of
from dataflow.ops.variables import Variable

VARIABLE_VALUE = "VARIABLE_VALUE"
#: The name, in the file, of what a `PythonState` gave.
PYTHON_STATE = "py_state"


class Slot(NamedTuple):
    """A variable that an optimizer keeps for another one, such as its momentum."""

    optimizer: Any
    of: Any
    name: str
    variable: Any


def objects_of(root: Any) -> dict[int, tuple[Any, str]]:
    """All objects under ``root``, nearest first: id -> (object, path with escaped names)."""
    paths: dict[int, tuple[Any, str]] = {id(root): (root, "")}
    waiting = deque([root])
    while waiting:
        value = waiting.popleft()
        path = paths[id(value)][1]
        for name, part in parts_of(value):
            if isinstance(part, PartitionedVariable):
                raise NotImplementedError(
                    f"Checkpoint: {name!r} is a variable in parts ({part.name}), which checkpoints "
                    "of objects do not hold; save it with tf.train.Saver."
                )
            if id(part) not in paths:
                paths[id(part)] = (part, f"{path}/{escaped(name)}" if path else escaped(name))
                waiting.append(part)
    return paths


def escaped(name: str) -> str:
    """A part's name within a path: slashes as ``.S``, periods doubled."""
    return name.replace(".", "..").replace("/", ".S")


def _attribute_key(path: str, name: str) -> str:
    """The name in the checkpoint of what the object at ``path`` keeps under a name."""
    return f"{path}/.ATTRIBUTES/{name}"


def variable_key(path: str) -> str:
    """The name in the checkpoint of the variable at ``path``."""
    return _attribute_key(path, VARIABLE_VALUE)


def states_of(root: Any) -> dict[str, PythonState]:
    """The states of Python's under ``root``, by key."""
    return {
        _attribute_key(path, PYTHON_STATE): value
        for value, path in objects_of(root).values()
        if isinstance(value, PythonState)
    }


def list_objects(root: Any) -> list[Any]:
    """All objects under ``root`` that a checkpoint holds, nearest first, then slots of optimizers."""
    objects = objects_of(root)
    return [*(value for value, _ in objects.values()), *(s.variable for s in all_slots(objects))]


def slots_of(optimizer: Any, variables: list[Any]) -> list[Slot]:
    """The slots that an optimizer keeps for these variables."""
    return [
        Slot(optimizer, variable, name, slot)
        for name in optimizer.get_slot_names()
        for variable in variables
        if isinstance(slot := optimizer.get_slot(variable, name), Variable)
    ]


def all_slots(objects: dict[int, tuple[Any, str]]) -> list[Slot]:
    """The slots of all optimizers among the objects."""
    values = [value for value, _ in objects.values()]
    variables = [v for v in values if isinstance(v, Variable)]
    optimizers = [v for v in values if hasattr(v, "get_slot_names")]
    return [slot for optimizer in optimizers for slot in slots_of(optimizer, variables)]


def described(root: Any) -> tuple[Any, dict[str, Any]]:
    """The message ``TrackableObjectGraph`` of what is under ``root``, and its variables by key."""
    from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

    objects = objects_of(root)
    numbers = {key: i for i, key in enumerate(objects)}
    graph, by_key = TrackableObjectGraph(), {}

    def add(value: Any, path: str) -> Any:
        node = graph.nodes.add()
        if isinstance(value, Variable):
            key = variable_key(path)
            node.attributes.add(name=VARIABLE_VALUE, full_name=value.op.name, checkpoint_key=key)
            by_key[key] = value
        if isinstance(value, PythonState):
            key = _attribute_key(path, PYTHON_STATE)
            node.attributes.add(name=PYTHON_STATE, full_name=PYTHON_STATE, checkpoint_key=key)
        return node

    for value, path in objects.values():
        node = add(value, path)
        for name, part in parts_of(value):
            node.children.add(node_id=numbers[id(part)], local_name=name)
    for slot in all_slots(objects):
        path = objects[id(slot.optimizer)][1]
        of = objects[id(slot.of)][1]
        if id(slot.variable) not in numbers:
            numbers[id(slot.variable)] = len(graph.nodes)
            add(slot.variable, f"{of}/.OPTIMIZER_SLOT/{path}/{escaped(slot.name)}")
        graph.nodes[numbers[id(slot.optimizer)]].slot_variables.add(
            original_variable_node_id=numbers[id(slot.of)],
            slot_name=slot.name,
            slot_variable_node_id=numbers[id(slot.variable)],
        )
    return graph, by_key
