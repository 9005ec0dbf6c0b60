"""``tf.compat.v2.summary``: summaries that go to the current writer, each with its step.

They are written unless `record_if` says otherwise. Each function returns a bool tensor: computing it writes the
event, and its value tells whether an event was written (False without a writer).
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.casts import cast
from dataflow.ops.image_color import convert_image_dtype
from dataflow.ops.sources import constant
from dataflow.summary import recording, writers
from dataflow.summary.writers import (
    SummaryWriter as SummaryWriter,
    create_file_writer,
    flush,
    record_if,
    should_record_summaries,
    summary_state,
)

__all__ = [
    "audio",
    "create_file_writer",
    "create_noop_writer",
    "experimental",
    "flush",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "write",
]


class _Default:
    """The step of summaries for which none is given."""

    step: Any = None


def _set_step(step: Any) -> None:
    """Sets the default step (an integer or an int64 scalar) of summaries; ``None`` removes it."""
    _Default.step = step


def _get_step() -> Any:
    """The default step, as it was last set."""
    return _Default.step


experimental = SimpleNamespace(get_step=_get_step, set_step=_set_step)


def create_noop_writer() -> SummaryWriter:
    """A writer that writes nothing."""
    return create_file_writer(None)


def _recorded(step: Any, record: Callable[[Any], Any]) -> Any:
    """What ``record(step)`` makes; raises `ValueError` where a summary would be written without a step."""
    if summary_state.writer is None:
        return constant(False)
    if step is None:
        step = _Default.step
    if step is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or through "
            "tf.summary.experimental.set_step()"
        )
    if summary_state.is_recording is not None:
        return record(step)
    with writers.record_if(True):
        return record(step)


def write(tag: str, tensor: TensorLike, step: Any = None, metadata: Any = None, name: str | None = None) -> Any:  # fmt: skip
    """Writes a whole tensor; ``metadata`` (a ``SummaryMetadata``) says which plugin shows it.

    Here and below: ``step`` is an integer or an int64 scalar, by default what ``experimental.set_step`` was given;
    raises `ValueError` where there is neither.
    """
    return _recorded(step, lambda at: recording.generic(tag, tensor, metadata, step=at))


def scalar(name: str, data: TensorLike, step: Any = None, description: str | None = None) -> Any:
    """Writes one number, as float32. ``description``, here and below, is accepted and ignored."""
    return write(name, cast(data, dtypes.float32), step, _metadata("scalars"))


def histogram(
    name: str,
    data: TensorLike,
    step: Any = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Any:
    """Writes the distribution of a tensor's values, of any shape, in the buckets of `tf.summary.histogram`."""
    return _recorded(step, lambda at: recording.histogram(name, data, step=at))


def image(
    name: str,
    data: TensorLike,
    step: Any = None,
    max_outputs: int = 3,
    description: str | None = None,
) -> Any:
    """Writes the first pictures of ``[n, height, width, 1, 3 or 4]``: uint8, or floats from 0 to 1."""
    return _recorded(
        step,
        lambda at: recording.image(
            name,
            convert_image_dtype(data, dtypes.uint8, saturate=True),
            max_images=max_outputs,
            step=at,
        ),
    )


def audio(
    name: str,
    data: TensorLike,
    sample_rate: Any,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Any:
    """Writes the first sounds of ``[n, frames, channels]``, from -1 to 1."""
    return _recorded(
        step, lambda at: recording.audio(name, data, sample_rate, max_outputs, step=at)
    )


def text(name: str, data: TensorLike, step: Any = None, description: str | None = None) -> Any:
    """Writes strings, of any shape."""
    return write(name, convert_to_tensor(data, dtypes.string), step, _metadata("text"))


def _metadata(plugin: str) -> Any:
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))
