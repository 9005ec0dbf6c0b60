"""`dataflow.as_tensorflow`: names, versions and what is mended; each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def result_of(source: str) -> Any:
    """What the program leaves in ``result``; ``error_of`` gives an exception's class and words."""
    program = f"""
import json
def error_of(source):
    try:
        exec(source, {{}})
    except Exception as error:
        return f"{{type(error).__name__}}: {{error}}"
{source}
print("RESULT", json.dumps(result))
"""
    path = os.pathsep.join(str(ROOT / name) for name in (".", "widgets", "datasets"))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={k: v for k, v in os.environ.items() if k != "DISPLAY"} | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.partition("RESULT")[2])


def test_nothing_is_touched_before() -> None:
    loaded, names, found = result_of(
        "import sys, numpy, collections, dataflow\nimport dataflow.contrib.layers\n"
        "result = [[n for n in sys.modules if n.startswith('dataflow.shim')],"
        " [hasattr(numpy, 'float'), hasattr(collections, 'Mapping')],"
        " [type(f).__module__ for f in sys.meta_path if 'shim' in type(f).__module__]]"
    )
    assert (loaded, names, found) == ([], [False, False], [])


def test_names_are_the_engines_own() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow(); dataflow.as_tensorflow()
import tensorflow as tf
import tensorflow.compat.v1 as v1, tensorflow.contrib.slim as slim, tensorflow.nn.rnn_cell as cells
import keras
from tensorflow import keras as tf_keras
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.core.protobuf import config_pb2
from tensorflow.contrib import rnn, layers
from tensorflow.contrib.rnn.python.ops import core_rnn_cell
from tensorflow.python.ops import math_ops, rnn_cell_impl
from tensorflow.python.framework import graph_util, ops, constant_op
from tensorflow.python.training import moving_averages
from tensorflow.python.platform import gfile, tf_logging
from tensorflow.python.lib.io import file_io
from tensorflow.python.saved_model import tag_constants, builder
from tensorflow.python.util import nest
from tensorflow.python.layers import core
from tensorflow.python.tools import freeze_graph
from tensorflow.python.keras.layers import Dense
from tensorflow.python.keras import backend as K
from keras.layers.convolutional import Conv2D
from keras.utils.np_utils import to_categorical
from tensorflow.contrib.learn.python.learn.datasets import base
from tensorflow.contrib.framework.python.ops import arg_scope
import dataflow.keras.layers
same = lambda a, b: a is b
result = [
    [tf.__version__, tf.VERSION, v1.__version__, tf.compat.v1.VERSION, keras.__version__,
     dataflow.__version__, dataflow.compat.v1.__version__],
    [same(tf.nn, dataflow.nn), same(slim, dataflow.contrib.slim), same(v1.add, tf.add),
     same(math_ops.add, tf.add), same(core_rnn_cell.LSTMCell, tf.nn.rnn_cell.LSTMCell),
     same(rnn_cell_impl.LSTMCell, cells.LSTMCell), same(Dense, keras.layers.Dense),
     same(tf.keras.layers, dataflow.keras.layers), same(Conv2D, Dense.__class__) is False,
     same(constant_op.constant, tf.constant), same(file_io.FileIO if hasattr(file_io, "FileIO") else 0, 1) is False,
     same(graph_util.convert_variables_to_constants, tf.graph_util.convert_variables_to_constants),
     callable(moving_averages.assign_moving_average), same(core.Dense, tf.layers.Dense)],
    [dataflow.nn.__spec__.name, dataflow.keras.layers.__spec__.name, dataflow.nn.__name__],
]
"""
    )
    versions, same, specs = found
    assert versions[:5] == ["1.15.0"] * 4 + ["2.2.5"]
    assert versions[5] == versions[6] != "1.15.0"
    assert all(same), same
    assert specs == ["dataflow.nn", "dataflow.keras.layers", "dataflow.nn"]


def test_the_package_of_the_estimators_is_answered_too() -> None:
    same, error = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import tensorflow as tf, tensorflow_estimator
from tensorflow_estimator import estimator
from tensorflow_estimator.python.estimator import estimator as estimator_lib, util
from tensorflow_estimator.python.estimator.canned import dnn, prediction_keys
from tensorflow_estimator.python.estimator.head import base_head, regression_head
from tensorflow_estimator.python.estimator.mode_keys import ModeKeys
from tensorflow.python.data.ops.dataset_ops import DatasetV1, DatasetV2
result = [[a is b for a, b in [
    (estimator.Estimator, tf.estimator.Estimator), (estimator_lib.Estimator, tf.estimator.Estimator),
    (dnn.DNNClassifier, tf.estimator.DNNClassifier), (ModeKeys, tf.estimator.ModeKeys),
    (regression_head.RegressionHead, tf.estimator.RegressionHead), (base_head.Head, tf.estimator.Head),
]] + [issubclass(tf.data.TextLineDataset, kind) for kind in (DatasetV1, DatasetV2)],
error_of("from tensorflow_estimator.python.estimator import no_such_module")]
"""
    )
    assert all(same), same
    assert error.startswith("ImportError")


