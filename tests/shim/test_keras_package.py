"""Names of the package ``keras`` that `tf.keras` does not have: programs of its time import them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dataflow as tf
from dataflow.python import keras_package as package
from tests.shim.test_as_tensorflow import result_of


def test_layers_and_their_helpers_stand_in_the_engine() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
import keras
from keras import backend as K
from keras.backend.common import normalize_data_format
from keras.backend.tensorflow_backend import _get_available_gpus, _to_tensor
from keras.engine import InputSpec, Layer, Model
from keras.engine.topology import Container, get_source_inputs
from keras.layers import AtrousConvolution2D, Dense, Input
from keras.utils.layer_utils import count_params, print_summary

class Log(Layer):
    def build(self, shape):
        self.input_spec = InputSpec(ndim=len(shape))
        self.w = self.add_weight(name="w", shape=(shape[-1], 2), initializer="ones")
        super().build(shape)
    def call(self, x):
        return K.logsumexp(K.dot(x, self.w), axis=-1, keepdims=True)
    def compute_output_shape(self, shape):
        return (shape[0], 1)

x = Input((3,))
model = Model(x, Log()(x))
images = Input((8, 8, 1))
image_model = Model(images, AtrousConvolution2D(4, (3, 3), atrous_rate=(2, 2))(images))
table = K.constant(np.arange(6).reshape(2, 3))
result = [model.predict(np.zeros([1, 3])).tolist(), [t is x for t in get_source_inputs(model.output)],
          image_model.output_shape, count_params(model.weights), Container is Model,
          K.eval(K.slice(table, [0, 1], [2, 1])).tolist(), K.get_variable_shape(model.weights[0]),
          [K.is_tensor(x), K.is_tensor(3), K.is_placeholder(x), K.is_placeholder(model.output)],
          keras.__version__, keras.engine.Layer is Layer is keras.engine.base_layer.Layer,
          keras.layers.advanced_activations.LeakyReLU is keras.layers.LeakyReLU,
          K.tensorflow_backend._get_available_gpus is _get_available_gpus, K.tensorflow_backend.int_shape(x),
          [normalize_data_format(None), _get_available_gpus(), _to_tensor(2, "float32").dtype.name]]
print_summary(image_model)
"""
    )
    assert np.allclose(found[0], np.log(2.0))
    assert found[1:5] == [[True], [None, 4, 4, 4], 6, True]
    assert found[5:7] == [[[1.0], [4.0]], [3, 2]]
    assert found[7] == [True, False, True, False]
    assert found[8:13] == ["2.2.5", True, True, True, [None, 3]]
    assert found[13] == ["channels_last", [], "float32"]


def test_optimizers_as_the_package_had_them() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import os, tempfile
import numpy as np
import keras
from keras import backend as K
from keras.legacy import interfaces
from keras.optimizers import SGD, Optimizer, adam

class Momentum(Optimizer):
    def __init__(self, lr=0.01, **kwargs):
        super().__init__(**kwargs)
        self.iterations = K.variable(0, dtype="int64", name="iterations")
        self.lr = K.variable(lr, name="lr")
        self.initial_decay = 0.0

    @interfaces.legacy_get_updates_support
    def get_updates(self, loss, params):
        self.updates = [K.update_add(self.iterations, 1)]
        velocities = [K.zeros(K.int_shape(p)) for p in params]
        self.weights = [self.iterations] + velocities
        for p, g, v in zip(params, self.get_gradients(loss, params), velocities):
            step = 0.9 * v - self.lr * g
            self.updates += [K.update(v, step), K.update(p, p + step)]
        return self.updates

    def get_config(self):
        return dict(list(super().get_config().items()), lr=float(K.get_value(self.lr)))

x = np.random.RandomState(0).rand(16, 3)
y = x.sum(1, keepdims=True)

def losses(optimizer, epochs=4):
    model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(3,), kernel_initializer="ones", bias_initializer="ones")])
    model.compile(optimizer, "mse")
    return model, model.fit(x, y, 16, epochs, verbose=0).history["loss"]

model, found = losses(Momentum(0.05))
_, expected = losses(SGD(0.05, momentum=0.9))
file = os.path.join(tempfile.mkdtemp(), "m.h5")
K.set_value(model.optimizer.lr, 0.25)
model.save(file)
again = keras.models.load_model(file, {"Momentum": Momentum})
after = again.fit(x, y, 16, 1, verbose=0) and again.optimizer
named = [getattr(keras.optimizers, n)().__class__.__name__ for n in ("sgd", "rmsprop", "adagrad", "adadelta", "adam", "adamax", "nadam")]
result = [np.abs(np.subtract(found, expected)).max(), [int(w) for w in model.optimizer.get_weights()[:1]],
          [float(K.get_value(again.optimizer.lr)), int(K.get_value(after.iterations)), "name" in after.get_config()],
          isinstance(adam(), Optimizer), named, K.eval(keras.optimizers.clip_norm(K.constant([3.0, 4.0]), 1.0, K.constant(5.0))).tolist()]
