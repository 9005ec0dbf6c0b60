"""`tf.contrib.keras`: the earlier place of `tf.keras`."""

# ruff: noqa: F401  (names for users)

from __future__ import annotations

from dataflow.keras import (
    activations,
    backend,
    callbacks,
    constraints,
    datasets,
    initializers,
    layers,
    losses,
    metrics,
    models,
    optimizers,
    preprocessing,
    regularizers,
    utils,
)
from dataflow.keras.layers.core import Input
from dataflow.keras.models import Model, Sequential