def test_absent_names_say_what_to_write_however_they_are_imported() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
result = [error_of(s) for s in (
    "from tensorflow.contrib import verbs",
    "import tensorflow.contrib.verbs.client as c",
    "import tensorflow as tf; tf.contrib.verbs",
    "from tensorflow.nn import relux",
    "from tensorflow import reduce_men",
    "from tensorflow.python.ops import no_such_ops",
    "from tensorflow.python.ops.math_ops import no_such_op",
    "import keras.no_such_module",
    "from tensorflow.contrib.framework import RecordInput",
    "import tensorflow as tf; tf.contrib.rnn.NoSuchCell",
)]
import tensorflow as tf
result.append([hasattr(tf.contrib, "verbs"), hasattr(tf, "no_such"), tf.contrib.layers.__name__])
"""
    )
    verbs = "tf.contrib.verbs is not part of dataflow. It was RDMA between tasks: leave"
    assert found[0].startswith(f"ImportError: {verbs}")
    assert found[1].startswith(f"ModuleNotFoundError: {verbs}")
    assert found[2].startswith(f"AttributeError: {verbs}")
    assert "tf.nn.relux is not part of dataflow. Did you mean tf.nn.relu" in found[3]
    assert "Did you mean tf.reduce_mean" in found[4]
    assert found[5].startswith("ImportError: tf.python.ops.no_such_ops is not part of dataflow.")
    assert "tf.python.ops.math_ops.no_such_op is not part of dataflow." in found[6]
    assert "tf.keras.no_such_module is not part of dataflow." in found[7]
    assert found[8].startswith(
        "ImportError: tf.contrib.framework.RecordInput is not part of dataflow. Use tf.data.TFRecord"
    )
    assert found[9].startswith("AttributeError: tf.contrib.rnn.NoSuchCell is not part of dataflow.")
    assert found[10] == [False, False, "dataflow.contrib.layers"]


def test_a_tensorflow_that_is_imported_already_is_an_error() -> None:
    (words,) = result_of(
        "import sys, types, dataflow\nsys.modules['tensorflow'] = types.ModuleType('tensorflow')\n"
        "sys.modules['tensorflow'].__version__ = '2.15.0'\n"
        "result = [error_of('import dataflow; dataflow.as_tensorflow()')]"
    )
    assert words.startswith("RuntimeError: tensorflow 2.15.0 itself is imported already")
    assert "Restart the kernel" in words


def test_what_numpy_and_python_took_away_is_back() -> None:
    numbers, python = result_of(
        """
