"""`Saver`: variables to a checkpoint and back."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

from dataflow import logging
from dataflow.errors import FailedPreconditionError, NotFoundError
from dataflow.formats.atomic_files import write_atomically
from dataflow.formats.checkpoint_reader import CheckpointReader
from dataflow.formats.local_paths import local_path
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.providers import provided
from dataflow.train.checkpoint_management import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    remove_checkpoint,
    update_checkpoint_state,
)
from dataflow.train.global_step import global_step as global_step_value
from dataflow.train.save_graph import build_saver_def, restored_by
from dataflow.train.saveables import (
    OBJECT_GRAPH_KEY,
    all_saveable_objects,
    names_to_saveables,
    validated_saveables,
)

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession


_NO_V1 = (
    "TensorFlow's V1 checkpoint format has been deprecated, and is not written: the checkpoint is as "
    "`tf.train.Saver(write_version=tf.train.SaverDef.V2)`, now on by default, writes it."
)


class Saver:
    """Saves variables to checkpoints and restores them.

    A checkpoint is named by a prefix, such as ``dir/model.ckpt-100``. Its arrays are in
    ``<prefix>.safetensors``, written in one step; ``<prefix>.meta`` holds the graph, and
    ``dir/checkpoint`` says which one is the latest. After
    ``tf.config.experimental.set_checkpoint_format("tensorflow")``, and in programs that `dataflow run` or
    `as_tensorflow` runs, the arrays are in TensorFlow's own files, ``<prefix>.index`` and
    ``<prefix>.data-00000-of-00001``. `restore` reads both.

    Args:
        var_list: variables, as a list or as a dict from name in the checkpoint; by default all
            global variables.
        reshape: restore into variables of another shape with as many elements.
        sharded: each task of a cluster writes its variables itself.
        max_to_keep: how many recent checkpoints to keep; 0 or ``None`` for all.
        keep_checkpoint_every_n_hours: besides, keep one for each so many hours.
        name: of the scope of the nodes ("save").
        saver_def: names of nodes that are in the graph already.
        defer_build: add the nodes at `build` or first use, not now.
        allow_empty: do nothing, rather than raise, where there are no variables.
        pad_step_number: name checkpoints ``model.ckpt-00000100``.
        write_version: V1, a format that TensorFlow 1.15 deprecated, is not written; each save says so.
        save_relative_paths: write relative paths to ``dir/checkpoint``, so that it can be moved.
        filename: the default prefix.

    Raises `ValueError` for no variables and for two of one name, `TypeError` for anything else.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep or 0
        self._keep_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._filename = filename
        self._allow_empty = allow_empty
        self._is_empty = False
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._write_version = write_version
        #: With eager execution: what runs the nodes.
        self._session: Any = None
        self._last_checkpoints: list[tuple[str, float]] = []
        self._to_be_deleted: list[tuple[str, float]] = []
        self._lock = threading.Lock()
        self._meta_cache: tuple[Any, bytes] | None = None
        self.saver_def = saver_def
        if saver_def is not None:
            self._max_to_keep = saver_def.max_to_keep
            self._keep_hours = saver_def.keep_checkpoint_every_n_hours
            self._check_saver_def()
        self._next_checkpoint_time = time.time() + self._keep_hours * 3600
        if not defer_build:
            self.build()

    # ---- building -------------------------------------------------------------------------

    def build(self) -> None:
        """Adds the nodes to the default graph, unless they are there."""
        if self.saver_def is not None or self._is_empty:
            return
        var_list = all_saveable_objects() if self._var_list is None else self._var_list
        if not var_list:
            if self._allow_empty:
                self._is_empty = True
                return
            raise ValueError("No variables to save")
        self._var_list = var_list  # programs of the time look which variables a saver saves
        graph = default_graph()
        if graph.executes_eagerly:  # the nodes are in a graph of their own, with eager variables
            graph = Graph()
            self._session = provided("session")(graph=graph)
            if isinstance(var_list, (list, tuple)):  # TensorFlow lets one be named twice there
                var_list = list({id(v): v for v in var_list}.values())
        with graph.as_default():
            self.saver_def = build_saver_def(
                validated_saveables(var_list),
                reshape=self._reshape,
                sharded=self._sharded,
                max_to_keep=self._max_to_keep,
                keep_checkpoint_every_n_hours=self._keep_hours,
                name=self._name,
                filename=self._filename,
            )

    def _check_saver_def(self) -> None:
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    def as_saver_def(self) -> Any:
        """The ``SaverDef`` with the names of the nodes."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The ``SaverDef``, with names relative to ``export_scope``."""
        if not export_scope:
            return self.saver_def
        if not self.saver_def.filename_tensor_name.startswith(export_scope):
            return None
        result = type(self.saver_def)()
        result.CopyFrom(self.saver_def)
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(result, field, getattr(result, field)[len(export_scope) + 1 :])
        return result

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """The saver whose nodes a ``SaverDef`` (or its bytes) names, below ``import_scope``."""
        if isinstance(saver_def, bytes):
            from tensorboard.compat.proto.saver_pb2 import SaverDef

            copy = SaverDef.FromString(saver_def)
        else:
            copy = type(saver_def)()
            copy.CopyFrom(saver_def)
        if import_scope:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(copy, field, f"{import_scope}/{getattr(copy, field)}")
        return Saver(saver_def=copy, name=import_scope)

    # ---- the list of recent checkpoints ---------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: list[str]) -> None:
        """Takes over a list of checkpoints, oldest first."""
        if not isinstance(last_checkpoints, list):
            raise AssertionError(f"last_checkpoints must be a list: {last_checkpoints!r}")
        self._last_checkpoints = [(path, time.time()) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Any) -> None:
        """Takes over a list of (checkpoint, time in seconds), oldest first."""
        if not isinstance(last_checkpoints_with_time, list):
            raise AssertionError(
                f"last_checkpoints_with_time must be a list: {last_checkpoints_with_time!r}"
            )
        self._last_checkpoints = last_checkpoints_with_time

    def recover_last_checkpoints(self, checkpoint_paths: list[str]) -> None:
        """After a restart: takes over those of the list that still exist, so that old ones go."""
        existing = [path for path in checkpoint_paths if checkpoint_exists(path)]
        times = get_checkpoint_mtimes(list(existing))
        self._last_checkpoints = list(zip(existing, times, strict=True))

    def _record(self, path: str) -> None:
        if not self._max_to_keep:
            return
        kept = [item for item in self._last_checkpoints if item[0] != path]
        kept.append((path, time.time()))
        while len(kept) > self._max_to_keep:
            self._to_be_deleted.append(kept.pop(0))
        self._last_checkpoints = kept

    def _delete_old(self, meta_graph_suffix: str) -> None:
        while self._to_be_deleted:
            path, written = self._to_be_deleted.pop(0)
            if written > self._next_checkpoint_time:
                self._next_checkpoint_time += self._keep_hours * 3600
                continue
            remove_checkpoint(path, meta_graph_suffix=meta_graph_suffix)

    # ---- saving and restoring -------------------------------------------------------------

    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Saves the variables of ``sess``; returns the prefix, for `restore`.

        ``save_path`` is the prefix, to which ``-<global_step>`` (a number, or a tensor to run) is
        added. A save that fails (a full disk, a kill) leaves the checkpoints before it whole.

        Raises `ValueError` for a folder that does not exist, `FailedPreconditionError` for a
        variable without a value, `ResourceExhaustedError` for a full disk.
        """
        if self.saver_def is None and not self._is_empty:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        if self._session is not None:
            sess, write_meta_graph = self._session, False
        if not hasattr(sess, "run") or not hasattr(sess, "graph"):
            raise TypeError(f"'sess' must be a Session; {sess!r}")
        latest_filename = latest_filename or "checkpoint"
        if self._write_version != 2:
            logging.warning(_NO_V1)
        given = os.fsdecode(save_path)
        save_path = local_path(given)
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if global_step is None and os.path.basename(save_path) == latest_filename:
            raise ValueError(f"'latest_filename' collides with 'save_path': {latest_filename!r}")
        # One at a time, so that the latest in the state is the one that was saved last.
        with self._lock:
            saved = self._save(
                sess,
                save_path,
                global_step,
                latest_filename,
                meta_graph_suffix,
                write_meta_graph,
                write_state,
                strip_default_attrs,
            )
        return None if saved is None else given.removesuffix(save_path) + saved

    def _save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any,
        latest_filename: str,
        meta_graph_suffix: str,
        write_meta_graph: bool,
        write_state: bool,
        strip_default_attrs: bool,
    ) -> str | None:
        if global_step is None:
            prefix = save_path
        else:
            if not isinstance(global_step, int) and not hasattr(global_step, "__index__"):
                global_step = global_step_value(sess, global_step)
            number = int(global_step)
            prefix = (
                f"{save_path}-{number:08d}" if self._pad_step_number else f"{save_path}-{number}"
            )
        if self._is_empty:
            if write_meta_graph:
                write_atomically(
                    f"{prefix}.{meta_graph_suffix}",
                    self._meta_bytes(sess.graph, strip_default_attrs),
                )
            return None
        folder = os.path.dirname(save_path)
        try:
            sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: prefix})
        except (FailedPreconditionError, NotFoundError) as error:
            if folder and not os.path.isdir(folder):
                raise ValueError(
                    f"Parent directory of {save_path} doesn't exist, can't save."
                ) from error
            raise
        if write_meta_graph:
            # Before the state: what the state names is complete.
            write_atomically(
                f"{prefix}.{meta_graph_suffix}", self._meta_bytes(sess.graph, strip_default_attrs)
            )
        if write_state:
            self._record(prefix)
            update_checkpoint_state(
                folder,
                prefix,
                self.last_checkpoints,
                latest_filename,
                [when for _, when in self._last_checkpoints] or None,
                save_relative_paths=self._save_relative_paths,
            )
            self._delete_old(meta_graph_suffix)
        from dataflow.summary.projector import export_after_save

        export_after_save(prefix)
        return prefix

    def _meta_bytes(self, graph: Graph, strip_default_attrs: bool) -> bytes:
        """The serialized graph; kept until the graph or a collection changes."""
        sizes = {k: len(graph.get_collection_ref(k)) for k in graph.get_all_collection_keys()}
        key = (graph, graph.version, graph.num_mutations, sizes, strip_default_attrs)
        if self._meta_cache is None or self._meta_cache[0] != key:
            with graph.as_default():
                data = self.export_meta_graph(
                    strip_default_attrs=strip_default_attrs
                ).SerializeToString()
            self._meta_cache = (key, data)
        return self._meta_cache[1]

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Any = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """The default graph as a ``MetaGraphDef``, written to ``filename`` where given."""
        from dataflow.train.meta_graph import export_meta_graph

        return export_meta_graph(
            filename=filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
        )

    def restore(self, sess: Any, save_path: str | None) -> None:
        """Gives the variables of ``sess`` the values of the checkpoint ``save_path``.

        The file is compared with the graph first: where something is missing or has another shape
        or dtype, nothing is restored. The variables need no initialization before.

        Raises `ValueError` where there is no such checkpoint, `NotFoundError` or
        `InvalidArgumentError` with all differences, `DataLossError` for a damaged file.
        """
        if self._is_empty:
            return
        if self._session is not None:
            sess = self._session
        if save_path is None:
            raise ValueError(
                "Can't load save_path when it is None. tf.train.latest_checkpoint gives None for a folder that holds "
                "no checkpoint: look before you restore, and initialize the variables where there is none."
            )
        if self.saver_def is None:
            raise RuntimeError("`build()` should be called before restore if defer_build==True")
        prefix = local_path(save_path)
        if not checkpoint_exists(prefix):
            folder = os.path.dirname(prefix) or "."
            there = f"checkpoints in {folder}: {', '.join(_checkpoints_in(folder)) or 'none'}"
            if not os.path.isdir(folder):
                there = f"there is no folder {folder} in {os.getcwd()}"
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}\n  {there}")
        logging.info("Restoring parameters from %s", prefix)
        graph = sess.graph
        restore_op = graph.get_operation_by_name(self.saver_def.restore_op_name)
        filename = graph.get_tensor_by_name(self.saver_def.filename_tensor_name)
        reader = CheckpointReader(prefix)
        expected = restored_by(restore_op)
        if self._var_list and reader.has_tensor(OBJECT_GRAPH_KEY):
            if not all(map(reader.has_tensor, expected)):
                self._restore_objects(sess, prefix, reader)
                return
        reader.check(expected)
        sess.run(restore_op, {filename: prefix})

    def _restore_objects(self, sess: BaseSession, prefix: str, reader: CheckpointReader) -> None:
        """Of a checkpoint that `Checkpoint` wrote, which knows the names of nodes, too."""
        from dataflow.train.object_restore import keys_by_name, restore_operation

        keys = keys_by_name(reader)
        items = names_to_saveables(self._var_list)
        by_key = {keys.get(name, name): variable for name, variable in items.items()}
        sess.run(restore_operation(prefix, reader, by_key))


def _checkpoints_in(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    endings = (".safetensors", ".index")
    return [n.rpartition(".")[0] for n in names if n.endswith(endings)][:10]


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Adds the nodes and collections of a ``.meta`` file to the default graph.

    Returns its saver, ready to `Saver.restore`; ``None`` where it has no variables. Raises
    `OSError` for a file that does not exist, `ValueError` for one that is damaged or has nodes
    that are not known.
    """
    from dataflow.train.meta_graph import import_scoped_meta_graph, naming, scope_of_import

    is_file = isinstance(meta_graph_or_file, (str, bytes, os.PathLike))
    with naming(os.fsdecode(meta_graph_or_file) if is_file else "import_meta_graph"):
        scope = scope_of_import(import_scope)
        meta_graph, _ = import_scoped_meta_graph(
            meta_graph_or_file, clear_devices, f"{scope}/" if scope else None, **kwargs
        )
        if meta_graph.HasField("saver_def"):
            return Saver.from_proto(meta_graph.saver_def, scope)
        return Saver() if all_saveable_objects(scope) else None
