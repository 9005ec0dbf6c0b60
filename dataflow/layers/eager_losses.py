"""Losses of layers in eager code, where a tensor holds the loss of one call only.

A penalty on a weight is computed when `losses` is asked for: a tape then records it, and it is that of
the weight as it is now. What a layer adds when it is called belongs to the last call from outside.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.per_graph import PerGraph

#: Layers that have losses of a call of eager code.
_with_losses: weakref.WeakSet[Any] = weakref.WeakSet()


class Penalty:
    """A loss that depends on nothing but variables of eager code."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute = compute
        self._made: PerGraph[Any] = PerGraph()

    def here(self) -> Any:
        """Its value now, with eager execution; in a graph the node for it, made once."""
        graph = default_graph()
        if graph.executes_eagerly:
            return self._compute()
        return self._made.get(graph, self._compute)


def losses_here(losses: list[Any], penalties: list[Penalty]) -> list[Any]:
    """Those of a layer that are of eager code or of the function being traced, where a call there made some; or those
    of neither.
    """
    if any(_is_of_call(loss) for loss in losses):
        graph = default_graph()
        made = [loss for loss in losses if getattr(loss, "graph", None) is graph]
        is_made = graph.is_of_calls and made
        losses = made if is_made else [loss for loss in losses if not _is_of_call(loss)]
    return [*losses, *(penalty.here() for penalty in penalties)]


def _is_of_call(loss: Any) -> bool:
    graph = getattr(loss, "graph", None)
    return graph is not None and graph.is_of_calls


def note_loss(layer: Any, loss: Any) -> None:
    """Says that a layer has added a loss."""
    if _is_of_call(loss):
        _with_losses.add(layer)


def forget_losses(layer: Any) -> None:
    """Takes away what the last call left in a layer and in those within: for a call from outside."""
    if not _with_losses:
        return
    for part in _within(layer, set()):
        if part in _with_losses:
            part.keep_losses(lambda loss: not _is_of_call(loss))
            _with_losses.discard(part)


def _within(layer: Any, seen: set[int]) -> Iterator[Any]:
    if id(layer) in seen:
        return
    seen.add(id(layer))
    yield layer
    for part in getattr(layer, "sublayers", list)():
        yield from _within(part, seen)
