"""Samples of poolings and biases."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

_rng = np.random.default_rng(11)


def _array(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype(np.float32)


def pooled(x: Any, reduce: Any, taps: Any, strides: Any, padding: str, pairs: Any = None) -> Any:
    """Channels-last pooling by its definition: ``reduce`` of what lies under each place."""
    from dataflow.windows import window

    pairs = pairs or [(0, 0)] * len(taps)
    windows = [
        window(x.shape[i + 1], taps[i], strides[i], 1, padding, pairs[i]) for i in range(len(taps))
    ]
    out = np.zeros((x.shape[0], *(w.count for w in windows), x.shape[-1]), x.dtype)
    for place in itertools.product(*(range(w.count) for w in windows)):
        starts = [p * w.stride - w.before for p, w in zip(place, windows, strict=True)]
        under = tuple(
            slice(max(0, s), max(0, s + w.taps)) for s, w in zip(starts, windows, strict=True)
        )
        axes = tuple(range(1, len(taps) + 1))
        out[(slice(None), *place)] = reduce(x[(slice(None), *under)], axis=axes)
    return out


IMAGE = _array(2, 5, 6, 3)
EVEN = _array(2, 4, 6, 3)
VOLUME = _array(2, 3, 4, 5, 2)
SEQUENCE = _array(2, 7, 3)
TIES = np.array([[1, 1, 0], [1, 1, 2], [0, 2, 2]], np.float32).reshape(1, 3, 3, 1)
K2, K23 = [1, 2, 2, 1], [1, 2, 3, 1]
SAMPLES = [
    Sample(
        "MaxPool",
        lambda tf, x: tf.nn.max_pool(x, K2, K2, "SAME"),
        (EVEN,),
        lambda x: pooled(x, np.max, (2, 2), (2, 2), "SAME"),
    ),
    Sample(
        "MaxPool",
        lambda tf, x: tf.nn.max_pool(x, 3, [1, 2, 1, 1], "SAME"),
        (IMAGE,),
        lambda x: pooled(x, np.max, (3, 3), (2, 1), "SAME"),
        note="overlapping",
    ),
    Sample(
        "MaxPool",
        lambda tf, x: tf.nn.max_pool(x, [1, 5, 1, 1], [1, 1, 1, 1], "VALID"),
        (IMAGE,),
        lambda x: x.max(1, keepdims=True),
        note="whole axis",
    ),
    Sample(
        "MaxPool",
        lambda tf, x: tf.nn.max_pool(x, 2, 2, [[0, 0], [1, 0], [0, 1], [0, 0]]),
        (IMAGE,),
        lambda x: pooled(x, np.max, (2, 2), (2, 2), "EXPLICIT", [(1, 0), (0, 1)]),
        second=False,
        note="explicit",
    ),
    Sample(
        "MaxPool",
        lambda tf, x: tf.nn.max_pool(
            tf.transpose(x, [0, 3, 1, 2]), 2, 2, "VALID", data_format="NCHW"
        ),
        (IMAGE,),
        lambda x: np.moveaxis(pooled(x, np.max, (2, 2), (2, 2), "VALID"), -1, 1),
        note="NCHW",
        oracle=False,  # TensorFlow has no such kernel on the CPU
    ),
    Sample(
        "MaxPool",
        lambda tf, x: tf.nn.max_pool(x, [1, 1, 1, 3], [1, 1, 1, 3], "VALID"),
        (IMAGE,),
        lambda x: x.max(-1, keepdims=True),
        gradient=(),  # TensorFlow has none over channels; ours is checked in tests/ops
        note="channels",
    ),
    Sample(
        "MaxPool",
        lambda tf, x: tf.nn.max_pool1d(x, 2, 2, "SAME"),
        (SEQUENCE,),
        lambda x: pooled(x, np.max, (2,), (2,), "SAME"),
        note="max_pool1d",
    ),
    Sample(
        "MaxPoolGrad",
        lambda tf, x: tf.gradients(tf.nn.max_pool(x, 2, 1, "VALID"), x),
        (TIES,),
        np.array([[1, 0, 0], [0, 0, 2], [0, 1, 0]], np.float32).reshape(1, 3, 3, 1),
        gradient=(),
        note="the first of equals",
    ),
    Sample(
        "MaxPoolGradGrad",
        lambda tf, x, g: tf.gradients(
            tf.gradients(tf.nn.max_pool(x, K2, K2, "SAME"), x, g), g, x * x
        ),
        (IMAGE, _array(2, 3, 3, 3)),
        lambda x, g: pooled_second(x),
        second=False,
    ),
    Sample(
        "MaxPool3D",
        lambda tf, x: tf.nn.max_pool3d(x, 2, [1, 1, 2, 2, 1], "SAME"),
        (VOLUME,),
        lambda x: pooled(x, np.max, (2, 2, 2), (1, 2, 2), "SAME"),
        oracle=False,  # TensorFlow has no float64 kernel for its gradient
    ),
    Sample(
        "MaxPool3DGrad",
        lambda tf, x: tf.gradients(tf.nn.max_pool3d(x, 2, 2, "VALID"), x),
        (VOLUME,),
        gradient=(),
    ),
    Sample(
        "MaxPool3DGradGrad",
        lambda tf, x, g: tf.gradients(
            tf.gradients(tf.nn.max_pool3d(x, 2, 2, "VALID"), x, g), g, x * x
        ),
        (VOLUME, _array(2, 1, 2, 2, 2)),
        second=False,
        oracle=False,  # TensorFlow has no float64 kernel for it
    ),
    Sample(
        "MaxPoolWithArgmax",
        lambda tf, x: tf.nn.max_pool_with_argmax(x, K2, [1, 2, 1, 1], "SAME"),
        (IMAGE,),
    ),
    Sample(
        "MaxPoolWithArgmax",
        lambda tf, x: tf.nn.max_pool_with_argmax(
            x, K2, K2, "VALID", output_dtype=tf.int32, include_batch_in_index=True
        ),
        (IMAGE,),
        gradient=(),
        note="with batch",
    ),
    Sample(
        "MaxPoolGradWithArgmax",
        lambda tf, x: tf.gradients(tf.nn.max_pool_with_argmax(x, K2, K2, "SAME")[0], x),
        (IMAGE,),
        gradient=(),
    ),
    Sample(
        "MaxPoolGradGradWithArgmax",
        lambda tf, x, g: tf.gradients(
            tf.gradients(tf.nn.max_pool_with_argmax(x, K2, K2, "SAME")[0], x, g), g, x * x
        ),
        (IMAGE, _array(2, 3, 3, 3)),
        lambda x, g: pooled_second(x),
        second=False,
        oracle=False,  # TensorFlow registers no gradient for MaxPoolGradWithArgmax
    ),
    Sample(
        "AvgPool",
        lambda tf, x: tf.nn.avg_pool(x, K23, [1, 2, 1, 1], "SAME"),
        (IMAGE,),
        lambda x: pooled(x, np.mean, (2, 3), (2, 1), "SAME"),
    ),
    Sample(
        "AvgPool",
        lambda tf, x: tf.nn.avg_pool(x, [1, 5, 6, 1], 1, "VALID"),
        (IMAGE,),
        lambda x: x.mean((1, 2), keepdims=True),
        note="whole image",
    ),
    Sample(
        "AvgPool",
        lambda tf, x: tf.nn.pool(x, [2, 2], "AVG", "VALID", dilation_rate=[1, 2]),
        (IMAGE,),
        lambda x: (x[:, :-1, :-2] + x[:, 1:, :-2] + x[:, :-1, 2:] + x[:, 1:, 2:]) / 4,
        note="dilated",
    ),
    Sample(
        "AvgPool",
        lambda tf, x: tf.nn.avg_pool1d(x, 3, 2, "SAME"),
        (SEQUENCE,),
        lambda x: pooled(x, np.mean, (3,), (2,), "SAME"),
        note="avg_pool1d",
    ),
    Sample(
        "AvgPoolGrad",
        lambda tf, x: tf.gradients(tf.nn.avg_pool(x, K2, 1, "SAME"), x),
        (IMAGE,),
        gradient=(),
    ),
    Sample(
        "AvgPool3D",
        lambda tf, x: tf.nn.avg_pool3d(x, 2, 2, "SAME"),
        (VOLUME,),
        lambda x: pooled(x, np.mean, (2, 2, 2), (2, 2, 2), "SAME"),
    ),
    Sample(
        "AvgPool3DGrad",
        lambda tf, x: tf.gradients(tf.nn.avg_pool3d(x, 2, 1, "VALID"), x),
        (VOLUME,),
        gradient=(),
    ),
    Sample(
        "BiasAdd",
        lambda tf, x, b: tf.nn.bias_add(x, b),
        (IMAGE, _array(3)),
        lambda x, b: x + b,
    ),
    Sample(
        "BiasAdd",
        lambda tf, x, b: tf.nn.bias_add(x, b, "NCHW"),
        (IMAGE, _array(5)),
        lambda x, b: x + b[:, None, None],
        note="NCHW",
    ),
    Sample(
        "BiasAdd",
        lambda tf, x, w, b: tf.nn.xw_plus_b(x, w, b),
        (_array(2, 3), _array(3, 4), _array(4)),
        lambda x, w, b: x @ w + b,
        note="xw_plus_b",
    ),
    Sample(
        "BiasAdd",
        lambda tf, x, w, b: tf.nn.relu_layer(x, w, b),
        (_array(2, 3), _array(3, 4), _array(4)),
        lambda x, w, b: np.maximum(x @ w + b, 0),
        note="relu_layer",
    ),
    Sample(
        "BiasAddGrad",
        lambda tf, x, b: tf.gradients(tf.nn.bias_add(x, b) ** 2, b),
        (IMAGE, _array(3)),
        lambda x, b: 2 * (x + b).sum((0, 1, 2)),
        rtol=1e-4,
        atol=1e-5,
        second=False,
    ),
    Sample(
        "BiasAddV1",
        lambda tf, x, b: (
            tf.nn.bias_add_v1(x, b) if hasattr(tf.nn, "bias_add_v1") else tf.nn.bias_add(x, b)
        ),
        (_array(2, 3), _array(3)),
        lambda x, b: x + b,
    ),
]

# Regions are drawn; those of a whole ratio, and those that a gradient op is told, are not.
STARTS = np.array([0, 2, 3, 5])
SQUARE = _array(1, 5, 5, 2)


def _regions(x: Any, overlapping: bool) -> Any:
    """The largest elements of the regions that start at STARTS."""
    out = np.zeros((1, 3, 3, 2), np.float32)
    ends = np.minimum(STARTS[1:] + overlapping, 5)
    for i, j in np.ndindex(3, 3):
        out[:, i, j] = x[:, STARTS[i] : ends[i], STARTS[j] : ends[j]].max((1, 2))
    return out


SAMPLES += [
    Sample(
        "FractionalMaxPool",
        lambda tf, x: tf.nn.fractional_max_pool(x, [1.0, 2.0, 1.5, 1.0], True, True)[:1],
        (_array(2, 6, 7, 2),),
        random=True,
        gradient=(),
    ),
    Sample(
        "FractionalMaxPool",
        lambda tf, x: list(tf.nn.fractional_max_pool(x, [1.0, 2.0, 3.0, 1.0])),
        (EVEN,),
        lambda x: [pooled(x, np.max, (2, 3), (2, 3), "VALID"), [0, 2, 4], [0, 3, 6]],
        second=False,
        note="whole",
    ),
    Sample(
        "FractionalAvgPool",
        lambda tf, x: list(tf.nn.fractional_avg_pool(x, [1.0, 2.0, 3.0, 1.0])),
        (EVEN,),
        lambda x: [pooled(x, np.mean, (2, 3), (2, 3), "VALID"), [0, 2, 4], [0, 3, 6]],
        second=False,
        note="whole",
    ),
]
SAMPLES += [
    Sample(
        "FractionalMaxPoolGrad",
        lambda tf, x, y, dy, overlapping=overlapping: raw(
            tf,
            "FractionalMaxPoolGrad",
            orig_input=x,
            orig_output=y,
            out_backprop=dy,
            row_pooling_sequence=STARTS,
            col_pooling_sequence=STARTS,
            overlapping=overlapping,
        ),
        (SQUARE, _regions(SQUARE, overlapping), _array(1, 3, 3, 2)),
        gradient=(),
        note=f"overlapping {overlapping}",
    )
    for overlapping in (False, True)
] + [
    Sample(
        "FractionalAvgPoolGrad",
        lambda tf, dy, overlapping=overlapping: raw(
            tf,
            "FractionalAvgPoolGrad",
            orig_input_tensor_shape=np.array([1, 5, 5, 2]),
            out_backprop=dy,
            row_pooling_sequence=STARTS,
            col_pooling_sequence=STARTS,
            overlapping=overlapping,
        ),
        (_array(1, 3, 3, 2),),
        gradient=(),
        note=f"overlapping {overlapping}",
    )
    for overlapping in (False, True)
]


def pooled_second(x: Any) -> Any:
    """x * x at the maxima of x under 2 x 2 windows, stride 2, SAME."""
    squares = np.zeros((2, 3, 3, 3), np.float32)
    for n, i, j, c in np.ndindex(squares.shape):
        under = x[n, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, c]
        squares[n, i, j, c] = under.max() ** 2
    return squares
