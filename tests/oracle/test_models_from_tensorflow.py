"""A model that real TensorFlow trained and saved goes on training here, and the values agree."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

import dataflow as tf
from tests.oracle import comparison

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]

PROGRAM = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
tf.disable_resource_variables()
x = tf.placeholder(tf.float32, [None, 3], name="x")
hidden = tf.layers.dense(x, 4, activation=tf.nn.relu, name="hidden")
y = tf.layers.dense(hidden, 2, name="y")
labels = tf.one_hot([0, 1], 2)
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=y))
step = tf.train.get_or_create_global_step()
tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step, name="train")
tf.add_to_collection("outputs", y)
tf.summary.scalar("loss", loss)
tf.summary.merge_all()
saver = tf.train.Saver()
feed = {x: np.arange(6.0).reshape(2, 3) / 3}
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run("train", feed)
    saver.save(session, sys.argv[1] + "/model.ckpt", global_step=step)
    tf.saved_model.simple_save(session, sys.argv[1] + "/saved", {"x": x}, {"y": y})
    seen = []
    for _ in range(3):
        seen.append(session.run(y, feed).tolist())
        session.run("train", feed)
print(json.dumps(seen))
"""


def test_training_goes_on_from_their_checkpoint_and_meta_graph(tmp_path):
    done = subprocess.run(
        [comparison.ORACLE_PYTHON, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    theirs = json.loads(done.stdout.strip().splitlines()[-1])
    prefix = tf.train.latest_checkpoint(tmp_path)
    assert prefix == str(tmp_path / "model.ckpt-1")
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(prefix + ".meta")
        saver.restore(session, prefix)
        (y,) = tf.get_collection("outputs")
        feed = {"x:0": np.arange(6.0).reshape(2, 3) / 3}
        for expected in theirs:
            np.testing.assert_allclose(session.run(y, feed), expected, rtol=1e-4, atol=1e-6)
            session.run("train", feed)
        assert tf.train.global_step(session, tf.train.get_global_step()) == 4
        summary = tf.Summary.FromString(session.run("Merge/MergeSummary:0", feed))
        assert [v.tag for v in summary.value] == ["loss"]
        ours = saver.save(session, str(tmp_path / "ours"), global_step=4)
    assert tf.train.list_variables(ours) == tf.train.list_variables(prefix)
    with tf.Graph().as_default(), tf.Session() as session:
        meta = tf.saved_model.loader.load(session, ["serve"], tmp_path / "saved")
        signature = meta.signature_def["serving_default"]
        y = session.run(signature.outputs["y"].name, feed)
        np.testing.assert_allclose(y, theirs[0], rtol=1e-4, atol=1e-6)
