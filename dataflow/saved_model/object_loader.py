"""`tf.saved_model.load_v2`: the objects of a SavedModel made again, with their variables, functions, tables and files."""

from __future__ import annotations

import os
from typing import Any

from dataflow.dtypes import as_dtype
from dataflow.formats.checkpoint_reader import CheckpointReader
from dataflow.formats.local_paths import local_path
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import flatten
from dataflow.graph.registry import get_op
from dataflow.graph.serialize import attr_value
from dataflow.graph.tensor_proto import proto_to_array
from dataflow.ops.checkpoint import restore_v2
from dataflow.ops.trackable import AutoTrackable
from dataflow.ops.variable_replication import VariableAggregation, VariableSynchronization
from dataflow.ops.variables import Variable
from dataflow.saved_model.assets import TrackableAsset
from dataflow.saved_model.graph_loader import load_graphs
from dataflow.saved_model.object_view import SavedTable, SignatureMap
from dataflow.saved_model.restored_functions import RestoredFunction, SavedFunction
from dataflow.shapes import TensorShape, as_dims
from dataflow.train.object_graph import VARIABLE_VALUE
from dataflow.train.object_restore import stored_graph
from dataflow.train.saved_model_loader import read_saved_model
from dataflow.train.saved_models import ASSETS_FOLDER, VARIABLES_FOLDER, VARIABLES_NAME


class _UserObject(AutoTrackable):
    """An object of a SavedModel, with the attributes that were saved; the class that it had is not known here."""


class RestoredResource(AutoTrackable):
    """A table of a SavedModel; functions that use it look it up through ``resource_handle``."""

    def __init__(self) -> None:
        self.resource_handle: Any = None
        self._initialize: SavedFunction | None = None

    def make(self, create: SavedFunction, initialize: SavedFunction) -> None:
        """Makes the table, and fills it; in graph mode with the other tables' initializers."""
        self._initialize = initialize
        op, attrs = _creating_node(create)
        graph = default_graph()
        name = graph.unique_name(op.type)
        made = graph.make_op(op, name, [], {**attrs, "shared_name": ""})
        self.resource_handle = made.outputs[0]
        if graph.executes_eagerly:
            initialize.traced()()
        else:
            graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, initialize.add([]).op)

    def saved_table(self) -> SavedTable:
        """What a SavedModel holds of it."""
        assert self._initialize is not None
        return SavedTable(self.resource_handle, lambda: self._initialize.add([]))


def _creating_node(create: SavedFunction) -> Any:
    """The op and the attributes of the node whose handle a function returns."""
    definition = create.definition
    nodes = {node.name: node for node in definition.node_def}
    name = definition.ret[definition.signature.output_arg[0].name].partition(":")[0]
    while nodes[name].input:  # what passes the handle on
        name = nodes[name].input[0].partition(":")[0]
    op = get_op(nodes[name].op)
    given = {key: attr_value(proto) for key, proto in nodes[name].attr.items() if key[0] != "_"}
    defaults = {a.name: a.default for a in op.attrs if not a.required}
    return op, {**defaults, **given}


