"""Structures as messages: all kinds both ways, and what no message stands for."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.ops.type_specs import BoundedTensorSpec, IndexedSlicesSpec
from dataflow.saved_model.structures import NotEncodableError, StructureCoder

Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    "value",
    [
        [1, (2.5, "text"), {"a": None, "b": True}],
        tf.TensorShape([None, 3]),
        tf.TensorShape(None),
        tf.bfloat16,
        tf.TensorSpec([1, None], tf.int64, "x"),
        BoundedTensorSpec([2], tf.float32, 0.0, np.array([1.0, 2.0], np.float32)),
        tf.SparseTensorSpec([None, 4], tf.string),
        IndexedSlicesSpec([4, 2], tf.float32, tf.int32, tf.int64, [None]),
        tf.RaggedTensorSpec([None, None], tf.int32, 1, tf.int32),
        ((tf.TensorSpec([], tf.float32),), {"training": False}),
    ],
)
def test_structures_come_back(value: Any) -> None:
    coder = StructureCoder()
    found = coder.decode_proto(coder.encode_structure(value))
    assert type(found) is type(value)
    assert repr(found) == repr(value) if isinstance(value, tf.TensorShape) else found == value


def test_named_tuples_come_back_by_their_names() -> None:
    coder = StructureCoder()
    found = coder.decode_proto(coder.encode_structure(Pair(1, [2])))
    assert type(found).__name__ == "Pair" and found._asdict() == {"first": 1, "second": [2]}


@pytest.mark.parametrize("value", [object(), {1: 2}, [{"a": b"bytes"}]])
def test_what_has_no_message_is_refused(value: Any) -> None:
    assert not StructureCoder().can_encode(value)
    with pytest.raises(NotEncodableError, match="No encoder for"):
        StructureCoder().encode_structure(value)


def test_a_spec_of_another_program_is_named() -> None:
    coder = StructureCoder()
    proto = coder.encode_structure(tf.SparseTensorSpec([1], tf.int32))
    proto.type_spec_value.type_spec_class = 9
    with pytest.raises(ValueError, match="has not been registered"):
        coder.decode_proto(proto)
