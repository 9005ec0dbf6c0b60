"""`tf.contrib.keras`: the earlier place of `tf.keras`."""

# ruff: noqa: F401  (names for users)

from __future__ import annotations

from dataflow.keras import (
    Input,
    Model,
    Sequential,
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