import warnings
warnings.simplefilter("ignore")
import dataflow
dataflow.as_tensorflow()
import base64, collections, fractions, inspect, random, time, threading
import numpy as np
import imp, xml.etree.cElementTree
from distutils.version import LooseVersion
ragged = np.array([[1, 2], [3]])
result = [
    [np.zeros(2, np.float).dtype.name, np.zeros(1, np.int).dtype.kind, np.ones(1, np.bool).dtype.name,
     np.object is object, np.NaN != np.NaN, np.Inf, np.float_ is np.float64, np.asscalar(np.ones(1)),
     np.fromstring(b"\\x01\\x02", np.uint8).tolist(), np.fromstring("1 2", sep=" ").tolist(),
     [ragged.dtype.name, ragged.shape], np.product([2, 3]).item(), np.mat([[1]]).shape,
     np.arange(2, dtype=np.uint8).tostring() == b"\\x00\\x01", np.uint8(7).tostring() == b"\\x07",
     np.lib.pad(np.ones(1), 1, "constant").tolist()],
    [issubclass(dict, collections.Mapping), issubclass(list, collections.MutableSequence),
     inspect.getargspec(lambda a, b=1: 0).args, time.clock() <= time.clock(), fractions.gcd(6, 4),
     threading.current_thread().isAlive(), callable(imp.load_source),
     LooseVersion("1.15.0") > "1.4", LooseVersion("1.4.0") < LooseVersion("1.12")],
]
"""
    )
    assert numbers == [
        *("float64", "i", "bool", True, True, float("inf"), True, 1.0),
        *([1, 2], [1.0, 2.0], ["object", [2]], 6, [1, 1], True, True, [0.0, 1.0, 0.0]),
    ]
    assert python == [True, True, ["a", "b"], True, 2, True, True, True, True]


def test_a_kind_of_numbers_is_asked_for_by_the_name_of_pythons_type() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
today = {"__name__": "pandas.core", "np": np}
exec("found = np.issubdtype(np.float32, float)", today)
result = [
    [np.issubdtype(np.float32, float), np.issubdtype(np.dtype("int8"), np.int),
     np.issubdtype(np.complex64, complex)],
    [np.issubdtype(np.int32, float), np.issubdtype(np.uint8, int), np.issubdtype(np.float32, np.float64),
     np.issubdtype(np.float32, np.dtype(float)), today["found"]],
    [np.issubdtype(np.float32, np.floating), np.issubdtype(bool, bool)],
]
"""
    )
    assert found == [[True] * 3, [False] * 5, [True] * 2]


def test_other_packages_have_what_they_had() -> None:
    """SciPy's pictures by Pillow, Matplotlib without a display, old modules of scikit-learn."""
    found = result_of(
        """
import warnings
warnings.simplefilter("ignore")
import pandas  # loaded before: completed at once
import dataflow
dataflow.as_tensorflow()
import os, tempfile, numpy as np
import scipy.misc
from scipy.ndimage import imread
import matplotlib
matplotlib.use("TkAgg")
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.show()
from sklearn.cross_validation import train_test_split
from sklearn.externals import joblib
picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3) * 5
path = os.path.join(tempfile.mkdtemp(), "a.png")
scipy.misc.imsave(path, picture)
result = [np.array_equal(scipy.misc.imread(path), picture), imread(path, flatten=True).dtype.name,
    list(scipy.misc.imresize(picture, (2, 6)).shape), list(scipy.misc.imresize(picture, 50).shape),
    list(scipy.misc.imresize(picture, 2.0).shape), matplotlib.get_backend().lower(),
    scipy.misc.logsumexp([0.0, 0.0]), pandas.DataFrame({"a": [1]}).as_matrix().tolist(),
    len(train_test_split([1, 2, 3, 4])), callable(joblib.dump)]
from PIL import Image
result.append(Image.fromarray(picture).resize((2, 2), Image.ANTIALIAS).size == (2, 2))
from PIL import ImageDraw, ImageFont
font, draw = ImageFont.load_default(), ImageDraw.Draw(Image.fromarray(picture))
width, height = font.getsize("label")
result.append([draw.textsize("label", font) == (width, height), width > height > 5,
    draw.textsize("label\\nlabel", font)[1] > 1.5 * height])
from sklearn.manifold import TSNE
result.append([TSNE(n_iter=300).max_iter, TSNE(perplexity=5).get_params()["max_iter"] >= 1000])
from numpy.core.umath_tests import inner1d, matrix_multiply
result.append([inner1d([[1, 2], [3, 4]], [[1, 1], [2, 0]]).tolist(), matrix_multiply(np.eye(2), [[3], [4]]).tolist()])
"""
    )
    assert found[:6] == [True, "float32", [2, 6, 3], [2, 2, 3], [8, 8, 3], "agg"]
    assert abs(found[6] - 0.6931) < 1e-3
    assert found[7:] == [[[1]], 2, True, True, [True] * 3, [300, True], [[3, 6], [[3.0], [4.0]]]]


