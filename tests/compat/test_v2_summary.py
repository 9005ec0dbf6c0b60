"""``tf.compat.v2.summary``: each summary with its step, and what an event file holds of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.compat import v2
from dataflow.formats.event_files import read_events


@pytest.fixture(autouse=True)
def own_graph() -> Any:
    with tf.Graph().as_default():
        yield
    v2.summary.experimental.set_step(None)


def values_in(folder: Path) -> list[tuple[int, Any]]:
    (path,) = folder.iterdir()
    return [(event.step, value) for event in read_events(path) for value in event.summary.value]


def test_summaries_are_written_with_their_steps_unless_told_otherwise(tmp_path: Path) -> None:
    writer = v2.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        made = [
            v2.summary.scalar("loss", tf.constant(2), step=3),
            v2.summary.image("picture", tf.fill([4, 2, 5, 3], 0.5), step=tf.constant(1, tf.int64)),
            v2.summary.text("note", "hey", step=2),
            v2.summary.histogram("numbers", [1.0, 2.0], step=0),
            v2.summary.audio("sound", tf.zeros([1, 8, 1]), 8, step=4),
        ]
        with v2.summary.record_if(False):
            made.append(v2.summary.scalar("unseen", 1.0, step=0))
        v2.summary.experimental.set_step(5)
        assert v2.summary.experimental.get_step() == 5
        made.append(v2.summary.write("whole", tf.ones([2])))
    with tf.Session() as session:
        session.run(writer.init())
        assert session.run(made) == [True] * 5 + [False, True]
        session.run(writer.flush())
    found = values_in(tmp_path)
    assert {(step, value.tag.partition("/")[0]) for step, value in found} == {
        (3, "loss"), (1, "picture"), (2, "note"), (0, "numbers"), (4, "sound"), (5, "whole"),
    }  # fmt: skip
    by_tag = {value.tag.partition("/")[0]: value for _, value in found}
    assert np.array_equal(tf.make_ndarray(by_tag["loss"].tensor), np.float32(2))
    assert by_tag["loss"].metadata.plugin_data.plugin_name == "scalars"
    assert by_tag["note"].metadata.plugin_data.plugin_name == "text"
    assert by_tag["picture"].image.width == 5
    assert sum(value.tag.startswith("picture") for _, value in found) == 3


def test_a_summary_needs_a_step_and_without_a_writer_it_is_none() -> None:
    assert not tf.Session().run(v2.summary.scalar("a", 1.0))
    with v2.summary.create_noop_writer().as_default():
        assert not tf.Session().run(v2.summary.scalar("a", 1.0))
    with v2.summary.create_file_writer("anywhere").as_default():
        with pytest.raises(ValueError, match="No step set"):
            v2.summary.scalar("a", 1.0)


def test_a_test_case_begins_without_the_writer_of_the_one_before() -> None:
    class Case(tf.test.TestCase):
        def runTest(self) -> None:
            assert not self.evaluate(v2.summary.scalar("a", 1.0, step=0))

    v2.summary.create_file_writer("anywhere").set_as_default()
    result = Case().run()
    assert result is not None and result.wasSuccessful()
