"""Samples of convolutions, depthwise convolutions and dilation."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from tests.samples.base import Sample

#: A sample of a long sum, whose order is the kernel's.
Rough = functools.partial(Sample, rtol=1e-4, atol=1e-5)

_rng = np.random.default_rng(7)


def _array(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype(np.float32)


def convolve(
    x: Any, filters: Any, strides: Any, padding: str, dilations: Any = None, pairs: Any = None
) -> Any:
    """Channels-last convolution by its definition: a sum over the taps of the filter."""
    from dataflow.windows import window

    rank = x.ndim - 2
    dilations = dilations or [1] * rank
    pairs = pairs or [(0, 0)] * rank
    windows = [
        window(x.shape[i + 1], filters.shape[i], strides[i], dilations[i], padding, pairs[i])
        for i in range(rank)
    ]
    out = np.zeros((x.shape[0], *(w.count for w in windows), filters.shape[-1]))
    room = [(w.before, w.after + w.extent + w.stride) for w in windows]
    padded = np.pad(x.astype(np.float64), [(0, 0), *room, (0, 0)])
    for tap in itertools.product(*(range(w.taps) for w in windows)):
        under = tuple(
            slice(t * w.dilation, t * w.dilation + (w.count - 1) * w.stride + 1, w.stride)
            for t, w in zip(tap, windows, strict=True)
        )
        out += padded[(slice(None), *under)] @ filters[tap]
    return out


def depthwise(x: Any, filters: Any, strides: Any, padding: str) -> Any:
    """Each channel by itself, with `convolve`."""
    parts = [
        convolve(x[..., c : c + 1], filters[:, :, c : c + 1], strides, padding)
        for c in range(x.shape[-1])
    ]
    return np.concatenate(parts, -1)


IMAGE, FILTER = _array(2, 5, 6, 3), _array(3, 2, 3, 4)
GRAY, FILTER_GRAY = _array(2, 6, 5, 1), _array(3, 3, 1, 2)
VOLUME, FILTER_3D = _array(2, 3, 4, 5, 2), _array(2, 3, 2, 2, 3)
SENTENCES, FILTER_TEXT = _array(3, 6, 4, 1), _array(3, 4, 1, 5)
DEEP, FILTER_DEEP = _array(2, 4, 5, 17), _array(2, 2, 17, 3)
DEPTHWISE = _array(3, 2, 3, 2)
SEQUENCE, FILTER_1D = _array(2, 7, 3), _array(3, 3, 4)
GROUPED = _array(2, 3, 1, 6)
STRUCTURE = _array(2, 3, 3)


def _same(x: Any, w: Any) -> Any:
    return convolve(x, w, [1, 1], "SAME")


SAMPLES = [
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"),
        (IMAGE, FILTER),
        _same,
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, [1, 2, 3, 1], "VALID"),
        (IMAGE, FILTER),
        lambda x, w: convolve(x, w, [2, 3], "VALID"),
        note="strides",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME", dilations=[1, 2, 1, 1]),
        (IMAGE, FILTER),
        lambda x, w: convolve(x, w, [1, 1], "SAME", [2, 1]),
        note="dilations",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, 2, [[0, 0], [2, 1], [0, 3], [0, 0]]),
        (IMAGE, FILTER),
        lambda x, w: convolve(x, w, [2, 2], "EXPLICIT", pairs=[(2, 1), (0, 3)]),
        note="explicit",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 2, 1], "SAME"),
        (GRAY, FILTER_GRAY),
        lambda x, w: convolve(x, w, [1, 2], "SAME"),
        note="one channel",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID"),
        (SENTENCES, FILTER_TEXT),
        lambda x, w: convolve(x, w, [1, 1], "VALID"),
        note="full width",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"),
        (DEEP, FILTER_DEEP),
        _same,
        note="many channels",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID"),
        (IMAGE, _array(1, 1, 3, 2)),
        lambda x, w: x @ w[0, 0],
        note="pointwise",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(
            tf.transpose(x, [0, 3, 1, 2]), w, [1, 1, 2, 1], "SAME", data_format="NCHW"
        ),
        (IMAGE, FILTER),
        lambda x, w: np.moveaxis(convolve(x, w, [2, 1], "SAME"), -1, 1),
        note="NCHW",
        oracle=False,  # TensorFlow has no such kernel on the CPU
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"),
        (IMAGE, GROUPED),
        lambda x, w: depthwise(x, w.reshape(2, 3, 3, 2), [1, 1], "SAME"),
        note="groups",
        oracle=False,  # TensorFlow's CPU kernel has no gradient for groups
    ),
    Sample(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"),
        (np.zeros((0, 4, 4, 2), np.float32), _array(2, 2, 2, 3)),
        np.zeros((0, 4, 4, 3), np.float32),
        note="empty batch",
    ),
    Rough(
        "Conv2DBackpropInput",
        lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [2, 10, 12, 4], [1, 2, 2, 1]),
        (IMAGE, _array(3, 2, 4, 3)),
    ),
    Rough(
        "Conv2DBackpropInput",
        lambda tf, x, w: tf.nn.conv2d_transpose(x, w, [2, 11, 13, 4], 2, "VALID"),
        (IMAGE, _array(3, 3, 4, 3)),
        note="VALID",
    ),
    Rough(
        "Conv2DBackpropFilter",
        lambda tf, x, g: tf.nn.conv2d_backprop_filter(x, [3, 2, 3, 4], g, [1, 2, 2, 1], "SAME"),
        (IMAGE, _array(2, 3, 3, 4)),
    ),
    Rough(
        "Conv3D",
        lambda tf, x, w: tf.nn.conv3d(x, w, [1, 1, 2, 1, 1], "SAME"),
        (VOLUME, FILTER_3D),
        lambda x, w: convolve(x, w, [1, 2, 1], "SAME"),
    ),
    Rough(
        "Conv3DBackpropInputV2",
        lambda tf, x, w: tf.nn.conv3d_transpose(x, w, [2, 6, 8, 10, 3], 2),
        (VOLUME, _array(2, 3, 2, 3, 2)),
    ),
    Rough(
        "Conv3DBackpropFilterV2",
        lambda tf, x, g: tf.nn.conv3d_backprop_filter_v2(
            x, [2, 3, 2, 2, 3], g, [1, 1, 1, 1, 1], "VALID"
        ),
        (VOLUME, _array(2, 2, 2, 4, 3)),
    ),
    Rough(
        "DepthwiseConv2dNative",
        lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"),
        (IMAGE, DEPTHWISE),
        lambda x, w: depthwise(x, w, [2, 2], "SAME"),
    ),
    Rough(
        "DepthwiseConv2dNative",
        lambda tf, x, w: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID"),
        (IMAGE, DEPTHWISE[..., :1]),
        lambda x, w: depthwise(x, w, [1, 1], "VALID"),
        note="multiplier 1",
    ),
    Rough(
        "DepthwiseConv2dNativeBackpropInput",
        lambda tf, w, g: tf.nn.depthwise_conv2d_native_backprop_input(
            [2, 5, 6, 3], w, g, [1, 1, 1, 1], "SAME"
        ),
        (DEPTHWISE, _array(2, 5, 6, 6)),
    ),
    Rough(
        "DepthwiseConv2dNativeBackpropFilter",
        lambda tf, x, g: tf.nn.depthwise_conv2d_native_backprop_filter(
            x, [3, 2, 3, 2], g, [1, 1, 1, 1], "SAME"
        ),
        (IMAGE, _array(2, 5, 6, 6)),
    ),
    Sample(
        "Dilation2D",
        lambda tf, x, w: tf.nn.dilation2d(x, w, [1, 1, 1, 1], [1, 1, 2, 1], "SAME"),
        (IMAGE, STRUCTURE),
        second=False,
    ),
    Sample(
        "Dilation2D",
        lambda tf, x, w: tf.nn.erosion2d(x, w, [1, 2, 1, 1], [1, 1, 1, 1], "VALID"),
        (IMAGE, STRUCTURE),
        second=False,
        note="erosion",
    ),
    Sample(
        "Dilation2DBackpropInput",
        lambda tf, x, w: tf.gradients(
            tf.nn.dilation2d(x, w, [1, 1, 1, 1], [1, 1, 1, 1], "SAME"), x
        ),
        (IMAGE, STRUCTURE),
        gradient=(),
    ),
    Sample(
        "Dilation2DBackpropFilter",
        lambda tf, x, w: tf.gradients(
            tf.nn.dilation2d(x, w, [1, 1, 1, 1], [1, 1, 1, 1], "SAME"), w
        ),
        (IMAGE, STRUCTURE),
        gradient=(),
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.conv1d(x, w, 2, "SAME"),
        (SEQUENCE, FILTER_1D),
        lambda x, w: convolve(x, w, [2], "SAME"),
        note="conv1d",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.convolution(x, w, "SAME", dilation_rate=[2]),
        (SEQUENCE, FILTER_1D),
        lambda x, w: convolve(x, w, [1], "SAME", [2]),
        note="convolution 1-D dilated",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, w: tf.nn.atrous_conv2d(x, w, 2, "SAME"),
        (IMAGE, FILTER),
        lambda x, w: convolve(x, w, [1, 1], "SAME", [2, 2]),
        note="atrous",
    ),
    Rough(
        "Conv2D",
        lambda tf, x, d, p: tf.nn.separable_conv2d(x, d, p, [1, 1, 1, 1], "SAME"),
        (IMAGE, DEPTHWISE, _array(1, 1, 6, 2)),
        lambda x, d, p: depthwise(x, d, [1, 1], "SAME") @ p[0, 0],
        note="separable",
    ),
    Rough(
        "Conv3D",
        lambda tf, x, w: tf.nn.convolution(x, w, "VALID"),
        (VOLUME, FILTER_3D),
        lambda x, w: convolve(x, w, [1, 1, 1], "VALID"),
        note="convolution",
    ),
    Rough(
        "Conv2DBackpropInput",
        lambda tf, x, w: tf.nn.conv1d_transpose(x, w, [2, 14, 4], 2),
        (SEQUENCE, _array(3, 4, 3)),
        note="conv1d",
    ),
    Rough(
        "Conv2DBackpropInput",
        lambda tf, x, w: tf.nn.atrous_conv2d_transpose(x, w, [2, 5, 6, 4], 2, "SAME"),
        (IMAGE, _array(3, 3, 4, 3)),
        note="atrous",
    ),
]
