"""Published programs' ways to compile: adversarial pairs, losses without targets, loss objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dataflow as tf

keras, layers, K = tf.keras, tf.keras.layers, tf.keras.backend


pytestmark = pytest.mark.usefixtures("graph")


def test_a_discriminator_frozen_after_compile_is_trained_by_itself_only() -> None:
    """As in every published Keras GAN."""
    tf.set_random_seed(1)  # of some drawn weights no rectified unit hands on a gradient
    discriminator = keras.Sequential(
        [layers.Dense(3, activation="relu", input_shape=(2,)), layers.Dense(1, "sigmoid")]
    )
    discriminator.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
    generator = keras.Sequential([layers.Dense(2, input_shape=(3,))])
    noise = keras.Input((3,))
    discriminator.trainable = False
    combined = keras.Model(noise, discriminator(generator(noise)))
    combined.compile("sgd", "binary_crossentropy")
    assert len(combined.trainable_weights) == 2
    random = np.random.RandomState(0)
    before = discriminator.get_weights()
    with pytest.warns(UserWarning, match="Discrepancy between trainable weights"):
        discriminator.train_on_batch(random.rand(4, 2), np.ones((4, 1)))
    after = discriminator.get_weights()
    assert any(not np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    made = generator.get_weights()
    combined.train_on_batch(random.rand(4, 3), np.ones((4, 1)))
    for a, b in zip(after, discriminator.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(not np.array_equal(a, b) for a, b in zip(made, generator.get_weights(), strict=True))


def test_a_variational_autoencoder_with_add_loss_needs_no_targets() -> None:
    x = keras.Input((4,))
    h = layers.Dense(3, activation="tanh", kernel_initializer="ones")(x)
    mean = layers.Dense(2, kernel_initializer="ones")(h)
    log_variance = layers.Dense(2, kernel_initializer="zeros")(h)
    z = layers.Lambda(lambda a: a[0] + K.exp(a[1] / 2) * 0.0)([mean, log_variance])
    y = layers.Dense(4, activation="sigmoid", kernel_initializer="ones")(z)
    model = keras.Model(x, y)
    entropy = 4 * keras.losses.binary_crossentropy(x, y)
    divergence = -0.5 * K.sum(1 + log_variance - K.square(mean) - K.exp(log_variance), axis=-1)
    model.add_loss(K.mean(entropy + divergence))
    model.compile(optimizer="rmsprop")
    data = np.random.RandomState(0).rand(8, 4)
    history = model.fit(data, epochs=2, batch_size=4, shuffle=False, verbose=0)
    np.testing.assert_allclose(history.history["loss"], [18.271, 18.023], atol=6e-4)  # as in 1.15
    more = model.fit(data, None, validation_data=(data, None), verbose=0)
    assert sorted(more.history) == ["loss", "val_loss"]
    assert isinstance(model.evaluate(data, verbose=0), float)


def test_an_impossible_probability_costs_what_it_costs_in_1_15() -> None:
    y_true, y_pred = np.array([[0.0, 1.0, 1.0]], "f"), np.array([[1.5, -0.5, 0.75]], "f")
    each = K.get_value(K.binary_crossentropy(K.constant(y_true), K.constant(y_pred)))
    np.testing.assert_allclose(each, [[15.3333, 15.4249, 0.287682]], rtol=1e-5)


def test_nothing_to_minimize() -> None:
    model = keras.Sequential([layers.Dense(1, input_shape=(2,))])
    with pytest.raises(RuntimeError, match="no loss to train with"):
        model.compile("sgd")


def test_freezing_takes_effect_with_the_next_compile() -> None:
    model = keras.Sequential([layers.Dense(2, input_shape=(2,), name="a"), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.get_layer("a").trainable = False
    x, y = np.ones((4, 2)), np.full((4, 1), 9.0)
    before = model.get_weights()[0]
    with pytest.warns(UserWarning, match="Discrepancy"):
        model.fit(x, y, verbose=0)
    between = model.get_weights()[0]
    assert not np.array_equal(before, between)
    model.compile("sgd", "mse")
    model.fit(x, y, verbose=0)
    np.testing.assert_array_equal(between, model.get_weights()[0])


@pytest.mark.parametrize(
    ("reduction", "plain", "weighted"),
    [
        ("none", [0.125, 0.5], [0.125, 1.5]),
        ("sum", 0.625, 1.625),
        ("sum_over_batch_size", 0.3125, 0.8125),
        ("auto", 0.3125, 0.8125),
    ],
)
def test_reductions_of_loss_objects(reduction: str, plain: object, weighted: object) -> None:
    y = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    z = tf.constant([[1.5, 2.0], [2.0, 4.0]])
    loss = keras.losses.MeanSquaredError(reduction, "mine")
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(loss(y, z)), plain)
        np.testing.assert_allclose(
            session.run(loss(y, z, sample_weight=tf.constant([1.0, 3.0]))), weighted
        )
    assert loss.get_config() == {"reduction": reduction, "name": "mine"}


def test_a_loss_that_sums_trains_with_the_sum() -> None:
    losses = {}
    for reduction in ("sum", "auto"):
        model = keras.Sequential([layers.Dense(1, kernel_initializer="ones", input_shape=(2,))])
        model.compile("sgd", keras.losses.MeanSquaredError(reduction))
        losses[reduction] = model.evaluate(np.ones((4, 2)), np.zeros((4, 1)), verbose=0)
    assert losses == {"sum": 16.0, "auto": 4.0}


def test_settings_of_loss_objects() -> None:
    huber = keras.losses.Huber(delta=0.5)
    assert huber.get_config() == {"reduction": "auto", "name": "huber_loss", "delta": 0.5}
    with tf.Session() as session:
        value = session.run(huber([[0.0], [0.0]], [[0.2], [2.0]]))
    np.testing.assert_allclose(value, (0.5 * 0.04 + 0.5 * 2 - 0.125) / 2, rtol=1e-6)
    with pytest.raises(ValueError, match="Invalid Reduction Key mean"):
        keras.losses.MeanSquaredError("mean")
    with pytest.raises(TypeError):
        keras.losses.BinaryCrossentropy(from_logitz=True)
    assert keras.losses.serialize(keras.losses.mean_squared_error) == "mean_squared_error"
    assert keras.losses.deserialize("mse") is keras.losses.mean_squared_error


def test_activity_regularization_is_a_mean_over_the_examples() -> None:
    model = keras.Sequential(
        [
            layers.Dense(
                2,
                input_shape=(2,),
                kernel_initializer="ones",
                activity_regularizer=keras.regularizers.l1(0.01),
            )
        ]
    )
    model.compile("sgd", "mse")
    # 4 for the squares, and 0.01 * (2 + 2) for each example.
    assert model.evaluate(np.ones((4, 2)), np.zeros((4, 2)), verbose=0) == pytest.approx(4.04)


def test_a_metric_of_ones_own_may_return_nothing() -> None:
    class Distance(keras.metrics.Metric):
        def __init__(self, name: str = "distance", **kwargs: object) -> None:
            super().__init__(name=name, **kwargs)
            self.total = self.add_weight(
                name="total", initializer="zeros", aggregation=tf.VariableAggregation.SUM
            )

        def update_state(
            self, y_true: object, y_pred: object, sample_weight: object = None
        ) -> None:
            self.total.assign_add(tf.reduce_sum(tf.abs(y_true - y_pred)))

        def result(self) -> tf.Tensor:
            return self.total

    model = keras.Sequential([layers.Dense(1, kernel_initializer="ones", input_shape=(2,))])
    model.compile("sgd", "mse", metrics=[Distance()])
    loss, distance = model.evaluate(np.ones((4, 2)), np.ones((4, 1)), verbose=0)
    assert (loss, distance) == (1.0, 4.0)
    metric = Distance()
    assert isinstance(metric, layers.Layer)
    assert metric.trainable_weights == []


def test_run_eagerly_needs_eager_execution() -> None:
    model = keras.Sequential([layers.Dense(1, input_shape=(2,))])
    assert model.run_eagerly is False
    with pytest.raises(ValueError, match="if eager execution is enabled"):
        model.compile("sgd", "mse", run_eagerly=True)

    class Doubled(layers.Layer):
        def call(self, x: Any) -> Any:
            return x * 2.0

        def compute_output_shape(self, shape: Any) -> Any:
            return shape

    model = keras.Sequential([Doubled(dynamic=True, input_shape=(2,))])
    assert model.dynamic and not layers.Dense(1).dynamic
    with pytest.raises(ValueError, match="dynamic=True.*enable_eager_execution"):
        model.compile("sgd", "mse")


def test_summary_says_what_each_layer_is_connected_to(capsys: pytest.CaptureFixture[str]) -> None:
    x = keras.Input((8,), name="x")
    a = layers.Dense(2, name="a")(x)
    b = layers.Dense(2, name="b")(x)
    model = keras.Model(x, layers.Add(name="sum")([a, b]))
    model.summary()
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[2].endswith("Connected to")
    assert lines[-7].endswith("a[0][0]")
    assert lines[-6].strip() == "b[0][0]"
    keras.Sequential([layers.Dense(1, input_shape=(2,))]).summary()
    assert "Connected to" not in capsys.readouterr().out


class Mixed:
    """A loss of two, as libraries write them: no subclass of `tf.keras.losses.Loss`."""

    def __init__(self, share: float) -> None:
        self.share = share

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        losses = keras.losses
        first, second = losses.mse(y_true, y_pred), losses.mae(y_true, y_pred)
        return self.share * first + (1 - self.share) * second

    def get_config(self) -> dict[str, float]:
        return {"share": self.share}


@pytest.mark.parametrize("by_name", [True, False])
def test_losses_with_settings_come_back(by_name: bool, tmp_path: Any) -> None:
    model = keras.Sequential([layers.Dense(1, input_dim=2, name="out")])
    model.compile("sgd", {"out": Mixed(0.3)} if by_name else Mixed(0.3))
    x, y = np.ones([4, 2], np.float32), np.zeros([4, 1], np.float32)
    model.fit(x, y, verbose=0)
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = keras.models.load_model(path, custom_objects={"Mixed": Mixed})
    expected = model.evaluate(x, y, verbose=0)
    assert loaded.evaluate(x, y, verbose=0) == pytest.approx(expected, rel=1e-6)


def test_softmax_needs_a_batch() -> None:
    with pytest.raises(ValueError, match="1D"):
        keras.activations.softmax(tf.ones([3]))
    made = keras.activations.softmax(tf.ones([1, 2, 2]), axis=1)
    assert K.eval(made).tolist() == [[[0.5, 0.5], [0.5, 0.5]]]


def test_variables_of_tensors_and_fans() -> None:
    drawn = K.variable(keras.initializers.RandomUniform(2.0, 3.0)([3, 2]))
    value = K.get_value(drawn)
    assert value.shape == (3, 2)
    assert 2 <= value.min() <= value.max() < 3
    assert (K.get_value(drawn) == value).all()
    fans = keras.initializers._compute_fans
    assert fans((3, 3, 4, 5)) == (36, 45)
    assert fans((5, 4, 3, 3), "channels_first") == (36, 45)
    assert fans((6, 7)) == (6, 7)


def test_an_output_of_one_row_is_compared_with_each_example() -> None:
    """As in TensorFlow 1.15.5, whose targets have no size of the batch."""
    inputs = keras.layers.Input((3,), batch_size=2)
    mean = keras.layers.Lambda(lambda x: tf.reduce_mean(x, keepdims=True))(inputs)
    model = keras.models.Model(inputs, keras.layers.Dense(1, kernel_initializer="ones")(mean))
    model.compile("sgd", "mse", metrics=["mae", "accuracy"])
    results = model.evaluate(np.ones((4, 3)), np.arange(4.0).reshape(4, 1), batch_size=2, verbose=0)
    assert results == [1.5, 1.0, 0.25]


def test_a_batch_after_an_evaluation_adds_to_its_metrics() -> None:
    """TensorFlow 1.15.5's numbers: metrics are reset after a batch, not before it."""
    inputs = keras.layers.Input((3,))
    model = keras.models.Model(inputs, keras.layers.Dense(1, kernel_initializer="ones")(inputs))
    model.compile(keras.optimizers.SGD(0.0), "mse", metrics=["mae"])
    x, y = np.ones((4, 3)), np.arange(4.0).reshape(4, 1)
    first, rest = (x[:2], y[:2]), {"verbose": 0}
    assert model.evaluate(x, y, **rest) == [3.5, 1.5]
    assert model.train_on_batch(*first) == pytest.approx([6.5, 11 / 6])
    assert model.train_on_batch(*first) == [6.5, 2.5]
    assert model.fit(x, y, **rest).history["mean_absolute_error"] == [1.5]
    assert model.test_on_batch(*first) == pytest.approx([6.5, 11 / 6])
    assert model.evaluate(x, y, **rest) == [3.5, 1.5]
    assert model.train_on_batch(*first, reset_metrics=False) == pytest.approx([6.5, 11 / 6])
    assert model.train_on_batch(*first) == [6.5, 2.0]
