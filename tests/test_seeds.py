"""The program fragments of the course documents, as they are printed there."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dataflow as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_a_simple_graph(capsys) -> None:
    a = tf.add(3, 5)
    print(a)
    assert capsys.readouterr().out == 'Tensor("Add:0", shape=(), dtype=int32)\n'
    with tf.Session() as sess:
        print(sess.run(a))
    assert capsys.readouterr().out == "8\n"


def test_another_graph() -> None:
    x = 2
    y = 3
    op1 = tf.add(x, y)
    op2 = tf.multiply(x, y)
    op3 = tf.pow(op2, op1)
    with tf.Session() as sess:
        op3 = sess.run(op3)
    assert op3 == 7776


def test_the_useless_node() -> None:
    x = 2
    y = 3
    add_op = tf.add(x, y)
    mul_op = tf.multiply(x, y)
    useless = tf.multiply(x, add_op)
    pow_op = tf.pow(add_op, mul_op)
    with tf.Session() as sess:
        z = sess.run(pow_op)
        assert useless.op.name not in sess.needed(pow_op)
    assert z == 15625


def test_placeholders(capsys) -> None:
    x = tf.placeholder(tf.float32)
    y = tf.placeholder(tf.float32)
    z = x + y
    with tf.Session() as sess:
        print(sess.run(z, feed_dict={x: 3, y: 4.5}))
        print(sess.run(z, feed_dict={x: [1, 3], y: [2, 4]}))
    assert capsys.readouterr().out == "7.5\n[3. 7.]\n"


def test_the_interactive_matmul() -> None:
    sess = tf.InteractiveSession()
    ml_is_fun = tf.constant([6.2, 12.0, 5.9], shape=[1, 3])
    python_is_ok_too = tf.constant([9.3, 1.7, 8.8], shape=[3, 1])
    matrices_omg = tf.matmul(ml_is_fun, python_is_ok_too)
    assert str(matrices_omg) == 'Tensor("MatMul:0", shape=(1, 1), dtype=float32)'
    np.testing.assert_allclose(matrices_omg.eval(), [[129.97999573]], rtol=1e-6)
    sess.close()


def test_mnist_softmax() -> None:
    X = tf.placeholder(tf.float32, [None, 28, 28, 1])
    W = tf.Variable(tf.zeros([784, 10]))
    b = tf.Variable(tf.zeros([10]))
    init = tf.initialize_all_variables()
    Y = tf.nn.softmax(tf.matmul(tf.reshape(X, [-1, 784]), W) + b)
    Y_ = tf.placeholder(tf.float32, [None, 10])
    cross_entropy = -tf.reduce_sum(Y_ * tf.log(Y))
    is_correct = tf.equal(tf.argmax(Y, 1), tf.argmax(Y_, 1))
    accuracy = tf.reduce_mean(tf.cast(is_correct, tf.float32))
    optimizer = tf.train.GradientDescentOptimizer(0.003)
    train_step = optimizer.minimize(cross_entropy)
    rng = np.random.RandomState(0)
    images = rng.rand(100, 28, 28, 1).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[rng.randint(0, 10, 100)]
    images[np.arange(100), labels.argmax(1), 0, 0] += 5  # something to learn
    sess = tf.Session()
    sess.run(init)
    train_data = {X: images, Y_: labels}
    first = sess.run([accuracy, cross_entropy], feed_dict=train_data)
    for _ in range(200):
        sess.run(train_step, feed_dict=train_data)
    a, c = sess.run([accuracy, cross_entropy], feed_dict=train_data)
    sess.close()
    assert a > 0.95
    assert c < first[1] / 3


def test_the_starter_graph(capfd) -> None:
    graph = tf.Graph()
    m1 = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], dtype=np.float32)
    with graph.as_default():
        m1_input = tf.placeholder(tf.int32, shape=[4, 2])
        with tf.device("/cpu:0"):
            m2 = tf.Variable(tf.random_uniform([2, 3], -1.0, 1.0))
            m3 = tf.matmul(m1, m2)
            m3 = tf.Print(m3, [m3], message="m3 is: ")
            init = tf.initialize_all_variables()
    with tf.Session(graph=graph) as session:
        init.run()
        value = m2.eval()
        result = session.run([m3], feed_dict={m1_input: m1})
        m4 = m3 + m3  # the exercise
        both = session.run([m3, m4])
    np.testing.assert_allclose(result[0], m1 @ value, rtol=1e-5)
    np.testing.assert_allclose(both[1], 2 * both[0])
    assert "m3 is: [" in capfd.readouterr().err


def test_word2vec() -> None:
    tf.set_random_seed(1)
    batch_size, vocabulary_size, embedding_size, num_sampled = 16, 200, 8, 5
    valid_examples = np.arange(4)
    train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
    train_labels = tf.placeholder(tf.int32, shape=[batch_size, 1])
    tf.constant(valid_examples, dtype=tf.int32)
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0))
        embed = tf.nn.embedding_lookup(embeddings, train_inputs)
        nce_weights = tf.Variable(
            tf.truncated_normal(
                [vocabulary_size, embedding_size], stddev=1.0 / math.sqrt(embedding_size)
            )
        )
        nce_biases = tf.Variable(tf.zeros([vocabulary_size]))
    # As printed: the order of 2016, inputs before labels.
    loss = tf.reduce_mean(
        tf.nn.nce_loss(nce_weights, nce_biases, embed, train_labels, num_sampled, vocabulary_size)
    )
    optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    inputs = np.arange(batch_size) % 4
    labels = ((inputs * 7) % vocabulary_size)[:, None]
    with tf.Session() as session:
        session.run(tf.initialize_all_variables())
        feed_dict = {train_inputs: inputs, train_labels: labels}
        losses = [session.run([optimizer, loss], feed_dict=feed_dict)[1] for _ in range(200)]
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) / 2


def test_the_white_papers_graph() -> None:
    b = tf.Variable(tf.zeros([100]))
    W = tf.Variable(tf.random_uniform([784, 100], -1, 1))
    x = tf.placeholder(name="x")
    relu = tf.nn.relu(tf.matmul(x, W) + b)
    C = tf.reduce_sum(relu)
    s = tf.Session()
    s.run(tf.global_variables_initializer())
    for _step in range(10):
        result = s.run(C, feed_dict={x: np.ones((1, 784))})
    assert result > 0
    s.close()


def test_the_three_equations() -> None:
    b, c = tf.constant(2.0, name="b"), tf.constant(1.0, name="c")
    d = tf.add(b, c, name="d")
    e = tf.multiply(c, 2.0, name="e")
    a = tf.multiply(d, e, name="a")
    with tf.Session() as s:
        assert s.run(a) == 6


def test_ridge_regression_both_ways() -> None:
    rng = np.random.RandomState(0)
    data = rng.randn(50, 3).astype(np.float32)
    target = (data @ [[1.0], [-2.0], [0.5]] + 0.1 * rng.randn(50, 1)).astype(np.float32)
    X, y = tf.constant(data), tf.constant(target)
    penalty = 0.5
    solution = tf.matmul(
        tf.matmul(
            tf.matrix_inverse(tf.matmul(tf.transpose(X), X) + penalty * tf.eye(3)), tf.transpose(X)
        ),
        y,
    )
    beta = tf.Variable(tf.zeros([3, 1]))
    cost = tf.reduce_sum(tf.square(y - tf.matmul(X, beta))) + penalty * tf.reduce_sum(
        tf.square(beta)
    )
    (gradient,) = tf.gradients(cost, [beta])
    step = beta.assign(beta - 0.005 * gradient)
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        for _ in range(200):
            s.run(step)
        exact, found = s.run([solution, beta])
    np.testing.assert_allclose(found, exact, atol=1e-4)


def test_devices() -> None:
    with tf.device("/gpu:0"):
        pi = tf.Variable(3.1415926535897932384)
        i = tf.Variable(3)
    with tf.device("/cpu:0"):
        a = tf.Variable(3.0)
        b = tf.constant(4.0)
    c = a * b
    config = tf.ConfigProto()
    config.allow_soft_placement = True
    sess = tf.Session(config=config)
    sess.run([i.initializer, a.initializer, pi.initializer])
    assert sess.run(c) == 12
    assert sess.run(pi) == pytest.approx(math.pi)
    sess.close()
    from dataflow.python.client import device_lib

    assert device_lib.list_local_devices()[0].device_type == "CPU"


def test_a_cluster_spec() -> None:
    cluster_spec = tf.train.ClusterSpec(
        {
            "ps": ["machine-a.example.com:2221"],
            "worker": ["machine-a.example.com:2222", "machine-b.example.com:2222"],
        }
    )
    assert cluster_spec.num_tasks("worker") == 2
    assert cluster_spec.task_address("ps", 0) == "machine-a.example.com:2221"
    with tf.device(
        tf.train.replica_device_setter(worker_device="/job:worker/task:1", cluster=cluster_spec)
    ):
        global_step = tf.Variable(0)
        loss = tf.constant(1.0) * 2.0
    assert global_step.device == "/job:ps/task:0"
    assert loss.device == "/job:worker/task:1"


def test_the_table_of_operations() -> None:
    """One of each family in the seeds' table."""
    x = tf.constant([[4.0, 1.0], [2.0, 3.0]])
    v = tf.Variable(0)
    queue = tf.FIFOQueue(1, tf.int32)
    with tf.Session() as s:
        s.run(v.initializer)
        assert s.run([tf.less(1, 2), tf.equal(1, 2), tf.greater(2, 1)]) == [True, False, True]
        assert s.run(tf.rank(tf.concat([x, x], 0))) == 2
        assert s.run(tf.matrix_determinant(x)) == pytest.approx(10)
        assert s.run(tf.assign_add(v, 2)) == 2
        assert s.run(tf.nn.sigmoid(0.0)) == 0.5
        s.run(queue.enqueue(7))
        assert s.run(queue.dequeue()) == 7
        assert s.run(tf.cond(v > 1, lambda: 1, lambda: 2)) == 1
