"""What `Checkpoint.restore` returns: which objects a checkpoint has values for, and how they get them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from dataflow.formats.checkpoint_reader import CheckpointReader
from dataflow.graph.default_stacks import default_graph, default_session
from dataflow.ops.sources import constant
from dataflow.ops.trackable import part_to_restore, parts_of
from dataflow.ops.variables import Variable
from dataflow.providers import provided
from dataflow.train.object_graph import PYTHON_STATE, VARIABLE_VALUE, all_slots, objects_of
from dataflow.train.save_graph import restore_saveables
from dataflow.train.saveables import OBJECT_GRAPH_KEY, SaveableObject, variable_saveable

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


def session_or_default(session: BaseSession | None) -> Any:
    """``session``, the default session, or Keras's."""
    if session is None:
        session = default_session()
    if session is None:
        session = provided("keras_backend").get_session()
    return session


def stored_graph(reader: CheckpointReader) -> Any:
    """The message ``TrackableObjectGraph`` of a checkpoint of objects."""
    from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

    value = reader.get_tensor(OBJECT_GRAPH_KEY)
    return TrackableObjectGraph.FromString(value.item() if hasattr(value, "item") else value)


def keys_by_name(reader: CheckpointReader) -> dict[str, str]:
    """Name of a variable's node -> its key, of a checkpoint of objects."""
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in stored_graph(reader).nodes
        for attribute in node.attributes
        if attribute.name == VARIABLE_VALUE
    }


def restore_operation(prefix: str, reader: CheckpointReader, by_key: dict[str, Any]) -> Any:
    """An operation that gives the variables their values of the checkpoint; checked first."""
    reader.check({key: (v.shape.as_list(), v.dtype.base_dtype.name) for key, v in by_key.items()})
    graph = next(iter(by_key.values())).op.graph
    with graph.as_default(), graph.name_scope("restore"), graph.control_dependencies(None):
        saveables: list[SaveableObject] = [variable_saveable(v, key) for key, v in by_key.items()]
        return restore_saveables(constant(prefix), saveables, reshape=False, name="restore_all")


class LoadStatus:
    """The state of a restore: gives values, and says what did not fit."""

    def __init__(self, root: Any, prefix: str = "", reader: Any = None) -> None:
        self._root, self._prefix, self._reader = root, prefix, reader
        self._operation: tuple[Any, Any] | None = None
        #: With eager execution: the keys whose variables have values.
        self._assigned: set[str] = set()

    def _variables(self) -> list[Any]:
        objects = objects_of(self._root)
        found = [value for value, _ in objects.values() if isinstance(value, Variable)]
        return [*found, *(slot.variable for slot in all_slots(objects))]

    def _restored(self) -> dict[str, Any]:
        """The variables that get a value, by key in the checkpoint."""
        return {}

    def run_restore_ops(self, session: Any = None) -> None:
        """Gives the variables that the checkpoint has their values.

        Raises `InvalidArgumentError` where shapes or dtypes differ.
        """
        by_key = self._restored()
        if not by_key:
            return
        graph = next(iter(by_key.values())).op.graph
        if graph.executes_eagerly:
            with graph.as_default():
                self._assign(by_key)
            return
        wanted = {key: id(v) for key, v in by_key.items()}
        if self._operation is None or self._operation[0] != wanted:
            operation = restore_operation(self._prefix, self._reader, by_key)
            self._operation = (wanted, operation)
        session_or_default(session).run(self._operation[1])

    def _assign(self, by_key: dict[str, Any]) -> None:
        """With eager execution: gives variables that had none yet their values of the checkpoint."""
        new = {key: v for key, v in by_key.items() if key not in self._assigned}
        self._reader.check(
            {key: (v.shape.as_list(), v.dtype.base_dtype.name) for key, v in new.items()}
        )
        for key, variable in new.items():
            variable.assign(self._reader.get_tensor(key))
        self._assigned.update(new)

    def initialize_or_restore(self, session: Any = None) -> None:
        """As `run_restore_ops`; variables that the checkpoint does not have are initialized."""
        if default_graph().executes_eagerly:  # where variables have values from their beginning
            self.run_restore_ops()
            return
        session = session_or_default(session)
        restored = {id(v) for v in self._restored().values()}
        others = [v.initializer for v in self._variables() if id(v) not in restored]
        session.run(others)
        self.run_restore_ops(session)

    def assert_weights(self, weights: list[Any]) -> None:
        """Raises `AssertionError` where the checkpoint has not all of these variables."""
        found = {id(v) for v in self._restored().values()}
        missing = [v.op.name for v in weights if id(v) not in found]
        if missing:
            raise AssertionError(
                f"{self._prefix} holds no value for {', '.join(missing[:5])}: it is of another model."
            )

    def expect_partial(self) -> LoadStatus:
        """Says that program and checkpoint may differ; returns the status."""
        return self

    def _refuse(self, what: str) -> NoReturn:
        raise AssertionError(what)

    def assert_consumed(self) -> LoadStatus:
        """Raises `AssertionError` where the checkpoint or the program has more than the other."""
        self._refuse("No checkpoint specified (save_path=None); nothing is being restored.")

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Raises `AssertionError` where a variable of the program is not in the checkpoint."""
        return self.assert_consumed()

    def assert_nontrivial_match(self) -> LoadStatus:
        """Raises `AssertionError` where nothing but the root was found in the checkpoint."""
        return self.assert_consumed()


class InitializationOnlyStatus(LoadStatus):
    """Of ``restore(None)``: there is nothing to restore, so all is initialized."""

    def run_restore_ops(self, session: BaseSession | None = None) -> None:
        """Raises `AssertionError`: there is nothing to restore."""
        self._refuse("No checkpoint specified, so no restore ops are available (save_path=None).")

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initializes all variables; with eager execution they are."""
        if default_graph().executes_eagerly:
            return
        session_or_default(session).run([v.initializer for v in self._variables()])


