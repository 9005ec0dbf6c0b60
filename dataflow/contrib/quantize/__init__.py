"""``tf.contrib.quantize``: graphs rewritten so that they compute, and train, as with integers of few bits."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.quantize.folding import fold_batch_norms
from dataflow.contrib.quantize.inserting import Settings, quantize
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.namespaces import explain_absent

__all__ = [
    "create_eval_graph",
    "create_training_graph",
    "experimental_create_eval_graph",
    "experimental_create_training_graph",
]


def create_training_graph(input_graph: Graph | None = None, quant_delay: int = 0) -> None:
    """Rewrites a graph for training in place, before its gradients are made.

    Batch normalizations are folded into the layers before them, and each layer's weights and activations pass
    through a fake quantization to 8 bits, whose limits are variables: those of weights are the last seen,
    those of activations a moving average. With ``quant_delay`` they are quantized from that step on. Raises
    `ValueError` where the graph has an op of an optimizer.
    """
    experimental_create_training_graph(input_graph, quant_delay=quant_delay)


def create_eval_graph(input_graph: Graph | None = None) -> None:
    """Rewrites a graph for evaluation in place, as `create_training_graph`; the limits stay as they were trained."""
    experimental_create_eval_graph(input_graph)


def experimental_create_training_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = 0,
    freeze_bn_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """`create_training_graph` with so many bits, for ops within ``scope`` alone.

    ``symmetric`` limits are as far below 0 as above. From step ``freeze_bn_delay`` on batch normalizations take
    their moving averages.
    """
    settings = Settings(True, weight_bits, activation_bits, symmetric, quant_delay, scope)
    _rewrite(input_graph, settings, freeze_bn_delay)


def experimental_create_eval_graph(
    input_graph: Graph | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """`create_eval_graph` with the arguments of `experimental_create_training_graph`."""
    settings = Settings(False, weight_bits, activation_bits, symmetric, quant_delay, scope)
    _rewrite(input_graph, settings, None)


def _rewrite(input_graph: Graph | None, settings: Settings, freeze_bn_delay: int | None) -> None:
    graph = default_graph() if input_graph is None else input_graph
    training = sorted({op.type for op in graph.get_operations() if _trains(op)})
    if training:
        raise ValueError(
            f"Training op found in graph, exiting {training}. Rewrite the graph before minimize() or "
            "compute_gradients()."
        )
    with graph.as_default():
        fold_batch_norms(graph, freeze_bn_delay)
        quantize(graph, settings)


def _trains(op: Any) -> bool:
    kind = op.type.removeprefix("Resource").removeprefix("Sparse")
    return bool(kind.startswith("Apply"))


__getattr__ = explain_absent(__name__)
