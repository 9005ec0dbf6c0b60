"""SavedModels: a folder with ``saved_model.pb`` (graphs with tags and signatures) and variables, written.

Their variables are in TensorFlow's files, whatever the format of checkpoints is, so that its loader and its
server read them. `saved_model_loader` reads them back.
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
from dataflow.ops.static_value import static_value
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
INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"


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
        name = asset_name(source, sources)
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
        return os.fsencode(write_saved_model(self._export_dir, self._meta_graphs))


def asset_name(source: str, sources: dict[str, str]) -> str:
    """What a file is called among the assets, another for another content; ``sources``: files by name, added to."""
    own = name = os.path.basename(source)
    if name in sources and not filecmp.cmp(source, sources[name], shallow=False):
        name = next(n for i in itertools.count(1) if (n := f"{own}_{i}") not in sources)
    sources.setdefault(name, source)
    return name


def write_saved_model(folder: str, meta_graphs: list[Any]) -> str:
    """Writes ``saved_model.pb`` with these graphs in one step; returns its path."""
    message = saved_model_class()(
        saved_model_schema_version=1,
        meta_graphs=[
            with_types(m, TYPES_IN_MEMORY, TYPES_IN_FILES).SerializeToString() for m in meta_graphs
        ],
    )
    path = os.path.join(folder, MODEL_FILENAME)
    write_atomically(path, message.SerializeToString())
    return path


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


def _check_tensor_info(key: str, info: Any) -> None:
    """Raises `AssertionError` for a tensor of a signature that has no name, or no dtype."""
    encoding = info.WhichOneof("encoding")
    if encoding is None:
        raise AssertionError(
            "All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields "
            f"(e.g., name or coo_sparse) set; in signature {key!r}: {info}"
        )
    is_op = key == INIT_OP_SIGNATURE_KEY  # an op has no dtype
    if encoding != "composite_tensor" and not info.dtype and not is_op:
        raise AssertionError(
            "All TensorInfo protos used in the SignatureDefs must have the dtype field set; "
            f"in signature {key!r}: {info}"
        )
