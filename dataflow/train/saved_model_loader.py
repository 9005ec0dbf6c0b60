"""SavedModels read back: the graph with the wanted tags, its variables, its ops of initialization.

TensorFlow's SavedModels can be loaded, as far as their nodes are known here; variables of older ones of this
engine, in ``variables/variables.safetensors``, are read, too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dataflow import logging
from dataflow.errors import NotFoundError
from dataflow.formats.local_paths import local_path
from dataflow.graph.graph import Graph
from dataflow.train.meta_graph import import_scoped_meta_graph, naming
from dataflow.train.saveables import all_saveable_objects
from dataflow.train.saved_model_messages import (
    ASSETS_KEY,
    TYPES_IN_FILES,
    TYPES_IN_MEMORY,
    readable_class,
    saved_model_class,
    with_types,
)
from dataflow.train.saved_models import (
    ASSETS_FOLDER,
    INIT_OP_SIGNATURE_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    MODEL_FILENAME,
    MODEL_FILENAME_TEXT,
    VARIABLES_FOLDER,
    VARIABLES_NAME,
)
from dataflow.train.saver import Saver

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Whether the folder holds a SavedModel."""
    folder = local_path(export_dir)
    names = (MODEL_FILENAME, MODEL_FILENAME_TEXT)
    return any(os.path.isfile(os.path.join(folder, name)) for name in names)


def parse_saved_model(export_dir: Any) -> Any:
    """The ``SavedModel`` in a folder, with its ``meta_graphs``; raises `OSError` as `read_saved_model`."""
    result = readable_class()()
    result.meta_graphs.extend(read_saved_model(export_dir))
    return result


#: The name that libraries of TensorFlow 1.14's time import.
_parse_saved_model = parse_saved_model


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


class SavedModelLoader:
    """What `load` does, in steps: the graph alone, its variables, its ops of initialization.

    Raises `OSError` where ``export_dir`` holds no SavedModel, or a damaged one.
    """

    def __init__(self, export_dir: Any) -> None:
        self._export_dir = local_path(export_dir)  # Estimator.export_savedmodel gives bytes
        self._graphs = read_saved_model(self._export_dir)

    @property
    def export_dir(self) -> str:
        """The folder of the SavedModel."""
        return self._export_dir

    @property
    def variables_path(self) -> str:
        """The checkpoint of its variables, a prefix of paths."""
        return os.path.join(self._export_dir, VARIABLES_FOLDER, VARIABLES_NAME)

    def get_meta_graph_def_from_tags(self, tags: Any) -> Any:
        """The ``MetaGraphDef`` with exactly these tags; raises `RuntimeError` where there is none."""
        wanted = {tags} if isinstance(tags, str) else set(tags)
        for meta in self._graphs:
            if set(meta.meta_info_def.tags) == wanted:
                return meta
        available = [sorted(m.meta_info_def.tags) for m in self._graphs]
        raise RuntimeError(
            f"MetaGraphDef associated with tags {sorted(wanted)} could not be found in SavedModel "
            f"{self._export_dir}; there is: {available}"
        )

    def load_graph(
        self,
        graph: Graph,
        tags: Any,
        import_scope: str | None = None,
        return_elements: Any = None,
        **saver_kwargs: Any,
    ) -> tuple[Saver | None, list[Any] | None]:
        """Adds the graph with these tags to ``graph``: its saver, and the ops and tensors that are asked for.

        The saver is None where the graph has no variables; ``return_elements`` are names of ops and of tensors
        (``"y:0"``) as in the SavedModel. Raises `ValueError` for one that is not there.
        """
        with graph.as_default(), naming(self._export_dir):
            meta, _ = import_scoped_meta_graph(
                self.get_meta_graph_def_from_tags(tags), import_scope=import_scope, **saver_kwargs
            )
            elements = None
            if return_elements is not None:
                elements = [_element(graph, import_scope, name) for name in return_elements]
            if meta.HasField("saver_def") and meta.saver_def.restore_op_name:
                return Saver.from_proto(meta.saver_def, import_scope), elements
            return Saver() if all_saveable_objects(import_scope) else None, elements

    def restore_variables(
        self, sess: BaseSession, saver: Saver | None, import_scope: str | None = None
    ) -> None:
        """Gives the session's variables their saved values, by the saver of `load_graph` or another.

        Raises `ValueError` where there are variables and ``saver`` is None.
        """
        with sess.graph.as_default():
            if isinstance(saver, Saver):
                with naming(self._export_dir):
                    saver.restore(sess, self.variables_path)
            elif saver is None and not all_saveable_objects(import_scope):
                logging.info("The specified SavedModel has no variables; none was restored.")
            else:
                raise ValueError(
                    f"SavedModelLoader.restore_variables needs a tf.train.Saver, got {saver!r}: the graph has "
                    "variables. Give it the saver that load_graph returned."
                )

    def run_init_ops(self, sess: BaseSession, tags: Any, import_scope: str | None = None) -> None:
        """Runs what the SavedModel wants run when it is loaded, tables above all, with its own files."""
        meta = self.get_meta_graph_def_from_tags(tags)
        scope = f"{import_scope}/" if import_scope else ""
        op = initializer_of(meta, scope, sess.graph)
        if op is None:
            return
        assets = get_asset_tensors(self._export_dir, meta, import_scope)
        feeds = {sess.graph.get_tensor_by_name(name): path for name, path in assets.items()}
        sess.run(op, feeds or None)

    def load(
        self, sess: BaseSession, tags: Any, import_scope: str | None = None, **saver_kwargs: Any
    ) -> Any:
        """All the steps, for the session's graph; returns the ``MetaGraphDef``, with the signatures."""
        saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
        self.restore_variables(sess, saver, import_scope)
        self.run_init_ops(sess, tags, import_scope)
        return self.get_meta_graph_def_from_tags(tags)


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
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


