"""A worker of a training: ``training_task.py OPTIONS`` with a JSON object of options.

``spec``, ``index``, ``model`` ("line", "iris", "word2vec"), ``until_step`` (global); ``aggregate``
gradients a synchronous step (left out: asynchronous), ``total`` workers, ``checkpoint_dir``,
``size`` of the line's weights. It writes a line of JSON a step, and one at its end.
"""

import json
import os
import sys
import threading
import time

import numpy as np

import dataflow as tf


def say(**values):
    """A line for the test."""
    print(json.dumps({"time": time.time(), **values}), flush=True)


def line(part, parts, size=4):
    """Find the weights of a linear function of ``size`` numbers."""
    rng = np.random.RandomState(0)
    x = rng.randn(60, size).astype(np.float32)
    y = x @ np.linspace(-1, 1, size, dtype=np.float32)[:, None]
    w = tf.get_variable("w", initializer=np.zeros((size, 1), np.float32))
    x, y = tf.constant(x[part::parts]), tf.constant(y[part::parts])
    return tf.reduce_mean(tf.square(tf.matmul(x, w) - y)), 0.1 / size


def iris(part, parts):
    """The classifier of the course: four measurements, two hidden layers of ten, three species."""
    from dataflow_datasets import iris

    (features, labels), _ = iris.load_data()
    x = np.stack([np.asarray(features[name], np.float32) for name in sorted(features)], 1)
    x = (x - x.mean(0)) / x.std(0)
    y = np.asarray(labels, np.int64)
    x, y = tf.constant(x[part::parts]), tf.constant(y[part::parts])
    rng = np.random.RandomState(1)
    for number, (inputs, outputs) in enumerate(((4, 10), (10, 10), (10, 3))):
        start = (rng.randn(inputs, outputs) / np.sqrt(inputs)).astype(np.float32)
        w = tf.get_variable(f"w{number}", initializer=start)
        b = tf.get_variable(f"b{number}", initializer=np.zeros(outputs, np.float32))
        x = tf.matmul(x, w) + b
        if number < 2:
            x = tf.nn.relu(x)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)), 0.1


def word2vec(part, parts, words=200, dimensions=16):
    """Skip-gram with noise-contrastive estimation, the table cut in two."""
    rng = np.random.RandomState(2)
    # Ten topics of twenty words; a word's neighbors are of its topic.
    center = rng.randint(0, words, 20_000)
    neighbor = center // 20 * 20 + rng.randint(0, 20, 20_000)
    pairs = tf.constant(np.stack([center, neighbor], 1)[part::parts])
    batch = tf.gather(pairs, tf.random_uniform([64], 0, 20_000 // parts, tf.int32, seed=3 + part))
    with tf.variable_scope("", partitioner=tf.fixed_size_partitioner(2)):
        start = tf.random_uniform_initializer(-0.5, 0.5, seed=4)
        table = tf.get_variable("embeddings", [words, dimensions], initializer=start)
        weights = tf.get_variable(
            "weights", [words, dimensions], initializer=tf.zeros_initializer()
        )
        biases = tf.get_variable("biases", [words], initializer=tf.zeros_initializer())
    embedded = tf.nn.embedding_lookup(table, batch[:, 0], partition_strategy="div")
    return tf.reduce_mean(
        tf.nn.nce_loss(
            weights,
            biases,
            labels=tf.cast(batch[:, 1:], tf.int64),
            inputs=embedded,
            num_sampled=16,
            num_classes=words,
            partition_strategy="div",
        )
    ), 0.5


MODELS = {"line": line, "iris": iris, "word2vec": word2vec}


def build(model, part, parts, aggregate=None, **options):
    """Return (loss, loss on the whole data, training step, hook or None)."""
    loss, rate = MODELS[model](part, parts, **options)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        whole = MODELS[model](0, 1, **options)[0] if parts > 1 else loss
    optimizer = tf.train.GradientDescentOptimizer(rate)
    if aggregate is not None:
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, aggregate, parts)
    step = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    hook = None
    if aggregate is not None:
        # Without first tokens each worker gives one gradient to each step.
        hook = optimizer.make_session_run_hook(part == 0, num_tokens=0)
    return loss, whole, step, hook


def train(options):
    """One worker's part."""
    index, total = options["index"], options["total"]
    server = tf.train.Server(options["spec"], "worker", index)
    setter = tf.train.replica_device_setter(
        cluster=server.cluster_spec, worker_device=f"/job:worker/task:{index}"
    )
    size = {"size": options["size"]} if "size" in options else {}
    with tf.device(setter):
        loss, whole, step, hook = build(
            options["model"], index, total, options.get("aggregate"), **size
        )
        arrived = tf.get_variable("arrived", initializer=0, trainable=False)
        arrive = tf.assign_add(arrived, 1, use_locking=True)
    global_step = tf.train.get_global_step()
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=index == 0,
        checkpoint_dir=options.get("checkpoint_dir") if index == 0 else None,
        hooks=[hook] if hook is not None else [],
        config=config,
        save_checkpoint_steps=20 if index == 0 and "checkpoint_dir" in options else None,
        save_checkpoint_secs=None,
        save_summaries_steps=None,
        save_summaries_secs=None,
        log_step_count_steps=None,
        stop_grace_period_secs=1,
    ) as session:
        say(ready=True)
        if "together" in options:  # or the first may be done before the last has started
            session.run(arrive)
            while session.run(arrived) < total:
                time.sleep(0.01)
        at = 0
        while at < options["until_step"]:
            cost, _ = session.run([loss, step])
            at = int(session.run(global_step))
            say(step=at, loss=float(cost))
            if "pause_seconds" in options:
                time.sleep(options["pause_seconds"])
        last = [float(session.run(whole)) for _ in range(options.get("num_averaged", 1))]
        say(end=int(session.run(global_step)), loss=sum(last) / len(last))
        threading.Event().wait()  # the others may still need this worker


if __name__ == "__main__":
    # The end of the test is the end of the worker.
    threading.Thread(target=lambda: (sys.stdin.readline(), os._exit(0)), daemon=True).start()
    train(json.loads(sys.argv[1]))