"""
    )
    assert found[0] < 1e-6
    assert found[1] == [4]
    assert found[2] == [0.25, 5, False]
    assert found[3:5] == [
        True,
        ["SGD", "RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam"],
    ]
    assert np.allclose(found[5], [0.6, 0.8])


class _Diary(tf.keras.callbacks.Callback):
    def __init__(self, lines: list) -> None:
        super().__init__()
        self.lines = lines

    def on_train_begin(self, logs: dict | None = None) -> None:
        self.lines.append(("begin", logs, self.params, self.model))

    def on_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self.lines.append((batch, logs))

    def on_test_begin(self, logs: dict | None = None) -> None:
        self.lines.append(("test", logs))

    def on_test_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self.lines.append((batch, logs, "test"))


def test_a_list_of_callbacks_tells_each() -> None:
    lines: list = []
    told = package.CallbackList([_Diary(lines)])
    told.append(_Diary(lines))
    told.set_params({"epochs": 2})
    told.set_model("model")
    told.on_train_begin()
    told.on_epoch_begin(0)
    told.on_batch_end(3, {"loss": 0.5})
    told.on_batch_end(4, logs={"loss": 0.25})
    told.on_train_end({"loss": 1.0})
    assert lines[:2] == [("begin", {}, {"epochs": 2}, "model")] * 2
    assert lines[2:6] == [(3, {"loss": 0.5})] * 2 + [(4, {"loss": 0.25})] * 2
    assert len(list(told)) == 2
    told.on_test_begin()
    told.on_test_batch_end(5, {"loss": 2.0})
    told.on_predict_batch_begin(6)  # a callback has it, and does nothing
    assert lines[6:] == [("test", {})] * 2 + [(5, {"loss": 2.0}, "test")] * 2
    with pytest.raises(AttributeError, match="on_tuesday"):
        told.on_tuesday


@pytest.mark.parametrize(
    ("padding", "output_padding", "expected"),
    [("valid", None, 15), ("same", None, 14), ("same", 0, 13), ("full", 1, 12), ("valid", 1, 16)],
)
def test_lengths_of_transposed_convolutions(
    padding: str, output_padding: int | None, expected: int
) -> None:
    """The numbers are those of Keras 2.2.5."""
    assert package.deconv_length(7, 2, 3, padding, output_padding) == expected
    assert package.deconv_length(None, 2, 3, padding, output_padding) is None


def test_rows_of_an_hdf5_file(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "rows.h5")
    rows = np.arange(40, dtype=np.float32).reshape(10, 4)
    with h5py.File(path, "w") as file:
        file["x"], file["y"] = rows, rows.sum(1, keepdims=True)
    matrix = tf.keras.utils.HDF5Matrix
    x, y = matrix(path, "x", 2, 8), matrix(path, "y", start=2, end=8, normalizer=lambda v: v / 2)
    assert (len(x), x.shape, x.dtype, x.ndim, x.size) == (6, (6, 4), np.float32, 2, 24)
    np.testing.assert_array_equal(x[1], rows[3])
    np.testing.assert_array_equal(x[1:3], rows[3:5])
    np.testing.assert_array_equal(x[:], rows[2:8])
    np.testing.assert_array_equal(x[[4, 0, 4]], rows[[6, 2, 6]])
    np.testing.assert_array_equal(y[np.array([1])], rows[[3]].sum(1, keepdims=True) / 2)
    with pytest.raises(IndexError, match="row 6 of 6"):
        x[[0, 6]]
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile("sgd", "mse")
    model.fit(x, y, batch_size=2, shuffle="batch", verbose=0)
    assert model.predict(x).shape == (6, 1)


def test_layers_and_initializers_of_ones_own_get_plain_sizes_and_names_of_dtypes() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
import keras
from keras import backend as K
from keras.layers import Dense, Input, Layer

seen = []

class Pattern(keras.initializers.Initializer):
    def __call__(self, shape, dtype=None):
        seen.append([type(shape).__name__, list(shape), dtype])
        return np.arange(np.prod(shape)).reshape(shape).astype(dtype)

class Scaled(Layer):
    def build(self, input_shape):
        half = input_shape[-1] * 0.5
        self.tail = (2, -1) + input_shape[1:-1]
        seen.append([isinstance(input_shape, tuple), list(input_shape), half, list(self.tail),
                     input_shape[-1].value, input_shape.as_list(), np.zeros(input_shape[1:]).shape[0]])
        self.w = self.add_weight(name="w", shape=(input_shape[-1], 2), initializer=Pattern())
        super().build(input_shape)
    def call(self, x):
        return K.dot(x, self.w)

class Wider(Dense):
    def build(self, input_shape):
        seen.append(input_shape[-1] * 1.5)
        super().build(input_shape)

class Both(Layer):
    def build(self, input_shape):
        seen.append([list(shape) for shape in input_shape])
        super().build(input_shape)
    def call(self, pair):
        return pair[0] + pair[1]

x = Input((4,))
y = Scaled()(x)
model = keras.models.Model(x, Both()([y, Wider(2)(y)]))
result = [seen, K.get_value(model.weights[0]).tolist()]
"""
    )
    shape, initializer, wide, pair = found[0]
    assert shape == [True, [None, 4], 2.0, [2, -1], 4, [None, 4], 4]
    assert initializer == ["tuple", [4, 2], "float32"]
    assert wide == 3.0
    assert pair == [[None, 2], [None, 2]]
    assert found[1] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]


