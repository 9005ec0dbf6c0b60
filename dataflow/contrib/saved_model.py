"""``tf.contrib.saved_model``: models of Keras as SavedModels, before `tf.keras.experimental`."""

from __future__ import annotations

import os
from typing import Any

from dataflow.keras.saved_models import export_saved_model, load_from_saved_model
from dataflow.namespaces import explain_absent

__all__ = ["load_keras_model", "save_keras_model"]


def save_keras_model(
    model: Any, saved_model_path: Any, custom_objects: Any = None, as_text: bool = False
) -> str:
    """Writes ``model`` as a SavedModel; the path of its folder."""
    export_saved_model(model, saved_model_path, custom_objects, as_text)
    return str(os.fspath(saved_model_path))


def load_keras_model(saved_model_path: Any) -> Any:
    """The model that `save_keras_model` wrote there."""
    return load_from_saved_model(saved_model_path)


__getattr__ = explain_absent(__name__)
