"""A worker's step that pushes to its parameter server and then waits for a token, as synchronous ones do."""

import numpy as np

import dataflow as tf


def token_step(size=()):
    """A step that makes w into 2 w + local, waits for a token, and puts it into ``local``.

    Returns the step, w, local, and the queue of tokens.
    """
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.ones(size, np.float32))
        tokens = tf.FIFOQueue(100, tf.float32, shapes=[[]], shared_name="tokens")
    with tf.device("/job:worker/task:0"):
        local = tf.get_variable("local", initializer=0.0)
        gradient = tf.multiply(w, 1.0)
    with tf.device("/job:ps/task:0"):
        push = tf.assign_add(w, gradient + local)
        with tf.control_dependencies([push]):
            token = tokens.dequeue()
    with tf.device("/job:worker/task:0"):
        step = tf.assign(local, token)
    return step, w, local, tokens
