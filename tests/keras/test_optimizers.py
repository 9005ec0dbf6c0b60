"""`tf.keras.optimizers`: variables with TensorFlow's names, and optimizers of one's own."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf
from dataflow import keras
from dataflow.keras.optimizers import TFOptimizer


@pytest.fixture(autouse=True)
def fresh():
    keras.backend.clear_session()
    with tf.Graph().as_default():
        yield


X = np.array([[1.0, 2.0], [-1.0, 0.5]], "float32")
Y = np.array([[1.0], [-2.0]], "float32")


def model_with(optimizer, **arguments):
    start = tf.constant_initializer(0.5)
    model = keras.Sequential(
        [keras.layers.Dense(1, input_shape=(2,), kernel_initializer=start, name="d")]
    )
    model.compile(optimizer, "mse", **arguments)
    return model


def names():
    return [v.op.name for v in tf.global_variables()]


def test_variables_are_made_when_a_model_first_trains_under_tensorflows_names():
    model = model_with("adam")
    model.evaluate(X, Y, verbose=0)
    assert names() == ["d/kernel", "d/bias"] and model.optimizer.weights == []
    model.fit(X, Y, verbose=0)
    own = ["iter", "beta_1", "beta_2", "decay", "learning_rate"]
    slots = [f"d/{variable}/{slot}" for slot in "mv" for variable in ("kernel", "bias")]
    assert names()[2:] == [f"training/Adam/{name}" for name in own + slots]
    assert [w.op.name for w in model.optimizer.weights] == [
        f"training/Adam/{name}" for name in ["iter", *slots]
    ]
    model.compile(keras.optimizers.SGD(name="Other"), "mse")
    model.fit(X, Y, verbose=0)
    others = ["iter", "decay", "learning_rate", "momentum"]
    assert names()[-4:] == [f"training_2/Other/{name}" for name in others]


def test_callbacks_find_the_variables_of_the_training():
    found = []

    class Look(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            found.append(self.model.optimizer.lr.op.name)

    model_with("sgd").fit(X, Y, verbose=0, callbacks=[Look()])
    assert found == ["training/SGD/learning_rate"]


def test_settings_are_variables_that_steps_read_and_checkpoints_hold(tmp_path):
    model = model_with(keras.optimizers.SGD(0.5, momentum=0.5))
    model.fit(X, Y, verbose=0)
    optimizer = model.optimizer
    optimizer.momentum, optimizer.lr = 0.0, 0.0
    assert keras.backend.get_value(optimizer.momentum) == 0.0
    before = model.get_weights()
    model.fit(X, Y, verbose=0)
    np.testing.assert_array_equal(model.get_weights()[0], before[0])
    assert optimizer.get_config()["learning_rate"] == 0.0
    model.save_weights(tmp_path / "w")
    stored = dict(tf.train.list_variables(str(tmp_path / "w")))
    assert "optimizer/momentum/.ATTRIBUTES/VARIABLE_VALUE" in stored
    other = model_with(keras.optimizers.SGD(0.5, momentum=0.5))
    other.load_weights(tmp_path / "w")
    other.fit(X, Y, verbose=0)
    np.testing.assert_array_equal(other.get_weights()[0], before[0])
    assert keras.backend.get_value(other.optimizer.iterations) == 3


def test_an_optimizer_of_ones_own():
    class Halved(keras.optimizers.Optimizer):
        """Half of the gradient, and a count of the steps for each variable."""

        def __init__(self, learning_rate=0.1, name="Halved", **kwargs):
            super().__init__(name, **kwargs)
            self._set_hyper("learning_rate", learning_rate)

        def _create_slots(self, var_list):
            for var in var_list:
                self.add_slot(var, "steps", "ones")

        def _resource_apply_dense(self, grad, var, apply_state=None):
            coefficients = (apply_state or {}).get((var.device, var.dtype.base_dtype))
            assert coefficients is not None
            steps = self.get_slot(var, "steps")
            half = 0.5 * coefficients["lr_t"] * grad
            return tf.group(steps.assign_add(tf.ones_like(grad)), var.assign_sub(half))

        def get_config(self):
            rate = self._serialize_hyperparameter("learning_rate")
            return {**super().get_config(), "learning_rate": rate}

    own = Halved(0.5)
    model, plain = model_with(own), model_with(keras.optimizers.SGD(0.25))
    for one in (model, plain):
        one.fit(X, Y, epochs=2, verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], plain.get_weights()[0], rtol=1e-6)
    assert [w.op.name for w in own.weights][1:] == [
        f"training/Halved/d/{name}/steps" for name in ("kernel", "bias")
    ]
    assert own.get_weights()[1].tolist() == [[3.0], [3.0]]
    assert Halved.from_config(own.get_config()).get_config() == own.get_config()


def test_minimize_asks_for_gradients_where_a_subclass_has_them():
    class Problem:
        """No tensor: what is minimized is the subclass's affair."""

    class Sgd(keras.optimizers.SGD):
        def _compute_gradients(self, loss, var_list, grad_loss=None):
            assert isinstance(loss, Problem) and grad_loss is None
            return [(tf.constant([2.0]), v) for v in var_list]

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable([1.0])
        step = Sgd(0.25).minimize(Problem(), [x])
        plain = keras.optimizers.SGD(0.25).minimize(lambda: 3.0 * x, lambda: [x])
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(x).tolist() == [0.5]
        session.run(plain)
        assert session.run(x).tolist() == [-0.25]
        scaled = keras.optimizers.SGD(0.25).minimize(3.0 * x, [x], grad_loss=tf.constant([2.0]))
        session.run(tf.global_variables_initializer())
        session.run(scaled)
        assert session.run(x).tolist() == [-0.5]


