"""`tf.keras.applications`: published networks for images, as Keras models.

Each function builds a model with Keras's names of layers and shapes of weights, so that its weight
files load: ``VGG16(weights="vgg16_weights.h5")``. No weights come with this package.
"""

from __future__ import annotations

from dataflow.keras.applications import (
    imagenet_utils,
    inception_v3,
    mobilenet,
    resnet,
    resnet50,
    vgg16,
    vgg19,
)
from dataflow.keras.applications.inception_v3 import InceptionV3
from dataflow.keras.applications.mobilenet import MobileNet
from dataflow.keras.applications.resnet import ResNet50, ResNet101, ResNet152
from dataflow.keras.applications.vgg16 import VGG16
from dataflow.keras.applications.vgg19 import VGG19
from dataflow.namespaces import explain_absent

__all__ = [
    *("InceptionV3", "MobileNet", "ResNet50", "ResNet101", "ResNet152", "VGG16", "VGG19"),
    *("imagenet_utils", "inception_v3", "mobilenet", "resnet", "resnet50", "vgg16", "vgg19"),
]

__getattr__ = explain_absent(__name__)
