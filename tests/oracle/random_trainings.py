"""Programs drawn at random that build a network, train it for some steps, and report all that it learned.

Layers are drawn from those of courses, and put behind each other: products, convolutions, recurrent
cells, loops, branches, embeddings, normalizations, attention; then a loss, a rate, an optimizer, and a
way to apply gradients. A batch's size changes from step to step. What is drawn depends on the seed alone.

Variables are resources: TensorFlow's reference variables may change while a gradient still reads them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_HEAD = """\
# issue 16: a network drawn at random (seed {seed}) learns what it learns in TensorFlow
# tolerance 2e-3
numbers = np.random.RandomState({seed})
tf.get_variable_scope().set_use_resource(True)


def weights(name, *shape):
    return tf.get_variable(name, initializer=(numbers.randn(*shape) * 0.5).astype(DT.as_numpy_dtype))


def numbers_of(seed):
    def initializer(shape, dtype=None, partition_info=None):
        drawn = np.random.RandomState(seed).randn(*[int(size) for size in shape])
        return tf.constant(drawn * 0.4, DT)

    return initializer


DT = tf.{dtype}
x = tf.placeholder(DT, [{batch}, {width}])
y = tf.placeholder(tf.int32, [{batch}])
rate = tf.placeholder(DT, [])
step = tf.train.get_or_create_global_step()
one_hot = tf.one_hot(y, 6, dtype=DT)
"""

_TAIL = """\
session = tf.Session()
session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
data = np.random.RandomState(5)
losses = []
for size in {sizes}:
    feeds = {{x: data.randn(size, {width}), y: data.randint(0, 6, size), rate: 0.05}}
    result[f"outputs_{{len(losses)}}"] = session.run(outputs, feeds)
    losses.append(session.run([loss, train], feeds)[0])
