"""The graph of a SavedModel of objects: variables, tables, files and signatures as nodes, and the graph of objects."""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import string
from dataflow.formats.local_paths import local_path
from dataflow.functions.concrete import ConcreteFunction
from dataflow.functions.traced import Function
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.sources import placeholder
from dataflow.ops.state import assign_variable_op, read_variable_op, var_handle_op
from dataflow.ops.static_value import static_value
from dataflow.ops.variables import Variable
from dataflow.saved_model.assets import TrackableAsset
from dataflow.saved_model.function_messages import FunctionWriter
from dataflow.saved_model.object_view import ObjectView, SignatureMap
from dataflow.train.meta_graph import export_meta_graph
from dataflow.train.object_graph import variable_key
from dataflow.train.save_graph import build_saver_def
from dataflow.train.saveables import SaveableObject, VariableSaveable
from dataflow.train.saved_models import (
    INIT_OP_SIGNATURE_KEY,
    MAIN_OP_KEY,
    asset_name,
)

_CALL = "StatefulPartitionedCall"


class MetaGraphWriter:
    """Makes the ``MetaGraphDef`` of a view; ``assets`` are its files: name in the folder -> where it is now."""

    def __init__(self, view: ObjectView) -> None:
        self._view = view
        self._graph = Graph()
        #: What stands for an object in the graph: the handle of a variable or table, the path of a file.
        self._tensors: dict[int, Tensor] = {}
        self.assets: dict[str, str] = {}
        #: For each file its name, the node that is fed its path, and the node that keeps that.
        self._files: list[tuple[str, Tensor, Any]] = []
        self._file_of: dict[int, int] = {}

    def write(self) -> Any:
        """The message."""
        with self._graph.as_default():
            saver_def = self._add_values()
            signatures = self._add_placeholders()
        meta = export_meta_graph(graph=self._graph, saver_def=saver_def, collection_list=[])
        writer = FunctionWriter(self._view, meta.object_graph_def, meta.graph_def.library)
        self._write_objects(meta.object_graph_def, writer)
        self._add_init_op(meta, writer)
        for key, (function, given) in signatures.items():
            self._add_signature(meta, writer, key, function, given)
        for name, path, _ in self._files:
            meta.asset_file_def.add(filename=name).tensor_info.name = path.name
        meta.meta_info_def.tags.append("serve")
        meta.meta_info_def.stripped_default_attrs = True
        return meta

    # ---- the nodes ------------------------------------------------------------------------

    def _add_values(self) -> Any:
        """Variables, tables and files; the ``SaverDef``, None where there are no variables."""
        saved: list[SaveableObject] = []
        for number, value in enumerate(self._view.nodes):
            if isinstance(value, Variable):
                name = value.op.name
                made = var_handle_op(
                    shape=value.shape.dims and value.shape.as_list(),
                    dtype=value.dtype.base_dtype,
                    shared_name=f"{name}_{number}",
                    name=name,
                )
                self._tensors[number] = made
                saved.append(VariableSaveable(made, "", variable_key(self._view.paths[number])))
            elif isinstance(value, TrackableAsset):
                self._add_asset(number, value)
            elif (handle := handle_of_table(value)) is not None:
                op = handle.op
                name = self._graph.unique_name(op.op_def.type)
                self._tensors[number] = self._graph.make_op(op.op_def, name, [], op.attrs).outputs[
                    0
                ]
        if not saved:
            return None
        return build_saver_def(
            saved,
            reshape=False,
            sharded=False,
            max_to_keep=5,
            keep_checkpoint_every_n_hours=10000.0,
            name=None,
            filename=None,
        )

    def _add_asset(self, number: int, asset: TrackableAsset) -> None:
        """A file: its path is fed when the model is loaded, and kept in a variable."""
        name = asset_name(local_path(_path_of(asset)), self.assets)
        path = placeholder(string, [], name="asset_path_initializer")
        kept = var_handle_op(shape=[], dtype=string, shared_name=f"asset_path_{number}")
        assigned = assign_variable_op(kept, path)
        self._file_of[number] = len(self._files)
        self._files.append((name, path, assigned))
        self._tensors[number] = read_variable_op(kept)

    def _add_placeholders(self) -> dict[str, tuple[ConcreteFunction, list[Tensor]]]:
        signatures = next(v for _, v in self._view.of_kind(SignatureMap))
        found = {}
        for key in sorted(signatures):
            function = signatures[key]
            named = zip(function.argument_names, function.inputs, strict=True)
            found[key] = (
                function,
                [placeholder(t.dtype.base_dtype, t.shape, name=f"{key}_{n}") for n, t in named],
            )
        return found

    def _call(self, meta: Any, name: str, writer: FunctionWriter, given: list[Tensor]) -> Any:
        """Adds the call of a function in the library."""
        proto = next(f for f in meta.graph_def.library.function if f.signature.name == name)
        nodes = {node.name for node in meta.graph_def.node}
        number = 0
        while (own := f"{_CALL}_{number}" if number else _CALL) in nodes:
            number += 1
        node = meta.graph_def.node.add(name=own, op=_CALL)
        node.attr["f"].func.name = name
        node.attr["Tin"].list.type.extend([a.type for a in proto.signature.input_arg])
        node.attr["Tout"].list.type.extend([a.type for a in proto.signature.output_arg])
        for key in ("Tin", "Tout"):
            node.attr[key].list.SetInParent()
        for tensor in [*given, *(self._tensors[number] for number in writer.bound[name])]:
            node.input.append(tensor.op.name)
        return node

    def _add_init_op(self, meta: Any, writer: FunctionWriter) -> None:
        """The operation that a loader runs: paths of files, then tables."""
        nodes = {node.name: node for node in meta.graph_def.node}
        waits = [assigned.name for _, _, assigned in self._files]
        for number, value in enumerate(self._view.nodes):
            if handle_of_table(value) is None:
                continue
            made = dict(self._view.children[number])["_initialize"]
            name = writer.add(self._view.nodes[made])
            assert name is not None
            call = self._call(meta, name, writer, [])
            for bound in writer.bound[name]:
                if bound in self._file_of:  # after the path is there, which it reads
                    assigned = self._files[self._file_of[bound]][2]
                    nodes[self._tensors[bound].op.name].input.append(f"^{assigned.name}")
            waits.append(call.name)
        own = "NoOp"
        meta.graph_def.node.add(name=own, op="NoOp").input.extend(f"^{name}" for name in waits)
        meta.collection_def[MAIN_OP_KEY].node_list.value.append(own)
        info = meta.signature_def[INIT_OP_SIGNATURE_KEY].outputs[INIT_OP_SIGNATURE_KEY]
        info.name = own
        info.tensor_shape.unknown_rank = True

    def _add_signature(
        self,
        meta: Any,
        writer: FunctionWriter,
        key: str,
        function: ConcreteFunction,
        given: list[Tensor],
    ) -> None:
        name = writer.add(function)
        assert name is not None
        call = self._call(meta, name, writer, given)
        shapes = call.attr["_output_shapes"].list
        shapes.SetInParent()
        signature = meta.signature_def[key]
        signature.method_name = "tensorflow/serving/predict"
        for argument, tensor in zip(function.argument_names, given, strict=True):
            _write_info(signature.inputs[argument], tensor.name, tensor)
        for number, output in enumerate(sorted(function.structured_outputs)):
            tensor = function.structured_outputs[output]
            shapes.shape.append(tensor.shape.as_proto())
            _write_info(signature.outputs[output], f"{call.name}:{number}", tensor)

    # ---- the graph of objects -------------------------------------------------------------

    def _write_objects(self, objects: Any, writer: FunctionWriter) -> None:
        for number, value in enumerate(self._view.nodes):
            proto = objects.nodes.add()
            for name, child in self._view.children[number]:
                proto.children.add(node_id=child, local_name=name)
            if isinstance(value, Variable):
                _write_variable(proto.variable, value)
            elif isinstance(value, TrackableAsset):
                proto.asset.asset_file_def_index = self._file_of[number]
                proto.asset.SetInParent()
            elif isinstance(value, (Function, ConcreteFunction)):
                writer.write(proto, value)
            elif handle_of_table(value) is not None:
                proto.resource.SetInParent()
            else:
                proto.user_object.identifier = _identifier(value)
                proto.user_object.version.producer = proto.user_object.version.min_consumer = 1


def _path_of(asset: TrackableAsset) -> Any:
    value = static_value(asset.asset_path)
    if value is None:
        raise TypeError(f"the path of an asset must be a constant, got {asset.asset_path!r}.")
    return value.item()


def handle_of_table(value: Any) -> Any:
    """The handle of a table, or of what stands for one; None for anything else."""
    return getattr(value, "resource_handle", None)


def _identifier(value: Any) -> str:
    if isinstance(value, SignatureMap):
        return "signature_map"
    if isinstance(value, list):
        return "trackable_list_wrapper"
    return "trackable_dict_wrapper" if isinstance(value, dict) else "_generic_user_object"


def _write_variable(proto: Any, variable: Variable) -> None:
    proto.dtype = variable.dtype.base_dtype.as_datatype_enum
    proto.shape.CopyFrom(variable.shape.as_proto())
    proto.trainable = bool(variable.trainable)
    proto.synchronization = variable.synchronization.value
    proto.aggregation = variable.aggregation.value
    proto.name = variable.op.name


def _write_info(proto: Any, name: str, tensor: Tensor) -> None:
    proto.name = name
    proto.dtype = tensor.dtype.base_dtype.as_datatype_enum
    proto.tensor_shape.CopyFrom(tensor.shape.as_proto())
