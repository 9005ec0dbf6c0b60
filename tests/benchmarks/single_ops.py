"""Single ops that were far behind TensorFlow's, timed as `workloads` are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # the peer's Python may be that of TensorFlow 1.15
    from collections.abc import Callable

    Step = Callable[[], Any]
SINGLE_OPS: dict[str, Callable[[Any], Step]] = {}
#: What each op is to take, of TensorFlow's time.
GOAL = 1.2


def single_op(function: Callable[[Any], Step]) -> Callable[[Any], Step]:
    """Registers an op under its function's name."""
    SINGLE_OPS[function.__name__] = function
    return function


def _on(tf: Any, op: Callable[[Any], Any], value: Any) -> Step:
    """A step that applies ``op`` to a variable, and leaves the result where it is."""
    x = tf.Variable(value)
    result = op(x)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return lambda: session.run(result.op)


@single_op
def parse_example(tf: Any) -> Step:
    """500 Examples of ten numbers, a label and a sparse list of words."""
    rng = np.random.default_rng(0)
    feature, train = tf.train.Feature, tf.train
    records = []
    for i in range(500):
        words = [b"word%d" % j for j in rng.integers(0, 100, rng.integers(0, 6))]
        features = {
            "numbers": feature(float_list=train.FloatList(value=rng.random(10))),
            "label": feature(int64_list=train.Int64List(value=[i % 10])),
            "words": feature(bytes_list=train.BytesList(value=words)),
        }
        example = train.Example(features=train.Features(feature=features))
        records.append(example.SerializeToString())
    x = tf.placeholder(tf.string, [None])
    found = tf.parse_example(
        x,
        {
            "numbers": tf.FixedLenFeature([10], tf.float32),
            "label": tf.FixedLenFeature([], tf.int64),
            "words": tf.VarLenFeature(tf.string),
        },
    )
    session = tf.Session()
    fed = np.array(records, dtype=object)
    return lambda: session.run(found, {x: fed})


@single_op
def as_graph_def(tf: Any) -> Step:
    """The GraphDef of 3,000 nodes."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [10])
        for _ in range(1500):
            x = tf.tanh(x) * x
    return lambda: graph.as_graph_def()


@single_op
def multinomial(tf: Any) -> Step:
    """100 draws of each of 32 rows, among 1,000 classes."""
    logits = np.random.default_rng(0).standard_normal((32, 1000)).astype(np.float32)
    return _on(tf, lambda x: tf.multinomial(x, 100), logits)


@single_op
def multinomial_once(tf: Any) -> Step:
    """A draw for each of 32 rows, among 1,000 classes, as a decoder does."""
    logits = np.random.default_rng(0).standard_normal((32, 1000)).astype(np.float32)
    return _on(tf, lambda x: tf.multinomial(x, 1), logits)


@single_op
def half_add(tf: Any) -> Step:
    """The sum of a million float16 and itself."""
    value = np.random.default_rng(0).random(1_000_000).astype(np.float16)
    return _on(tf, lambda x: x + x, value)


@single_op
def bfloat16_add(tf: Any) -> Step:
    """The sum of a million bfloat16 and itself."""
    value = np.random.default_rng(0).random(1_000_000, dtype=np.float32)
    return _on(tf, lambda x: tf.cast(x, tf.bfloat16) + tf.cast(x, tf.bfloat16), value)


@single_op
def fft(tf: Any) -> Step:
    """64 transforms of 4,096 complex numbers."""
    value = np.random.default_rng(0).random((64, 4096)).astype(np.complex64)
    return _on(tf, tf.fft, value)


@single_op
def matrix_inverse(tf: Any) -> Step:
    """The inverse of a matrix of 200 x 200."""
    value = np.random.default_rng(0).random((200, 200)) + 10 * np.eye(200)
    return _on(tf, tf.matrix_inverse, value.astype(np.float32))


@single_op
def matrix_inverse_batch(tf: Any) -> Step:
    """The inverses of 1,000 matrices of 4 x 4."""
    value = np.random.default_rng(0).random((1000, 4, 4)) + 10 * np.eye(4)
    return _on(tf, tf.matrix_inverse, value.astype(np.float32))
