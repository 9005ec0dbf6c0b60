"""What ``import tensorflow_probability as tfp`` gives a program of TensorFlow 1: distributions and bijectors.

TensorFlow Probability grew out of ``tf.contrib.distributions``. Its 0.8 goes with TensorFlow 1.15, and needs
TensorFlow itself; what most programs take from it is here under its names: ``distributions``, ``bijectors``,
and parts of ``math``, ``stats``, ``util`` and ``monte_carlo``. What is not says so.
"""

from __future__ import annotations

from typing import Any

from dataflow.shim.probability import (
    bijectors,
    distributions,
    math,
    monte_carlo,
    seeds as util,
    stats,
)

__all__ = ["bijectors", "distributions", "math", "monte_carlo", "stats", "util"]

#: The version that goes with TensorFlow 1.15.
__version__ = "0.8.0"

_ABSENT = {
    "edward2": "write the model with tfp.distributions",
    "glm": "write the likelihood with tfp.distributions, and minimize it",
    "layers": "write the layer with tf.layers and tfp.distributions: a mean, a scale, a sample",
    "mcmc": "there are no samplers here",
    "optimizer": "use the optimizers of tf.train or tf.contrib.opt",
    "positive_semidefinite_kernels": "there are no Gaussian processes here",
    "sts": "there are no structural time series here",
    "trainable_distributions": "give a distribution variables as its parameters",
    "vi": "write the bound as tf.reduce_mean(q.log_prob(z) - p.log_prob(z)) of samples z of q",
}


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        raise AttributeError(
            f"tensorflow_probability.{name} is not part of dataflow: {_ABSENT[name]}. Here are "
            f"{', '.join(sorted(__all__))}."
        )
    raise AttributeError(f"module 'tensorflow_probability' has no attribute {name!r}")