def test_files_of_h5py_are_written_by_default_and_have_values() -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import os, tempfile
import h5py
folder = tempfile.mkdtemp()
path = os.path.join(folder, "a.h5")
with h5py.File(path) as f:
    f["a"] = [1, 2]
with h5py.File(path) as f:
    f["b"] = f["a"].value + 1
    result = [f.mode]
with h5py.File(path, "r") as f:
    result += [f.mode, f["b"].value.tolist()]
with h5py.File(path, mode="r") as read, h5py.File(path) as again:  # which cannot be written now
    result.append(again.mode)
for name, mode in ((os.path.join(folder, "no", "a.h5"), {}), (os.path.join(folder, "b.h5"), {"mode": "r"})):
    try:
        h5py.File(name, **mode)
    except OSError as e:
        result.append(os.path.exists(name))
"""
    )
    assert found == ["r+", "r", [2, 3], "r", False, False]


def test_optimizers_of_the_package_keras_have_its_defaults() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
import tensorflow as tf
result = [tf.keras.optimizers.Adadelta().get_config()["learning_rate"]]
from keras import optimizers
from keras.layers import Dense
from keras.models import Sequential
x, y = np.array([[1., 2.], [3., -1.], [0.5, 1.]]), np.array([[1.], [0.], [2.]])
for optimizer in ("sgd", "adagrad", "adadelta", "adamax", optimizers.Adadelta(lr=0.1)):
    model = Sequential([Dense(1, input_dim=2, kernel_initializer="ones")])
    model.compile(loss="mse", optimizer=optimizer)
    model.fit(x, y, epochs=5, batch_size=3, verbose=0, shuffle=False)
    result.append(float(model.get_weights()[0][0, 0]))
nadam = optimizers.Nadam(beta_1=0.9, epsilon=None, schedule_decay=0.01)
result.append([round(nadam.get_config()["learning_rate"], 6), nadam.schedule_decay])
"""
    )
    assert abs(found[0] - 0.001) < 1e-6
    # Keras 2.3.1's weights with the same data.
    expected = [0.7802866, 0.9680366, 0.9928175, 0.9900200, 0.9992796]
    assert all(abs(a - b) < 1e-6 for a, b in zip(found[1:6], expected, strict=True)), found
    assert found[6] == [0.002, 0.01]


def test_layers_of_the_package_keras_are_numbered_from_one_and_may_set_their_weights() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import tensorflow as tf
from keras.utils import to_categorical
result = [tf.keras.layers.Dense(1).name]
tf.keras.backend.clear_session()
import keras
class Own(keras.layers.Layer):
    def build(self, input_shape):
        self.kernel = self.add_weight(name="kernel", shape=(2, 2), initializer="ones")
        self.step = tf.Variable(0.0, trainable=False)
        self.trainable_weights, self.non_trainable_weights = [self.kernel], [self.step]
        super().build(input_shape)
    def call(self, x):
        return tf.matmul(x, self.kernel)
