"""Functions of datasets in a GraphDef's library: written, read, run, and refused where damaged."""

from __future__ import annotations

import pytest

import dataflow as tf


def all_values(element):
    values = []
    with tf.Session() as session:
        try:
            while True:
                values.append(session.run(element).tolist())
        except tf.errors.OutOfRangeError:
            return values


def nested_dataset():
    rows = tf.data.Dataset.range(1, 4).flat_map(
        lambda n: tf.data.Dataset.range(n).map(lambda v: v * 10 + n)
    )
    return tf.data.make_one_shot_iterator(rows).get_next(name="next")


def test_a_dataset_travels_with_its_functions():
    with tf.Graph().as_default() as graph:
        expected = all_values(nested_dataset())
        graph_def = graph.as_graph_def()
    names = [f.signature.name for f in graph_def.library.function]
    assert len(names) == len(set(names)) == 3  # the iterator's, flat_map's, map's
    copy = tf.GraphDef.FromString(graph_def.SerializeToString())
    with tf.Graph().as_default() as graph:
        (element,) = tf.import_graph_def(copy, return_elements=["next:0"], name="")
        assert all_values(element) == expected == [1, 2, 12, 3, 13, 23]
        again = graph.as_graph_def()
    assert [f.signature.name for f in again.library.function] == names


def test_functions_of_one_name_stay_apart():
    with tf.Graph().as_default() as graph:
        first = tf.data.Dataset.range(2).map(lambda v: v + 1)
        both = first.map(lambda v: v * 100)
        tf.data.make_one_shot_iterator(both).get_next(name="next")
        graph_def = graph.as_graph_def()
    with tf.Graph().as_default():
        (element,) = tf.import_graph_def(graph_def, return_elements=["next:0"])
        assert all_values(element) == [100, 200]


def test_a_function_that_the_library_lacks_is_named():
    with tf.Graph().as_default() as graph:
        tf.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next(name="next")
        graph_def = graph.as_graph_def()
    missing = graph_def.library.function[0].signature.name
    del graph_def.library.function[:]
    with tf.Graph().as_default() as graph:
        (element,) = tf.import_graph_def(graph_def, return_elements=["next:0"], name="")
        with tf.Session() as session, pytest.raises(tf.errors.OpError, match=missing):
            session.run(element)
        again = graph.as_graph_def()  # as it was read
    assert again.node == graph_def.node
    assert not again.library.function
