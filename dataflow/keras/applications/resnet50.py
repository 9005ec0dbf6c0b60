"""`tf.keras.applications.resnet50`: the older path of `ResNet50`."""

from __future__ import annotations

from dataflow.keras.applications.resnet import ResNet50, decode_predictions, preprocess_input

__all__ = ["ResNet50", "decode_predictions", "preprocess_input"]
