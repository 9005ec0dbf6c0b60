"""Ops that make summaries: serialized ``Summary`` messages for an event file, and ``tf.summary``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import REAL_NUMBERS
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.declared_ops import declare_op
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_signature import Array, Defaulted
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.replicas import state
from dataflow.shapes import Dims

_RED = np.array([255, 0, 0, 255], np.uint8)


@define_op("ScalarSummary", "tags: string, values: T -> summary: string", T=REAL_NUMBERS)
def scalar_summary_op(tags: Tensor, values: Tensor) -> Dims:
    """A summary with one number for each tag. Shape: scalar; tags and values have one shape."""
    if not shapes.compatible(tags.dims, values.dims) and tags.dims != ():
        raise ValueError(
            f"tags has shape {shapes.list_dims(tags.dims)}, values has "
            f"{shapes.list_dims(values.dims)}\nA scalar summary is of one number: reduce it first, "
            "with tf.reduce_mean for example."
        )
    return ()


histogram_summary_op = declare_op(
    "HistogramSummary",
    "tag: string, values: T -> summary: string",
    "A summary with the histogram of all values. Shape: scalar. A NaN is an error.",
    T=Defaulted(dtypes.float32, frozenset(REAL_NUMBERS)),
)


@define_op(
    "ImageSummary",
    "tag: string, tensor: T -> summary: string",
    T={dtypes.uint8, dtypes.float16, dtypes.float32, dtypes.float64},
)
def image_summary_op(
    tag: Tensor,
    tensor: Tensor,
    *,
    max_images: int = 3,
    bad_color: Array = _RED,
) -> Dims:
    """A summary with up to ``max_images`` pictures of ``[n, height, width, channels]``.

    Shape: scalar. Channels: 1, 3 or 4, which a run checks, as in TensorFlow: programs make summaries
    of other tensors and never run them. ``bad_color`` marks pixels that are not finite.
    """
    return ()


audio_summary_op = declare_op(
    "AudioSummary",
    "tag: string, tensor: float32 -> summary: string",
    "As AudioSummaryV2, with the rate as an attribute. Shape: scalar.",
    attrs="sample_rate: float, max_outputs: int = 3",
)


@define_op(
    "AudioSummaryV2", "tag: string, tensor: float32, sample_rate: float32 -> summary: string"
)
def audio_summary_v2_op(
    tag: Tensor, tensor: Tensor, sample_rate: Tensor, *, max_outputs: int = 3
) -> Dims:
    """A summary with up to ``max_outputs`` sounds of ``[n, frames]`` or ``[n, frames, channels]``.

    Shape: scalar. Values from -1 to 1; ``sample_rate`` in Hertz.
    """
    if tensor.dims is not None and len(tensor.dims) not in (2, 3):
        raise ValueError(
            f"tensor must be 2-D or 3-D, not {shapes.list_dims(tensor.dims)}\n"
            "Needed is [n, frames] or [n, frames, channels]."
        )
    return ()


tensor_summary_op = declare_op(
    "TensorSummary",
    "tensor: T -> summary: string",
    "A summary with a whole tensor, tagged with the node's name. Shape: scalar.",
    attrs="description: str = '', labels: list[str] = (), display_name: str = ''",
)
tensor_summary_v2_op = declare_op(
    "TensorSummaryV2",
    "tag: string, tensor: T, serialized_summary_metadata: string -> summary: string",
    "A summary with a whole tensor, and metadata that says which plugin shows it. Shape: scalar.",
)
merge_summary_op = declare_op(
    "MergeSummary",
    "inputs: N * string -> summary: string",
    "One summary with the values of all. Shape: scalar. Two values of one tag are an error.",
)


not_differentiable(scalar_summary_op, image_summary_op, audio_summary_v2_op)

_INVALID = re.compile(r"[^-/\w.]")


def clean_tag(name: str) -> str:
    """``name`` as a node may be called: other characters become ``_``, leading ``/`` go."""
    return _INVALID.sub("_", name).lstrip("/")


@contextlib.contextmanager
def summary_scope(
    name: str,
    family: str | None = None,
    default_name: str | None = None,
    values: TensorLike | None = None,
) -> Iterator[tuple[str, str]]:
    """Yields (tag, scope) for a summary; the tag is the scope's name, after the family's."""
    name = clean_tag(name)
    family = None if family is None else clean_tag(family)
    base = name if family is None else f"{family}/{name}"
    with name_scope(base, default_name, values) as scope:
        plain = scope.rstrip("/")
        yield (plain if family is None else f"{family}/{plain}"), scope


def _collect(value: Tensor, collections: Iterable[str] | None, default: list[str]) -> Tensor:
    if state.replica is not None and state.replica.index > 0:
        return value  # of several replicas the first one writes
    for key in default if collections is None else collections:
        default_graph().add_to_collection(key, value)
    return value


def scalar(
    name: str, tensor: TensorLike, collections: Any = None, family: str | None = None
) -> Tensor:
    """A summary of one number. Run it, and give the result to `FileWriter.add_summary`.

    ``collections``: where to list it, by default ``SUMMARIES`` (see `merge_all`). ``family``
    groups tags in TensorBoard. Raises `TypeError` for anything but a number.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        value = scalar_summary_op(tag, tensor, name=scope)
        return _collect(value, collections, [GraphKeys.SUMMARIES])


