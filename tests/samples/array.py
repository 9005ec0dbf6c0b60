"""Samples of the array family: shapes, fills, joining, slicing, gathering, sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

_rng = np.random.default_rng(21)


def _array(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype(np.float32)


X, Y, Z = _array(2, 3), _array(2, 3), _array(4, 3)
CUBE = _array(2, 3, 4)
COUNT = np.arange(6, dtype=np.int32).reshape(2, 3)
MASK = np.array([[True, False, True], [False, False, True]])
FOUR = _array(2, 4, 6, 3)


def _scatter(start: Any, at: Any, rows: Any, how: str) -> Any:
    out = np.array(start)
    for (i,), row in zip(at, rows, strict=True):
        if how == "update":
            out[i] = row
        elif how == "add":
            out[i] += row
        elif how == "sub":
            out[i] -= row
        elif how == "max":
            out[i] = np.maximum(out[i], row)
        else:
            out[i] = np.minimum(out[i], row)
    return out


ROWS = np.array([[0], [2], [0]], np.int32)
DISTINCT = np.array([[0], [2], [3]], np.int32)
ROW_VALUES = _array(3, 3)

SHAPES = [
    Sample(
        "Shape",
        lambda tf, x: raw(tf, "Shape", input=x),
        (X,),
        np.array([2, 3], np.int32),
        gradient=(),
    ),
    Sample(
        "ShapeN", lambda tf, x, y: tf.shape_n([x, y]), (X, CUBE), [[2, 3], [2, 3, 4]], gradient=()
    ),
    Sample("Size", lambda tf, x: raw(tf, "Size", input=x), (CUBE,), 24, gradient=()),
    Sample("Rank", lambda tf, x: raw(tf, "Rank", input=x), (CUBE,), 3, gradient=()),
    Sample("Identity", lambda tf, x: tf.identity(x), (X,), lambda x: x),
    Sample("IdentityN", lambda tf, x, y: tf.identity_n([x, y]), (X, CUBE), lambda x, y: [x, y]),
    Sample("StopGradient", lambda tf, x: x * tf.stop_gradient(x + 1.0), (X,), gradient=()),
    Sample(
        "PreventGradient",
        lambda tf, x: raw(tf, "PreventGradient", input=x),
        (X,),
        lambda x: x,
        gradient=(),
    ),
    Sample("Snapshot", lambda tf, x: raw(tf, "Snapshot", input=x), (X,), lambda x: x),
    Sample(
        "DebugGradientIdentity",
        lambda tf, x: raw(tf, "DebugGradientIdentity", input=x),
        (X,),
        lambda x: x,
    ),
    Sample("GuaranteeConst", lambda tf, x: tf.guarantee_const(x), (X,), lambda x: x, gradient=()),
    Sample("EnsureShape", lambda tf, x: tf.ensure_shape(x, [None, 3]), (X,), lambda x: x),
    Sample("Fill", lambda tf, x: tf.fill([2, 3], x), (np.float32(1.5),), np.full((2, 3), 1.5, "f")),
    Sample("ZerosLike", lambda tf, x: raw(tf, "ZerosLike", x=x), (X,), np.zeros((2, 3), "f")),
    Sample("OnesLike", lambda tf, x: raw(tf, "OnesLike", x=x), (X,), np.ones((2, 3), "f")),
    Sample(
        "Empty",
        lambda tf: raw(tf, "Empty", shape=[2, 3], dtype=tf.float32, init=True),
        (),
        np.zeros((2, 3), "f"),
    ),
    Sample(
        "Reshape", lambda tf, x: tf.reshape(x, [3, -1]) ** 2, (X,), lambda x: x.reshape(3, 2) ** 2
    ),
    Sample("Reshape", lambda tf, x: tf.reshape(x, [-1]), (X[:0],), np.zeros(0, "f"), note="empty"),
    Sample("ExpandDims", lambda tf, x: tf.expand_dims(x, -1), (X,), lambda x: x[..., None]),
    Sample("Squeeze", lambda tf, x: tf.squeeze(x, [1]), (CUBE[:, :1],), lambda x: x[:, 0]),
    Sample(
        "BroadcastTo",
        lambda tf, x: tf.broadcast_to(x, [4, 2, 3]) ** 2,
        (X,),
        lambda x: np.broadcast_to(x, (4, 2, 3)) ** 2,
    ),
    Sample(
        "BroadcastTo",
        lambda tf, x: tf.broadcast_to(x, [2, 3]),
        (X[:, :1],),
        lambda x: np.broadcast_to(x, (2, 3)),
        note="column",
    ),
    Sample(
        "BroadcastArgs",
        lambda tf: tf.broadcast_dynamic_shape(tf.constant([2, 1, 3]), tf.constant([4, 1])),
        (),
        [[2, 4, 3]],
    ),
    Sample(
        "BroadcastGradientArgs",
        lambda tf: raw(tf, "BroadcastGradientArgs", s0=[2, 1, 3], s1=[4, 1]),
        (),
        [[1], [0, 2]],
    ),
    Sample(
        "Bitcast",
        lambda tf, x: tf.bitcast(x, tf.int32),
        (X,),
        lambda x: x.view(np.int32),
        gradient=(),
    ),
    Sample(
        "Bitcast",
        lambda tf, x: tf.bitcast(x, tf.uint8),
        (COUNT,),
        lambda x: x.view(np.uint8).reshape(2, 3, 4),
        note="smaller",
    ),
    Sample(
        "Bitcast",
        lambda tf, x: tf.bitcast(tf.bitcast(x, tf.uint8), tf.float32),
        (X,),
        lambda x: x,
        gradient=(),
        note="larger",
    ),
]

JOINING = [
    Sample(
        "ConcatV2",
        lambda tf, x, y: tf.concat([x, y], 0) ** 2,
        (X, Z),
        lambda x, y: np.concatenate([x, y]) ** 2,
    ),
    Sample(
        "ConcatV2",
        lambda tf, x, y: tf.concat([x, y, x], -1),
        (X, Y),
        lambda x, y: np.concatenate([x, y, x], 1),
        note="last axis",
    ),
    Sample(
        "ConcatV2", lambda tf, x, y: tf.concat([x, y], 0), (X[:0], Y), lambda x, y: y, note="empty"
    ),
    Sample(
        "Concat",
        lambda tf, x, y: raw(tf, "Concat", concat_dim=1, values=[x, y]),
        (X, Y),
        lambda x, y: np.concatenate([x, y], 1),
    ),
    Sample(
        "ConcatOffset",
        lambda tf: raw(tf, "ConcatOffset", concat_dim=1, shape=[[2, 3], [2, 4], [2, 5]]),
        (),
        [[0, 0], [0, 3], [0, 7]],
    ),
    Sample(
        "Pack",
        lambda tf, x, y: tf.stack([x, y], axis=1) ** 2,
        (X, Y),
        lambda x, y: np.stack([x, y], 1) ** 2,
    ),
    Sample(
        "Pack",
        lambda tf, x, y: tf.stack([x, y]),
        (np.float32(1), np.float32(2)),
        [[1, 2]],
        note="scalars",
    ),
    Sample("Unpack", lambda tf, x: tf.unstack(x, axis=1), (X,), lambda x: list(x.T)),
    Sample(
        "ParallelConcat",
        lambda tf, x, y: tf.parallel_stack([x, y]),
        (X, Y),
        lambda x, y: np.stack([x, y]),
        gradient=(),
    ),
    Sample("Split", lambda tf, x: tf.split(x, 3, axis=1), (X,), lambda x: np.split(x, 3, 1)),
    Sample("SplitV", lambda tf, x: tf.split(x, [1, 3], axis=0), (Z,), lambda x: [x[:1], x[1:]]),
    Sample(
        "SplitV",
        lambda tf, x: tf.split(x, [2, -1], axis=1),
        (X,),
        lambda x: [x[:, :2], x[:, 2:]],
        note="inferred",
    ),
    Sample("Tile", lambda tf, x: tf.tile(x, [2, 3]) ** 2, (X,), lambda x: np.tile(x, (2, 3)) ** 2),
    Sample("Tile", lambda tf, x: tf.tile(x, [0, 2]), (X,), np.zeros((0, 6), "f"), note="none"),
]

SLICING = [
    Sample(
        "Slice",
        lambda tf, x: tf.slice(x, [0, 1, 0], [-1, 2, 3]) ** 2,
        (CUBE,),
        lambda x: x[:, 1:3, :3] ** 2,
    ),
    Sample(
        "StridedSlice",
        lambda tf, x: x[1, ..., ::-2] ** 2,
        (CUBE,),
        lambda x: x[1, ..., ::-2] ** 2,
    ),
    Sample(
        "StridedSlice",
        lambda tf, x: x[:, tf.newaxis, -2:],
        (X,),
        lambda x: x[:, None, -2:],
        note="new axis",
    ),
    Sample(
        "StridedSlice",
        lambda tf, x, i: x[i : i + 1, i],
        (CUBE, np.int32(1)),
        lambda x, i: x[1:2, 1],
        note="tensor bounds",
    ),
    Sample(
        "StridedSliceGrad",
        lambda tf, dy: raw(
            tf, "StridedSliceGrad", shape=[4, 3], begin=[0, 1], end=[4, 2], strides=[2, 1], dy=dy
        ),
        (_array(2, 1),),
        None,
    ),
    Sample(
        "Pad",
        lambda tf, x: tf.pad(x, [[1, 0], [2, 1]]) ** 2,
        (X,),
        lambda x: np.pad(x, [[1, 0], [2, 1]]) ** 2,
    ),
    Sample(
        "PadV2",
        lambda tf, x, c: tf.pad(x, [[1, 0], [2, 1]], constant_values=c),
        (X, np.float32(7)),
        lambda x, c: np.pad(x, [[1, 0], [2, 1]], constant_values=7),
    ),
    Sample(
        "MirrorPad",
        lambda tf, x: tf.pad(x, [[1, 1], [2, 0]], "REFLECT"),
        (Z,),
        lambda x: np.pad(x, [[1, 1], [2, 0]], "reflect"),
    ),
    Sample(
        "MirrorPad",
        lambda tf, x: tf.pad(x, [[2, 1], [3, 0]], "SYMMETRIC") ** 2,
        (Z,),
        lambda x: np.pad(x, [[2, 1], [3, 0]], "symmetric") ** 2,
        note="symmetric",
    ),
    Sample(
        "MirrorPadGrad",
        lambda tf, x: raw(tf, "MirrorPadGrad", input=x, paddings=[[1, 1]], mode="REFLECT"),
        (np.arange(5, dtype=np.float32),),
        np.array([1, 6, 3], np.float32),
        oracle=False,
        note="TensorFlow keeps this op to itself",
    ),
]

SPACE = np.arange(2 * 4 * 6 * 3, dtype=np.float32).reshape(2, 4, 6, 3)
REARRANGING = [
    Sample(
        "Transpose",
        lambda tf, x: tf.transpose(x, [2, 0, 1]) ** 2,
        (CUBE,),
        lambda x: x.transpose(2, 0, 1) ** 2,
    ),
    Sample("Transpose", lambda tf, x: tf.transpose(x), (X,), lambda x: x.T, note="matrix"),
    Sample(
        "ConjugateTranspose",
        lambda tf, x: tf.transpose(x, conjugate=True),
        ((X + 1j * Y).astype(np.complex64),),
        lambda x: x.conj().T,
    ),
    Sample("ReverseV2", lambda tf, x: tf.reverse(x, [0, -1]), (CUBE,), lambda x: x[::-1, :, ::-1]),
    Sample(
        "Reverse",
        lambda tf, x: raw(tf, "Reverse", tensor=x, dims=[True, False, True]),
        (CUBE,),
        lambda x: x[::-1, :, ::-1],
    ),
    Sample(
        "ReverseSequence",
        lambda tf, x: tf.reverse_sequence(x, [2, 0, 4], seq_axis=2, batch_axis=1),
        (CUBE,),
        lambda x: np.stack([x[:, 0, [1, 0, 2, 3]], x[:, 1], x[:, 2, ::-1]], 1),
    ),
    Sample(
        "Roll",
        lambda tf, x: tf.roll(x, [1, -1], [0, 1]),
        (X,),
        lambda x: np.roll(x, [1, -1], [0, 1]),
    ),
    Sample(
        "SpaceToBatchND", lambda tf, x: tf.space_to_batch_nd(x, [2, 3], [[0, 0], [1, 2]]), (FOUR,)
    ),
    Sample(
        "BatchToSpaceND", lambda tf, x: tf.batch_to_space_nd(x, [1, 2], [[0, 0], [1, 2]]), (FOUR,)
    ),
    Sample("SpaceToDepth", lambda tf, x: tf.space_to_depth(x, 2), (FOUR,)),
    Sample("DepthToSpace", lambda tf, x: tf.depth_to_space(x, 2), (_array(1, 2, 3, 8),)),
    Sample(
        "ExtractImagePatches",
        lambda tf, x: tf.extract_image_patches(x, [1, 2, 3, 1], [1, 2, 2, 1], [1, 1, 2, 1], "SAME"),
        (FOUR,),
    ),
    Sample(
        "ExtractVolumePatches",
        lambda tf, x: tf.extract_volume_patches(x, [1, 1, 2, 2, 1], [1, 1, 1, 2, 1], "SAME"),
        (_array(1, 2, 3, 4, 2),),
    ),
    Sample(
        "ExtractVolumePatches",
        lambda tf, x: tf.extract_volume_patches(x, [1, 2, 1, 2, 1], [1, 1, 1, 1, 1], "VALID"),
        (np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2, 1),),
        np.float32([0, 1, 4, 5, 2, 3, 6, 7]).reshape(1, 1, 2, 1, 4),
        note="valid",
    ),
]

GATHERING = [
    Sample(
        "Gather",
        lambda tf, x: raw(tf, "Gather", params=x, indices=[2, 0, 2]) ** 2,
        (Z,),
        lambda x: x[[2, 0, 2]] ** 2,
    ),
    Sample(
        "GatherV2",
        lambda tf, x: tf.gather(x, [[2, 0], [2, 1]]) ** 2,
        (Z,),
        lambda x: x[[[2, 0], [2, 1]]] ** 2,
    ),
    Sample(
        "GatherV2",
        lambda tf, x: tf.gather(x, [1, 1, 0], axis=-1),
        (CUBE,),
        lambda x: x[..., [1, 1, 0]],
        note="last axis",
    ),
    Sample(
        "GatherV2",
        lambda tf, x: tf.gather(x, [[2, 0], [1, 1]], batch_dims=1),
        (CUBE,),
        lambda x: np.stack([x[0, [2, 0]], x[1, [1, 1]]]),
        note="batches",
    ),
    Sample(
        "GatherV2",
        lambda tf, x: tf.gather(x, np.zeros(0, np.int32)),
        (X,),
        np.zeros((0, 3), "f"),
        note="none",
    ),
    Sample(
        "GatherNd",
        lambda tf, x: tf.gather_nd(x, [[1, 2], [0, 0], [1, 2]]) ** 2,
        (CUBE,),
        lambda x: x[[1, 0, 1], [2, 0, 2]] ** 2,
    ),
    Sample(
        "GatherNd",
        lambda tf, x: tf.gather_nd(x, [[1], [0]]),
        (CUBE,),
        lambda x: x[[1, 0]],
        note="rows",
    ),
    Sample(
        "ScatterNd",
        lambda tf, u: tf.scatter_nd(ROWS, u, [4, 3]) ** 2,
        (ROW_VALUES,),
        lambda u: _scatter(np.zeros((4, 3)), ROWS, u, "add") ** 2,
    ),
    Sample(
        "TensorScatterUpdate",
        lambda tf, t, u: tf.tensor_scatter_update(t, DISTINCT, u) ** 2,
        (Z, ROW_VALUES),
        lambda t, u: _scatter(t, DISTINCT, u, "update") ** 2,
    ),
    Sample(
        "TensorScatterAdd",
        lambda tf, t, u: tf.tensor_scatter_add(t, ROWS, u),
        (Z, ROW_VALUES),
        lambda t, u: _scatter(t, ROWS, u, "add"),
    ),
    Sample(
        "ScatterNdNonAliasingAdd",
        lambda tf, t, u: raw(tf, "ScatterNdNonAliasingAdd", input=t, indices=ROWS, updates=u) ** 2,
        (Z, ROW_VALUES),
        lambda t, u: _scatter(t, ROWS, u, "add") ** 2,
    ),
    Sample(
        "TensorScatterSub",
        lambda tf, t, u: tf.tensor_scatter_sub(t, ROWS, u),
        (Z, ROW_VALUES),
        lambda t, u: _scatter(t, ROWS, u, "sub"),
    ),
    Sample(
        "TensorScatterMax",
        lambda tf, t, u: raw(tf, "TensorScatterMax", tensor=t, indices=ROWS, updates=u),
        (Z, ROW_VALUES),
        lambda t, u: _scatter(t, ROWS, u, "max"),
        gradient=(),
    ),
    Sample(
        "TensorScatterMin",
        lambda tf, t, u: raw(tf, "TensorScatterMin", tensor=t, indices=ROWS, updates=u),
        (Z, ROW_VALUES),
        lambda t, u: _scatter(t, ROWS, u, "min"),
        gradient=(),
    ),
    Sample(
        "OneHot",
        lambda tf: tf.one_hot([0, 2, -1, 5], 3),
        (),
        np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]], "f"),
    ),
    Sample(
        "OneHot",
        lambda tf: tf.one_hot([[0], [2]], 3, on_value=5, off_value=-1, axis=0),
        (),
        np.array([[[5], [-1]], [[-1], [-1]], [[-1], [5]]]),
        note="axis",
    ),
    Sample(
        "Select",
        lambda tf, x, y: tf.where(MASK, x, y) ** 2,
        (X, Y),
        lambda x, y: np.where(MASK, x, y) ** 2,
    ),
    Sample(
        "Select",
        lambda tf, x, y: tf.where([True, False], x, y),
        (X, Y),
        lambda x, y: np.stack([x[0], y[1]]),
        note="rows",
    ),
    Sample(
        "SelectV2",
        lambda tf, x, y: tf.where_v2([True, False, True], x, y) ** 2,
        (X, Y[:, :1]),
        lambda x, y: np.where([True, False, True], x, y) ** 2,
    ),
    Sample("Where", lambda tf: tf.where(MASK), (), np.argwhere(MASK)),
    Sample(
        "DynamicPartition",
        lambda tf, x: tf.dynamic_partition(x, [1, 0, 2, 1], 4),
        (Z,),
        lambda x: [x[[1]], x[[0, 3]], x[[2]], x[:0]],
    ),
    Sample(
        "DynamicStitch",
        lambda tf, x, y: tf.dynamic_stitch([[4, 0, 2], [3, 1]], [x, y]),
        (_array(3, 2), _array(2, 2)),
        lambda x, y: np.stack([x[1], y[1], x[2], y[0], x[0]]),
    ),
    Sample(
        "ParallelDynamicStitch",
        lambda tf, x, y: raw(tf, "ParallelDynamicStitch", indices=[[2, 0], [1]], data=[x, y]),
        (X, Y[:1]),
        lambda x, y: np.stack([x[1], y[0], x[0]]),
    ),
]

SETS = np.array([3, 1, 3, 2, 1, 3], np.int32)
SEQUENCES = [
    Sample("Range", lambda tf: tf.range(3, 18, 4), (), np.array([3, 7, 11, 15], np.int32)),
    Sample(
        "Range",
        lambda tf: tf.range(3.0, 1.0, -0.5),
        (),
        np.array([3, 2.5, 2, 1.5], "f"),
        note="down",
    ),
    Sample(
        "TopKV2",
        lambda tf, x: tf.nn.top_k(x, 2),
        (CUBE,),
        lambda x: [-np.sort(-x)[..., :2], np.argsort(-x, kind="stable")[..., :2]],
    ),
    Sample(
        "TopKV2",
        lambda tf: tf.nn.top_k(tf.constant([1, 3, 3, 2]), 3),
        (),
        [[3, 3, 2], [1, 2, 3]],
        note="ties",
    ),
    Sample(
        "InTopKV2",
        lambda tf: tf.nn.in_top_k(tf.constant([[0.1, 0.9, 0.9], [0.5, 0.2, 0.3]]), [2, 1], 1),
        (),
        np.array([True, False]),
    ),
    Sample(
        "InTopK",
        lambda tf: raw(
            tf, "InTopK", predictions=[[0.1, 0.9, 0.3], [0.5, 0.2, 0.3]], targets=[2, 2], k=2
        ),
        (),
        np.array([True, True]),
    ),
    Sample(
        "NthElement",
        lambda tf, x: raw(tf, "NthElement", input=x, n=1),
        (CUBE,),
        lambda x: np.sort(x)[..., 1],
    ),
    Sample(
        "LowerBound", lambda tf: tf.searchsorted([[1, 2, 2, 5]], [[2, 0, 9]]), (), [[[1, 0, 4]]]
    ),
    Sample(
        "UpperBound",
        lambda tf: tf.searchsorted([[1, 2, 2, 5]], [[2, 0, 9]], side="right"),
        (),
        [[[3, 0, 4]]],
    ),
    Sample("Unique", lambda tf: list(tf.unique(SETS)), (), [[3, 1, 2], [0, 1, 0, 2, 1, 0]]),
    Sample(
        "Unique",
        lambda tf: list(tf.unique(["b", "a", "b"])),
        (),
        [np.array([b"b", b"a"], object), [0, 1, 0]],
        note="strings",
    ),
    Sample(
        "UniqueWithCounts",
        lambda tf: list(tf.unique_with_counts(SETS)),
        (),
        [[3, 1, 2], [0, 1, 0, 2, 1, 0], [3, 2, 1]],
    ),
    Sample(
        "UniqueV2",
        lambda tf: list(tf.raw_ops.UniqueV2(x=[[3, 1], [3, 1], [2, 0]], axis=[0])),
        (),
        [[[3, 1], [2, 0]], [0, 0, 1]],
    ),
    Sample(
        "UniqueWithCountsV2",
        lambda tf: list(tf.raw_ops.UniqueWithCountsV2(x=[["b", "a", "b"]], axis=[-1])),
        (),
        [np.array([[b"b", b"a"]], object), [0, 1, 0], [2, 1]],
    ),
    Sample(
        "ListDiff", lambda tf: list(tf.setdiff1d([1, 2, 3, 2, 4], [2, 4])), (), [[1, 3], [0, 2]]
    ),
    Sample(
        "InvertPermutation",
        lambda tf: tf.invert_permutation([3, 4, 0, 2, 1]),
        (),
        [[2, 4, 3, 0, 1]],
    ),
    Sample(
        "UnravelIndex", lambda tf: tf.unravel_index([2, 5, 7], [3, 3]), (), [[[0, 1, 2], [2, 2, 1]]]
    ),
]

SAMPLES = SHAPES + JOINING + SLICING + REARRANGING + GATHERING + SEQUENCES
