"""``tensorflow.python.util.protobuf.compare``."""

from __future__ import annotations

import unittest

import pytest

from dataflow.python.util.protobuf import compare

pytest.importorskip("google.protobuf")
from dataflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2


class Case(compare.ProtoAssertions, unittest.TestCase):
    """A test with the assertion."""


def node(name: str, rate: float) -> node_def_pb2.NodeDef:
    made = node_def_pb2.NodeDef(name=name, op="Scale", input=["a", "b"])
    made.attr["rate"].f = rate
    made.attr["rates"].list.f.extend([rate, 2 * rate])
    return made


def test_equal_and_different_messages() -> None:
    assert compare.ProtoEq(node("x", 1.5), node("x", 1.5))
    assert not compare.ProtoEq(node("x", 1.5), node("x", 2.5))
    other = node("x", 1.5)
    other.input[:] = ["b", "a"]
    assert not compare.ProtoEq(node("x", 1.5), other)
    del other.input[1:]
    assert not compare.ProtoEq(node("x", 1.5), other)
    assert compare.ProtoEq(attr_value_pb2.AttrValue(), attr_value_pb2.AttrValue())


def test_the_assertion_shows_the_lines_that_differ() -> None:
    case = Case()
    case.assertProtoEqual('name: "x" op: "Scale"', node_def_pb2.NodeDef(name="x", op="Scale"))
    with pytest.raises(AssertionError, match='my words\n(.|\n)*-name: "x"\n\\+name: "y"'):
        case.assertProtoEqual(node("x", 1.0), node("y", 1.0), msg="my words")


def test_numbers_are_rounded_on_request() -> None:
    case, near = Case(), node("x", 1.0 + 1e-6)
    with pytest.raises(AssertionError):
        case.assertProtoEqual(node("x", 1.0), near)
    case.assertProtoEqual(
        graph_pb2.GraphDef(node=[node("x", 1.0)]),
        graph_pb2.GraphDef(node=[near]),
        normalize_numbers=True,
    )
    assert near.attr["rate"].f != 1.0  # it was a copy
    with pytest.raises(AssertionError):
        case.assertProtoEqual(node("x", 1.0), node("x", 1.01), normalize_numbers=True)