class ObjectLoader:
    """Makes the objects of one SavedModel: ``root`` is the first."""

    def __init__(self, meta: Any, export_dir: str) -> None:
        self._meta, self._folder = meta, export_dir
        self._protos = meta.object_graph_def.nodes
        self._prefix = os.path.join(export_dir, VARIABLES_FOLDER, VARIABLES_NAME)
        library = {f.signature.name: f for f in meta.graph_def.library.function}
        saved = meta.object_graph_def.concrete_functions
        self._functions = {name: SavedFunction(name, library, saved[name]) for name in saved}
        self._keys = self._checkpoint_keys()
        self._nodes: dict[int, Any] = {}
        for number in range(len(self._protos)):
            self._make(number)
        for function in self._functions.values():
            function.bound = [self._nodes[number] for number in function.bound_numbers]
        self._make_resources()
        for number, proto in enumerate(self._protos):
            if proto.HasField("bare_concrete_function"):
                self._nodes[number] = self._bare(proto.bare_concrete_function)
        for number in range(len(self._protos)):
            self._set_parts(number)
        self.root = self._nodes[0]
        self.root.tensorflow_version = meta.meta_info_def.tensorflow_version
        self.root.tensorflow_git_version = meta.meta_info_def.tensorflow_git_version

    def _checkpoint_keys(self) -> dict[int, str]:
        """The checkpoint's key of each variable, found by the paths of objects."""
        self._reader = CheckpointReader(self._prefix)
        stored = stored_graph(self._reader).nodes
        keys: dict[int, str] = {}
        found = {0: 0}
        waiting = [0]
        while waiting:
            number = waiting.pop()
            node = stored[found[number]]
            for attribute in node.attributes:
                if attribute.name == VARIABLE_VALUE:
                    keys[number] = attribute.checkpoint_key
            there = {child.local_name: child.node_id for child in node.children}
            pairs = [(c.node_id, there.get(c.local_name)) for c in self._protos[number].children]
            slots = {
                (s.original_variable_node_id, s.slot_name): s.slot_variable_node_id
                for s in node.slot_variables
            }
            pairs += [
                (s.slot_variable_node_id, slots.get((s.original_variable_node_id, s.slot_name)))
                for s in self._protos[number].slot_variables
            ]
            for child, known in pairs:
                if known is not None and child not in found:
                    found[child] = known
                    waiting.append(child)
        return keys

    # ---- the objects ----------------------------------------------------------------------

    def _make(self, number: int) -> Any:
        """An object without its parts, made once."""
        if number not in self._nodes:
            proto = self._protos[number]
            kind = proto.WhichOneof("kind")
            self._nodes[number] = getattr(self, f"_make_{kind}", self._refused)(number, proto)
        return self._nodes[number]

    def _refused(self, number: int, proto: Any) -> Any:
        raise NotImplementedError(
            f"tf.saved_model.load: {self._folder} holds an object of the kind {proto.WhichOneof('kind')!r}, which is "
            "none of those that are made again here."
        )

    def _make_user_object(self, number: int, proto: Any) -> Any:
        kind = proto.user_object.identifier
        if kind == "trackable_list_wrapper":
            return []
        if kind in ("trackable_dict_wrapper", "signature_map"):
            return {} if kind == "trackable_dict_wrapper" else SignatureMap()
        if kind == "trackable_tuple_wrapper":
            parts = {child.local_name: child.node_id for child in proto.children}
            return tuple([self._make(parts[name]) for name in sorted(parts, key=_as_number)])
        return type("_UserObject", (_UserObject,), {})()

    def _make_asset(self, number: int, proto: Any) -> TrackableAsset:
        name = self._meta.asset_file_def[proto.asset.asset_file_def_index].filename
        return TrackableAsset(os.path.join(self._folder, ASSETS_FOLDER, name))

    def _make_resource(self, number: int, proto: Any) -> RestoredResource:
        return RestoredResource()

    def _make_constant(self, number: int, proto: Any) -> Any:
        name = proto.constant.operation
        node = next(node for node in self._meta.graph_def.node if node.name == name)
        return convert_to_tensor(
            proto_to_array(node.attr["value"].tensor), as_dtype(node.attr["dtype"].type)
        )

    def _make_variable(self, number: int, proto: Any) -> Variable:
        saved = proto.variable
        dtype, dims = as_dtype(saved.dtype), as_dims(saved.shape)
        key = self._keys.get(number)
        if key is None:
            raise ValueError(
                f"tf.saved_model.load: {self._prefix} holds no value for the variable {saved.name!r}: the folder's "
                "files are not of one model."
            )

        def value() -> Any:
            if default_graph().executes_eagerly:
                return convert_to_tensor(self._reader.get_tensor(key), dtype)
            (found,) = restore_v2(self._prefix, [key], [""], dtypes=[dtype])
            found.set_shape(TensorShape(dims))
            return found

        return Variable(
            value,
            trainable=saved.trainable,
            name=saved.name,
            dtype=dtype,
            use_resource=True,
            shape=TensorShape(dims),
            synchronization=VariableSynchronization(saved.synchronization),
            aggregation=VariableAggregation(saved.aggregation),
        )

    def _make_function(self, number: int, proto: Any) -> RestoredFunction:
        saved = proto.function
        found = [self._functions[n] for n in saved.concrete_functions if n in self._functions]
        return RestoredFunction(saved, found)

    def _make_bare_concrete_function(self, number: int, proto: Any) -> Any:
        return self._functions[proto.bare_concrete_function.concrete_function_name]

    def _bare(self, proto: Any) -> Any:
        """A function of eager code for a concrete one; in graph mode what adds its nodes."""
        function = self._functions[proto.concrete_function_name]
        names = list(proto.argument_keywords)
        if not default_graph().executes_eagerly:
            return GraphSignature(function, names)
        made = function.traced(names)
        made.takes_names_only = proto.allowed_positional_arguments == 0 and bool(names)
        return made

    # ---- how they hang together -----------------------------------------------------------

    def _make_resources(self) -> None:
        for number, proto in enumerate(self._protos):
            if proto.WhichOneof("kind") != "resource":
                continue
            parts = {child.local_name: child.node_id for child in proto.children}
            made = [self._function_at(parts[name]) for name in ("_create_resource", "_initialize")]
            self._nodes[number].make(*made)

    def _function_at(self, number: int) -> SavedFunction:
        proto = self._protos[number]
        if proto.HasField("bare_concrete_function"):
            return self._functions[proto.bare_concrete_function.concrete_function_name]
        return self._functions[proto.function.concrete_functions[0]]

    def _set_parts(self, number: int) -> None:
        value, proto = self._nodes[number], self._protos[number]
        if isinstance(value, list):
            parts = {child.local_name: child.node_id for child in proto.children}
            value.extend(self._nodes[parts[name]] for name in sorted(parts, key=_as_number))
        elif isinstance(value, dict):
            value.update((c.local_name, self._nodes[c.node_id]) for c in proto.children)
        elif isinstance(value, _UserObject):
            for child in proto.children:
                part = self._nodes[child.node_id]
                if child.local_name == "__call__":
                    type(value).__call__ = _call_attribute  # type: ignore[method-assign]
                setattr(value, child.local_name, part)


