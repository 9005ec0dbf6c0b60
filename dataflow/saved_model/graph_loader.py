"""`tf.saved_model.load_v2` of a SavedModel of graphs, as TensorFlow 1 exports it: its signatures as functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.functions.wrapped import WrappedFunction, wrap_function
from dataflow.graph.graph import Graph
from dataflow.graph.import_graph import import_graph_def
from dataflow.graph.tensor_proto import array_to_proto
from dataflow.ops.trackable import AutoTrackable
from dataflow.providers import provided
from dataflow.runtime.session import Session
from dataflow.saved_model.object_view import SignatureMap
from dataflow.train.saved_model_loader import SavedModelLoader, get_asset_tensors, initializer_of
from dataflow.train.saved_models import INIT_OP_SIGNATURE_KEY


def load_graphs(export_dir: str, tags: Any) -> AutoTrackable:
    """An object with the ``signatures`` of the graph with these tags, its ``graph``, and ``prune(feeds, fetches)``.

    Values of variables are constants; its tables are filled. Raises `RuntimeError` where no graph has these tags, and
    `NotImplementedError` for a signature of sparse tensors.
    """
    loader = SavedModelLoader(export_dir)
    meta = loader.get_meta_graph_def_from_tags(tags)
    signatures = {k: s for k, s in meta.signature_def.items() if k != INIT_OP_SIGNATURE_KEY}
    assets = get_asset_tensors(loader.export_dir, meta)
    with Graph().as_default() as graph, Session(graph=graph) as session:
        loader.load(session, tags)
        initializer = initializer_of(meta, "", graph)
        ends = dict.fromkeys(_node_of(i, k) for k, s in signatures.items() for i in _infos(s))
        if initializer is not None:
            ends[initializer.name] = None
        freeze = provided("convert_variables_to_constants")
        frozen = freeze(session, graph.as_graph_def(), list(ends))
    for node in frozen.node:  # the model's own files are where it lies now
        path = assets.get(f"{node.name}:0")
        if path is not None:
            node.attr["value"].tensor.CopyFrom(array_to_proto(np.array(path.encode(), object)))
    whole = wrap_function(lambda: import_graph_def(frozen, name=""), [])
    if initializer is not None:
        whole.prune([], whole.graph.get_operation_by_name(initializer.name))()
    root = AutoTrackable()
    root.graph, root.prune, root.variables = whole.graph, whole.prune, []
    root.tensorflow_version = meta.meta_info_def.tensorflow_version
    root.signatures = SignatureMap({k: _function(whole, s) for k, s in signatures.items()})
    return root


def _infos(signature: Any) -> list[Any]:
    return [*signature.inputs.values(), *signature.outputs.values()]


def _node_of(info: Any, key: str) -> str:
    if not info.name:
        raise NotImplementedError(
            f"tf.saved_model.load_v2: the signature {key!r} has a sparse tensor. Load the SavedModel with "
            "tf.saved_model.loader.load(session, tags, folder)."
        )
    return str(info.name.partition(":")[0])


def _function(whole: WrappedFunction, signature: Any) -> WrappedFunction:
    """The function of a signature: of tensors by their names, or of the only one, to a dictionary."""
    names = sorted(signature.inputs)
    inputs = [whole.graph.get_tensor_by_name(signature.inputs[n].name) for n in names]
    outputs = {n: whole.graph.get_tensor_by_name(i.name) for n, i in signature.outputs.items()}
    made = WrappedFunction(whole.graph, inputs, names, outputs, [])
    made.takes_names_only = len(names) != 1
    return made
