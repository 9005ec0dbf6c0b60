"""SavedModels: a folder with ``saved_model.pb`` (graphs with tags and signatures) and variables.

TensorFlow's SavedModels can be loaded, as far as their nodes are known here. The variables of those
written here are in TensorFlow's files, whatever the format of checkpoints is, so that its loader and
its server read them; older ones in ``variables/variables.safetensors`` are read, too.
"""

from __future__ import annotations

import filecmp
import itertools
import os
import shutil
from typing import TYPE_CHECKING, Any

from dataflow.formats.atomic_files import write_atomically
from dataflow.formats.checkpoint_writer import TENSORFLOW, make_bundle, written_as
from dataflow.formats.local_paths import local_path
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.ops.static_value import static_value
from dataflow.train.meta_graph import import_scoped_meta_graph, naming
from dataflow.train.saved_model_messages import (
    ASSETS_KEY,
    TYPES_IN_FILES,
    TYPES_IN_MEMORY,
    readable_class,
    saved_model_class,
    with_types,
)
from dataflow.train.saver import Saver
from dataflow.train.signatures import predict_signature_def

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

MODEL_FILENAME = "saved_model.pb"
MODEL_FILENAME_TEXT = "saved_model.pbtxt"
VARIABLES_FOLDER, VARIABLES_NAME = "variables", "variables"
ASSETS_FOLDER = "assets"
MAIN_OP_KEY = "saved_model_main_op"
LEGACY_INIT_OP_KEY = "legacy_init_op"
_INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"


# ---- signatures ----------------------------------------------------------------------------------


# ---- writing -------------------------------------------------------------------------------------


