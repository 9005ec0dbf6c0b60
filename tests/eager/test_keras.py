"""Keras in eager code: layers are called on values, `fit` runs a graph with the same variables."""

import numpy as np
import pytest

import dataflow as tf

RANDOM = np.random.RandomState(0)
X = RANDOM.randn(64, 5).astype("f")
Y = (X.sum(1) > 0).astype("i")


class Classifier(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(8, activation="relu")
        self.drop = tf.keras.layers.Dropout(0.5)
        self.out = tf.keras.layers.Dense(2)

    def call(self, x, training=False):
        return self.out(self.drop(self.hidden(x), training=training))


def test_layers_have_names_and_values():
    layer = tf.keras.layers.Dense(3, activation="relu")
    assert layer(X).shape.as_list() == [64, 3]
    assert [w.name for w in layer.weights] == ["dense/kernel:0", "dense/bias:0"]
    assert layer.get_weights()[0].shape == (5, 3)
    norm = tf.keras.layers.BatchNormalization()
    out = norm(tf.constant([[1.0, 2.0], [3.0, 5.0]]), training=True)
    np.testing.assert_allclose(out.numpy(), [[-1, -1], [1, 1]], atol=1e-2)
    np.testing.assert_allclose(norm.moving_mean.numpy(), [0.02, 0.035], rtol=1e-5)
    states, last = tf.keras.layers.GRU(4, return_sequences=True, return_state=True)(
        tf.ones([2, 3, 5])
    )
    np.testing.assert_allclose(states.numpy()[:, -1], last.numpy())


def test_a_class_is_trained_by_hand():
    model = Classifier()
    optimizer = tf.train.AdamOptimizer(0.05)
    for _ in range(60):
        with tf.GradientTape() as tape:
            loss = tf.losses.sparse_softmax_cross_entropy(Y, model(X))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    assert loss.numpy() < 0.2
    assert len(model.variables) == 4


@pytest.mark.parametrize("optimizer", ["adam", "train"])
def test_fit_and_calls_share_variables(optimizer):
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Dense(16, activation="relu", input_shape=(5,)),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Dense(2, activation="softmax"),
        ]
    )
    if optimizer == "train":
        optimizer = tf.train.AdamOptimizer(0.01)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(X, Y, epochs=15, verbose=0, validation_split=0.25).history
    assert history["loss"][-1] < history["loss"][0]
    np.testing.assert_allclose(model(X[:3]).numpy(), model.predict(X[:3]), atol=1e-5)
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)
    assert len(model.fit(dataset, epochs=1, verbose=0).history["loss"]) == 1
    loss, _ = model.evaluate(X, Y, verbose=0)
    with tf.GradientTape() as tape:
        own = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(Y, model(X)))
    np.testing.assert_allclose(loss, own.numpy(), rtol=1e-4)
    by_hand = tf.keras.optimizers.Adam(0.01)
    by_hand.apply_gradients(
        zip(tape.gradient(own, model.trainable_variables), model.trainable_variables, strict=True)
    )
    assert by_hand.iterations.numpy() == 1


def test_a_class_is_fitted():
    model = Classifier()
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(X, Y, epochs=2, verbose=0)
    np.testing.assert_allclose(model(X[:3]).numpy(), model.predict(X[:3]), atol=1e-5)


def test_functional_models_and_ops_between_layers():
    inputs = tf.keras.Input((5,))
    hidden = tf.keras.layers.Lambda(lambda t: t * 2)(inputs * 3.0)
    model = tf.keras.Model(inputs, hidden)
    np.testing.assert_allclose(model(X).numpy(), X * 6, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), X * 6, rtol=1e-6)


def test_what_a_callback_computes_has_values():
    seen = []

    class Watch(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append((tf.executing_eagerly(), float(tf.reduce_sum(self.model(X[:1])))))

    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(5,))])
    model.compile("sgd", "mse")
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[Watch()])
    assert [eager for eager, _ in seen] == [True, True]
    assert seen[0][1] != seen[1][1]


def test_weights_are_saved_and_restored(tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(5,))])
    path = str(tmp_path / "w.h5")
    pytest.importorskip("h5py")
    model.save_weights(path)
    before = model.get_weights()
    model.set_weights([w * 0 for w in before])
    assert not model.layers[0].kernel.numpy().any()
    model.load_weights(path)
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), before[0])


def test_a_checkpoint_restores_a_model_that_is_built_later(tmp_path):
    model, optimizer = Classifier(), tf.train.AdamOptimizer(0.01)

    def step(model, optimizer):
        with tf.GradientTape() as tape:
            loss = tf.losses.sparse_softmax_cross_entropy(Y, model(X))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))

    step(model, optimizer)
    path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(str(tmp_path / "ck"))
    again, other = Classifier(), tf.train.AdamOptimizer(0.01)
    tf.train.Checkpoint(model=again, optimizer=other).restore(path)
    step(model, optimizer)
    step(again, other)  # its variables and slots are made here, and have the values saved
    np.testing.assert_array_equal(again.hidden.kernel.numpy(), model.hidden.kernel.numpy())


def test_metrics():
    mean = tf.keras.metrics.Mean()
    mean(1.0)
    assert mean(3.0).numpy() == 2.0
    mean.reset_states()
    assert mean.result().numpy() == 0.0
    accuracy = tf.contrib.eager.metrics.Accuracy()
    assert (accuracy.name, tf.contrib.eager.metrics.Mean("m").name) == ("Accuracy", "m")
    accuracy([1, 2, 3], [1, 2, 0])
    accuracy([1], [1])
    assert accuracy.result().numpy() == 0.75
    sparse = tf.contrib.eager.metrics.SparseAccuracy()
    sparse([[1], [0]], [[0.0, 1.0], [0.0, 1.0]])
    assert sparse.result().numpy() == 0.5


