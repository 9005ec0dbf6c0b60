"""Kernels of summaries: arrays in, serialized ``Summary`` messages out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError
from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext

_PROTOS = "it makes protocol buffers"


def _serialized(summary: Any) -> Any:
    result = np.empty((), object)
    result[()] = summary.SerializeToString()
    return result


@kernel("ScalarSummary", cpu_only=_PROTOS)
def scalar_summary_kernel(xp: Module, tags: Array, values: Array) -> Any:
    from dataflow.formats.summary_protos import merge_summaries, scalar_summary

    tag_array = np.asarray(tags, object)
    if tag_array.shape != np.shape(values):
        first = f" (tag {text(tags)!r})" if tag_array.size == 1 else ""
        raise InvalidArgumentError(
            None,
            None,
            f"tags and values are not the same shape: {list(tag_array.shape)} != "
            f"{list(np.shape(values))}{first}",
        )
    if not tag_array.shape:
        return _serialized(scalar_summary(text(tags), values))
    parts = [
        scalar_summary(text(tag), value)
        for tag, value in zip(tag_array.reshape(-1), np.reshape(values, -1), strict=True)
    ]
    return _serialized(merge_summaries(parts))


@kernel("HistogramSummary", cpu_only=_PROTOS)
def histogram_summary_kernel(xp: Module, tag: Array, values: Array) -> Any:
    from dataflow.formats.summary_protos import histogram_summary

    return _serialized(histogram_summary(text(tag), values))


@kernel("ImageSummary", cpu_only=_PROTOS)
def image_summary_kernel(
    xp: Module, tag: Array, tensor: Array, *, max_images: int, bad_color: Any
) -> Any:
    from dataflow.formats.summary_protos import image_summary

    color = np.asarray(bad_color).reshape(-1).tolist()
    return _serialized(image_summary(text(tag), tensor, max_images, color))


@kernel("AudioSummary", cpu_only=_PROTOS)
def audio_summary_kernel(
    xp: Module, tag: Array, tensor: Array, *, sample_rate: float, max_outputs: int
) -> Any:
    from dataflow.formats.summary_protos import audio_summary

    return _serialized(audio_summary(text(tag), tensor, sample_rate, max_outputs))


@kernel("AudioSummaryV2", cpu_only=_PROTOS)
def audio_summary_v2_kernel(
    xp: Module, tag: Array, tensor: Array, sample_rate: Array, *, max_outputs: int
) -> Any:
    from dataflow.formats.summary_protos import audio_summary

    rate = float(np.asarray(sample_rate))
    return _serialized(audio_summary(text(tag), tensor, rate, max_outputs))


def _tensor_value(summary: Any, tag: str, tensor: Any) -> Any:
    from dataflow.formats.summary_protos import fill_tensor_proto

    value = summary.value.add(tag=tag)
    fill_tensor_proto(value.tensor, tensor)
    return value


@kernel("TensorSummary", cpu_only=_PROTOS, stateful=True)
def tensor_summary_kernel(context: KernelContext, tensor: Array) -> Any:
    from dataflow.formats.summary_protos import new_summary

    summary = new_summary()
    value = _tensor_value(summary, context.op_name, tensor)
    value.node_name = context.op_name
    return _serialized(summary)


@kernel("TensorSummaryV2", cpu_only=_PROTOS)
def tensor_summary_v2_kernel(xp: Module, tag: Array, tensor: Array, metadata: Array) -> Any:
    from dataflow.formats.summary_protos import new_summary

    summary = new_summary()
    value = _tensor_value(summary, text(tag), tensor)
    value.metadata.MergeFromString(np.asarray(metadata, object).reshape(-1)[0])
    return _serialized(summary)


@kernel("MergeSummary", cpu_only=_PROTOS)
def merge_summary_kernel(xp: Module, inputs: list[Any]) -> Any:
    from dataflow.formats.summary_protos import merge_summaries

    parts = [bytes(item) for value in inputs for item in np.asarray(value, object).reshape(-1)]
    return _serialized(merge_summaries(parts))
