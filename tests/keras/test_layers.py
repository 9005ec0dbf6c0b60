"""Layers, each held against a simpler one that must give the same; TensorFlow is in the oracle."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

keras = tf.keras
layers = keras.layers
RNG = np.random.RandomState(0)
STEPS = RNG.randn(2, 6, 3).astype("float32")
pytestmark = pytest.mark.usefixtures("new_keras_session")


def model_of(layer, shape, batch=None):
    entry = keras.Input(shape) if batch is None else keras.Input(batch_shape=(batch, *shape))
    return keras.Model(entry, layer(entry))


def randomize(model, seed=0):
    random = np.random.RandomState(seed)
    model.set_weights([random.randn(*w.shape.as_list()) * 0.5 for w in model.weights])
    return model


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
def test_a_stateful_layer_goes_on_where_the_last_batch_stopped(kind):
    cls = getattr(layers, kind)
    whole = randomize(model_of(cls(4), (6, 3)))
    parts = randomize(model_of(cls(4, stateful=True), (2, 3), batch=2))
    assert (whole.stateful, parts.stateful) == (False, True)
    for _ in range(2):
        found = [parts.predict(STEPS[:, i : i + 2]) for i in (0, 2, 4)][-1]
        np.testing.assert_allclose(found, whole.predict(STEPS), rtol=1e-5)
        parts.reset_states()
    with pytest.raises(ValueError, match="divided by the batch size 2"):
        parts.predict(STEPS[:1, :2])
    with pytest.raises(ValueError, match="incompatible with the specified batch size"):
        parts.predict(STEPS[:, :2], batch_size=1)
    with pytest.raises(ValueError, match="it received 3 state values"):
        parts.layers[1].reset_states([np.zeros((2, 4))] * 3)
    with pytest.raises(AttributeError, match="stateful"):
        whole.layers[1].reset_states()
    with pytest.raises(ValueError, match="batch_input_shape"):
        model_of(cls(4, stateful=True), (2, 3))


def test_cudnn_layers_are_the_plain_ones_with_other_biases():
    lstm = model_of(layers.LSTM(4, recurrent_activation="sigmoid"), (6, 3))
    cudnn = randomize(model_of(layers.CuDNNLSTM(4), (6, 3)))
    kernel, recurrent, bias = cudnn.get_weights()
    assert bias.shape == (32,)
    lstm.set_weights([kernel, recurrent, bias[:16] + bias[16:]])
    np.testing.assert_allclose(cudnn.predict(STEPS), lstm.predict(STEPS), rtol=1e-5)
    gru = model_of(layers.GRU(4, recurrent_activation="sigmoid", reset_after=True), (6, 3))
    cudnn = randomize(model_of(layers.CuDNNGRU(4), (6, 3)))
    kernel, recurrent, bias = cudnn.get_weights()
    gru.set_weights([kernel, recurrent, bias.reshape(2, 12)])
    np.testing.assert_allclose(cudnn.predict(STEPS), gru.predict(STEPS), rtol=1e-5)
    fresh = model_of(layers.CuDNNLSTM(2), (6, 3)).get_weights()[2]
    assert fresh.tolist() == [0] * 10 + [1] * 2 + [0] * 4
    with pytest.raises(ValueError, match="Masking is not supported for CuDNN RNNs"):
        layers.CuDNNGRU(2)(layers.Masking()(keras.Input((6, 3))))
    with pytest.raises(TypeError, match="dropout"):
        layers.CuDNNLSTM(2, dropout=0.5)


def test_a_convolutional_lstm_of_one_pixel_is_an_lstm():
    plain = randomize(model_of(layers.LSTM(4, return_sequences=True), (6, 3)))
    images = model_of(layers.ConvLSTM2D(4, 1, return_sequences=True), (6, 1, 1, 3))
    kernel, recurrent, bias = plain.get_weights()
    images.set_weights([kernel[None, None], recurrent[None, None], bias])
    found = images.predict(STEPS[:, :, None, None, :])
    np.testing.assert_allclose(found[:, :, 0, 0], plain.predict(STEPS), rtol=1e-5)
    first = model_of(layers.ConvLSTM2D(4, 1, data_format="channels_first"), (6, 3, 1, 1))
    first.set_weights(images.get_weights())
    found = first.predict(STEPS[..., None, None])
    np.testing.assert_allclose(found[:, :, 0, 0], plain.predict(STEPS)[:, -1], rtol=1e-5)


def test_a_convolutional_lstm_tells_which_way_a_dot_moves():
    x = np.zeros((64, 4, 6, 6, 1), "float32")
    y = np.arange(64) % 2
    for i in range(64):
        row = RNG.randint(6)
        for t in range(4):
            x[i, t, row, t + 1 if y[i] else 4 - t] = 1
    model = keras.Sequential(
        [
            layers.ConvLSTM2D(4, 3, padding="same", dropout=0.05, input_shape=(4, 6, 6, 1)),
            layers.GlobalMaxPooling2D(),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.03), "binary_crossentropy", ["accuracy"])
    history = model.fit(x, y, epochs=20, batch_size=16, verbose=0).history
    assert history["acc"][-1] > 0.9 > history["acc"][0]


def test_locally_connected_layers_with_equal_filters_are_convolutions():
    for local, plain, data in (
        (layers.LocallyConnected1D(2, 3, strides=2), layers.Conv1D(2, 3, strides=2), STEPS),
        (layers.LocallyConnected2D(2, (2, 3)), layers.Conv2D(2, (2, 3)), RNG.randn(2, 5, 6, 3)),
    ):
        convolution = randomize(model_of(plain, data.shape[1:]))
        own = model_of(local, data.shape[1:])
        kernel, bias = convolution.get_weights()
        places = own.weights[0].shape[0].value
        flat = np.tile(kernel.reshape(1, -1, 2), (places, 1, 1))
        own.set_weights([flat, np.broadcast_to(bias, own.weights[1].shape.as_list())])
        np.testing.assert_allclose(
            own.predict(data), convolution.predict(data), rtol=1e-4, atol=1e-5
        )


def test_a_causal_convolution_does_not_look_ahead():
    model = randomize(model_of(layers.Conv1D(2, 3, dilation_rate=2, padding="causal"), (6, 3)))
    changed = STEPS.copy()
    changed[:, 4:] += 1
    before, after = model.predict(STEPS), model.predict(changed)
    assert before.shape == (2, 6, 2)
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert (before[:, 4:] != after[:, 4:]).all()


@pytest.mark.parametrize(
    "layer",
    [
        layers.GaussianNoise(0.5),
        layers.GaussianDropout(0.3),
        layers.AlphaDropout(0.3),
        layers.Dropout(0.3),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_noise_is_only_there_while_training(layer):
    layer = type(layer).from_config(layer.get_config())
    x = RNG.randn(200, 100).astype("float32")
    entry = keras.Input((100,))
    model = keras.Model(entry, layer(entry))
    np.testing.assert_array_equal(model.predict(x), x)
    phase = keras.backend.learning_phase()
    noisy = keras.backend.get_session().run(model.output, {model.input: x, phase: True})
    assert (noisy != x).mean() > 0.9 or isinstance(layer, layers.Dropout)
    assert abs(noisy.mean() - x.mean()) < 0.03
    if isinstance(layer, layers.AlphaDropout):
        assert abs(noisy.std() - x.std()) < 0.03


def test_spatial_dropout_drops_whole_channels():
    entry = keras.Input((4, 4, 4, 10))
    model = keras.Model(entry, layers.SpatialDropout3D(0.5)(entry))
    feed = {model.input: np.ones((3, 4, 4, 4, 10)), keras.backend.learning_phase(): True}
    found = keras.backend.get_session().run(model.output, feed)
    assert set(np.unique(found)) == {0.0, 2.0}
    assert (found == found[:, :1, :1, :1]).all()


def test_layer_normalization_and_states_by_hand():
    model = model_of(layers.LayerNormalization(axis=[1, 2], epsilon=0), (6, 3))
    found = model.predict(STEPS)
    np.testing.assert_allclose(found.mean((1, 2)), 0, atol=1e-6)
    np.testing.assert_allclose(found.std((1, 2)), 1, rtol=1e-5)
    with pytest.raises(ValueError, match="fully defined"):
        layers.LocallyConnected1D(2, 3)(keras.Input((None, 3)))


def test_layers_say_what_shape_they_make() -> None:
    cases = [
        (layers.GaussianNoise(1.0), (None, 3), [None, 3]),
        (layers.Reshape((2, 3)), (5, 6), [5, 2, 3]),
        (layers.LSTM(4, return_sequences=True), (2, 7, 3), [2, 7, 4]),
        (layers.Dot(axes=-1), [(4, 5), (4, 5)], [4, 1]),
    ]
    for layer, shape, made in cases:
        assert layer.compute_output_shape(shape).as_list() == made
    assert not layers.LSTM(4).weights  # a copy was built, and not the layer
    with pytest.raises(ValueError, match="list of at least 2"):
        layers.Dot(1).compute_output_shape(1)


def test_merged_inputs_have_their_masks_together() -> None:
    masked = layers.Masking()(keras.Input((4, 5)))
    plain = keras.Input((4, 5))
    for layer in (layers.Add(), layers.Concatenate()):
        layer([masked, plain])
        assert layer.output_mask.shape.as_list() == [None, 4]
    layer = layers.Add()
    layer([plain, plain])
    assert layer.output_mask is None
    x = np.ones([1, 4, 5], np.float32)
    x[0, 2] = 0
    mask = layers.Concatenate()
    mask([masked, plain])
    found = keras.backend.get_session().run(mask.output_mask, {plain: x, **_fed(masked, x)})
    assert found.tolist() == [[True, True, False, True]]


def _fed(tensor, value):
    """The placeholder that ``tensor`` is computed from, fed."""
    while tensor.op.inputs:
        tensor = tensor.op.inputs[0]
    return {tensor: value}


def test_losses_that_are_said_to_need_inputs() -> None:
    layer = layers.Dense(1)
    x = keras.Input((2,))
    layer(x)
    bound, free = tf.reduce_sum(x), tf.reduce_sum(layer.kernel)
    layer.add_loss(bound, inputs=x)
    layer.add_loss(free)
    assert layer.get_losses_for(None) == [free]
    assert layer.get_losses_for(x) == [bound]


def test_layers_take_autocast() -> None:
    """It is off in TensorFlow 1: libraries name it to keep inputs as they are."""
    layer = tf.keras.layers.Activation("linear", autocast=False, dtype="float32")
    assert layer(tf.constant([1.0], tf.float64)).dtype == tf.float64


def test_a_dense_layer_computes_in_the_dtype_of_its_kernel() -> None:
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
    assert layer(tf.constant([[1.0, 2.0]])).dtype == tf.float32
    wide = layer(tf.constant([[1.0, 2.0]], tf.float64))
    assert wide.dtype == tf.float32
    assert tf.keras.layers.Dense(1)(tf.constant([[1.0]], tf.float64)).dtype == tf.float64
    tf.keras.backend.get_session().run(layer.kernel.initializer)
    assert tf.keras.backend.eval(wide).tolist() == [[3.0]]


def test_a_model_has_names_of_outputs_when_it_has_outputs() -> None:
    """Libraries ask `hasattr(model, "output_names")`."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, name="last")])
    model.compile("sgd", "mse")
    assert not hasattr(model, "output_names")
    model.build((None, 2))
    assert model.output_names == ["last"]


