"""Paths: plain ones, URLs of this machine, and URLs of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.formats.local_paths import local_path, matching_paths


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("a/b", "a/b"),
        (b"a/b", "a/b"),
        (Path("a/b"), "a/b"),
        ("file:///tmp/a", "/tmp/a"),
        ("file://host/tmp/a", "/tmp/a"),
        ("a:b//c", "a:b//c"),
        ("/a/x://y", "/a/x://y"),
    ],
)
def test_plain_path(given, plain):
    assert local_path(given) == plain


def test_other_schemes_are_refused():
    with pytest.raises(tf.errors.UnimplementedError, match="scheme 'gs' not implemented"):
        local_path("gs://bucket/file")


def test_matches_keep_their_form(tmp_path):
    for name in ("b.txt", "a.txt", "c"):
        (tmp_path / name).write_text(name)
    names = [f"{tmp_path}/a.txt", f"{tmp_path}/b.txt"]
    assert matching_paths(f"{tmp_path}/*.txt") == names
    assert matching_paths(f"file://{tmp_path}/*.txt") == [f"file://{name}" for name in names]


def test_files_by_url(tmp_path):
    url = f"file://{tmp_path}"
    tf.gfile.MakeDirs(f"{url}/deep/er")
    with tf.gfile.GFile(f"{url}/deep/a", "w") as file:
        file.write("text\nmore")
    assert (tmp_path / "deep" / "a").read_text() == "text\nmore"
    assert tf.gfile.GFile(f"{url}/deep/a").next() == "text\n"
    assert list(tf.gfile.Walk(f"{url}/deep")) == [
        (f"{url}/deep", ["er"], ["a"]),
        (f"{url}/deep/er", [], []),
    ]
    tf.gfile.DeleteRecursively(f"{url}/deep")
    assert list(tmp_path.iterdir()) == []
    with tf.python_io.TFRecordWriter(f"{url}/r") as writer:
        writer.write(b"one")
    element = tf.data.TFRecordDataset(f"{url}/r").make_one_shot_iterator().get_next()
    with tf.Session() as sess:
        assert sess.run(element) == b"one"


def test_a_model_by_url(tmp_path):
    def model_fn(features, labels, mode):
        w = tf.get_variable("w", initializer=1.0)
        step = tf.train.get_or_create_global_step()
        loss = tf.square(w - 3.0)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def inputs():
        return tf.data.Dataset.from_tensors((np.ones(1), np.ones(1))).repeat()

    estimator = tf.estimator.Estimator(model_fn, f"file://{tmp_path}/model")
    estimator.train(inputs, steps=2)
    assert estimator.latest_checkpoint() == f"{tmp_path}/model/model.ckpt-2"
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]
