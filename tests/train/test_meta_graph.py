"""Meta graphs: scopes, savers, defaults. What is expected is TensorFlow's (tests/oracle/programs)."""

from __future__ import annotations

import os

import dataflow as tf


def saved(tmp_path):
    """A graph of one variable, and a checkpoint of it."""
    with tf.Graph().as_default():
        v = tf.Variable(2.0, name="v")
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
        with tf.Session() as sess:
            sess.run(v.initializer)
            path = tf.train.Saver().save(sess, str(tmp_path / "model"))
        return tf.train.export_meta_graph(), path


def test_an_import_goes_to_the_current_scope(tmp_path) -> None:
    _, path = saved(tmp_path)
    for scope, import_scope, name in (
        ("m", None, "m/v:0"),
        ("m", "q", "m/q/v:0"),
        ("", "q", "q/v:0"),
    ):
        with tf.Graph().as_default(), tf.name_scope(scope or None):
            saver = tf.train.import_meta_graph(f"{path}.meta", import_scope=import_scope)
            with tf.Session() as sess:
                saver.restore(sess, path)
                assert sess.run(name) == 2.0


def test_a_scope_that_is_taken_gets_a_number(tmp_path) -> None:
    _, path = saved(tmp_path)
    with tf.Graph().as_default():
        tf.train.import_meta_graph(f"{path}.meta", import_scope="q")
        saver = tf.train.import_meta_graph(f"{path}.meta", import_scope="q")
        assert [v.name for v in tf.global_variables()] == ["q/v:0", "q_1/v:0"]
        with tf.Session() as sess:
            saver.restore(sess, path)
            assert sess.run("q_1/v:0") == 2.0


def test_savers_in_a_collection_travel(tmp_path) -> None:
    meta, path = saved(tmp_path)
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        (saver,) = tf.get_collection(tf.GraphKeys.SAVERS)
        with tf.Session() as sess:
            saver.restore(sess, path)
            assert sess.run("v:0") == 2.0


def test_a_graph_without_variables_is_written(tmp_path) -> None:
    with tf.Graph().as_default():
        tf.constant(1)
        with tf.Session() as sess:
            assert tf.train.Saver(allow_empty=True).save(sess, str(tmp_path / "empty")) is None
    assert os.listdir(tmp_path) == ["empty.meta"]


def test_default_attributes_are_stripped_and_filled_in_again() -> None:
    with tf.Graph().as_default():
        image, kernel = tf.ones([1, 3, 3, 1]), tf.ones([1, 1, 1, 1])
        tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME", name="c")
        meta = tf.train.export_meta_graph(strip_default_attrs=True)
    (node,) = [n for n in meta.graph_def.node if n.name == "c"]
    assert set(node.attr) == {"T", "_output_shapes", "padding", "strides"}
    assert meta.meta_info_def.stripped_default_attrs
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(meta.graph_def, name="")
        assert sess.run("c:0").shape == (1, 3, 3, 1)
        assert graph.get_operation_by_name("c").get_attr("data_format") == b"NHWC"


def test_debug_string_of_a_checkpoint(tmp_path) -> None:
    _, path = saved(tmp_path)
    assert tf.train.NewCheckpointReader(path).debug_string() == b"v (DT_FLOAT) []\n"