def test_names_of_reductions_of_version_2() -> None:
    names = tf.compat.v2.losses.Reduction
    assert (names.AUTO, names.NONE, names.SUM) == ("auto", "none", "sum")
    assert names.SUM_OVER_BATCH_SIZE in names.all()
    loss = tf.keras.losses.MeanSquaredError(reduction=names.NONE)
    assert loss([[1.0]], [[3.0]]).shape.as_list() == [1]


@pytest.mark.parametrize(
    ("padding", "strides", "kernel", "more", "size", "total"),
    [
        ("same", 2, 3, 1, (10, 8), 462),
        ("valid", (3, 2), 3, (2, 1), (17, 10), 540),
        ("same", 2, 2, 1, (9, 7), 189),
    ],
)
def test_transposed_convolutions_with_output_padding(
    padding: str, strides: object, kernel: int, more: object, size: tuple, total: int
) -> None:
    """Sizes and sums are TensorFlow 1.15's."""
    layer = tf.keras.layers.Conv2DTranspose(
        3, kernel, strides, padding, output_padding=more, kernel_initializer="ones"
    )
    images = tf.keras.layers.Input((None, None, 1))
    model = tf.keras.Model(images, layer(images))
    found = model.predict(np.ones([1, 5, 4, 1], np.float32))
    assert found.shape == (1, *size, 3)
    assert found.sum() == total
    assert layer.compute_output_shape((1, 5, 4, 1)) == (1, *size, 3)
    again = tf.keras.models.model_from_json(model.to_json()).layers[1]
    assert again.output_padding == layer.output_padding
    with pytest.raises(ValueError, match="must be greater than output padding"):
        tf.keras.layers.Conv2DTranspose(3, kernel, strides=1, output_padding=1)


