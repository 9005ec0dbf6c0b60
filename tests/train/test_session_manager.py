"""`tf.train.SessionManager.recover_session`, and the last checkpoints that a saver is told of; as with 1.15.5."""

from __future__ import annotations

import threading

import pytest

import dataflow as tf


@pytest.fixture
def manager(graph):
    tf.Variable(1.0, name="v")
    return tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())


def test_without_a_checkpoint_the_session_is_not_ready(manager, tmp_path):
    assert manager.recover_session("")[1] is False
    session, recovered = manager.recover_session("", tf.train.Saver(), str(tmp_path))
    assert isinstance(session, tf.Session)
    assert not recovered


def test_a_checkpoint_makes_it_ready(manager, tmp_path):
    v = tf.global_variables()[0]
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = saver.save(sess, str(tmp_path / "model"), global_step=3)
    for place in (
        {"checkpoint_dir": str(tmp_path)},
        {"checkpoint_filename_with_path": path},
        {"checkpoint_dir": str(tmp_path), "wait_for_checkpoint": True, "max_wait_secs": 5},
    ):
        session, recovered = manager.recover_session("", saver, **place)
        assert recovered
        assert session.run(v) == 1.0


def test_a_checkpoint_of_a_part_leaves_it_not_ready(graph, tmp_path):
    v, _ = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
    saver = tf.train.Saver([v])
    with tf.Session() as sess:
        sess.run(v.initializer)
        saver.save(sess, str(tmp_path / "model"))
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    session, recovered = manager.recover_session("", saver, str(tmp_path))
    assert not recovered
    assert session.run(v) == 1.0


def test_a_folder_and_a_file_are_too_much(manager):
    with pytest.raises(ValueError, match="both"):
        manager.recover_session(
            "", tf.train.Saver(), checkpoint_dir="a", checkpoint_filename_with_path="b"
        )


def test_a_saver_is_told_of_checkpoints(graph):
    tf.Variable(1.0)
    saver = tf.train.Saver()
    saver.set_last_checkpoints(["a", "b"])
    assert saver.last_checkpoints == ["a", "b"]
    saver.set_last_checkpoints_with_time([("c", 1.0), ("d", 2.0)])
    assert saver.last_checkpoints == ["c", "d"]
    for tell in (saver.set_last_checkpoints, saver.set_last_checkpoints_with_time):
        with pytest.raises(AssertionError, match="must be a list"):
            tell(("a", "b"))


@pytest.mark.threads
def test_a_worker_waits_for_the_global_step(graph):
    step = tf.train.get_or_create_global_step()
    reach = tf.assign(step, 5)
    hook = tf.train.GlobalStepWaiterHook(5)
    hook.begin()
    started = threading.Event()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        context = tf.train.SessionRunContext(original_args=None, session=sess)
        worker = threading.Thread(target=lambda: (hook.before_run(context), started.set()))
        worker.start()
        assert not started.wait(0.2)
        sess.run(reach)
        assert started.wait(30)
        worker.join(30)
    assert hook.before_run(context) is None  # only the first run waits, and asks the session


def test_the_waiter_needs_a_global_step(graph):
    with pytest.raises(RuntimeError, match="Global step should be created"):
        tf.train.GlobalStepWaiterHook(3).begin()
