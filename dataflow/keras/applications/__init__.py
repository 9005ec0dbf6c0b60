"""`tf.keras.applications`: published networks for images, as Keras models.

Each function builds a model with Keras's names of layers and shapes of weights, so that its weight
files load: ``VGG16(weights="vgg16_weights.h5")``. No weights come with this package.
"""

from __future__ import annotations

from dataflow.keras.applications import (
    densenet,
    imagenet_utils,
    inception_resnet_v2,
    inception_v3,
    mobilenet,
    mobilenet_v2,
    nasnet,
    resnet,
    resnet50,
    resnet_v2,
    vgg16,
    vgg19,
    xception,
)
from dataflow.keras.applications.densenet import DenseNet121, DenseNet169, DenseNet201
from dataflow.keras.applications.inception_resnet_v2 import InceptionResNetV2
from dataflow.keras.applications.inception_v3 import InceptionV3
from dataflow.keras.applications.mobilenet import MobileNet
from dataflow.keras.applications.mobilenet_v2 import MobileNetV2
from dataflow.keras.applications.nasnet import NASNetLarge, NASNetMobile
from dataflow.keras.applications.resnet import ResNet50, ResNet101, ResNet152
from dataflow.keras.applications.resnet_v2 import ResNet50V2, ResNet101V2, ResNet152V2
from dataflow.keras.applications.vgg16 import VGG16
from dataflow.keras.applications.vgg19 import VGG19
from dataflow.keras.applications.xception import Xception
from dataflow.namespaces import explain_absent

__all__ = ["DenseNet121", "DenseNet169", "DenseNet201", "InceptionResNetV2", "InceptionV3"]
__all__ += ["MobileNet", "MobileNetV2", "NASNetLarge", "NASNetMobile"]
__all__ += ["ResNet50", "ResNet50V2", "ResNet101", "ResNet101V2", "ResNet152", "ResNet152V2"]
__all__ += ["VGG16", "VGG19", "Xception", "densenet", "imagenet_utils", "inception_resnet_v2"]
__all__ += ["inception_v3", "mobilenet", "mobilenet_v2", "nasnet", "resnet", "resnet50"]
__all__ += ["resnet_v2", "vgg16", "vgg19", "xception"]

__getattr__ = explain_absent(__name__)
