"""Steps of optimizers within `tf.distribute`: gradients of all replicas summed, one step for all copies."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import identity
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.replicas import replica_to_merge, state


def loss_of_replica(loss: TensorLike) -> Any:
    """The part of the mean over the replicas that this replica's loss is, where a strategy wants means."""
    replica = replica_to_merge()
    if replica is None or not replica.strategy.averages_losses:
        return loss
    from dataflow.distribute.strategy import get_loss_reduction

    if get_loss_reduction().name == "SUM":
        return loss
    return loss / replica.num_replicas_in_sync


def apply_in_replica(
    replica: Any, apply: Callable[..., Any], pairs: list[tuple[Any, Any]], *arguments: Any
) -> Any:
    """``apply(pairs, *arguments)`` for all replicas together, of the sums of their gradients.

    Each replica calls this with its own gradients. Raises `ValueError` for a variable that was made
    outside of the strategy's scope, where its one copy would be changed once for all.
    """

    def merge(strategy: Any, *given: Any) -> Any:
        gradients, (variables, *others) = given[: len(pairs)], given[len(pairs) :]
        summed = []
        for gradient, variable in zip(gradients, variables, strict=True):
            if gradient is None:
                summed.append((None, variable))
            else:
                summed.append((strategy.extended.reduce_to("SUM", gradient, variable), variable))
        return apply(summed, *others)

    return replica.merge_call(
        merge, args=(*(g for g, _ in pairs), tuple(v for _, v in pairs), *arguments)
    )


@contextlib.contextmanager
def made_plainly() -> Iterator[None]:
    """A block whose variables have no copies, whatever the strategy: slots have their variable's."""
    before, state.plain = state.plain, True
    try:
        yield
    finally:
        state.plain = before


def copies_of(pairs: list[tuple[Any, Any]]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """The pairs with each variable's copies for the variable; and the variables that have copies."""
    result, mirrors = [], []
    for gradient, variable in pairs:
        copies = getattr(variable, "copies", None)
        if copies is None:
            result.append((gradient.values[0] if is_per_replica(gradient) else gradient, variable))
            continue
        mirrors.append(variable)
        for i, copy in enumerate(copies):
            part = gradient.values[i] if is_per_replica(gradient) else gradient
            if part is not None and not isinstance(part, IndexedSlices) and part is gradient and i:
                with default_graph().device(copy.device):
                    part = identity(gradient)
            result.append((part, copy))
    return result, mirrors


def is_per_replica(gradient: Any) -> bool:
    """Whether it has a value for each replica."""
    return isinstance(getattr(gradient, "values", None), tuple)


def mirrored_slots(optimizer: Any, mirrors: list[Any]) -> None:
    """Makes one variable of the slots of a variable's copies, so that one of them is saved for all."""
    if not mirrors:
        return
    from dataflow.distribute.values import mirrored

    graph = default_graph()
    for variable in mirrors:
        for name in optimizer.get_slot_names():
            slots = [optimizer.get_slot(copy, name) for copy in variable.copies]
            if any(slot is None for slot in slots):
                continue
            for key in graph.get_all_collection_keys():
                kept = graph.get_collection_ref(key)
                if any(item is slots[0] for item in kept):
                    whole = mirrored(slots)
                    rest = slots[1:]
                    kept[:] = [
                        whole if item is slots[0] else item
                        for item in kept
                        if not any(item is slot for slot in rest)
                    ]
