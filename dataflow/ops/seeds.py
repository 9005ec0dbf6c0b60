"""Seeds of random ops: the graph's, the op's own, and what follows from both."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.tensorflow_numbers import draws_as_tensorflow

#: The graph seed that counts when only the op has one (the number TensorFlow uses).
DEFAULT_GRAPH_SEED = 87654321
_LARGEST_SEED = 2**31 - 1
#: Where an eager graph keeps the generator of its ops' seeds.
_EAGER_SEEDS = "eager_seeds"
#: Where a graph keeps what `count_left_out_of_gradient` was told.
_LEFT_OUT_OF_GRADIENTS = "left_out_of_gradients"


def set_random_seed(seed: Any) -> None:
    """Sets the seed of the default graph, from which its random ops derive theirs.

    Ops made afterwards repeat their values in every fresh session: each one takes the graph's
    seed and, where it has none of its own, its place in the graph.

    A training that is seeded so gives the same bits when it is run again, in this process or in a new
    one, on the same machine with the same packages (see `Session`).
    """
    graph = default_graph()
    graph.seed = seed
    graph.attachments.pop(_EAGER_SEEDS, None)


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The (seed, seed2) of a random op made now in the default graph.

    Neither seed: ``(None, None)``, a different stream in each session. Only ``op_seed``: it counts
    with a fixed graph seed. Only the graph's: the op's is the number of nodes made so far.
    """
    graph = default_graph()
    if graph.seed is not None:
        second = op_seed
        if second is None:
            second = _seed_of_place(graph)
        seeds = (graph.seed % _LARGEST_SEED, second % _LARGEST_SEED)
    elif op_seed is not None:
        seeds = (DEFAULT_GRAPH_SEED, op_seed % _LARGEST_SEED)
    else:
        return None, None
    # (0, 0) means "not seeded" to the ops, so a seed of zeros gets another second part.
    return (0, _LARGEST_SEED) if seeds == (0, 0) else seeds


def _seed_of_place(graph: Graph) -> int:
    """The second seed of an op without one: how many nodes were made before it.

    With eager execution TensorFlow draws it from a generator of Python with the first seed.
    """
    if not draws_as_tensorflow():
        return len(graph.operations)
    if not graph.executes_eagerly:
        return len(graph.operations) + graph.num_left_out
    drawn: random.Random = graph.attachments.setdefault(_EAGER_SEEDS, random.Random(graph.seed))
    return drawn.randint(0, _LARGEST_SEED)


def count_left_out(num_nodes: int) -> None:
    """Notes that TensorFlow makes so many more nodes for what is being built in the default graph.

    The seeds of what follows are then TensorFlow's (`tensorflow_numbers`); there is no other effect.
    """
    default_graph().num_left_out += num_nodes


@contextlib.contextmanager
def counted_as(num_nodes: int) -> Iterator[None]:
    """Notes that TensorFlow makes ``num_nodes`` nodes where a block makes some, however many.

    Tensors that the block makes of numbers and lists count too, as they are nodes.
    """
    graph = default_graph()
    before = len(graph.operations) + graph.num_left_out
    yield
    graph.num_left_out += num_nodes - (len(graph.operations) + graph.num_left_out - before)


def count_left_out_of_gradient(
    output: Tensor, num_nodes: tuple[int, ...], gated: tuple[int, ...] | None = None
) -> None:
    """Notes that the gradient of what TensorFlow makes in place of ``output``'s op has more nodes than ours.

    ``num_nodes`` are those beside the gradient of each input that is differentiated (negative: fewer), ``gated``
    those where gradients wait for each other, as an optimizer's do (``None``: as many). See `count_left_out`.
    """
    graph = output.graph
    if draws_as_tensorflow() and not graph.executes_eagerly:
        both = num_nodes, num_nodes if gated is None else gated
        graph.attachments.setdefault(_LEFT_OUT_OF_GRADIENTS, {})[output.op] = both


def left_out_of_gradient(op: Operation, gated: bool) -> tuple[int, ...]:
    """What `count_left_out_of_gradient` was told about an op: a number for each of its first inputs."""
    both = op.graph.attachments.get(_LEFT_OUT_OF_GRADIENTS, {}).get(op)
    return () if both is None else both[gated]


def seed_attrs(op_seed: int | None) -> dict[str, int]:
    """The attributes ``seed`` and ``seed2`` for `get_seed`'s answer."""
    first, second = get_seed(op_seed)
    return {"seed": first or 0, "seed2": second or 0}
