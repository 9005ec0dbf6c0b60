"""``from tensorflow.python.tools import freeze_graph``: a graph file and a checkpoint as one file."""

from __future__ import annotations

import os
from typing import Any


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None = None,
    filename_tensor_name: str | None = None,
    output_graph: str = "",
    clear_devices: bool = True,
    initializer_nodes: str = "",
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: Any = None,
    saved_model_tags: Any = None,
    checkpoint_version: int = 2,
) -> Any:
    """The GraphDef with each variable's value in ``input_checkpoint`` as a constant.

    ``output_node_names`` and the lists of variables are names with commas between them. The graph is
    ``input_graph_def``, else that of ``input_meta_graph_def``, or the one of a SavedModel with
    ``saved_model_tags`` (a list), whose variables take the place of a checkpoint. ``checkpoint_version`` says
    nothing here: both formats are read. Where ``output_graph`` is given, the GraphDef is written there, too.
    Raises `ValueError` where there is no such checkpoint or no output is named, and for partitioned variables of
    a checkpoint; `AssertionError` for a name that is not in the graph.
    """
    from dataflow.graph.graph import Graph
    from dataflow.graph.import_graph import import_graph_def
    from dataflow.graph_util import convert_variables_to_constants
    from dataflow.runtime.session import Session
    from dataflow.train.checkpoint_management import checkpoint_exists
    from dataflow.train.saved_model_loader import load

    if not input_saved_model_dir and not checkpoint_exists(input_checkpoint):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    if not output_node_names.replace(" ", ""):
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    if input_meta_graph_def is not None and input_graph_def is None:
        input_graph_def = input_meta_graph_def.graph_def
        input_saver_def = input_saver_def or input_meta_graph_def.saver_def
    with Graph().as_default() as graph, Session(graph=graph) as session:
        if input_saved_model_dir:
            graph_def = load(session, saved_model_tags, input_saved_model_dir).graph_def
        else:
            graph_def = type(input_graph_def)()
            graph_def.CopyFrom(input_graph_def)
            _clear_devices(graph_def, clear_devices)
            import_graph_def(graph_def, name="")
            _restore(session, input_saver_def, input_checkpoint)
        _clear_devices(graph_def, clear_devices)
        for name in _names(initializer_nodes):
            session.run(graph.get_operation_by_name(name))
        result = convert_variables_to_constants(
            session,
            graph_def,
            _names(output_node_names),
            _names(variable_names_whitelist) or None,
            _names(variable_names_blacklist) or None,
        )
    if output_graph:
        with open(output_graph, "wb") as file:
            file.write(result.SerializeToString())
    return result


def freeze_graph(
    input_graph: str,
    input_saver: str,
    input_binary: bool,
    input_checkpoint: str,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """`freeze_graph_with_def_protos` of files: a GraphDef, or the graph of ``input_meta_graph``, or a SavedModel.

    ``saved_model_tags`` are tags with commas between them. Raises `ValueError` where a file is absent.
    """
    from dataflow.core.framework import graph_pb2
    from dataflow.core.protobuf import meta_graph_pb2, saver_pb2

    saver_def = graph_def = None
    if input_saved_model_dir:
        pass  # the graph is in its folder
    elif input_meta_graph:
        meta_graph = _read(input_meta_graph, meta_graph_pb2.MetaGraphDef(), input_binary)
        graph_def, saver_def = meta_graph.graph_def, meta_graph.saver_def
    else:
        graph_def = _read(input_graph, graph_pb2.GraphDef(), input_binary)
    if input_saver:
        saver_def = _read(input_saver, saver_pb2.SaverDef(), input_binary)
    return freeze_graph_with_def_protos(
        graph_def,
        saver_def,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_blacklist,
        None,
        input_saved_model_dir,
        saved_model_tags.replace(" ", "").split(","),
        checkpoint_version,
    )


def _clear_devices(graph_def: Any, are_cleared: bool) -> None:
    if are_cleared:
        for node in graph_def.node:
            node.device = ""


def _restore(session: Any, saver_def: Any, checkpoint: str) -> None:
    """Gives the session's variables their values of the checkpoint, by its own saver where there is one."""
    from dataflow.train.saver import Saver

    if saver_def:
        Saver(saver_def=saver_def).restore(session, checkpoint)
    else:
        Saver(_saved_variables(session.graph, checkpoint)).restore(session, checkpoint)


def _names(text: str) -> list[str]:
    return [name for name in text.replace(" ", "").split(",") if name]


def _saved_variables(graph: Any, checkpoint: str) -> dict[str, Any]:
    """The checkpoint's names and the tensors of the graph's variables that they are the values of.

    Raises `ValueError` for a variable that the graph has in parts.
    """
    from dataflow.formats.checkpoint_reader import NewCheckpointReader
    from dataflow.graph.registry import all_ops

    found = {}
    for name in NewCheckpointReader(checkpoint).get_variable_to_shape_map():
        try:
            tensor = graph.get_tensor_by_name(f"{name}:0")
        except KeyError:
            continue  # a variable of the training, which the graph need not have
        if all_ops()[tensor.op.type].is_variable:
            found[name] = tensor
            continue
        raise ValueError(
            f"The graph has the variable {name!r} of the checkpoint in parts: models with partitioned variables "
            "cannot be frozen from a checkpoint alone. Give a meta graph, or a SavedModel by "
            "input_saved_model_dir."
        )
    return found


def _read(path: str, message: Any, is_binary: bool) -> Any:
    from google.protobuf import text_format

    if not os.path.isfile(path):
        raise ValueError(f"Input graph file '{path}' does not exist!")
    if is_binary:
        with open(path, "rb") as file:
            message.ParseFromString(file.read())
        return message
    with open(path, encoding="utf-8") as file:
        return text_format.Parse(file.read(), message)