def histogram(
    name: str, values: TensorLike, collections: Any = None, family: str | None = None
) -> Tensor:
    """A summary of the distribution of ``values``, of any shape."""
    with summary_scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        value = histogram_summary_op(tag, values, name=scope)
        return _collect(value, collections, [GraphKeys.SUMMARIES])


def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """A summary of pictures, ``[n, height, width, 1, 3 or 4]``, uint8 or float.

    Floats are scaled picture by picture: the largest to 255, or, where some are negative, 0 to 128.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        value = image_summary_op(tag, tensor, max_images=max_outputs, name=scope)
        return _collect(value, collections, [GraphKeys.SUMMARIES])


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """A summary of sounds, ``[n, frames]`` or ``[n, frames, channels]``, from -1 to 1."""
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        value = audio_summary_v2_op(tag, tensor, rate, max_outputs=max_outputs, name=scope)
        return _collect(value, collections, [GraphKeys.SUMMARIES])


def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: Any = None,
    collections: Any = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary of a whole tensor; ``summary_metadata`` says which plugin of TensorBoard shows it."""
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = getattr(
            summary_description, "type_hint", str(summary_description)
        )
    if display_name is not None:
        metadata.display_name = display_name
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        value = tensor_summary_v2_op(tag, tensor, metadata.SerializeToString(), name=scope)
        return _collect(value, collections, [GraphKeys.SUMMARIES])


def text(name: str, tensor: TensorLike, collections: Iterable[str] | None = None) -> Tensor:
    """A summary of text, shown as Markdown; a vector or matrix of strings becomes a table.

    Raises `ValueError` for a tensor that is not of strings.
    """
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    tensor = convert_to_tensor(tensor)
    if tensor.dtype.base_dtype is not dtypes.string:
        raise ValueError(
            f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype.name}. "
            "tf.as_string makes strings of numbers."
        )
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def merge(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """One summary with all of ``inputs``, so that one run gives them all; `ValueError` for none."""
    inputs = list(inputs)
    if not inputs:
        raise ValueError("tf.summary.merge needs at least one summary.")
    with name_scope(name, "Merge", inputs):
        value = merge_summary_op(inputs, name=name)
        return _collect(value, collections, [])


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """One summary with all of a collection; ``None`` where it is empty."""
    summaries = default_graph().get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


# ---- the names before TensorFlow 1.0 -----------------------------------------------------------


def scalar_summary(
    tags: Any, values: TensorLike, collections: Any = None, name: str | None = None
) -> Tensor:
    """The old `scalar`: ``tags`` is one string, or as many as there are values."""
    value = scalar_summary_op(tags, values, name=name)
    return _collect(value, collections, [GraphKeys.SUMMARIES])


def histogram_summary(
    tag: Any, values: TensorLike, collections: Any = None, name: str | None = None
) -> Tensor:
    """The old `histogram`."""
    value = histogram_summary_op(tag, values, name=name)
    return _collect(value, collections, [GraphKeys.SUMMARIES])


def image_summary(
    tag: Any,
    tensor: TensorLike,
    max_images: int = 3,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """The old `image`."""
    value = image_summary_op(tag, tensor, max_images=max_images, name=name)
    return _collect(value, collections, [GraphKeys.SUMMARIES])


def audio_summary(
    tag: Any,
    tensor: TensorLike,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """The old `audio`."""
    value = audio_summary_v2_op(tag, tensor, sample_rate, max_outputs=max_outputs, name=name)
    return _collect(value, collections, [GraphKeys.SUMMARIES])


def merge_summary(inputs: Any, collections: Any = None, name: str | None = None) -> Tensor:
    """The old `merge`."""
    return _collect(merge_summary_op(list(inputs), name=name), collections, [])


def merge_all_summaries(key: str = GraphKeys.SUMMARIES) -> Tensor | None:
    """The old `merge_all`."""
    summaries = default_graph().get_collection(key)
    return merge_summary(summaries) if summaries else None
