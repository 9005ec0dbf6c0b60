"""Samples of activation functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

_rng = np.random.default_rng(12)
X = (_rng.standard_normal((3, 4)) * 3).astype(np.float32)
DY = _rng.standard_normal((3, 4)).astype(np.float32)
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772


def _softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _nn(name: str, **kwargs: Any) -> Any:
    return lambda tf, x: getattr(tf.nn, name)(x, **kwargs)


SAMPLES = [
    Sample("Relu", _nn("relu"), (X,), lambda x: np.maximum(x, 0)),
    Sample("Relu", _nn("relu"), (X.astype(np.int32),), lambda x: np.maximum(x, 0), note="integers"),
    Sample("Relu6", _nn("relu6"), (X * 2,), lambda x: np.clip(x, 0, 6)),
    Sample("Elu", _nn("elu"), (X,), lambda x: np.where(x < 0, np.expm1(x), x)),
    Sample(
        "Selu",
        _nn("selu"),
        (X,),
        lambda x: np.where(x < 0, SCALE * ALPHA * np.expm1(x), SCALE * x),
    ),
    Sample("LeakyRelu", _nn("leaky_relu"), (X,), lambda x: np.where(x > 0, x, 0.2 * x)),
    Sample(
        "LeakyRelu",
        _nn("leaky_relu", alpha=0.01),
        (X,),
        lambda x: np.where(x > 0, x, 0.01 * x),
        note="alpha",
    ),
    Sample("Softplus", _nn("softplus"), (X,), lambda x: np.logaddexp(x, 0)),
    Sample(
        "Softplus",
        _nn("softplus"),
        (np.array([-1e3, 0, 1e3], np.float32),),
        np.array([0, math.log(2), 1e3], np.float32),
        (),
        note="far",
    ),
    Sample("Softsign", _nn("softsign"), (X,), lambda x: x / (1 + np.abs(x))),
    Sample("Softmax", _nn("softmax"), (X,), _softmax),
    Sample("Softmax", _nn("softmax", axis=0), (X,), lambda x: _softmax(x, 0), note="axis 0"),
    Sample("Softmax", _nn("softmax"), (X + 1e4,), _softmax, (), note="large"),
    Sample("Softmax", _nn("softmax"), (X[0],), _softmax, note="vector"),
    Sample("LogSoftmax", _nn("log_softmax"), (X,), lambda x: np.log(_softmax(x)), atol=1e-5),
    Sample(
        "LogSoftmax",
        _nn("log_softmax", dim=0),
        (X,),
        lambda x: np.log(_softmax(x, 0)),
        note="dim",
        atol=1e-5,
    ),
    Sample("L2Loss", _nn("l2_loss"), (X,), lambda x: (x * x).sum() / 2),
    Sample(
        "Relu",
        _nn("crelu"),
        (X,),
        lambda x: np.maximum(np.concatenate([x, -x], -1), 0),
        note="crelu",
    ),
    Sample(
        "Mul",
        _nn("swish"),
        (X,),
        lambda x: x / (1 + np.exp(-x)),
        note="swish",
    ),
    *(
        Sample(
            f"{op}Grad",
            lambda tf, dy, v, op=op, key=key: raw(tf, f"{op}Grad", gradients=dy, **{key: v}),
            (DY, X),
            function,
            gradient=gradient,
            oracle=op != "Softsign",  # of which TensorFlow has no second derivative
        )
        for op, key, function, gradient in (
            ("Relu", "features", lambda dy, x: dy * (x > 0), (0,)),
            ("Relu6", "features", lambda dy, x: dy * ((x > 0) & (x < 6)), (0,)),
            ("LeakyRelu", "features", lambda dy, x: np.where(x > 0, dy, 0.2 * dy), (0,)),
            ("Softplus", "features", lambda dy, x: dy / (1 + np.exp(-x)), None),
            ("Softsign", "features", lambda dy, x: dy / (1 + np.abs(x)) ** 2, (0,)),
            ("Elu", "outputs", lambda dy, y: np.where(y < 0, dy * (y + 1), dy), None),
            (
                "Selu",
                "outputs",
                lambda dy, y: np.where(y < 0, dy * (y + SCALE * ALPHA), dy * SCALE),
                None,
            ),
        )
    ),
]
