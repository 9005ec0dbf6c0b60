"""What tests of layers, models and datasets of TensorFlow's time are written with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.data.kernel_tests import test_base
from dataflow.python.data.util import sparse
from dataflow.python.keras import keras_parameterized, testing_utils


def test_a_layer_that_lies_about_its_shape_fails() -> None:
    with tf.Graph().as_default():
        output = testing_utils.layer_test(
            tf.keras.layers.Dense, kwargs={"units": 3}, input_shape=(2, 4)
        )
        assert output.shape == (2, 3)

        class Liar(tf.keras.layers.Dense):
            def compute_output_shape(self, input_shape: Any) -> Any:
                return tf.TensorShape([input_shape[0], 7])

        with pytest.raises(AssertionError, match="output shape"):
            testing_utils.layer_test(Liar, kwargs={"units": 3}, input_shape=(2, 4))
        with pytest.raises(AssertionError, match="output dtype"):
            testing_utils.layer_test(
                tf.keras.layers.Dense,
                kwargs={"units": 3},
                input_shape=(2, 4),
                expected_output_dtype="float64",
            )
        with pytest.raises(ValueError, match="input_shape"):
            testing_utils.layer_test(tf.keras.layers.Dense, kwargs={"units": 3})


def test_decorators_make_a_test_of_each_mode_and_each_type_of_model() -> None:
    pytest.importorskip("absl")
    ran: list[Any] = []

    class Case(keras_parameterized.TestCase):
        @keras_parameterized.run_all_keras_modes
        def test_session_is_there(self) -> None:
            ran.append((tf.get_default_session() is not None, testing_utils.should_run_eagerly()))

        @keras_parameterized.run_all_keras_modes(always_skip_v1=True, always_skip_eager=True)
        def test_eager_code(self) -> None:
            ran.append((tf.executing_eagerly(), testing_utils.should_run_eagerly()))

        @keras_parameterized.run_with_all_model_types(exclude_models="subclass")
        @keras_parameterized.run_all_keras_modes
        def test_types(self) -> None:
            model = testing_utils.get_model_from_layers([tf.keras.layers.Dense(2)], (3,))
            ran.append((testing_utils.get_model_type(), model.predict(np.ones((1, 3))).shape))

    found = {}
    for name in sorted(dir(Case)):
        if name.startswith("test_") and name != "test_session":
            assert Case(name).run().wasSuccessful()
            found[name] = ran.pop()
    modes = {
        "v1_session": (True, False),
        "v2_eager": (False, True),
        "v2_funcgraph": (False, False),
        "v2_function": (False, False),
    }
    assert found == {
        **{f"test_session_is_there_{mode}": expected for mode, expected in modes.items()},
        **{f"test_eager_code_v2_{mode}": (True, False) for mode in ("funcgraph", "function")},
        **{
            f"test_types_{mode}_{kind}": (kind, (1, 2))
            for mode in modes
            for kind in ("functional", "sequential")
        },
    }
    with pytest.raises(ValueError, match="model type"):
        testing_utils.get_model_type()


def test_comparisons_of_datasets_can_fail() -> None:
    case = test_base.DatasetTestBase()
    with tf.Graph().as_default(), case.session():
        dataset = tf.data.Dataset.range(3)
        case.assertDatasetProduces(dataset, [0, 1, 2])
        case.assertDatasetProduces(dataset, [2, 0, 1], assert_items_equal=True)
        case.assertDatasetsEqual(dataset, tf.data.Dataset.from_tensor_slices([0, 1, 2]).map(to_64))
        for wrong in ([0, 1], [0, 1, 3], [0, 1, 2, 3]):
            with pytest.raises((AssertionError, tf.errors.OutOfRangeError)):
                case.assertDatasetProduces(dataset, wrong)
        with pytest.raises(AssertionError):
            case.assertDatasetsEqual(dataset, tf.data.Dataset.range(4))


def to_64(x: Any) -> Any:
    return tf.cast(x, tf.int64)


def test_sparse_tensors_in_elements_of_datasets() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        eye = tf.SparseTensor([[0, 0], [3, 4]], [1, -1], [4, 5])
        classes = sparse.get_classes((eye, tf.constant(1)))
        assert classes == (tf.SparseTensor, tf.Tensor)
        assert sparse.any_sparse(classes) and not sparse.any_sparse((tf.Tensor,))
        assert sparse.as_dense_types((tf.int32, tf.int32), classes) == (tf.variant, tf.int32)
        packed = sparse.serialize_sparse_tensors((eye, tf.constant(1)))
        shapes = (tf.TensorShape([None, None]), tf.TensorShape([]))
        again = sparse.deserialize_sparse_tensors(packed, (tf.int32, tf.int32), shapes, classes)
        assert again[0].shape.ndims == 2
        value = sess.run(again[0])
        assert value.indices.tolist() == [[0, 0], [3, 4]] and value.values.tolist() == [1, -1]
