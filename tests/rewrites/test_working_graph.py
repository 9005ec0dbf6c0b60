"""The copy of a plan's nodes that rewrites change."""

from __future__ import annotations

import dataflow as tf
from dataflow.graph.default_stacks import use_graph
from dataflow.rewrites.prune import needed_operations
from dataflow.rewrites.working_graph import WorkingGraph


def test_what_takes_the_place_of_a_tensor_may_use_it_and_so_may_nobody_else() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.square(x, name="y")
    fetches = [tf.exp(y), tf.sin(y), y]
    work = WorkingGraph(needed_operations(fetches, [], [x]), fetches, [], [x])
    (old,) = (op.outputs[0] for op in work.graph.get_operations() if op.name == "y")
    with use_graph(work.graph):
        work.begin(old)
        new = tf.negative(old, name="new")
        later = tf.abs(old, name="later")
        work.replace(old, new)
    assert old.uses == [new.op]
    assert {op.type for op in new.uses} == {"Exp", "Sin", "Abs"}
    assert all(op.inputs[0] is new for op in (*new.uses, later.op))
    assert work.fetch_tensors()[2] is new and new.op.inputs[0] is old


def test_a_tensor_used_twice_by_its_replacement_is_kept_twice() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    fetches = [tf.exp(x)]
    work = WorkingGraph(needed_operations(fetches, [], [x]), fetches, [], [x])
    (old,) = work.fetch_tensors()
    with use_graph(work.graph):
        work.begin(old)
        new = old * old
        work.replace(old, new)
    assert old.uses == [new.op, new.op] and work.fetch_tensors() == [new]
