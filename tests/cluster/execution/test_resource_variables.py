"""Resource variables on a parameter server: the server's own plans, and when a read is made."""

import numpy as np

import dataflow as tf

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def test_a_model_trains_on_as_its_updates_are_joined(cluster):
    """Values of the same steps in one process."""
    losses = []
    for target in ("", cluster["worker:0"].target):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            with tf.device(tf.train.replica_device_setter(worker_device=WORKER, ps_tasks=1)):
                x = tf.placeholder(tf.float32, [4, 3])
                layers = [tf.keras.layers.Dense(5, activation="relu"), tf.keras.layers.Dense(1)]
                y = layers[1](layers[0](x))
                loss = tf.reduce_mean(tf.square(y - 1.0))
                step = tf.train.AdamOptimizer(0.05).minimize(loss)
            if target:
                assert {v.device for v in tf.global_variables()} == {PS}
                assert layers[0].kernel.op.type == "VarHandleOp"
            else:
                for op in tf.get_default_graph().get_operations():
                    op._set_device("")
            with tf.Session(target) as session:
                session.run(tf.global_variables_initializer())
                feed = {x: np.linspace(-1, 1, 12).reshape(4, 3)}
                losses.append([session.run([loss, step], feed)[0] for _ in range(40)])
    assert losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4, atol=1e-6)


def test_a_read_before_a_change_keeps_its_value_on_another_task(cluster):
    with tf.Graph().as_default():
        with tf.device(PS):
            v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
            before = v.value()
        with tf.device(WORKER), tf.control_dependencies([before]):
            amount = tf.ones([2]) * 3.0
        with tf.device(PS):
            change = v.assign_add(amount, read_value=False)
        with tf.device(PS), tf.control_dependencies([change]):
            old, new = before * 10.0, v.value() * 10.0
        with tf.Session(cluster["worker:0"].target) as session:
            session.run(v.initializer)
            assert [x.tolist() for x in session.run([old, new])] == [[10.0, 20.0], [40.0, 50.0]]