result["losses"] = losses
variables = sorted(tf.global_variables(), key=lambda variable: variable.name)
result["names"] = [variable.name for variable in variables]
# a bias before a normalization learns from what rounding leaves, and its mean follows it
moved = [v for v in variables if "bias" not in v.name and "moving_mean" not in v.name]
result["learned"] = session.run(moved)
"""

_ACTIVATIONS = (
    *("tf.nn.relu", "tf.tanh", "tf.sigmoid", "tf.nn.elu", "tf.nn.softplus", "tf.nn.selu"),
    *("tf.nn.leaky_relu", "tf.nn.relu6", "tf.nn.softsign", "tf.identity", "tf.nn.softmax"),
    *("tf.nn.log_softmax", "(lambda v: v * tf.sigmoid(v))", "(lambda v: tf.maximum(v, 0.1 * v))"),
    "(lambda v: tf.where(v > 0, v, 0.2 * tf.exp(tf.minimum(v, 0.0)) - 0.2))",
)
_CELLS = (
    "BasicRNNCell({u})",
    "GRUCell({u})",
    "BasicLSTMCell({u})",
    "LSTMCell({u}, use_peepholes=True)",
    "LSTMCell({u}, num_proj={u}, cell_clip=0.9)",
    "MultiRNNCell([tf.nn.rnn_cell.GRUCell({u}), tf.nn.rnn_cell.BasicLSTMCell({u})])",
)
_LOSSES = (
    "tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))",
    "tf.losses.sparse_softmax_cross_entropy(y, logits)",
    "tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=one_hot, logits=logits))",
    "tf.reduce_mean(tf.reduce_sum(tf.squared_difference(logits, one_hot), 1))",
    "tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=one_hot, logits=logits))",
    "tf.losses.huber_loss(one_hot, logits)",
)
_RATES = (
    "rate",
    "0.05",
    "tf.train.exponential_decay(0.1, step, 2, 0.5)",
    "tf.train.polynomial_decay(0.1, step, 4, 0.01)",
    "tf.train.piecewise_constant(step, [1, 3], [0.1, 0.05, 0.01])",
)
_OPTIMIZERS = (
    "GradientDescentOptimizer({rate})",
    "MomentumOptimizer({rate}, 0.9)",
    "MomentumOptimizer({rate}, 0.8, use_nesterov=True)",
    "AdamOptimizer({rate}, epsilon=1e-2)",
    "AdagradOptimizer({rate})",
    "RMSPropOptimizer({rate}, decay=0.8, momentum=0.3, epsilon=1e-2)",
    "RMSPropOptimizer({rate}, decay=0.8, centered=True, epsilon=1e-2)",
    "AdadeltaOptimizer({rate}, epsilon=1e-3)",
    "FtrlOptimizer({rate}, l1_regularization_strength=0.01, l2_regularization_strength=0.01)",
)
_UPDATES = (
    ("train = optimizer.minimize(loss, global_step=step)",),
    (
        "pairs = [(g, v) for g, v in optimizer.compute_gradients(loss) if g is not None]",
        "clipped, norm = tf.clip_by_global_norm([g for g, _ in pairs], 0.7)",
        "pairs = list(zip(clipped, [v for _, v in pairs]))",
        "train = optimizer.apply_gradients(pairs, global_step=step)",
    ),
    (
        "pairs = [(g, v) for g, v in optimizer.compute_gradients(loss) if g is not None]",
        "dense = [(tf.convert_to_tensor(g), v) for g, v in pairs]",
        "pairs = [(tf.clip_by_value(g, -0.1, 0.1), v) for g, v in dense]",
        "train = optimizer.apply_gradients(pairs, global_step=step)",
    ),
    (
        "some = tf.trainable_variables()",
        "train = optimizer.minimize(loss, global_step=step, var_list=some[len(some) // 2 :])",
    ),
)


class Drawn:
    """The lines of a program while it is drawn; ``h`` is the name of the last layer, ``width`` its columns."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = np.random.RandomState(seed)
        self.batch = self.one("None", "None", "4")
        self.dtype = self.one("float32", "float32", "float32", "float64")
        self.h, self.width = "x", self.size(3, 7)
        self.first_width = self.width
        self.lines: list[str] = []
        self.count = 0

    def one(self, *of: str) -> str:
        return of[self.rng.randint(len(of))]

    def size(self, least: int, end: int) -> int:
        return int(self.rng.randint(least, end))

    def name(self) -> str:
        self.count += 1
        return f"h{self.count}"

    def layer(self, width: int, *lines: str) -> None:
        """Adds ``lines`` that make the layer ``{o}`` of ``width`` columns out of ``{h}`` with ``{w}``."""
        made = self.name()
        names = {"o": made, "h": self.h, "w": self.width, "u": width, "seed": self.seed}
        self.lines += [line.format(**names) for line in lines]
        self.h, self.width = made, width

    # ---- layers -----------------------------------------------------------------------------

    def dense(self) -> None:
        product = self.one(
            "tf.matmul({h}, weights('{o}w', {w}, {u})) + weights('{o}b', {u})",
            "tf.nn.xw_plus_b({h}, weights('{o}w', {w}, {u}), weights('{o}b', {u}))",
            "tf.matmul({h}, weights('{o}w', {u}, {w}), transpose_b=True)",
            "tf.einsum('ij,jk->ik', {h}, weights('{o}w', {w}, {u}))",
            "tf.layers.dense({h}, {u}, kernel_initializer=numbers_of({seed}), name='{o}d')",
        )
        self.layer(self.size(2, 7), "{o} = " + self.one(*_ACTIVATIONS) + f"({product})")

    def normalized(self) -> None:
        mean = "{o}m = tf.reduce_mean({h}, 1, keepdims=True)"
        square = "{o}v = tf.reduce_mean(tf.squared_difference({h}, {o}m), 1, keepdims=True)"
        ways = (
            (
                "{o}m, {o}v = tf.nn.moments({h}, [0])",
                "{o} = tf.nn.batch_normalization({h}, {o}m, {o}v, weights('{o}b', {w}), None, 0.01)",
            ),
            (
                "{o} = tf.layers.batch_normalization({h}, momentum=0.8, training="
                + self.one("True", "tf.less(step, 3)")
                + ", name='{o}')",
            ),
            (mean, square, "{o} = ({h} - {o}m) * tf.rsqrt({o}v + 0.01) * weights('{o}g', {w})"),
            ("{o} = tf.nn.l2_normalize({h}, 1, epsilon=0.1) + tf.clip_by_value({h}, -1.5, 1.5)",),
        )
        self.layer(self.width, *ways[self.rng.randint(len(ways))])

    def recurrent(self) -> None:
        time, units = self.size(2, 5), self.size(2, 6)
        cell = "tf.nn.rnn_cell." + self.one(*_CELLS)
        cut = self.one("", f", sequence_length=tf.minimum(y + 1, {time})")
        run = self.one(
            "    {o}o, _ = tf.nn.dynamic_rnn(" + cell + ", {o}s, dtype=DT" + cut + ")",
            "    {o}o = tf.stack(tf.nn.static_rnn("
            + cell
            + ", tf.unstack({o}s, axis=1), dtype=DT"
            + cut
            + ")[0], 1)",
        )
        last = self.one("{o}o[:, -1]", "tf.reduce_mean({o}o, 1)", "tf.reduce_max({o}o, axis=1)")
        scope = "with tf.variable_scope('{o}', initializer=numbers_of({seed})):"
        self.layer(units, self._steps(time), scope, run, "{o} = " + last)

    def _steps(self, time: int) -> str:
        scale = f"np.linspace(0.5, 1.5, {time}).reshape(1, {time}, 1)"
        steps = "tf.reshape(tf.tile({h}, [1, " + f"{time}]), [-1, {time}, " + "{w}])"
        return "{o}s = " + steps + f" * tf.constant({scale}, DT)"

    def loop(self) -> None:
        time, width = self.size(2, 5), self.width
        step = "tf.tanh(tf.matmul(a, {o}w) + {o}s[:, i])"
        more = self.one("", ", parallel_iterations=1", ", swap_memory=True")
        ways = (
            "{o} = tf.scan(lambda a, b: tf.tanh(tf.matmul(a, {o}w) + b), tf.transpose({o}s, [1, 0, 2]),"
            " initializer=tf.zeros_like({h}))[-1]",
            "{o} = tf.reduce_sum(tf.map_fn(lambda a: tf.sigmoid(tf.matmul(a, {o}w)), {o}s), 1)",
            f"_, {{o}} = tf.while_loop(lambda i, a: i < {time}, lambda i, a: (i + 1, {step}), [0, {{h}}]"
            + more
            + ")",
        )
        self.layer(width, self._steps(time), "{o}w = weights('{o}w', {w}, {w})", self.one(*ways))

    def attention(self) -> None:
        self.layer(
            self.size(2, 6),
            self._steps(self.size(2, 5)),
            "{o}q = tf.tensordot({o}s, weights('{o}q', {w}, {u}), [[2], [0]])",
            "{o}k = tf.tensordot({o}s, weights('{o}k', {w}, {u}), 1)",
            "{o}a = tf.nn.softmax(tf.matmul({o}q, {o}k, transpose_b=True) / np.sqrt({u}.0))",
            "{o} = tf.reduce_mean(tf.matmul({o}a, {o}q), axis=1)",
        )

    def convolved(self) -> None:
        side, channels, kernel = self.size(3, 6), self.size(1, 4), self.size(1, 4)
        stride, padding = self.one("1", "1", "2"), self.one("'SAME'", "'VALID'")
        depth, of = self.size(2, 5), f"{kernel}, {kernel}, {channels}"
        layer = f"({{o}}i, {depth}, {max(kernel, 2)}, padding='same'"
        named = "kernel_initializer=numbers_of({seed}), name='{o}l')"
        separable = "depthwise_initializer=numbers_of({seed}), pointwise_initializer=numbers_of(3), name='{o}l')"
        image = self.one(
            f"tf.nn.conv2d({{o}}i, weights('{{o}}w', {of}, {depth}), [1, {stride}, {stride}, 1], {padding})",
            f"tf.layers.conv2d{layer}, strides={stride}, {named}",
            f"tf.layers.conv2d_transpose{layer}, strides={stride}, {named}",
            f"tf.layers.separable_conv2d{layer}, {separable}",
        )
        after = self.one(
            "{o}c",
            "tf.nn.max_pool({o}c, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')",
            "tf.nn.avg_pool({o}c, [1, 2, 2, 1], [1, 1, 1, 1], 'SAME')",
            "tf.layers.batch_normalization({o}c, training=True, momentum=0.7, name='{o}n')",
            "tf.pad({o}c, [[0, 0], [1, 0], [0, 1], [0, 0]], 'SYMMETRIC')",
        )
        flat = self.one(
            "tf.reduce_mean({o}p, [1, 2])",
            "tf.reduce_max(tf.reduce_max({o}p, 1), 1)",
            "tf.tensordot({o}p, weights('{o}d', int({o}p.shape[1]), int({o}p.shape[2]), {u}, {u}), 3)",
        )
        self.layer(
            depth,
            f"{{o}}e = tf.matmul({{h}}, weights('{{o}}e', {{w}}, {side * side * channels}))",
            f"{{o}}i = tf.reshape({{o}}e, [-1, {side}, {side}, {channels}])",
            "{o}c = " + self.one("tf.nn.relu", "tf.identity", "tf.nn.elu") + f"({image})",
            "{o}p = " + after,
            "{o} = " + flat,
        )

    def embedded(self) -> None:
        size = self.size(2, 5)
        table = f"{{o}}t = weights('{{o}}t', 6, {size})"
        rows = self.one(
            "tf.nn.embedding_lookup({o}t, y)",
            "tf.gather({o}t, tf.mod(2 * y + 1, 6))",
            "tf.matmul(one_hot, {o}t)",
            "tf.nn.embedding_lookup([{o}t[:3], {o}t[3:]], y, partition_strategy='div')",
            "tf.nn.embedding_lookup_sparse({o}t, tf.SparseTensor(tf.to_int64(tf.where(y[:, None] >= 0)),"
            " tf.to_int64(y), tf.stack([tf.size(y, out_type=tf.int64), 1])), None, combiner='sum')",
        )
        self.layer(self.width + size, table, f"{{o}} = tf.concat([{{h}}, {rows}], 1)")

    def branched(self) -> None:
        weight = "{o}w = weights('{o}w', {w})"
        ways = (
            "{o} = tf.cond(tf.equal(tf.mod(step, 2), 0), lambda: {h} * {o}w, lambda: {h} + 1.0)",
            "{o} = tf.stop_gradient({h}) * 0.5 + {h} * {o}w",
            "{o} = {o}w * tf.case([(tf.less(step, 1), lambda: {h} * 2.0),"
            " (tf.less(step, 3), lambda: tf.square({h}))], default=lambda: -{h})",
            "{o} = {o}w * tf.reverse({h}, [0]) + tf.cumsum({h}, axis=1) * 0.1",
            "{o} = tf.add_n(tf.split(tf.concat([{h}, tf.sigmoid({h})], 1), 2, 1)) * {o}w",
        )
        self.layer(self.width, weight, self.one(*ways))

    # ---- the whole --------------------------------------------------------------------------

    def text(self) -> str:
        """The program."""
        layers: list[Callable[[], None]] = [
            *(self.dense, self.normalized, self.recurrent, self.loop, self.attention),
            *(self.convolved, self.embedded, self.branched),
        ]
        for _ in range(self.size(2, 6)):
            layers[self.rng.randint(len(layers))]()
        rate = self.one(*_RATES)
        update = _UPDATES[self.rng.randint(len(_UPDATES))]
        outputs = self.one(
            "[logits]", "[logits, tf.nn.top_k(logits, 2)]", "[logits, tf.gradients(loss, x)]"
        )
        lines = [
            *self.lines,
            f"logits = tf.matmul({self.h}, weights('out', {self.width}, 6))",
            f"loss = tf.cast({self.one(*_LOSSES)}, DT)",
            self.one("", "loss += 0.01 * tf.nn.l2_loss(tf.trainable_variables()[-1])"),
            f"outputs = {outputs}",
            f"optimizer = tf.train.{self.one(*_OPTIMIZERS).format(rate=rate)}",
            "with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):",
            *(f"    {line}" for line in update),
        ]
        sizes = [4] * 5 if self.batch == "4" else [4, 4, 3, 7, 4, 4, 1]
        known = {"seed": self.seed, "dtype": self.dtype, "batch": self.batch}
        head = _HEAD.format(width=self.first_width, **known)
        return head + "\n".join(lines) + "\n" + _TAIL.format(sizes=sizes, width=self.first_width)


def program(seed: int) -> str:
    """The text of the program that ``seed`` draws."""
    return Drawn(seed).text()
