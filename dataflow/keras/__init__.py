"""`tf.keras` as course code of TensorFlow 1 uses it, on the same graph, sessions and variables."""

from __future__ import annotations

from typing import Any

from dataflow.keras import (
    activations,
    applications,
    backend,
    callbacks,
    config,
    constraints,
    datasets,
    estimator,
    experimental,
    initializers,
    layers,
    losses,
    metrics,
    mixed_precision,
    models,
    optimizers,
    preprocessing,
    regularizers,
    utils,
    wrappers,
)
from dataflow.keras.layers.core import Input
from dataflow.keras.models import Model, Sequential
from dataflow.namespaces import submodule

__all__ = [
    *(
        "Input",
        "Model",
        "Sequential",
        "activations",
        "applications",
        "backend",
        "callbacks",
        "constraints",
    ),
    *(
        "datasets",
        "estimator",
        "experimental",
        "initializers",
        "layers",
        "losses",
        "metrics",
        "mixed_precision",
        "models",
        "optimizers",
    ),
    *("preprocessing", "regularizers", "utils"),
]


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)  # private modules of TensorFlow's: `keras.optimizer_v2`


#: The version of Keras's interface that this follows.
__version__ = "2.2.4-tf"
