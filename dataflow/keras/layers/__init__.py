"""`tf.keras.layers`."""

from __future__ import annotations

from typing import Any

from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.keras.layers.attention import AdditiveAttention, Attention
from dataflow.keras.layers.convolutional import (
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    Convolution1D,
    Convolution2D,
    Convolution2DTranspose,
    Convolution3D,
    Convolution3DTranspose,
    Deconvolution2D,
    Deconvolution3D,
    DepthwiseConv2D,
    SeparableConv1D,
    SeparableConv2D,
    SeparableConvolution1D,
    SeparableConvolution2D,
)
from dataflow.keras.layers.core import (
    ELU,
    Activation,
    ActivityRegularization,
    Dense,
    Dropout,
    Flatten,
    Input,
    InputLayer,
    LeakyReLU,
    Masking,
    Permute,
    PReLU,
    ReLU,
    RepeatVector,
    Reshape,
    Softmax,
    ThresholdedReLU,
)
from dataflow.keras.layers.embeddings import Embedding
from dataflow.keras.layers.features import DenseFeatures
from dataflow.keras.layers.local import LocallyConnected1D, LocallyConnected2D
from dataflow.keras.layers.lambda_layer import Lambda
from dataflow.keras.layers.merge import (
    Add,
    Average,
    Concatenate,
    Dot,
    Maximum,
    Minimum,
    Multiply,
    Subtract,
    add,
    average,
    concatenate,
    dot,
    maximum_ as maximum,
    minimum_ as minimum,
    multiply,
    subtract,
)
from dataflow.keras.layers.noise import (
    AlphaDropout,
    GaussianDropout,
    GaussianNoise,
    SpatialDropout1D,
    SpatialDropout2D,
    SpatialDropout3D,
)
from dataflow.keras.layers.normalization import BatchNormalization, LayerNormalization
from dataflow.keras.layers.pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AveragePooling3D,
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalAveragePooling3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    GlobalMaxPooling3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    MaxPooling1D,
    MaxPooling2D,
    MaxPooling3D,
)
from dataflow.keras.layers.recurrent import GRU, LSTM, SimpleRNN
from dataflow.keras.layers.recurrent_cells import (
    AbstractRNNCell,
    GRUCell,
    LSTMCell,
    SimpleRNNCell,
    StackedRNNCells,
)
from dataflow.keras.layers.recurrent_convolutional import ConvLSTM2D
from dataflow.keras.layers.recurrent_cudnn import CuDNNGRU, CuDNNLSTM
from dataflow.keras.layers.rnn import RNN
from dataflow.keras.layers.spatial import (
    Cropping1D,
    Cropping2D,
    Cropping3D,
    UpSampling1D,
    UpSampling2D,
    UpSampling3D,
    ZeroPadding1D,
    ZeroPadding2D,
    ZeroPadding3D,
)
from dataflow.keras.layers.wrappers import Bidirectional, TimeDistributed, Wrapper
from dataflow.layers.serialization import deserialize as _deserialize, serialize


def deserialize(config: dict[str, Any], custom_objects: Any = None) -> Any:
    """The layer (or model) of ``{"class_name", "config"}``."""
    from dataflow.keras.network import Model
    from dataflow.keras.added_layers import AddLoss, AddMetric
    from dataflow.keras.op_layers import TensorFlowOpLayer
    from dataflow.keras.sequential import Sequential
    from dataflow.layers.serialization import custom_object_scope

    known = {k: v for k, v in globals().items() if isinstance(v, type) and issubclass(v, Layer)}
    known.update(Model=Model, Functional=Model, Sequential=Sequential)
    known.update(BatchNormalizationV1=BatchNormalization, BatchNormalizationV2=BatchNormalization)
    known.update(TensorFlowOpLayer=TensorFlowOpLayer, AddLoss=AddLoss, AddMetric=AddMetric)
    with custom_object_scope(custom_objects or {}):
        return _deserialize("layer", config, known)
