"""The package Keras took the arguments of Keras 1: the same layers come of them, and a warning."""

from __future__ import annotations

from tests.shim.test_as_tensorflow import result_of

#: What Keras 1 wrote, and what Keras 2 writes.
PAIRS = """
Convolution2D(5, 3, 3) | Conv2D(5, (3, 3))
Convolution2D(5, 3, nb_col=4) | Conv2D(5, (3, 4))
Convolution2D(nb_filter=5, nb_row=3, nb_col=4, border_mode="same", dim_ordering="th") | Conv2D(5, (3, 4), padding="same", data_format="channels_first")
Convolution2D(5, 3, 3, init="normal", subsample=(2, 2), W_regularizer="l1", W_constraint="maxnorm", bias=False) | Conv2D(5, (3, 3), kernel_initializer="normal", strides=(2, 2), kernel_regularizer="l1", kernel_constraint="max_norm", use_bias=False)
Convolution3D(5, 1, kernel_dim2=2, kernel_dim3=3) | Conv3D(5, (1, 2, 3))
Convolution3D(5, 1, 2, 3, dim_ordering="default") | Conv3D(5, (1, 2, 3))
Convolution1D(5, filter_length=3, input_dim=2, input_length=4) | Conv1D(5, 3, input_shape=(4, 2))
Deconvolution2D(5, 3, 3, (6, 7, 5)) | Conv2DTranspose(5, (3, 3))
Deconvolution2D(5, 3, 3, output_shape=(6, 7, 5), subsample=2) | Conv2DTranspose(5, (3, 3), strides=2)
SeparableConv2D(5, 3, 3, init="normal") | SeparableConv2D(5, 3, depthwise_initializer="normal", pointwise_initializer="normal")
ConvLSTM2D(5, 3, 3, inner_activation="relu", dropout_U=0.1) | ConvLSTM2D(5, (3, 3), recurrent_activation="relu", recurrent_dropout=0.1)
LSTM(output_dim=2, forget_bias_init="one", consume_less="gpu", input_dim=5, input_length=3) | LSTM(2, implementation=2, input_shape=(3, 5))
LSTM(2, forget_bias_init="zero", dropout_W=0.1) | LSTM(2, dropout=0.1)
ZeroPadding2D(padding={"top_pad": 1, "left_pad": 2}) | ZeroPadding2D(((1, 0), (2, 0)))
ZeroPadding2D({"bottom_pad": 1}) | ZeroPadding2D(((0, 1), (0, 0)))
Cropping3D(dim_ordering="tf") | Cropping3D(data_format="channels_last")
AveragePooling3D((2, 2, 2), border_mode="same") | AveragePooling3D(2, padding="same")
SpatialDropout2D(p=0.5, dim_ordering="th") | SpatialDropout2D(0.5, data_format="channels_first")
SpatialDropout1D(p=0.5) | SpatialDropout1D(0.5)
PReLU(init="zero") | PReLU("zero")
BatchNormalization(mode=0, beta_init="one") | BatchNormalization(beta_initializer="ones")
Embedding(4, 2, W_constraint="unitnorm", dropout=0.2) | Embedding(4, 2, embeddings_constraint="unit_norm")
"""


def test_layers_of_keras_1_are_those_of_keras_2() -> None:
    pairs = [line.split(" | ") for line in PAIRS.strip().splitlines()]
    found = result_of(
        f"""
import dataflow, json, warnings
dataflow.as_tensorflow()
import keras
from keras.layers import *

def made(source):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        config = eval(source).get_config()
    config.pop("name")
    return json.dumps(config), [str(w.message) for w in caught]

pairs = [[made(source) for source in pair] for pair in {pairs!r}]
result = [[old[0] == new[0] for old, new in pairs], [new[1] for _, new in pairs], pairs[0][0][1], pairs[3][0][1],
          error_of("import keras; keras.layers.BatchNormalization(mode=2)"),
          error_of("import keras; keras.layers.Dense(3, output_dim=3, units=3)"),
          keras.layers.Conv2D(5, 3, 2).get_config()["kernel_size"]]
"""
    )
    alike = dict(zip((old for old, _ in pairs), found[0], strict=True))
    assert [old for old, same in alike.items() if not same] == []
    assert found[1] == [[]] * len(pairs)
    assert found[2] == ["Update your `Conv2D` call to the Keras 2 API: `Conv2D(5, (3, 3))`"]
    assert 'kernel_initializer="normal"' in found[3][0]
    assert "`mode` no longer exists" in found[4]
    assert "older name of units" in found[5]
    assert found[6] == [3, 2]


def test_updates_are_asked_for_as_in_keras_1() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import keras
from keras import backend as K
from keras.legacy import interfaces

def after(make):
    w = K.variable(1.0)
    updates = make(keras.optimizers.SGD(0.5).get_updates, K.square(w), [w])
    K.get_session().run(updates)
    return float(K.get_value(w))

class Last(keras.optimizers.Optimizer):
    @interfaces.legacy_get_updates_support
    def get_updates(self, loss, params):
        return [loss, params]

result = [after(lambda get, loss, w: get(loss, w)), after(lambda get, loss, w: get(w, {}, loss)),
          after(lambda get, loss, w: get(w, {}, loss=loss)), after(lambda get, loss, w: get(loss=loss, params=w)),
          Last().get_updates(["p"], {}, "l"), Last().get_updates("l", ["p"])]
"""
    )
    assert found == [0.0] * 4 + [["l", ["p"]]] * 2
