"""Fake quantizations put between the layers of a graph and what uses them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from dataflow import logging
from dataflow.contrib.quantize.matching import ADDITIONS, Layer, layers
from dataflow.contrib.quantize.quantizers import limited
from dataflow.contrib.quantize.rewiring import identical, quantization_step, reroute
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.ops.conditionals import cond
from dataflow.ops.math import greater_equal

_DECAY = 0.999
_FAKE = (
    "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxArgs",
    "FakeQuantWithMinMaxVarsPerChannel",
)
_SAME_VALUES = ("Reshape", "Identity", "BatchToSpaceND", "SpaceToBatchND", "MaxPool", "Max")
_RECTIFIERS = ("Relu", "Relu6")


@dataclass(frozen=True)
class Settings:
    """How a graph is quantized: for training, to how many bits, from which step on, within which scope."""

    is_training: bool
    weight_bits: int
    activation_bits: int
    symmetric: bool
    delay: int | None
    scope: str | None


def quantize(graph: Graph, settings: Settings) -> None:
    """Quantizes the weights and the activations of all layers, then what is added or multiplied after them."""
    done: set[Operation] = set()
    for layer in layers(graph):
        _quantize_layer(layer, settings, done)
    for op in graph.get_operations():
        if _is_intermediate(op, done):
            logging.info("Inserting fake quant op activation_%s_quant after %s", op.type, op.name)
            _insert(f"{op.name}/activation_{op.type}_quant", op, settings, symmetric=False)


def _quantize_layer(layer: Layer, settings: Settings, done: set[Operation]) -> None:
    context = _context(layer.op.name)
    after = _context(context) if layer.bypass else context
    if layer.weights is not None:
        _insert(_below(context, "weights_quant"), layer.weights.op, settings, is_weights=True)
    if layer.activation is not None:
        _insert(_below(after, "act_quant"), layer.activation, settings, init_min=0.0)
        done.add(layer.activation)
    if layer.bypass is not None:
        if layer.bias is not None:
            _insert(_below(context, "conv_quant"), layer.bias, settings, users_too=True)
            done.add(layer.bias)
        if not _is_followed_by(layer.bypass, (*_RECTIFIERS, "Identity")):
            _insert(_below(after, "add_quant"), layer.bypass, settings, users_too=True)
            done.add(layer.bypass)
    late = layer.late_bypass
    if late is not None and not _is_followed_by(late, _RECTIFIERS):
        _insert(_below(_context(late.name), "post_activation_bypass_quant"), late, settings)
        done.add(late)


def _insert(
    name: str,
    producer: Operation,
    settings: Settings,
    *,
    is_weights: bool = False,
    users_too: bool = False,
    init_min: float = -6.0,
    symmetric: bool | None = None,
) -> None:
    """Lets all users of ``producer`` take its output quantized.

    Within a scope the producer has to be in it (the users of weights), with ``users_too`` both.
    """
    users = producer.outputs[0].consumers()
    scope = f"{settings.scope.rstrip('/')}/" if settings.scope else ""
    checked = [*([] if is_weights else [producer]), *(users if is_weights or users_too else [])]
    if not all(op.name.startswith(scope) for op in checked):
        return
    values = producer.outputs[0]
    if _is_quantized_already(values):
        return
    graph = producer.graph
    current = graph.get_name_scope()
    name = name.removeprefix(f"{current}/") if current else name
    quantized = limited(
        values,
        name,
        settings.is_training,
        settings.weight_bits if is_weights else settings.activation_bits,
        init_min=init_min,
        decay=None if is_weights else _DECAY,
        narrow_range=is_weights,
        symmetric=settings.symmetric if symmetric is None else symmetric,
    )
    if settings.delay:
        is_active = greater_equal(
            quantization_step(), settings.delay, name=f"{name}/activate_quant"
        )
        name = f"{name}/delayed_quant"
        quantized = cond(
            is_active, partial(identical, quantized), partial(identical, values), name=name
        )
    reroute(quantized, values, users)


def _is_quantized_already(tensor: Any) -> bool:
    todo = list(tensor.consumers())
    while todo:
        op = todo.pop()
        if op.type in _FAKE:
            return True
        if op.type in ("Reshape", "Identity"):
            todo.extend(op.outputs[0].consumers())
    return False


def _is_intermediate(op: Operation, done: set[Operation]) -> bool:
    """Whether ``op`` adds or multiplies what is quantized, so that its output is to be, too."""
    if op in done or op.type not in (*ADDITIONS, "Mul"):
        return False
    users = op.outputs[0].consumers()
    if len(users) == 1 and users[0].type in _RECTIFIERS:
        return False
    for tensor in op.inputs:
        source = tensor.op
        while source.type in _SAME_VALUES:
            source = source.inputs[0].op
        if source.type in _FAKE or "delayed_quant/Merge" in source.name:
            return True
        if source.type in (*ADDITIONS, "Mul") and any(
            _is_intermediate(before.op, done) for before in source.inputs
        ):
            return True
    return False


def _is_followed_by(op: Operation, types: tuple[str, ...]) -> bool:
    return any(user.type in types for user in op.outputs[0].consumers())


def _context(name: str) -> str:
    return name.rpartition("/")[0]


def _below(context: str, name: str) -> str:
    return f"{context}/{name}" if context else name
