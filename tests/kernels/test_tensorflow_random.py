"""Seeded ops draw TensorFlow's own numbers in a program that runs as TensorFlow's.

The expected numbers are those that TensorFlow 1.15.5 draws.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import dataflow
from dataflow.kernels.tensorflow_random import TensorFlowStream
from tests.shim.test_as_tensorflow import result_of

tf: Any = dataflow
NORMAL = [[-1.499947, -1.2420495, 0.52283144], [1.1531656, 0.3552339, -1.1583136]]


def two_runs(make: Any) -> Any:
    """What a random op gives in two runs of one session; the graph's seed is 42."""
    with tf.Graph().as_default():
        tf.set_random_seed(42)
        drawn = make()
        with tf.Session() as session:
            return [session.run(drawn).tolist() for _ in range(2)]


@pytest.mark.usefixtures("as_tensorflow")
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tf.random_normal([3], seed=1), NORMAL),
        (lambda: tf.truncated_normal([3], seed=1), NORMAL),
        (
            lambda: tf.random_uniform([3], seed=1),
            [[0.15012848, 0.63992536, 0.81787777], [0.4828781, 0.20244026, 0.22027123]],
        ),
        (
            lambda: tf.random_normal([3], seed=1, dtype=tf.float64),
            [
                [-0.47833926, -1.72621372, -0.21478682],
                [-0.541206, 0.0414672, -1.08514122],
            ],
        ),
        (
            lambda: tf.truncated_normal([3], seed=1, dtype=tf.float64),
            [
                [-0.47833926, -1.72621372, -0.23966281],
                [-0.541206, 0.0414672, 0.16293272],
            ],
        ),
        (
            lambda: tf.random_uniform([3], seed=1, dtype=tf.float64),
            [[0.20102799, 0.54302283, 0.9729557], [0.8630249, 0.76217067, 0.53585062]],
        ),
    ],
    ids=["normal", "truncated", "uniform", "normal64", "truncated64", "uniform64"],
)
def test_numbers_are_those_of_tensorflow(make: Any, expected: Any) -> None:
    np.testing.assert_allclose(two_runs(make), expected, rtol=0, atol=3e-7)


@pytest.mark.usefixtures("as_tensorflow")
def test_whole_numbers_and_orders_are_those_of_tensorflow() -> None:
    drawn = two_runs(lambda: tf.random_uniform([5], 0, 100, tf.int32, seed=1))
    assert drawn[0] == [9, 95, 0, 36, 69]
    assert two_runs(lambda: tf.random_shuffle(tf.range(6), seed=1))[0] == [3, 1, 2, 5, 0, 4]
    assert two_runs(lambda: tf.multinomial([[1.0, 2.0, 3.0]], 5, seed=1))[0] == [[1, 2, 2, 2, 2]]


@pytest.mark.usefixtures("as_tensorflow")
@pytest.mark.parametrize(
    ("sampler", "unique", "classes", "expected"),
    [
        ("uniform", True, 7, [[0, 1, 3, 2, 6, 4], [6, 5, 2, 4, 3, 0]]),
        ("uniform", False, 7, [[0, 1, 3, 2, 3, 6], [6, 5, 2, 4, 3, 5]]),
        ("uniform", True, 64, [[19, 20, 4, 29, 50, 55], [35, 31, 46, 12, 43, 18]]),
        ("uniform", False, 1000, [[59, 988, 972, 925, 490, 991], [315, 327, 750, 772, 531, 426]]),
        ("log_uniform", True, 7, [[0, 1, 3, 4, 5, 2], [0, 1, 2, 5, 3, 4]]),
    ],
)
def test_sampled_classes_are_those_of_tensorflow(
    sampler: str, unique: bool, classes: int, expected: list[Any]
) -> None:
    sample = getattr(tf.nn, f"{sampler}_candidate_sampler")
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        drawn = sample(tf.constant([[1], [2]], tf.int64), 1, 6, unique, classes, seed=5)
        with tf.Session() as session:
            assert [session.run(drawn)[0].tolist() for _ in range(2)] == expected


@pytest.mark.usefixtures("as_tensorflow")
def test_many_runs_of_a_sampler_go_on_where_the_last_one_was() -> None:
    """Words are made for several runs at once; each run has those of its place."""
    samples = TensorFlowStream(3, 5).samples(6)
    runs = [samples.next_run().doubles(6).tolist() for _ in range(9)]
    for number, run in enumerate(runs):
        stream = TensorFlowStream(3, 5)
        stream.blocks = number * 512 * 6
        assert stream.uniform(6, np.dtype(np.float64)).tolist() == run
    long = TensorFlowStream(3, 5).samples(6).next_run()
    assert [*long.doubles(6), *long.doubles(50)] == [
        *runs[0],
        *TensorFlowStream(3, 5).uniform(56, np.dtype(np.float64))[6:],
    ]