def _element(graph: Graph, import_scope: str | None, name: str) -> Any:
    try:
        return graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)
    except (KeyError, ValueError) as error:
        raise ValueError(f"Requested return_element {name!r} not found in graph_def.") from error


def get_asset_tensors(
    export_dir: Any, meta_graph_def_to_load: Any, import_scope: str | None = None
) -> dict[str, str]:
    """The paths of a SavedModel's own files, by the names of the tensors that stand for them in the graph."""
    scope = f"{import_scope}/" if import_scope else ""
    return {
        scope + asset.tensor_info.name: os.path.join(export_dir, ASSETS_FOLDER, asset.filename)
        for asset in _assets(meta_graph_def_to_load)
    }


def _assets(meta: Any) -> list[Any]:
    """The ``AssetFileDef``s: since TensorFlow 2 in a field of their own, before in a collection."""
    if meta.asset_file_def or ASSETS_KEY not in meta.collection_def:
        return list(meta.asset_file_def)
    holder = type(meta)()
    for packed in meta.collection_def[ASSETS_KEY].any_list.value:
        holder.asset_file_def.add().ParseFromString(packed.value)
    return list(holder.asset_file_def)


def initializer_of(meta: Any, scope: str, graph: Graph) -> Any:
    """The op of initialization in ``graph``, below ``scope``; None where the SavedModel has none.

    Raises `NotFoundError` where it is not below ``scope``.
    """
    if INIT_OP_SIGNATURE_KEY in meta.signature_def:
        outputs = meta.signature_def[INIT_OP_SIGNATURE_KEY].outputs
        names = [info.name for info in outputs.values()]
        try:
            return [graph.as_graph_element(scope + name) for name in names]
        except KeyError as error:
            raise NotFoundError(
                None,
                None,
                f"The op of initialization {names} of the SavedModel is not in the graph below "
                f"import_scope {scope.removesuffix('/')!r}; give the scope that it was loaded with.",
            ) from error
    for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
        if key not in meta.collection_def:
            continue
        for name in meta.collection_def[key].node_list.value:
            try:
                return graph.as_graph_element(scope + name)
            except KeyError:  # loaded below another scope
                return next(iter(graph.get_collection(key)), None)
    return None
