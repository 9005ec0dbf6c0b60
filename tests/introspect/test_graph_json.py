"""Graphs as the dictionaries that widgets draw."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow.introspect.graph_json import graph_to_dict


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32([1.0, -1.0]), "[1., -1.]"),
        (np.int32([1, 28, -1]), "[1, 28, -1]"),
        (np.float32([[1.0, -0.5], [2.0, 3.0]]), "[[1., -0.5], [2., 3.]]"),
        (np.float32(0.1), "0.1"),
        (np.zeros((3, 5)), "float64[3, 5]"),
        (np.float32([0.25, 10.0]), "[0.25, 10.]"),
        (["a ]", " c"], "[b'a ]', b' c']"),
    ],
)
def test_constants_are_written_without_room_for_signs_and_digits(value: object, text: str) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(value)
        (node,) = graph_to_dict(graph)["nodes"]
    assert node["value"] == text


def test_equal_constants_of_other_types_and_shapes_have_their_own_texts() -> None:
    with tf.Graph().as_default() as graph:
        for value in (np.int32(1), np.int32([1]), np.float32(1.0), np.int64([1]), [True]):
            tf.constant(value)
        nodes = graph_to_dict(graph)["nodes"]
    assert [node["value"] for node in nodes] == ["1", "[1]", "1.", "[1]", "[True]"]
    assert [node["outputs"][0]["shape"] for node in nodes] == ["()", "(1,)", "()", "(1,)", "(1,)"]


def test_a_node_says_which_line_made_it() -> None:
    with tf.Graph().as_default() as graph:
        made = tf.constant(1.0)
        (node,) = graph_to_dict(graph)["nodes"]
    frame = made.op.traceback[-1]
    assert node["source"] == {"file": __file__, "line": frame.lineno, "cell": None}