model = keras.models.Sequential([keras.layers.Dense(2, input_dim=3), keras.layers.Dense(2), Own()])
result += [model.name, [layer.name for layer in model.layers], model.input.op.name]
result += [model.get_layer("dense_2").units, [w.op.name for w in model.layers[-1].trainable_weights]]
"""
    )
    assert found[0] == "dense"  # the package's name is not enough: the layer is tf.keras's
    assert found[1:3] == ["sequential_1", ["dense_1", "dense_2", "own_1"]]
    assert found[3:] == ["dense_1_input", 2, ["own_1/kernel"]]


def test_the_package_keras_takes_the_arguments_of_keras_1() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
import keras
from keras import backend as K
from keras.layers import LSTM, BatchNormalization, Conv2DTranspose, Convolution2D, Dense
from keras.layers import Dropout, Embedding, Flatten, Input, MaxPooling2D
from keras.models import Model, Sequential, model_from_json
x, y = np.zeros((20, 8, 8, 1)), np.eye(2)[np.arange(20) % 2]
model = Sequential([
    Convolution2D(4, 3, 3, border_mode="same", subsample=(1, 1), init="he_normal",
        dim_ordering="tf", input_shape=(8, 8, 1)),
    MaxPooling2D(strides=(2, 2), border_mode="same"),
    Flatten(),
    Dense(output_dim=8, init="uniform", W_regularizer=keras.regularizers.l2(0.01)),
    BatchNormalization(mode=0),
    Dropout(p=0.5),
    Dense(2, activation="softmax", bias=False)])
model.compile(loss="categorical_crossentropy", optimizer="sgd")
history = model.fit(x, y, nb_epoch=2, verbose=0)
def batches():
    while True:
        yield x[:5], y[:5]
model.fit_generator(batches(), samples_per_epoch=2, nb_epoch=1, verbose=0)
images = keras.preprocessing.image.ImageDataGenerator().flow(x, y, batch_size=5)
steps = []
count = keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: steps.append(batch))
model.fit_generator(images, samples_per_epoch=20, nb_epoch=1, verbose=0, callbacks=[count])
again = model_from_json(model.to_json())
result = [model.layers[0].kernel_size, model.count_params(), again.count_params(), len(steps),
    len(history.epoch), model.layers[5].rate, model.layers[3].kernel_regularizer is not None]
inputs = Input((4,))
result.append(Model(input=inputs, output=Dense(2)(inputs)).count_params())
text = Sequential([Embedding(10, 4, dropout=0.1), LSTM(3, dropout_W=0.2, dropout_U=0.1)])
config = text.layers[1].get_config()
result.append([config["dropout"], config["recurrent_dropout"]])
sizes = Sequential([Conv2DTranspose(4, 3, strides=2, input_shape=(8, 8, 1)),
    Convolution2D(2, 3, strides=2), Convolution2D(2, nb_row=2, nb_col=1)])
result.append([layer.output_shape[1:] for layer in sizes.layers])
K.set_image_dim_ordering("th")
result.append([K.image_data_format(), K.image_dim_ordering()])
try:
    Dense(units=3, output_dim=4)
except TypeError as error:
    result.append(str(error))
"""
    )
    # Keras 2.3.1 has as many weights; 32 of them, here, are of batch normalization.
    assert found[:4] == [[3, 3], 578 - 2 + 32, 578 - 2 + 32, 4]
    assert found[4:8] == [2, 0.5, True, 10]
    assert found[8:10] == [[0.2, 0.1], [[17, 17, 4], [8, 8, 2], [7, 8, 2]]]
    assert found[10] == ["channels_first", "th"]
    assert found[11] == "output_dim is the older name of units: give one of them"


def test_the_merge_of_keras_1_is_a_function_and_a_module() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
from keras.layers import Input, merge
from keras.layers.merge import concatenate
from keras.models import Model
a, b = Input((3,)), Input((3,))
def merged(mode, **options):
    model = Model(input=[a, b], output=merge([a, b], mode=mode, **options))
    return np.round(model.predict([np.array([[1.0, 2, 3]]), np.array([[2.0, 0, 1]])]), 3).tolist()[0]
result = [merged(mode) for mode in ("sum", "mul", "ave", "max", "concat", "dot", "cos")]
result.append(merged(lambda pair: pair[0] - pair[1], output_shape=(3,)))
result.append([merge([a, b], mode="concat", concat_axis=1, name="both").name.split("/")[0]])
try:
    merge([a, b], mode="plus")
