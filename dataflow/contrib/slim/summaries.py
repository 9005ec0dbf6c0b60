"""``slim.summaries``: how many values are 0, histograms and images, several at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import summary
from dataflow.contrib.layers.summaries import (
    summarize_activation,
    summarize_activations,
    summarize_biases,
    summarize_collection,
    summarize_tensor,
    summarize_tensors,
    summarize_variables,
    summarize_weights,
)
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.logging_ops import Print
from dataflow.ops.moments import zero_fraction

__all__ = [
    "add_histogram_summaries",
    "add_histogram_summary",
    "add_image_summaries",
    "add_image_summary",
    "add_scalar_summaries",
    "add_scalar_summary",
    "add_zero_fraction_summaries",
    "add_zero_fraction_summary",
    "summarize_activation",
    "summarize_activations",
    "summarize_biases",
    "summarize_collection",
    "summarize_tensor",
    "summarize_tensors",
    "summarize_variables",
    "summarize_weights",
]


def _name(tensor: Any, name: str | None, prefix: str | None) -> str:
    own = name or tensor.op.name
    return f"{prefix}/{own}" if prefix else str(own)


def add_histogram_summary(
    tensor: TensorLike, name: str | None = None, prefix: str | None = None
) -> Any:
    """A histogram called ``prefix/name``, by default after the tensor."""
    return summary.histogram(_name(tensor, name, prefix), tensor)


def _printed(kind: Any, name: str, tensor: TensorLike, print_summary: bool) -> Any:
    """The summary, collected; with ``print_summary`` one that prints the tensor when it is run."""
    if not print_summary:
        return kind(name, tensor)
    made = Print(kind(name, tensor, collections=[]), [tensor], name)
    default_graph().add_to_collection(GraphKeys.SUMMARIES, made)
    return made


def add_image_summary(
    tensor: TensorLike,
    name: str | None = None,
    prefix: str | None = None,
    print_summary: bool = False,
) -> Any:
    """Images called ``prefix/name``; ``print_summary`` prints the values when it is run."""
    return _printed(summary.image, _name(tensor, name, prefix), tensor, print_summary)


def add_scalar_summary(
    tensor: TensorLike,
    name: str | None = None,
    prefix: str | None = None,
    print_summary: bool = False,
) -> Any:
    """A number called ``prefix/name``; ``print_summary`` prints it when the summary is run."""
    return _printed(summary.scalar, _name(tensor, name, prefix), tensor, print_summary)


def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Any:
    """The fraction of zeros in the tensor."""
    called = _name(tensor, name or f"{tensor.op.name}/Fraction_of_Zero_Values", prefix)
    return add_scalar_summary(zero_fraction(tensor), called, None, print_summary)


def add_histogram_summaries(tensors: Sequence[Any], prefix: str | None = None) -> list[Any]:
    """`add_histogram_summary` of each."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_image_summaries(tensors: Sequence[Any], prefix: str | None = None) -> list[Any]:
    """`add_image_summary` of each."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(
    tensors: Sequence[Any], prefix: str | None = None, print_summary: bool = False
) -> list[Any]:
    """`add_scalar_summary` of each."""
    return [add_scalar_summary(t, prefix=prefix, print_summary=print_summary) for t in tensors]


def add_zero_fraction_summaries(tensors: Sequence[Any], prefix: str | None = None) -> list[Any]:
    """`add_zero_fraction_summary` of each."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