def test_weights_whose_shape_stands_before_their_name_and_samples_of_sets() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import random
import keras
from keras import backend as K

class Old(keras.layers.Layer):
    def build(self, shape):
        self.a = self.add_weight((shape[-1], 2), initializer="ones", name="a")
        self.b = self.add_weight((2,), "b", initializer="zeros")
        self.c = self.add_weight("c", (2,), initializer="zeros")
        super().build(shape)
    def call(self, x):
        return K.dot(x, self.a) + self.b + self.c

layer = Old()
y = layer(keras.layers.Input((3,)))
random.seed(0)
result = [[w.name.split("/")[-1] for w in layer.weights], [K.int_shape(w) for w in layer.weights],
          sorted(random.sample({"a", "b"}, 2)), len(random.sample(range(5), 3))]
"""
    )
    assert found == [["a:0", "b:0", "c:0"], [[3, 2], [2], [2]], ["a", "b"], 3]


def test_tensors_and_metrics_of_the_package() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import keras
import tensorflow as tf
from keras import backend as K
from keras.layers import Concatenate, Dense, Dropout, Input

x = Input((3,))
dense, dropped = Dense(2)(x), Dropout(0.5)(x)
always = Dropout(0.5)(x, training=True)
model = keras.Model(x, Concatenate()([dense, dropped]))
again = model(Input((3,)))
plain = tf.constant(1.0)
pred, true = K.constant([[0.3, 0.2, 0.1], [0.1, 0.2, 0.7]]), K.constant([[0, 1, 0], [1, 0, 0]])
result = [x._keras_shape, [t._uses_learning_phase for t in (x, dense, dropped, always, model.output, again)],
          [model.uses_learning_phase, keras.Model(x, always).uses_learning_phase],
          [hasattr(plain, "_keras_shape"), hasattr(plain, "_uses_learning_phase")]]
dense._keras_shape = (7, 2)
result += [dense._keras_shape, [float(K.eval(keras.metrics.top_k_categorical_accuracy(true, pred, k=k))) for k in (1, 2, 3)],
           float(K.eval(keras.metrics.sparse_top_k_categorical_accuracy(K.constant([[1], [0]]), pred, k=2)))]
"""
    )
    assert found[0] == [None, 3]
    assert found[1] == [False, False, True, False, True, True]
    assert found[2:4] == [[True, False], [False, False]]
    assert found[4:] == [[7, 2], [0.0, 0.5, 1.0], 0.5]


def test_layers_are_tested_as_with_the_package() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
from keras import layers
from keras.utils import test_utils
from keras.utils.test_utils import get_test_data, keras_test, layer_test

np.random.seed(0)
(x, y), (x_test, y_test) = get_test_data(num_train=400, num_test=3, input_shape=(4,), num_classes=3)
(_, target), _ = get_test_data(num_train=5, num_test=1, output_shape=(2, 3), classification=False)
near = [float(x[y == i].mean()) for i in range(3)]
output = layer_test(layers.Dense, kwargs={"units": 2}, input_shape=(3, 4))

class Wrong(layers.Layer):
    def call(self, inputs):
        return inputs * 2.0
    def compute_output_shape(self, shape):
        return (shape[0], 7)

def failure(*args, **kwargs):
    try:
        layer_test(*args, **kwargs)
    except (AssertionError, ValueError) as error:
        return type(error).__name__

@keras_test
def named():
    "kept"
    return 3
named_result = named()
first_name = layers.Input((2,)).op.name

