"""Flattening nested structures and putting them together again."""

from __future__ import annotations

import collections
from typing import Any

import pytest

import dataflow as tf
from dataflow import nest
from dataflow.graph.nest import flatten_up_to

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "structure, flat",
    [
        (3, [3]),
        ("text", ["text"]),
        ([1, (2, [3])], [1, 2, 3]),
        ({"b": 1, "a": [2, 3]}, [2, 3, 1]),
        (Point(1, {"k": 2}), [1, 2]),
        ([], []),
    ],
)
def test_flatten_and_back(structure: Any, flat: list[Any]) -> None:
    assert tf.nest.flatten(structure) == flat
    assert tf.nest.pack_sequence_as(structure, flat) == structure


def test_map_structure_keeps_types() -> None:
    result = tf.nest.map_structure(lambda a, b: a + b, Point(1, [2]), Point(10, [20]))
    assert result == Point(11, [22])
    assert isinstance(result, Point)


def test_structures_that_differ() -> None:
    with pytest.raises(ValueError, match="same nested structure"):
        tf.nest.assert_same_structure([1, 2], [1, [2]])
    with pytest.raises(ValueError, match="same nested structure"):
        tf.nest.assert_same_structure({"a": 1}, {"b": 1})
    with pytest.raises(TypeError, match="types"):
        tf.nest.assert_same_structure([1, 2], (1, 2))
    tf.nest.assert_same_structure([1, 2], (1, 2), check_types=False)
    with pytest.raises(ValueError, match="Structure had 2 elements, but flat_sequence had 1"):
        tf.nest.pack_sequence_as([1, 2], [1])


def test_flatten_up_to() -> None:
    assert flatten_up_to([1, {"a": 2}], [[1, 2], {"a": (3, 4)}]) == [[1, 2], (3, 4)]
    with pytest.raises(ValueError, match="same nested structure"):
        flatten_up_to([1, 2], [1])


def test_containers_above_the_leaves_need_the_same_type() -> None:
    with pytest.raises(TypeError, match="must also be a sequence"):
        nest.flatten_up_to([0, [0]], [1.0, 1.0])
    with pytest.raises(TypeError, match="same sequence type"):
        nest.map_structure_up_to([0], lambda x: x, (1.0,))
    assert nest.map_structure_up_to([0], lambda x: x, (1.0,), check_types=False) == [1.0]
    with pytest.raises(ValueError, match="same nested structure"):
        nest.flatten_up_to([0, 0], [1.0])
    one, two, other = (
        collections.namedtuple(n, f) for n, f in (("P", "x y"), ("P", "x y"), ("Q", "x z"))
    )
    assert nest.flatten_up_to(one(0, 0), two(1, [2])) == [1, [2]]
    with pytest.raises(TypeError, match="same sequence type"):
        nest.flatten_up_to(one(0, 0), other(1, 2))
    assert nest.flatten_up_to({"a": 0}, collections.OrderedDict(a=[1])) == [[1]]


def test_views_of_dicts_are_lists_of_what_they_show() -> None:
    ordered = collections.OrderedDict([("d", 3), ("b", 1)])
    assert tf.nest.flatten(ordered.values()) == [3, 1]
    assert tf.nest.flatten({"d": 3, "b": 1}.keys()) == ["d", "b"]
    pairs = ordered.items()
    assert tf.nest.flatten(pairs) == ["d", 3, "b", 1]
    assert tf.nest.pack_sequence_as(pairs, [1, 2, 3, 4]) == [(1, 2), (3, 4)]
    assert tf.nest.is_nested(pairs) and not tf.nest.is_nested({1, 2})


def test_what_is_packed_is_a_sequence() -> None:
    with pytest.raises(TypeError, match="flat_sequence must be a sequence"):
        tf.nest.pack_sequence_as([4, 5], "xy")
    with pytest.raises(ValueError, match="Structure is a scalar"):
        tf.nest.pack_sequence_as(4, [4, 5])


def test_sparse_and_ragged_tensors_and_slices_as_containers_of_their_tensors() -> None:
    sparse = tf.SparseTensor([[0, 1]], [5.0], [2, 3])
    ragged = tf.ragged.constant([[[1, 2], [3]], [[4]]])
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]), tf.constant([3, 1]))
    bare = tf.IndexedSlices(slices.values, slices.indices)
    structure = {"d": [bare, None], "c": slices, "b": ragged, "a": sparse}
    flat = tf.nest.flatten(structure, expand_composites=True)
    assert tf.nest.flatten(structure) == [sparse, ragged, slices, bare, None]
    assert flat[:3] == [sparse.indices, sparse.values, sparse.dense_shape]
    assert flat[3:6] == [ragged.flat_values, *ragged.nested_row_splits]
    assert flat[6:9] == [slices.values, slices.indices, slices.dense_shape]
    assert flat[9:] == [bare.values, bare.indices, None]

    def add_one(leaf: Any) -> Any:
        return leaf if leaf is None or leaf.dtype.is_integer else leaf + 1

    more = tf.nest.map_structure(add_one, structure, expand_composites=True)
    assert [type(more[k]) for k in "abc"] == [tf.SparseTensor, tf.RaggedTensor, tf.IndexedSlices]
    with tf.Session() as session:
        assert session.run([more["a"].values, more["c"].values]) == [[6.0], [[2.0]]]
        assert session.run(more["b"]).to_list() == [[[1, 2], [3]], [[4]]]
    with pytest.raises(ValueError, match="nested structure"):
        tf.nest.assert_same_structure(sparse, sparse.values, expand_composites=True)
    with pytest.raises(TypeError, match="types of their containers"):
        tf.nest.assert_same_structure(sparse, ragged, expand_composites=True)
    with pytest.raises(ValueError, match="3 elements"):
        tf.nest.pack_sequence_as(sparse, [1, 2], expand_composites=True)