def _as_number(name: str) -> Any:
    return (0, int(name)) if name.isdigit() else (1, name)


def _call_attribute(self: Any, *args: Any, **kwargs: Any) -> Any:
    return vars(self)["__call__"](*args, **kwargs)


class GraphSignature:
    """A concrete function of a SavedModel in graph mode: a call adds its nodes to the default graph."""

    def __init__(self, function: SavedFunction, names: list[str]) -> None:
        self._function, self._names = function, names

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(self._names, args, strict=False)), **kwargs}
        missing = [name for name in self._names if name not in given]
        if missing or len(given) != len(self._names) or len(args) > len(self._names):
            raise TypeError(
                f"this function of a SavedModel takes {', '.join(self._names)}; got {', '.join(given)}."
            )
        types = [a.type for a in self._function.definition.signature.input_arg]
        tensors = [
            convert_to_tensor(given[name], as_dtype(enum))
            for name, enum in zip(self._names, types, strict=False)
        ]
        return self._function.add(tensors)


def load_v2(export_dir: Any, tags: Any = None) -> Any:
    """The root object of the SavedModel in a folder, which `tf.saved_model.save` wrote, here or in TensorFlow.

    It has the attributes of the object that was saved: variables with their values, functions under the signatures that
    they had, lists, dictionaries and further objects; ``signatures`` has those for serving by name. In graph mode
    variables get their values by their initializers.

    A SavedModel of graphs, as TensorFlow 1 exports it, gives an object with ``signatures``, ``graph`` and ``prune`` in
    eager code (see `graph_loader`).

    Raises `OSError` where there is no SavedModel, `ValueError` for ``tags`` other than its own (`RuntimeError` for one
    of graphs), and `NotImplementedError` for one of graphs where a session runs them.
    """
    wanted = (
        None
        if tags is None
        else {str(tag) for tag in flatten(sorted(tags) if isinstance(tags, set) else tags)}
    )
    metas = read_saved_model(export_dir)
    if len(metas) == 1 and metas[0].HasField("object_graph_def"):
        found = set(metas[0].meta_info_def.tags)
        if wanted is not None and wanted != found:
            raise ValueError(
                f"The SavedModel at {export_dir} has one MetaGraph with tags {sorted(found)}, but got an incompatible "
                f"argument tags={tags} to tf.saved_model.load. You may omit it, pass 'None', or pass matching tags."
            )
        return ObjectLoader(metas[0], local_path(export_dir)).root
    if wanted is None and len(metas) != 1:
        raise ValueError(
            "Importing a SavedModel with tf.saved_model.load requires a 'tags=' argument if there is more than one "
            f"MetaGraph. Got 'tags=None', but there are {len(metas)} MetaGraphs in the SavedModel with tag sets "
            f"{[sorted(m.meta_info_def.tags) for m in metas]}."
        )
    if default_graph().executes_eagerly:
        tags = metas[0].meta_info_def.tags if wanted is None else wanted
        return load_graphs(local_path(export_dir), set(tags))
    raise NotImplementedError(
        f"tf.saved_model.load_v2: the SavedModel at {export_dir} holds graphs for sessions, which become functions in "
        "eager code alone. Load it with tf.saved_model.loader.load(session, tags, folder), which returns its "
        "signatures."
    )


#: Its name in TensorFlow's own module.
load = load_v2
