"""What normalization gives besides its result."""

from __future__ import annotations

import pytest

import dataflow as tf


@pytest.mark.parametrize("training", [True, False])
def test_what_the_gradient_leaves_unused_has_a_shape_that_tensorflow_takes(training: bool) -> None:
    tf.reset_default_graph()
    given = tf.ones([4]) if not training else None
    y, *_ = tf.nn.fused_batch_norm(
        tf.ones([1, 2, 2, 4]), tf.ones([4]), tf.ones([4]), given, given, is_training=training
    )
    tf.gradients(y, y.op.inputs[0])
    graph = tf.get_default_graph()
    (op,) = [o for o in graph.get_operations() if o.type == "FusedBatchNormGradV3"]
    count = 0 if training else 4
    with tf.Session() as session:
        for unused in op.outputs[3:]:
            assert unused.shape.as_list() == [0 if training else None]
            assert session.run(unused).tolist() == [0.0] * count