def test_targets_have_the_dtype_of_the_outputs() -> None:
    """As in TensorFlow: metrics of one's own compare labels with what they make of outputs."""

    def accuracy(y_true: object, y_pred: object) -> object:
        guesses = tf.keras.backend.cast(tf.argmax(y_pred, -1), "float32")
        return tf.cast(tf.equal(tf.squeeze(y_true, -1), guesses), tf.float32)

    accuracy.name = "hits"  # type: ignore[attr-defined]
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, use_bias=False, input_shape=(2,))])
    model.set_weights([np.eye(2)])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=[accuracy])
    assert model.targets[0].dtype == tf.float32
    found = model.evaluate(np.eye(2), np.array([[0], [0]]), verbose=0)
    assert found[1] == 0.5
    assert model.metrics_names == ["loss", "hits"]


def test_flatten_puts_channels_last():
    K = keras.backend
    x = K.constant(np.arange(12.0).reshape(1, 2, 2, 3))
    first = [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]
    assert K.eval(layers.Flatten(data_format="channels_first")(x)).tolist() == [first]
    assert K.eval(layers.Flatten()(x)).tolist() == [list(range(12))]
    K.set_image_data_format("channels_first")
    try:
        layer = layers.Flatten()
        assert K.eval(layer(x)).tolist() == [first]
        assert layer.get_config()["data_format"] == "channels_first"
    finally:
        K.set_image_data_format("channels_last")