class SavedModelBuilder:
    """Writes a SavedModel: one graph with variables, and further graphs that share them.

    Raises `AssertionError` where the folder exists and holds something.
    """

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = local_path(export_dir)
        if os.path.isdir(self._export_dir) and os.listdir(self._export_dir):
            raise AssertionError(
                f"Export directory {self._export_dir} already exists, and isn't empty. Please choose "
                "a different export directory, or delete all the contents of the specified directory."
            )
        os.makedirs(self._export_dir, exist_ok=True)
        self._meta_graphs: list[Any] = []
        self._has_saved_variables = False

    def add_meta_graph_and_variables(
        self,
        sess: BaseSession,
        tags: Any,
        signature_def_map: Any = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the session's graph under ``tags``, and saves its variables.

        Raises `AssertionError` when called twice.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        with sess.graph.as_default():
            saver = saver or _variables_saver()
            folder = os.path.join(self._export_dir, VARIABLES_FOLDER)
            os.makedirs(folder, exist_ok=True)
            prefix = os.path.join(folder, VARIABLES_NAME)
            with written_as(TENSORFLOW):
                saver.save(sess, prefix, write_meta_graph=False, write_state=False)
            make_bundle(prefix)  # where another task saved, in its own format
            self._add(
                saver,
                tags,
                signature_def_map,
                assets_collection,
                main_op or legacy_init_op,
                clear_devices,
            )
        self._has_saved_variables = True

    def add_meta_graph(
        self,
        tags: Any,
        signature_def_map: Any = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph under other tags, for the variables saved before."""
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        saver = saver or _variables_saver()
        self._add(
            saver,
            tags,
            signature_def_map,
            assets_collection,
            main_op or legacy_init_op,
            clear_devices,
        )

    def _add(
        self,
        saver: Saver,
        tags: Any,
        signatures: Any,
        assets: Any,
        main_op: Any,
        clear_devices: bool,
    ) -> None:
        graph = default_graph()
        if main_op is not None:
            graph.get_collection_ref(MAIN_OP_KEY)[:] = [main_op]
        meta = saver.export_meta_graph(clear_devices=clear_devices)
        meta.meta_info_def.tags.extend(tags)
        for key, signature in (signatures or {}).items():
            for info in [*signature.inputs.values(), *signature.outputs.values()]:
                _check_tensor_info(key, info)
            meta.signature_def[key].CopyFrom(signature)
        sources: dict[str, str] = {}
        for tensor in assets or []:
            self._add_asset(meta, tensor, sources)
        self._meta_graphs.append(meta)

    def _add_asset(self, meta: Any, tensor: Any, sources: dict[str, str]) -> None:
        """Copies a file into the folder; ``sources``: where this graph's files came from, by name."""
        value = static_value(tensor)
        if value is None:
            raise TypeError(f"Asset filepath tensor {tensor.name!r} must be a constant string.")
        source = local_path(value.reshape(-1)[0])
        folder = os.path.join(self._export_dir, ASSETS_FOLDER)
        os.makedirs(folder, exist_ok=True)
        own = name = os.path.basename(source)
        if name in sources and not filecmp.cmp(source, sources[name], shallow=False):
            name = next(n for i in itertools.count(1) if (n := f"{own}_{i}") not in sources)
        sources.setdefault(name, source)
        path = os.path.join(folder, name)
        if not os.path.exists(path):  # another graph's file of this name stays, as in TensorFlow
            shutil.copyfile(source, path)
        asset = meta.asset_file_def.add(filename=name)
        asset.tensor_info.name = tensor.name
        meta.collection_def[ASSETS_KEY].any_list.value.add().Pack(asset)

    def save(self, as_text: bool = False) -> bytes:
        """Writes ``saved_model.pb``, or ``saved_model.pbtxt``, in one step; returns its path as bytes."""
        if as_text:
            from google.protobuf import text_format

            text = text_format.MessageToString(
                readable_class()(saved_model_schema_version=1, meta_graphs=self._meta_graphs)
            )
            path = os.path.join(self._export_dir, MODEL_FILENAME_TEXT)
            write_atomically(path, text.replace(TYPES_IN_MEMORY, TYPES_IN_FILES).encode())
            return os.fsencode(path)
        message = saved_model_class()(
            saved_model_schema_version=1,
            meta_graphs=[
                with_types(m, TYPES_IN_MEMORY, TYPES_IN_FILES).SerializeToString()
                for m in self._meta_graphs
            ],
        )
        path = os.path.join(self._export_dir, MODEL_FILENAME)
        write_atomically(path, message.SerializeToString())
        return os.fsencode(path)


def _variables_saver() -> Saver:
    return Saver(sharded=True, allow_empty=True)


def simple_save(
    session: BaseSession, export_dir: Any, inputs: Any, outputs: Any, legacy_init_op: Any = None
) -> None:
    """Writes a SavedModel for serving, with one signature from ``inputs`` to ``outputs`` (dicts)."""
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        ["serve"],
        {"serving_default": predict_signature_def(inputs, outputs)},
        session.graph.get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()


# ---- loading -------------------------------------------------------------------------------------


def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Whether the folder holds a SavedModel."""
    folder = local_path(export_dir)
    names = (MODEL_FILENAME, MODEL_FILENAME_TEXT)
    return any(os.path.isfile(os.path.join(folder, name)) for name in names)


def read_saved_model(export_dir: Any) -> list[Any]:
    """The ``MetaGraphDef``s of a SavedModel.

    Raises `OSError` where there is none, or where it is damaged.
    """
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    path = os.path.join(local_path(export_dir), MODEL_FILENAME)
    as_text = os.path.join(local_path(export_dir), MODEL_FILENAME_TEXT)
    if not os.path.isfile(path) and os.path.isfile(as_text):
        return _read_text(as_text)
    if not os.path.isfile(path):
        raise OSError(
            f"SavedModel file does not exist at: {export_dir}/{{{MODEL_FILENAME_TEXT}|{MODEL_FILENAME}}}"
        )
    with open(path, "rb") as opened:
        data = opened.read()
    try:
        graphs = saved_model_class().FromString(data).meta_graphs
        return [
            with_types(MetaGraphDef.FromString(m), TYPES_IN_FILES, TYPES_IN_MEMORY) for m in graphs
        ]
    except DecodeError as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from error


def _read_text(path: str) -> list[Any]:
    from google.protobuf import text_format

    with open(path, encoding="utf-8") as opened:
        text = opened.read().replace(TYPES_IN_FILES, TYPES_IN_MEMORY)
    try:
        return list(text_format.Parse(text, readable_class()()).meta_graphs)
    except text_format.ParseError as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from error


def load(
    sess: BaseSession,
    tags: Any,
    export_dir: Any,
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Adds the graph with exactly these tags to the session's graph and restores its variables.

    Returns its ``MetaGraphDef``, with the signatures. Raises `RuntimeError` where no graph has
    these tags, `OSError` where there is no SavedModel.
    """
    wanted = {tags} if isinstance(tags, str) else set(tags)
    export_dir = local_path(export_dir)  # Estimator.export_savedmodel gives bytes
    graphs = read_saved_model(export_dir)
    found = [m for m in graphs if set(m.meta_info_def.tags) == wanted]
    if not found:
        available = [sorted(m.meta_info_def.tags) for m in graphs]
        raise RuntimeError(
            f"MetaGraphDef associated with tags {sorted(wanted)} could not be found in SavedModel "
            f"{local_path(export_dir)}; there is: {available}"
        )
    folder = local_path(export_dir)
    with sess.graph.as_default(), naming(folder):
        meta, _ = import_scoped_meta_graph(found[0], import_scope=import_scope, **saver_kwargs)
        prefix = os.path.join(folder, VARIABLES_FOLDER, VARIABLES_NAME)
        if meta.HasField("saver_def") and meta.saver_def.restore_op_name:
            Saver.from_proto(meta.saver_def, import_scope).restore(sess, prefix)
        scope = f"{import_scope}/" if import_scope else ""
        feeds = {
            sess.graph.get_tensor_by_name(scope + asset.tensor_info.name): os.path.join(
                folder, ASSETS_FOLDER, asset.filename
            )
            for asset in _assets(found[0])
        }
        for op in _init_ops(meta, scope, sess.graph):
            sess.run(op, feeds or None)
    return meta


def _check_tensor_info(key: str, info: Any) -> None:
    """Raises `AssertionError` for a tensor of a signature that has no name, or no dtype."""
    encoding = info.WhichOneof("encoding")
    if encoding is None:
        raise AssertionError(
            "All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields "
            f"(e.g., name or coo_sparse) set; in signature {key!r}: {info}"
        )
    if encoding != "composite_tensor" and not info.dtype:
        raise AssertionError(
            "All TensorInfo protos used in the SignatureDefs must have the dtype field set; "
            f"in signature {key!r}: {info}"
        )


def _assets(meta: Any) -> list[Any]:
    """The ``AssetFileDef``s: since TensorFlow 2 in a field of their own, before in a collection."""
    if meta.asset_file_def or ASSETS_KEY not in meta.collection_def:
        return list(meta.asset_file_def)
    holder = type(meta)()
    for packed in meta.collection_def[ASSETS_KEY].any_list.value:
        holder.asset_file_def.add().ParseFromString(packed.value)
    return list(holder.asset_file_def)


def _init_ops(meta: Any, scope: str, graph: Graph) -> list[Any]:
    if _INIT_OP_SIGNATURE_KEY in meta.signature_def:
        outputs = meta.signature_def[_INIT_OP_SIGNATURE_KEY].outputs
        return [graph.as_graph_element(scope + i.name) for i in outputs.values()]
    for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
        if key in meta.collection_def:
            names = meta.collection_def[key].node_list.value
            return [graph.as_graph_element(scope + name) for name in names[:1]]
    return []
