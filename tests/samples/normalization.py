"""Samples of moments, batch and response normalization and dropout."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

#: A sample of statistics, whose order of summation is the kernel's.
Rough = functools.partial(Sample, rtol=1e-4, atol=1e-5)

_rng = np.random.default_rng(17)


def _array(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype(np.float32)


IMAGE, SCALE, OFFSET = _array(2, 3, 4, 5), _array(5), _array(5)
MEAN, VARIANCE = _array(5), np.abs(_array(5)) + 0.5
AXES = (0, 1, 2)


def _normalized(x: Any, scale: Any, offset: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    return (x - mean) / np.sqrt(variance + epsilon) * scale + offset


def _fused(x: Any, scale: Any, offset: Any) -> list[Any]:
    mean, variance = x.mean(AXES), x.var(AXES)
    count = x.size // x.shape[-1]
    y = _normalized(x, scale, offset, mean, variance, 0.01)
    return [y, mean, variance * count / (count - 1)]


def older_batch_norm(op: str, training: bool) -> Any:
    def build(tf: Any, x: Any, scale: Any, offset: Any, *statistics: Any) -> Any:
        mean, variance = statistics or (np.zeros(0, np.float32),) * 2
        return raw(
            tf,
            op,
            x=x,
            scale=scale,
            offset=offset,
            mean=mean,
            variance=variance,
            epsilon=0.01,
            is_training=training,
        )[:3]

    return build


def _global_gradients(t: Any, m: Any, v: Any, g: Any, grad: Any) -> list[Any]:
    inverse = 1 / np.sqrt(v + 0.01)
    offset, product = grad.sum(AXES), (grad * (t - m)).sum(AXES)
    slope = -0.5 * product * g * inverse**3
    return [grad * g * inverse, -offset * g * inverse, slope, offset, product * inverse]


def _response(x: Any, radius: int, bias: float, alpha: float, beta: float) -> Any:
    near = np.abs(np.subtract.outer(np.arange(x.shape[-1]), np.arange(x.shape[-1]))) <= radius
    return x / (bias + alpha * (x * x) @ near) ** beta


SAMPLES = [
    Rough(
        "FusedBatchNormV3",
        lambda tf, x, s, o: tf.nn.fused_batch_norm(x, s, o, epsilon=0.01),
        (IMAGE, SCALE, OFFSET),
        _fused,
        gradient=(),
    ),
    Rough(
        "FusedBatchNormV3",
        lambda tf, x, s, o: tf.nn.fused_batch_norm(x, s, o, epsilon=0.01)[0],
        (IMAGE, SCALE, OFFSET),
        lambda x, s, o: _fused(x, s, o)[0],
        note="gradient",
    ),
    Rough(
        "FusedBatchNormV3",
        lambda tf, x, s, o, m, v: tf.nn.fused_batch_norm(
            x, s, o, m, v, epsilon=0.01, is_training=False
        )[0],
        (IMAGE, SCALE, OFFSET, MEAN, VARIANCE),
        lambda x, s, o, m, v: _normalized(x, s, o, m, v, 0.01),
        gradient=(0, 1, 2),
        note="inference",
    ),
    Rough(
        "FusedBatchNormV3",
        lambda tf, x, s, o: tf.nn.fused_batch_norm(
            tf.transpose(x, [0, 3, 1, 2]), s, o, epsilon=0.01, data_format="NCHW"
        )[0],
        (IMAGE, SCALE, OFFSET),
        lambda x, s, o: np.moveaxis(_fused(x, s, o)[0], -1, 1),
        note="NCHW",
        oracle=False,  # TensorFlow's CPU kernels have no gradient for NCHW
    ),
    Sample(
        "FusedBatchNormGradV3",
        lambda tf, x, s, o: tf.gradients(
            tf.nn.fused_batch_norm(x, s, o, epsilon=0.01)[0] ** 2, [x, s, o]
        ),
        (IMAGE, SCALE, OFFSET),
        rtol=1e-4,
        atol=1e-4,
        second=False,
    ),
    *[
        Rough(
            f"FusedBatchNorm{version}",
            lambda tf, *inputs, op=f"FusedBatchNorm{version}": older_batch_norm(op, True)(
                tf, *inputs
            )[0],
            (IMAGE, SCALE, OFFSET),
            lambda x, s, o: _fused(x, s, o)[0],
        )
        for version in ("", "V2")
    ],
    *[
        Rough(
            "BatchNormWithGlobalNormalization",
            lambda tf, t, m, v, b, g, scaled=scaled: raw(
                tf,
                "BatchNormWithGlobalNormalization",
                t=t,
                m=m,
                v=v,
                beta=b,
                gamma=g,
                variance_epsilon=0.01,
                scale_after_normalization=scaled,
            ),
            (IMAGE, MEAN, VARIANCE, OFFSET, SCALE),
            lambda t, m, v, b, g, scaled=scaled: _normalized(t, g if scaled else 1, b, m, v, 0.01),
            note="scaled" if scaled else "not scaled",
            oracle=False,  # only graphs of old producers may have it
        )
        for scaled in (True, False)
    ],
    Rough(
        "BatchNormWithGlobalNormalizationGrad",
        lambda tf, t, m, v, g, grad: list(
            raw(
                tf,
                "BatchNormWithGlobalNormalizationGrad",
                t=t,
                m=m,
                v=v,
                gamma=g,
                backprop=grad,
                variance_epsilon=0.01,
                scale_after_normalization=True,
            )
        ),
        (IMAGE, MEAN, VARIANCE, SCALE, IMAGE[::-1]),
        _global_gradients,
        oracle=False,
    ),
    *[
        Sample(
            f"FusedBatchNormGrad{version}",
            lambda tf, *inputs, op=f"FusedBatchNorm{version}": tf.gradients(
                older_batch_norm(op, False)(tf, *inputs)[0] ** 2, list(inputs[:3])
            ),
            (IMAGE, SCALE, OFFSET, MEAN, VARIANCE),
            gradient=(),
            rtol=1e-4,
            atol=1e-4,
        )
        for version in ("", "V2")
    ],
    Sample(
        "LRN",
        lambda tf, x: tf.nn.lrn(x, 1, bias=1.5, alpha=0.3, beta=0.75),
        (IMAGE,),
        lambda x: _response(x, 1, 1.5, 0.3, 0.75),
    ),
    Sample(
        "LRN",
        lambda tf, x: tf.nn.local_response_normalization(x, depth_radius=2, beta=0.6),
        (IMAGE,),
        lambda x: _response(x, 2, 1, 1, 0.6),
        note="other power",
    ),
    Rough(
        "LRNGrad",
        lambda tf, x: tf.gradients(tf.nn.lrn(x, 2), x),
        (IMAGE,),
        gradient=(),
    ),
    Sample(
        "Mean",
        lambda tf, x: tf.nn.moments(x, [0, 2]),
        (IMAGE,),
        lambda x: [x.mean((0, 2)), x.var((0, 2))],
        rtol=1e-4,
        second=False,
        note="moments",
    ),
    Sample(
        "DivNoNan",
        lambda tf, x, w: tf.nn.weighted_moments(x, [0], w, keep_dims=True),
        (_array(3, 2), np.array([[1], [2], [0]], np.float32)),
        lambda x, w: [
            (w * x).sum(0, keepdims=True) / 3,
            (w * (x - (w * x).sum(0) / 3) ** 2).sum(0, keepdims=True) / 3,
        ],
        note="weighted_moments",
    ),
    Sample(
        "Sum",
        lambda tf, x: tf.nn.sufficient_statistics(x, [0], shift=0.5)[:3],
        (_array(3, 2),),
        lambda x: [np.float32(3), (x - 0.5).sum(0), ((x - 0.5) ** 2).sum(0)],
        note="sufficient_statistics",
    ),
    Sample(
        "Reciprocal",
        lambda tf, a, b: tf.nn.normalize_moments(tf.cast(4, a.dtype), a, b, 0.25),
        (_array(2), np.abs(_array(2)) + 3),
        lambda a, b: [a / 4 + 0.25, b / 4 - (a / 4) ** 2],
        note="normalize_moments",
    ),
    Rough(
        "Mul",
        lambda tf, x, m, v, o, s: tf.nn.batch_normalization(x, m, v, o, s, 0.01),
        (IMAGE, MEAN, VARIANCE, OFFSET, SCALE),
        lambda x, m, v, o, s: _normalized(x, s, o, m, v, 0.01),
        note="batch_normalization",
    ),
    Rough(
        "Mul",
        lambda tf, x, m, v, o, s: tf.nn.batch_norm_with_global_normalization(
            x, m, v, o, s, 0.01, False
        ),
        (IMAGE, MEAN, VARIANCE, OFFSET, SCALE),
        lambda x, m, v, o, s: _normalized(x, 1, o, m, v, 0.01),
        gradient=(0, 1, 2, 3),
        note="global normalization",
    ),
    Sample(
        "Rsqrt",
        lambda tf, x: tf.nn.l2_normalize(x, [1, 2]),
        (IMAGE,),
        lambda x: x / np.sqrt((x * x).sum((1, 2), keepdims=True)),
        note="l2_normalize",
    ),
    Sample(
        "Mul",
        lambda tf, x: tf.nn.dropout(x, 0.4, seed=3),
        (IMAGE,),
        random=True,
        note="dropout",
    ),
    Sample(
        "NotEqual",
        lambda tf, x: tf.nn.zero_fraction(x),
        (np.array([0, 1, 0, 0], np.float32),),
        np.float32(0.75),
        gradient=(),
        note="zero_fraction",
    ),
]