def test_reductions_of_ones_own_over_everything_but_the_channels() -> None:
    from dataflow.keras.layers import pooling

    class GlobalSum(pooling.GlobalPooling1D):
        def call(self, inputs):
            return keras.backend.sum(inputs, axis=1)

    model = keras.Sequential([GlobalSum(input_shape=(3, 2))])
    assert model.predict(np.ones((1, 3, 2))).tolist() == [[3.0, 3.0]]
    assert isinstance(layers.GlobalMaxPooling2D(), pooling._GlobalPooling2D)
    assert isinstance(layers.GlobalAveragePooling3D(), pooling._GlobalPooling3D)
    assert GlobalSum().compute_output_shape((None, 3, 2)).as_list() == [None, 2]
    first = layers.GlobalMaxPooling2D(data_format="channels_first")
    assert first.compute_output_shape((4, 2, 5, 6)).as_list() == [4, 2]


def test_losses_that_are_numbers_are_floating() -> None:
    x = keras.Input((3,))
    model = keras.Model(x, layers.Dense(2)(x))
    model.add_loss([1, tf.reduce_mean(model.output)])
    model.compile("sgd", "mse")
    assert [loss.dtype for loss in model.losses] == [tf.float32, tf.float32]
    zeros = np.zeros((1, 3), np.float32)
    assert model.evaluate(zeros, np.zeros((1, 2), np.float32), verbose=0) == 1.0


