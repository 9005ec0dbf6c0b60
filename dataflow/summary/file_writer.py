"""`FileWriter`: summaries, graphs and run metadata into an event file."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from dataflow.formats.event_files import EventFileWriter, new_event
from dataflow.formats.local_paths import local_path
from dataflow.formats.summary_protos import parse_summary
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.summary.plugin_asset import write_assets

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable
    from dataflow.runtime.base_session import BaseSession


class FileWriter:
    """Writes to one new event file in ``logdir``, which TensorBoard reads.

    Args:
        logdir: the folder, which is made if need be.
        graph: a graph to write at once, as `add_graph` does.
        max_queue: after so many events the file is flushed.
        flush_secs: an event that comes this long after the last flush flushes the file.
        graph_def: the old form of ``graph``.
        filename_suffix: put at the end of the file's name.
        session: accepted.

    A context manager: leaving the block closes it.
    """

    def __init__(
        self,
        logdir: Any,
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: BaseSession | None = None,
    ) -> None:
        self.event_writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        self._tags_with_metadata: set[str] = set()
        self._session_run_tags: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
            from dataflow.train.meta_graph import export_meta_graph

            given = graph if graph_def is None else graph_def
            if hasattr(given, "as_graph_def"):
                given = given.as_graph_def(add_shapes=True)
            self.add_meta_graph(export_meta_graph(graph_def=given))

    def get_logdir(self) -> str:
        """The folder."""
        return self.event_writer.get_logdir()

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Adds a ``Summary``: the message, or the bytes that running a summary op gives."""
        message = parse_summary(summary)
        for value in message.value:
            if not value.HasField("metadata"):
                continue
            # TensorBoard needs the metadata of a tag once.
            if value.tag in self._tags_with_metadata:
                value.ClearField("metadata")
            else:
                self._tags_with_metadata.add(value.tag)
        self.add_event(new_event(summary=message, step=global_step))

    def add_event(self, event: Any) -> None:
        """Adds an ``Event`` message."""
        self.event_writer.add_event(event)

    def add_graph(
        self,
        graph: Graph | None,
        global_step: Tensor | Variable | None = None,
        graph_def: Any = None,
    ) -> None:
        """Adds a `Graph` (or, as before 1.0, a ``GraphDef``).

        Raises `TypeError` for anything else, `ValueError` for neither.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        source = graph if graph is not None else graph_def
        if source is None:
            raise ValueError("Please pass a graph.")
        if hasattr(source, "as_graph_def"):
            proto = source.as_graph_def(add_shapes=True)
        elif hasattr(source, "node"):
            proto = source
        else:
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, "
                f"got {type(source).__name__}."
            )
        self.event_writer.add_graph_def(proto, global_step)
        if isinstance(source, Graph):
            write_assets(source, self.get_logdir())

    def add_meta_graph(
        self, meta_graph_def: Any, global_step: Tensor | Variable | None = None
    ) -> None:
        """Adds a ``MetaGraphDef``."""
        if not hasattr(meta_graph_def, "graph_def"):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw {meta_graph_def!r}")
        self.event_writer.add_meta_graph_def(meta_graph_def, global_step)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Adds a ``SessionLog`` message."""
        self.add_event(new_event(session_log=session_log, step=global_step))

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Adds what one run took, under a tag. Raises `ValueError` for a tag used before."""
        if tag in self._session_run_tags:
            raise ValueError(f"The provided tag was already used for this event type: {tag!r}")
        self._session_run_tags.add(tag)
        self.event_writer.add_run_metadata(run_metadata, tag, global_step)

    def flush(self) -> None:
        """Hands all events to the operating system, so that TensorBoard sees them."""
        self.event_writer.flush()

    def close(self) -> None:
        """Finishes the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """After `close`, goes on in a new file of the same folder."""
        self.event_writer.reopen()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FileWriterCache:
    """One `FileWriter` for each folder."""

    _cache: dict[str, FileWriter] = {}
    _lock = threading.RLock()

    @classmethod
    def clear(cls) -> None:
        """Closes all writers and forgets them."""
        with cls._lock:
            for writer in cls._cache.values():
                writer.close()
            cls._cache.clear()

    @classmethod
    def get(cls, logdir: Any) -> FileWriter:
        """The writer of a folder, made if need be, with the default graph in it."""

        key = local_path(logdir)
        with cls._lock:
            if key not in cls._cache:
                cls._cache[key] = FileWriter(key, graph=default_graph())
            return cls._cache[key]
