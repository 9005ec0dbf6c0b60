"""`Session.explain` on a cluster: which task does what, what travels, and the code that runs."""

import json

import numpy as np
import pytest

import dataflow as tf

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def training_step():
    """A parameter, a gradient with something to simplify, an update, and a queue to wait for."""
    with tf.device(PS):
        w = tf.Variable(np.ones([20, 20], np.float32), name="w")
        tokens = tf.FIFOQueue(10, tf.float32, shapes=[[]], shared_name="tokens")
    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [20, 20], name="x")
        gradient = tf.add(tf.matmul(w, x) * 1.0, 0.0, name="gradient")
    with tf.device(PS):
        with tf.control_dependencies([tf.assign_sub(w, gradient, name="update")]):
            token = tokens.dequeue(name="token")
    return w, x, token


def check(told):
    assert set(told.tasks) == {PS, WORKER}
    assert (told.fetches, told.feeds) == (["token:0"], ["x:0"])
    read, update, wait = told.tasks[PS]
    (gradient,) = told.tasks[WORKER]
    assert read.sends == [("w/read:0", WORKER)]
    assert gradient.receives == [("w/read:0", PS)]
    ((name, to),) = gradient.sends
    assert to == PS
    assert update.receives == [(name, WORKER)]
    assert "update" in update.nodes and "w" in read.nodes
    assert wait.may_wait and 1 in wait.after
    assert not update.may_wait and not gradient.may_wait
    assert [hit["equation"] for hit in gradient.journal] != []
    assert all(part.source.startswith("def ") for parts in told.tasks.values() for part in parts)
    assert json.loads(json.dumps(told.to_dict()))["tasks"][PS][2]["nodes"] == wait.nodes
    text = repr(told)
    assert "run of token:0, fed x:0" in text
    assert f"waits for w/read:0 from {PS}" in text
    assert "rewritten: " in text
    assert "<details>" in told._repr_html_()


def test_a_task_of_another_process_explains_itself(processes):
    w, x, token = training_step()
    with tf.Session(processes.target("worker:0")) as session:
        check(session.explain(token, {x: np.zeros([20, 20])}))
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(w)  # nothing has run


def test_offers_are_those_of_one_process(cluster):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.log(1.0 + tf.exp(x), name="y")
    tf.log(1.0 + x, name="of_another_run")
    with tf.Session() as session:
        here = session.explain(y).offers
    with tf.Session(cluster["worker:0"].target) as session:
        told = session.explain(y)
    (offer,) = told.offers
    assert told.offers == here and offer.node == "y"
    assert told.to_dict()["offers"] == [offer._asdict()]
    assert "offers (1)" in repr(told) and offer.text in repr(told)


def test_the_code_is_what_runs(cluster):
    w, x, token = training_step()
    with tf.Session(cluster["worker:0"].target) as session:
        told = session.explain(token, [x])
        check(told)
        session.run(w.initializer)
        with tf.device(PS):
            put = tf.FIFOQueue(10, tf.float32, shapes=[[]], shared_name="tokens").enqueue(1.0)
        for _ in range(5):
            session.run(put)
            session.run(token, {x: np.zeros([20, 20])})
        partitions = [r.partition for r in cluster["ps:0"].service._partitions.values()]
        (partition,) = [p for p in partitions if len(p.sources) == 3]
        assert partition.sources == [part.source for part in told.tasks[PS]]


def test_switched_off_rewrites_are_not_explained(cluster):
    _, x, token = training_step()
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with tf.Session(cluster["worker:0"].target, config=config) as session:
        told = session.explain(token, [x])
    assert [part.journal for part in told.tasks[WORKER]] == [[]]


def test_what_cannot_be_placed_is_said(cluster):
    with tf.device("/job:worker/task:7"):
        a = tf.identity(tf.constant(1.0), name="a")
    with tf.Session(cluster["worker:0"].target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="pinned to /job:worker/task:7"):
            session.explain(a)
