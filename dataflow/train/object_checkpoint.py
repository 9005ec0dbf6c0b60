"""`Checkpoint`: objects with their variables to a file and back, by their place in the program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import NotFoundError
from dataflow.formats.bundle_writer import write_bundle
from dataflow.formats.checkpoint_reader import CheckpointReader
from dataflow.formats.local_paths import local_path
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import when_variables_are_made
from dataflow.ops.trackable import AutoTrackable, is_trackable
from dataflow.ops.variables import Variable
from dataflow.train.checkpoint_management import checkpoint_exists, update_checkpoint_state
from dataflow.train.object_graph import described, states_of
from dataflow.train.object_restore import (
    CheckpointLoadStatus,
    InitializationOnlyStatus,
    LoadStatus,
    NameBasedSaverStatus,
    session_or_default,
)
from dataflow.train.saveables import OBJECT_GRAPH_KEY

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


class Checkpoint(AutoTrackable):
    """Saves and restores what is given by keyword: models, layers, optimizers, variables.

    A variable is found again by its path (``model/layer-0/kernel``) and not by the name of its node,
    so a program may be changed, or the variables be made after `restore`. Files have TensorFlow's
    own format (V2): TensorFlow 1.15 reads them, and its files are read here.

    Raises `ValueError` for what has no variables to save: anything but variables, layers and models
    of ``tf.keras`` and ``tf.layers``, optimizers, `tf.Module`, templates, other checkpoints, and lists
    and dicts of these.
    """

    def __init__(self, **kwargs: Any) -> None:
        for name in sorted(kwargs):
            if not is_trackable(kwargs[name]):
                raise ValueError(
                    f"`Checkpoint` was expecting a trackable object (an object derived from "
                    f"`TrackableBase`), got {name}={kwargs[name]!r}. Needed is a variable, a layer or "
                    "model, an optimizer, a tf.Module, or a list or dict of these; where an iterator "
                    "or a table stands is not saved."
                )
            setattr(self, name, kwargs[name])
        self._count: Any = None

    @property
    def save_counter(self) -> Any:
        """How many times `save` was called: an int64 variable, which is saved and restored."""
        if "save_counter" not in vars(self):  # a part like any other, found among the attributes
            with default_graph().device("/cpu:0"):
                vars(self)["save_counter"] = Variable(
                    0, trainable=False, name="save_counter", dtype="int64"
                )
        return vars(self)["save_counter"]

    def write(self, file_prefix: Any, session: BaseSession | None = None) -> str:
        """Writes a checkpoint ``file_prefix`` as it is, unnumbered; returns the prefix.

        Raises `FailedPreconditionError` for a variable without a value.
        """
        return write_objects(self, file_prefix, session)

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Writes a checkpoint ``<file_prefix>-<number>``, and names it in the file ``checkpoint``.

        ``session``: by default the default session. Returns the whole prefix, for `restore`.
        """
        text = os.fsdecode(file_prefix)
        if default_graph().executes_eagerly:
            path = self.write(f"{text}-{int(self.save_counter.assign_add(1).numpy())}")
        else:
            session = session_or_default(session)
            if "save_counter" not in vars(self):
                session.run(self.save_counter.initializer)
            if self._count is None:
                self._count = self.save_counter.assign_add(1)
            path = self.write(f"{text}-{int(session.run(self._count))}", session)
        update_checkpoint_state(
            os.path.dirname(local_path(text)), path, [path], save_relative_paths=True
        )
        return path

    def restore(self, save_path: Any) -> LoadStatus:
        """Finds what the checkpoint ``save_path`` holds; the status returned then gives the values.

        With eager execution variables get their values now, and those that are made later (by a
        layer's first call) when they are made. In graph mode nothing runs yet: ``status.run_restore_ops(session)``, or
        ``status.initialize_or_restore(session)``, which initializes variables that the checkpoint
        does not have. Variables made between `restore` and those calls are restored too.
        ``status.assert_consumed()`` raises `AssertionError` where program and checkpoint differ.
        ``None`` for ``save_path`` gives a status that only initializes. Checkpoints of
        `tf.train.Saver` are restored by the names of the variables.

        Raises `NotFoundError` where there is no such checkpoint.
        """
        _ = self.save_counter  # made now, so that it is initialized with the others
        return restore_objects(self, save_path)


def write_objects(root: Any, file_prefix: Any, session: Any = None) -> str:
    """Writes what is under ``root`` as a checkpoint of objects; returns the prefix."""
    graph, by_key = described(root)
    if default_graph().executes_eagerly:
        arrays = {key: variable.numpy() for key, variable in by_key.items()}
    else:
        values = session_or_default(session).run(list(by_key.values()))
        arrays = dict(zip(by_key, values, strict=True))
    texts = {key: state.serialize() for key, state in states_of(root).items()}
    texts[OBJECT_GRAPH_KEY] = graph.SerializeToString()
    for key, text in texts.items():
        # As an object: NumPy's own bytes lose zeros at their end.
        arrays[key] = np.array(text.encode() if isinstance(text, str) else text, object)
    prefix = os.fsdecode(file_prefix)
    folder = os.path.dirname(local_path(prefix))
    if folder:
        os.makedirs(folder, exist_ok=True)
    write_bundle(prefix, arrays)
    return prefix


def restore_objects(root: Any, save_path: Any) -> LoadStatus:
    """What the checkpoint ``save_path`` has for ``root``; see `Checkpoint.restore`."""
    if save_path is None:
        return InitializationOnlyStatus(root)
    prefix = local_path(save_path)
    if not checkpoint_exists(prefix):
        raise NotFoundError(
            message=f"Unsuccessful restore: {prefix}: there is no checkpoint of this name."
        )
    reader = CheckpointReader(prefix)
    if not reader.has_tensor(OBJECT_GRAPH_KEY):
        named = NameBasedSaverStatus(root, prefix, reader)
        if default_graph().executes_eagerly:
            named.run_restore_ops()
        return named
    status = CheckpointLoadStatus(root, prefix, reader)
    status.restore_states()
    if default_graph().executes_eagerly and not status.restore_now():
        when_variables_are_made(status.restore_now, root)
    return status
