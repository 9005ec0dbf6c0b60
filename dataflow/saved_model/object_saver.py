"""`tf.saved_model.save`: objects with their variables, functions, tables and files as a SavedModel.

The format is that of TensorFlow 2 and 1.15: their `load` makes the objects again, and their serving, and
`tf.saved_model.loader`, run the signatures. `dataflow.saved_model.object_loader` reads it back.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

import numpy as np

from dataflow import logging as log
from dataflow.formats.bundle_writer import write_bundle
from dataflow.formats.local_paths import local_path
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.variables import Variable
from dataflow.saved_model.object_graphs import MetaGraphWriter
from dataflow.saved_model.object_view import ObjectView
from dataflow.saved_model.signature_functions import signatures_of
from dataflow.train.object_graph import VARIABLE_VALUE, variable_key
from dataflow.train.object_restore import session_or_default
from dataflow.train.saveables import OBJECT_GRAPH_KEY
from dataflow.train.saved_models import (
    ASSETS_FOLDER,
    VARIABLES_FOLDER,
    VARIABLES_NAME,
    write_saved_model,
)


def save(obj: Any, export_dir: Any, signatures: Any = None) -> None:
    """Writes ``obj`` and all that its attributes hold to the folder ``export_dir``: `load_v2` makes them again.

    ``obj``: a `tf.Module`, a model of Keras, or another object that `tf.train.Checkpoint` saves. Its `tf.function`s are
    saved with the signatures that they were called with, or that their ``input_signature`` says; the code is not.
    ``signatures``: a function with an ``input_signature``, a concrete one, or a dictionary of these, for serving; by
    default the one function of ``obj`` that can be one. What optimizers keep for each variable (Adam's moments) is left
    out, with a warning: a `tf.train.Checkpoint` goes on with a training.

    Raises `ValueError` for another object or signature, `AssertionError` inside of a `tf.function`, and where a function
    uses a variable that is no part of ``obj``; `NotImplementedError` for parts that no SavedModel holds.
    """
    if default_graph().traces_function:
        raise AssertionError(
            "tf.saved_model.save is not supported inside a traced @tf.function. Move the call to the outer "
            "eagerly-executed context."
        )
    if not hasattr(type(obj), "checkpoint_parts"):
        raise ValueError(f"Expected a Trackable object for export, got {obj}.")
    view = ObjectView(obj, signatures_of(obj, signatures))
    _warn_of_slots(view)
    writer = MetaGraphWriter(view)
    meta = writer.write()
    folder = local_path(export_dir)
    os.makedirs(folder, exist_ok=True)
    _write_values(view, os.path.join(folder, VARIABLES_FOLDER))
    if writer.assets:
        assets = os.path.join(folder, ASSETS_FOLDER)
        os.makedirs(assets, exist_ok=True)
        for name, source in writer.assets.items():
            if not os.path.exists(target := os.path.join(assets, name)) or not os.path.samefile(
                source, target
            ):
                shutil.copyfile(source, target)
    write_saved_model(folder, [meta])


def _warn_of_slots(view: ObjectView) -> None:
    for value in view.nodes:
        names = value.get_slot_names() if hasattr(value, "get_slot_names") else []
        if names:
            log.warning(
                "tf.saved_model.save leaves out what %s keeps for each variable (%s): a loaded model predicts, but "
                "does not go on training from here. Save a tf.train.Checkpoint for that.",
                type(value).__name__,
                ", ".join(names),
            )


def _write_values(view: ObjectView, folder: str) -> None:
    """The checkpoint of the variables, with the graph of all objects: a loader finds each by its path."""
    from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

    graph = TrackableObjectGraph()
    variables: dict[str, Any] = {}
    for number, value in enumerate(view.nodes):
        node = graph.nodes.add()
        for name, child in view.children[number]:
            node.children.add(node_id=child, local_name=name)
        if isinstance(value, Variable):
            key = variable_key(view.paths[number])
            node.attributes.add(name=VARIABLE_VALUE, full_name=value.op.name, checkpoint_key=key)
            variables[key] = value
    if default_graph().executes_eagerly:
        arrays = {key: np.asarray(variable.numpy()) for key, variable in variables.items()}
    else:
        arrays = session_or_default(None).run(variables) if variables else {}
    arrays[OBJECT_GRAPH_KEY] = np.array(graph.SerializeToString(), object)
    os.makedirs(folder, exist_ok=True)
    write_bundle(os.path.join(folder, VARIABLES_NAME), arrays)
