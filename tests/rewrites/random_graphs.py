"""Random graphs with their feeds: the kinds of programs whose results must not depend on how they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dataflow as tf


class RandomGraph(NamedTuple):
    """``fetches`` are tensors; ``trains`` operations that change variables, in every run;
    ``feeds`` what is fed to each placeholder."""

    fetches: list[Any]
    feeds: dict[Any, np.ndarray]
    trains: list[Any]


#: Sizes: none, one, odd, and large enough for what is divided into blocks or among threads.
_SIZES = (0, 1, 3, 7, 16, 33, 64)
_LARGE = (130, 257, 600)
_SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-45, 3e38, 88.8, -104.0, 1.0, -1.0)


def draw(kind: str, seed: int) -> RandomGraph:
    """The graph of a kind and a seed, in the default graph."""
    return KINDS[kind](np.random.RandomState(seed))


def _numbers(random: Any, shape: Any, dtype: str = "float32") -> np.ndarray:
    numbers = (random.standard_normal(shape) * random.choice([0.5, 1.0, 5.0])).astype(dtype)
    if numbers.size and random.rand() < 0.4:
        places = random.randint(0, numbers.size, max(1, numbers.size // 10))
        numbers.reshape(-1)[places] = random.choice(_SPECIAL, places.size).astype(dtype)
    return numbers


def _size(random: Any) -> int:
    return int(random.choice(_LARGE if random.rand() < 0.3 else _SIZES))


def _wide(x: Any, y: Any) -> bool:
    """True when ``x * y`` has the shape of ``x`` in every run."""
    return x.shape.ndims == 2 and y.shape.ndims < 2


_UNARY: list[Callable[[Any], Any]] = [
    *(tf.exp, tf.log, tf.tanh, tf.sigmoid, tf.sqrt, tf.rsqrt, tf.square, tf.abs, tf.negative),
    *(tf.sin, tf.cos, tf.log1p, tf.expm1, tf.sign, tf.floor, tf.reciprocal, tf.nn.relu),
    *(tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign, tf.nn.leaky_relu),
    lambda x: x**2,
    lambda x: x**3,
    lambda x: x**4,
    lambda x: x**1,
    lambda x: x**0.5,
    lambda x: x**-1.0,
    lambda x: x * 1.0,
    lambda x: x - 0.0,
    lambda x: x - tf.constant(-0.0, x.dtype),
    lambda x: x + 0.0,
    lambda x: x / 1.0,
    lambda x: tf.negative(tf.negative(x)),
    lambda x: tf.log(1.0 + tf.exp(x)),
    lambda x: 1.0 / (1.0 + tf.exp(-x)),
    lambda x: (tf.exp(x) - tf.exp(-x)) / (tf.exp(x) + tf.exp(-x)),
    lambda x: tf.nn.relu(tf.nn.relu(x)),
    lambda x: tf.clip_by_value(x, -1.0, 1.0),
    lambda x: tf.identity(x),
    lambda x: tf.stop_gradient(x),
    lambda x: tf.reshape(tf.reshape(x, [-1]), tf.shape(x)),
    lambda x: tf.transpose(tf.exp(tf.transpose(x))),
    lambda x: tf.where(x > 0.0, x, -2.0 * x),
    lambda x: tf.cumsum(x, -1) if x.shape.ndims else x,
    lambda x: tf.nn.softmax(x) if x.shape.ndims else x,
    lambda x: tf.nn.log_softmax(x) if x.shape.ndims else x,
]
_BINARY: list[Callable[[Any, Any], Any]] = [
    *(tf.add, tf.subtract, tf.multiply, tf.divide, tf.maximum, tf.minimum),
    *(tf.squared_difference, tf.pow, tf.atan2),
    lambda x, y: tf.add_n([x, x + y, x]) if _wide(x, y) else x + y,
    lambda x, y: tf.where(x > y, x, y) if x.shape == y.shape else tf.minimum(x, y),
    lambda x, y: tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=y),
    lambda x, y: tf.exp(tf.sin(x) * tf.cos(y) + tf.tanh(x * y)) / (1.0 + x**2),
    lambda x, y: tf.add_n([tf.exp(x), x * y, tf.tanh(x), x]) if _wide(x, y) else y,
]


def _reduced(random: Any, x: Any) -> Any:
    rank = x.shape.ndims
    axes = None if not rank or random.rand() < 0.3 else [int(random.randint(rank))]
    reduce = [tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_prod][random.randint(4)]
    return reduce(x, axes, keepdims=bool(random.rand() < 0.5))


def expression(random: Any) -> RandomGraph:
    """Element-wise ops, reductions, products, gathers and joins, with gradients."""
    dtype = "float64" if random.rand() < 0.25 else "float32"
    rows, columns = _size(random), _size(random)
    feeds: dict[Any, np.ndarray] = {}

    def fed(*shape: int) -> Any:
        unknown = [None if random.rand() < 0.3 else n for n in shape]
        x = tf.placeholder(dtype, unknown)
        feeds[x] = _numbers(random, shape, dtype)
        return x

    whole = [fed(rows, columns), fed(rows, columns)]
    whole.append(tf.constant(_numbers(random, (rows, columns), dtype)))
    narrow = [fed(columns), fed(1, columns), fed(rows, 1), fed()]
    narrow.append(tf.constant(_numbers(random, (columns,), dtype)))
    narrow.append(tf.constant(random.choice([0.0, 1.0, 2.0, 3.0, -0.0, 0.5]), dtype))
    results = []
    for _ in range(random.randint(4, 14)):
        x = whole[random.randint(len(whole))]
        which = random.rand()
        if which < 0.4:
            x = _UNARY[random.randint(len(_UNARY))](x)
        elif which < 0.8:
            others = whole if random.rand() < 0.5 else narrow
            pair = [x, others[random.randint(len(others))]]
            binary = _BINARY[random.randint(len(_BINARY))]
            try:
                x = binary(*(pair if random.rand() < 0.5 else pair[::-1]))
            except ValueError:  # does not broadcast
                continue
        elif which < 0.86:
            results.append(_reduced(random, x))
            continue
        elif which < 0.92:
            other = whole[random.randint(len(whole))]
            if random.rand() < 0.5:
                product = tf.matmul(x, other, transpose_b=True)
            else:
                product = tf.matmul(tf.transpose(x), other)
            results.append(product)
            continue
        elif which < 0.96:
            pieces = [x, whole[random.randint(len(whole))]]
            results.append(tf.concat(pieces, random.randint(2)))
            continue
        elif rows:
            numbers = tf.constant(random.randint(0, rows, random.randint(1, 9)), tf.int32)
            results.append(tf.gather(x, numbers))
            continue
        if x.shape.ndims == 2:
            whole.append(x)
        results.append(x)
    results = results or [whole[0] * 2.0]
    inputs = list(feeds)
    total = tf.add_n([tf.reduce_sum(tf.cast(r, dtype)) for r in results])
    gradients = [g for g in tf.gradients(total, inputs) if isinstance(g, tf.Tensor)]
    chosen = [results[i] for i in random.permutation(len(results))[:3]]
    return RandomGraph([*chosen, total, *gradients[:3]], feeds, [])


_OPTIMIZERS: list[Callable[[], Any]] = [
    lambda: tf.train.GradientDescentOptimizer(0.05),
    lambda: tf.train.MomentumOptimizer(0.02, 0.9),
    lambda: tf.train.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
    lambda: tf.train.AdamOptimizer(0.01),
    lambda: tf.train.AdagradOptimizer(0.05),
    lambda: tf.train.AdadeltaOptimizer(0.5),
    lambda: tf.train.RMSPropOptimizer(0.01),
    lambda: tf.train.RMSPropOptimizer(0.01, centered=True),
    lambda: tf.train.FtrlOptimizer(0.05),
    lambda: tf.train.ProximalAdagradOptimizer(0.05),
]
_ACTIVATIONS = (tf.nn.relu, tf.tanh, tf.sigmoid, tf.nn.elu, tf.nn.softplus, tf.nn.leaky_relu)


def _trained(random: Any, loss: Any, others: list[Any], feeds: Any) -> RandomGraph:
    variables = tf.trainable_variables()
    gradients = [g for g in tf.gradients(loss, variables) if g is not None]
    train = _OPTIMIZERS[random.randint(len(_OPTIMIZERS))]().minimize(loss)
    dense = [g for g in gradients if isinstance(g, tf.Tensor)]
    return RandomGraph([loss, *others, *dense[:3]], feeds, [train])


def _loss(random: Any, logits: Any, batch: int, feeds: Any) -> Any:
    classes = int(logits.shape[-1])
    which = random.randint(4)
    if which == 0:
        labels = tf.placeholder(tf.int64, [None])
        feeds[labels] = random.randint(0, classes, batch)
        return tf.losses.sparse_softmax_cross_entropy(labels, logits)
    target = tf.placeholder(tf.float32, [None, classes])
    if which == 1:
        feeds[target] = np.eye(classes, dtype="float32")[random.randint(0, classes, batch)]
        return tf.losses.softmax_cross_entropy(target, logits)
    feeds[target] = (random.rand(batch, classes) > 0.5).astype("float32")
    if which == 2:
        return tf.losses.sigmoid_cross_entropy(target, logits)
    return tf.losses.mean_squared_error(target, logits)


def dense_network(random: Any) -> RandomGraph:
    """A step of training a network of dense layers."""
    batch, width = int(random.choice([1, 3, 32, 128])), int(random.choice([1, 5, 64, 200]))
    x = tf.placeholder(tf.float32, [None, width])
    feeds: dict[Any, np.ndarray] = {x: random.standard_normal((batch, width)).astype("float32")}
    h = x
    for _ in range(random.randint(1, 4)):
        activation = _ACTIVATIONS[random.randint(len(_ACTIVATIONS))]
        h = tf.layers.dense(h, int(random.choice([1, 7, 64, 256])), activation=activation)
        if random.rand() < 0.3:
            h = tf.layers.dropout(h, 0.3, training=True, seed=3)
        if random.rand() < 0.3:
            h = tf.layers.batch_normalization(h, training=True)
    logits = tf.layers.dense(h, int(random.choice([2, 10, 33])))
    loss = _loss(random, logits, batch, feeds)
    if random.rand() < 0.4:
        loss += 0.001 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])
    return _trained(random, loss, [logits, h], feeds)


def conv_network(random: Any) -> RandomGraph:
    """A step of training a network of convolutions and pooling."""
    batch, side = int(random.choice([1, 2, 16])), int(random.choice([6, 9, 16]))
    channels = int(random.choice([1, 3]))
    x = tf.placeholder(tf.float32, [None, side, side, channels])
    shape = (batch, side, side, channels)
    feeds: dict[Any, np.ndarray] = {x: random.standard_normal(shape).astype("float32")}
    h = x
    others = []
    for _ in range(random.randint(1, 3)):
        activation = _ACTIVATIONS[0 if random.rand() < 0.7 else random.randint(6)]
        filters, taps = int(random.choice([1, 5, 16])), int(random.choice([1, 3]))
        padding = "valid" if int(h.shape[1]) >= taps and random.rand() < 0.5 else "same"
        h = tf.layers.conv2d(h, filters, taps, padding=padding, activation=activation)
        others.append(h)
        which, size = random.rand(), int(random.choice([2, 3]))
        stride = int(random.choice([1, 2, 3]))
        if which < 0.6:
            valid = min(h.shape[1:3].as_list()) >= size and random.rand() < 0.6
            h = tf.layers.max_pooling2d(h, size, stride, padding="valid" if valid else "same")
        elif which < 0.8:
            h = tf.layers.average_pooling2d(h, size, stride, padding="same")
    logits = tf.layers.dense(tf.layers.flatten(h), int(random.choice([2, 10])))
    return _trained(random, _loss(random, logits, batch, feeds), [logits, *others], feeds)


def recurrent_network(random: Any) -> RandomGraph:
    """A step of training a recurrent network, unrolled or in a loop."""
    batch, steps = int(random.choice([1, 4, 20])), int(random.choice([1, 3, 9]))
    width, units = int(random.choice([1, 8, 40])), int(random.choice([2, 16, 64]))
    x = tf.placeholder(tf.float32, [batch, steps, width])
    shape = (batch, steps, width)
    feeds: dict[Any, np.ndarray] = {x: random.standard_normal(shape).astype("float32")}
    cells = [tf.nn.rnn_cell.BasicLSTMCell, tf.nn.rnn_cell.GRUCell, tf.nn.rnn_cell.BasicRNNCell]
    cells.append(tf.nn.rnn_cell.LSTMCell)
    cell = cells[random.randint(4)](units)
    if random.rand() < 0.5:
        outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        last = outputs[:, -1]
    else:
        outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
        last = outputs[-1]
    logits = tf.layers.dense(last, int(random.choice([2, 10])))
    return _trained(random, _loss(random, logits, batch, feeds), [logits, last], feeds)


def control_flow(random: Any) -> RandomGraph:
    """Loops and conditionals with products, sums, slices and joins in them, and their gradients."""
    rows, width = int(random.choice([1, 5, 32])), int(random.choice([1, 6, 48, 70]))
    x = tf.placeholder(tf.float32, [rows, width])
    feeds: dict[Any, np.ndarray] = {x: random.standard_normal((rows, width)).astype("float32")}
    w = tf.Variable(random.standard_normal((width, width)).astype("float32") * 0.2)
    b = tf.Variable(np.zeros(width, "float32"))
    rounds = int(random.choice([0, 1, 4, 11]))

    def body(i: Any, h: Any, total: Any) -> Any:
        new = tf.tanh(tf.nn.bias_add(tf.matmul(h, w), b) + x)
        return i + 1, new, total + tf.matmul(h, new, transpose_a=True)

    start = [tf.constant(0), x, tf.zeros([width, width])]
    _, h, total = tf.while_loop(lambda i, *_: i < rounds, body, start)
    flag = tf.placeholder(tf.bool, [])
    feeds[flag] = np.array(random.rand() < 0.5)
    h = tf.cond(flag, lambda: h * 2.0 + tf.exp(-h), lambda: tf.tanh(h) - h**3)
    half = width // 2
    if half and random.rand() < 0.5:
        h = tf.concat([h[:, half:] * 3.0, tf.sigmoid(h[:, :half])], 1)
    loss = tf.reduce_mean(tf.square(h)) + 0.01 * tf.reduce_sum(total)
    return _trained(random, loss, [h, total, *tf.gradients(loss, [x])], feeds)


KINDS: dict[str, Callable[[Any], RandomGraph]] = {
    "expression": expression,
    "dense": dense_network,
    "convolutional": conv_network,
    "recurrent": recurrent_network,
    "control flow": control_flow,
}
