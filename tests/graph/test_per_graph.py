"""What an owner has in each graph: made once there, and neither keeps the other alive."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import dataflow
from dataflow.feature_column.shared_embeddings import SharedEmbeddingColumnCreator
from dataflow.graph.per_graph import PerGraph
from dataflow.layers.eager_losses import Penalty
from dataflow.python.framework import function

tf: Any = dataflow


def test_a_value_is_made_once_in_each_graph() -> None:
    one, other = PerGraph[int](), PerGraph[int]()
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    first, second = tf.Graph(), tf.Graph()
    assert [one.get(first, make), one.get(first, make), one.get(second, make)] == [0, 0, 1]
    assert other.get(first, make) == 2
    assert one.get(first, make) == 0


def defun() -> Callable[[], Any]:
    def doubled(x: Any) -> Any:
        return x * 2.0

    call = function.Defun(tf.float32)(doubled)
    return lambda: call(tf.constant(2.0))


def shared_embedding() -> Callable[[], Any]:
    creator = SharedEmbeddingColumnCreator(2, tf.zeros_initializer(), None, None, 5, True)
    return lambda: creator.embedding_weights


def penalty() -> Callable[[], Any]:
    return Penalty(lambda: tf.constant(1.0) * 2.0).here


@pytest.mark.parametrize("owner", [defun, shared_embedding, penalty])
def test_a_graph_that_is_dropped_dies_before_its_owner(owner: Callable[[], Any]) -> None:
    use = owner()
    graph = tf.Graph()
    with graph.as_default():
        use()
        use()
    alive = weakref.ref(graph)
    del graph
    gc.collect()
    assert alive() is None
    with tf.Graph().as_default() as another:
        assert use().graph is another


def test_an_owner_that_is_dropped_dies_before_the_graph() -> None:
    graph, owner = tf.Graph(), PerGraph[Any]()
    alive = weakref.ref(owner.get(graph, tf.Graph))  # anything that can be watched
    assert alive() is not None
    del owner
    gc.collect()
    assert alive() is None
    assert graph.operations == []