@pytest.mark.usefixtures("as_tensorflow")
def test_a_dense_layer_begins_with_the_weights_of_tensorflow() -> None:
    """The graph's seed and the number of nodes made before are its seeds."""
    with tf.Graph().as_default():
        tf.set_random_seed(42)
        h = tf.layers.dense(tf.placeholder(tf.float32, [None, 4]), 3, tf.nn.relu)
        tf.layers.dense(h, 2)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            first, _, second, _ = session.run(tf.global_variables())
    np.testing.assert_allclose(first[0, :2], [-0.9099, 0.8716], atol=1e-4)
    np.testing.assert_allclose(second[0], [-1.0609, 0.4625], atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("kind", ["uniform", "standard_normal", "truncated_normal"])
def test_numbers_follow_their_distributions(kind: str, dtype: str) -> None:
    drawn = getattr(TensorFlowStream(3, 4), kind)(200_001, np.dtype(dtype))
    assert drawn.dtype == dtype and drawn.shape == (200_001,)
    numbers = drawn.astype(np.float64)
    mean, deviation, least, most = {
        "uniform": (0.5, 12**-0.5, 0.0, 1.0),
        "standard_normal": (0.0, 1.0, -6.0, 6.0),
        "truncated_normal": (0.0, 0.87963, -2.0, 2.0),
    }[kind]
    assert abs(numbers.mean() - mean) < 0.01 and abs(numbers.std() - deviation) < 0.01
    assert least <= numbers.min() and numbers.max() <= most


@pytest.mark.parametrize("kind", ["uniform", "standard_normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_longer_draw_begins_with_a_shorter_one(kind: str, dtype: str) -> None:
    long = getattr(TensorFlowStream(3, -4), kind)(70_003, np.dtype(dtype))
    for count in (0, 1, 2, 5, 70_000):
        short = getattr(TensorFlowStream(3, -4), kind)(count, np.dtype(dtype))
        np.testing.assert_array_equal(short, long[:count])


@pytest.mark.parametrize(("low", "high"), [(-3, 4), (0, 2**31 - 1), (-(2**63), 2**63 - 1)])
def test_whole_numbers_are_in_their_range(low: int, high: int) -> None:
    dtype = np.int32 if high < 2**31 else np.int64
    drawn = TensorFlowStream(1, 2).integers(low, high, 1001, np.dtype(dtype))
    assert drawn.dtype == dtype and low <= drawn.min() and drawn.max() < high
    if high == 4:
        assert set(drawn.tolist()) == set(range(-3, 4))


def test_a_copy_goes_on_by_itself() -> None:
    stream = TensorFlowStream(7, 8)
    stream.uniform(3, np.dtype(np.float32))
    ahead = stream.copy()
    next_ones = stream.uniform(4, np.dtype(np.float32))
    np.testing.assert_array_equal(ahead.uniform(4, np.dtype(np.float32)), next_ones)
    back = stream.copy(ahead.blocks - stream.blocks - 4 * 256)
    np.testing.assert_array_equal(back.uniform(4, np.dtype(np.float32)), next_ones)


@pytest.mark.usefixtures("as_tensorflow")
def test_without_a_seed_each_session_draws_other_numbers() -> None:
    with tf.Graph().as_default():
        drawn = tf.random_uniform([4])
        found = []
        for _ in range(2):
            with tf.Session() as session:
                found.append(session.run(drawn).tolist())
    assert found[0] != found[1]


def test_the_engines_own_programs_keep_their_stream() -> None:
    assert not np.allclose(two_runs(lambda: tf.random_normal([3], seed=1)), NORMAL)


def seeds_of(make: Any) -> list[int]:
    """The second seeds of the random ops of a graph whose seed is 42."""
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(42)
        make()
        random = [op for op in graph.get_operations() if "seed2" in op.node_def.attr]
        return [op.get_attr("seed2") for op in random]


def images() -> Any:
    return tf.placeholder(tf.float32, [None, 8, 8, 3])


def words() -> Any:
    return tf.placeholder(tf.float32, [None, 5, 3])


def then_dense(outputs: Any) -> Any:
    return tf.layers.dense(tf.layers.flatten(outputs), 2)


def vectors() -> Any:
    return tf.placeholder(tf.float32, [None, 4])


def dropped(cell: Any) -> Any:
    inputs = tf.placeholder(tf.float32, [2, 5, 3])
    return tf.layers.dense(tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)[1], 2)


layers = tf.contrib.layers
one_hot = functools.partial(layers.one_hot_encoding, num_classes=3)
GRU, LSTM = tf.nn.rnn_cell.GRUCell, tf.nn.rnn_cell.BasicLSTMCell


@pytest.mark.usefixtures("as_tensorflow")
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: then_dense(tf.layers.conv2d(images(), 3, 2)), [4, 29]),
        (lambda: then_dense(tf.layers.batch_normalization(images(), training=True)), [42]),
        (lambda: then_dense(tf.layers.batch_normalization(images())), [30]),
        (lambda: tf.nn.dynamic_rnn(GRU(4), words(), dtype=tf.float32), [87, 101]),
        (lambda: tf.nn.dynamic_rnn(LSTM(4), words(), dtype=tf.float32), [101]),
        (
            lambda: tf.nn.bidirectional_dynamic_rnn(GRU(4), GRU(4), words(), dtype=tf.float32),
            [87, 101, 249, 263],
        ),
        (
            lambda: tf.nn.static_rnn(LSTM(4), tf.unstack(words(), 5, 1), dtype=tf.float32),
            [30],
        ),
        (lambda: tf.layers.dense(tf.layers.dense(words(), 4), 2), [4, 44]),
        (lambda: dropped(tf.nn.rnn_cell.DropoutWrapper(GRU(4), 0.5, 0.5)), [78, 93, 107, 145, 187]),
        (lambda: then_dense(tf.layers.conv2d_transpose(images(), 3, 3, 2, "same")), [4, 51]),
        (lambda: then_dense(tf.layers.conv2d_transpose(images(), 3, 3)), [4, 55]),
        (lambda: then_dense(tf.layers.separable_conv2d(images(), 4, 3)), [4, 14, 41]),
        (lambda: then_dense(layers.batch_norm(vectors())), [40]),
        (lambda: then_dense(layers.instance_norm(images())), [34]),
        (lambda: then_dense(layers.group_norm(images(), groups=1)), [56]),
        (lambda: then_dense(one_hot(tf.placeholder(tf.int32, [None]))), [19]),
    ],
    ids=[
        *("conv", "batch-norm", "moving", "gru", "lstm", "both-ways", "static", "steps", "dropped"),
        *("transposed", "transposed-valid", "separable", "contrib-norm", "instance", "group"),
        "one-hot",
    ],
)
def test_ops_without_seeds_get_those_of_tensorflow(make: Any, expected: list[int]) -> None:
    """They are the numbers of nodes that TensorFlow 1.15.5 has made before."""
    assert seeds_of(make) == expected


