"""``tf.contrib.eager.Network`` and ``Sequential``: layers made of layers, in eager execution and in graphs."""

from __future__ import annotations

import numpy as np
import pytest

import dataflow as tf

tfe = tf.contrib.eager


class SmallNet(tfe.Network):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.first = self.track_layer(tf.layers.Dense(4, activation=tf.nn.relu))
        self.out = self.track_layer(tf.layers.Dense(2, name="out"))

    def call(self, x, training=True):
        return self.out(self.first(x))


class Outer(tfe.Network):
    def __init__(self):
        super().__init__()
        self.inner = self.track_layer(SmallNet())
        self.more = [self.track_layer(tf.layers.Dense(1)) for _ in range(2)]
        self.norm = self.track_layer(tf.layers.BatchNormalization())

    def call(self, x, training=False):
        x = self.norm(self.inner(x), training=training)
        for layer in self.more:
            x = layer(x)
        return x


def names(variables) -> list[str]:
    return [variable.name for variable in variables]


@pytest.fixture(params=["eager", "graph"])
def mode(request):
    if request.param == "graph":
        with tf.Graph().as_default():
            yield
        return
    from dataflow.python.eager.context import eager_mode

    with eager_mode():
        yield


def test_variables_are_named_below_their_network(mode) -> None:
    first, second, named = SmallNet(), SmallNet(), SmallNet(name="q")
    with pytest.raises(ValueError, match="does not yet have a final name"):
        first.name
    for net in (first, second, named, first):
        assert net(tf.ones([3, 2])).shape.as_list() == [3, 2]
    parts = ["dense/kernel:0", "dense/bias:0", "out/kernel:0", "out/bias:0"]
    assert names(first.variables) == [f"small_net/{part}" for part in parts]
    assert names(second.variables) == [f"small_net_1/{part}" for part in parts]
    assert names(named.trainable_variables) == [f"q/{part}" for part in parts]
    assert (first.name, second.name, named.name) == ("small_net", "small_net_1", "q")
    assert first.built and first.layers == [first.first, first.out]


def test_networks_nest(mode) -> None:
    net = Outer()
    net(tf.ones([2, 2]))
    net(tf.ones([2, 2]), training=True)
    assert net.variables[0].name == "outer/small_net/dense/kernel:0"
    moving = [f"outer/batch_normalization/moving_{what}:0" for what in ("mean", "variance")]
    assert names(net.non_trainable_variables) == moving
    assert len(net.trainable_variables) == 4 + 4 + 2
    assert len(net.weights) == 12
    net.trainable = False
    assert net.trainable_variables == []
    assert len(net.non_trainable_variables) == 12


def test_layers_are_found_by_name_and_index(mode) -> None:
    net = SmallNet()
    net(tf.ones([1, 2]))
    assert net.get_layer("out") is net.out
    assert net.get_layer(index=0) is net.first
    for arguments, message in (
        (("none",), "No such layer"),
        ((), "name or layer index"),
        (("out", 1), "Exactly one"),
        ((None, 7), "only has 2 layers"),
    ):
        with pytest.raises(ValueError, match=message):
            net.get_layer(*arguments)


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="not a tf.layers.Layer"):
        SmallNet().track_layer(3)
    with pytest.raises(ValueError, match="Forward slashes"):
        SmallNet(name="a/b")
    with pytest.raises(TypeError, match="only tf.layers.Layer objects or callables"):
        tfe.Sequential([3])

    class Early(tfe.Network):
        def __init__(self):
            self.track_layer(tf.layers.Dense(1))

    with pytest.raises(RuntimeError, match="Need to call Network.__init__"):
        Early()


def test_losses_of_layers_are_the_network_s() -> None:
    net = tfe.Sequential([tf.layers.Dense(1, kernel_regularizer=tf.nn.l2_loss)])
    net.add(tf.layers.BatchNormalization())
    net(tf.ones([2, 3]), training=True)
    assert len(net.losses) == 1
    assert len(net.updates) == 2


def test_a_sequence_tells_training_to_those_that_ask(mode) -> None:
    net = tfe.Sequential([tf.layers.Dense(3), tf.nn.relu, tf.layers.Dropout(0.999999)])
    assert len(net.layers) == 2
    out = net(tf.ones([4, 2]), training=True)
    assert names(net.variables) == ["sequential/dense/kernel:0", "sequential/dense/bias:0"]
    if tf.executing_eagerly():
        assert not out.numpy().any()
        assert net(tf.ones([4, 2])).shape == (4, 3)


def test_networks_learn_in_eager_execution() -> None:
    from dataflow.python.eager.context import eager_mode

    with eager_mode():
        x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(16, 2)
        net = SmallNet()
        optimizer = tf.train.AdamOptimizer(0.05)

        def loss(net, x):
            return tf.reduce_mean(tf.square(net(x) - x))

        step = tfe.implicit_gradients(loss)
        before = loss(net, x).numpy()
        for _ in range(60):
            optimizer.apply_gradients(step(net, x))
        assert loss(net, x).numpy() < before / 3
