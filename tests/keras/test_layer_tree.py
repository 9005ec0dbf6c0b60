"""What attributes of layers and models hold is part of them."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

keras, layers = tf.keras, tf.keras.layers


pytestmark = pytest.mark.usefixtures("graph")


class Block(layers.Layer):
    """Layers in an attribute, a private one, a list that is filled later, and a dict."""

    def __init__(self, depth: int, **kwargs: object) -> None:
        super().__init__(**kwargs)
        self.first = layers.Dense(4, activation="relu")
        self._hidden: list[layers.Dense] = []
        for _ in range(depth):
            self._hidden.append(layers.Dense(4))
        self.heads = {"out": layers.Dense(2)}
        self.norm = layers.BatchNormalization()

    def build(self, input_shape: object) -> None:
        self.gain = self.add_weight("gain", shape=[1], initializer="ones")
        super().build(input_shape)

    def call(self, x: tf.Tensor, training: object = None) -> tf.Tensor:
        x = self.first(x) * self.gain
        for layer in self._hidden:
            x = layer(x)
        return self.heads["out"](self.norm(x, training=training))


def test_layers_within_a_layer_are_trained_saved_and_frozen_with_it() -> None:
    block = Block(2, name="block")
    x = keras.Input((3,))
    model = keras.Model(x, layers.Dense(1)(block(x)))
    assert len(block.trainable_weights) == 1 + 2 * 4 + 2
    assert len(block.non_trainable_weights) == 2
    assert len(block.submodules) == 5
    assert len(model.trainable_weights) == len(block.trainable_weights) + 2
    assert len(block.updates) == 2
    block.trainable = False
    assert not block.first.trainable
    assert len(model.trainable_weights) == 2
    block.trainable = True
    before = block.get_weights()
    model.compile("sgd", "mse")
    random = np.random.RandomState(0)
    model.fit(random.rand(8, 3), random.rand(8, 1), verbose=0)
    changed = [not np.array_equal(a, b) for a, b in zip(before, block.get_weights(), strict=True)]
    # A bias right before batch normalization has no effect, so no gradient; all others move.
    assert sum(changed) >= len(changed) - 1


def test_layers_of_a_model_in_private_attributes_and_lists_filled_later() -> None:
    class Network(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self._first = layers.Dense(3, name="first")
            self.blocks: list[layers.Dense] = []
            for i in range(2):
                self.blocks.append(layers.Dense(3, name=f"block{i}"))

        def call(self, x: tf.Tensor) -> tf.Tensor:
            x = self._first(x)
            for block in self.blocks:
                x = block(x)
            return x

    network = Network()
    network(tf.ones([2, 3]))
    assert [layer.name for layer in network.layers] == ["first", "block0", "block1"]
    assert len(network.trainable_weights) == 6


def test_variables_in_attributes_are_weights() -> None:
    class Scale(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.factor = tf.Variable([1.0, 2.0], name="factor")
            self.fixed = tf.Variable(1.0, trainable=False, name="fixed")

        def call(self, x: tf.Tensor) -> tf.Tensor:
            return x * self.factor * self.fixed

    scale = Scale()
    assert [v.op.name for v in scale.trainable_weights] == ["factor"]
    assert [v.op.name for v in scale.non_trainable_weights] == ["fixed"]
    model = keras.Sequential([layers.InputLayer((2,)), scale])
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 2)), np.zeros((4, 2)), verbose=0)
    np.testing.assert_allclose(model.get_weights()[0], [0.99, 1.98], rtol=1e-5)


def test_metrics_and_losses_that_layers_add() -> None:
    class Watched(layers.Layer):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            self.add_metric(tf.reduce_mean(x), name="mean_x", aggregation="mean")
            self.add_loss(tf.reduce_sum(x) * 0.1)
            return x * 2.0

    model = keras.Sequential(
        [Watched(input_shape=(2,)), layers.Dense(1, kernel_initializer="ones")]
    )
    model.compile("sgd", "mse", metrics=["mae"])
    x = np.arange(8.0).reshape(4, 2) / 8
    history = model.fit(x, np.ones((4, 1)), epochs=2, batch_size=2, shuffle=False, verbose=0)
    assert model.metrics_names == ["loss", "mean_absolute_error", "mean_x"]
    # As TensorFlow 1.15 reports them.
    np.testing.assert_allclose(history.history["loss"], [1.993, 1.706], atol=6e-4)
    np.testing.assert_allclose(history.history["mean_x"], [0.4375, 0.4375], rtol=1e-6)
    assert [type(m).__name__ for m in model.metrics] == ["MeanMetricWrapper", "Mean"]
    with pytest.raises(ValueError, match="aggregation must be 'mean'"):
        model.add_metric(model.output, name="x")
    with pytest.raises(ValueError, match="needs a name"):
        model.add_metric(model.output, aggregation="mean")


def test_metric_of_a_metric_object_in_a_layer() -> None:
    class Counted(layers.Layer):
        def __init__(self, **kwargs: object) -> None:
            super().__init__(**kwargs)
            self.seen = keras.metrics.Sum(name="seen")

        def call(self, x: tf.Tensor) -> tf.Tensor:
            self.add_metric(self.seen(x))
            return x

    layer = Counted(input_shape=(1,))
    model = keras.Sequential([layer, layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(np.ones((6, 1)), np.ones((6, 1)), batch_size=2, epochs=2, verbose=0)
    assert history.history["seen"] == [6.0, 6.0]
    assert layer.metrics == [layer.seen]
    assert layer.trainable_weights == []


def test_calls_masks_and_scopes_of_a_layer() -> None:
    dense = layers.Dense(2, name="dense_of_two")
    x = keras.Input((3,))
    y = dense(x)
    after = layers.ReLU()
    after(y)
    assert dense.outbound_nodes == after.inbound_nodes
    assert dense.input_mask is None
    embedding = layers.Embedding(5, 3, mask_zero=True)
    embedding(keras.Input((4,), dtype="int32"))
    assert embedding.output_mask is not None
    assert embedding.get_output_mask_at(0) is embedding.output_mask
    with dense.name_scope:
        assert tf.constant(1.0).op.name.startswith("dense_of_two")
    signature = layers.Flatten().compute_output_signature
    assert callable(signature)


def test_whether_a_layer_is_trainable_may_be_said_by_its_parts() -> None:
    class Chain(layers.Layer):
        def __init__(self, parts: list[layers.Layer]) -> None:
            super().__init__()
            self.parts = parts

        @property
        def trainable(self) -> bool:
            return any(part.trainable for part in self.parts)

        @trainable.setter
        def trainable(self, value: bool) -> None:
            for part in self.parts:
                part.trainable = value

        def call(self, x: tf.Tensor) -> tf.Tensor:
            for part in self.parts:
                x = part(x)
            return x

    chain = Chain([layers.Dense(2), layers.Dense(1)])
    chain(tf.ones([1, 3]))
    assert chain.trainable and len(chain.trainable_weights) == 4
    chain.trainable = False
    assert not chain.parts[1].trainable and chain.trainable_weights == []


def test_a_layer_may_be_given_sparse_tensors_and_give_none() -> None:
    class Split(layers.Layer):
        def call(self, parts: dict[str, tf.Tensor]) -> tuple[tf.Tensor, None]:
            return tf.sparse.to_dense(parts["sparse"]) + parts["dense"], None

    sparse = tf.SparseTensor([[0, 1]], [2.0], [1, 2])
    both = {"sparse": sparse, "dense": np.float32([[1, 1]])}
    total, nothing = Split()(both)
    assert nothing is None and tf.Session().run(total).tolist() == [[1, 3]]

    class Pair(layers.Layer):
        def call(self, x: tf.Tensor) -> tuple[tf.Tensor, None]:
            return 2 * x, None

    x = keras.Input((2,))
    doubled, nothing = Pair()(x)
    model = keras.Model(x, doubled)
    assert nothing is None and model.predict(np.ones((1, 2))).tolist() == [[2, 2]]


def test_a_layer_may_be_renamed_until_its_variables_are_made() -> None:
    dense = layers.Dense(3, name="a")
    dense._name = "b"  # as programs of tf.keras do, where `name` cannot be set
    model = keras.Sequential([dense])
    model.name = "mine"  # as those of Keras 2 do
    model.build((None, 2))
    assert model.name == "mine" and model.get_layer("b") is dense
    assert [v.name for v in model.weights] == ["b/kernel:0", "b/bias:0"]

    class Rounding(layers.Layer):
        def build(self, input_shape: tf.TensorShape) -> None:
            self.name = "rounding_1"
            super().build(input_shape)

    x = keras.Input((2,))
    model = keras.Model(x, Rounding()(x))
    assert [layer.name for layer in model.layers][1:] == model.output_names == ["rounding_1"]
