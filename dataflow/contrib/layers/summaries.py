"""Summaries of activations and variables, by collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes, summary
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.casts import cast
from dataflow.ops.math import greater, less, reduce_mean

__all__ = [
    "summarize_activation",
    "summarize_activations",
    "summarize_biases",
    "summarize_collection",
    "summarize_tensor",
    "summarize_tensors",
    "summarize_variables",
    "summarize_weights",
]


def summarize_tensor(tensor: Any, tag: str | None = None) -> Any:
    """A scalar's value or a tensor's histogram, as a summary called ``tag``, by default ``<op>_summary``.

    None for strings and booleans, which have neither.
    """
    if tensor.dtype.base_dtype in (dtypes.string, dtypes.bool_):
        return None
    kind = summary.scalar if tensor.get_shape().ndims == 0 else summary.histogram
    return kind(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Any) -> Any:
    """A histogram of ``op``, and for ReLU, softplus and their like how many inputs are below 0 (or above 6)."""
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        limit = cast(0, op.op.inputs[0].dtype.base_dtype)
        zeros = reduce_mean(cast(less(op.op.inputs[0], limit), dtypes.float32))
        summary.scalar(f"{op.op.name}/zeros", zeros)
    if op.op.type == "Relu6":
        limit = cast(6, op.op.inputs[0].dtype.base_dtype)
        sixes = reduce_mean(cast(greater(op.op.inputs[0], limit), dtypes.float32))
        summary.scalar(f"{op.op.name}/sixes", sixes)
    return summary.histogram(f"{op.op.name}/activation", op)


def summarize_tensors(tensors: Sequence[Any], summarizer: Any = summarize_tensor) -> list[Any]:
    """``summarizer`` of each tensor."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Any = summarize_tensor
) -> list[Any]:
    """Summaries of a collection, of those tensors whose names match ``name_filter``."""
    found = default_graph().get_collection(collection, name_filter)
    return summarize_tensors(found, summarizer)


def summarize_variables(
    name_filter: str | None = None, summarizer: Any = summarize_tensor
) -> list[Any]:
    """Summaries of the global variables."""
    return summarize_collection(GraphKeys.GLOBAL_VARIABLES, name_filter, summarizer)


def summarize_weights(
    name_filter: str | None = None, summarizer: Any = summarize_tensor
) -> list[Any]:
    """Summaries of the collection WEIGHTS."""
    return summarize_collection(GraphKeys.WEIGHTS, name_filter, summarizer)


def summarize_biases(
    name_filter: str | None = None, summarizer: Any = summarize_tensor
) -> list[Any]:
    """Summaries of the collection BIASES."""
    return summarize_collection(GraphKeys.BIASES, name_filter, summarizer)


def summarize_activations(
    name_filter: str | None = None, summarizer: Any = summarize_activation
) -> list[Any]:
    """Summaries of the collection ACTIVATIONS, with `summarize_activation`."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
