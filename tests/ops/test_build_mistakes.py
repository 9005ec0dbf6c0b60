"""Shapes and dtypes that do not fit are found when the node is made, with advice and the place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dataflow as tf

loose: Any = tf  # takes what the signatures do not say


def of(*shape: int | None, dtype: Any = tf.float32) -> Any:
    return tf.placeholder(dtype, list(shape))


SHAPES: dict[str, Callable[[], Any]] = {
    "Add": lambda: of(2, 3) + of(4),
    "AddN": lambda: tf.add_n([of(2), of(3)]),
    "Assign": lambda: tf.assign(tf.Variable([1.0, 2.0]), of(3)),
    "AssignAdd": lambda: tf.assign_add(tf.Variable([1.0, 2.0]), of(3)),
    "BatchMatMul": lambda: tf.matmul(of(2, 3, 4), of(2, 5, 6)),
    "BatchToSpaceND": lambda: tf.batch_to_space_nd(of(3, 1, 1, 1), [2, 2], [[0, 0], [0, 0]]),
    "BiasAdd": lambda: tf.nn.bias_add(of(2, 3), of(4)),
    "BroadcastTo": lambda: tf.broadcast_to(of(3), [2, 2]),
    "Cholesky": lambda: tf.cholesky(of(2, 3)),
    "ConcatV2": lambda: tf.concat([of(2, 3), of(4, 5)], 0),
    "Conv2D": lambda: tf.nn.conv2d(of(1, 5, 5, 3), of(2, 2, 4, 1), [1, 1, 1, 1], "SAME"),
    "Conv2D (too large)": lambda: tf.nn.conv2d(
        of(1, 2, 2, 1), of(3, 3, 1, 1), [1, 1, 1, 1], "VALID"
    ),
    "Cross": lambda: tf.cross(of(2), of(2)),
    "Cumsum": lambda: tf.cumsum(of(2, 3), axis=2),
    "DepthToSpace": lambda: tf.depth_to_space(of(1, 2, 2, 3), 2),
    "DiagPart": lambda: tf.diag_part(of(2, 3)),
    "DynamicPartition": lambda: tf.dynamic_partition(of(3), of(4, dtype=tf.int32), 2),
    "ExpandDims": lambda: tf.expand_dims(of(2), 5),
    "Fill": lambda: tf.fill([[1, 2]], 0.0),
    "GatherNd": lambda: tf.gather_nd(of(2, 2), of(1, 3, dtype=tf.int32)),
    "GatherV2": lambda: tf.gather(of(2, 3), [0], axis=4),
    "InTopKV2": lambda: tf.nn.in_top_k(of(4, 3), of(5, dtype=tf.int32), 1),
    "LRN": lambda: tf.nn.lrn(of(2, 3)),
    "MatMul": lambda: tf.matmul(of(2, 3), of(4, 5)),
    "MatrixBandPart": lambda: tf.matrix_band_part(of(3), 0, 0),
    "MatrixInverse": lambda: tf.matrix_inverse(of(2, 3)),
    "MatrixSolve": lambda: tf.matrix_solve(of(3, 3), of(2, 1)),
    "MaxPool": lambda: tf.nn.max_pool(of(1, 4, 4), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "OneHot": lambda: tf.one_hot([1, 2], of(2, dtype=tf.int32)),
    "Pack": lambda: tf.stack([of(2), of(3)]),
    "Pad": lambda: tf.pad(of(2, 3), [[1, 1]]),
    "Reshape": lambda: tf.reshape(of(2, 3), [4, 2]),
    "ReverseSequence": lambda: tf.reverse_sequence(of(2, 3), [1, 1, 1], seq_axis=1, batch_axis=0),
    "ReverseV2": lambda: tf.reverse(of(2), [1]),
    "ScatterNd": lambda: tf.scatter_nd(of(2, 1, dtype=tf.int32), of(3), [4]),
    "ScatterUpdate": lambda: tf.scatter_update(tf.Variable([[1.0, 2.0]]), [0, 0], of(3, 2)),
    "SegmentSum": lambda: tf.segment_sum(of(3, 2), of(4, dtype=tf.int32)),
    "Select": lambda: tf.where(of(2, dtype=tf.bool), of(3), of(3)),
    "Slice": lambda: tf.slice(of(2, 3), [0, 0], [3, 1]),
    "SoftmaxCrossEntropyWithLogits": lambda: tf.nn.softmax_cross_entropy_with_logits_v2(
        labels=of(2, 3), logits=of(2, 4)
    ),
    "SparseSoftmaxCrossEntropyWithLogits": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=of(3, dtype=tf.int32), logits=of(2, 4)
    ),
    "Split": lambda: tf.split(of(2, 3), 2, axis=1),
    "SplitV": lambda: tf.split(of(2, 4), [1, 2], axis=1),
    "Squeeze": lambda: tf.squeeze(of(2, 1), [0]),
    "StridedSlice": lambda: of(2, 3)[5],
    "Sum": lambda: tf.reduce_sum(of(2, 3), 2),
    "Tile": lambda: tf.tile(of(2, 3), [1, 2, 3]),
    "TopKV2": lambda: tf.nn.top_k(of(3), 4),
    "Transpose": lambda: tf.transpose(of(2, 3), [0, 1, 2]),
    "Unpack": lambda: tf.unstack(of(2, 3), num=3),
    "UnsortedSegmentSum": lambda: tf.unsorted_segment_sum(of(3, 2), of(4, dtype=tf.int32), 2),
}

DTYPES: dict[str, Callable[[], Any]] = {
    "Add": lambda: tf.add(of(2), of(2, dtype=tf.int32)),
    "AddN": lambda: tf.add_n([of(2), of(2, dtype=tf.int32)]),
    "Assign": lambda: tf.assign(tf.Variable([1.0]), of(1, dtype=tf.int32)),
    "ArgMax": lambda: tf.argmax(of(2, dtype=tf.string), 0),
    "ConcatV2": lambda: tf.concat([of(2), of(2, dtype=tf.int32)], 0),
    "Conv2D": lambda: tf.nn.conv2d(
        of(1, 4, 4, 1), of(1, 1, 1, 1, dtype=tf.float64), [1, 1, 1, 1], "SAME"
    ),
    "Cos": lambda: tf.cos(of(2, dtype=tf.int32)),
    "DecodeRaw": lambda: tf.decode_raw(of(2), tf.float32),
    "GatherV2": lambda: tf.gather(of(2), of(2)),
    "LogicalAnd": lambda: tf.logical_and(of(2), of(2)),
    "LogicalNot": lambda: tf.logical_not(of(2, dtype=tf.int32)),
    "MatMul": lambda: tf.matmul(of(2, 2), of(2, 2, dtype=tf.float64)),
    "MatMul (bool)": lambda: tf.matmul(of(2, 2, dtype=tf.bool), of(2, 2, dtype=tf.bool)),
    "Pack": lambda: tf.stack([of(2), of(2, dtype=tf.int32)]),
    "Relu": lambda: tf.nn.relu(of(2, dtype=tf.string)),
    "ScatterUpdate": lambda: tf.scatter_update(tf.Variable([1.0]), [0], of(1, dtype=tf.int32)),
    "Softmax": lambda: tf.nn.softmax(of(2, 2, dtype=tf.int32)),
    "Sqrt": lambda: tf.sqrt(of(2, dtype=tf.int32)),
    "StringSplit": lambda: tf.string_split(of(2)),
    "Sum": lambda: tf.reduce_sum(of(2, dtype=tf.string)),
    "UnsortedSegmentSum": lambda: tf.unsorted_segment_sum(of(2), of(2), 2),
    "Where": lambda: tf.where(of(2), of(2), of(2)),
}


@pytest.mark.parametrize("name", list(SHAPES))
def test_shapes(name: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError) as caught:
        SHAPES[name]()
    text = str(caught.value)
    assert len(text) > 20
    if isinstance(caught.value, tf.errors.ShapeError):
        assert "test_build_mistakes.py" in text, "it says where the node was built"


@pytest.mark.parametrize("name", list(DTYPES))
def test_dtypes(name: str) -> None:
    with tf.Graph().as_default(), pytest.raises((TypeError, ValueError)) as caught:
        DTYPES[name]()
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("table", [SHAPES, DTYPES])
def test_a_refused_node_is_not_in_the_graph(table: dict[str, Callable[[], Any]]) -> None:
    for name, build in table.items():
        with tf.Graph().as_default() as graph:
            with pytest.raises((TypeError, ValueError)):
                build()
            op_type = name.partition(" ")[0]
            assert op_type not in {op.type for op in graph.get_operations()} or op_type == "Assign"


@pytest.mark.parametrize(
    ("build", "attribute", "default"),
    [
        (lambda: loose.nn.lrn(of(1, 2, 2, 4), depth_radius=None), "depth_radius", 5),
        (lambda: loose.nn.lrn(of(1, 2, 2, 4), beta=None), "beta", 0.5),
        (lambda: loose.nn.top_k(of(3), 1, sorted=None).values, "sorted", True),
        (lambda: loose.argmax(of(3), output_type=None), "output_type", tf.int64),
        (lambda: loose.string_to_number(["1"], out_type=None), "out_type", tf.float32),
        (lambda: loose.raw_ops.LeakyRelu(features=of(3), alpha=None), "alpha", 0.20000000298023224),
    ],
)
def test_none_stands_for_an_attributes_default(build: Any, attribute: str, default: Any) -> None:
    assert build().op.get_attr(attribute) == default
