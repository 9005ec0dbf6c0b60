"""What the panel's Train button trains: softmax regression on 1,797 handwritten digits."""

from __future__ import annotations

from typing import Any

STEPS_PER_SECOND = 20  # of each worker: quick enough to see, slow enough to watch

BATCH_SIZE = 100


def digits_training(cluster: Any, mode: str = "asynchronous", num_backups: int = 1) -> Any:
    """A `tf.cluster.Training` of softmax regression with momentum, 64 x 10 weights, not started."""
    import numpy as np

    import dataflow
    from dataflow_datasets import digits

    tf: Any = dataflow
    (images, labels), _ = digits.load_data()
    x = images.reshape(len(images), 64).astype(np.float32)
    y = labels.astype(np.int64)

    # A function in a function travels by value, data and all: workers need none of this package.
    def softmax_regression(part: int, num_parts: int, batch_size: int | None = None) -> Any:
        pixels = tf.constant(x[part::num_parts], name="pixels")
        digit = tf.constant(y[part::num_parts], name="digit")
        if batch_size is not None:
            count = len(x[part::num_parts])
            chosen = tf.random_uniform([batch_size], 0, count, tf.int64, name="batch")
            pixels, digit = tf.gather(pixels, chosen), tf.gather(digit, chosen)
        weights = tf.get_variable("weights", initializer=np.zeros((64, 10), np.float32))
        biases = tf.get_variable("biases", initializer=np.zeros(10, np.float32))
        logits = tf.add(tf.matmul(pixels, weights), biases, name="logits")
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=digit, logits=logits),
            name="loss",
        )

    return tf.cluster.Training(
        cluster,
        softmax_regression,
        mode=mode,
        num_backups=num_backups,
        # Its slots are what the mode "ZeRO" divides among the workers.
        optimizer=lambda: tf.train.MomentumOptimizer(0.05, 0.9),
        batch_size=BATCH_SIZE,
        steps_per_second=STEPS_PER_SECOND,
        name="softmax regression on digits",
    )