def test_relus_settings_are_attributes_and_checked() -> None:
    x = keras.Input((3,))
    layer = layers.ReLU(6, negative_slope=0.1)
    assert (layer.max_value, layer.negative_slope, layer.threshold) == (6, 0.1, 0)
    assert layers.ReLU(6)(x).op.type == "Relu6"
    values = np.array([[-10.0, 3.0, 9.0]], np.float32)
    session = keras.backend.get_session()
    assert session.run(layers.ReLU(6)(x), {x: values}).tolist() == [[0.0, 3.0, 6.0]]
    assert np.allclose(session.run(layer(x), {x: values}), [[-1.0, 3.0, 6.0]])
    for name in ("max_value", "negative_slope"):
        with pytest.raises(ValueError, match=f"{name} of Relu layer cannot be negative value: -1"):
            layers.ReLU(**{name: -1})


def test_slopes_of_prelu_are_shared_regularized_and_constrained() -> None:
    x = keras.Input((4, 3))
    layer = layers.PReLU("ones", "l2", "NonNeg", 1)
    layer(x)
    assert layer.alpha.shape.as_list() == [1, 3]
    assert layer.shared_axes == [1]
    assert len(layer.losses) == 1
    assert isinstance(layer.alpha_constraint, keras.constraints.NonNeg)
    again = layers.PReLU.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    assert again.alpha_regularizer.get_config() == layer.alpha_regularizer.get_config()


def test_tensors_remember_the_call_that_made_them() -> None:
    x = tf.keras.Input((3,))
    layer = tf.keras.layers.Dense(2)
    first, second = layer(x), layer(x)
    assert first._keras_history == (layer, 0, 0) and second._keras_history == (layer, 1, 0)
    assert second._keras_history.node_index == 1 and x._keras_history.layer.name == "input_1"
    assert not hasattr(tf.constant(1), "_keras_history")


def test_metrics_by_name_with_objects_of_a_program() -> None:
    class Named:
        __name__ = "mine"

    metrics = tf.keras.metrics
    assert metrics.serialize(Named()) == "mine"
    assert metrics.deserialize("mine", custom_objects={"mine": True}) is True
    with pytest.raises(ValueError, match="mine"):
        metrics.deserialize("mine")
    config = {"class_name": "Own", "config": {"name": "n"}}
    assert metrics.deserialize(config, custom_objects={"Own": metrics.Sum}).name == "n"
    assert metrics.deserialize(metrics.serialize(metrics.Mean("m"))).name == "m"
    assert metrics.deserialize("mse") is metrics.mean_squared_error


@pytest.mark.parametrize("setting", ["kernel_initializer", "kernel_regularizer"])
def test_layers_by_channel_take_and_do_not_use_settings_of_a_whole_kernel(setting: str) -> None:
    given = {setting: {"kernel_initializer": "he_normal", "kernel_regularizer": "l2"}[setting]}
    separable = tf.keras.layers.SeparableConv2D(4, 3, **given)
    depthwise = tf.keras.layers.DepthwiseConv2D(3, **given)
    assert depthwise(separable(tf.keras.Input((8, 8, 3)))).shape.as_list() == [None, 4, 4, 4]
    assert separable.losses == depthwise.losses == []
    assert [w.shape.as_list() for w in separable.weights] == [[3, 3, 3, 1], [1, 1, 3, 4], [4]]
