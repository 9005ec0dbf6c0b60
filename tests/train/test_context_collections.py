"""Conditionals and loops through MetaGraphs: their contexts are written, and come back."""

from __future__ import annotations

import dataflow as tf
from dataflow.graph.collections import GraphKeys

KEYS = (GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT)


def exported():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [], name="x")
        inner = lambda i: tf.cond(i > 1.0, lambda: i + x, lambda: i + 1.0)
        loop = lambda: tf.while_loop(lambda i: i < 9.0, inner, [x], swap_memory=True)
        tf.cond(x > 1.0, loop, lambda: x * 2.0, name="choice")
        y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), (0, x), back_prop=True)
        tf.identity(y[1], name="y")
        return tf.train.export_meta_graph()


def counts(meta):
    return [len(meta.collection_def[key].bytes_list.value) for key in KEYS]


def test_only_outermost_contexts_are_in_the_collections():
    assert counts(exported()) == [2, 1]


def test_contexts_come_back_with_their_nesting():
    meta = exported()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta, import_scope="m")
        taken, other = graph.get_collection(GraphKeys.COND_CONTEXT)
        (loop,) = graph.get_collection(GraphKeys.WHILE_CONTEXT)
        assert [taken.name, taken.branch] == ["m/choice/cond_text", 1]
        assert [other.name, other.branch] == ["m/choice/cond_text_1", 0]
        (nested,) = taken.nested
        assert nested.swap_memory
        assert not loop.swap_memory
        assert [type(c).__name__ for c in nested.nested] == ["CondContext", "CondContext"]
        enter = graph.get_operation_by_name("m/while/Enter")
        assert enter.control_flow_context is loop
        assert enter.get_attr("frame_name") == b"m/while/while_context"
        again = tf.train.export_meta_graph(export_scope="m")
        protos = [c.to_proto(export_scope="m") for k in KEYS for c in graph.get_collection(k)]
    assert counts(again) == [2, 1]
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta)
        assert protos == [c.to_proto() for k in KEYS for c in graph.get_collection(k)]


def test_loops_of_two_imports_are_two_loops():
    meta = exported()
    with tf.Graph().as_default() as graph:
        for scope in ("a", "b"):
            tf.train.import_meta_graph(meta, import_scope=scope)
        ys, xs = ([graph.get_tensor_by_name(f"{s}/{n}:0") for s in "ab"] for n in "yx")
        with tf.Session() as sess:
            # y = x^4
            found = sess.run(tf.gradients(ys, xs), {xs[0]: 2.0, xs[1]: 3.0})
    assert found == [32.0, 108.0]


def test_contexts_of_nodes_that_are_gone_are_left_out():
    meta = exported()
    kept = [n for n in meta.graph_def.node if not n.name.startswith("choice")]
    del meta.graph_def.node[:]
    meta.graph_def.node.extend(kept)
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta)
        assert graph.get_collection(GraphKeys.COND_CONTEXT) == []
        assert len(graph.get_collection(GraphKeys.WHILE_CONTEXT)) == 1


def test_texts_of_collections_count_as_names():
    with tf.Graph().as_default():
        tf.constant(1.0)
        tf.add_to_collection("words", "w")
        tf.add_to_collection("bytes", b"\xff\xfe")
        meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta, import_scope="s")
        assert tf.get_collection("words") == ["s/w"]
        assert tf.get_collection("bytes") == [b"\xff\xfe"]
