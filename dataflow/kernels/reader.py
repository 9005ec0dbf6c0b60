"""Readers of files, and reading and writing whole files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnimplementedError,
)
from dataflow.formats.compression import unpack
from dataflow.formats.local_paths import local_path, matching_paths
from dataflow.formats.object_arrays import object_array
from dataflow.formats.protobuf_wire import (
    BYTES,
    VARINT,
    WireError,
    bytes_field,
    fields,
    varint_field,
)
from dataflow.formats.record_files import compression_name, tf_record_iterator
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.located_lines import text_lines
from dataflow.kernels.registry import kernel
from dataflow.kernels.string import one

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_REASON = "files are read by the host"


def _text(value: Any) -> Any:
    item = np.asarray(value, object)[()]
    return item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else str(item)


def _scalar(data: bytes) -> Any:
    out = np.empty((), object)
    out[()] = data
    return out


def read_bytes(path: str) -> bytes:
    """The contents of a file; errors as TensorFlow's classes."""
    try:
        with open(local_path(path), "rb") as file:
            return file.read()
    except FileNotFoundError as e:
        raise NotFoundError(None, None, f"{path}; No such file or directory") from e
    except IsADirectoryError as e:
        raise FailedPreconditionError(None, None, f"{path}; Is a directory") from e
    except PermissionError as e:
        raise PermissionDeniedError(None, None, f"{path}; Permission denied") from e


