"""`tf.contrib.keras`: the earlier place of `tf.keras`."""

from __future__ import annotations

from types import ModuleType

from dataflow.keras import (
    activations,
    applications,
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


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