except ValueError as error:
    result.append(str(error))
"""
    )
    assert found[:4] == [[3, 2, 4], [2, 0, 3], [1.5, 1, 2], [2, 2, 3]]
    assert found[4:6] == [[1, 2, 3, 2, 0, 1], [5]]
    assert abs(found[6][0] - 5 / (14 * 5) ** 0.5) < 1e-3
    assert found[7:9] == [[-1, 2, 2], ["both"]]
    assert "one of sum, mul, ave, max, concat, dot, cos" in found[9] and "got 'plus'" in found[9]


def test_the_houses_of_boston_are_read_from_the_file_of_keras() -> None:
    found = result_of(
        """
import warnings
warnings.simplefilter("ignore")
import os, tempfile
import numpy as np
os.environ["DATAFLOW_DATA"] = tempfile.mkdtemp()
x, y = np.arange(39.0).reshape(3, 13), np.array([24.0, 21.6, 34.7])
np.savez(os.path.join(os.environ["DATAFLOW_DATA"], "boston_housing.npz"), x=x, y=y)
import dataflow
dataflow.as_tensorflow()
from sklearn import datasets
from sklearn.datasets import load_boston
boston = datasets.load_boston()
result = [boston.data.tolist() == x.tolist(), boston["target"].tolist(), list(boston.feature_names),
    [part.shape for part in load_boston(return_X_y=True)], "Boston" in boston.DESCR]
"""
    )
    assert found[:2] == [True, [24.0, 21.6, 34.7]]
    assert found[2][:2] == ["CRIM", "ZN"] and found[2][-2:] == ["B", "LSTAT"]
    assert found[3:] == [[[3, 13], [3]], True]


def test_ops_run_whose_kernels_stand_in_a_file_of_another_name() -> None:
    """The finder that explains absent modules is not asked for files of kernels."""
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import tensorflow as tf
with tf.Session() as session:
    result = session.run(tf.cholesky([[4.0]])).tolist()
"""
    )
    assert found == [[2.0]]


def test_checkpoints_have_the_files_that_programs_look_for(tmp_path: Path) -> None:
    found = result_of(
        f"""
import os, dataflow
folder = {str(tmp_path)!r}
tf = dataflow
v = tf.Variable([1.0, 2.0], name="v")
big = tf.get_variable("big", [4, 2], partitioner=tf.fixed_size_partitioner(2))
whole, cut = tf.train.Saver(), tf.train.Saver(sharded=True)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    whole.save(session, folder + "/m")
    first = sorted(os.listdir(folder))
    dataflow.as_tensorflow()
    session.run(v.assign([3.0, 4.0]))
    whole.save(session, folder + "/m")
    cut.save(session, folder + "/c")
    whole.save(session, folder + "/named.safetensors")
    session.run(v.assign([0.0, 0.0]))
    restored = []
    for name in ("/m", "/c", "/named.safetensors"):
        whole.restore(session, folder + name)
        restored.append(session.run(v).tolist())
reader = tf.train.load_checkpoint(folder + "/c")
result = [first, sorted(os.listdir(folder)), restored, reader.get_variable_to_shape_map()]
"""
    )
    assert found[0] == ["checkpoint", "m.meta", "m.safetensors"]
    files = [n for p in "cm" for n in (f"{p}.data-00000-of-00001", f"{p}.index", f"{p}.meta")]
    assert [n for n in found[1] if "named" not in n] == sorted(["checkpoint", *files])
    assert "named.safetensors" in found[1]
    assert found[2] == [[3.0, 4.0]] * 3 and found[3] == {"v": [2], "big": [4, 2]}


def test_copy_false_copies_where_it_must() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
array = np.ones(2)
result = [np.array([1, 2], copy=False).tolist(), np.array(array, copy=False) is array,
          np.array(array, dtype=np.float32, copy=False).dtype.name]
