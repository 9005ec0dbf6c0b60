"""VGG19 (Simonyan and Zisserman 2014, arXiv 1409.1556): nineteen layers with weights."""

from __future__ import annotations

from typing import Any

from dataflow.keras.applications.imagenet_utils import decode_predictions
from dataflow.keras.applications.vgg16 import preprocess_input, vgg
from dataflow.keras.models import Model

__all__ = ["VGG19", "decode_predictions", "preprocess_input"]


def VGG19(
    include_top: bool = True,
    weights: str | None = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
) -> Model:
    """VGG19 for images of 224 x 224 pixels, or without its top for any of 32 and more: as `VGG16`."""
    return vgg(
        "VGG19", (2, 2, 4, 4, 4), include_top, weights, input_tensor, input_shape, pooling, classes
    )