class Reader:
    """The state of a reader: the file being read and counts of what was read."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        self.records: Iterator[tuple[str, bytes]] | None = None
        self.num_records = 0
        self.num_files = 0
        self.path = ""

    def open(self, path: str) -> Iterator[tuple[str, bytes]]:
        raise NotImplementedError

    #: Whether a file is one record, so that counts and the last file say all of the reader's state.
    has_whole_files = False

    def state(self) -> bytes:
        """A ReaderBaseState message: files begun, files done, records read, and the last file."""
        if not self.has_whole_files:
            raise UnimplementedError(None, None, "This reader cannot serialize its state.")
        with self.lock:
            counts = (self.num_files, self.num_files, self.num_records)
            path = self.path.encode("utf-8", "surrogateescape")
        numbers = b"".join(varint_field(i, count) for i, count in enumerate(counts, 1) if count)
        return numbers + (bytes_field(4, path) if path else b"")

    def restore(self, state: bytes) -> bool:
        """Puts back what `state` gave; False where the bytes are none such."""
        if not self.has_whole_files:
            raise UnimplementedError(None, None, "This reader cannot restore its state.")
        kinds = {1: VARINT, 2: VARINT, 3: VARINT, 4: BYTES}
        found: dict[int, Any] = {1: 0, 2: 0, 3: 0, 4: b""}
        try:
            for number, kind, value in fields(state):
                if number == 0 or kinds.get(number, kind) != kind:
                    return False
                found[number] = value
        except WireError:
            return False
        begun, done, num_records = (found[i] for i in (1, 2, 3))
        if begun > done or max(begun, done, num_records) >= 1 << 63:
            return False  # in the middle of a file, or a negative number
        with self.lock:
            self.records, self.num_files, self.num_records = None, done, num_records
            self.path = bytes(found[4]).decode("utf-8", "surrogateescape")
        return True

    def next(self, context: Any, queue: Any) -> tuple[bytes, bytes]:
        """The next record, from the next file of the queue where needed."""
        with self.lock:
            while True:
                if self.records is None:
                    self.path = _text(queue.dequeue(context, 1)[0][0])
                    self.records = self.open(self.path)
                try:
                    key, value = next(self.records)
                except StopIteration:
                    self.records = None
                    self.num_files += 1
                    continue
                except BaseException:
                    self.records = None
                    raise
                self.num_records += 1
                if self.has_whole_files:
                    self.records = None
                    self.num_files += 1
                return key.encode("utf-8", "surrogateescape"), value

    def up_to(self, context: Any, queue: Any, count: int) -> list[tuple[bytes, bytes]]:
        with self.lock:
            result = [self.next(context, queue)]
            while len(result) < count and self.records is not None:
                try:
                    key, value = next(self.records)
                except StopIteration:
                    self.records = None
                    self.num_files += 1
                    break
                self.num_records += 1
                result.append((key.encode("utf-8", "surrogateescape"), value))
            return result


class WholeFiles(Reader):
    has_whole_files = True

    def open(self, path: str) -> Iterator[tuple[str, bytes]]:
        yield path, read_bytes(path)


class Names(Reader):
    has_whole_files = True

    def open(self, path: str) -> Iterator[tuple[str, bytes]]:
        yield path, path.encode("utf-8", "surrogateescape")


class Lines(Reader):
    def __init__(self, skip: int) -> None:
        self.skip = skip
        super().__init__()

    def open(self, path: str) -> Iterator[tuple[str, bytes]]:
        try:
            file = open(local_path(path), "rb")  # noqa: SIM115  (closed below, when the generator ends)
        except OSError:
            read_bytes(path)  # raises the right error
            raise
        with file:
            for line in text_lines(path, file):
                if line.number > self.skip:
                    yield f"{path}:{line.number}", line


class FixedLength(Reader):
    def __init__(self, header: int, record: int, footer: int, hop: int, encoding: str) -> None:
        self.sizes = header, record, footer, hop or record
        self.encoding = compression_name(encoding)
        super().__init__()

    def open(self, path: str) -> Iterator[tuple[str, bytes]]:
        header, record, footer, hop = self.sizes
        data = read_bytes(path)
        if self.encoding:
            try:
                data = unpack(data, self.encoding)
            except InvalidArgumentError as e:
                raise DataLossError(None, None, f"{path}: {e.message}") from e
        end = len(data) - footer
        for number, start in enumerate(range(header, end - record + 1, hop)):
            yield f"{path}:{number}", data[start : start + record]


class Records(Reader):
    def __init__(self, compression: str) -> None:
        self.compression = compression
        super().__init__()

    def open(self, path: str) -> Iterator[tuple[str, bytes]]:
        offset = 0
        for record in tf_record_iterator(path, self.compression or None):
            yield f"{path}:{offset}", record
            offset += 16 + len(record)


@kernel("WholeFileReaderV2", stateful=True)
def whole_file_reader_kernel(context: KernelContext) -> Any:
    return context.resource("reader", WholeFiles)


@kernel("IdentityReaderV2", stateful=True)
def identity_reader_kernel(context: KernelContext) -> Any:
    return context.resource("reader", Names)


@kernel("TextLineReaderV2", stateful=True)
def text_line_reader_kernel(context: KernelContext, *, skip_header_lines: int) -> Any:
    return context.resource("reader", lambda: Lines(skip_header_lines))


@kernel("FixedLengthRecordReaderV2", stateful=True)
def fixed_length_record_reader_kernel(
    context: KernelContext,
    *,
    header_bytes: int,
    record_bytes: int,
    footer_bytes: int,
    hop_bytes: int,
    encoding: str,
) -> Any:
    return context.resource(
        "reader",
        lambda: FixedLength(header_bytes, record_bytes, footer_bytes, hop_bytes, encoding),
    )


@kernel("TFRecordReaderV2", stateful=True)
def tf_record_reader_kernel(context: KernelContext, *, compression_type: str) -> Any:
    return context.resource("reader", lambda: Records(compression_type))


@kernel("ReaderReadV2", stateful=True, cpu_only=_REASON)
def reader_read_kernel(context: KernelContext, reader_handle: Any, queue_handle: Any) -> Any:
    key, value = reader_handle.next(context, queue_handle)
    return _scalar(key), _scalar(value)


@kernel("ReaderReadUpToV2", stateful=True, cpu_only=_REASON)
def reader_read_up_to_kernel(
    context: KernelContext, reader_handle: Any, queue_handle: Any, num_records: Array
) -> Any:
    pairs = reader_handle.up_to(context, queue_handle, int(num_records))
    return object_array([k for k, _ in pairs]), object_array([bytes(v) for _, v in pairs])


@kernel("ReaderNumRecordsProducedV2")
def reader_num_records_produced_kernel(xp: Module, reader_handle: Any) -> Any:
    return np.int64(reader_handle.num_records)


@kernel("ReaderNumWorkUnitsCompletedV2")
def reader_num_work_units_completed_kernel(xp: Module, reader_handle: Any) -> Any:
    return np.int64(reader_handle.num_files)


@kernel("ReaderResetV2")
def reader_reset_kernel(xp: Module, reader_handle: Any) -> tuple[()]:
    with reader_handle.lock:
        reader_handle.reset()
    return ()


@kernel("ReaderSerializeStateV2", cpu_only=_REASON)
def reader_serialize_state_kernel(xp: Module, reader_handle: Any) -> Any:
    return _scalar(reader_handle.state())


@kernel("ReaderRestoreStateV2", cpu_only=_REASON)
def reader_restore_state_kernel(xp: Module, reader_handle: Any, state: Array) -> tuple[()]:
    if not reader_handle.restore(one(state)):
        raise ValueError(f"Could not parse state for the reader: {one(state)!r}")
    return ()


@kernel("ReadFile", cpu_only=_REASON)
def read_file_kernel(xp: Module, filename: Array) -> Any:
    return _scalar(read_bytes(_text(filename)))


@kernel("WriteFile", cpu_only=_REASON)
def write_file_kernel(xp: Module, filename: Array, contents: Array) -> tuple[()]:
    path = local_path(_text(filename))
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    data = np.asarray(contents, object)[()]
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else str(data).encode())
    return ()


@kernel("MatchingFiles", cpu_only=_REASON)
def matching_files_kernel(xp: Module, pattern: Array) -> Any:
    found: set[str] = set()
    for item in np.asarray(pattern, object).reshape(-1):
        text = item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else str(item)
        found.update(matching_paths(text))
    names = sorted(found)
    return object_array([n.encode("utf-8", "surrogateescape") for n in names])
