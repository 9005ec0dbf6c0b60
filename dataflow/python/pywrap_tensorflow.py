"""``from tensorflow.python import pywrap_tensorflow``: the reader of checkpoints, a writer of events."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from dataflow.errors import NotFoundError, OutOfRangeError, UnimplementedError
from dataflow.formats.checkpoint_reader import NewCheckpointReader
from dataflow.formats.event_files import new_event
from dataflow.formats.record_files import RecordReader, TFRecordWriter

__all__ = [
    "EventsWriter",
    "NewCheckpointReader",
    "PyRecordReader_New",
    "TF_TryEvaluateConstant_wrapper",
]


def TF_TryEvaluateConstant_wrapper(graph: Any, output: Any) -> Any:
    """What ``output`` is, where the graph alone tells, else ``None``: `tf.get_static_value`.

    Libraries call it with ``tensor.graph._c_graph`` and ``tensor._as_tf_output()``.
    """
    from dataflow.ops.tensor_values import constant_value

    return constant_value(output)


class EventsWriter:
    """Writes ``Event`` messages to a file whose name begins with ``file_prefix``, text or bytes.

    The file is made by the first event; `FileName` says its path.
    """

    def __init__(self, file_prefix: str | bytes) -> None:
        self._prefix = os.fsdecode(file_prefix)
        self._suffix = ""
        self._path = ""
        self._writer: TFRecordWriter | None = None

    def InitWithSuffix(self, suffix: str | bytes) -> None:
        """Opens the file, with ``suffix`` at the end of its name."""
        self._suffix = os.fsdecode(suffix)
        self._open()

    def _open(self) -> TFRecordWriter:
        if self._writer is None:
            host = socket.gethostname()
            self._path = f"{self._prefix}.out.tfevents.{int(time.time()):010d}.{host}{self._suffix}"
            self._writer = TFRecordWriter(self._path)
            self._writer.write(new_event(file_version="brain.Event:2").SerializeToString())
        return self._writer

    def FileName(self) -> bytes:
        """The path of the file, as bytes."""
        self._open()
        return os.fsencode(self._path)

    def WriteEvent(self, event: Any) -> None:
        """Appends an event."""
        self._open().write(event.SerializeToString())

    def Flush(self) -> bool:
        """Writes out what is buffered; True."""
        self._open().flush()
        return True

    def Close(self) -> bool:
        """Closes the file; a later event begins another."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        return True


class PyRecordReader_New:  # noqa: N801  (TensorFlow's name)
    """Reads the records of a file, which may grow: TensorBoard's readers go on where they were.

    Raises `NotFoundError` where there is no file.
    """

    def __init__(
        self,
        filename: str | bytes,
        start_offset: int = 0,
        compression_type: str | bytes = "",
        status: Any = None,
    ) -> None:
        self._path = os.fsdecode(filename)
        if compression_type:
            raise UnimplementedError(
                message=f"{self._path}: a file that grows is read uncompressed."
            )
        try:
            self._file = open(self._path, "rb")  # noqa: SIM115  (until Close)
        except FileNotFoundError:
            raise NotFoundError(message=f"{self._path}: there is no such file.") from None
        self._offset_bytes, self._record = start_offset, b""

    def GetNext(self, status: Any = None) -> None:
        """Goes to the next record.

        Raises `OutOfRangeError` at the end of the file and `DataLossError` within a record; a later call
        tries again from there.
        """
        self._file.seek(self._offset_bytes)
        record = next(iter(RecordReader(self._file, self._path, "")), None)
        if record is None:
            raise OutOfRangeError(message=f"{self._path}: eof")
        self._record = record
        self._offset_bytes = self._file.tell()

    def record(self) -> bytes:
        """The record that `GetNext` went to."""
        return self._record

    def offset(self) -> int:
        """Where the next record begins, in bytes."""
        return self._offset_bytes

    def Close(self) -> None:
        """Closes the file."""
        self._file.close()
