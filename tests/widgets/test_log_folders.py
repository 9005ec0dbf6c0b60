"""TrainingMonitor of folders that `tf.summary.FileWriter` wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

import dataflow as tf
from dataflow_widgets import TrainingMonitor


def write(folder: Path, values: dict[int, float], name: str = "loss") -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        tf.summary.scalar(name, x)
        tf.summary.histogram("numbers", [x, x])
        merged = tf.summary.merge_all()
        writer = tf.summary.FileWriter(str(folder), graph)
        for step, value in values.items():
            writer.add_summary(session.run(merged, {x: value}), step)
        writer.close()


def test_each_folder_is_a_run(tmp_path: Path) -> None:
    write(tmp_path / "slow", {0: 4.0, 5: 3.0, 10: 2.0})
    write(tmp_path / "quick" / "eval", {10: 1.0, 0: 4.0}, name="accuracy")
    monitor = TrainingMonitor(tmp_path)
    assert monitor.runs == ["quick/eval", "slow"]
    words = monitor.describe()
    assert "slow: done, step 10" in words
    assert "loss: 2 at step 10, between 2 and 4, 3 points" in words
    assert "accuracy: 1 at step 10" in words, "by step, whatever their order in the file"
    assert monitor.read(str(tmp_path / "slow")) == ["slow 2"], "its name is taken"


def test_a_file_that_is_still_written_to_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    write(tmp_path, {0: 4.0, 1: 3.0, 2: 2.0})
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-7])
    assert "loss: 3 at step 1" in TrainingMonitor(str(tmp_path)).describe()


def test_a_folder_that_is_not_there_or_empty_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder .*nowhere"):
        TrainingMonitor(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"tf\.summary\.FileWriter writes them"):
        TrainingMonitor(tmp_path)
    with pytest.raises(TypeError, match="and reads folders of summaries, got int"):
        TrainingMonitor(3)
