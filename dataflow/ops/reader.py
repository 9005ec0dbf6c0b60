"""Readers: records of files whose names come from a queue; and whole files at once."""

from __future__ import annotations

from typing import Any

from dataflow.graph.declared_ops import declare_op
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.queues import QueueBase
from dataflow.ops.shape import need_rank
from dataflow.shapes import Dims


@define_op("WholeFileReaderV2", "-> reader_handle: resource", stateful=True, is_handle=True)
def whole_file_reader_op(*, container: str = "", shared_name: str = "") -> Dims:
    """A reader of whole files: the key is the file's name, the value its contents."""
    return ()


text_line_reader_op = declare_op(
    "TextLineReaderV2",
    "-> reader_handle: resource",
    "A reader of lines, without their ends; the key is ``name:line number``.",
    attrs="skip_header_lines: int = 0, container: str = '', shared_name: str = ''",
    stateful=True,
    is_handle=True,
)


@define_op("FixedLengthRecordReaderV2", "-> reader_handle: resource", stateful=True, is_handle=True)
def fixed_length_record_reader_op(
    *,
    header_bytes: int = 0,
    record_bytes: int,
    footer_bytes: int = 0,
    hop_bytes: int = 0,
    container: str = "",
    shared_name: str = "",
    encoding: str = "",
) -> Dims:
    """A reader of records of one length; the key is ``name:record number``."""
    if record_bytes <= 0:
        raise ValueError(f"record_bytes must be > 0, got {record_bytes}")
    return ()


tf_record_reader_op = declare_op(
    "TFRecordReaderV2",
    "-> reader_handle: resource",
    "A reader of TFRecord files; the key is ``name:offset``.",
    attrs="container: str = '', shared_name: str = '', compression_type: str = ''",
    stateful=True,
    is_handle=True,
)


@define_op("IdentityReaderV2", "-> reader_handle: resource", stateful=True, is_handle=True)
def identity_reader_op(*, container: str = "", shared_name: str = "") -> Dims:
    """A reader whose key and value are what the queue holds."""
    return ()


reader_read_op = declare_op(
    "ReaderReadV2",
    "reader_handle: resource, queue_handle: resource -> key: string, value: string",
    "The next record and its key, scalars. Takes the next file from the queue as needed.",
    stateful=True,
    blocks=True,
)
reader_read_up_to_op = declare_op(
    "ReaderReadUpToV2",
    "reader_handle: resource, queue_handle: resource, num_records: int64 "
    "-> keys: string, values: string",
    "Up to ``num_records`` next records and their keys, vectors.",
    (None,),
    stateful=True,
    blocks=True,
)
reader_num_records_produced_op = declare_op(
    "ReaderNumRecordsProducedV2",
    "reader_handle: resource -> records_produced: int64",
    "How many records were read so far, a scalar.",
    stateful=True,
)
reader_num_work_units_completed_op = declare_op(
    "ReaderNumWorkUnitsCompletedV2",
    "reader_handle: resource -> units_completed: int64",
    "How many files were read to their end, a scalar.",
    stateful=True,
)
reader_reset_op = declare_op(
    "ReaderResetV2",
    "reader_handle: resource",
    "Puts the reader back to its first state.",
    stateful=True,
)

reader_serialize_state_op = declare_op(
    "ReaderSerializeStateV2",
    "reader_handle: resource -> state: string",
    "What the reader has read so far, a scalar: a ReaderBaseState message.",
    stateful=True,
)


@define_op("ReaderRestoreStateV2", "reader_handle: resource, state: string ->", stateful=True)
def reader_restore_state_op(reader_handle: Tensor, state: Tensor) -> list[Dims]:
    """Puts the reader into a state that it had. No output. Not differentiable."""
    need_rank(state, 0, "state")
    return []


@define_op("ReadFile", "filename: string -> contents: string")
def read_file(filename: Tensor) -> Dims:
    """The contents of a file, a scalar string; `NotFoundError` when there is none."""
    if filename.dims is not None and filename.dims != ():
        raise ValueError("filename must be a scalar")
    return ()


write_file = declare_op(
    "WriteFile",
    "filename: string, contents: string",
    "An operation that writes a file, making its folder where needed. No output.",
    stateful=True,
)
matching_files = declare_op(
    "MatchingFiles",
    "pattern: string -> filenames: string",
    "Names of files that fit a pattern (``*``, ``?``), or any of a vector of patterns, sorted.",
    (None,),
)


not_differentiable(
    reader_restore_state_op,
    whole_file_reader_op,
    fixed_length_record_reader_op,
    identity_reader_op,
    read_file,
)


class ReaderBase:
    """What all readers share: records one by one, from files whose names a queue holds."""

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the state of the reader can be saved."""
        return self._supports_serialize

    def _queue(self, queue: Any) -> Tensor:
        return queue.queue_ref if isinstance(queue, QueueBase) else queue

    def read(self, queue: Any, name: str | None = None) -> Any:
        """(key, value) of the next record, scalar strings.

        Takes a file name from ``queue`` when the last file is done; `OutOfRangeError` when the
        queue is closed and empty.
        """
        return reader_read_op(self._reader_ref, self._queue(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """(keys, values) of up to ``num_records`` records of one file, string vectors."""
        return reader_read_up_to_op(self._reader_ref, self._queue(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records were read so far."""
        return reader_num_records_produced_op(self._reader_ref, name=name)  # type: ignore[no-any-return]

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files were read to their end."""
        return reader_num_work_units_completed_op(self._reader_ref, name=name)  # type: ignore[no-any-return]

    def reset(self, name: str | None = None) -> Any:
        """An operation that puts the reader back to its first state."""
        return reader_reset_op(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """What the reader has read so far, a scalar string; `UnimplementedError` at run time for
        readers that have places within a file."""
        return reader_serialize_state_op(self._reader_ref, name=name)  # type: ignore[no-any-return]

    def restore_state(self, state: TensorLike, name: str | None = None) -> Any:
        """An operation that puts the reader into a state of `serialize_state`."""
        return reader_restore_state_op(self._reader_ref, state, name=name)


class WholeFileReader(ReaderBase):
    """Reads whole files: key = name, value = contents."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(whole_file_reader_op(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Reads lines, without their ends. ``skip_header_lines`` are left out of each file."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(text_line_reader_op(skip_header_lines=skip_header_lines or 0, name=name))


class FixedLengthRecordReader(ReaderBase):
    """Reads records of ``record_bytes`` each, after ``header_bytes`` and before ``footer_bytes``.

    ``hop_bytes``: from one record to the next, where they overlap. ``encoding``: "" or "ZLIB".
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(
            fixed_length_record_reader_op(
                record_bytes=record_bytes,
                header_bytes=header_bytes or 0,
                footer_bytes=footer_bytes or 0,
                hop_bytes=hop_bytes or 0,
                encoding=encoding or "",
                name=name,
            )
        )


class TFRecordReader(ReaderBase):
    """Reads the records of TFRecord files; ``options`` says how they are compressed."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        from dataflow.formats.record_files import compression_name

        super().__init__(
            tf_record_reader_op(
                compression_type="" if options is None else compression_name(options), name=name
            )
        )


class IdentityReader(ReaderBase):
    """Key and value are both what the queue holds."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(identity_reader_op(name=name), supports_serialize=True)
