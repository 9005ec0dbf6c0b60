"""A graph with its collections as TensorFlow's ``MetaGraphDef``: the files ``*.meta``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.formats.atomic_files import write_atomically
from dataflow.formats.local_paths import local_path
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.import_graph import import_graph_def
from dataflow.graph.op_signature import normalize_attr
from dataflow.graph.registry import get_op
from dataflow.graph.serialize import set_attr
from dataflow.ops.control_flow_defs import COLLECTIONS as CONTEXT_COLLECTIONS
from dataflow.ops.variables import Variable

#: Collections whose items are variables, written as ``VariableDef``.
_VARIABLE_KEYS = frozenset(
    {
        GraphKeys.GLOBAL_VARIABLES,
        GraphKeys.LOCAL_VARIABLES,
        GraphKeys.METRIC_VARIABLES,
        GraphKeys.MODEL_VARIABLES,
        GraphKeys.TRAINABLE_VARIABLES,
        GraphKeys.MOVING_AVERAGE_VARIABLES,
        GraphKeys.GLOBAL_STEP,
        GraphKeys.EVAL_STEP,
    }
)


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Any = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """The graph with its collections as a ``MetaGraphDef``, written to ``filename`` where given.

    ``collection_list`` names the collections to take, by default all. ``export_scope`` takes the
    nodes of one scope only, with names relative to it. Items of collections that cannot be written
    (Python objects) are left out.
    """
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    graph = graph or default_graph()
    meta = MetaGraphDef()
    if meta_info_def is not None:
        meta.meta_info_def.MergeFrom(meta_info_def)
    meta.meta_info_def.tensorflow_version = "1.15.0"
    if graph_def is None:
        graph_def = graph.as_graph_def(add_shapes=True)
        if export_scope:
            graph_def = _scoped(graph_def, export_scope)
    meta.graph_def.MergeFrom(graph_def)
    if strip_default_attrs:
        _strip_default_attrs(meta.graph_def)
        meta.meta_info_def.stripped_default_attrs = True
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    meta.meta_info_def.stripped_op_list.SetInParent()
    if saver_def is not None:
        meta.saver_def.MergeFrom(saver_def)
    keys = graph.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        if isinstance(key, str):
            _write_collection(meta, key, graph.get_collection(key), export_scope)
    if filename:
        if as_text:
            from google.protobuf import text_format

            data = text_format.MessageToString(meta).encode()
        else:
            data = meta.SerializeToString()
        path = local_path(filename)
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        write_atomically(path, data)
    return meta


def _strip_default_attrs(graph_def: Any) -> None:
    """Takes out the attributes that have their default, so that older readers need not know them."""
    for node in graph_def.node:
        try:
            specs = get_op(node.op).attrs
        except KeyError:  # an op that only its producer knows
            continue
        for spec in specs:
            if spec.name in node.attr and not spec.required:
                default = type(node.attr[spec.name])()
                set_attr(default, normalize_attr(spec.kind, spec.default), spec.kind)
                if node.attr[spec.name] == default:
                    del node.attr[spec.name]


def _scoped(graph_def: Any, scope: str) -> Any:
    """The nodes below ``scope``, renamed; inputs from outside become unbound placeholders' names."""
    prefix = scope.rstrip("/") + "/"
    result = type(graph_def)()
    result.versions.CopyFrom(graph_def.versions)
    for node in graph_def.node:
        if not node.name.startswith(prefix):
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        copy.name = node.name[len(prefix) :]
        del copy.input[:]
        for reference in node.input:
            control = "^" if reference.startswith("^") else ""
            bare = reference[len(control) :]
            if bare.startswith(prefix):
                copy.input.append(control + bare[len(prefix) :])
            elif not control:
                raise ValueError(
                    f"export_scope={scope!r}: node {node.name!r} reads {bare!r}, which is outside "
                    "of the scope. Export the whole graph, or build inputs inside the scope."
                )
        groups = [
            b"loc:@" + g[5 + len(prefix) :]
            for g in node.attr["_class"].list.s
            if g.startswith(b"loc:@" + prefix.encode())
        ]
        if "_class" in copy.attr:
            del copy.attr["_class"]
        if groups:
            copy.attr["_class"].list.s.extend(groups)
    return result


def _write_collection(meta: Any, key: str, items: list[Any], scope: str | None) -> None:
    if not items:
        return
    target = meta.collection_def[key]
    try:
        if key in _VARIABLE_KEYS or all(hasattr(i, "to_proto") for i in items):
            if key in _VARIABLE_KEYS or key in _registered():
                protos = [i.to_proto(export_scope=scope) for i in items if hasattr(i, "to_proto")]
                target.bytes_list.value.extend(
                    p.SerializeToString() for p in protos if p is not None
                )
                return
        if all(isinstance(i, (str, bytes)) for i in items):
            values = [i.encode() if isinstance(i, str) else i for i in items]
            target.bytes_list.value.extend(values)
        elif all(isinstance(i, int) and not isinstance(i, bool) for i in items):
            target.int64_list.value.extend(items)
        elif all(isinstance(i, float) for i in items):
            target.float_list.value.extend(items)
        else:
            names = [i.name for i in items]
            if scope:
                prefix = scope.rstrip("/") + "/"
                names = [n[len(prefix) :] for n in names if n.startswith(prefix)]
            target.node_list.value.extend(names)
    except (AttributeError, TypeError, ValueError, NotImplementedError):
        # Python objects, such as functions: they mean nothing in another process.
        del meta.collection_def[key]


