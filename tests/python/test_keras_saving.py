"""What savers of models ask of them: `keras.saving.saving_utils`, and other helpers of Keras's own tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow.python.framework import ops
from dataflow.python.keras.saving import saving_utils  # type: ignore[import-untyped]
from dataflow.python.keras.utils import (  # type: ignore[import-untyped]
    metrics_utils,
    tf_utils,
)

keras: Any = tf.keras


def _model() -> Any:
    model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,), name="out")])
    model.compile("sgd", "mse", metrics=["mae", keras.metrics.BinaryAccuracy()])
    return model


def test_a_models_call_as_a_function() -> None:
    model = _model()
    (spec,) = saving_utils.model_input_signature(model)
    assert (spec.shape.as_list(), spec.dtype) == ([None, 3], tf.float32)
    function = saving_utils.trace_model_call(model)
    found = function(tf.ones([4, 3]))
    assert list(found) == ["out"]
    np.testing.assert_allclose(
        keras.backend.get_session().run(found["out"]), model.predict(np.ones((4, 3))), rtol=1e-6
    )
    with pytest.raises(ValueError, match="input shapes have not been set"):
        saving_utils.trace_model_call(keras.Sequential([keras.layers.Dense(2)]))


def test_what_was_compiled_comes_back() -> None:
    model = _model()
    assert list(saving_utils.extract_model_metrics(model)) == model.metrics_names[1:]
    assert saving_utils.extract_model_metrics(keras.Sequential()) is None
    metadata = saving_utils.model_metadata(model)
    assert metadata["model_config"]["class_name"] == "Sequential"
    again = saving_utils.compile_args_from_training_config(metadata["training_config"])
    assert (type(again["optimizer"]), again["loss"]) == (keras.optimizers.SGD, "mse")
    assert "training_config" not in saving_utils.model_metadata(model, include_optimizer=False)

    class Own(keras.Model):  # type: ignore[misc]
        pass

    assert "config" not in saving_utils.model_metadata(Own(), require_config=False)["model_config"]
    with pytest.raises(NotImplementedError):
        saving_utils.model_metadata(Own())


def test_of_equal_scores_the_first_are_among_the_largest() -> None:
    with tf.Session() as sess:
        found = sess.run(metrics_utils._filter_top_k(tf.constant([[0.5, 0.5, 0.1]]), 1))
        np.testing.assert_allclose(found, [[0.5, -1e10, -1e10]])
        recall = keras.metrics.Recall(top_k=1)
        update = recall.update_state([[0.0, 1.0, 0.0]], [[0.5, 0.5, 0.1]])
        sess.run(tf.global_variables_initializer())
        sess.run(tf.local_variables_initializer())
        sess.run(update)
        assert sess.run(recall.result()) == 0


def test_ragged_tensors_of_the_same_rows_are_flat_for_metrics() -> None:
    x, y = tf.ragged.constant([[1, 2], [3]]), tf.ragged.constant([[4, 5], [6]])
    flat = metrics_utils.ragged_assert_compatible_and_get_flat_values
    (a, b), mask = flat([x, y], tf.ragged.constant([[1, 0], [1]]))
    with tf.Session() as sess:
        values = sess.run([a, b, mask])
    assert [v.tolist() for v in values] == [[[1], [2], [3]], [[4], [5], [6]], [[1], [0], [1]]]
    dense = tf.constant([1])
    assert flat([dense]) == ([dense], None)
    with pytest.raises(TypeError, match="all be ragged"):
        flat([x, dense])
    with pytest.raises(ValueError, match="identical ragged splits"):
        flat([x, tf.ragged.constant([[[1]], [[2]]])])
    with pytest.raises(tf.errors.InvalidArgumentError, match="splits"):
        flat([x, tf.ragged.constant([[4], [5, 6]])])


def test_what_stands_for_a_value_of_a_graph() -> None:
    sparse = tf.SparseTensor([[0, 0]], [1], [1, 1])
    assert all(map(tf_utils.is_symbolic_tensor, (ops.convert_to_tensor_v2(0.0), sparse)))
    assert not tf_utils.is_symbolic_tensor(3)
    from dataflow.python.eager import context

    with context.eager_mode():
        eager = (ops.convert_to_tensor_v2(0.0, dtype_hint=tf.float64), tf.Variable(0.0))
        assert eager[0].dtype == tf.float64
        assert not any(map(tf_utils.is_symbolic_tensor, eager))


def test_fields_of_classes_of_attrs() -> None:
    attr = pytest.importorskip("attr")
    pair = attr.make_class("Pair", ["x", "y"])
    found = tf_utils.map_structure_with_atomic(
        lambda v: isinstance(v, int), lambda v: v + 1, [pair(1, 2)]
    )
    assert found == [pair(2, 3)]


def test_objects_of_a_programs_own_are_made_from_configs() -> None:
    class Own(keras.constraints.Constraint):  # type: ignore[misc]
        pass

    config = {"class_name": "Own", "config": {}}
    for module in ("constraints", "initializers", "optimizers", "regularizers"):
        found = getattr(keras, module).deserialize(config, {"Own": Own})
        assert type(found) is Own
        with pytest.raises(ValueError, match="Own"):
            getattr(keras, module).deserialize(config)
