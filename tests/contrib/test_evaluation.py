"""Evaluation of checkpoints: `tf.contrib.training`'s and slim's."""

from __future__ import annotations

import pytest

import dataflow as tf

training = tf.contrib.training
slim = tf.contrib.slim


def model():
    """A metric that counts in steps of a saved variable, so that values tell who ran how often."""
    weight = tf.get_variable("weight", initializer=1.0)
    total, update = tf.metrics.mean(tf.ones([2]) * weight)
    return weight, total, update


def save(folder, value: float, step: int) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        weight, _, _ = model()
        tf.train.create_global_step()
        session.run(tf.global_variables_initializer())
        weight.load(value, session)
        return tf.train.Saver().save(session, str(folder / "model.ckpt"), global_step=step)


def test_once_runs_so_often_and_then_the_final_ops(tmp_path) -> None:
    path = save(tmp_path, 3.0, 7)
    with tf.Graph().as_default():
        _, total, update = model()
        counter = training.get_or_create_eval_step()
        assert training.get_or_create_eval_step() is counter
        values = training.evaluate_once(
            path,
            eval_ops=update,
            final_ops={"mean": total, "runs": counter},
            hooks=[training.StopAfterNEvalsHook(4)],
        )
    assert values == {"mean": 3.0, "runs": 4}


def test_each_checkpoint_that_appears(tmp_path) -> None:
    seen = []

    class Next(tf.train.SessionRunHook):
        def end(self, session) -> None:
            seen.append(session.run(weight))
            if len(seen) < 3:
                save(tmp_path, len(seen) + 1.0, len(seen))

    save(tmp_path, 1.0, 0)
    with tf.Graph().as_default():
        weight, total, update = model()
        tf.train.get_or_create_global_step()
        last = slim.evaluation.evaluation_loop(
            "",
            str(tmp_path),
            str(tmp_path / "logs"),
            num_evals=2,
            eval_op=update,
            final_op=total,
            eval_interval_secs=0,
            max_number_of_evaluations=3,
            hooks=[Next()],
        )
    assert seen == [1.0, 2.0, 3.0] and last == 3.0


def test_slims_evaluation_writes_summaries_at_the_step(tmp_path) -> None:
    path = save(tmp_path, 2.0, 5)
    with tf.Graph().as_default():
        _, total, update = model()
        tf.summary.scalar("accuracy", total)
        slim.get_or_create_global_step()
        value = slim.evaluation.evaluate_once(
            "", path, str(tmp_path / "logs"), 3, eval_op=[update], final_op=total
        )
    assert value == 2.0
    (events,) = (tmp_path / "logs").iterdir()
    tags = [v.tag for e in tf.train.summary_iterator(str(events)) for v in e.summary.value]
    assert tags == ["accuracy"]


def test_waiting_ends_and_hooks_need_a_place(tmp_path) -> None:
    assert (
        training.wait_for_new_checkpoint(str(tmp_path), seconds_to_sleep=0.01, timeout=0.02) is None
    )
    path = save(tmp_path, 1.0, 1)
    assert training.wait_for_new_checkpoint(str(tmp_path)) == path
    assert training.wait_for_new_checkpoint(str(tmp_path), path, 0.01, timeout=0.02) is None
    with pytest.raises(ValueError, match="One of log_dir or summary_writer"):
        training.SummaryAtEndHook()


def test_queue_runners_for_a_block() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.train.input_producer(tf.constant([5, 6]), shuffle=False)
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            assert session.run(queue.dequeue()) == 5
            with (
                pytest.raises(slim.queues.NestedQueueRunnerError),
                slim.queues.QueueRunners(session),
            ):
                pass
            assert session.run(queue.dequeue()) == 6