def place() -> Any:
    """The second seed of a random op made now: the number of nodes before it."""
    return tf.random_uniform([])


def rows() -> Any:
    return tf.data.Dataset.from_tensor_slices((tf.zeros([4, 3]), tf.zeros([4])))


def after_iterator(iterator: Any) -> Any:
    iterator.get_next()
    return place()


def after_loss(loss: Any, **options: Any) -> Any:
    weights, biases = tf.zeros([50, 8]), tf.zeros([50])
    labels, inputs = tf.zeros([4, 1], tf.int32), tf.placeholder(tf.float32, [None, 8])
    sampled = tf.constant([3], tf.int64), tf.constant([[0.5]]), tf.constant([0.5])
    loss(weights, biases, labels, inputs, 1, 50, sampled_values=sampled, **options)
    return place()


def after_chosen_iterator() -> Any:
    data = rows()
    iterator = tf.data.Iterator.from_structure(data.output_types, data.output_shapes)
    iterator.make_initializer(data)
    return after_iterator(iterator)


def after_fed_iterator() -> Any:
    data = rows()
    data.make_initializable_iterator().string_handle()
    name = tf.placeholder(tf.string, [])
    return after_iterator(
        tf.data.Iterator.from_string_handle(name, data.output_types, data.output_shapes)
    )


def after_files() -> Any:
    tf.data.TextLineDataset(["a"])
    return after_iterator(tf.data.TFRecordDataset(["a"]).make_one_shot_iterator())


@pytest.mark.usefixtures("as_tensorflow")
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: after_iterator(rows().batch(2).make_initializable_iterator()), [16]),
        (lambda: after_iterator(rows().repeat().batch(2).make_one_shot_iterator()), [14]),
        (lambda: after_iterator(rows().map(lambda a, b: a).make_one_shot_iterator()), [10]),
        (lambda: after_iterator(rows().padded_batch(2, ([3], [])).make_one_shot_iterator()), [16]),
        (
            lambda: after_iterator(rows().batch(tf.constant(2, tf.int64)).make_one_shot_iterator()),
            [12],
        ),
        (lambda: after_iterator(tf.data.Dataset.range(3).take(2).make_one_shot_iterator()), [12]),
        (after_chosen_iterator, [10]),
        (after_fed_iterator, [16]),
        (after_files, [16]),
        (lambda: after_loss(tf.nn.nce_loss), [119]),
        (lambda: after_loss(tf.nn.sampled_softmax_loss), [150]),
        (lambda: after_loss(tf.nn.nce_loss, remove_accidental_hits=True), [140]),
    ],
)
def test_places_after_datasets_and_sampled_losses_are_those_of_tensorflow(
    make: Any, expected: list[int]
) -> None:
    assert seeds_of(make)[-1:] == expected


