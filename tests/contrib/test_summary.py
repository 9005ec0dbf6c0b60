"""`tf.contrib.summary`: events that a run writes by itself. The oracle's program compares them with TensorFlow's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.formats.event_files import read_events

summary = tf.contrib.summary


@pytest.fixture(autouse=True)
def own_graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def events(folder: Path) -> list[Any]:
    """The events of the one file in a folder, but for the first, which names the format."""
    (path,) = folder.iterdir()
    first, *rest = read_events(path)
    assert first.file_version == "brain.Event:2"
    return rest


def scalars(folder: Path) -> list[tuple[int, str, float]]:
    return [(e.step, v.tag, v.simple_value) for e in events(folder) for v in e.summary.value]


def test_a_run_writes_events_with_the_global_step(tmp_path: Path, own_graph: tf.Graph) -> None:
    step = tf.train.create_global_step()
    x = tf.placeholder(tf.float32, [])
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default(), summary.always_record_summaries():
        summary.scalar("loss", x * 2)
        with tf.name_scope("train"):
            summary.scalar("rate", x, step=5)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            summary.initialize(own_graph, session)
            for value in (1.0, 2.0):
                session.run(summary.all_summary_ops(), {x: value})
                session.run(tf.assign_add(step, 1))
            session.run(writer.close())
    graph, *written = events(tmp_path)
    assert b"train/rate" in graph.graph_def and graph.step == 0
    assert {(e.step, v.tag, v.simple_value) for e in written for v in e.summary.value} == {
        (0, "loss", 2.0),
        (5, "train/rate", 1.0),
        (1, "loss", 4.0),
        (5, "train/rate", 2.0),
    }
    assert next(tmp_path.iterdir()).name.endswith(".v2")


def test_a_condition_may_be_a_tensor_and_then_nothing_is_computed(tmp_path: Path) -> None:
    computed = []
    wanted = tf.placeholder(tf.bool, [])
    step = tf.placeholder(tf.int64, [])

    def value() -> float:
        computed.append(1)
        return 3.0

    writer = summary.create_file_writer(str(tmp_path), max_queue=0)
    with writer.as_default():
        with tf.python.ops.summary_ops_v2.record_if(wanted):
            fed = summary.scalar("fed", 1.0, step=step)
        with summary.record_summaries_every_n_global_steps(2, global_step=step):
            every = summary.scalar("every", tf.constant(2.0), step=step)
        with summary.never_record_summaries():
            never = summary.scalar("never", tf.py_func(value, [], tf.float64), step=step)
        outside = summary.scalar("outside", 1.0, step=step)
    with tf.Session() as session:
        session.run(summary.summary_writer_initializer_op())
        results = [
            session.run([fed, every, never, outside], {wanted: i == 2, step: i}) for i in range(4)
        ]
    np.testing.assert_array_equal(results, [[i == 2, i % 2 == 0, False, False] for i in range(4)])
    assert not computed
    assert sorted(scalars(tmp_path)) == [(0, "every", 2.0), (2, "every", 2.0), (2, "fed", 1.0)]


def test_the_other_kinds(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default(), summary.always_record_summaries():
        summary.histogram("h", tf.constant([1.0, -3.0, 2.0]), step=1)
        summary.image("i", np.full([1, 2, 3, 1], np.nan, np.float32), [9, 0, 0, 0], 1, step=1)
        summary.audio("a", np.zeros([2, 4], np.float32), 8000, 2, family="f", step=1)
        metadata = tf.SummaryMetadata(plugin_data=tf.SummaryMetadata.PluginData(plugin_name="text"))
        summary.generic("g", tf.constant(["x", "y"]), metadata, step=1)
        event = tf.Event(step=9)
        event.summary.value.add(tag="imported", simple_value=4.0)
        imported = summary.import_event(event.SerializeToString())
    with tf.Session() as session:
        session.run(summary.summary_writer_initializer_op())
        for op in [*summary.all_summary_ops(), imported]:
            session.run(op)
        session.run(summary.flush(writer))
    values = [v for e in events(tmp_path) for v in e.summary.value]
    assert [v.tag for v in values] == [
        "h",
        "i/image",
        "f/f/a/audio/0",
        "f/f/a/audio/1",
        "g",
        "imported",
    ]
    assert (values[0].histo.num, values[0].histo.min) == (3, -3.0)
    assert (values[1].image.height, values[1].image.width) == (2, 3)
    assert values[2].audio.sample_rate == 8000 and values[2].audio.length_frames == 4
    assert list(values[4].tensor.string_val) == [b"x", b"y"]
    assert values[4].metadata.plugin_data.plugin_name == "text"


def test_without_a_writer_nothing_is_made(own_graph: tf.Graph) -> None:
    nothing = summary.create_file_writer(None)
    with nothing.as_default(), summary.always_record_summaries():
        assert summary.scalar("loss", 1.0).type == "NoOp" and summary.flush().type == "NoOp"
    assert summary.all_summary_ops() == summary.summary_writer_initializer_op() == []
    assert nothing.init() is nothing.flush() is nothing.close() is None
    with tf.Session() as session, pytest.raises(RuntimeError, match="No default"):
        summary.initialize(session=session)
    with pytest.raises(RuntimeError, match="No default"):
        summary.import_event(b"")


def test_a_writer_that_was_not_made_or_was_closed(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path), name="mine")
    with writer.as_default(), summary.always_record_summaries():
        loss = summary.scalar("loss", 1.0, step=0)
        with pytest.raises(ValueError, match="session"):
            summary.initialize()
        with pytest.raises(TypeError, match="initialize"):
            summary.graph(tf.get_default_graph())
    with pytest.raises(TypeError, match="handle"):
        summary.flush("mine")
    with tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError, match="'mine' does not exist"):
            session.run(loss)
        for _ in range(2):  # in a new file each time
            session.run([writer.init()])
            session.run(loss)
            session.run(writer.close())
            with pytest.raises(tf.errors.NotFoundError, match="was closed"):
                session.run(loss)
        with pytest.raises(tf.errors.NotFoundError):
            session.run(writer.flush())
    assert len(list(tmp_path.iterdir())) == 2


def test_set_as_default_and_older_names(tmp_path: Path) -> None:
    from dataflow.summary.writers import summary_state

    writer = summary.create_summary_file_writer(str(tmp_path / "logs"))
    try:
        writer.set_as_default()
        with summary.always_record_summaries():
            summary.scalar("loss", 1.0, step=3)
            assert summary.should_record_summaries().dtype == tf.bool
        with tf.Session() as session:
            tf.summary.initialize()
            session.run(tf.summary.all_v2_summary_ops())
            session.run(summary.flush())
    finally:
        summary_state.writer = None
    assert scalars(tmp_path / "logs") == [(3, "loss", 1.0)]
    assert summary.eval_dir("a") == "a/eval" and summary.eval_dir("a", "b") == "a/eval_b"


def test_what_is_not_closed_is_written_when_the_session_is_closed(tmp_path: Path) -> None:
    with summary.create_file_writer(str(tmp_path), max_queue=100).as_default():
        with summary.always_record_summaries():
            loss = summary.scalar("loss", 1.0, step=0)
    session = tf.Session()
    session.run(summary.summary_writer_initializer_op())
    session.run(loss)
    assert scalars(tmp_path) == []
    session.close()
    assert scalars(tmp_path) == [(0, "loss", 1.0)]


def test_paths_of_programs_and_the_end_of_one(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import tensorflow as tf\n"
        "from tensorflow.contrib.summary import summary as contrib_summary\n"
        "from tensorflow.contrib import summary\n"
        "from tensorflow.python.ops import summary_ops_v2\n"
        "from tensorflow.python.ops.summary_ops_v2 import always_record_summaries\n"
        "assert contrib_summary.scalar is summary.scalar is summary_ops_v2.scalar\n"
        "writer = tf.contrib.summary.create_file_writer('logs')\n"
        "with writer.as_default(), always_record_summaries():\n"
        "    op = contrib_summary.scalar('loss', 1.0, step=2)\n"
        "session = tf.Session()\n"
        "session.run(summary.summary_writer_initializer_op())\n"
        "session.run(op)\n"
    )
    command = [sys.executable, "-m", "dataflow", program.name]
    result = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0, result.stderr
    assert scalars(tmp_path / "logs") == [(2, "loss", 1.0)]


def test_a_host_call_of_a_tpu_estimator(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(features - w))
        train = tf.train.GradientDescentOptimizer(0.25).minimize(
            loss, global_step=tf.train.get_global_step()
        )

        def host_call_fn(step: Any, loss: Any) -> Any:
            with summary.create_file_writer(str(tmp_path / "host")).as_default():
                with summary.always_record_summaries():
                    summary.scalar("loss", loss[0], step=step[0])
                    return summary.all_summary_ops()

        step = tf.reshape(tf.train.get_global_step(), [1])
        return tf.contrib.tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train, host_call=(host_call_fn, [step, tf.reshape(loss, [1])])
        )

    def input_fn(params: Any) -> Any:
        data = tf.data.Dataset.from_tensors((np.float32(1), np.float32(0)))
        return data.repeat().batch(params["batch_size"])

    estimator = tf.contrib.tpu.TPUEstimator(
        model_fn,
        config=tf.contrib.tpu.RunConfig(model_dir=str(tmp_path / "model")),
        use_tpu=False,
        train_batch_size=2,
    )
    estimator.train(input_fn, steps=3)
    assert [value for _, _, value in scalars(tmp_path / "host")] == [1.0, 0.25, 0.0625]


def test_a_database_is_refused() -> None:
    for module in (summary, tf.python.ops.summary_ops_v2):
        with pytest.raises(AttributeError, match="create_db_writer is not part of dataflow"):
            module.create_db_writer
    with pytest.raises(
        AttributeError, match=r"SQLite database; use .*create_file_writer\(logdir\)"
    ):
        summary.create_db_writer
