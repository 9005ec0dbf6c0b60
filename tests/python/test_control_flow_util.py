"""`tensorflow.python.ops.control_flow_util`: which nodes belong to loops and branches."""

from __future__ import annotations

import dataflow as tf
from dataflow.python.ops import control_flow_util


def test_nodes_of_loops_and_branches() -> None:
    with tf.Graph().as_default() as graph:
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        v = tf.Variable(1.0)
        tf.cond(tf.constant(True), lambda: v.assign_add(1.0), lambda: v.assign(1.0))
        ops = graph.get_operations()

    def types(function: object) -> set[str]:
        return {op.type for op in ops if function(op)}

    assert types(control_flow_util.IsSwitch) == {"Switch", "RefSwitch"}
    assert types(control_flow_util.IsMerge) == {"Merge", "RefMerge"}
    assert types(control_flow_util.IsLoopEnter) == {"Enter"}
    assert types(control_flow_util.IsLoopExit) == {"Exit"}