def test_grad_loss_with_eager_execution():
    from dataflow.python.eager import context

    with context.eager_mode():
        x = tf.Variable([1.0], use_resource=True)
        keras.optimizers.SGD(0.25).minimize(lambda: 3.0 * x, [x], grad_loss=tf.constant([2.0]))
        assert x.numpy().tolist() == [-0.5]


def test_a_schedule_and_a_number_take_each_others_place():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    optimizer = keras.optimizers.SGD(schedule)
    optimizer.lr = 0.3
    assert optimizer.get_config()["learning_rate"] == 0.3
    with tf.Graph().as_default():
        variable = tf.Variable(1.0)
        optimizer.minimize(lambda: variable * 2.0, [variable])
        optimizer.learning_rate = schedule
        assert optimizer.get_config()["learning_rate"]["class_name"] == "ExponentialDecay"


def test_how_training_runs_inside_is_no_matter():
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(1,))])
    model.compile("sgd", "mse", experimental_run_tf_function=True)
    with pytest.raises(TypeError, match="run_tf"):
        model.compile("sgd", "mse", run_tf=True)


def test_what_is_refused():
    with pytest.raises(TypeError, match="Unexpected keyword argument passed to optimizer: rate"):
        keras.optimizers.SGD(rate=0.1)
    with pytest.raises(ValueError, match="Expected clipnorm >= 0, received: -1"):
        keras.optimizers.Adam(clipnorm=-1)
    with pytest.raises(ValueError, match="momentum"):
        keras.optimizers.SGD(momentum=2)
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    with pytest.raises(ValueError, match="does not support"):
        keras.optimizers.Nadam(schedule)
    model = model_with("sgd")
    model.fit(X, Y, verbose=0)
    with pytest.raises(RuntimeError, match="Cannot set `iterations`"):
        model.optimizer.iterations = tf.Variable(0)


def test_gradients_by_rows_are_clipped_row_by_row():
    """A row that occurs twice is clipped twice and then summed, as in TensorFlow."""
    w = tf.get_variable("w", initializer=np.zeros([3, 1], "float32"), use_resource=True)
    optimizer = keras.optimizers.SGD(1.0, clipvalue=0.5)
    loss = tf.reduce_sum(tf.gather(w, [2, 2, 0]))
    step = optimizer.apply_gradients(zip(optimizer.get_gradients(loss, [w]), [w], strict=True))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(w).tolist() == [[-0.5], [0.0], [-1.0]]


def test_the_gradient_of_the_loss_itself_reaches_an_optimizer_of_train() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0])
        ours = TFOptimizer(tf.train.GradientDescentOptimizer(0.1))
        (plain,) = ours.get_gradients(tf.square(v), [v])
        (scaled,) = ours.get_gradients(tf.square(v), [v], tf.constant([10.0, 100.0]))
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(plain), [2, 4])
        np.testing.assert_array_equal(session.run(scaled), [20, 400])