result = [near, [list(x.shape), list(x_test.shape), list(y_test.shape), list(target.shape)], list(output.shape),
          [failure(Wrong, input_shape=(3, 4)), failure(layers.Dense, kwargs={"units": 2}),
           failure(layers.ReLU, input_shape=(2, 3), expected_output=np.full((2, 3), -1.0)),
           failure(layers.Embedding, kwargs={"input_dim": 11, "output_dim": 2}, input_shape=(2, 3), input_dtype="int32"),
           failure(layers.Embedding, kwargs={"input_dim": 11, "output_dim": 2}, input_shape=(2, 3), input_dtype="int32",
                   expected_output_dtype="float32"),
           failure(layers.Dropout, kwargs={"rate": 0.5}, input_shape=(2, 3), fixed_batch_size=True)],
          [named_result, named.__name__, named.__doc__, test_utils.layer_test is layer_test],
          first_name]
"""
    )
    near, shapes, output, failures, kept, name = found
    assert np.allclose(near, [0, 1, 2], atol=0.15)
    assert shapes == [[400, 4], [3, 4], [3], [5, 2, 3]]
    assert output == [3, 2]
    assert failures == ["AssertionError", "ValueError", *["AssertionError"] * 2, None, None]
    assert kept == [3, "named", "kept", True]
    assert name == "input_1"  # keras_test forgot the models


def test_weights_of_cudnns_layers_are_made_those_of_plain_ones() -> None:
    layer = tf.keras.layers.LSTM(2)
    kernel, recurrent, bias = np.arange(24.0).reshape(3, 8), np.arange(16.0).reshape(2, 8), np.arange(16.0)  # fmt: skip
    found = package.preprocess_weights_for_loading(layer, [kernel, recurrent, bias])
    assert np.array_equal(found[2], bias[:8] + bias[8:])
    assert np.array_equal(found[1][:, :2], recurrent[:, :2].T)
    plain = [kernel, recurrent, bias[:8]]
    assert [a.tolist() for a in package.preprocess_weights_for_loading(layer, plain)] == [a.tolist() for a in plain]  # fmt: skip
    gates = [np.zeros(shape) for _ in range(4) for shape in ((3, 2), (2, 2), (2,))]
    old = package.preprocess_weights_for_loading(layer, gates, "1.2", "theano")
    assert [a.shape for a in old] == [(3, 8), (2, 8), (8,)]


def test_a_loss_that_a_layer_computes_and_what_the_backend_imported() -> None:
    """The training of keras-yolo3: a Lambda gives one number, loops are `K.control_flow_ops`'s, and `K.tf` is there."""
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
import tensorflow as tf
from keras import backend as K
from keras.layers import Dense, Input, Lambda
from keras.models import Model

def total(parts):
    error = K.square(parts[0] - parts[1])
    _, summed = K.control_flow_ops.while_loop(
        lambda i, t: i < 2, lambda i, t: (i + 1, t + K.sum(error[:, i])), [0, 0.0])
    return summed / K.cast(K.shape(error)[0], "float32")

x, y = Input((3,)), Input((2,))
loss = Lambda(total, output_shape=(1,), name="total")([Dense(2, kernel_initializer="ones")(x), y])
model = Model([x, y], loss)
model.compile("sgd", loss={"total": lambda y_true, y_pred: y_pred})
data = [np.ones([4, 3]), np.ones([4, 2])]
history = model.fit(data, np.zeros(4), epochs=3, batch_size=4, verbose=0).history["loss"]
result = [float(history[0]), bool(history[2] < history[0]), K.tf is tf, K.tensorflow_backend.tf is tf,
    callable(K.tensor_array_ops.TensorArray), callable(K.ctc.ctc_loss)]
"""
    )
    assert found == [8.0, True, True, True, True, True]


def test_a_list_of_one_output_is_that_output_and_reductions_take_lists() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import keras
from keras import backend as K

class Parts(keras.layers.Layer):
    def call(self, x):
        return [K.ones_like(x)]

x = keras.layers.Input((3,))
parts = Parts()(x)
product = keras.layers.multiply([x, parts])
a = K.constant([[1.0, 5.0], [2.0, 3.0]])
result = [K.int_shape(parts), K.int_shape(product), [K.eval(f([a], axis=-1)).tolist() for f in (K.max, K.sum, K.mean)]]
"""
    )
    reductions = [[[5.0, 3.0]], [[6.0, 5.0]], [[3.0, 2.5]]]
    assert found == [[None, 3], [None, 3], reductions]


def test_files_open_in_universal_newlines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a\r\nb\n")
    found = result_of(
        f"""
import io
import dataflow
dataflow.as_tensorflow()

path = {str(tmp_path / "a.csv")!r}
result = [open(path, mode).read() for mode in ("rU", "U", "r")] + [open(path, "rbU").read().decode()]
result.append(io.open(path, "rU", encoding="utf-8").read())
try:
    open(path, "r+U")
except ValueError as error:
    result.append("ValueError")
"""
    )
    assert found == ["a\nb\n"] * 3 + ["a\r\nb\n", "a\nb\n", "ValueError"]
