"""Ops that write events by themselves: a writer is a resource, made by an op of its own.

`tf.summary` makes messages that the program hands to a `FileWriter`; with these ops, which
`tf.contrib.summary` is made of, the run writes them. Every op with a ``step`` takes a scalar int64, adds one event to
the writer's file, and has no output. It raises `NotFoundError` where the writer was not made, or was closed.
"""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import REAL_NUMBERS
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.op_def import OpDef
from dataflow.graph.op_signature import Defaulted

summary_writer_op = declare_op(
    "SummaryWriter",
    "-> writer: resource",
    "A writer of events, which CreateSummaryFileWriter gives a file. A scalar handle.",
    attrs="shared_name: str = '', container: str = ''",
    stateful=True,
    is_handle=True,
)


def _writes(op_type: str, signature: str, what: str, attrs: str = "", **options: Any) -> OpDef:
    return declare_op(
        op_type, signature, what, attrs=attrs, stateful=True, has_side_effect=True, **options
    )


create_summary_file_writer_op = _writes(
    "CreateSummaryFileWriter",
    "writer: resource, logdir: string, max_queue: int32, flush_millis: int32, "
    "filename_suffix: string",
    "Opens a new event file in ``logdir``; does nothing where the writer has one. All are scalars.",
)
flush_summary_writer_op = _writes(
    "FlushSummaryWriter",
    "writer: resource",
    "Hands all events to the operating system, so that TensorBoard sees them.",
)
close_summary_writer_op = _writes(
    "CloseSummaryWriter", "writer: resource", "Finishes the file and forgets it."
)
write_summary_op = _writes(
    "WriteSummary",
    "writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string",
    "Writes a whole tensor, and metadata that says which plugin shows it.",
)
write_raw_proto_summary_op = _writes(
    "WriteRawProtoSummary",
    "writer: resource, step: int64, tensor: string",
    "Writes a serialized ``Summary``, or one event with each of an array of them.",
)
import_event_op = _writes(
    "ImportEvent", "writer: resource, event: string", "Writes a serialized ``Event``, a scalar."
)
write_scalar_summary_op = _writes(
    "WriteScalarSummary",
    "writer: resource, step: int64, tag: string, value: T",
    "Writes one number.",
    T=REAL_NUMBERS,
)
write_histogram_summary_op = _writes(
    "WriteHistogramSummary",
    "writer: resource, step: int64, tag: string, values: T",
    "Writes the histogram of all values. A NaN is an error.",
    T=Defaulted(dtypes.float32, frozenset({*REAL_NUMBERS, dtypes.bool_})),
)
write_image_summary_op = _writes(
    "WriteImageSummary",
    "writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8",
    "Writes up to ``max_images`` pictures of ``[n, height, width, channels]``.",
    "max_images: int = 3",
    T=Defaulted(
        dtypes.float32,
        frozenset({dtypes.uint8, dtypes.float16, dtypes.float32, dtypes.float64}),
    ),
)
write_audio_summary_op = _writes(
    "WriteAudioSummary",
    "writer: resource, step: int64, tag: string, tensor: float32, sample_rate: float32",
    "Writes up to ``max_outputs`` sounds of ``[n, frames]`` or ``[n, frames, channels]``.",
    "max_outputs: int = 3",
)
write_graph_summary_op = _writes(
    "WriteGraphSummary",
    "writer: resource, step: int64, tensor: string",
    "Writes a serialized ``GraphDef``, a scalar.",
)
