"""Event files, which TensorBoard reads: `Event` messages in a TFRecord file.

The messages are the ``tensorboard`` package's. The records are written by `TFRecordWriter`, in the
caller's thread: no thread to leak into a forked worker, a full disk is reported where it happens,
and the checksums are some fifty times quicker than that package's, which go byte by byte.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from dataflow.formats.local_paths import local_path
from dataflow.formats.record_files import TFRecordWriter
from dataflow.formats.summary_protos import parse_summary

_numbers = itertools.count()


class EventFileWriter:
    """Appends events to one new file in a folder; safe to call from several threads.

    Args:
        logdir: the folder, which is made if need be.
        max_queue: after so many events the file is flushed.
        flush_secs: an event that comes this long after the last flush flushes the file.
        filename_suffix: put at the end of the file's name.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._logdir = local_path(logdir)
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._suffix = filename_suffix or ""
        self._lock = threading.RLock()
        self._writer: TFRecordWriter | None = None
        self._open()

    def _open(self) -> None:
        os.makedirs(self._logdir, exist_ok=True)
        # Time first, so that names sort by age; process and number, so that no two are the same.
        name = (
            f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}."
            f"{os.getpid()}.{next(_numbers)}{self._suffix}"
        )
        self._path = os.path.join(self._logdir, name)
        self._writer = TFRecordWriter(self._path)
        self._num_pending = 0
        self._last_flush_seconds = time.monotonic()
        first = new_event(file_version="brain.Event:2")
        first.source_metadata.writer = "dataflow.formats.event_files"
        self.add_event(first)
        self.flush()

    @property
    def path(self) -> str:
        """The file that is being written, or was last."""
        return self._path

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def add_event(self, event: Any) -> None:
        """Append an ``Event`` message, or its serialized bytes; a closed writer only warns."""
        record = event if isinstance(event, bytes) else event.SerializeToString()
        with self._lock:
            if self._writer is None:
                import warnings

                warnings.warn(
                    f"{self._path}: an event was added to a closed writer and is lost; "
                    "call reopen() first.",
                    stacklevel=2,
                )
                return
            self._writer.write(record)
            self._num_pending += 1
            waited = time.monotonic() - self._last_flush_seconds
            if self._num_pending >= self._max_queue or waited >= self._flush_secs:
                self.flush()

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        """Append a ``Summary`` (message or serialized bytes, as session.run returns them)."""
        self.add_event(new_event(summary=parse_summary(summary), step=global_step))

    def add_graph_def(self, graph_def: Any, global_step: Any = None) -> None:
        """Append a graph: a ``GraphDef`` message of any package, or its serialized bytes."""
        self.add_event(new_event(graph_def=_serialized(graph_def), step=global_step))

    def add_meta_graph_def(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Append a ``MetaGraphDef`` message, or its serialized bytes."""
        self.add_event(new_event(meta_graph_def=_serialized(meta_graph_def), step=global_step))

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Append what one step took: a ``RunMetadata`` message, or its serialized bytes."""
        event = new_event(step=global_step)
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = _serialized(run_metadata)
        self.add_event(event)

    def add_session_log(self, status: str, global_step: Any = None, message: str = "") -> None:
        """Append that a session started or stopped: ``"START"``, ``"STOP"`` or ``"CHECKPOINT"``."""
        from tensorboard.compat.proto.event_pb2 import SessionLog

        event = new_event(step=global_step)
        event.session_log.status = SessionLog.SessionStatus.Value(status)
        event.session_log.msg = message
        self.add_event(event)

    def flush(self) -> None:
        """Hand all events to the operating system, so that TensorBoard sees them."""
        with self._lock:
            if self._writer is not None:
                self._writer.flush()
                self._num_pending = 0
                self._last_flush_seconds = time.monotonic()

    def close(self) -> None:
        """Finish the file. Closing twice is allowed."""
        with self._lock:
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.close()

    def reopen(self) -> None:
        """After `close`, go on in a new file of the same folder; does nothing while open."""
        with self._lock:
            if self._writer is None:
                self._open()

    def __enter__(self) -> EventFileWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # At the interpreter's end modules may be gone already; what is lost then is a file handle.
        with contextlib.suppress(Exception):
            self.close()


def new_event(step: Any = None, **parts: Any) -> Any:
    """An ``Event`` message of now with these fields; ``step`` may be an int, an array, or None."""
    from tensorboard.compat.proto.event_pb2 import Event

    event = Event(wall_time=time.time(), **parts)
    if step is not None:
        event.step = int(step)
    return event


def _serialized(message: Any) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()


def read_events(path: str | os.PathLike[str]) -> Any:
    """The ``Event`` messages of a file, one by one; raises as `tf_record_iterator` does."""
    from tensorboard.compat.proto.event_pb2 import Event

    from dataflow.formats.record_files import tf_record_iterator

    for record in tf_record_iterator(path):
        yield Event.FromString(record)


def read_scalars(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, float]]]:
    """(step, tag -> value) for each event of a file that has scalars, in the file's order."""
    for event in read_events(path):
        values = event.summary.value
        scalars = {v.tag: v.simple_value for v in values if v.HasField("simple_value")}
        if scalars:
            yield event.step, scalars
