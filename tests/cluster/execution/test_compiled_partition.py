"""What a task runs is rewritten as a local plan is, once it has run a few times."""

import numpy as np
import pytest

import dataflow as tf
from dataflow.cluster.execution.client import RemoteSession
from dataflow.cluster.execution.remote_master import RemoteMaster
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING


def compiled(server):
    """The partition that was registered last with a task."""
    return server.service._partitions[max(server.service._partitions)].partition


def rules(partition):
    return {hit.rule for journal in partition.journals for hit in journal}


def regression(momentum=0.0):
    """Softmax regression whose variables are on the ps and whose gradients on worker 1."""
    data = np.random.RandomState(0)
    with tf.device("/job:ps/task:0"):
        w = tf.get_variable("w", initializer=np.zeros((8, 3), np.float32))
        b = tf.get_variable("b", initializer=np.zeros(3, np.float32))
    with tf.device("/job:worker/task:1"):
        x = tf.constant(data.rand(10, 8).astype(np.float32))
        y = tf.constant(data.randint(0, 3, 10))
        logits = tf.matmul(x, w) + b
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        )
        train = tf.train.MomentumOptimizer(0.5, momentum).minimize(loss)
    return w, loss, train


def losses(session, loss, train, count=8):
    session.run(tf.global_variables_initializer())
    return [session.run([loss, train])[0] for _ in range(count)]


def test_training_on_tasks_goes_on_as_before_when_it_is_rewritten(cluster):
    w, loss, train = regression(momentum=0.9)
    here = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=here) as session:
        expected, weights = losses(session, loss, train), session.run(w)
    with tf.Session(cluster["worker:0"].target) as session:
        got = losses(session, loss, train)
        assert rules(compiled(cluster["worker:1"]))
        np.testing.assert_allclose(got, expected, rtol=1e-5)
        np.testing.assert_allclose(session.run(w), weights, rtol=1e-4, atol=1e-6)


def test_rewriting_waits_for_a_few_runs_and_can_be_switched_off(cluster):
    with tf.device("/job:worker/task:1"):
        x = tf.random_uniform([4])
        y = tf.log(1 + tf.exp(x)) * 1.0
    target = cluster["worker:0"].target
    with tf.Session(target) as session:
        for _ in range(RUNS_BEFORE_REWRITING):
            session.run(y)
        partition = compiled(cluster["worker:1"])
        before = partition.sources
        assert not rules(partition)
        session.run(y)
        assert rules(partition)
        assert partition.sources != before
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Session(target, config=off) as session:
        for _ in range(RUNS_BEFORE_REWRITING + 2):
            session.run(y)
        partition = compiled(cluster["worker:1"])
        assert not rules(partition)
        assert len(partition.sources) == 1


@pytest.mark.parametrize("off", [False, True])
def test_a_client_elsewhere_says_what_may_be_rewritten(cluster, off):
    with tf.device("/job:worker/task:1"):
        y = tf.log(1 + tf.exp(tf.random_uniform([4]))) * 1.0
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = off
    # As a client in another process does: by messages to the master.
    master = RemoteMaster(cluster["worker:0"].target, y.graph, config)
    session = RemoteSession(master, y.graph, config)
    for _ in range(RUNS_BEFORE_REWRITING + 1):
        session.run(y)
    assert bool(rules(compiled(cluster["worker:1"]))) is not off
    session.close()


def test_an_error_in_rewritten_nodes_names_the_node_that_the_user_built(cluster):
    with tf.device("/job:worker/task:1"):
        x = tf.placeholder(tf.float32, [100_000], name="x")
        y = tf.placeholder(tf.float32, [None], name="y")
        total = tf.exp(tf.add(x, y, name="the_sum") * 2.0) * 3.0
    with tf.Session(cluster["worker:0"].target) as session:
        for _ in range(RUNS_BEFORE_REWRITING + 1):
            session.run(total, {x: np.zeros(100_000), y: [2.0]})
        assert "_Fused" in str(compiled(cluster["worker:1"])._segments[-1].placed.ops)
        with pytest.raises(tf.errors.InvalidArgumentError, match="the_sum") as caught:
            session.run(total, {x: np.zeros(100_000), y: [1.0, 2.0, 3.0]})
        assert caught.value.op is total.graph.get_operation_by_name("the_sum")


def test_a_trace_shows_the_users_nodes_when_the_piece_is_rewritten(cluster):
    with tf.device("/job:worker/task:1"):
        x = tf.random_uniform([4], seed=1)
        total = tf.add(1.0, tf.exp(x, name="the_exp") * 1.0, name="the_sum")
        y = tf.log(total, name="the_log")
    with tf.Session(cluster["worker:0"].target) as session:
        for _ in range(RUNS_BEFORE_REWRITING + 2):
            session.run(y)
        assert rules(compiled(cluster["worker:1"]))
        steps = {step.op_name: step for step in session.remote.record(y).steps}
        np.testing.assert_allclose(
            steps["the_log"].outputs[0], np.log(steps["the_sum"].outputs[0]), rtol=1e-6
        )


def test_a_read_sees_the_variable_as_it_is_when_its_segment_runs(cluster):
    """Reads on the variable's task stay behind the assignment that they wait for."""
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0, name="v")
        before = tf.identity(v) * 1.0
    # Without this, the ps may get what it adds before it has read the variable.
    with tf.device("/job:worker/task:1"), tf.control_dependencies([before.op]):
        more = tf.random_uniform([]) * 0 + 1.0
    with tf.device("/job:ps/task:0"):
        changed = tf.assign_add(v, more)
        with tf.control_dependencies([changed.op]):
            after = tf.identity(v) * 1.0
    with tf.Session(cluster["worker:0"].target) as session:
        session.run(v.initializer)
        for number in range(1, RUNS_BEFORE_REWRITING + 4):
            assert session.run([before, after]) == [float(number), number + 1.0]


def test_an_assignment_to_what_another_message_has_assigned(cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with tf.device("/job:worker/task:0"):
        x = tf.random_uniform([]) * 0 + 2.0
    with tf.device("/job:worker/task:1"):
        y = tf.random_uniform([]) * 0 + 3.0
    result = tf.assign_add(tf.assign(v, x), y)
    with tf.Session(cluster["worker:0"].target) as session:
        for _ in range(RUNS_BEFORE_REWRITING + 2):
            assert session.run(result) == 5.0
            assert session.run(v) == 5.0


def test_a_result_that_is_sent_once_is_computed_in_the_memory_it_is_sent_from(cluster):
    with tf.device("/job:ps/task:0"):
        weights = tf.Variable(np.ones([200, 200], np.float32))
        small = tf.Variable(np.ones([2, 2], np.float32))
    with tf.device("/job:worker/task:0"):
        near, few = tf.reduce_sum(weights + 1.0), tf.reduce_sum(small + 1.0)
    with tf.device("/job:worker/task:1"):
        far = tf.reduce_sum(weights * 2.0)

    def uses_allocator(fetches):
        assert session.run(fetches) is not None
        return ["allocator" in source for source in compiled(cluster["ps:0"]).sources]

    with tf.Session(cluster["worker:0"].target) as session:
        session.run([weights.initializer, small.initializer])
        assert uses_allocator(near) == [True]
        assert uses_allocator([near, far]) == [False]  # sent twice
        assert uses_allocator(few) == [False]
