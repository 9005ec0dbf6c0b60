"""Samples of random ops and initializers; their values are tested in tests/ops/test_random.py."""

from __future__ import annotations

import numpy as np

from tests.raw_op import raw
from tests.samples.base import Sample

SAMPLES = [
    Sample("RandomUniform", lambda tf: tf.random_uniform([2, 3]), random=True),
    Sample(
        "RandomUniform", lambda tf: tf.random_uniform([2, 3], -1.0, 2.0), random=True, note="range"
    ),
    Sample("RandomUniformInt", lambda tf: tf.random_uniform([4], 3, 9, tf.int64), random=True),
    Sample("RandomStandardNormal", lambda tf: tf.random_normal([2, 3], 1.0, 2.0), random=True),
    Sample(
        "RandomStandardNormal",
        lambda tf: tf.random_normal([5], dtype=tf.float64, seed=1),
        random=True,
        note="double",
    ),
    Sample("TruncatedNormal", lambda tf: tf.truncated_normal([2, 3], stddev=0.1), random=True),
    Sample(
        "ParameterizedTruncatedNormal",
        lambda tf: raw(
            tf,
            "ParameterizedTruncatedNormal",
            shape=[2, 3],
            means=[0.0, 5.0],
            stdevs=[1.0, 1.0],
            minvals=[0.0, 4.0],
            maxvals=[1.0, 9.0],
        ),
        random=True,
    ),
    Sample("RandomShuffle", lambda tf: tf.random_shuffle(tf.range(5)), random=True),
    Sample("Slice", lambda tf: tf.random_crop(tf.zeros([4, 5]), [2, 3]), random=True, note="crop"),
    Sample("Multinomial", lambda tf: tf.multinomial([[0.0, 1.0], [2.0, 0.0]], 3), random=True),
    Sample(
        "Multinomial",
        lambda tf: tf.random.categorical([[0.0, 1.0]], 3, dtype=tf.int32),
        random=True,
        note="categorical",
    ),
    Sample("RandomGamma", lambda tf: tf.random_gamma([4], [0.5, 2.0], 3.0), random=True),
    Sample(
        "RandomGammaGrad",
        lambda tf, a, x: raw(tf, "RandomGammaGrad", alpha=a, sample=x),
        (np.array([0.5, 2.0, 7.0], np.float32), np.array([0.3, 1.0, 9.0], np.float32)),
        None,
        (),
        rtol=1e-3,
    ),
    Sample("RandomPoissonV2", lambda tf: tf.random_poisson([1.0, 9.0], [4]), random=True),
    *(
        Sample(
            op,
            lambda tf, n=name, k=kwargs: getattr(tf.random, f"stateless_{n}")(
                [2, 3], seed=[1, 2], **k
            ),
            random=True,
        )
        for op, name, kwargs in (
            ("StatelessRandomUniform", "uniform", {}),
            ("StatelessRandomUniformInt", "uniform", {"maxval": 9, "dtype": "int32"}),
            ("StatelessRandomNormal", "normal", {"stddev": 2.0}),
            ("StatelessTruncatedNormal", "truncated_normal", {}),
        )
    ),
    *(
        Sample(
            op,
            lambda tf, n=op, d=dtype, k=bounds: getattr(tf.raw_ops, n)(
                shape=[2, 3],
                key=tf.constant([1], tf.uint64),
                counter=tf.constant([2, 3], tf.uint64),
                alg=1,
                **({a: tf.constant(b, d) for a, b in k} if k else {"dtype": getattr(tf, d)}),
            ),
            random=True,
        )
        for op, dtype, bounds in (
            ("StatelessRandomUniformV2", "float32", ()),
            ("StatelessRandomUniformIntV2", "int32", (("minval", 0), ("maxval", 9))),
            ("StatelessRandomUniformFullIntV2", "int64", ()),
            ("StatelessRandomNormalV2", "float32", ()),
            ("StatelessTruncatedNormalV2", "float32", ()),
        )
    ),
    Sample(
        "StatelessMultinomial",
        lambda tf: tf.random.stateless_multinomial([[0.0, 1.0]], 3, seed=[1, 2]),
        random=True,
    ),
    *(
        Sample(
            "Initializer",
            lambda tf, n=name: getattr(tf, f"{n}_initializer")()([3, 4]),
            random=True,
            note=name,
        )
        for name in (
            "zeros",
            "ones",
            "random_uniform",
            "random_normal",
            "truncated_normal",
            "uniform_unit_scaling",
            "variance_scaling",
            "glorot_uniform",
            "glorot_normal",
            "orthogonal",
        )
    ),
    *(
        Sample(
            "Initializer",
            lambda tf, n=name: getattr(tf.initializers, n)(seed=3)([2, 3, 4]),
            random=True,
            note=name,
        )
        for name in ("he_normal", "he_uniform", "lecun_normal", "lecun_uniform")
    ),
]