"""
    )
    assert found == [[1, 2], True, "float32"]


def test_numbers_of_numpy_print_as_they_did() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
import tensorflow as tf
with tf.Session() as session:
    loss = session.run(tf.constant(0.5))
result = [str([loss, np.int64(3)]), str({"loss": loss}), repr((np.True_,))]
"""
    )
    assert found == ["[0.5, 3]", "{'loss': 0.5}", "(True,)"]


def test_arrays_of_one_element_are_numbers() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import math, urllib
import numpy as np
x = np.array([[3.5]])
words = [error_of("import numpy; %s(numpy.ones(2))" % f) for f in ("int", "float")]
result = [int(x), float(x), "%.1f %d" % (x, np.array([7])), math.floor(x[0, 0]), float(np.array(2)),
          words, urllib.parse.quote("a b"), hasattr(urllib, "no_such_part"),
          np.block(np.meshgrid([1, 2], [3])).tolist(), len(np.unique([[1], [2, 3]]))]
"""
    )
    assert found[:5] == [3, 3.5, "3.5 7", 3, 2.0]
    assert [w.partition(":")[0] for w in found[5]] == ["TypeError"] * 2
    assert all("only" in w for w in found[5])
    assert found[6:] == ["a%20b", False, [[1, 2, 3, 3]], 2]


def test_old_names_of_arguments_and_numpy_has_math() -> None:
    found = result_of(
        """
import dataflow
dataflow.as_tensorflow()
import numpy as np
x = [1.0, 2.0, np.nan]
result = [np.percentile(x[:2], 60, interpolation="nearest"), np.quantile(x[:2], 0.6, None, method="lower"),
          np.nanpercentile(x, q=[10, 90], interpolation="lower").tolist(), np.percentile(x[:2], 50),
          np.math.factorial(4), np.reshape([1, 2], newshape=[-1, 1]).tolist(), np.reshape([[3]], -1).tolist()]
"""
    )
    assert found == [2.0, 1.0, [1.0, 1.0], 1.5, 24, [[1], [2]], [3]]


def test_options_of_sessions_by_their_protocol_buffer() -> None:
    assert result_of(
        """
import dataflow
dataflow.as_tensorflow()
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
config = config_pb2.ConfigProto(gpu_options=config_pb2.GPUOptions(allow_growth=True))
with tf.Session(config=config) as session:
    result = [float(session.run(tf.constant(1.0))), config_pb2.ConfigProto is tf.ConfigProto,
              config_pb2.RunMetadata is tf.RunMetadata]
"""
    ) == [1.0, True, True]


def test_classes_are_located_by_their_dotted_names() -> None:
    assert result_of(
        """
import dataflow
dataflow.as_tensorflow()
import pydoc
import tensorflow as tf
names = ["nn.rnn_cell.LSTMCell", "layers.Conv1D", "keras.regularizers.L1L2", "train.AdamOptimizer"]
result = [pydoc.locate("tensorflow." + n) is eval("tf." + n) for n in names]
result.append(pydoc.locate("tensorflow.layers.NoSuchLayer") is None)
"""
    ) == [True, True, True, True, True]


def test_functions_of_ops_pass_for_plain_functions() -> None:
    before, after, made, types = result_of(
        "import dataflow, inspect, types, numpy\n"
        "before = inspect.isfunction(dataflow.nn.relu)\n"
        "tf = dataflow.as_tensorflow()\n"
        "graph = tf.function(tf.nn.relu)\n"
        "layer = tf.keras.layers.Lambda(tf.nn.relu)\n"
        "with tf.Session() as session:\n"
        "    made = [float(session.run(f(tf.constant(2.0)))) for f in (graph, layer, tf.nn.relu)]\n"
        "result = [before, [inspect.isfunction(tf.nn.relu), isinstance(tf.tanh, types.FunctionType),"
        " str(inspect.signature(tf.nn.relu))], made,"
        " [numpy.dtype(t).kind for t in (numpy.int0, numpy.uint0, numpy.bool8, numpy.str0)]]"
    )
    assert (before, after) == (False, [True, True, "(features, name=None)"])
    assert made == [2.0, 2.0, 2.0] and types == ["i", "u", "b", "U"]
