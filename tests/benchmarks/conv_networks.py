"""Convolutional networks that learners write beyond `workloads.cnn`: residual, U-shaped, separable, adversarial.

As there, each ``model(tf)`` builds its graph and returns a function that does one step of training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the peer's Python may be that of TensorFlow 1.15
    from collections.abc import Callable

    Step = Callable[[], Any]
CONV_NETWORKS: dict[str, Callable[[Any], Step]] = {}
#: What each network is to take, of TensorFlow's time.
GOAL = 0.95


def network(function: Callable[[Any], Step]) -> Callable[[Any], Step]:
    """Registers a network under its function's name."""
    CONV_NETWORKS[function.__name__] = function
    return function


def _images(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def _classes(count: int, *shape: int) -> Any:
    return np.random.default_rng(1).integers(0, count, shape)


def _step(tf: Any, fetches: Any, feeds: dict[Any, Any]) -> Step:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return lambda: session.run(fetches, feeds)


def _after_updates(tf: Any, optimizer: Any, loss: Any, **options: Any) -> Any:
    """``minimize`` that runs the updates of batch normalization first."""
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        return optimizer.minimize(loss, **options)


@network
def resnet(tf: Any) -> Step:
    """ResNet-20 for images of 32 x 32, batch 32, batch normalization, weight decay, momentum."""
    images = tf.placeholder(tf.float32, [None, 32, 32, 3])
    labels = tf.placeholder(tf.int64, [None])

    def normalized(x: Any, filters: int, stride: int = 1) -> Any:
        x = tf.layers.conv2d(x, filters, 3, stride, "same", use_bias=False)
        return tf.layers.batch_normalization(x, training=True)

    x = tf.nn.relu(normalized(images, 16))
    for filters in (16, 32, 64):
        for block in range(3):
            stride = 2 if filters > 16 and block == 0 else 1
            y = tf.nn.relu(normalized(x, filters, stride))
            y = normalized(y, filters)
            if stride > 1:
                x = tf.layers.conv2d(x, filters, 1, stride, "same", use_bias=False)
            x = tf.nn.relu(x + y)
    logits = tf.layers.dense(tf.reduce_mean(x, [1, 2]), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])
    train = _after_updates(tf, tf.train.MomentumOptimizer(0.1, 0.9), loss)
    return _step(tf, [train, loss], {images: _images(32, 32, 32, 3), labels: _classes(10, 32)})


@network
def u_net(tf: Any) -> Step:
    """Segments images of 64 x 64 in two halvings, batch 4; Adam."""
    images = tf.placeholder(tf.float32, [None, 64, 64, 3])
    labels = tf.placeholder(tf.int32, [None, 64, 64])

    def twice(x: Any, filters: int) -> Any:
        for _ in range(2):
            x = tf.layers.conv2d(x, filters, 3, padding="same", activation=tf.nn.relu)
        return x

    def up(x: Any, beside: Any, filters: int) -> Any:
        return twice(tf.concat([tf.layers.conv2d_transpose(x, filters, 2, 2), beside], 3), filters)

    high = twice(images, 16)
    middle = twice(tf.layers.max_pooling2d(high, 2, 2), 32)
    low = twice(tf.layers.max_pooling2d(middle, 2, 2), 64)
    logits = tf.layers.conv2d(up(up(low, middle, 32), high, 16), 2, 1)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    return _step(tf, [train, loss], {images: _images(4, 64, 64, 3), labels: _classes(2, 4, 64, 64)})


@network
def separable_cnn(tf: Any) -> Step:
    """Five separable convolutions in the manner of MobileNet on images of 64 x 64, batch 16; RMSProp."""
    images = tf.placeholder(tf.float32, [None, 64, 64, 3])
    labels = tf.placeholder(tf.int32, [None])
    x = tf.nn.relu(tf.layers.conv2d(images, 16, 3, 2, "same"))
    for filters, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        x = tf.layers.separable_conv2d(x, filters, 3, stride, "same")
        x = tf.nn.relu6(tf.layers.batch_normalization(x, training=True))
    logits = tf.layers.dense(tf.reduce_mean(x, [1, 2]), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = _after_updates(tf, tf.train.RMSPropOptimizer(1e-3), loss)
    return _step(tf, [train, loss], {images: _images(16, 64, 64, 3), labels: _classes(10, 16)})


@network
def conv_autoencoder(tf: Any) -> Step:
    """Images of 28 x 28 halved twice and enlarged again, batch 64; Adam."""
    images = tf.placeholder(tf.float32, [None, 28, 28, 1])

    def convolved(x: Any, filters: int, activation: Any = tf.nn.relu) -> Any:
        return tf.layers.conv2d(x, filters, 3, padding="same", activation=activation)

    x = images
    for filters in (32, 16):
        x = tf.layers.max_pooling2d(convolved(x, filters), 2, 2, "same")
    for filters, size in ((16, 14), (32, 28)):
        x = convolved(tf.image.resize_nearest_neighbor(x, (size, size)), filters)
    logits = convolved(x, 1, activation=None)
    loss = tf.losses.sigmoid_cross_entropy(images, logits)
    train = tf.train.AdamOptimizer(1e-3).minimize(loss)
    return _step(tf, [train, loss], {images: np.abs(_images(64, 28, 28, 1)) % 1})


@network
def dcgan(tf: Any) -> Step:
    """A step of the discriminator and one of the generator on images of 28 x 28, batch 32; Adam."""
    noise = tf.placeholder(tf.float32, [None, 100])
    images = tf.placeholder(tf.float32, [None, 28, 28, 1])

    def normalized(x: Any) -> Any:
        return tf.layers.batch_normalization(x, training=True)

    def generator(x: Any) -> Any:
        with tf.variable_scope("generator"):
            x = tf.reshape(tf.layers.dense(x, 7 * 7 * 128), [-1, 7, 7, 128])
            x = tf.nn.relu(normalized(x))
            x = tf.nn.relu(normalized(tf.layers.conv2d_transpose(x, 64, 5, 2, "same")))
            return tf.nn.tanh(tf.layers.conv2d_transpose(x, 1, 5, 2, "same"))

    def discriminator(x: Any) -> Any:
        with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
            x = tf.nn.leaky_relu(tf.layers.conv2d(x, 64, 5, 2, "same", name="first"))
            x = tf.layers.conv2d(x, 128, 5, 2, "same", name="second")
            return tf.layers.dense(tf.layers.flatten(tf.nn.leaky_relu(x)), 1, name="logits")

    real, made = discriminator(images), discriminator(generator(noise))
    loss = tf.losses.sigmoid_cross_entropy
    of_discriminator = loss(tf.ones_like(real), real) + loss(tf.zeros_like(made), made)
    of_generator = loss(tf.ones_like(made), made)
    trains = [
        _after_updates(
            tf,
            tf.train.AdamOptimizer(2e-4, 0.5),
            value,
            var_list=tf.trainable_variables(scope),
        )
        for scope, value in (("discriminator", of_discriminator), ("generator", of_generator))
    ]
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    feeds = {noise: _images(32, 100), images: np.tanh(_images(32, 28, 28, 1))}

    def step() -> None:
        for train in trains:
            session.run(train, feeds)

    return step
