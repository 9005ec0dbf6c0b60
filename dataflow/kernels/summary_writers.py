"""Kernels of the ops that write events: the file is held in the host's memory, by the session's resource."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError, NotFoundError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text

if TYPE_CHECKING:
    from dataflow.formats.event_files import EventFileWriter
    from dataflow.runtime.cancellation import Cancellation
    from dataflow.runtime.kernel_context import KernelContext

_REASON = "the host writes files"


class SummaryWriterResource:
    """A writer: without a file until `open`, and again after `close`."""

    def __init__(self, name: str, session: Cancellation) -> None:
        self.name = name
        self._session = session
        self._lock = threading.Lock()
        self._writer: EventFileWriter | None = None
        self._closer: weakref.finalize[Any, Any] | None = None
        self._token = 0

    def open(self, logdir: str, max_queue: int, flush_secs: float, suffix: str) -> None:
        """Makes the file, unless there is one."""
        from dataflow.formats.event_files import EventFileWriter

        with self._lock:
            if self._writer is not None:
                return
            writer = EventFileWriter(logdir, max_queue, flush_secs, suffix)
            self._writer = writer
            # Nothing is lost where the program closes no writer: the end of the session or of Python does.
            self._closer = weakref.finalize(self, writer.close)
            self._token = self._session.register(writer.flush)

    def opened(self) -> EventFileWriter:
        """The file; raises `NotFoundError` where there is none."""
        writer = self._writer
        if writer is None:
            raise NotFoundError(
                None,
                None,
                f"The summary writer {self.name!r} does not exist: it was not made yet, or was closed. "
                "Run tf.contrib.summary.summary_writer_initializer_op() or "
                "tf.contrib.summary.initialize(session=...) first.",
            )
        return writer

    def close(self) -> None:
        """Finishes the file; raises `NotFoundError` where there is none."""
        with self._lock:
            self.opened().close()
            self._writer = None
            self._session.unregister(self._token)
            if self._closer is not None:
                self._closer.detach()

    def add(self, step: Any, **parts: Any) -> None:
        """Writes an event with these fields; raises as `opened` does."""
        from dataflow.formats.event_files import new_event

        writer = self.opened()
        writer.add_event(new_event(step=np.asarray(step), **parts))


@kernel("SummaryWriter", stateful=True)
def summary_writer_kernel(context: KernelContext) -> Any:
    return context.resource(
        "summary_writer",
        lambda: SummaryWriterResource(context.resource_name, context.cancellation),
    )


@kernel("CreateSummaryFileWriter", cpu_only=_REASON)
def create_summary_file_writer_kernel(
    xp: Module,
    writer: Any,
    logdir: Array,
    max_queue: Array,
    flush_millis: Array,
    filename_suffix: Array,
) -> tuple[()]:
    # TensorFlow flushes when there are more than max_queue, the writer of files at that number.
    writer.open(text(logdir), int(max_queue) + 1, int(flush_millis) / 1000, text(filename_suffix))
    return ()


@kernel("FlushSummaryWriter", cpu_only=_REASON)
def flush_summary_writer_kernel(xp: Module, writer: Any) -> tuple[()]:
    writer.opened().flush()
    return ()


@kernel("CloseSummaryWriter", cpu_only=_REASON)
def close_summary_writer_kernel(xp: Module, writer: Any) -> tuple[()]:
    writer.close()
    return ()


@kernel("WriteSummary", cpu_only=_REASON)
def write_summary_kernel(
    xp: Module, writer: Any, step: Array, tensor: Array, tag: Array, summary_metadata: Array
) -> tuple[()]:
    from dataflow.formats.summary_protos import fill_tensor_proto, new_summary

    summary = new_summary()
    value = summary.value.add(tag=text(tag))
    fill_tensor_proto(value.tensor, tensor)
    if metadata := _bytes(summary_metadata):
        value.metadata.MergeFromString(metadata)
    writer.add(step, summary=summary)
    return ()


@kernel("WriteRawProtoSummary", cpu_only=_REASON)
def write_raw_proto_summary_kernel(
    xp: Module, writer: Any, step: Array, tensor: Array
) -> tuple[()]:
    from dataflow.formats.summary_protos import parse_summary

    for item in np.asarray(tensor, object).reshape(-1):
        writer.add(step, summary=parse_summary(bytes(item)))
    return ()


@kernel("ImportEvent", cpu_only=_REASON)
def import_event_kernel(xp: Module, writer: Any, event: Array) -> tuple[()]:
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.event_pb2 import Event

    serialized = _bytes(event)
    try:
        Event.FromString(serialized)
    except DecodeError as error:
        raise InvalidArgumentError(
            None, None, f"{serialized[:20]!r}... is not a serialized Event: {error}."
        ) from error
    writer.opened().add_event(serialized)
    return ()


@kernel("WriteScalarSummary", cpu_only=_REASON)
def write_scalar_summary_kernel(
    xp: Module, writer: Any, step: Array, tag: Array, value: Array
) -> tuple[()]:
    from dataflow.formats.summary_protos import scalar_summary

    writer.add(step, summary=scalar_summary(text(tag), value))
    return ()


@kernel("WriteHistogramSummary", cpu_only=_REASON)
def write_histogram_summary_kernel(
    xp: Module, writer: Any, step: Array, tag: Array, values: Array
) -> tuple[()]:
    from dataflow.formats.summary_protos import histogram_summary

    writer.add(step, summary=histogram_summary(text(tag), values))
    return ()


@kernel("WriteImageSummary", cpu_only=_REASON)
def write_image_summary_kernel(
    xp: Module,
    writer: Any,
    step: Array,
    tag: Array,
    tensor: Array,
    bad_color: Array,
    *,
    max_images: int,
) -> tuple[()]:
    from dataflow.formats.summary_protos import image_summary

    color = np.asarray(bad_color).reshape(-1).tolist()
    writer.add(step, summary=image_summary(text(tag), tensor, max_images, color))
    return ()


@kernel("WriteAudioSummary", cpu_only=_REASON)
def write_audio_summary_kernel(
    xp: Module,
    writer: Any,
    step: Array,
    tag: Array,
    tensor: Array,
    sample_rate: Array,
    *,
    max_outputs: int,
) -> tuple[()]:
    from dataflow.formats.summary_protos import audio_summary

    rate = float(np.asarray(sample_rate))
    writer.add(step, summary=audio_summary(text(tag), tensor, rate, max_outputs))
    return ()


@kernel("WriteGraphSummary", cpu_only=_REASON)
def write_graph_summary_kernel(xp: Module, writer: Any, step: Array, tensor: Array) -> tuple[()]:
    writer.add(step, graph_def=_bytes(tensor))
    return ()


def _bytes(value: Array) -> bytes:
    return bytes(np.asarray(value, object).reshape(-1)[0])