def numbers(*dims: Any) -> Any:
    return tf.placeholder(tf.float32, dims)


def after_draw(distribution: Any, *shape: Any) -> Any:
    distribution.sample(*shape)
    return place()


def after_training() -> Any:
    """A critic and its optimizer, as in actor-critic programs, before what acts."""
    state, wanted = numbers(None, 3), numbers(None, 1)
    value = tf.layers.dense(tf.layers.dense(state, 8, tf.nn.relu), 1)
    tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.square(wanted - value)))
    return tf.layers.dense(state, 2)


@pytest.mark.usefixtures("as_tensorflow")
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda: after_draw(tf.distributions.Normal(numbers(None, 1), numbers(None, 1)), 1),
            [14, 30],
        ),
        (lambda: after_draw(tf.distributions.Normal(numbers(2), numbers(2))), [11, 27]),
        (lambda: after_draw(tf.distributions.Normal(numbers(2), numbers(2)), [3]), [11, 27]),
        (lambda: after_draw(tf.distributions.Categorical(logits=numbers(None, 4))), [10, 30]),
        (lambda: after_draw(tf.distributions.Categorical(logits=numbers(2, 4)), 5), [8, 28]),
        (after_training, [5, 22, 146]),
    ],
)
def test_actors_and_critics_get_the_seeds_of_tensorflow(make: Any, expected: list[int]) -> None:
    assert seeds_of(make) == expected


def test_the_count_changes_nothing_for_the_engines_own_programs() -> None:
    assert seeds_of(lambda: then_dense(tf.layers.conv2d(images(), 3, 2))) == [4, 22]


def test_eager_ops_without_seeds_get_those_of_tensorflow() -> None:
    found = result_of(
        """
import dataflow
tf = dataflow.as_tensorflow()
tf.enable_eager_execution()
tf.set_random_seed(42)
drawn = [tf.random_normal([2]), tf.random_uniform([2]), tf.random_uniform([2], seed=1), tf.random_uniform([2], seed=1)]
drawn.append(tf.keras.layers.Dense(2)(tf.ones([1, 3])))
tf.set_random_seed(42)
result = [d.numpy().tolist() for d in [*drawn, tf.random_normal([2])]]
"""
    )
    expected = [
        [0.327469, -0.842626],
        [0.687891, 0.484479],
        [0.150128, 0.639925],
        [0.36658, 0.891245],
        [[-0.505241, -0.329849]],
        [0.327469, -0.842626],
    ]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.usefixtures("as_tensorflow")
@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (
            [1, 2],
            [
                [0.6033576, 0.5184029],
                [-0.1159751, -0.9985191],
                [-1.1930636, 0.3133748],
                [0.8147672, 0.9555938],
                [-0.1762829, 0.6153292],
                [0.3656762, 0.6877536],
                [738, 983],
                [2, 2, 1, 2, 2, 2, 2, 1, 2],
            ],
        ),
        (
            [0, 0],
            [
                [0.3696229, 0.1042949],
                [0.8597825, 1.1186231],
                [-1.2031784, 1.9037337],
                [0.6063866, 0.5521379],
                [-0.3218405, -0.9470448],
                [0.087611, 0.9514619],
                [342, 497],
                [2, 2, 1, 2, 2, 0, 2, 2, 2],
            ],
        ),
        (
            [-5, 1099511627779],
            [
                [0.8779111, 0.4526284],
                [0.1496593, -0.487875],
                [0.4887773, -0.9190825],
                [0.9954912, 0.8702445],
                [-0.0692018, 0.0651852],
                [-0.8606264, -0.3315807],
                [972, 922],
                [2, 2, 2, 1, 2, 2, 2, 2, 2],
            ],
        ),
    ],
)
def test_ops_without_state_draw_the_numbers_of_tensorflow(seed: Any, expected: Any) -> None:
    random = tf.random
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.constant(seed, tf.int64)
        for dtype in (tf.float32, tf.float64):
            for draw in (
                random.stateless_uniform,
                random.stateless_normal,
                random.stateless_truncated_normal,
            ):
                found = session.run(draw([70], given, dtype=dtype))
                np.testing.assert_allclose(found[-2:], expected.pop(0), rtol=0, atol=3e-6)
        assert session.run(random.stateless_uniform([70], given, 0, 1000, tf.int32))[
            -2:
        ].tolist() == expected.pop(0)
        assert session.run(random.stateless_categorical([[1.0, 2.0, 3.0]], 9, given))[
            0
        ].tolist() == expected.pop(0)