def _registered() -> dict[str, Any]:
    """Collections other than variables whose items can be rebuilt: key -> from_proto(bytes, scope)."""
    registered: dict[str, Any] = {}
    try:
        from dataflow.train.queue_runner import QueueRunner

        registered[GraphKeys.QUEUE_RUNNERS] = QueueRunner
    except ImportError:
        pass
    from dataflow.train.saver import Saver

    registered[GraphKeys.SAVERS] = Saver
    return {**registered, **CONTEXT_COLLECTIONS}


def read_meta_graph_file(path: str) -> Any:
    """The ``MetaGraphDef`` in a file, binary or text.

    Raises `OSError` where there is none, `ValueError` for a damaged one.
    """
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    path = local_path(path)
    if not os.path.isfile(path):
        raise OSError(f"File {path} does not exist.")
    with open(path, "rb") as opened:
        data = opened.read()
    meta = MetaGraphDef()
    try:
        meta.ParseFromString(data)
        return meta
    except DecodeError as error:
        binary_error = error
    try:
        text_format.Merge(data.decode("utf-8"), meta)
    except (UnicodeDecodeError, text_format.ParseError):
        raise OSError(
            f"{path}: cannot be read as a MetaGraphDef ({binary_error}): it is truncated or no "
            ".meta file."
        ) from binary_error
    return meta


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """What is wrong with a graph that came from a file is said with the file's name."""
    try:
        yield
    except (KeyError, UnicodeDecodeError) as error:
        reason = error.args[0] if isinstance(error, KeyError) else error
        raise ValueError(f"{path}: the graph in it is damaged: {reason}") from error
    except ValueError as error:
        if type(error) is not ValueError:  # an error of a node, with all that belongs to it
            raise
        raise ValueError(f"{path}: {error}") from error


def scope_of_import(import_scope: str | None) -> str:
    """The full scope that an import goes to, new in the current one; "a/b/" is full already."""
    graph = default_graph()
    if not import_scope:
        return graph.get_name_scope()
    return graph.unique_name(import_scope)


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: Any = None,
    return_elements: Any = None,
    restores: Callable[[str], bool] | None = None,
    **kwargs: Any,
) -> tuple[Any, list[Variable]]:
    """Adds nodes and collections to the default graph; returns the ``MetaGraphDef`` and variables.

    ``restores`` of a key says whether its collection comes along; without it all do.
    """
    from google.protobuf.message import DecodeError

    if isinstance(meta_graph_or_file, (str, bytes, os.PathLike)):
        meta = read_meta_graph_file(os.fsdecode(meta_graph_or_file))
    else:
        meta = type(meta_graph_or_file)()
        meta.CopyFrom(meta_graph_or_file)
    graph = default_graph()
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    scope = scope_of_import(import_scope)
    absolute = f"{scope}/" if scope else ""
    import_graph_def(meta.graph_def, name=absolute, input_map=input_map, return_elements=None)
    made: dict[bytes, Variable] = {}
    for key in sorted(meta.collection_def):
        if restores is not None and not restores(key):
            continue
        try:
            _read_collection(graph, key, meta.collection_def[key], scope, made)
        except (KeyError, ValueError, TypeError, DecodeError) as error:
            reason = error.args[0] if isinstance(error, KeyError) else error
            raise ValueError(
                f"import_meta_graph: the collection {key!r} is damaged, or of another graph: {reason}"
            ) from error
    return meta, list(made.values())


def _read_collection(
    graph: Graph, key: str, collection: Any, scope: str | None, made: dict[bytes, Variable]
) -> None:
    kind = collection.WhichOneof("kind")
    if kind is None:
        return
    values = getattr(collection, kind).value
    if kind == "bytes_list" and key in _VARIABLE_KEYS:
        from tensorboard.compat.proto.variable_pb2 import VariableDef

        for value in values:
            if value not in made:
                made[value] = Variable.from_proto(VariableDef.FromString(value), scope)
            graph.add_to_collection(key, made[value])
    elif kind == "bytes_list" and key in _registered():
        rebuild = _registered()[key]
        for value in values:
            item = rebuild.from_proto(value, import_scope=scope)
            if item is not None:
                graph.add_to_collection(key, item)
    elif kind == "node_list":
        for value in values:
            name = f"{scope}/{value}" if scope else value
            graph.add_to_collection(key, graph.as_graph_element(name))
    else:
        for value in values:
            if scope and isinstance(value, bytes):  # texts count as names, as in TensorFlow
                with contextlib.suppress(UnicodeDecodeError):
                    value = f"{scope}/{value.decode()}"
            graph.add_to_collection(key, value)