class NameBasedSaverStatus(LoadStatus):
    """Of a checkpoint that `tf.train.Saver` wrote: variables are found by the names of their nodes."""

    def _restored(self) -> dict[str, Any]:
        counter: Any = getattr(self._root, "save_counter", None)
        return {
            v.op.name: v
            for v in self._variables()
            if v is not counter or self._reader.has_tensor(v.op.name)
        }

    def assert_consumed(self) -> LoadStatus:
        """Raises `AssertionError`: a checkpoint of names says nothing of objects."""
        self._refuse(
            "Restoring a name-based checkpoint. No load status is available; call "
            "run_restore_ops or initialize_or_restore."
        )

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Raises `AssertionError` where a variable of the program is not in the checkpoint."""
        for name in self._restored():
            if not self._reader.has_tensor(name):
                raise AssertionError(f"Object not assigned a value from checkpoint: {name}")
        return self


class CheckpointLoadStatus(LoadStatus):
    """Of a checkpoint of objects: objects of the program beside those of the file."""

    def __init__(self, root: Any, prefix: str, reader: CheckpointReader) -> None:
        super().__init__(root, prefix, reader)
        self._graph = stored_graph(reader)

    def _matched(self) -> dict[int, Any]:
        """Number of a node in the file -> object of the program."""
        nodes = self._graph.nodes
        found: dict[int, Any] = {0: self._root}
        waiting = [0]
        while waiting:
            number = waiting.pop(0)
            parts = dict(parts_of(found[number]))
            for child in nodes[number].children:
                part = part_to_restore(found[number], child.local_name, parts)
                if part is not None and child.node_id not in found:
                    found[child.node_id] = part
                    waiting.append(child.node_id)
        for number, value in list(found.items()):
            for slot in nodes[number].slot_variables:
                of = found.get(slot.original_variable_node_id)
                variable = None if of is None else value.get_slot(of, slot.slot_name)
                if variable is not None:
                    found[slot.slot_variable_node_id] = variable
        return found

    def restore_states(self) -> None:
        """Gives the states of Python's that are there what the checkpoint has for them."""
        for number, value in self._matched().items():
            for attribute in self._graph.nodes[number].attributes:
                key = attribute.checkpoint_key
                if attribute.name == PYTHON_STATE and key not in self._assigned:
                    text = self._reader.get_tensor(key)
                    value.deserialize(text.item() if hasattr(text, "item") else text)
                    self._assigned.add(key)

    def restore_now(self) -> bool:
        """With eager execution: gives the variables that are there values; whether that was all."""
        self.run_restore_ops()
        self.restore_states()
        keys = [a.checkpoint_key for node in self._graph.nodes for a in node.attributes]
        return all(key in self._assigned for key in keys)

    def _restored(self) -> dict[str, Any]:
        return {
            attribute.checkpoint_key: value
            for number, value in self._matched().items()
            for attribute in self._graph.nodes[number].attributes
            if attribute.name == VARIABLE_VALUE and isinstance(value, Variable)
        }

    def assert_consumed(self) -> LoadStatus:
        """Raises `AssertionError` where the checkpoint or the program has more than the other."""
        matched = self._matched()
        for number, node in enumerate(self._graph.nodes):
            if number not in matched and node.attributes:
                name = node.attributes[0].full_name or node.attributes[0].checkpoint_key
                raise AssertionError(
                    f"Unresolved object in checkpoint (root) {node.attributes[0].checkpoint_key}: "
                    f"{name}. The program has no such object; call expect_partial() where it need not."
                )
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Raises `AssertionError` where a variable of the program is not in the checkpoint."""
        found = {id(v) for v in self._matched().values()}
        for variable in self._variables():
            if id(variable) not in found and variable.op.graph is default_graph():
                raise AssertionError(
                    f"Object not assigned a value from checkpoint: {variable!r} is not in "
                    f"{self._prefix}."
                )
        return self

    def assert_nontrivial_match(self) -> LoadStatus:
        """Raises `AssertionError` where nothing but the root was found in the checkpoint."""
        counter = getattr(self._root, "save_counter", None)
        if not any(v is not self._root and v is not counter for v in self._matched().values()):
            raise AssertionError("Nothing except the root object matched a checkpointed value.")
        return self