def test_weights_come_back_from_a_checkpoint(tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    model.compile(tf.train.AdamOptimizer(), "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
    wanted = model.get_weights()
    model.save_weights(str(tmp_path / "w"))
    model.set_weights([w * 0 for w in wanted])
    model.load_weights(str(tmp_path / "w"))
    for got, value in zip(model.get_weights(), wanted, strict=True):
        np.testing.assert_array_equal(got, value)


def test_penalties_are_of_the_weights_as_they_are_now():
    penalty = tf.keras.regularizers.l2(0.1)
    options = {"kernel_initializer": "ones", "kernel_regularizer": penalty}
    x = tf.ones([2, 3])
    for layer in (
        tf.keras.layers.Dense(1, **options),
        tf.layers.Dense(1, kernel_initializer=tf.ones_initializer(), kernel_regularizer=penalty),
    ):
        for value in (1.0, 2.0, 3.0):
            with tf.GradientTape() as tape:
                layer(x)
                loss = tf.add_n(layer.losses)
            np.testing.assert_allclose(loss.numpy(), 0.3 * value**2, rtol=1e-6)
            slope = tape.gradient(loss, layer.kernel).numpy()
            np.testing.assert_allclose(slope, np.full([3, 1], 0.2 * value), rtol=1e-6)
            layer.kernel.assign_add(tf.ones([3, 1]))


def test_losses_of_a_call_go_with_the_next_one():
    penalty = tf.keras.regularizers.l2(0.1)

    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.part = tf.keras.layers.Dense(
                1, kernel_initializer="ones", activity_regularizer=penalty
            )

        def call(self, x):
            self.add_loss(tf.reduce_sum(x))
            return self.part(x) + self.part(x)

    model, x = Model(), tf.ones([2, 3])
    for _ in range(3):
        model(x)
        np.testing.assert_allclose([v.numpy() for v in model.losses], [6.0, 0.9, 0.9], rtol=1e-6)
    model.part(x)
    assert len(model.losses) == 2 and len(model.part.losses) == 1


def test_a_model_that_was_called_is_trained_with_its_penalties():
    options = {"kernel_initializer": "ones", "kernel_regularizer": tf.keras.regularizers.l2(0.1)}

    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.part = tf.keras.layers.Dense(1, **options)

        def call(self, x):
            return self.part(x)

    flat = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,), **options)])
    called = Model()
    called(tf.ones([4, 3]))
    for model in (flat, called):
        model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
        history = model.fit(np.ones((4, 3)), np.ones((4, 1)), epochs=2, verbose=0).history["loss"]
        np.testing.assert_allclose(history, [4.3, 0.21652], rtol=1e-4)  # TensorFlow 1.15's
    with tf.GradientTape() as tape:
        loss = tf.add_n(flat.losses)
    np.testing.assert_allclose(tape.gradient(loss, flat.weights[0]).numpy(), [[0.10008]] * 3, 1e-4)


def test_a_model_of_inputs_predicts_for_tensors_with_values():
    inputs = tf.keras.Input((2,), name="f")
    outputs = tf.keras.layers.Dense(1, kernel_initializer="ones")(inputs)
    model = tf.keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    given = {"f": tf.constant([[5.0, 3.0]])}
    assert model.predict(x=given, steps=1, batch_size=1).tolist() == [[8.0]]


def test_lists_with_an_input_of_a_model_are_nodes_of_its_graph():
    x = tf.keras.Input((3,))
    ones = tf.ones([1, 3])
    joined = tf.concat([ones, x], 0)
    assert joined.shape.as_list() == [None, 3]
    assert tf.stack([tf.shape(x)[0], 2]).shape.as_list() == [2]
    assert tf.keras.backend.random_normal((tf.shape(x)[0], 2)).shape.as_list() == [None, 2]
    twice = tf.add_n([tf.ones([2, 3]), x]) * 2.0
    model = tf.keras.Model(x, tf.keras.layers.Lambda(tf.identity)(twice))
    np.testing.assert_array_equal(model.predict(np.ones([2, 3])), np.full([2, 3], 4.0))
    with tf.Graph().as_default():
        placeholder = tf.placeholder(tf.float32, [None, 3])
    with pytest.raises(TypeError, match="symbolic tensor of a graph"):
        tf.concat([ones, placeholder], 0)  # of a graph that is nobody's model


def test_masks_of_inputs_are_computed_in_their_graph():
    layer = tf.keras.layers.TimeDistributed(tf.keras.layers.Masking(0.0), input_shape=(None, 4))
    model = tf.keras.Sequential([layer])
    mask = layer.compute_mask(model.input)
    values = np.ones([2, 3, 4])
    values[0, 1:] = 0
    (found,) = tf.keras.backend.function([model.input], [mask])([values])
    np.testing.assert_array_equal(found, [[True, False, False], [True] * 3])


def test_an_optimizer_of_no_variables_does_nothing():
    optimizer = tf.keras.optimizers.SGD(1.0)
    optimizer.minimize(lambda: tf.constant(1.0), [])
    optimizer.apply_gradients([])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tf.keras.optimizers.SGD(1.0).minimize(lambda: tf.constant(1.0), []))
    with pytest.raises(ValueError, match="No gradients provided"):
        optimizer.apply_gradients([(None, tf.Variable(1.0))])


def test_a_model_names_its_ends_as_tensorflow_does():
    x, y = tf.keras.Input((2,), name="x"), tf.keras.Input((2,), name="y")
    z = tf.keras.layers.Add(name="z")([x, y])
    model = tf.keras.Model([x, y], z)
    assert [layer.name for layer in model._input_layers] == ["x", "y"]
    assert [layer.name for layer in model._output_layers] == ["z"]
