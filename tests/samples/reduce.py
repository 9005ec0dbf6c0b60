"""Samples of reductions, running sums, segments and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

_rng = np.random.default_rng(13)
X = _rng.standard_normal((2, 3, 4)).astype(np.float32)
WITH_ZERO = X.copy()
WITH_ZERO[0, 1, 2] = WITH_ZERO[1, 0, 0] = 0
TIES = np.array([[1, 3, 3], [2, 2, 1]], np.float32)
EMPTY = np.zeros((0, 3), np.float32)
FLAGS = np.array([[True, False, True], [True, True, True]])
INTEGERS = np.array([[7, -2, 5], [1, 8, -9]], np.int32)
C = (X[0] + 1j * X[1]).astype(np.complex64)


def _reduce(name: str, **kwargs: Any) -> Any:
    return lambda tf, x: getattr(tf, name)(x, **kwargs)


SAMPLES = [
    Sample(
        op,
        _reduce(f"reduce_{name}", **kwargs),
        (X,),
        lambda x, f=function, k=axes: f(x, **k),
        note=note,
    )
    for op, name, function in (
        ("Sum", "sum", np.sum),
        ("Mean", "mean", np.mean),
        ("Prod", "prod", np.prod),
        ("Max", "max", np.max),
        ("Min", "min", np.min),
    )
    for note, kwargs, axes in (
        ("all", {}, {}),
        ("axis", {"axis": 1}, {"axis": 1}),
        ("keep", {"axis": [0, 2], "keepdims": True}, {"axis": (0, 2), "keepdims": True}),
        ("negative", {"axis": [-1, 0]}, {"axis": (0, 2)}),
        ("old", {"reduction_indices": [2], "keep_dims": True}, {"axis": 2, "keepdims": True}),
    )
]
SAMPLES += [
    Sample("Sum", _reduce("reduce_sum", axis=0), (EMPTY,), lambda x: x.sum(0), note="empty"),
    Sample("Sum", _reduce("reduce_sum", axis=1), (EMPTY,), lambda x: x.sum(1), note="empty rows"),
    Sample("Sum", _reduce("reduce_sum"), (INTEGERS,), np.int32(10), note="integers"),
    Sample("Sum", _reduce("reduce_sum"), (C,), np.sum, note="complex"),
    Sample("Sum", _reduce("reduce_sum", axis=[]), (X,), lambda x: x, note="no axes"),
    Sample("Mean", _reduce("reduce_mean"), (INTEGERS,), np.int32(1), note="integers"),
    Sample(
        "Prod",
        _reduce("reduce_prod", axis=1),
        (WITH_ZERO,),
        lambda x: x.prod(1),
        note="zeros",
        second=False,
    ),
    Sample(
        "Prod", _reduce("reduce_prod"), (WITH_ZERO[:1],), np.prod, note="one zero", second=False
    ),
    Sample(
        "Max", _reduce("reduce_max", axis=1), (TIES,), lambda x: x.max(1), gradient=(), note="ties"
    ),
    Sample(
        "Max",
        lambda tf, x: tf.gradients(tf.reduce_max(x, 1), x)[0],
        (TIES,),
        np.array([[0, 0.5, 0.5], [0.5, 0.5, 0]], np.float32),
        gradient=(),
        note="shared",
    ),
    Sample(
        "EuclideanNorm",
        lambda tf, x: tf.math.reduce_euclidean_norm(x, 1),
        (X,),
        lambda x: np.sqrt((x * x).sum(1)),
    ),
    Sample("All", _reduce("reduce_all", axis=1), (FLAGS,), lambda x: x.all(1)),
    Sample("Any", _reduce("reduce_any"), (~FLAGS,), np.any),
    Sample("ArgMax", _reduce("argmax", axis=1), (TIES,), lambda x: x.argmax(1), ()),
    Sample("ArgMax", _reduce("argmax"), (X,), lambda x: x.argmax(0), (), note="default"),
    Sample(
        "ArgMax",
        lambda tf, x: tf.argmax(x, -1, output_type=tf.int32),
        (X,),
        lambda x: x.argmax(-1).astype(np.int32),
        (),
        note="int32",
    ),
    Sample("ArgMin", _reduce("argmin", axis=2), (X,), lambda x: x.argmin(2), ()),
    Sample(
        "AddV2",
        _reduce("reduce_logsumexp", axis=1),
        (X * 100,),
        lambda x: np.logaddexp.reduce(x, 1),
        note="logsumexp",
    ),
    Sample(
        "AddV2",
        _reduce("reduce_logsumexp", keepdims=True),
        (X,),
        lambda x: np.logaddexp.reduce(x, None, keepdims=True),
        note="logsumexp keep",
    ),
    Sample(
        "Mean",
        lambda tf, x: tf.math.reduce_variance(x, 1),
        (X,),
        lambda x: x.var(1),
        note="variance",
    ),
    Sample("Sqrt", lambda tf, x: tf.math.reduce_std(x), (X,), np.std, note="std"),
    Sample(
        "Sum",
        lambda tf, x: tf.count_nonzero(x, axis=0),
        (INTEGERS - 1,),
        lambda x: np.count_nonzero(x, 0),
        note="count_nonzero",
    ),
]


def _running(x: Any, function: Any, start: float, exclusive: bool, reverse: bool) -> Any:
    x = x[:, ::-1] if reverse else x
    y = function(x, axis=1)
    if exclusive:
        y = np.concatenate([np.full_like(y[:, :1], start), y[:, :-1]], 1)
    return y[:, ::-1] if reverse else y


SAMPLES += [
    Sample(
        op,
        lambda tf, x, n=name, e=e, r=r: getattr(tf, n)(x, axis=1, exclusive=e, reverse=r),
        (X,),
        lambda x, f=f, s=s, e=e, r=r: _running(x, f, s, e, r),
        note=f"{'exclusive' if e else ''}{'reverse' if r else ''}",
    )
    for op, name, f, s in (
        ("Cumsum", "cumsum", np.cumsum, 0),
        ("Cumprod", "cumprod", np.cumprod, 1),
    )
    for e in (False, True)
    for r in (False, True)
]
SAMPLES += [
    Sample(
        "CumulativeLogsumexp",
        lambda tf, x, r=r: tf.math.cumulative_logsumexp(x, axis=1, reverse=r),
        (X,),
        lambda x, r=r: _running(x, np.logaddexp.accumulate, 0, False, r),
        note="reverse" if r else "",
        second=False,
    )
    for r in (False, True)
]

DATA = _rng.standard_normal((6, 2)).astype(np.float32)
IDS = np.array([0, 0, 1, 1, 1, 3], np.int32)
MIXED = np.array([2, 0, -1, 2, 0, 0], np.int32)


def _segments(data: Any, ids: Any, count: int, function: Any, empty: float) -> Any:
    rows = []
    for i in range(count):
        chosen = data[ids == i]
        rows.append(function(chosen, axis=0) if len(chosen) else np.full(data.shape[1:], empty))
    return np.array(rows, data.dtype)


SAMPLES += [
    Sample(
        f"Segment{name}",
        lambda tf, x, n=name: getattr(tf, f"segment_{n.lower()}")(x, IDS),
        (DATA,),
        lambda x, f=f, e=e: _segments(x, IDS, 4, f, e),
        second=name != "Prod",
    )
    for name, f, e in (
        ("Sum", np.sum, 0),
        ("Mean", np.mean, 0),
        ("Prod", np.prod, 1),
        ("Max", np.max, 0),
        ("Min", np.min, 0),
    )
]
_LIMITS = np.finfo(np.float32)
SAMPLES += [
    Sample(
        f"UnsortedSegment{name}",
        lambda tf, x, n=name: getattr(tf, f"unsorted_segment_{n.lower()}")(x, MIXED, 4),
        (DATA,),
        lambda x, f=f, e=e: _segments(x, MIXED, 4, f, e),
        gradient=None if name in ("Sum", "Prod") else (),
        second=name != "Prod",
    )
    for name, f, e in (
        ("Sum", np.sum, 0),
        ("Prod", np.prod, 1),
        ("Max", np.max, _LIMITS.min),
        ("Min", np.min, _LIMITS.max),
    )
]
FULL = np.array([1, 0, 1, 2, 0, 2], np.int32)
SAMPLES += [
    Sample(
        f"UnsortedSegment{name}",
        lambda tf, x, n=name: getattr(tf, f"unsorted_segment_{n.lower()}")(x, FULL, 3),
        (DATA,),
        lambda x, f=f: _segments(x, FULL, 3, f, 0),
        note="no empty one",
    )
    for name, f in (("Max", np.max), ("Min", np.min))
]
SAMPLES += [
    Sample(
        "RealDiv",
        lambda tf, x: tf.unsorted_segment_mean(x, FULL, 3),
        (DATA,),
        lambda x: _segments(x, FULL, 3, np.mean, 0),
        note="unsorted_segment_mean",
    ),
    Sample(
        "RealDiv",
        lambda tf, x: tf.unsorted_segment_sqrt_n(x, FULL, 4),
        (DATA,),
        lambda x: _segments(x, FULL, 4, lambda r, axis: r.sum(axis) / np.sqrt(len(r)), 0),
        note="unsorted_segment_sqrt_n",
    ),
    Sample(
        "UnsortedSegmentSum",
        lambda tf, x: tf.unsorted_segment_sum(x, [[1, 0], [1, -1]], 3),
        (DATA[:4].reshape(2, 2, 2),),
        None,
        note="matrix of ids",
    ),
]
CHOSEN, CHOSEN_IDS = np.array([4, 0, 0, 2], np.int32), np.array([0, 0, 2, 2], np.int32)
SAMPLES += [
    Sample(
        f"SparseSegment{kind}{'WithNumSegments' if count else ''}",
        lambda tf, x, n=name, c=count: getattr(tf, f"sparse_segment_{n}")(
            x, CHOSEN, CHOSEN_IDS, num_segments=c
        ),
        (DATA,),
        lambda x, f=f, c=count: _segments(x[CHOSEN], CHOSEN_IDS, c or 3, f, 0),
    )
    for kind, name, f in (
        ("Sum", "sum", np.sum),
        ("Mean", "mean", np.mean),
        ("SqrtN", "sqrt_n", lambda r, axis: r.sum(axis) / np.sqrt(len(r))),
    )
    for count in (None, 5)
]
SAMPLES += [
    Sample(
        "DenseBincount",
        lambda tf, x: tf.bincount(x),
        (np.array([1, 1, 3], np.int32),),
        np.array([0, 2, 0, 1], np.int32),
        oracle=False,  # TensorFlow computes the length of constants when the graph is built
    ),
    Sample(
        "DenseBincount",
        lambda tf, x: raw(
            tf, "DenseBincount", input=x, size=4, weights=np.zeros(0, np.int32), binary_output=True
        ),
        (np.array([[1, 1, 3], [0, 9, 1]], np.int32),),
        np.array([[0, 1, 0, 1], [1, 1, 0, 0]], np.int32),
        note="rows",
    ),
    Sample(
        "Bincount",
        lambda tf, x: raw(tf, "Bincount", arr=x, size=5, weights=[1.0, 2.0, 3.0]),
        (np.array([1, 1, 7], np.int32),),
        np.array([0, 3, 0, 0, 0], np.float32),
        note="weights",
    ),
    Sample(
        "HistogramFixedWidth",
        lambda tf, x: tf.histogram_fixed_width(x, [0.0, 5.0], nbins=5),
        (np.array([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], np.float32),),
        np.array([2, 1, 1, 0, 2], np.int32),
        (),
    ),
    Sample(
        "Cast",
        lambda tf, x: tf.histogram_fixed_width_bins(x, [0.0, 5.0], nbins=5),
        (np.array([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], np.float32),),
        np.array([0, 0, 1, 2, 4, 4], np.int32),
        (),
        note="bins",
    ),
    Sample(
        "Bucketize",
        lambda tf, x: raw(tf, "Bucketize", input=x, boundaries=[0.0, 1.0]),
        (np.array([-1.0, 0.0, 0.5, 3.0], np.float32),),
        np.array([0, 1, 1, 2], np.int32),
        (),
    ),
    Sample(
        "ScatterNd",
        lambda tf, x, y: tf.confusion_matrix(x, y, num_classes=3),
        (np.array([0, 1, 2, 2]), np.array([0, 1, 1, 2])),
        np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1]], np.int32),
        note="confusion_matrix",
    ),
]
